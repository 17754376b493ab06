//! Interface of the published methods, and the preparation of their input.

use pcr99::{
    Correspondences, Normalized, Positive, Scale, Similarity, StopReason, random::Random, stop::StopCheck,
};
use pcr99_base::Soa;

use crate::Error;

/// A published method. It finds a transform and says why it stopped; [`Solvers`](crate::Solvers) does the rest.
///
/// The associated type tells whether the method can find the scale: [`KnownScale`] or [`EitherScale`].
pub(crate) trait Baseline {
    /// Kinds of scale that the method supports.
    type Scale: Copy;

    /// Allocates tables for the given number of matches, when the method needs any. `method` is its name for the error.
    ///
    /// # Errors
    /// When the tables need more memory than allowed or available.
    fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        let _ = (method, matches);
        Ok(())
    }

    /// Finds the transform from source to target.
    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: Self::Scale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found;
}

/// The scale is known. It is 1, because the targets have been divided by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownScale;

/// The scale is known (and 1) or unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EitherScale {
    /// The scale is 1.
    Known,
    /// The scale is to be found.
    Unknown,
}

impl EitherScale {
    /// 1 when the scale is known.
    pub(crate) fn known(self) -> Option<f64> {
        (self == Self::Known).then_some(1.0)
    }
}

/// Matches as the methods take them: centred, with a known scale divided out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matches<'a> {
    /// Source and target points, by axis.
    pub(crate) points: &'a Soa,
    /// Standard deviation `σ` of the noise of each target coordinate: the unit of all published thresholds.
    pub(crate) sigma: f64,
}

/// Result of a method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    /// Transform; `None` when none was found.
    pub(crate) model: Option<Similarity>,
    /// Number of samples drawn, or of triplets visited.
    pub(crate) samples: u64,
    /// Number of transforms computed and tested.
    pub(crate) hypotheses: u64,
    /// Why the search stopped.
    pub(crate) stopped_because: StopReason,
}

/// Matches with a known scale divided out, and the units of the caller.
#[derive(Debug, Clone)]
pub(crate) struct Prepared<'a> {
    normalized: Normalized<'a>,
    points: Soa,
    sigma: f64,
    /// Divisor of the targets: the known scale, or 1.
    divided_by: f64,
}

/// Inlier threshold of a problem, in standard deviations of its noise, as in the evaluation of PCR-99.
const THRESHOLD_IN_SIGMA: f64 = 5.0;

impl<'a> Prepared<'a> {
    pub(crate) fn new(pairs: &'a Correspondences, scale: Scale, threshold: Positive) -> Self {
        let normalized = pairs.normalized(scale, threshold);
        let mut points = normalized.points.clone();
        let divided_by = normalized.known_scale.unwrap_or(1.0);
        if divided_by != 1.0 {
            points.b.iter_mut().flatten().for_each(|x| *x /= divided_by);
        }
        let sigma = normalized.threshold / THRESHOLD_IN_SIGMA / divided_by;
        Self { normalized, points, sigma, divided_by }
    }

    pub(crate) fn matches(&self) -> Matches<'_> {
        Matches { points: &self.points, sigma: self.sigma }
    }

    /// Transform in the units of the caller.
    pub(crate) fn outward(&self, model: &Similarity) -> Similarity {
        let translation = model.translation().map(|t| t * self.divided_by);
        let whole = Similarity::new_unchecked(model.scale() * self.divided_by, model.rotation(), translation);
        self.normalized.outward(&whole)
    }
}
