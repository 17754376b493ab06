//! Whether any of some points is near another, and which.

use super::compiled_twice;

compiled_twice! {
    /// Whether any point of `columns` is within a distance of the root of `radius_sq` of `point`.
    pub(crate) fn any_within(columns: &[Vec<f64>; 3], point: [f64; 3], radius_sq: f64) -> bool = any_within_lanes
}

#[inline(always)]
fn any_within_lanes(columns: &[Vec<f64>; 3], [x, y, z]: [f64; 3], radius_sq: f64) -> bool {
    let n = columns[0].len();
    let [xs, ys, zs] = columns.each_ref().map(|column| &column[..n]);
    let mut start = 0;
    while start < n {
        let end = (start + 32).min(n);
        // No branch inside, so that it vectorises.
        let mut any = 0_u64;
        for k in start..end {
            let (dx, dy, dz) = (xs[k] - x, ys[k] - y, zs[k] - z);
            any |= u64::from(dx * dx + dy * dy + dz * dz <= radius_sq);
        }
        if any != 0 {
            return true;
        }
        start = end;
    }
    false
}

compiled_twice! {
    /// Which of the 64 points from `start` on (or as many as there are) differ by at most `bound` in every coordinate from
    /// `point`: one bit each.
    pub fn near_bits(columns: &[Vec<f64>; 3], start: usize, point: [f64; 3], bound: f64) -> u64 = near_bits_lanes
}

#[inline(always)]
fn near_bits_lanes(columns: &[Vec<f64>; 3], start: usize, [x, y, z]: [f64; 3], bound: f64) -> u64 {
    let end = (start + 64).min(columns[0].len());
    let [xs, ys, zs] = columns.each_ref().map(|column| &column[start..end]);
    let mut near = 0_u64;
    for k in 0..end - start {
        let (dx, dy, dz) = ((xs[k] - x).abs(), (ys[k] - y).abs(), (zs[k] - z).abs());
        near |= u64::from((dx <= bound) & (dy <= bound) & (dz <= bound)) << k;
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::test_points;
    use proptest::prelude::*;

    proptest! {
        /// The radius sits exactly on one point.
        #[test]
        fn fast_equals_reference(n in 1_usize..100, seed in any::<u64>(), pick in 0_usize..100, grow in 0.0..1.1_f64) {
            let points = test_points::random(n, seed);
            let square = |k: usize| (0..3).map(|axis| (points.a[axis][k] - points.b[axis][0]).powi(2)).sum::<f64>();
            let radius_sq = square(pick % n) * if grow > 1.0 { 1.0 } else { grow };
            let plain = (0..n).any(|k| square(k) <= radius_sq);
            prop_assert_eq!(any_within(&points.a, points.target(0), radius_sq), plain);
            prop_assert_eq!(any_within_lanes(&points.a, points.target(0), radius_sq), plain);
        }

        /// The bound sits exactly on one coordinate of one point.
        #[test]
        fn bits_equal_reference(n in 1_usize..150, seed in any::<u64>(), pick in 0_usize..150, axis in 0_usize..3, start in 0_usize..150) {
            let points = test_points::random(n, seed);
            let (point, start) = (points.target(0), start % n);
            let differs = |k: usize, axis: usize| (points.a[axis][k] - point[axis]).abs();
            let bound = differs(pick % n, axis);
            let plain = (start..n.min(start + 64)).fold(0, |bits, k| {
                bits | u64::from((0..3).all(|axis| differs(k, axis) <= bound)) << (k - start)
            });
            prop_assert_eq!(near_bits(&points.a, start, point, bound), plain);
            prop_assert_eq!(near_bits_lanes(&points.a, start, point, bound), plain);
        }
    }
}
