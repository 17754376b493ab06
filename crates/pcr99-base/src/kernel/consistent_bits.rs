//! Consistency of pairs of matches for a known scale, one bit per pair: `|L(i,j) − ln s| ≤ ε` (Eq. 27–29).
//!
//! The test needs no logarithm: `s²e^(−2ε) ≤ ‖b_i−b_j‖² / ‖a_i−a_j‖² ≤ s²e^(2ε)`. Pairs so close to a bound that rounding could decide are
//! tested by the logarithm, so the answer is always that of the definition.

use super::log_ratio::half_log_ratio;
use crate::{Soa, dispatch::compiled_twice, points::squared_distances};

/// Bounds on a ratio of squares, `e^(±2ε)` times a factor: once slightly too narrow and once slightly too wide.
#[derive(Debug, Clone, Copy)]
pub struct Band {
    surely_inside: [f64; 2],
    perhaps_inside: [f64; 2],
}

/// Smallest square, or product of squares, that has all its digits. Below it the bounds are not used.
const TOO_SMALL: f64 = 1e-280;

impl Band {
    /// The band `factor·e^(−2ε) … factor·e^(2ε)`.
    pub fn new(factor: f64, epsilon: f64) -> Self {
        // Far wider than the rounding errors of the squares, the exponential and the logarithm together.
        let guard = 1e-12;
        let (low, high) = (factor * libm::exp(-2.0 * epsilon), factor * libm::exp(2.0 * epsilon));
        // The square of a scale may overflow or vanish. Then every pair is tested by the logarithm.
        if !(low >= TOO_SMALL && high <= 1.0 / TOO_SMALL) {
            return Self { surely_inside: [f64::INFINITY, 0.0], perhaps_inside: [0.0, f64::INFINITY] };
        }
        Self {
            surely_inside: [low * (1.0 + guard), high * (1.0 - guard)],
            perhaps_inside: [low * (1.0 - guard), high * (1.0 + guard)],
        }
    }

    /// Whether `numerator / denominator` is in the band; `None` when it is too close to tell.
    #[inline(always)]
    pub fn holds(&self, numerator: f64, denominator: f64) -> Option<bool> {
        let between =
            |[low, high]: [f64; 2]| numerator >= denominator * low && numerator <= denominator * high;
        let large_enough = numerator >= TOO_SMALL && denominator >= TOO_SMALL;
        if large_enough & between(self.surely_inside) {
            Some(true)
        } else if large_enough & !between(self.perhaps_inside) {
            Some(false)
        } else {
            None
        }
    }
}

/// The test for a known scale.
#[derive(Debug, Clone, Copy)]
pub struct KnownScale {
    /// `ln s`.
    pub log_scale: f64,
    /// Largest accepted `|L − ln s|`.
    pub epsilon: f64,
    band: Band,
}

impl KnownScale {
    /// The test for the scale `s` with the tolerance `ε`.
    pub fn new(scale: f64, epsilon: f64) -> Self {
        Self { log_scale: libm::log(scale), epsilon, band: Band::new(scale * scale, epsilon) }
    }

    /// The definition: `|L − ln s| ≤ ε`, false when `L` is undefined.
    pub fn holds_by_logarithm(&self, source_sq: f64, target_sq: f64) -> bool {
        (half_log_ratio(source_sq, target_sq) - self.log_scale).abs() <= self.epsilon
    }

    /// The test for one pair of matches, without a logarithm where the bounds decide.
    pub fn holds(&self, source_sq: f64, target_sq: f64) -> bool {
        self.band.holds(target_sq, source_sq).unwrap_or_else(|| self.holds_by_logarithm(source_sq, target_sq))
    }
}

compiled_twice! {
    /// Sets bit `j − 64·first_word` of `out` for every match `j ≥ 64·first_word` that is consistent with match `i`, and clears the other bits.
    pub fn consistent_bits(points: &Soa, i: usize, first_word: usize, test: &KnownScale, out: &mut [u64]) = consistent_bits_lanes
}

