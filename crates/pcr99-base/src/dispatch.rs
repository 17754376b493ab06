//! Choice of the instruction set at run time.
//!
//! Only x86-64 has a choice. NEON is part of the baseline of aarch64, so the one compilation there has it. A WebAssembly module has vector instructions
//! or not: `-C target-feature=+simd128` decides when it is compiled.

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
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $lanes($($arg),*)
        }
    };
}
pub(crate) use compiled_twice;
