//! Two point lists → [`Correspondences`]: same length, at least three, finite, not on a line; centred and in
//! units in which they fill the cube `[−1, 1]³`.
//!
//! Centring keeps the precision of large coordinates (UTM has offsets of 10⁷). The unit is a power of two, so that
//! going to it and back is exact, and squares neither overflow nor vanish whatever the user's unit is.

use crate::{
    Error, Positive, Scale, Similarity, error::Side, kernel::Soa, least_squares, similarity::rotate,
};

/// Matches between a source and a target: row `i` of one belongs to row `i` of the other. Checked when made.
///
/// ```
/// use pcr99::Correspondences;
///
/// let source = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
/// let target = [[5.0, 0.0, 0.0], [5.0, 1.0, 0.0], [4.0, 0.0, 0.0]];
/// assert_eq!(Correspondences::new(&source, &target)?.len(), 3);
/// # Ok::<(), pcr99::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Correspondences {
    points: Soa,
    source: Frame,
    target: Frame,
}

impl Correspondences {
    /// Checks and takes in the matches `source[i]` ↔ `target[i]`.
    ///
    /// # Errors
    /// When the lengths differ, there are fewer than three, a coordinate is not finite, or all points of one side are
    /// equal or on one line.
    pub fn new(source: &[[f64; 3]], target: &[[f64; 3]]) -> Result<Self, Error> {
        if source.len() != target.len() {
            return Err(Error::UnequalLengths { source_points: source.len(), target_points: target.len() });
        }
        if source.len() < 3 {
            return Err(Error::TooFewMatches { found: source.len() });
        }
        let (source_frame, a) = Frame::of(source, Side::Source)?;
        let (target_frame, b) = Frame::of(target, Side::Target)?;
        Ok(Self { points: Soa { a, b }, source: source_frame, target: target_frame })
    }

    /// Matches given as pairs of indices (from 0) into two clouds.
    ///
    /// # Errors
    /// As [`Correspondences::new`], and when an index lies outside its cloud.
    pub fn from_indices(
        source: &[[f64; 3]],
        target: &[[f64; 3]],
        pairs: &[[usize; 2]],
    ) -> Result<Self, Error> {
        let pick = |cloud: &[[f64; 3]], side, column: usize| -> Result<Vec<[f64; 3]>, Error> {
            let point = |(row, pair): (usize, &[usize; 2])| {
                let index = pair[column];
                let outside = Error::IndexOutOfRange { row, side, index, points: cloud.len() };
                cloud.get(index).copied().ok_or(outside)
            };
            pairs.iter().enumerate().map(point).collect()
        };
        Self::new(&pick(source, Side::Source, 0)?, &pick(target, Side::Target, 1)?)
    }

    /// How many matches there are (`n`).
    #[expect(clippy::len_without_is_empty, reason = "there are always at least three")]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The least-squares transform of some of the matches, given by their indices; `None` when they do not fix it: fewer than
    /// three, or all on a line.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    pub fn fit(&self, scale: Scale, matches: &[usize]) -> Option<Similarity> {
        let matches: Vec<u32> = matches.iter().map(|&i| i as u32).collect();
        let known = match scale {
            Scale::Known(s) => Some(self.scale_inward(s)),
            Scale::Unknown => None,
        };
        least_squares::fit(&self.points, &matches, known).map(|model| self.outward(&model))
    }

    /// The matches in their own units.
    pub(crate) fn points(&self) -> &Soa {
        &self.points
    }

    /// A length in target units, in our own.
    pub(crate) fn target_length_inward(&self, length: Positive) -> f64 {
        length.get() / self.target.unit
    }

    /// A length in our own units, in target units.
    pub(crate) fn target_length_outward(&self, length: f64) -> f64 {
        length * self.target.unit
    }

    /// How far rounding of the caller's target coordinates may have moved a point, in our own units.
    pub(crate) fn target_rounding(&self) -> f64 {
        self.target.rounding
    }

    /// A scale in the caller's units, in our own.
    pub(crate) fn scale_inward(&self, scale: Positive) -> f64 {
        scale.get() * (self.source.unit / self.target.unit)
    }

    /// A transform between our own units, in the caller's: with `a = c_a + u_a·a'` and `b = c_b + u_b·b'`,
    /// `s = s'·u_b/u_a` and `t = c_b + u_b·t' − s·R·c_a`.
    pub(crate) fn outward(&self, model: &Similarity) -> Similarity {
        let scale = model.scale() * (self.target.unit / self.source.unit);
        let rotation = model.rotation();
        let moved_center = rotate(&rotation, self.source.center);
        let translation = std::array::from_fn(|axis| {
            self.target.center[axis] + self.target.unit * model.translation()[axis]
                - scale * moved_center[axis]
        });
        Similarity::new(scale, rotation, translation)
    }
}

