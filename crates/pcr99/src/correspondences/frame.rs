//! Origin and unit of normalised coordinates.
//!
//! Centring keeps the precision of large coordinates (UTM has offsets of 10⁷). The unit is a power of two, so that conversion is exact and
//! squares neither overflow nor underflow, whatever the user's unit is. Centre and unit follow the bulk of the points, not their bounding
//! box: one wrong match at 10³⁸ must not round the others away.
//!
//! The centre is the lower median on each axis. The unit is the extent of the points, or four times the median distance from the centre where some are much
//! farther away, rounded up to a power of two. Both are exact, so the order of the points changes no bit. The unit is guessed from a sample, and the points
//! are counted that are nearer than an eighth and a quarter of it: the counts confirm the guess, or all distances decide.

use pcr99_base::{
    kernel::{
        columns::{BLOCK, Coordinate, Placed, Placing, Range, RunningRange},
        median::lower_median,
        sums::{Spread, spread},
    },
    vector::{multiply, rotate, transpose},
};

use super::collinear::are_collinear;
use crate::{Error, error::Side};

/// Origin and unit of the normalised coordinates of one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) center: [f64; 3],
    pub(super) unit: f64,
    /// Rounding error of the caller's coordinates in the bulk, in normalised units.
    pub(super) rounding: f64,
    /// Sums over the normalised points.
    pub(super) spread: Spread,
    /// The rotation that turns the vertical to the third normalised axis, where it is known.
    pub(super) upright: Option<[[f64; 3]; 3]>,
}

/// Largest normalised coordinate; those beyond are clamped to it. Products of four such numbers are finite, and a match that far off is
/// wrong in either place.
const FARTHEST: f64 = 1.6e60; // about 2²⁰⁰
/// Largest number of points from which the unit is guessed. A wrong guess costs time only.
const GUESSED_FROM: usize = 61;

impl Frame {
    /// The frame of a set of points. Their normalised coordinates replace `columns`.
    pub(super) fn of<C: Coordinate>(
        points: &[[C; 3]],
        side: Side,
        columns: &mut [Vec<f64>; 3],
        scratch: &mut Vec<f64>,
    ) -> Result<Self, Error> {
        let n = points.len();
        columns.iter_mut().for_each(|column| set_length(column, n));
        let Some(ranges) = split(points, columns) else {
            let is_bad = |p: &[C; 3]| !p.iter().all(|x| x.wide().is_finite());
            let index = points.iter().position(is_bad).unwrap_or_default();
            return Err(Error::NotFinite { side, index });
        };
        let center = columns.each_ref().map(|column| lower_median(column, scratch).unwrap_or(0.0));
        let reach = reach(&ranges, center);
        if reach == 0.0 {
            return Err(Error::AllEqual { side });
        }
        let extent = power_of_two_at_least(reach);
        let mut unit = guessed_unit(points, center, extent);
        let mut placed = place(columns, center, unit);
        if !is_confirmed(&placed, n, unit, extent) {
            split(points, columns);
            unit = exact_unit(points, center, extent, scratch);
            placed = place(columns, center, unit);
        }
        let spread = placed.spread();
        let offset = center.iter().fold(0.0, |m: f64, x| m.max(x.abs())) / unit;
        if are_collinear(columns, &spread, offset, C::EPSILON) {
            return Err(Error::Collinear { side });
        }
        Ok(Self { center, unit, rounding: 4.0 * C::EPSILON * (offset + 1.0), spread, upright: None })
    }

    /// Turns the normalised points in `columns`, so that the vertical is the third axis.
    pub(super) fn turn(&mut self, upright: &[[f64; 3]; 3], columns: &mut [Vec<f64>; 3]) {
        let earlier = self.upright.replace(*upright);
        let turn = earlier.map_or(*upright, |earlier| multiply(upright, &transpose(&earlier)));
        if turn == IDENTITY {
            return;
        }
        for i in 0..columns[0].len() {
            let turned = rotate(&turn, columns.each_ref().map(|column| column[i]));
            columns.iter_mut().zip(turned).for_each(|(column, x)| column[i] = x);
        }
        self.spread = spread(columns);
    }

    /// A normalised point in the coordinates of the caller.
    pub(super) fn outward(&self, point: [f64; 3]) -> [f64; 3] {
        let point = self.upright.map_or(point, |upright| rotate(&transpose(&upright), point));
        std::array::from_fn(|axis| self.center[axis] + self.unit * point[axis])
    }

