//! Points as columns: one array per coordinate, moved to a centre and divided by a unit.

use super::sums::{Spread, SpreadSums};
use crate::dispatch::compiled_twice;

/// Number of points that are handled at a time, so that they stay in the fastest cache. A multiple of the interleaved sums of [`SpreadSums`].
pub const BLOCK: usize = 512;
/// Number of interleaved results in a loop: two vector registers of AVX2, which hides the latency of an operation.
const LANES: usize = 8;

/// A number that points are made of.
pub trait Coordinate: Copy {
    /// Relative rounding error.
    const EPSILON: f64;

    /// Copies points to columns of the same length. Zeros lose their sign.
    fn split(rows: &[[Self; 3]], columns: [&mut [f64]; 3]);

    /// The number in double precision.
    fn wide(self) -> f64;
}

impl Coordinate for f64 {
    const EPSILON: f64 = f64::EPSILON;

    fn split(rows: &[[Self; 3]], columns: [&mut [f64]; 3]) {
        split_f64(rows, columns);
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
}

impl Coordinate for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;

    fn split(rows: &[[Self; 3]], columns: [&mut [f64]; 3]) {
        split_f32(rows, columns);
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

compiled_twice! {
    fn split_f64(rows: &[[f64; 3]], columns: [&mut [f64]; 3]) = split_lanes
}

compiled_twice! {
    fn split_f32(rows: &[[f32; 3]], columns: [&mut [f64]; 3]) = split_lanes
}

#[inline(always)]
fn split_lanes<C: Coordinate>(rows: &[[C; 3]], columns: [&mut [f64]; 3]) {
    let [xs, ys, zs] = columns.map(|column| &mut column[..rows.len()]);
    for (((row, x), y), z) in rows.iter().zip(xs).zip(ys).zip(zs) {
        (*x, *y, *z) = (row[0].wide() + 0.0, row[1].wide() + 0.0, row[2].wide() + 0.0);
    }
}

/// Smallest and largest number of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    /// Smallest number.
    pub least: f64,
    /// Largest number.
    pub greatest: f64,
}

/// The range of a column, part by part, and whether all of its numbers are finite.
#[derive(Debug, Clone, Copy)]
pub struct RunningRange {
    least: [f64; LANES],
    greatest: [f64; LANES],
    /// Zero as long as all numbers are finite, then NaN.
    defect: [f64; LANES],
}

impl Default for RunningRange {
    fn default() -> Self {
        Self { least: [f64::INFINITY; LANES], greatest: [f64::NEG_INFINITY; LANES], defect: [0.0; LANES] }
    }
}

impl RunningRange {
    /// Adds a part of the column.
    pub fn add(&mut self, part: &[f64]) {
        add_to_range(self, part);
    }

    /// The range of all numbers that were added; `None` when one is not finite.
    pub fn total(&self) -> Option<Range> {
        let least = self.least.iter().fold(f64::INFINITY, |least, x| x.min(least));
        let greatest = self.greatest.iter().fold(f64::NEG_INFINITY, |greatest, x| x.max(greatest));
        self.defect.iter().all(|x| *x == 0.0).then_some(Range { least, greatest })
    }
}

compiled_twice! {
    fn add_to_range(range: &mut RunningRange, part: &[f64]) = add_to_range_lanes
}

#[inline(always)]
fn add_to_range_lanes(range: &mut RunningRange, part: &[f64]) {
    let RunningRange { mut least, mut greatest, mut defect } = *range;
    let (blocks, rest) = part.as_chunks::<LANES>();
    // One loop for each result, and the rest afterwards: compilers then keep the results in registers.
    for block in blocks {
        for k in 0..LANES {
            least[k] = if block[k] < least[k] { block[k] } else { least[k] };
        }
        for k in 0..LANES {
            greatest[k] = if block[k] > greatest[k] { block[k] } else { greatest[k] };
        }
        for k in 0..LANES {
            defect[k] += 0.0 * block[k];
        }
    }
    *range = RunningRange { least, greatest, defect };
    for (k, &x) in rest.iter().enumerate() {
        range.least[k] = if x < range.least[k] { x } else { range.least[k] };
        range.greatest[k] = if x > range.greatest[k] { x } else { range.greatest[k] };
        range.defect[k] += 0.0 * x;
    }
}

/// Origin, unit and bound of coordinates.
#[derive(Debug, Clone, Copy)]
pub struct Placing {
    /// The point that becomes the origin.
    pub center: [f64; 3],
    /// The length that becomes one: a power of two.
    pub unit: f64,
    /// Largest coordinate. Coordinates beyond are clamped to it.
    pub farthest: f64,
}

/// What is counted and summed over points when they are placed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Placed {
    /// Number of points at the origin.
    pub at_origin: usize,
    /// Number of points without a coordinate beyond 1/8.
    pub within_eighth: usize,
    /// Number of points without a coordinate beyond 1/4.
    pub within_quarter: usize,
    sums: SpreadSums,
}

impl Placed {
    /// Places some points: replaces each coordinate `x` by `(x − centre)/unit`. All parts but the last hold a multiple of four points.
    pub fn add(&mut self, columns: [&mut [f64]; 3], placing: &Placing) {
        let [x, y, z] = columns;
        let [at_origin, within_eighth, within_quarter] = place([&mut *x, &mut *y, &mut *z], placing);
        self.at_origin += at_origin;
        self.within_eighth += within_eighth;
        self.within_quarter += within_quarter;
        self.sums.add([x, y, z]);
    }

    /// Sums over the placed points.
    pub fn spread(&self) -> Spread {
        self.sums.total()
    }
}

