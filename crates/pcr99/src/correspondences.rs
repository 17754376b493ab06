//! Checked matches in normalised coordinates: [`frame`] has origin and unit, [`collinear`] the test for points on one line, [`repeats`] the matches that say nothing
//! new, [`described`] what a caller knows about the matches.

mod collinear;
mod described;
mod frame;
mod repeats;

use pcr99_base::{
    Soa,
    kernel::{columns::Coordinate, sums::Spread},
    least_squares,
    vector::{multiply, rotate, transpose},
};

use self::frame::Frame;
use crate::{Error, Positive, Scale, Similarity, Vertical, error::Side};

/// Matches between source and target points: row `i` of one matches row `i` of the other. They are checked when they are made.
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
    weights: Option<Vec<f64>>,
    /// How far the errors of neighbouring wrong matches are alike, in normalised units of the target.
    correlation_length: Option<f64>,
    /// The vertical, which is then the third normalised axis on both sides.
    vertical: Option<Vertical>,
}

impl Correspondences {
    /// Checks the matches `source[i]` ↔ `target[i]`.
    ///
    /// # Errors
    /// * [`Error::UnequalLengths`] when the lengths differ;
    /// * [`Error::TooFewMatches`] when there are fewer than three;
    /// * [`Error::NotFinite`] when a coordinate is NaN or infinite;
    /// * [`Error::AllEqual`] or [`Error::Collinear`] when the points of one side are equal or on one line;
    /// * [`Error::ExtremeUnits`] when the scale between the two sides would overflow.
    pub fn new(source: &[[f64; 3]], target: &[[f64; 3]]) -> Result<Self, Error> {
        Self::checked(source, target, Soa::default())
    }