    /// Checks that scale and translation between the two frames, and all intermediate results, neither overflow nor underflow.
    pub(super) fn check_room(source: &Self, target: &Self) -> Result<(), Error> {
        let size = |frame: &Self| frame.center.iter().fold(frame.unit, |m, x| m.max(x.abs()));
        let ratio = target.unit / source.unit;
        let room = (1e-270..=1e270).contains(&ratio) && size(source).max(size(target)) <= 1e280;
        let sizes = Error::ExtremeUnits { source_size: size(source), target_size: size(target) };
        if room { Ok(()) } else { Err(sizes) }
    }
}

const IDENTITY: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Makes a column `n` numbers long. Their values do not matter.
fn set_length(column: &mut Vec<f64>, n: usize) {
    if column.capacity() < n {
        // Zeros that the operating system provides are not written.
        *column = vec![0.0; n];
    }
    column.resize(n, 0.0);
}

/// Copies points to columns of the same length. Returns the range on each axis; `None` when a coordinate is not finite.
fn split<C: Coordinate>(points: &[[C; 3]], columns: &mut [Vec<f64>; 3]) -> Option<[Range; 3]> {
    let mut ranges = [RunningRange::default(); 3];
    for (k, block) in points.chunks(BLOCK).enumerate() {
        let mut parts = columns.each_mut().map(|column| &mut column[k * BLOCK..][..block.len()]);
        C::split(block, parts.each_mut().map(|part| &mut **part));
        ranges.iter_mut().zip(parts).for_each(|(range, part)| range.add(part));
    }
    let [x, y, z] = ranges.map(|range| range.total());
    Some([x?, y?, z?])
}

/// Converts columns to normalised coordinates.
fn place(columns: &mut [Vec<f64>; 3], center: [f64; 3], unit: f64) -> Placed {
    let placing = Placing { center, unit, farthest: FARTHEST };
    let (n, mut placed) = (columns[0].len(), Placed::default());
    for start in (0..n).step_by(BLOCK) {
        let end = (start + BLOCK).min(n);
        placed.add(columns.each_mut().map(|column| &mut column[start..end]), &placing);
    }
    placed
}

/// Largest distance from the centre along an axis.
fn reach(ranges: &[Range; 3], center: [f64; 3]) -> f64 {
    let farthest = |axis: usize| {
        let Range { least, greatest } = ranges[axis];
        (greatest - center[axis]).max(center[axis] - least)
    };
    (0..3).map(farthest).fold(0.0, f64::max).min(f64::MAX)
}

/// Distance of a point from the centre: the largest along an axis.
fn distance<C: Coordinate>(point: &[C; 3], center: [f64; 3]) -> f64 {
    (0..3).fold(0.0, |m: f64, axis| m.max((point[axis].wide() - center[axis]).abs())).min(f64::MAX)
}

/// The unit that follows from a median distance. `extent` is the power of two that holds all points.
fn unit_of(median_distance: Option<f64>, extent: f64) -> f64 {
    // Four times the largest numbers would overflow.
    median_distance.map_or(extent, |d| extent.min(power_of_two_at_least((4.0 * d).min(f64::MAX))))
}

/// The unit by an even sample of the points.
fn guessed_unit<C: Coordinate>(points: &[[C; 3]], center: [f64; 3], extent: f64) -> f64 {
    let step = points.len().div_ceil(GUESSED_FROM);
    let mut distances = [0.0; GUESSED_FROM];
    let mut count = 0;
    let sample = points[step / 2..].iter().step_by(step);
    for d in sample.map(|point| distance(point, center)).filter(|d| *d > 0.0) {
        distances[count] = d;
        count += 1;
    }
    let middle = count.saturating_sub(1) / 2;
    let median = *distances[..count.max(1)].select_nth_unstable_by(middle, f64::total_cmp).1;
    unit_of((count > 0).then_some(median), extent)
}

/// Whether the median distance of the points leads to the unit with which they were placed. Points at the centre say nothing about the size of the rest.
fn is_confirmed(placed: &Placed, n: usize, unit: f64, extent: f64) -> bool {
    let Some(middle) = (n - placed.at_origin).checked_sub(1).map(|last| last / 2) else {
        return unit == extent;
    };
    let at_most_eighth = placed.within_eighth - placed.at_origin > middle;
    let at_most_quarter = placed.within_quarter - placed.at_origin > middle;
    !at_most_eighth && (at_most_quarter || unit == extent)
}

/// The unit by all points.
fn exact_unit<C: Coordinate>(
    points: &[[C; 3]],
    center: [f64; 3],
    extent: f64,
    scratch: &mut Vec<f64>,
) -> f64 {
    let distances = points.iter().map(|point| distance(point, center));
    let positive: Vec<f64> = distances.filter(|d| *d > 0.0).collect();
    unit_of(lower_median(&positive, scratch), extent)
}

