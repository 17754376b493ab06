//! Options as the user gave them, not yet checked.

use pcr99::Similarity;
use pcr99_baselines::Method;
use pcr99_cloud::Refinement;

use crate::{GivenScale, GivenVertical};

/// Options of `solve`; `None` means the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SolveOptions {
    /// Scale; default 1.
    pub scale: Option<GivenScale>,
    /// Inlier threshold in target units. The default method finds it from the data; the other methods need it.
    pub threshold: Option<f64>,
    /// Largest standard deviation of the noise of a coordinate of a right match, in target units: another way to give the threshold, which is five times
    /// as large.
    pub noise_bound: Option<f64>,
    /// Method; default [`Method::Default`].
    pub method: Option<Method>,
    /// Threads, at least 1; default: all cores. Only the default method uses more than one.
    pub threads: Option<usize>,
    /// Largest size of the tables over pairs of matches, in MiB; default 1024. For the default method and the paper's methods.
    pub memory_budget_mib: Option<u64>,
    /// Time limit in seconds, after which the search returns the best transform found so far; default: none.
    pub time_limit: Option<f64>,
    /// Seed of the random numbers; default 0.
    pub seed: Option<u64>,
    /// Largest number of candidates to return; default 5. For the default method.
    pub candidates: Option<usize>,
    /// Largest number of pairs of matches that are tried in each round of the search; default 100 000. For the default method.
    pub effort: Option<u64>,
    /// Accepted probability of having missed a larger consensus; default 10⁻⁶. For the default method.
    pub miss_probability: Option<f64>,
    /// Distance between targets up to which neighbouring wrong matches are alike, in target units; default: measured. All methods are judged with it.
    pub correlation_length: Option<f64>,
    /// Direction that is up on each side; default: unknown. For the default method.
    pub vertical: Option<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees; default 0.
    pub tilt: Option<f64>,
    /// Parameters of the paper's methods.
    pub paper: PaperOptions,
}

/// Parameters of the published method, PCR-99; `None` means the paper's value.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PaperOptions {
    /// ε of the score and of the prescreening test; default 0.1.
    pub epsilon: Option<f64>,
    /// Step of the grid over the logarithm of an unknown scale; default 0.1.
    pub grid_step: Option<f64>,
    /// Hypotheses between two checks of the inlier count; default 1000.
    pub batch: Option<u64>,
    /// Smallest sufficient number of inliers; default 9.
    pub min_inliers: Option<usize>,
    /// Smallest sufficient number of inliers, as a fraction of all matches; default 0.009.
    pub min_inlier_fraction: Option<f64>,
    /// Largest number of hypotheses; default: no limit.
    pub hypothesis_limit: Option<u64>,
}

impl PaperOptions {
    /// Name of the first parameter that is set.
    pub(crate) fn first_set(&self) -> Option<&'static str> {
        let set = [
            ("epsilon", self.epsilon.is_some()),
            ("grid_step", self.grid_step.is_some()),
            ("batch", self.batch.is_some()),
            ("min_inliers", self.min_inliers.is_some()),
            ("min_inlier_fraction", self.min_inlier_fraction.is_some()),
            ("hypothesis_limit", self.hypothesis_limit.is_some()),
        ];
        set.into_iter().find(|(_, is_set)| *is_set).map(|(name, _)| name)
    }
}

/// Options of `register`; `None` means the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RegisterOptions {
    /// Scale; default 1.
    pub scale: Option<GivenScale>,
    /// Edge of the voxels in target units; default: from the density and extent of both clouds.
    pub voxel: Option<f64>,
    /// How the pose is refined; default: point to plane.
    pub refine: Option<Refinement>,
    /// Pose to refine and judge. A search still runs, and a better pose that it finds counts against this one.
    pub initial: Option<Similarity>,
    /// Whether the initial pose is only refined, without a search; default: a search runs.
    pub is_local: bool,
    /// Direction that is up on each side; default: unknown.
    pub vertical: Option<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees; default 0.
    pub tilt: Option<f64>,
    /// Largest number of candidates that are compared with the clouds; default 8.
    pub candidates: Option<usize>,
    /// Threads, at least 1; default: all cores.
    pub threads: Option<usize>,
    /// Time limit in seconds, after which the best pose found so far is returned; default: none.
    pub time_limit: Option<f64>,
    /// Seed of the random numbers; default 0.
    pub seed: Option<u64>,
}

/// Options of `assess`, which judges a transform by matches; `None` means the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssessOptions {
    /// Inlier threshold in target units; default: that of a search with the scale of the transform.
    pub threshold: Option<f64>,
    /// Distance between targets up to which neighbouring wrong matches are alike, in target units; default: measured.
    pub correlation_length: Option<f64>,
    /// Threads of the search, at least 1; default: all cores.
    pub threads: Option<usize>,
    /// Time limit of the search in seconds; default: none.
    pub time_limit: Option<f64>,
    /// Seed of the search; default 0.
    pub seed: Option<u64>,
}

/// Options of `verify`, which judges a pose by two clouds; `None` means the default.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VerifyOptions {
    /// Edge of the voxels in target units; default: from the density and extent of both clouds.
    pub voxel: Option<f64>,
    /// Largest number of candidates of the search that are compared with the pose; default 8.
    pub candidates: Option<usize>,
    /// Threads, at least 1; default: all cores.
    pub threads: Option<usize>,
    /// Time limit in seconds; default: none.
    pub time_limit: Option<f64>,
    /// Seed of the search; default 0.
    pub seed: Option<u64>,
}
