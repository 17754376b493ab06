//! Parts of a document that have one shape wherever they occur.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{log10, required};

/// A 4×4 matrix `[sR t; 0 1]`, row by row: it maps homogeneous source coordinates to target coordinates.
pub type Matrix = [[f64; 4]; 4];

/// Which kind of input a registration had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Matches between points: `pcr99 solve`.
    Matches,
    /// Two clouds: `pcr99 register`.
    Clouds,
}

/// Files of a registration, as the caller named them.
///
/// Relative paths are relative to the directory in which the program ran; in results of a batch, to the directory of the
/// manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Inputs {
    /// File of matches: point pairs, or pairs of indices into `source` and `target`. `-` is standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<String>,
    /// File of the source cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// File of the target cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl Inputs {
    /// Inputs of a registration from a file of matches.
    pub fn matches(pairs: &str) -> Self {
        Self { pairs: Some(pairs.to_owned()), ..Self::default() }
    }

    /// Inputs of a registration of two clouds.
    pub fn clouds(source: &str, target: &str) -> Self {
        Self { source: Some(source.to_owned()), target: Some(target.to_owned()), pairs: None }
    }

    /// Adds a file of index pairs.
    #[must_use]
    pub fn with_pairs(self, pairs: &str) -> Self {
        Self { pairs: Some(pairs.to_owned()), ..self }
    }
}

/// Evidence of the matches for a transform.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Evidence {
    /// log₁₀ of the number of false alarms: how often chance alone makes as many matches agree in such a problem. The value −3
    /// means once in a thousand problems; null means −∞, never.
    #[serde(with = "log10")]
    #[schemars(with = "Option<f64>")]
    pub log10_nfa: f64,
    /// Inliers, counted once per place: inliers that are close together count as one. Counting stops where more would not
    /// change the status.
    pub inlier_places: usize,
    /// Standard deviation of the rotation in degrees, about the axis that the inliers determine least; at most 180.
    pub rotation_deviation_deg: f64,
    /// Evidence for the strongest rival divided by the evidence for this transform; 0 without a rival.
    pub rival_evidence_ratio: f64,
}

/// How accurate a transform is. Lengths are in target units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Accuracy {
    /// The accuracy in one sentence, for instance `± 0.0008 and ± 0.02° (95 %), weakest along x`.
    pub sentence: String,
    /// In 95 of 100 cases, the centre is off by no more along the direction that is determined least.
    pub translation: f64,
    /// That direction, a unit vector.
    pub weakest: [f64; 3],
    /// In 95 of 100 cases, the rotation is off by no more about the axis that is determined least, in degrees.
    pub rotation_deg: f64,
    /// In 95 of 100 cases, the scale is off by no more, relatively; null where it was known.
    #[serde(deserialize_with = "required")]
    pub scale: Option<f64>,
    /// Directions that the data do not determine, in words.
    pub undetermined: Vec<String>,
    /// Covariance of the small motion `p → p + ω × (p − c) + t + σ·(p − c)` of the moved points `p` that leads from the transform to the true one, in the axes and
    /// units of the target, with `c` the centre. Rows and columns are `(ω, t)`, 6×6, or `(ω, t, σ)`, 7×7, where the scale was estimated; `ω` is in radians.
    pub covariance: Vec<Vec<f64>>,
    /// The inverse of the covariance.
    pub information: Vec<Vec<f64>>,
    /// The point `c`, in target coordinates: the centre of what the transform rests on.
    pub center: [f64; 3],
    /// Root mean square distance from there of what the transform rests on.
    pub lever: f64,
}

impl Accuracy {
    /// The covariance with its conversions. The directions that are not determined are left out, which the document has in words only.
    pub fn covariance(&self) -> pcr99::Covariance {
        pcr99::Covariance::new(self.covariance.clone(), self.center, self.lever, Vec::new())
    }
}

impl From<&pcr99::Covariance> for Accuracy {
    fn from(covariance: &pcr99::Covariance) -> Self {
        let told = covariance.accuracy();
        Self {
            sentence: told.to_string(),
            translation: told.translation,
            weakest: told.weakest,
            rotation_deg: told.rotation_deg,
            scale: told.scale,
            undetermined: told.free.iter().map(ToString::to_string).collect(),
            covariance: covariance.matrix.clone(),
            information: covariance.information(),
            center: covariance.center,
            lever: covariance.lever,
        }
    }
}

/// How well two clouds fit under a transform.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Fit {
    /// Fraction of the source points that have target points near them.
    pub overlap_source: f64,
    /// Fraction of the target points that have source points near them.
    pub overlap_target: f64,
    /// Fraction of the overlapping points whose normals agree within 30°.
    pub normal_agreement: f64,
    /// Mean distance of the overlapping points from the tangent plane of the other cloud, in voxels.
    pub residual_voxels: f64,
    /// Fraction of the points that lie a few voxels beside a surface that the other cloud saw there, among the points that can
    /// tell. Points on large planes have a lower weight.
    pub conflict_fraction: f64,
    /// Fraction of all points that overlap, agree and lie on no large plane.
    pub off_plane_fraction: f64,
}

/// A transform that the matches support.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MatchCandidate {
    /// The transform from source to target.
    pub transform: Matrix,
    /// Number of matches that it explains.
    pub inlier_count: usize,
    /// Evidence of these matches.
    pub evidence: Evidence,
}

