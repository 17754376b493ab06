//! The parameters of a registration, checked when they are made.

use pcr99::{Positive, Scale, Similarity};

use super::RegisterError;
use crate::refine::Refinement;

/// The parameters of a registration. All have defaults.
///
/// ```
/// use pcr99_cloud::{RegisterParams, Refinement};
///
/// let params = RegisterParams::new().with_voxel(0.05)?.with_refinement(Refinement::PointToPoint);
/// assert_eq!(params.voxel().map(|v| v.get()), Some(0.05));
/// assert!(RegisterParams::new().with_voxel(-1.0).is_err());
/// # Ok::<(), pcr99_cloud::RegisterError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RegisterParams {
    voxel: Option<Positive>,
    scale: Scale,
    refinement: Refinement,
    initial: Option<Similarity>,
    candidates: usize,
    threads: usize,
    seed: u64,
}

impl Default for RegisterParams {
    fn default() -> Self {
        Self {
            voxel: None,
            scale: Scale::one(),
            refinement: Refinement::default(),
            initial: None,
            candidates: 8,
            threads: 0,
            seed: 0,
        }
    }
}

impl RegisterParams {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The edge of a voxel, in target units. Default: from the density and extent of both clouds. One that would leave more points than
    /// can be matched all with all (40 000) is made coarser; one that is finer than the points are apart leaves them as they are, and
    /// hardly any has neighbours to tell its normal by. The outcome has the voxel that was used.
    ///
    /// # Errors
    /// Unless finite and positive.
    pub fn with_voxel(self, voxel: f64) -> Result<Self, RegisterError> {
        Ok(Self { voxel: Some(Positive::new("voxel", voxel)?), ..self })
    }

    /// What is known of the scale. Default: it is one.
    #[must_use]
    pub fn with_scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// How the pose is refined. Default: point to plane.
    #[must_use]
    pub fn with_refinement(self, refinement: Refinement) -> Self {
        Self { refinement, ..self }
    }

    /// A pose to start from: what is refined and judged. Poses that a search finds beside it are its rivals, and matches must speak for it.
    #[must_use]
    pub fn with_initial(self, target_from_source: Similarity) -> Self {
        Self { initial: Some(target_from_source), ..self }
    }

    /// How many distinct poses are taken from the matches and held against the clouds, at most. Default 8.
    ///
    /// # Errors
    /// When zero.
    pub fn with_candidates(self, candidates: usize) -> Result<Self, RegisterError> {
        pcr99::Params::new().with_candidates(candidates)?;
        Ok(Self { candidates, ..self })
    }

    /// How many threads to use; 0, the default, takes all cores. The result does not depend on it.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Seed of the search among the matches. Default 0.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The edge of a voxel, when it is given.
    pub fn voxel(&self) -> Option<Positive> {
        self.voxel
    }

    /// What is known of the scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// How the pose is refined.
    pub fn refinement(&self) -> Refinement {
        self.refinement
    }

    /// The pose to start from.
    pub fn initial(&self) -> Option<&Similarity> {
        self.initial.as_ref()
    }

    /// How many poses are held against the clouds at most.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// How many threads to use; 0 takes all cores.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}
