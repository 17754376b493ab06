//! Conditions as the bits of a word.
//!
//! AVX2 has an instruction for this; NEON and WebAssembly's simd128 are served by a multiplication, which leaves the conditions to the compiler's
//! vectoriser.

/// Moves the lowest bits of eight bytes, each 0 or 1, to the bits of the highest byte of the product.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// Bit `k` is set where `is_set(k)` is true.
#[expect(clippy::inline_always, reason = "the conditions vectorise only with the loop around them")]
#[inline(always)]
pub(super) fn pack(is_set: impl Fn(usize) -> bool) -> u64 {
    let bytes: [u8; 64] = std::array::from_fn(|k| u8::from(is_set(k)));
    bytes.as_chunks::<8>().0.iter().enumerate().fold(0, |bits, (k, eight)| {
        let byte = u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56;
        bits | byte << (8 * k)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bits_are_the_conditions(word in any::<u64>()) {
            prop_assert_eq!(pack(|k| word >> k & 1 == 1), word);
        }
    }
}