/// Where our own coordinates of one side have their origin, and their unit.
#[derive(Debug, Clone, Copy)]
struct Frame {
    center: [f64; 3],
    unit: f64,
    /// How far rounding of the caller's coordinates may have moved a point, in our units.
    rounding: f64,
}

impl Frame {
    /// The middle and the size of the bounding box: unlike a mean, independent of the order of the points to the bit.
    fn of(points: &[[f64; 3]], side: Side) -> Result<(Self, [Vec<f64>; 3]), Error> {
        if let Some(index) = points.iter().position(|p| !p.iter().all(|x| x.is_finite())) {
            return Err(Error::NotFinite { side, index });
        }
        let corner = |pick: fn(f64, f64) -> f64| {
            points[1..].iter().fold(points[0], |c, p| std::array::from_fn(|axis| pick(c[axis], p[axis])))
        };
        let (low, high) = (corner(f64::min), corner(f64::max));
        let center = std::array::from_fn(|axis| 0.5 * low[axis] + 0.5 * high[axis]);
        let half = (0..3).map(|axis| 0.5 * high[axis] - 0.5 * low[axis]).fold(0.0, f64::max);
        if half == 0.0 {
            return Err(Error::AllEqual { side });
        }
        let unit = power_of_two_at_least(half);
        let largest = low.iter().chain(&high).fold(0.0, |m: f64, x| m.max(x.abs()));
        let frame = Self { center, unit, rounding: 4.0 * f64::EPSILON * (largest / unit).max(1.0) };
        let inward = |axis: usize| points.iter().map(|p| (p[axis] - center[axis]) / frame.unit).collect();
        let columns: [Vec<f64>; 3] = std::array::from_fn(inward);

        if are_collinear(&columns, 1e-9 + frame.rounding) {
            return Err(Error::Collinear { side });
        }
        Ok((frame, columns))
    }
}

/// The smallest power of two that is at least `x`, for positive finite `x`; never subnormal.
fn power_of_two_at_least(x: f64) -> f64 {
    let exponent_bits = 0x7FF0_0000_0000_0000;
    let below = f64::from_bits(x.max(f64::MIN_POSITIVE).to_bits() & exponent_bits);
    // Twice the largest power of two would be infinite; then coordinates reach up to 2 instead of 1, which does no harm.
    if below < x && below < f64::MAX / 2.0 { below * 2.0 } else { below }
}

/// Whether every point is within `tolerance` of one line: that through two points far from each other.
fn are_collinear(columns: &[Vec<f64>; 3], tolerance: f64) -> bool {
    let point = |i: usize| [columns[0][i], columns[1][i], columns[2][i]];
    let minus = |p: [f64; 3], q: [f64; 3]| -> [f64; 3] { std::array::from_fn(|axis| p[axis] - q[axis]) };
    let norm_sq = |v: [f64; 3]| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    let farthest_from = |origin: [f64; 3]| {
        let all = (0..columns[0].len()).map(point);
        all.fold(
            origin,
            |best, p| {
                if norm_sq(minus(p, origin)) > norm_sq(minus(best, origin)) { p } else { best }
            },
        )
    };
    let first = farthest_from([0.0; 3]);
    let along = minus(farthest_from(first), first);
    let length_sq = norm_sq(along);
    (0..columns[0].len()).map(point).all(|p| {
        let off = cross(along, minus(p, first));
        norm_sq(off) <= tolerance * tolerance * length_sq
    })
}

