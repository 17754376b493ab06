//! What a published method has to provide, and what is done for all of them.

use pcr99::{
    Correspondences, Normalized, Positive, Scale, Similarity, StopReason, random::Random, stop::StopCheck,
};
use pcr99_base::Soa;

use crate::Error;

/// A published method as it sees a problem: find the transform, say why you stopped. Everything else is done for it.
///
/// The type of the scale says what the method can be asked for: [`KnownScale`] or [`EitherScale`].
pub(crate) trait Baseline {
    /// What it can be told of the scale.
    type Scale: Copy;

    /// Makes room for so many matches, where that takes more than a few lists of them; `method` is its name for the error.
    ///
    /// # Errors
    /// When they need more memory than is allowed, or than the system gives.
    fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        let _ = (method, matches);
        Ok(())
    }

    /// The transform from source to target of `matches`.
    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: Self::Scale,
        random: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found;
}

/// The scale is known; it is 1, since the matches have been divided by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownScale;

/// The scale is known (and 1), or to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EitherScale {
    /// It is 1.
    Known,
    /// It is to be found.
    Unknown,
}

impl EitherScale {
    /// 1 when it is known.
    pub(crate) fn known(self) -> Option<f64> {
        (self == Self::Known).then_some(1.0)
    }
}

/// Matches as the baselines take them: centred, with a known scale divided out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matches<'a> {
    /// Both sides by axis.
    pub(crate) points: &'a Soa,
    /// Standard deviation of the noise of a target coordinate (σ): the unit of all published thresholds.
    pub(crate) sigma: f64,
}

/// What a method came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    /// The transform; `None` when there is none.
    pub(crate) model: Option<Similarity>,
    /// Samples drawn, or triplets visited.
    pub(crate) samples: u64,
    /// Transforms computed and tested.
    pub(crate) hypotheses: u64,
    /// Why it ended.
    pub(crate) stopped_because: StopReason,
}

/// Matches with a known scale divided out, and the way back.
#[derive(Debug, Clone)]
pub(crate) struct Prepared<'a> {
    normalized: Normalized<'a>,
    points: Soa,
    sigma: f64,
    /// What the targets were divided by.
    divided_by: f64,
}

/// The threshold of a problem, in standard deviations of its noise.
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

    /// The transform in the units of the caller.
    pub(crate) fn outward(&self, model: &Similarity) -> Similarity {
        let translation = model.translation().map(|t| t * self.divided_by);
        let whole = Similarity::new_unchecked(model.scale() * self.divided_by, model.rotation(), translation);
        self.normalized.outward(&whole)
    }
}
