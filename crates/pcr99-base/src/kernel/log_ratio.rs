//! Log ratios, Eq. (4): `L(i, j) = ln(‖b_i − b_j‖ / ‖a_i − a_j‖) = ½ ln(‖b_i − b_j‖² / ‖a_i − a_j‖²)`.
//!
//! The logarithm is computed here because that of the C library differs between CPUs with and without fused multiply-add and cannot be
//! vectorised. It splits both squares into mantissa and exponent and needs a single division.

use crate::{Soa, dispatch::compiled_twice};

compiled_twice! {
    /// `L(i, j)` of match `i` with the matches `first..first + out.len()`; NaN where it is undefined.
    pub fn log_ratios(points: &Soa, i: usize, first: usize, out: &mut [f64]) = log_ratios_lanes
}

#[inline(always)]
fn log_ratios_lanes(points: &Soa, i: usize, first: usize, out: &mut [f64]) {
    let n = out.len();
    let [ax, ay, az] = points.a.each_ref().map(|column| &column[first..first + n]);
    let [bx, by, bz] = points.b.each_ref().map(|column| &column[first..first + n]);
    let ([px, py, pz], [qx, qy, qz]) = (points.source(i), points.target(i));
    for j in 0..n {
        let (x, y, z) = (px - ax[j], py - ay[j], pz - az[j]);
        let source_sq = x * x + y * y + z * z;
        let (x, y, z) = (qx - bx[j], qy - by[j], qz - bz[j]);
        let target_sq = x * x + y * y + z * z;
        out[j] = half_log_ratio(source_sq, target_sq);
    }
}

compiled_twice! {
    /// `L(j, sum − j)` for `j` in `first..first + out.len()`; NaN where it is undefined. All `sum − j` must be indices of matches.
    pub fn antidiagonal_log_ratios(points: &Soa, sum: usize, first: usize, out: &mut [f64]) = antidiagonal_lanes
}

#[inline(always)]
fn antidiagonal_lanes(points: &Soa, sum: usize, first: usize, out: &mut [f64]) {
    let n = out.len();
    // j goes up while k = sum − j goes down.
    let (up, down) = (first..first + n, sum + 1 - first - n..sum + 1 - first);
    let [ax, ay, az] = points.a.each_ref().map(|column| (&column[up.clone()], &column[down.clone()]));
    let [bx, by, bz] = points.b.each_ref().map(|column| (&column[up.clone()], &column[down.clone()]));
    for (j, out) in out.iter_mut().enumerate() {
        let k = n - 1 - j;
        let (x, y, z) = (ax.0[j] - ax.1[k], ay.0[j] - ay.1[k], az.0[j] - az.1[k]);
        let source_sq = x * x + y * y + z * z;
        let (x, y, z) = (bx.0[j] - bx.1[k], by.0[j] - by.1[k], bz.0[j] - bz.1[k]);
        let target_sq = x * x + y * y + z * z;
        *out = half_log_ratio(source_sq, target_sq);
    }
}

compiled_twice! {
    /// Replaces each `target_sq[j]` by `½ ln(target_sq[j] / source_sq[j])`.
    pub fn half_log_ratios(source_sq: &[f64], target_sq: &mut [f64]) = half_log_ratios_lanes
}

#[inline(always)]
fn half_log_ratios_lanes(source_sq: &[f64], target_sq: &mut [f64]) {
    for (source_sq, target_sq) in source_sq.iter().zip(target_sq) {
        *target_sq = half_log_ratio(*source_sq, *target_sq);
    }
}

