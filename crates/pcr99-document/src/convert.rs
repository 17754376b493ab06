//! Documents from results of the method and of clouds.

use pcr99::{Registration, Similarity, StopReason};
use pcr99_cloud::{
    CloudRegistration,
    register::{self, CloudSummary, PoseCandidate, PoseRival},
    verify::Assessment,
};

use crate::{
    CloudCandidate, CloudCounts, CloudDocument, CloudRival, Clouds, Counters, Document, DoubtCode,
    EquivalentPose, Evidence, Fit, FreeMotion, Kind, MatchCandidate, MatchDocument, MatchRival, NotRefuted,
    PROGRAM, Place, Relation, SCHEMA, Seconds,
};

/// Method of a registration of clouds.
const DEFAULT_METHOD: &str = "default";

impl Document {
    /// The document of a registration from matches by the method of that name.
    pub fn of_matches(method: &str, found: &Registration) -> Self {
        Self::Matches(MatchDocument::new(method, found))
    }

    /// The document of a registration of two clouds.
    pub fn of_clouds(found: &CloudRegistration) -> Self {
        Self::Clouds(CloudDocument::new(found))
    }
}

impl MatchDocument {
    /// The document of a registration by the method of that name.
    pub fn new(method: &str, found: &Registration) -> Self {
        let model = found.target_from_source.as_ref();
        let doubt = found.doubt.map(|doubt| known(doubt.code()));
        let rival = found.rival.map(|rival| MatchRival {
            transform: rival.target_from_source.matrix(),
            inlier_count: rival.inlier_count,
            evidence: rival.evidence.into(),
            evidence_ratio: rival.evidence_ratio,
            not_refuted_because: (doubt == Some(DoubtCode::Ambiguous)).then(|| NotRefuted {
                code: "nearly_as_much_evidence".to_owned(),
                sentence: format!(
                    "it has {:.0} % of the evidence for the answer",
                    100.0 * rival.evidence_ratio
                ),
            }),
        });
        let candidate = |c: &pcr99::Candidate| MatchCandidate {
            transform: c.target_from_source.matrix(),
            inlier_count: c.inlier_count,
            evidence: c.evidence.into(),
        };
        Self {
            schema: SCHEMA,
            program: PROGRAM.to_owned(),
            kind: Kind::Matches,
            inputs: None,
            method: method.to_owned(),
            status: found.status,
            doubt,
            reason: found.reason(),
            transform: model.map(Similarity::matrix),
            scale: model.map(Similarity::scale),
            rotation: model.map(Similarity::rotation),
            translation: model.map(Similarity::translation),
            correspondences: found.correspondences,
            inliers: found.inliers.clone(),
            threshold: found.threshold,
            inlier_rmse: found.inlier_rmse,
            accuracy: found.covariance.as_ref().map(Into::into),
            evidence: found.evidence.map(Into::into),
            candidates: found.candidates.iter().map(candidate).collect(),
            rival,
            stopped_because: found.stopped_because,
            counters: found.counters.into(),
            seconds: Some(Seconds::from(&found.seconds)),
        }
    }
}

impl CloudDocument {
    /// The document of a registration of two clouds.
    pub fn new(found: &CloudRegistration) -> Self {
        let model = found.target_from_source.as_ref();
        let matches = found.matches.as_ref();
        let stopped = match found.stopped {
            Some(request) => Some(StopReason::from(request)),
            None => matches.map(|m| m.stopped_because),
        };
        Self {
            schema: SCHEMA,
            program: PROGRAM.to_owned(),
            kind: Kind::Clouds,
            inputs: None,
            method: DEFAULT_METHOD.to_owned(),
            status: found.status,
            doubt: found.doubt.map(|doubt| known(doubt.code())),
            reason: found.reason(),
            transform: model.map(Similarity::matrix),
            scale: model.map(Similarity::scale),
            rotation: model.map(Similarity::rotation),
            translation: model.map(Similarity::translation),
            fit: found.assessment.map(Into::into),
            rmse: found.rmse,
            accuracy: found.covariance.as_ref().map(Into::into),
            voxel: found.voxel,
            clouds: Clouds { source: found.source.into(), target: found.target.into() },
            correspondences: matches.map_or(0, |m| m.matches),
            inliers: matches.map_or(Vec::new(), |m| m.inliers.clone()),
            threshold: matches.map(|m| m.threshold),
            evidence: matches.map(|m| m.evidence.into()),
            candidates: found.candidates.iter().map(Into::into).collect(),
            rival: found.rival.as_ref().map(Into::into),
            poses: found.poses.iter().map(Into::into).collect(),
            free_motions: found
                .free_motions
                .iter()
                .map(|motion| FreeMotion::of(motion, found.voxel))
                .collect(),
            place: found.place.map(|place| Place { at: place.at, radius: place.radius, share: place.share }),
            stopped_because: stopped,
            counters: matches.map(|m| m.counters.into()),
            seconds: Some(Seconds::from(&found.seconds)),
        }
    }
}