#[inline(always)]
fn consistent_bits_lanes(points: &Soa, i: usize, first_word: usize, test: &KnownScale, out: &mut [u64]) {
    let n = points.len();
    let ([px, py, pz], [qx, qy, qz]) = (points.source(i), points.target(i));
    let [inner_low, inner_high] = test.band.surely_inside;
    let [outer_low, outer_high] = test.band.perhaps_inside;
    for (word, bits) in (first_word..).zip(out) {
        let (start, end) = ((64 * word).min(n), (64 * word + 64).min(n));
        let [ax, ay, az] = points.a.each_ref().map(|column| &column[start..end]);
        let [bx, by, bz] = points.b.each_ref().map(|column| &column[start..end]);
        // Bytes first: comparisons to bytes vectorise, comparisons to bits do not.
        let (mut inside, mut unsure) = ([0_u8; 64], 0_u8);
        for j in 0..end - start {
            let (x, y, z) = (px - ax[j], py - ay[j], pz - az[j]);
            let source_sq = x * x + y * y + z * z;
            let (x, y, z) = (qx - bx[j], qy - by[j], qz - bz[j]);
            let target_sq = x * x + y * y + z * z;
            let sure = (target_sq >= source_sq * inner_low) & (target_sq <= source_sq * inner_high);
            let perhaps = (target_sq >= source_sq * outer_low) & (target_sq <= source_sq * outer_high);
            let small = (source_sq < TOO_SMALL) | (target_sq < TOO_SMALL);
            inside[j] = u8::from(sure);
            unsure |= u8::from(perhaps & !sure) | u8::from(small);
        }
        if unsure != 0 {
            for (j, inside) in (start..end).zip(&mut inside) {
                let (source_sq, target_sq) = squared_distances(points, i, j);
                *inside = u8::from(test.holds(source_sq, target_sq));
            }
        }
        *bits = pack(&inside);
    }
}

/// 64 bytes, each 0 or 1, to 64 bits.
#[inline(always)]
fn pack(bytes: &[u8; 64]) -> u64 {
    // The product moves bit 0 of byte k to bit 56 + k; nothing else reaches the top byte.
    let eight = |chunk: [u8; 8]| u64::from_le_bytes(chunk).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let (chunks, _) = bytes.as_chunks::<8>();
    chunks.iter().enumerate().fold(0, |bits, (k, &chunk)| bits | eight(chunk) << (8 * k))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_points;
    use proptest::prelude::*;

    proptest! {
        /// ε sits exactly on one pair.
        #[test]
        fn fast_equals_reference(
            n in 3_usize..150, seed in any::<u64>(), scale in 0.3..3.0_f64, on_edge in any::<bool>(),
        ) {
            let points = test_points::random(n, seed);
            let (source_sq, target_sq) = squared_distances(&points, 0, n - 1);
            let edge = (half_log_ratio(source_sq, target_sq) - libm::log(scale)).abs();
            let epsilon = if on_edge && edge > 0.0 { edge } else { 0.1 };
            let test = KnownScale::new(scale, epsilon);
            let words = n.div_ceil(64);
            for i in [0, n / 2, n - 1] {
                for first_word in 0..words {
                    let mut fast = vec![u64::MAX; words - first_word];
                    consistent_bits(&points, i, first_word, &test, &mut fast);
                    let mut plain = vec![0; words - first_word];
                    consistent_bits_lanes(&points, i, first_word, &test, &mut plain);
                    prop_assert_eq!(&fast, &plain, "the plain compilation");
                    for j in 64 * first_word..64 * words {
                        let bit = fast[j / 64 - first_word] >> (j % 64) & 1 == 1;
                        let wanted = j < n && {
                            let (source_sq, target_sq) = squared_distances(&points, i, j);
                            test.holds_by_logarithm(source_sq, target_sq)
                        };
                        prop_assert_eq!(bit, wanted, "{} {}", i, j);
                    }
                }
            }
        }
    }

    #[test]
    fn packing_keeps_every_bit_in_its_place() {
        for k in 0..64 {
            let mut bytes = [0; 64];
            bytes[k] = 1;
            assert_eq!(pack(&bytes), 1 << k);
        }
        assert_eq!(pack(&[1; 64]), u64::MAX);
    }

    #[test]
    fn extreme_scales_are_left_to_the_logarithm() {
        for scale in [1e-200, 1e-145, 1e145, 1e200] {
            let test = KnownScale::new(scale, 0.1);
            // Targets as far apart as the scale says, up to 5 % or 15 %, spread over both sides.
            let (source, target) = (1.0 / scale.sqrt(), scale.sqrt());
            assert!(test.holds(source * source, (1.05 * target) * (1.05 * target)), "{scale}");
            assert!(!test.holds(source * source, (1.15 * target) * (1.15 * target)), "{scale}");
            let points = Soa::new(
                [vec![0.0, source, 2.0 * source], vec![0.0; 3], vec![0.0; 3]],
                [vec![0.0, 1.05 * target, 2.4 * target], vec![0.0; 3], vec![0.0; 3]],
            );
            let mut bits = [0];
            consistent_bits(&points, 0, 0, &test, &mut bits);
            assert_eq!(bits, [0b010], "{scale}");
        }
    }

    #[test]
    fn tiny_distances_are_left_to_the_logarithm() {
        let test = KnownScale::new(1.0, 0.1);
        assert!(test.holds(1e-290, 1e-290), "the ratio is one");
        assert!(
            !test.holds(0.0, 1.0) && !test.holds(1.0, 0.0) && !test.holds(0.0, 0.0),
            "undefined never passes"
        );
    }
}
