//! The result of a registration.

use pcr99::{Counters, Covariance, Evidence, Seconds, Similarity, Status, StopReason, stop::StopRequest};

use super::{DecisivePlace, Doubt, FreeMotion, NotRefuted, Relation, VotedPoint, reason};
use crate::{orient::Orientation, prepare::PreparedCloud, verify::Assessment};

/// Point counts of one cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloudSummary {
    /// Points as given.
    pub points: usize,
    /// Removed points with a NaN or infinite coordinate.
    pub not_finite: usize,
    /// Removed points with the coordinates of an earlier point.
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

/// The matches between the descriptors of the two clouds, and their evidence for the answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MatchSummary {
    /// Number of matches that were searched.
    pub matches: usize,
    /// Source and target point of each match: voxel centroids, in the coordinates of the clouds as given.
    pub points: Vec<[[f64; 3]; 2]>,
    /// Indices of the matches that the answer explains, from 0, ascending.
    pub inliers: Vec<usize>,
    /// Inlier threshold, in target units.
    pub threshold: f64,
    /// Their evidence for the answer.
    pub evidence: Evidence,
    /// Why the search among them ended.
    pub stopped_because: StopReason,
    /// How much was tried.
    pub counters: Counters,
}

/// A pose that the search proposed, refined and compared with the clouds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PoseCandidate {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// Number of matches that it explains; 0 without matches.
    pub inlier_count: usize,
    /// Evidence of those matches; `None` without matches.
    pub evidence: Option<Evidence>,
    /// How well the clouds fit under it.
    pub assessment: Assessment,
    /// The first test that it fails by these numbers alone. Rigidity, free space and rivals are tested for the answer only.
    pub doubt: Option<Doubt>,
}

/// Another pose that explains the clouds nearly as well as the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct PoseRival {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// Number of matches that it explains; 0 without matches.
    pub inlier_count: usize,
    /// Evidence of those matches; `None` without matches.
    pub evidence: Option<Evidence>,
    /// How well the clouds fit under it.
    pub assessment: Assessment,
    /// Its [score](Assessment::score) divided by that of the answer.
    pub score_ratio: f64,
    /// What kept it from being refuted.
    pub not_refuted_because: NotRefuted,
}

/// A pose that fits as well as the answer, or the answer itself.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct EquivalentPose {
    /// The transform from source to target.
    pub target_from_source: Similarity,
    /// How it relates to the answer; `None` for the answer itself.
    pub relation: Option<Relation>,
    /// Number of matches that it explains; 0 without matches.
    pub inlier_count: usize,
    /// How well the clouds fit under it.
    pub assessment: Assessment,
}

/// What a round of the registration was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RoundKind {
    /// Looks for the scale with one ratio of the two voxel sizes. Its candidates are not judged.
    Scale,
    /// Searches the matches that are mutual nearest neighbours.
    MutualMatches,
    /// Searches all nearest neighbours, both ways, with normals of either side. Follows when the first round gives no reliable answer.
    AllMatches,
    /// Looks again with coarser voxels, where noise or distance may hide the features. Follows when the first look gives no reliable answer.
    CoarserVoxels,
    /// Looks again with finer voxels, where features may be small. Follows when neither look gave a reliable answer.
    FinerVoxels,
}

impl RoundKind {
    /// A short name for messages, for instance `mutual matches`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scale => "scale",
            Self::MutualMatches => "mutual matches",
            Self::AllMatches => "all matches",
            Self::CoarserVoxels => "coarser voxels",
            Self::FinerVoxels => "finer voxels",
        }
    }
}

/// One round of the registration: sample both clouds, match their descriptors, search the matches for poses, judge the best pose.
///
/// Verbose output can print one line for each round, for instance:
/// `mutual matches: 4120 and 3987 sampled points, 1530 matches, 8 candidates, best with 212 inliers: registered`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SearchRound {
    /// What the round was for.
    pub kind: RoundKind,
    /// Edge of a voxel of the source and of the target, each in its own units.
    pub voxels: [f64; 2],
    /// Sampled points of the source and of the target.
    pub sampled: [usize; 2],
    /// Number of matches between their descriptors.
    pub matches: usize,
    /// Number of poses that were taken from the matches and compared with the clouds.
    pub candidates: usize,
    /// Inlier count of the best pose known at the end of the round; 0 without one.
    pub best_inlier_count: usize,
    /// Status of that pose at the end of the round; `None` when it was not judged.
    pub status: Option<Status>,
    /// Why it was not registered; `None` when it was, and when it was not judged.
    pub doubt: Option<Doubt>,
}

/// The result of the registration of two clouds: the best pose found, and whether it can be relied on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CloudRegistration {
    /// Whether the answer can be relied on.
    pub status: Status,
    /// Why the status is not [`Status::Registered`]; `None` exactly when it is.
    pub doubt: Option<Doubt>,
    /// The pose that could not be refuted. Present when the doubt is [`Doubt::BetterPoseFound`], or [`Doubt::Ambiguous`] because of a single pose that
    /// was compared; may be present when it is [`Doubt::SizeMismatch`].
    pub rival: Option<PoseRival>,
    /// The poses that fit equally well, the answer first, when the doubt is [`Doubt::Ambiguous`]; empty otherwise. Poses to which a
    /// [free motion](Self::free_motions) leads are not listed again.
    pub poses: Vec<EquivalentPose>,
    /// Motions after which the clouds fit as well by any amount, as turns of a cylinder about its axis. Empty unless the doubt is [`Doubt::Ambiguous`].
    pub free_motions: Vec<FreeMotion>,
    /// Where most of the votes that raised the doubt are; `None` for doubts that no votes raise.
    pub place: Option<DecisivePlace>,
    /// The votes of single points of both clouds on the answer; empty without a transform.
    pub votes: Vec<VotedPoint>,
    /// The transform from source to target; `None` exactly when the status is [`Status::NoSolution`].
    pub target_from_source: Option<Similarity>,
    /// How well the clouds fit under the transform, by what all looks say together; `None` without a transform.
    pub assessment: Option<Assessment>,
    /// Root mean square distance of the points of the overlap from the tangent planes (or points) of the other cloud, in target units.
    pub rmse: Option<f64>,
    /// Covariance of the transform; `None` when the overlap has too few points to tell.
    pub covariance: Option<Covariance>,
    /// The matches between descriptors; `None` when there were too few to search.
    pub matches: Option<MatchSummary>,
    /// The poses that were compared with the clouds, best first. The first is the answer.
    pub candidates: Vec<PoseCandidate>,
    /// The rounds of the registration, in their order, with counts and doubts. Empty when the caller stopped it before the first, and without a search.
    pub rounds: Vec<SearchRound>,
    /// Edge of a voxel, in target units.
    pub voxel: f64,
    /// How the normals were oriented.
    pub orientation: Orientation,
    /// Why the caller ended the registration early; `None` when it did not.
    pub stopped: Option<StopRequest>,
    /// Point counts of the source.
    pub source: CloudSummary,
    /// Point counts of the target.
    pub target: CloudSummary,
    /// Time of each stage.
    pub seconds: Seconds,
}

impl CloudRegistration {
    /// Whether the answer can be relied on.
    pub fn is_registered(&self) -> bool {
        self.status == Status::Registered
    }

    /// One sentence on the status: the [`doubt`](Self::doubt) with the decisive evidence, where it is, and what to do; or what speaks for the answer when there is
    /// none.
    pub fn reason(&self) -> String {
        reason::of(self)
    }

    /// Fraction of the source that has target points near it.
    pub fn fitness(&self) -> Option<f64> {
        self.assessment.map(|a| a.overlap_source)
    }
}