/// `½ ln(target_sq / source_sq)`; NaN when either is zero or subnormal.
///
/// The paper does not define the ratio of coincident points. A many-to-one match (`b_i = b_j`) would otherwise put `−∞` into the range
/// `[p_i, q_i]` of Eq. (9).
#[inline(always)]
pub fn half_log_ratio(source_sq: f64, target_sq: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    const ONE: u64 = 1023 << 52;
    /// These bits plus an integer below 2⁵² are the float `2⁵² + integer`. Vector units can add, but AVX2 cannot convert 64-bit integers.
    const TWO_TO_52: u64 = (1023 + 52) << 52;
    const OFFSET: u64 = 4096;

    let (source, target) = (source_sq.to_bits(), target_sq.to_bits());
    let mut power = f64::from_bits(TWO_TO_52 + (OFFSET + (target >> 52) - (source >> 52)))
        - f64::from_bits(TWO_TO_52 + OFFSET);
    let m_source = f64::from_bits(source & MANTISSA | ONE);
    let mut m_target = f64::from_bits(target & MANTISSA | ONE);
    // target_sq / source_sq = 2^power · m_target / m_source; bring the last quotient into [1/√2, √2].
    let (halve, double) =
        (m_target > std::f64::consts::SQRT_2 * m_source, m_source > std::f64::consts::SQRT_2 * m_target);
    power += if halve { 1.0 } else { 0.0 };
    power -= if double { 1.0 } else { 0.0 };
    m_target *= if halve { 0.5 } else { 1.0 };
    m_target *= if double { 2.0 } else { 1.0 };

    // ½ ln(m_t/m_s) = artanh(u) = u + u³/3 + u⁵/5 + …, u = (m_t − m_s)/(m_t + m_s), |u| ≤ 0.172: eleven terms
    // reach 10⁻¹⁸. The subtraction is exact.
    let u = (m_target - m_source) / (m_target + m_source);
    let v = u * u;
    let mut series = 1.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        series = series * v + 1.0 / odd;
    }
    // ½ ln 2 in two parts; the first has twelve zero bits at its end, so `power` times it is exact.
    const HALF_LN_2: f64 = 0.346_573_590_279_831_5;
    const HALF_LN_2_REST: f64 = 1.411_764_528_151_578_9e-13;
    let log = power * HALF_LN_2 + (u + (u * v * series + power * HALF_LN_2_REST));
    let defined = source_sq >= f64::MIN_POSITIVE && target_sq >= f64::MIN_POSITIVE;
    if defined { log } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{points::squared_distances, test_points};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn logarithm_is_right(x in -690.0..690.0_f64, y in -690.0..690.0_f64, near in -1e-9..1e-9_f64) {
            for (source, target) in [(libm::exp(x), libm::exp(y)), (libm::exp(x), libm::exp(x) * (1.0 + near))] {
                let wanted = 0.5 * (libm::log(target) - libm::log(source));
                let error = (half_log_ratio(source, target) - wanted).abs();
                // What cancellation leaves of the two logarithms on the right.
                prop_assert!(error <= 1e-15 * (1.0 + x.abs() + y.abs()), "{source} {target}: {error}");
            }
        }

        #[test]
        fn near_one_it_is_right_to_the_last_bits(near in -0.4..0.9_f64) {
            let (got, wanted) = (half_log_ratio(1.0, 1.0 + near), 0.5 * libm::log(1.0 + near));
            prop_assert!((got - wanted).abs() <= 4.0 * f64::EPSILON * wanted.abs(), "{got} {wanted}");
        }

        #[test]
        fn fast_equals_reference(n in 1_usize..67, seed in any::<u64>(), first in 0_usize..8) {
            let points = test_points::random(n, seed);
            let first = first.min(n - 1);
            for i in 0..n {
                let mut fast = vec![0.0; n - first];
                log_ratios(&points, i, first, &mut fast);
                let mut plain = vec![0.0; n - first];
                log_ratios_lanes(&points, i, first, &mut plain);
                prop_assert_eq!(bits_of(&fast), bits_of(&plain), "the plain compilation");
                for (j, fast) in (first..n).zip(fast) {
                    let (source_sq, target_sq) = squared_distances(&points, i, j);
                    prop_assert_eq!(fast.to_bits(), half_log_ratio(source_sq, target_sq).to_bits());
                }
            }
        }

        #[test]
        fn fast_antidiagonal_equals_reference(n in 2_usize..67, seed in any::<u64>()) {
            let points = test_points::random(n, seed);
            for sum in 1..2 * n - 2 {
                let first = (sum + 1).saturating_sub(n);
                let mut fast = vec![0.0; sum.div_ceil(2) - first];
                antidiagonal_log_ratios(&points, sum, first, &mut fast);
                let mut plain = vec![0.0; fast.len()];
                antidiagonal_lanes(&points, sum, first, &mut plain);
                prop_assert_eq!(bits_of(&fast), bits_of(&plain), "the plain compilation");
                for (j, fast) in (first..).zip(fast) {
                    let (source_sq, target_sq) = squared_distances(&points, j, sum - j);
                    prop_assert_eq!(fast.to_bits(), half_log_ratio(source_sq, target_sq).to_bits());
                }
            }
        }

        #[test]
        fn many_at_once_equal_one_by_one(squares in proptest::collection::vec((0.0..1.0_f64, 0.0..1.0_f64), 1..67)) {
            let (source, mut target): (Vec<f64>, Vec<f64>) = squares.iter().copied().unzip();
            let mut plain = target.clone();
            half_log_ratios(&source, &mut target);
            half_log_ratios_lanes(&source, &mut plain);
            prop_assert_eq!(bits_of(&target), bits_of(&plain), "the plain compilation");
            for (&(source_sq, target_sq), fast) in squares.iter().zip(target) {
                prop_assert_eq!(fast.to_bits(), half_log_ratio(source_sq, target_sq).to_bits());
            }
        }
    }

    fn bits_of(numbers: &[f64]) -> Vec<u64> {
        numbers.iter().map(|x| x.to_bits()).collect()
    }

    #[test]
    fn exact_where_the_answer_is_known() {
        assert_eq!(half_log_ratio(3.0, 3.0), 0.0);
        assert_eq!(half_log_ratio(1.0, 4.0), std::f64::consts::LN_2);
        assert_eq!(half_log_ratio(4.0, 1.0), -std::f64::consts::LN_2);
    }

    #[test]
    fn coincident_points_have_no_log_ratio() {
        assert!(half_log_ratio(0.0, 1.0).is_nan());
        assert!(half_log_ratio(1.0, 0.0).is_nan());
        assert!(half_log_ratio(0.0, 0.0).is_nan());
        assert!(half_log_ratio(1e-310, 1.0).is_nan());
    }
}
