//! The candidates of all pairs, each with the evidence for it.

use pcr99::Similarity;
use pcr99_base::vector::minus;
use pcr99_document::{CloudCandidate, CloudDocument, Fit};

use crate::{
    scan::Scan,
    uncertain::{Covariance, Rest, Uncertain, centered, covariance_of},
};

/// Floor of the deviation of a registered pose, in voxels. Scans of hand-held sensors are bent by as much, which no covariance of a pair knows.
const REGISTERED_FLOOR: f64 = 0.3;
/// Deviation of a candidate that was refined coarsely only, in voxels.
const COARSE_DEVIATION: f64 = 1.0;
/// Smallest lever, as a fraction of the size of the scan.
const LEAST_LEVER: f64 = 0.05;
/// Limits beyond which a refused candidate is not considered. They are looser than those of the verdict on one pair: other pairs decide.
mod plausible {
    /// Smallest overlap of the cloud that overlaps more.
    pub(super) const OVERLAP: f64 = 0.08;
    /// Largest mean distance of the surfaces, in voxels.
    pub(super) const RESIDUAL_VOXELS: f64 = 0.5;
    /// Smallest fraction of agreeing normals.
    pub(super) const NORMAL_AGREEMENT: f64 = 0.5;
    /// Largest fraction of votes against the pose.
    pub(super) const CONFLICT_FRACTION: f64 = 0.2;
    /// Largest log₁₀ of the number of false alarms of its matches.
    pub(super) const LOG10_NFA: f64 = 0.0;
}

/// A pose between two scans that may be right.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Number of the pair.
    pub pair: usize,
    /// Scan whose coordinates the pose maps to.
    pub target: usize,
    /// Scan whose coordinates the pose maps.
    pub source: usize,
    /// Place among the candidates of the pair; 0 is the answer.
    pub place: usize,
    /// The pose from source to target, relative to the middles of the scans, with a covariance that allows for bent scans.
    pub pose: Uncertain,
    /// Covariance of the refinement alone; `None` for a candidate that was refined coarsely only.
    pub refined: Option<Covariance>,
    /// Whether the pair was registered with this pose.
    pub is_registered: bool,
    /// log₁₀ of the number of false alarms of its matches.
    pub log10_nfa: f64,
    /// Edge of a voxel, in units of the source.
    pub voxel: f64,
    /// What the pose rests on.
    pub rest: Rest,
}

/// The candidates of a pair: its answer, and the others that are plausible.
pub fn candidates(
    pair: usize,
    [target, source]: [usize; 2],
    found: &CloudDocument,
    scans: &[Scan],
) -> Vec<Candidate> {
    let is_registered = found.status == pcr99::Status::Registered;
    let ends = [&scans[source], &scans[target]];
    let one = |(place, given): (usize, &CloudCandidate)| {
        let is_answer = place == 0;
        let matrix = if is_answer { found.transform.as_ref()? } else { &given.transform };
        let pose = unit_scale(&Similarity::from_matrix(matrix).ok()?);
        let log10_nfa = given.evidence.map_or(0.0, |evidence| evidence.log10_nfa);
        let is_trusted = is_answer && is_registered;
        if !is_trusted && !is_plausible(&given.fit, log10_nfa) {
            return None;
        }
        let refined = (found.accuracy.as_ref().filter(|_| is_answer))
            .and_then(|accuracy| covariance_of(&accuracy.covariance(), &pose, ends[0].center).ok());
        let voxel = found.voxel / pose.scale();
        let rest = match found.accuracy.as_ref().filter(|_| is_answer) {
            Some(accuracy) => rest_of(&accuracy.covariance(), &pose, ends[0]),
            None => Rest { middle: [0.0; 3], lever: ends[0].radius },
        };
        let pose = centered(&pose, ends[0].center, ends[1].center);
        Some(Candidate {
            pair,
            target,
            source,
            place,
            pose: allowed(pose, refined.as_ref(), voxel, &rest),
            refined,
            is_registered: is_answer && is_registered,
            log10_nfa,
            voxel,
            rest,
        })
    };
    found.candidates.iter().enumerate().filter_map(one).collect()
}

/// A pose from a matrix, whose scale may be 1 up to rounding errors.
pub(crate) fn unit_scale(pose: &Similarity) -> Similarity {
    let scale = if (pose.scale() - 1.0).abs() < 1e-9 { 1.0 } else { pose.scale() };
    Similarity::new_unchecked(scale, pose.rotation(), pose.translation())
}

/// What a registration rests on.
pub(crate) fn rest_of(covariance: &pcr99::Covariance, pose: &Similarity, source: &Scan) -> Rest {
    let middle = minus(pose.inverse().apply(covariance.center), source.center);
    // A lever of nothing, as of a single patch, would make the rotation free.
    let lever = (covariance.lever / pose.scale()).max(LEAST_LEVER * source.radius);
    Rest { middle, lever }
}

/// A pose with a covariance that allows for bent scans; `refined` is that of its refinement.
pub(crate) fn allowed(pose: Similarity, refined: Option<&Covariance>, voxel: f64, rest: &Rest) -> Uncertain {
    let floor = if refined.is_some() { REGISTERED_FLOOR } else { COARSE_DEVIATION };
    let pose = Uncertain::bent(pose, floor * voxel, rest);
    refined.map_or(pose, |refined| pose.loosened(refined))
}

fn is_plausible(fit: &Fit, log10_nfa: f64) -> bool {
    fit.overlap_source.max(fit.overlap_target) >= plausible::OVERLAP
        && fit.residual_voxels <= plausible::RESIDUAL_VOXELS
        && fit.normal_agreement >= plausible::NORMAL_AGREEMENT
        && fit.conflict_fraction <= plausible::CONFLICT_FRACTION
        && log10_nfa <= plausible::LOG10_NFA
}