compiled_twice! {
    /// Replaces each coordinate `x` by `(x − centre)/unit`. Returns the number of points at the origin, within an eighth, and within a quarter.
    fn place(columns: [&mut [f64]; 3], placing: &Placing) -> [usize; 3] = place_lanes
}

#[inline(always)]
fn place_lanes(columns: [&mut [f64]; 3], placing: &Placing) -> [usize; 3] {
    let n = columns[0].len();
    let [xs, ys, zs] = columns.map(|column| &mut column[..n]);
    // Exact, since the unit is a power of two. Divided first, since a difference of the largest numbers would overflow.
    let (per_unit, farthest) = (1.0 / placing.unit, placing.farthest);
    let center = placing.center.map(|x| x * per_unit);
    let inward = |x: f64, center: f64| {
        let moved = x * per_unit - center;
        let moved = if moved > farthest { farthest } else { moved };
        if moved < -farthest { -farthest } else { moved }
    };
    let [mut at_origin, mut within_eighth, mut within_quarter] = [0_u64; 3];
    for ((x, y), z) in xs.iter_mut().zip(ys).zip(zs) {
        let is_center = (*x == placing.center[0]) & (*y == placing.center[1]) & (*z == placing.center[2]);
        (*x, *y, *z) = (inward(*x, center[0]), inward(*y, center[1]), inward(*z, center[2]));
        let (x, y, z) = (x.abs(), y.abs(), z.abs());
        let xy = if x > y { x } else { y };
        let size = if xy > z { xy } else { z };
        at_origin += u64::from(is_center);
        within_eighth += u64::from(size <= 0.125);
        within_quarter += u64::from(size <= 0.25);
    }
    [at_origin, within_eighth, within_quarter].map(|count| count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    fn rows(n: usize, seed: u64) -> Vec<[f64; 3]> {
        let mut random = Random::new(seed);
        let mut number = || match random.below(8) {
            0 => 0.0,
            1 => -0.0,
            2 => 1e70 * (random.uniform() - 0.5),
            3 => 0.25,
            _ => random.uniform() - 0.5,
        };
        (0..n).map(|_| std::array::from_fn(|_| number())).collect()
    }

    fn columns(rows: &[[f64; 3]]) -> [Vec<f64>; 3] {
        std::array::from_fn(|axis| rows.iter().map(|row| row[axis]).collect())
    }

    fn bits(columns: &[Vec<f64>; 3]) -> Vec<u64> {
        columns.iter().flatten().map(|x| x.to_bits()).collect()
    }

    type Split<C> = fn(&[[C; 3]], [&mut [f64]; 3]);

    proptest! {
        #[test]
        fn rows_become_columns(n in 0_usize..70, seed in any::<u64>()) {
            let rows = rows(n, seed);
            let narrow: Vec<[f32; 3]> = rows.iter().map(|row| row.map(|x| x as f32)).collect();
            let unsigned = |rows: &[[f64; 3]]| bits(&columns(rows).map(|c| c.iter().map(|x| if *x == 0.0 { 0.0 } else { *x }).collect()));
            for split in [split_f64 as Split<f64>, split_lanes] {
                let mut out = [(); 3].map(|()| vec![7.0; n]);
                split(&rows, out.each_mut().map(Vec::as_mut_slice));
                prop_assert_eq!(bits(&out), unsigned(&rows));
            }
            let wide: Vec<[f64; 3]> = narrow.iter().map(|row| row.map(f64::from)).collect();
            for split in [split_f32 as Split<f32>, split_lanes] {
                let mut out = [(); 3].map(|()| vec![7.0; n]);
                split(&narrow, out.each_mut().map(Vec::as_mut_slice));
                prop_assert_eq!(bits(&out), unsigned(&wide));
            }
        }

        #[test]
        fn ranges_are_those_of_finite_numbers(n in 1_usize..70, seed in any::<u64>(), bad in prop_oneof![Just(None), Just(Some(f64::NAN)), Just(Some(f64::INFINITY)), Just(Some(f64::NEG_INFINITY))], at in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
            let mut numbers = columns(&rows(n, seed))[0].clone();
            if let Some(bad) = bad {
                numbers[at.index(n)] = bad;
            }
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let expected = bad.is_none().then_some(Range { least, greatest });
            for add in [add_to_range, add_to_range_lanes] {
                let mut range = RunningRange::default();
                let (first, second) = numbers.split_at(cut.index(n));
                add(&mut range, first);
                add(&mut range, second);
                prop_assert_eq!(range.total(), expected);
            }
        }

        /// The definition, number by number.
        #[test]
        fn points_are_placed(n in 1_usize..70, seed in any::<u64>(), power in -40..40_i32, pick in any::<prop::sample::Index>()) {
            let rows = rows(n, seed);
            let placing = Placing { center: rows[pick.index(n)], unit: 2_f64.powi(power), farthest: 1e60 };
            let inward = |row: &[f64; 3]| -> [f64; 3] {
                std::array::from_fn(|axis| (row[axis] / placing.unit - placing.center[axis] / placing.unit).clamp(-1e60, 1e60))
            };
            let placed: Vec<[f64; 3]> = rows.iter().map(inward).collect();
            let within = |bound: f64| placed.iter().filter(|row| row.iter().all(|x| x.abs() <= bound)).count();
            let at_center = rows.iter().filter(|row| **row == placing.center).count();
            for place in [place, place_lanes] {
                let mut out = columns(&rows);
                let counts = place(out.each_mut().map(Vec::as_mut_slice), &placing);
                prop_assert_eq!(bits(&out), bits(&columns(&placed)));
                prop_assert_eq!(counts, [at_center, within(0.125), within(0.25)]);
            }
        }
    }
}