/// The code of a doubt.
///
/// # Panics
/// Never: [`DoubtCode`] has every code of both layers, which a test holds.
fn known(code: &str) -> DoubtCode {
    code.parse().unwrap_or_else(|_| unreachable!("the doubt `{code}` has no code in documents"))
}

impl From<pcr99::Evidence> for Evidence {
    fn from(evidence: pcr99::Evidence) -> Self {
        Self {
            log10_nfa: evidence.log10_nfa,
            inlier_places: evidence.inlier_places,
            rotation_deviation_deg: evidence.rotation_deviation_deg,
            rival_evidence_ratio: evidence.rival_evidence_ratio,
        }
    }
}

impl From<pcr99::Counters> for Counters {
    fn from(counters: pcr99::Counters) -> Self {
        Self { pairs: counters.pairs, hypotheses: counters.hypotheses, triplets: counters.triplets }
    }
}

impl From<Assessment> for Fit {
    fn from(fit: Assessment) -> Self {
        Self {
            overlap_source: fit.overlap_source,
            overlap_target: fit.overlap_target,
            normal_agreement: fit.normal_agreement,
            residual_voxels: fit.residual_voxels,
            conflict_fraction: fit.conflict_fraction,
            off_plane_fraction: fit.off_plane_fraction,
        }
    }
}

impl From<CloudSummary> for CloudCounts {
    fn from(cloud: CloudSummary) -> Self {
        Self {
            points: cloud.points,
            not_finite: cloud.not_finite,
            duplicates: cloud.duplicates,
            sampled: cloud.sampled,
        }
    }
}

impl From<&PoseCandidate> for CloudCandidate {
    fn from(candidate: &PoseCandidate) -> Self {
        Self {
            transform: candidate.target_from_source.matrix(),
            inlier_count: candidate.inlier_count,
            evidence: candidate.evidence.map(Into::into),
            fit: candidate.assessment.into(),
        }
    }
}

impl From<&PoseRival> for CloudRival {
    fn from(rival: &PoseRival) -> Self {
        let because = &rival.not_refuted_because;
        Self {
            transform: rival.target_from_source.matrix(),
            inlier_count: rival.inlier_count,
            evidence: rival.evidence.map(Into::into),
            fit: rival.assessment.into(),
            score_ratio: rival.score_ratio,
            not_refuted_because: Some(NotRefuted {
                code: because.code().to_owned(),
                sentence: because.to_string(),
            }),
        }
    }
}

impl From<&register::EquivalentPose> for EquivalentPose {
    fn from(pose: &register::EquivalentPose) -> Self {
        Self {
            transform: pose.target_from_source.matrix(),
            relation: pose.relation.as_ref().map(Into::into),
            inlier_count: pose.inlier_count,
            fit: pose.assessment.into(),
        }
    }
}

impl From<&register::Relation> for Relation {
    fn from(relation: &register::Relation) -> Self {
        Self {
            sentence: relation.to_string(),
            degrees: relation.turn.map(|turn| turn.degrees),
            axis: relation.turn.map(|turn| turn.axis),
            through: relation.turn.map(|turn| turn.through),
            shift: relation.shift,
            times: relation.times,
        }
    }
}

impl FreeMotion {
    /// A free motion; places in its sentence are shown to a tenth of `precision`, a length in target units.
    fn of(motion: &register::FreeMotion, precision: f64) -> Self {
        let (axis, through, along) = match *motion {
            register::FreeMotion::Turn { axis, through } => (Some(axis), Some(through), None),
            register::FreeMotion::Rotation { about } => (None, Some(about), None),
            register::FreeMotion::Shift { along } => (None, None, Some(along)),
            // Further kinds have their word and sentence.
            _ => (None, None, None),
        };
        Self { kind: motion.kind().to_owned(), sentence: motion.sentence(precision), axis, through, along }
    }
}
