//! What a caller knows about the matches besides their points: weights, noise, correlation and the vertical.

use pcr99_base::{kernel::median::lower_median, upright::Tilt};

use super::Correspondences;
use crate::{Error, Vertical};

/// Largest ratio of the noise of a match to that of the median match, and of the median match to it. More precise matches would have residuals of rounding
/// errors only, and noisier ones agree with everything.
const WIDEST_RATIO: f64 = 1000.0;

impl Correspondences {
    /// Gives each match a weight, for instance the confidence of the matcher. Matches with higher weights are searched first. The evidence
    /// depends on the geometry alone.
    ///
    /// # Errors
    /// [`Error::BadWeight`] unless there is one finite weight for each match.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self, Error> {
        let matches = self.len();
        let good = weights.iter().take_while(|weight| weight.is_finite()).count();
        if good != matches || weights.len() != matches {
            return Err(Error::BadWeight { index: good.min(matches), matches });
        }
        Ok(Self { weights: Some(weights.to_vec()), ..self })
    }

    /// Says how noisy each match is, where right matches differ in noise: the standard deviations of their targets, in any unit.
    ///
    /// Only their ratios are used, because sensors know better how noise differs than how large it is. Each is divided by the lower median. With `s` this
    /// ratio, a match is an inlier when its residual is at most `s·δ`. The threshold `δ`, given or found, is thus that of a match of median noise. Fits
    /// weight a match with `1/s²`. Ratios below 1/1000 or above 1000 are taken as these. Equal standard deviations change nothing.
    ///
    /// The search tests pairs of matches with the threshold of the median match. Noisier matches start fewer hypotheses, but count as inliers.
    ///
    /// ```
    /// use pcr99::Correspondences;
    ///
    /// let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [2.0, 1.0, 0.0]];
    /// let pairs = Correspondences::new(&points, &points)?.with_standard_deviations(&[0.01, 0.01, 0.02, 0.1])?;
    /// assert!(pairs.differ_in_noise());
    ///
    /// let error = pairs.with_standard_deviations(&[0.01, 0.01, 0.0, 0.1]).unwrap_err();
    /// assert!(error.to_string().starts_with("the standard deviation of match 2 (counted from 0) is 0"));
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::StandardDeviationCount`] unless there is one for each match, [`Error::BadStandardDeviation`] unless each is finite and above zero.
    pub fn with_standard_deviations(mut self, deviations: &[f64]) -> Result<Self, Error> {
        if deviations.len() != self.len() {
            return Err(Error::StandardDeviationCount { found: deviations.len(), matches: self.len() });
        }
        if let Some(index) =
            deviations.iter().position(|deviation| !(deviation.is_finite() && *deviation > 0.0))
        {
            return Err(Error::BadStandardDeviation { index, value: deviations[index] });
        }
        let median = lower_median(deviations, &mut Vec::new()).unwrap_or(1.0);
        // Rounded to single precision, so that a change of the unit does not change the last bits.
        let ratio =
            |deviation: &f64| f64::from((deviation / median) as f32).clamp(1.0 / WIDEST_RATIO, WIDEST_RATIO);
        let ratios: Vec<f64> = deviations.iter().map(ratio).collect();
        let differ = ratios.iter().any(|ratio| *ratio != 1.0);
        self.points.precision =
            if differ { ratios.iter().map(|ratio| 1.0 / (ratio * ratio)).collect() } else { Vec::new() };
        Ok(self)
    }

    /// Whether standard deviations were given that differ from each other.
    pub fn differ_in_noise(&self) -> bool {
        !self.points.precision.is_empty()
    }

    /// Says up to which distance between targets neighbouring wrong matches tend to be wrong in the same way, in target units.
    ///
    /// Matches of descriptors are correlated over about the radius of the descriptor, because the descriptors of neighbouring points describe the same
    /// surface. Inliers closer together than half of this length then count once. Zero says that all matches are independent. By default the length is
    /// measured from the matches; give it where few matches are wrong, or where it is known.
    ///
    /// # Errors
    /// [`Error::Negative`] unless the length is finite and at least zero.
    pub fn with_correlation_length(self, length: f64) -> Result<Self, Error> {
        if !(length.is_finite() && length >= 0.0) {
            return Err(Error::Negative { name: "correlation_length", value: length });
        }
        let correlation_length = Some(length / self.target.unit);
        Ok(Self { correlation_length, ..self })
    }

    /// Says which direction is up on both sides. The transform then has four unknowns, or five with an unknown scale: two right matches determine it, and chance
    /// agrees with it far more rarely. The published method does not take it.
    ///
    /// ```
    /// use pcr99::{Correspondences, Params, Scale, Vertical, solve};
    ///
    /// let source: Vec<[f64; 3]> = (0..30).map(|i| { let x = f64::from(i); [x, x * x % 7.0, x * x * x % 5.0] }).collect();
    /// let target: Vec<[f64; 3]> = source.iter().map(|p| [-p[1], p[0], p[2] + 3.0]).collect();
    /// let pairs = Correspondences::new(&source, &target)?.with_vertical(Vertical::Z);
    /// let found = solve(&pairs, Scale::one(), &Params::new())?;
    /// assert_eq!(found.target_from_source.unwrap().rotation()[2], [0.0, 0.0, 1.0]);
    /// # Ok::<(), pcr99::Error>(())
    /// ```
    #[must_use]
    pub fn with_vertical(mut self, vertical: Vertical) -> Self {
        let [source, target] = vertical.uprights();
        self.source.turn(&source, &mut self.points.a);
        self.target.turn(&target, &mut self.points.b);
        self.vertical = Some(vertical);
        self
    }

    /// The vertical, if it is known.
    pub fn vertical(&self) -> Option<&Vertical> {
        self.vertical.as_ref()
    }

    /// How far the third normalised axis may tilt, where the vertical is known.
    pub(crate) fn tilt(&self) -> Option<Tilt> {
        self.vertical.map(|vertical| vertical.tilt())
    }

    /// The correlation length in normalised units of the target, if it was given.
    pub(crate) fn correlation_length(&self) -> Option<f64> {
        self.correlation_length
    }

    /// The weights, if any.
    pub(crate) fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}