/// The smallest power of two that is at least `x`, for positive finite `x`; never subnormal.
fn power_of_two_at_least(x: f64) -> f64 {
    let exponent_bits = 0x7FF0_0000_0000_0000;
    let below = f64::from_bits(x.max(f64::MIN_POSITIVE).to_bits() & exponent_bits);
    // Twice the largest power of two would be infinite. Coordinates then reach up to 2 instead of 1, which does no harm.
    if below < x && below < f64::MAX / 2.0 { below * 2.0 } else { below }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Centre and unit by definition.
    fn plain(points: &[[f64; 3]]) -> ([f64; 3], f64) {
        let median = |mut numbers: Vec<f64>| -> Option<f64> {
            numbers.sort_unstable_by(f64::total_cmp);
            numbers.get(numbers.len().checked_sub(1)? / 2).copied()
        };
        let center = [0, 1, 2].map(|axis: usize| median(points.iter().map(|p| p[axis]).collect()).unwrap());
        let distance = |p: &[f64; 3]| (0..3).map(|k| (p[k] - center[k]).abs()).fold(0.0, f64::max);
        let reach = points.iter().map(distance).fold(0.0, f64::max).min(f64::MAX);
        let bulk = median(points.iter().map(distance).filter(|d| *d > 0.0).collect());
        (center, power_of_two_at_least(bulk.map_or(reach, |bulk| reach.min(4.0 * bulk))))
    }

    fn frame(points: &[[f64; 3]]) -> Frame {
        Frame::of(points, Side::Source, &mut Default::default(), &mut Vec::new()).unwrap()
    }

    /// Clouds with far points among them, at places that an even sample meets more often than others or never.
    fn clouds(n: usize, random: &mut Random) -> Vec<Vec<[f64; 3]>> {
        let mut cloud = |unit: f64, offset: f64| -> Vec<[f64; 3]> {
            (0..n).map(|_| std::array::from_fn(|_| offset + unit * random.gaussian())).collect()
        };
        let step = n.div_ceil(GUESSED_FROM);
        let mut clouds = vec![cloud(1.0, 0.0), cloud(1e-3, 1e7), cloud(1e200, -1e201), cloud(0.5, 3.0)];
        for far in [9.0, 1e38, -1e300] {
            for which in 0..4 {
                let mut strayed = cloud(1.0, 5.0);
                let is_stray = |i: &usize| match which {
                    0 => i % 5 < 2,
                    1 => i % step == step / 2,
                    2 => i % step != step / 2 && i.is_multiple_of(2),
                    _ => *i == 1,
                };
                (0..n).filter(is_stray).for_each(|i| strayed[i] = strayed[i].map(|x| far * x));
                clouds.push(strayed);
            }
        }
        // More than half of the points are at one place, so the rest determines the unit.
        let mut heaped = cloud(1.0, 0.0);
        heaped[..n * 3 / 5].fill([0.5; 3]);
        clouds.push(heaped.clone());
        heaped[n - 1] = [1e38; 3];
        clouds.push(heaped);
        clouds
    }

    #[test]
    fn the_frame_is_that_of_its_definition_in_any_order() {
        let mut random = Random::new(6);
        for n in [5, 31, 50, 1000, 9000] {
            for (k, mut cloud) in clouds(n, &mut random).into_iter().enumerate() {
                let expected = plain(&cloud);
                for _ in 0..2 {
                    let found = frame(&cloud);
                    assert_eq!((found.center, found.unit), expected, "cloud {k} of {n} points");
                    for i in (1..n).rev() {
                        cloud.swap(i, random.below(i + 1));
                    }
                }
            }
        }
    }

    /// With a hundred thousand points, too, no sample decides.
    #[test]
    fn the_order_of_many_points_changes_no_bit() {
        let mut random = Random::new(7);
        let mut cloud: Vec<[f64; 3]> =
            (0..100_000).map(|_| std::array::from_fn(|_| 1e7 + random.uniform())).collect();
        cloud[3] = [1e38; 3];
        let one = frame(&cloud);
        assert_eq!((one.center, one.unit), plain(&cloud));
        cloud.reverse();
        let other = frame(&cloud);
        assert_eq!((one.center, one.unit), (other.center, other.unit));
    }

    /// Sums over the points are those of the normalised columns, whatever was in the columns before.
    #[test]
    fn sums_are_those_of_the_columns() {
        let mut random = Random::new(9);
        for n in [3, 511, 512, 513, 2000] {
            let cloud: Vec<[f64; 3]> = (0..n).map(|_| std::array::from_fn(|_| random.gaussian())).collect();
            let mut columns = [(); 3].map(|()| vec![f64::NAN; 700]);
            let found = Frame::of(&cloud, Side::Target, &mut columns, &mut vec![f64::NAN; 9]).unwrap();
            assert_eq!(found.spread, pcr99_base::kernel::sums::spread(&columns));
            assert_eq!(columns[0].len(), n);
        }
    }
}