/// `u × v`.
pub(crate) fn cross(u: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIANGLE: [[f64; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];

    fn error(source: &[[f64; 3]], target: &[[f64; 3]]) -> Error {
        Correspondences::new(source, target).unwrap_err()
    }

    #[test]
    fn bad_input_is_named() {
        assert_eq!(
            error(&TRIANGLE, &TRIANGLE[..2]).to_string(),
            "3 source points but 2 target points: row i of one must match row i of the other"
        );
        assert_eq!(error(&TRIANGLE[..2], &TRIANGLE[..2]), Error::TooFewMatches { found: 2 });
        let mut broken = TRIANGLE;
        broken[1][2] = f64::NAN;
        assert_eq!(error(&TRIANGLE, &broken), Error::NotFinite { side: Side::Target, index: 1 });
        assert_eq!(error(&[[7.0; 3]; 4], &[[1.0; 3]; 4]), Error::AllEqual { side: Side::Source });
    }

    #[test]
    fn a_line_is_found_whatever_its_offset_and_unit() {
        for (offset, unit) in [(0.0, 1.0), (1e7, 1.0), (-3e7, 1e-3), (0.0, 1e-6), (1e6, 1e6), (0.0, 1e-300)] {
            let line: Vec<[f64; 3]> =
                (0..20).map(|i| [1.0, 2.0, -0.5].map(|d| offset + unit * d * f64::from(i))).collect();
            let mut bent = line.clone();
            bent[7][0] += 0.01 * unit;
            let spread: Vec<_> = (0..20).map(|i| TRIANGLE[i % 3]).collect();
            assert_eq!(error(&line, &spread), Error::Collinear { side: Side::Source }, "{offset} {unit}");
            assert_eq!(error(&spread, &line), Error::Collinear { side: Side::Target }, "{offset} {unit}");
            assert!(Correspondences::new(&bent, &spread).is_ok(), "{offset} {unit}");
        }
    }

    #[test]
    fn extreme_units_are_taken_in() {
        for unit in [1e-300, 1e-200, 1.0, 1e200, 8e307] {
            let scaled = TRIANGLE.map(|p| p.map(|x| x * unit * 0.8));
            let pairs = Correspondences::new(&scaled, &TRIANGLE).unwrap();
            let reach = pairs.points().a.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
            assert!((0.5..=2.0).contains(&reach), "{unit}: {reach}");
        }
    }

    #[test]
    fn a_model_comes_back_in_the_callers_units() {
        let turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let truth = Similarity::new(3.0, turn, [100.0, -7.0, 0.25]);
        let source = [[10.0, 20.0, 30.0], [12.0, 20.0, 30.0], [10.0, 25.0, 31.0]];
        let target = source.map(|p| truth.apply(p));
        let pairs = Correspondences::new(&source, &target).unwrap();
        // The same motion between our own coordinates: no centre, units divided out.
        let scale = 3.0 * pairs.source.unit / pairs.target.unit;
        let moved = truth.apply(pairs.source.center);
        let shift = std::array::from_fn(|axis| (moved[axis] - pairs.target.center[axis]) / pairs.target.unit);
        let back = pairs.outward(&Similarity::new(scale, turn, shift));
        for p in source {
            let (got, want) = (back.apply(p), truth.apply(p));
            assert!((0..3).all(|axis| (got[axis] - want[axis]).abs() < 1e-12), "{got:?} {want:?}");
        }
    }

    #[test]
    fn indices_pick_and_are_checked() {
        let cloud = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert!(Correspondences::from_indices(&cloud, &cloud, &[[3, 0], [1, 1], [2, 2]]).is_ok());
        let outside = Correspondences::from_indices(&cloud, &cloud, &[[0, 0], [1, 4], [2, 2]]).unwrap_err();
        assert_eq!(outside, Error::IndexOutOfRange { row: 1, side: Side::Target, index: 4, points: 4 });
    }
}
