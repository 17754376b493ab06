//! Points near each other: counts within a radius, and the number of places that points occupy.

use crate::dispatch::compiled_twice;

/// Points that are far from each other, by axis. The entries beyond the first `count` are infinitely far away.
#[derive(Debug, Clone)]
pub struct Scattered {
    columns: [[[f64; BLOCK]; MOST_SCATTERED.div_ceil(BLOCK)]; 3],
    count: usize,
}

/// Number of points between two branches: enough for the compiler to vectorise.
pub const BLOCK: usize = 16;

/// Largest number of places that is counted; the verdict needs no more.
pub const MOST_SCATTERED: usize = 64;

impl Default for Scattered {
    fn default() -> Self {
        Self { columns: [[[f64::INFINITY; BLOCK]; _]; 3], count: 0 }
    }
}

compiled_twice! {
    /// Number of places that points occupy, up to `MOST_SCATTERED`. A point occupies a new place when no point that was counted before is within the root of
    /// `radius_sq` of it. Every `step`-th of the indices `some` is used.
    pub fn count_scattered(
        columns: &[Vec<f64>; 3], some: &[u32], step: usize, radius_sq: f64, kept: &mut Scattered,
    ) -> usize = count_scattered_lanes
}

#[inline(always)]
fn count_scattered_lanes(
    columns: &[Vec<f64>; 3],
    some: &[u32],
    step: usize,
    radius_sq: f64,
    kept: &mut Scattered,
) -> usize {
    *kept = Scattered::default();
    for &i in some.iter().step_by(step) {
        let point @ [x, y, z] = columns.each_ref().map(|column| column[i as usize]);
        let [xs, ys, zs] = &kept.columns;
        let mut near = false;
        for ((xs, ys), zs) in xs.iter().zip(ys).zip(zs).take(kept.count.div_ceil(BLOCK)) {
            // No branch inside, so that it vectorises.
            let mut any = 0_u64;
            for k in 0..BLOCK {
                let (dx, dy, dz) = (xs[k] - x, ys[k] - y, zs[k] - z);
                any |= u64::from(dx * dx + dy * dy + dz * dz <= radius_sq);
            }
            near = any != 0;
            if near {
                break;
            }
        }
        if !near {
            for (column, value) in kept.columns.iter_mut().zip(point) {
                column[kept.count / BLOCK][kept.count % BLOCK] = value;
            }
            kept.count += 1;
            if kept.count == MOST_SCATTERED {
                break;
            }
        }
    }
    kept.count
}

/// Number of rings that are counted at once. The radius of each is `1/√2` of the one before.
pub const RINGS: usize = 16;

/// The ring of a squared distance relative to the square of the largest radius, at most 1: ring `j` holds the distances up to `2^(−j/2)` of it.
#[inline(always)]
pub fn ring_of(relative_sq: f64) -> usize {
    // The exponent counts the halvings of the square.
    1022_usize.saturating_sub((relative_sq.to_bits() >> 52) as usize).min(RINGS - 1)
}

compiled_twice! {
    /// Adds the points within the root of `reach_sq` of `point` to the counts of their rings.
    pub fn count_rings(columns: [&[f64]; 3], point: [f64; 3], reach_sq: f64, hits: &mut [u32; RINGS]) = count_rings_lanes
}

#[inline(always)]
fn count_rings_lanes(columns: [&[f64]; 3], [x, y, z]: [f64; 3], reach_sq: f64, hits: &mut [u32; RINGS]) {
    let n = columns[0].len();
    let [xs, ys, zs] = columns.map(|column| &column[..n]);
    let inverse = 1.0 / reach_sq;
    let mut start = 0;
    while start < n {
        let end = (start + BLOCK).min(n);
        let mut squares = [f64::INFINITY; BLOCK];
        if end - start == BLOCK {
            let (xs, ys, zs) = (&xs[start..end], &ys[start..end], &zs[start..end]);
            for k in 0..BLOCK {
                let (dx, dy, dz) = (xs[k] - x, ys[k] - y, zs[k] - z);
                squares[k] = dx * dx + dy * dy + dz * dz;
            }
        } else {
            for k in start..end {
                let (dx, dy, dz) = (xs[k] - x, ys[k] - y, zs[k] - z);
                squares[k - start] = dx * dx + dy * dy + dz * dz;
            }
        }
        // Few points are near. A branch for each would be unpredictable.
        let mut left = (0..BLOCK).fold(0_u16, |near, k| near | u16::from(squares[k] <= reach_sq) << k);
        while left != 0 {
            hits[ring_of(squares[left.trailing_zeros() as usize % BLOCK] * inverse)] += 1;
            left &= left - 1;
        }
        start = end;
    }
}

compiled_twice! {
    /// Bits of the 64 points from `start` on, or as many as there are. A bit is set when the point differs from `point` by at most `bound` in every coordinate.
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
    use crate::test_points;
    use proptest::prelude::*;

    proptest! {
        /// The radius sits exactly on a distance between two points.
        #[test]
        fn fast_equals_reference(n in 1_usize..300, seed in any::<u64>(), pick in 0_usize..100, grow in 0.0..1.1_f64, step in 1_usize..3) {
            let points = test_points::random(n, seed);
            let square = |i: u32, j: u32| {
                let [x, y, z] = [0, 1, 2].map(|axis: usize| points.b[axis][i as usize] - points.b[axis][j as usize]);
                x * x + y * y + z * z
            };
            let radius_sq = square((pick % n) as u32, 0) * if grow > 1.0 { 1.0 } else { 0.1 * grow };
            let mut plain = [0; RINGS];
            for i in (0..n as u32).filter(|&i| radius_sq > 0.0 && square(i, 0) <= radius_sq) {
                plain[ring_of(square(i, 0) * (1.0 / radius_sq))] += 1;
            }
            for count in [count_rings, count_rings_lanes] {
                let mut hits = [0; RINGS];
                if radius_sq > 0.0 {
                    count(points.b.each_ref().map(Vec::as_slice), points.target(0), radius_sq, &mut hits);
                }
                prop_assert_eq!(hits, plain);
            }
            let some: Vec<u32> = (0..n as u32).collect();
            let mut plain: Vec<u32> = Vec::new();
            for &i in some.iter().step_by(step) {
                if plain.len() < MOST_SCATTERED && !plain.iter().any(|&j| square(j, i) <= radius_sq) {
                    plain.push(i);
                }
            }
            let mut kept = Scattered::default();
            prop_assert_eq!(count_scattered(&points.b, &some, step, radius_sq, &mut kept), plain.len());
            prop_assert_eq!(count_scattered_lanes(&points.b, &some, step, radius_sq, &mut kept), plain.len());
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