    /// Matches in single precision, as many sensors and meshes store them.
    ///
    /// The coordinates are converted without loss. Differences that are within the rounding of single precision are treated as rounding, for instance
    /// when points are tested for lying on one line.
    ///
    /// ```
    /// use pcr99::Correspondences;
    ///
    /// let points = [[0.0_f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.5]];
    /// assert_eq!(Correspondences::from_f32(&points, &points)?.len(), 3);
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Correspondences::new`].
    pub fn from_f32(source: &[[f32; 3]], target: &[[f32; 3]]) -> Result<Self, Error> {
        Self::checked(source, target, Soa::default())
    }

    /// Matches from two sequences of any type of point that converts to three numbers: arrays, tuples, the points and vectors of `nalgebra` and `glam`.
    ///
    /// ```
    /// use pcr99::Correspondences;
    ///
    /// let source = (0..5).map(|i| { let x = f64::from(i); [x, x * x, 1.0] });
    /// let target = (0..5).map(|i| { let x = f64::from(i); (x + 1.0, x * x, 2.0) });
    /// assert_eq!(Correspondences::from_points(source, target)?.len(), 5);
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Correspondences::new`].
    pub fn from_points(
        source: impl IntoIterator<Item: Into<[f64; 3]>>,
        target: impl IntoIterator<Item: Into<[f64; 3]>>,
    ) -> Result<Self, Error> {
        let source: Vec<[f64; 3]> = source.into_iter().map(Into::into).collect();
        let target: Vec<[f64; 3]> = target.into_iter().map(Into::into).collect();
        Self::new(&source, &target)
    }

    /// Matches from a sequence of pairs of a source and a target point.
    ///
    /// ```
    /// use pcr99::Correspondences;
    ///
    /// let source = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// let pairs = source.iter().map(|p| (*p, p.map(|x| 2.0 * x)));
    /// assert_eq!(Correspondences::from_pairs(pairs)?.len(), 4);
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Correspondences::new`].
    pub fn from_pairs(
        pairs: impl IntoIterator<Item = (impl Into<[f64; 3]>, impl Into<[f64; 3]>)>,
    ) -> Result<Self, Error> {
        let (source, target): (Vec<[f64; 3]>, Vec<[f64; 3]>) =
            pairs.into_iter().map(|(a, b)| (a.into(), b.into())).unzip();
        Self::new(&source, &target)
    }

    /// As [`Correspondences::new`], in the memory of earlier matches: in a loop over problems, nothing is allocated again.
    ///
    /// With a million matches, memory that is new to the process costs more than everything else here.
    ///
    /// ```
    /// use pcr99::Correspondences;
    ///
    /// let source = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    /// let mut pairs = Correspondences::new(&source, &source)?;
    /// for shift in 1..5 {
    ///     let target = source.map(|[x, y, z]| [x, y, z + f64::from(shift)]);
    ///     pairs = Correspondences::new_reusing(pairs, &source, &target)?;
    /// }
    /// assert_eq!(pairs.len(), 3);
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Correspondences::new`].
    pub fn new_reusing(earlier: Self, source: &[[f64; 3]], target: &[[f64; 3]]) -> Result<Self, Error> {
        Self::checked(source, target, earlier.points)
    }

    /// As [`Correspondences::from_f32`], in the memory of earlier matches: see [`new_reusing`](Self::new_reusing).
    ///
    /// # Errors
    /// As [`Correspondences::new`].
    pub fn from_f32_reusing(earlier: Self, source: &[[f32; 3]], target: &[[f32; 3]]) -> Result<Self, Error> {
        Self::checked(source, target, earlier.points)
    }

    /// Checks matches and stores them in `points`, whatever was there.
    fn checked<C: Coordinate>(source: &[[C; 3]], target: &[[C; 3]], mut points: Soa) -> Result<Self, Error> {
        if source.len() != target.len() {
            return Err(Error::UnequalLengths { source_points: source.len(), target_points: target.len() });
        }
        if source.len() < 3 {
            return Err(Error::TooFewMatches { found: source.len() });
        }
        let mut scratch = Vec::new();
        let source = Frame::of(source, Side::Source, &mut points.a, &mut scratch)?;
        let target = Frame::of(target, Side::Target, &mut points.b, &mut scratch)?;
        Frame::check_room(&source, &target)?;
        points.precision.clear();
        Ok(Self { points, source, target, weights: None, correlation_length: None, vertical: None })
    }

    /// Matches given as pairs of indices, counted from 0, into two clouds.
    ///
    /// # Errors
    /// As [`Correspondences::new`], and [`Error::IndexOutOfRange`] when an index lies outside its cloud.
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

    /// Number of matches, `n`.
    #[expect(clippy::len_without_is_empty, reason = "there are always at least three")]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// The least-squares transform of some of the matches, given by their indices; `None` when these are fewer than three or on one
    /// line, or with a known vertical, when they are on one vertical line. Matches are weighted by their [standard deviations](Self::with_standard_deviations), if these were given.
    ///
    /// # Panics
    /// When an index is not below [`len`](Self::len).
    pub fn fit(&self, scale: Scale, matches: &[usize]) -> Option<Similarity> {
        let matches: Vec<u32> = matches.iter().map(|&i| i as u32).collect();
        let known = self.known_scale_inward(scale);
        self.fit_inward(known, &matches).map(|model| self.outward(&model))
    }

    /// The least-squares transform of some of the matches, in normalised coordinates.
    pub(crate) fn fit_inward(&self, known_scale: Option<f64>, matches: &[u32]) -> Option<Similarity> {
        match self.tilt() {
            None => least_squares::fit(&self.points, matches, known_scale),
            Some(tilt) => {
                let sums = least_squares::weighted_sums(&self.points, matches, |_| 1.0);
                least_squares::fit_sums_upright(&sums, known_scale, &tilt)
            }
        }
    }

    /// The matches in normalised coordinates, together with the parameters of a problem: what an implementer of another method works on.
    ///
    /// Each side is centred on the bulk of its points and divided by a power of two near their extent, so that no square overflows or
    /// vanishes and large offsets cost no precision. All methods of this crate work on these coordinates.
    ///
    /// ```
    /// use pcr99::{Correspondences, Positive, Scale};
    ///
    /// let source = [[1e7, 0.0, 0.0], [1e7 + 1.0, 0.0, 0.0], [1e7, 2.0, 0.0], [1e7, 0.0, 3.0]];
    /// let target = source.map(|[x, y, z]| [x - 1e7, y, z + 5.0]);
    /// let pairs = Correspondences::new(&source, &target)?;
    /// let normalized = pairs.normalized(Scale::Known(Positive::ONE), Positive::new("threshold", 0.1)?);
    ///
    /// // A method of your own finds a transform between the normalised points …
    /// let points = normalized.points;
    /// let found = pcr99_base::least_squares::fit(points, &[0, 1, 2, 3], normalized.known_scale).expect("no line");
    /// // … and returns it in the units of the caller.
    /// let target_from_source = normalized.outward(&found);
    /// assert!((target_from_source.translation()[2] - 5.0).abs() < 1e-8);
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    pub fn normalized(&self, scale: Scale, threshold: Positive) -> Normalized<'_> {
        Normalized {
            points: &self.points,
            threshold: self.target_length_inward(threshold),
            known_scale: self.known_scale_inward(scale),
            pairs: self,
        }
    }

    /// The matches in normalised coordinates.
    pub(crate) fn points(&self) -> &Soa {
        &self.points
    }

    /// Sums over the normalised points of the source and of the target.
    pub(crate) fn spreads(&self) -> [&Spread; 2] {
        [&self.source.spread, &self.target.spread]
    }

    /// Converts a length from target units to normalised ones.
    pub(crate) fn target_length_inward(&self, length: Positive) -> f64 {
        length.get() / self.target.unit
    }

    /// Converts a length from normalised units to target units.
    pub(crate) fn target_length_outward(&self, length: f64) -> f64 {
        length * self.target.unit
    }

    /// Maps normalised target coordinates to those of the caller.
    pub(crate) fn target_frame(&self) -> Similarity {
        let turn = self.target.upright.map_or(Similarity::IDENTITY.rotation(), |upright| transpose(&upright));
        Similarity::new_unchecked(self.target.unit, turn, self.target.center)
    }

    /// Rounding error of the caller's target coordinates, in normalised units.
    pub(crate) fn target_rounding(&self) -> f64 {
        self.target.rounding
    }

    /// A known scale in normalised units; `None` when the scale is unknown or a range.
    fn known_scale_inward(&self, scale: Scale) -> Option<f64> {
        match scale {
            Scale::Known(s) => Some(self.scale_inward(s)),
            Scale::Unknown | Scale::Between(..) => None,
        }
    }

    /// Converts a scale to normalised units.
    pub(crate) fn scale_inward(&self, scale: Positive) -> f64 {
        scale.get() * (self.source.unit / self.target.unit)
    }

    /// Converts a scale from normalised units.
    pub(crate) fn scale_outward(&self, scale: f64) -> Positive {
        let outward = scale * (self.target.unit / self.source.unit);
        Positive::new("scale", outward).unwrap_or(Positive::ONE)
    }

    /// Converts a transform to normalised units: `s' = s·u_a/u_b` and `t' = (t + s·R·c_a − c_b)/u_b`.
    pub(crate) fn inward(&self, model: &Similarity) -> Similarity {
        let moved_center = rotate(&model.rotation(), self.source.center);
        let translation = std::array::from_fn(|axis| {
            let moved = model.translation()[axis] + model.scale() * moved_center[axis];
            (moved - self.target.center[axis]) / self.target.unit
        });
        let scale = model.scale() * (self.source.unit / self.target.unit);
        match (self.source.upright, self.target.upright) {
            (Some(source), Some(target)) => {
                let rotation = multiply(&multiply(&target, &model.rotation()), &transpose(&source));
                Similarity::new_unchecked(scale, rotation, rotate(&target, translation))
            }
            _ => Similarity::new_unchecked(scale, model.rotation(), translation),
        }
    }

    /// Converts a transform from normalised units: with `a = c_a + u_a·a'` and `b = c_b + u_b·b'`, `s = s'·u_b/u_a` and
    /// `t = c_b + u_b·t' − s·R·c_a`.
    pub(crate) fn outward(&self, model: &Similarity) -> Similarity {
        let scale = model.scale() * (self.target.unit / self.source.unit);
        let (rotation, shift) = match (self.source.upright, self.target.upright) {
            (Some(source), Some(target)) => {
                let back = transpose(&target);
                let rotation = multiply(&multiply(&back, &model.rotation()), &source);
                (rotation, rotate(&back, model.translation()))
            }
            _ => (model.rotation(), model.translation()),
        };
        let moved_center = rotate(&rotation, self.source.center);
        let translation = std::array::from_fn(|axis| {
            self.target.center[axis] + self.target.unit * shift[axis] - scale * moved_center[axis]
        });
        Similarity::new_unchecked(scale, rotation, translation)
    }
}

