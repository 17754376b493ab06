//! Hot loops only: plain slices in, results into the caller's buffers, each with a plain twin in its tests that it equals to the bit.
//!
//! Loops are written once and compiled twice, for the baseline of the platform and for AVX2, chosen when it runs; one that no compiler
//! vectorises well is written twice. Both do the same
//! operations in the same order without fused multiply-add, so results do not depend on the CPU. This is the only place with `unsafe`.

/// Defines `$name` as `$lanes` compiled for AVX2 where the CPU has it, else as it is.
macro_rules! compiled_twice {
    ($(#[$doc:meta])* $visible:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? = $lanes:ident) => {
        $(#[$doc])*
        $visible fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    $lanes($($arg),*)
                }
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: the line above checked that this CPU has it.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $lanes($($arg),*)
        }
    };
}

pub(crate) mod nearest;
pub(crate) mod pair_features;
pub(crate) mod weighted_sum;
