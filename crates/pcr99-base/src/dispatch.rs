//! Choice of the instruction set at run time.
//!
//! Only x86-64 has a choice. NEON is part of the baseline of aarch64, so the one compilation there has it. A WebAssembly module has vector instructions
//! or not: `-C target-feature=+simd128` decides when it is compiled.
//!
//! The environment variable `PCR99_AVX2=off` chooses the baseline of x86-64 although the CPU has AVX2, to test that results are the same.

/// Whether loops compiled for AVX2 and POPCNT may run: the CPU has both, and the environment does not forbid it.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2() -> bool {
    use std::sync::atomic::{AtomicU8, Ordering};
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static FOUND: AtomicU8 = AtomicU8::new(UNKNOWN);
    #[cold]
    fn look() -> bool {
        let is_allowed = std::env::var_os("PCR99_AVX2").is_none_or(|value| value != "off");
        is_allowed && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")
    }
    match FOUND.load(Ordering::Relaxed) {
        UNKNOWN => {
            let found = look();
            FOUND.store(if found { YES } else { NO }, Ordering::Relaxed);
            found
        }
        found => found == YES,
    }
}

/// Defines `$name` as two compilations of `$lanes`: one for AVX2, which runs where the CPU has it, and one for the baseline of the platform.
///
/// `$lanes` must be `#[inline(always)]`, so that it is compiled anew inside the AVX2 version. Rust never contracts `a * b + c` to a fused
/// multiply-add, so both compilations give the same bits.
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
