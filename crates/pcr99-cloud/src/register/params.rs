//! Parameters of a registration.

use pcr99::{Positive, Scale, Similarity, Vertical};

use super::RegisterError;
use crate::refine::Refinement;

/// Parameters of a registration. All have defaults, and all are checked when they are set.
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
    is_local: bool,
    vertical: Option<Vertical>,
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
            is_local: false,
            vertical: None,
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

    /// Edge of a voxel, in target units. Default: chosen from the density and extent of both clouds.
    ///
    /// A voxel that leaves more than 40 000 points is made coarser. A voxel finer than the point spacing leaves hardly any point enough
    /// neighbours for a normal. The result has the voxel that was used.
    ///
    /// # Errors
    /// When it is not finite and positive.
    pub fn with_voxel(self, voxel: f64) -> Result<Self, RegisterError> {
        Ok(Self { voxel: Some(Positive::new("voxel", voxel)?), ..self })
    }

    /// Known scale, range of scales or unknown scale. Default: a known scale of one.
    #[must_use]
    pub fn with_scale(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// Method of refinement. Default: point-to-plane.
    #[must_use]
    pub fn with_refinement(self, refinement: Refinement) -> Self {
        Self { refinement, ..self }
    }

    /// An initial pose. It is refined and judged; a search still runs, and a better pose that it finds counts against it.
    #[must_use]
    pub fn with_initial(self, target_from_source: Similarity) -> Self {
        Self { initial: Some(target_from_source), is_local: false, ..self }
    }

    /// An initial pose that is only refined: no search runs. See [`refine`](super::refine).
    #[must_use]
    pub fn with_local(self, target_from_source: Similarity) -> Self {
        Self { initial: Some(target_from_source), is_local: true, ..self }
    }

    /// The direction that is up in both clouds. The pose then turns about it and moves, which fewer matches support as clearly.
    #[must_use]
    pub fn with_vertical(self, vertical: Vertical) -> Self {
        Self { vertical: Some(vertical), ..self }
    }

    /// Largest number of candidates that are taken from the matches and compared with the clouds. Default 8.
    ///
    /// # Errors
    /// When it is zero.
    pub fn with_candidates(self, candidates: usize) -> Result<Self, RegisterError> {
        pcr99::Params::new().with_candidates(candidates)?;
        Ok(Self { candidates, ..self })
    }

    /// Number of threads; 0, the default, uses all cores. The result does not depend on it.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Seed of the search among the matches. Default 0.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Edge of a voxel; `None` when it is chosen automatically.
    pub fn voxel(&self) -> Option<Positive> {
        self.voxel
    }

    /// Known scale, range of scales or unknown scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Method of refinement.
    pub fn refinement(&self) -> Refinement {
        self.refinement
    }

    /// The initial pose.
    pub fn initial(&self) -> Option<&Similarity> {
        self.initial.as_ref()
    }

    /// Whether the initial pose is only refined, without a search.
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// The vertical, if it is known.
    pub fn vertical(&self) -> Option<&Vertical> {
        self.vertical.as_ref()
    }

    /// Largest number of candidates that are compared with the clouds.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    /// Number of threads; 0 uses all cores.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Seed of the search.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}
