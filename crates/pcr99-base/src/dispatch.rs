//! Choice of the instruction set at run time.
//!
//! Only x86-64 has a choice. NEON is part of the baseline of aarch64, so the one compilation there has it. A WebAssembly module has vector instructions
//! or not: `-C target-feature=+simd128` decides when it is compiled.
//!
//! The environment variable `PCR99_AVX2=off` chooses the baseline of x86-64 although the CPU has more, and `PCR99_AVX512=off` at most AVX2, to test
//! that results are the same.

/// Vector instructions of the CPU.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Sse2,
    Avx2,
    /// With the extensions for bytes, for double words, for shorter vectors and for counting bits, which CPUs have since 2019 (Ice Lake) and 2022 (Zen 4).
    Avx512,
}

/// The largest level that the CPU has and the environment does not forbid.
#[cfg(target_arch = "x86_64")]
#[inline]
fn level() -> Level {
    use std::sync::OnceLock;
    static FOUND: OnceLock<Level> = OnceLock::new();
    #[cold]
    fn look() -> Level {
        let is_allowed = |name: &str| std::env::var_os(name).is_none_or(|value| value != "off");
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vpopcntdq");
        match (has_avx2 && is_allowed("PCR99_AVX2"), has_avx512 && is_allowed("PCR99_AVX512")) {
            (false, _) => Level::Sse2,
            (true, false) => Level::Avx2,
            (true, true) => Level::Avx512,
        }
    }
    *FOUND.get_or_init(look)
}

/// Whether loops compiled for AVX2 and POPCNT may run: the CPU has both, and the environment does not forbid it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2() -> bool {
    level() >= Level::Avx2
}

/// Whether loops compiled for AVX-512 may run.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx512() -> bool {
    level() == Level::Avx512
}

/// Defines `$name` as compilations of `$lanes` for vectors and for the baseline of the platform. On x86-64 there is one for AVX2 and one for AVX-512, which run
/// where the CPU has them.
///
/// `$lanes` must be `#[inline(always)]`, so that it is compiled anew inside of these. Rust never contracts `a * b + c` to a fused
/// multiply-add, so all compilations give the same bits.
macro_rules! compiled_twice {
    ($(#[$doc:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $lanes:ident) => {
        $(#[$doc])*
        $visible fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    $lanes($($arg),*)
                }
                #[target_feature(enable = "avx2,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq")]
                fn avx512($($arg: $type),*) $(-> $out)? {
                    $lanes($($arg),*)
                }
                if crate::dispatch::has_avx512() {
                    // SAFETY: the line above checked that this CPU has all of these.
                    return unsafe { avx512($($arg),*) };
                }
                if crate::dispatch::has_avx2() {
                    // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $lanes($($arg),*)
        }
    };
}
pub(crate) use compiled_twice;
