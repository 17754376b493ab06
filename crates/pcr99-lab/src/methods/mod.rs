//! The methods that ours is compared with, one file each, and all of them under one name.
//!
//! Each is written from its publication, with its published parameters and the care that our own method gets: columns, no
//! allocation in inner loops, the same kernels and the same least squares. What they return is judged by the same evidence.
//!
//! | method | file | scale | publication |
//! |---|---|---|---|
//! | RANSIC | `ransic` | known, unknown | Sun 2022 |
//! | ICOS | `icos` | known, unknown | Sun 2021 |
//! | DANIEL | `daniel` | known | Sun 2022 |
//! | TriVoC | `trivoc` | known | Sun, Deng 2022 |
//! | VODRAC | `vodrac` | known | J. King Saud Univ. 2023 |
//! | VOCRA | `vocra` | known | Sun 2022 |
//! | RANSAC | `ransac` | known, unknown | Fischler, Bolles 1981 |
//! | GNC-TLS | `gnc_tls` | known, unknown | Yang, Antonante, Tzoumas, Carlone 2020 |
//! | TEASER | `teaser` | known, unknown | Yang, Shi, Carlone 2021 |
//! | FGR | `fgr` | known | Zhou, Park, Koltun 2016 |

/// What the methods have in common: minimal solver, adaptive trial counts, angles.
pub(crate) mod blocks;

/// Random draws that end, and what RANSIC and ICOS share.
mod draws;

/// Fast global registration.
mod fgr;

/// Graduated non-convexity with truncated least squares.
mod gnc_tls;

/// Compatible structures.
mod icos;

/// Random sample consensus.
mod ransac;

/// Random sampling with invariant compatibility.
mod ransic;

/// Two layers of random samples.
mod daniel;

/// Three levels of voting.
mod trivoc;

/// Random pairs, voting for the third.
mod vodrac;

/// Voting, then rotations that agree.
mod vocra;

/// The mean of rotations of which some are wrong.
mod rotation_mean;

/// Which matches may be right together.
mod graph;

/// Looks at the clock now and then.
mod watch;

/// Every method under its name.
mod solvers;

/// Decoupled scale, clique, rotation and translation.
mod teaser;

pub use solvers::{Method, Solvers};

use pcr99::{
    Correspondences, Normalized, Positive, Scale, Similarity, StopReason, random::Random, stop::StopCheck,
};
use pcr99_base::Soa;

use crate::Error;

/// A published method as it sees a problem: find the transform, say why you stopped. Everything else is done for it.
///
/// The type of the scale says what the method can be asked for: [`KnownScale`] or [`EitherScale`].
pub trait Baseline {
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
pub struct KnownScale;

/// The scale is known (and 1), or to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EitherScale {
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
pub struct Matches<'a> {
    /// Both sides by axis.
    pub points: &'a Soa,
    /// Standard deviation of the noise of a target coordinate (σ): the unit of all published thresholds.
    pub sigma: f64,
}

/// What a method came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The transform; `None` when there is none.
    pub model: Option<Similarity>,
    /// Samples drawn, or triplets visited.
    pub samples: u64,
    /// Transforms computed and tested.
    pub hypotheses: u64,
    /// Why it ended.
    pub stopped_because: StopReason,
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

/// The threshold of a problem is this many standard deviations of its noise.
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
        let whole = Similarity::new(model.scale() * self.divided_by, model.rotation(), translation);
        self.normalized.outward(&whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Errors, OutlierCenter, Recipe, ScaleChoice, Shape};
    use pcr99::stop;

    /// `n` matches on the knot at scale one (σ = 0.01), and which are right.
    pub(crate) fn knot_problem(n: usize, ratio: f64, seed: u64) -> (Correspondences, Vec<bool>) {
        let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(n));
        let problem =
            recipe.and_then(|r| r.with_outlier_ratio(ratio)).unwrap().with_seed(seed).generate().unwrap();
        (Correspondences::new(&problem.source, &problem.target).unwrap(), problem.is_inlier)
    }

    /// The largest rotation error in degrees over some problems (n = 1000, σ = 0.01), 180 where nothing is found; `known_scale` is
    /// told to the method, else it is random and has to be found.
    pub(crate) fn largest_error(method: Method, known_scale: Option<f64>, ratio: f64, problems: u64) -> f64 {
        let mut solvers = Solvers::new();
        let errors = (0..problems).map(|seed| {
            let choice = known_scale.map_or(ScaleChoice::Random, ScaleChoice::Fixed);
            let recipe = Recipe::default().with_shape(Shape::Knot).and_then(|r| r.with_points(1000));
            let recipe = recipe.and_then(|r| r.with_outlier_ratio(ratio)).and_then(|r| r.with_scale(choice));
            let problem = recipe
                .unwrap()
                .with_outlier_center(OutlierCenter::Centred)
                .with_seed(seed)
                .generate()
                .unwrap();
            let pairs = Correspondences::new(&problem.source, &problem.target).unwrap();
            let scale = known_scale.map_or(Scale::Unknown, |s| Scale::known(s).unwrap());
            let threshold = Positive::new("threshold", 0.05).unwrap();
            let found = solvers.solve(method, &pairs, scale, threshold, seed, &stop::never).unwrap();
            found
                .target_from_source
                .map_or(180.0, |model| Errors::between(&model, &problem.truth).rotation_deg)
        });
        errors.fold(0.0, f64::max)
    }
}