/// A transform that was compared with the clouds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CloudCandidate {
    /// The transform from source to target.
    pub transform: Matrix,
    /// Number of matches that it explains; 0 for a transform that does not come from matches.
    pub inlier_count: usize,
    /// Evidence of these matches; null for a transform that does not come from matches.
    #[serde(deserialize_with = "required")]
    pub evidence: Option<Evidence>,
    /// How well the clouds fit under it.
    pub fit: Fit,
}

/// Another transform that explains nearly as many matches as the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct MatchRival {
    /// The transform from source to target.
    pub transform: Matrix,
    /// Number of matches that it explains.
    pub inlier_count: usize,
    /// Evidence of these matches.
    pub evidence: Evidence,
    /// `log10_nfa` of the rival divided by `log10_nfa` of the answer.
    pub evidence_ratio: f64,
    /// Why the rival could not be refuted; null when it was.
    #[serde(deserialize_with = "required")]
    pub not_refuted_because: Option<NotRefuted>,
}

/// Another transform under which the clouds fit nearly as well as under the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CloudRival {
    /// The transform from source to target.
    pub transform: Matrix,
    /// Number of matches that it explains; 0 for a transform that does not come from matches.
    pub inlier_count: usize,
    /// Evidence of these matches; null for a transform that does not come from matches.
    #[serde(deserialize_with = "required")]
    pub evidence: Option<Evidence>,
    /// How well the clouds fit under it.
    pub fit: Fit,
    /// Score of its fit divided by the score of the answer's fit.
    pub score_ratio: f64,
    /// Why the rival could not be refuted.
    #[serde(deserialize_with = "required")]
    pub not_refuted_because: Option<NotRefuted>,
}

/// A transform under which the clouds fit as well as under the answer, or the answer itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EquivalentPose {
    /// The transform from source to target.
    pub transform: Matrix,
    /// How it relates to the answer; null for the answer itself.
    #[serde(deserialize_with = "required")]
    pub relation: Option<Relation>,
    /// Number of matches that it explains; 0 without matches.
    pub inlier_count: usize,
    /// How well the clouds fit under it.
    pub fit: Fit,
}

/// The motion that leads from where the answer puts the source to where another transform puts it, in target coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Relation {
    /// The motion for people, for instance `turned by 180° about the axis (0, 0, 1) through (1.2, 3.4, 0.5)`.
    pub sentence: String,
    /// Angle of the turn in degrees, above 0 and below 360; null without a turn.
    #[serde(deserialize_with = "required")]
    pub degrees: Option<f64>,
    /// Direction of the axis, a unit vector whose largest component is positive; null without a turn.
    #[serde(deserialize_with = "required")]
    pub axis: Option<[f64; 3]>,
    /// A point of the axis; null without a turn.
    #[serde(deserialize_with = "required")]
    pub through: Option<[f64; 3]>,
    /// Shift of the centre of the source, in target units: along the axis after a turn.
    pub shift: [f64; 3],
    /// Size of the source divided by that under the answer.
    pub times: f64,
}

/// A motion after which the clouds fit as well, by any amount, in target coordinates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FreeMotion {
    /// `turn`: about an axis. `rotation`: about a point. `shift`: along a direction.
    pub kind: String,
    /// The motion for people, for instance `any turn about the axis (0, 0, 1) through (1.2, 3.4, 0.5)`.
    pub sentence: String,
    /// Direction of the axis of a turn, a unit vector; otherwise null.
    #[serde(deserialize_with = "required")]
    pub axis: Option<[f64; 3]>,
    /// A point of the axis of a turn, or the centre of a rotation; otherwise null.
    #[serde(deserialize_with = "required")]
    pub through: Option<[f64; 3]>,
    /// Direction of a shift, a unit vector; otherwise null.
    #[serde(deserialize_with = "required")]
    pub along: Option<[f64; 3]>,
}

/// Where most of the votes that raised a doubt are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Place {
    /// The place, in target coordinates.
    pub at: [f64; 3],
    /// Its radius, in target units.
    pub radius: f64,
    /// Fraction of those votes that are there.
    pub share: f64,
}

/// Why a rival could not be refuted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct NotRefuted {
    /// The test that came closest to refuting it: `nearly_as_much_evidence` for matches; `explains_as_much`,
    /// `as_many_matches` or `no_contradicting_points` for clouds.
    pub code: String,
    /// The numbers of the tests, for people.
    pub sentence: String,
}

/// Amount of work of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Counters {
    /// Pairs of matches examined.
    pub pairs: u64,
    /// Transforms computed from a sample and tested on all matches.
    pub hypotheses: u64,
    /// Triplets of matches examined.
    pub triplets: u64,
}

/// Point counts of both clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Clouds {
    /// Source cloud.
    pub source: CloudCounts,
    /// Target cloud.
    pub target: CloudCounts,
}

/// Point counts of one cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CloudCounts {
    /// Points as given.
    pub points: usize,
    /// Removed points with a NaN or infinite coordinate.
    pub not_finite: usize,
    /// Removed points with the coordinates of an earlier point.
    pub duplicates: usize,
    /// Points after voxel sampling.
    pub sampled: usize,
}
