//! What comes back from a registration.

use pcr99::{Counters, Evidence, Seconds, Similarity, Status, StopReason, stop::StopRequest};

use crate::{orient::Orientation, prepare::PreparedCloud, verify::Assessment};

/// Why a registration is trusted, or is not.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Matches, overlap, normals and residuals speak for it, and no other pose comes near.
    Consistent,
    /// There were no matches, or no pose that they support.
    NoPose,
    /// The caller ended the search before a pose was found.
    Stopped,
    /// No more matches agree than by chance.
    Chance {
        /// log₁₀ of the number of false alarms.
        log10_nfa: f64,
    },
    /// The surfaces do not lie on each other, or their normals disagree.
    PoorFit {
        /// Mean distance of overlapping points from the tangent plane of the other, in voxels.
        residual: f64,
        /// Share of overlapping points whose normals agree.
        agreement: f64,
    },
    /// The clouds hardly overlap.
    LittleOverlap {
        /// Share that overlaps of the cloud of which more does.
        overlap: f64,
    },
    /// Where one cloud has a surface, the other saw another one a little above or below it.
    Contradicted {
        /// Share of the points that say so, of those that can tell; points of large planes count less.
        share: f64,
    },
    /// What fits is floors, walls and their edges, which other places have, too.
    Plain {
        /// Share of all points that fit and are on no large plane.
        share: f64,
    },
    /// Nothing tells this pose from another one: neither the number of matches nor the points where the two differ.
    Ambiguous {
        /// The score of the other, as a share of this one's; at most one.
        share: f64,
    },
    /// The search found a pose that fits better than the one that the caller gave.
    Beaten,
    /// The overlapping surfaces can slide or turn on each other: one plane, one cylinder, one sphere.
    Slides,
    /// One cloud is in the space that the sensor of the other saw through.
    FreeSpace {
        /// Share of its points in view that are.
        share: f64,
    },
    /// One cloud is so small beside the other that it cannot be told where it belongs.
    Extents {
        /// Extent of the larger over that of the smaller.
        ratio: f64,
    },
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = |share: f64| 100.0 * share;
        match *self {
            Self::Consistent => {
                write!(f, "matches, overlap and normals agree, and no other pose fits nearly as well")
            }
            Self::NoPose => write!(f, "the clouds have nothing in common that could be matched"),
            Self::Stopped => write!(f, "stopped before a pose was found"),
            Self::Chance { .. } => write!(f, "no more matches agree than by chance"),
            Self::PoorFit { residual, agreement } => write!(
                f,
                "the surfaces do not fit: {residual:.2} voxels apart, {:.0} % of the normals agree",
                percent(agreement)
            ),
            Self::LittleOverlap { overlap } => {
                write!(
                    f,
                    "the clouds hardly overlap: {:.0} % of the one, less of the other",
                    percent(overlap)
                )
            }
            Self::Contradicted { share } => write!(
                f,
                "the clouds contradict each other: {:.0} % of what can be told speaks against the pose",
                percent(share)
            ),
            Self::Plain { share } => write!(
                f,
                "little fits but large planes, which other places have, too: {:.1} % of the points are on anything else that fits",
                percent(share)
            ),
            Self::Ambiguous { share } => write!(
                f,
                "another pose fits {:.0} % as well, and nothing tells them apart: the scene may be symmetric or repeat itself",
                percent(share)
            ),
            Self::Beaten => {
                write!(f, "a search from scratch finds another pose that fits better than the initial one")
            }
            Self::Slides => write!(f, "the overlapping surfaces can slide or turn on each other"),
            Self::FreeSpace { share } => {
                write!(f, "{:.0} % of the points are where the other sensor saw free space", percent(share))
            }
            Self::Extents { ratio } => {
                write!(f, "one cloud is {ratio:.0} times as large as the other; check the units")
            }
        }
    }
}

/// What became of one cloud's points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CloudSummary {
    /// Points as given.
    pub points: usize,
    /// Left out: NaN or infinite.
    pub not_finite: usize,
    /// Left out: equal to an earlier one.
    pub duplicates: usize,
    /// Points after voxel sampling.
    pub sampled: usize,
}

impl CloudSummary {
    pub(super) fn of(cloud: &PreparedCloud, sampled: usize) -> Self {
        Self {
            points: cloud.given(),
            not_finite: cloud.not_finite(),
            duplicates: cloud.duplicates(),
            sampled,
        }
    }
}

/// What the matches said.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchSummary {
    /// Matches that were searched.
    pub matches: usize,
    /// Each of them, from source to target: centroids of voxels, in the coordinates of the clouds as given.
    pub points: Vec<[[f64; 3]; 2]>,
    /// Which of them the pose explains, from 0, ascending.
    pub inliers: Vec<usize>,
    /// How far a right match may be off, in target units.
    pub threshold: f64,
    /// Their evidence for the pose.
    pub evidence: Evidence,
    /// Why the search among them ended.
    pub stopped_because: StopReason,
    /// How much was tried.
    pub counters: Counters,
}

/// A pose that was held against the clouds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoseCandidate {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// How many matches it explains; 0 for one that did not come from matches.
    pub inlier_count: usize,
    /// log₁₀ of its number of false alarms.
    pub log10_nfa: f64,
    /// What the clouds say.
    pub assessment: Assessment,
}

/// The outcome of a registration of two clouds: always the best found, with how far it can be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudRegistration {
    /// How far the answer can be trusted.
    pub status: Status,
    /// Why.
    pub reason: Reason,
    /// The transform from source to target; `None` exactly when the status is [`Status::NoSolution`].
    pub target_from_source: Option<Similarity>,
    /// What the clouds say of it; `None` without a transform.
    pub assessment: Option<Assessment>,
    /// Root mean square distance of overlapping points from the tangent planes (or points) of the target, in target units.
    pub rmse: Option<f64>,
    /// The inverse of the covariance of `(ω, t)`, with an unknown scale of `(ω, t, σ)`, 6×6 or 7×7: of a further motion
    /// `p + ω × (p − c) + t + σ·(p − c)` of the moved points `p` in target coordinates, as if their residuals were independent.
    pub information: Option<Vec<Vec<f64>>>,
    /// The `c` of the information: the middle of the overlap, in target coordinates. About it the matrix is well conditioned, however far
    /// the coordinates are from their origin.
    pub information_center: Option<[f64; 3]>,
    /// What the matches said; `None` when the search was skipped or found none.
    pub matches: Option<MatchSummary>,
    /// The poses that were considered, best first.
    pub candidates: Vec<PoseCandidate>,
    /// The edge of a voxel, in target units.
    pub voxel: f64,
    /// How normals were oriented.
    pub orientation: Orientation,
    /// Why the caller ended it, if it did.
    pub stopped: Option<StopRequest>,
    /// The source.
    pub source: CloudSummary,
    /// The target.
    pub target: CloudSummary,
    /// Where the time went.
    pub seconds: Seconds,
}

impl CloudRegistration {
    /// Whether the answer can be trusted.
    pub fn is_registered(&self) -> bool {
        self.status == Status::Registered
    }

    /// Share of the source that has target near it.
    pub fn fitness(&self) -> Option<f64> {
        self.assessment.map(|a| a.overlap_source)
    }
}