/// Matches in normalised coordinates, with the parameters of a problem in the same units: see [`Correspondences::normalized`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Normalized<'a> {
    /// The matches, in the order of the [`Correspondences`].
    pub points: &'a Soa,
    /// The inlier threshold, as a distance between normalised targets.
    pub threshold: f64,
    /// The scale between normalised coordinates; `None` when it is unknown or only a range is known.
    pub known_scale: Option<f64>,
    pairs: &'a Correspondences,
}

impl Normalized<'_> {
    /// Converts a transform between normalised coordinates to the units of the caller.
    pub fn outward(&self, model: &Similarity) -> Similarity {
        self.pairs.outward(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

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
    fn extreme_units_are_normalised() {
        for unit in [1e-300, 1e-200, 1.0, 1e200, 1e279] {
            let scaled = TRIANGLE.map(|p| p.map(|x| x * unit * 0.8));
            let pairs = Correspondences::new(&scaled, &scaled).unwrap();
            let reach = pairs.points().a.iter().flatten().fold(0.0_f64, |m, x| m.max(x.abs()));
            assert!((0.5..=1.0).contains(&reach), "{unit}: {reach}");
        }
    }

    /// Regression: the scale was infinite or zero.
    #[test]
    fn units_without_a_scale_between_them_are_refused() {
        let times = |unit: f64| TRIANGLE.map(|p| p.map(|x| x * unit));
        for (source, target) in [(1e-200, 1e200), (1e200, 1e-200), (8e307, 8e307), (1e-300, 1.0)] {
            let refused = error(&times(source), &times(target));
            assert!(matches!(refused, Error::ExtremeUnits { .. }), "{source} {target}: {refused}");
        }
        for (source, target) in [(1e-130, 1e130), (1e130, 1e-130), (1e279, 1e20)] {
            let pairs = Correspondences::new(&times(source), &times(target)).unwrap();
            let found = pairs.fit(Scale::Unknown, &[0, 1, 2]).unwrap();
            assert!((found.scale() / (target / source) - 1.0).abs() < 1e-12, "{source} {target}");
            assert!(found.translation().iter().all(|t| t.is_finite()));
        }
    }

    /// Regression: one point far off rounded all others away.
    #[test]
    fn a_point_far_off_costs_no_precision() {
        let mut random = Random::new(5);
        let cube: Vec<[f64; 3]> = (0..100).map(|_| std::array::from_fn(|_| random.uniform())).collect();
        let whole = Correspondences::new(&cube, &cube).unwrap();
        for far in [1e3, 1e10, 1e20, 1e38, 1e300, f64::MAX, -1e20] {
            let mut strayed = cube.clone();
            strayed[17] = [far; 3];
            let pairs = Correspondences::new(&strayed, &cube).unwrap();
            let kept: Vec<usize> = (0..100).filter(|&i| i != 17).collect();
            let found = pairs.fit(Scale::Unknown, &kept).unwrap();
            assert!((found.scale() - 1.0).abs() < 1e-14, "{far}: {}", found.scale());
            assert!(pairs.points().a.iter().flatten().all(|x| (x * x * x * x).is_finite()));
            let strayed_target = Correspondences::new(&cube, &strayed).unwrap();
            assert!(strayed_target.target_rounding() <= 2.0 * whole.target_rounding(), "{far}");
        }
        // More than half the points are at one place, so the rest determines the unit.
        let mut heaped = cube.clone();
        heaped[..60].fill([0.5; 3]);
        heaped[60] = [1e38; 3];
        let pairs = Correspondences::new(&heaped, &cube).unwrap();
        assert!(pairs.source.unit <= 4.0, "{}", pairs.source.unit);
    }

    #[test]
    fn a_transform_is_returned_in_the_callers_units() {
        let turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let truth = Similarity::new(3.0, turn, [100.0, -7.0, 0.25]).expect("a similarity");
        let source = [[10.0, 20.0, 30.0], [12.0, 20.0, 30.0], [10.0, 25.0, 31.0]];
        let target = source.map(|p| truth.apply(p));
        let pairs = Correspondences::new(&source, &target).unwrap();
        // The motion between normalised coordinates.
        let scale = 3.0 * pairs.source.unit / pairs.target.unit;
        let moved = truth.apply(pairs.source.center);
        let shift = std::array::from_fn(|axis| (moved[axis] - pairs.target.center[axis]) / pairs.target.unit);
        let back = pairs.outward(&Similarity::new(scale, turn, shift).expect("a similarity"));
        for p in source {
            let (got, want) = (back.apply(p), truth.apply(p));
            assert!((0..3).all(|axis| (got[axis] - want[axis]).abs() < 1e-12), "{got:?} {want:?}");
        }
    }

    /// In single precision at an offset of 10⁶, points on a line are up to a sixteenth off it.
    #[test]
    fn single_precision_is_taken_into_account() {
        let line: Vec<[f32; 3]> = (0..20).map(|i| [1.1_f32, 2.3, -0.7].map(|d| 1e6 + d * i as f32)).collect();
        let spread: Vec<[f32; 3]> =
            (0..20_u8).map(|i| TRIANGLE[usize::from(i % 3)].map(|x| x as f32)).collect();
        let refused = Correspondences::from_f32(&line, &spread).unwrap_err();
        assert_eq!(refused, Error::Collinear { side: Side::Source });
        let wide: Vec<[f64; 3]> = line.iter().map(|p| p.map(f64::from)).collect();
        let spread: Vec<[f64; 3]> = spread.iter().map(|p| p.map(f64::from)).collect();
        assert!(Correspondences::new(&wide, &spread).is_ok(), "rounded off the line");
    }

    #[test]
    fn sequences_of_points_are_the_same_matches() {
        let target = TRIANGLE.map(|[x, y, z]| [y, x, z + 1.0]);
        let matches = Correspondences::new(&TRIANGLE, &target).unwrap();
        let zipped = TRIANGLE.iter().copied().zip(target);
        for same in [
            Correspondences::from_points(TRIANGLE, target.map(|[x, y, z]| (x, y, z))),
            Correspondences::from_pairs(zipped),
            Correspondences::from_f32(
                &TRIANGLE.map(|p| p.map(|x| x as f32)),
                &target.map(|p| p.map(|x| x as f32)),
            ),
        ] {
            let same = same.unwrap();
            assert_eq!((&same.points().a, &same.points().b), (&matches.points().a, &matches.points().b));
        }
        let unequal = Correspondences::from_points(TRIANGLE, target[..2].iter().copied()).unwrap_err();
        assert_eq!(unequal, Error::UnequalLengths { source_points: 3, target_points: 2 });
    }

    /// New matches are the same in used memory, whether they are more or fewer, and do not inherit weights or standard deviations.
    #[test]
    fn memory_is_reused_without_a_trace() {
        let mut random = Random::new(8);
        let mut cloud = |n: usize| -> Vec<[f64; 3]> {
            (0..n).map(|_| std::array::from_fn(|_| random.gaussian())).collect()
        };
        let mut used = Correspondences::new(&TRIANGLE, &TRIANGLE).unwrap();
        for n in [10, 2000, 700, 3] {
            let weights: Vec<f64> = (0..used.len()).map(|i| 1.0 + i as f64).collect();
            used = used.with_weights(&weights).unwrap().with_standard_deviations(&weights).unwrap();
            used = used.with_correlation_length(1.0).unwrap();
            used = used.with_vertical(Vertical::new([1.0, 2.0, 3.0], [0.0, 1.0, 0.0]).unwrap());
            let (source, target) = (cloud(n), cloud(n));
            let fresh = Correspondences::new(&source, &target).unwrap();
            used = Correspondences::new_reusing(used, &source, &target).unwrap();
            assert_eq!(format!("{used:?}"), format!("{fresh:?}"));
            let narrow = |points: &[[f64; 3]]| -> Vec<[f32; 3]> {
                points.iter().map(|p| p.map(|x| x as f32)).collect()
            };
            let (source, target) = (narrow(&source), narrow(&target));
            let fresh = Correspondences::from_f32(&source, &target).unwrap();
            used = Correspondences::from_f32_reusing(used, &source, &target).unwrap();
            assert_eq!(format!("{used:?}"), format!("{fresh:?}"));
        }
        let refused = Correspondences::new_reusing(used, &TRIANGLE, &TRIANGLE[..2]).unwrap_err();
        assert_eq!(refused, Error::UnequalLengths { source_points: 3, target_points: 2 });
    }

    #[test]
    fn indices_pick_and_are_checked() {
        let cloud = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        assert!(Correspondences::from_indices(&cloud, &cloud, &[[3, 0], [1, 1], [2, 2]]).is_ok());
        let outside = Correspondences::from_indices(&cloud, &cloud, &[[0, 0], [1, 4], [2, 2]]).unwrap_err();
        assert_eq!(outside, Error::IndexOutOfRange { row: 1, side: Side::Target, index: 4, points: 4 });
    }
}
