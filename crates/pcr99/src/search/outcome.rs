//! The result of a search, in the caller's units.

use pcr99_base::{
    kernel::{
        consensus::{Affine, squared_residual},
        sums::sum,
    },
    least_squares,
};

use super::{Problem, Solver, candidate::Candidate, progress::Found};
use crate::{Correspondences, Doubt, Evidence, Registration, Rival, Seconds, Status, evidence::Consensus};

impl Solver {
    /// The result of the search, in the caller's units.
    pub(super) fn outcome(
        &mut self,
        pairs: &Correspondences,
        problem: &Problem<'_>,
        threshold: f64,
        found: Found,
        near_rival: Option<(Candidate, f64)>,
    ) -> Registration {
        let Found { best, counters, stopped_because, sought_rivals, .. } = found;
        let mut candidates: Vec<crate::Candidate> = best
            .all()
            .iter()
            .map(|candidate| self.complete(problem, candidate))
            .zip(best.all())
            .map(|(evidence, c)| crate::Candidate::new(pairs.outward(&c.model), c.inliers.len(), evidence))
            .collect();
        let (Some(first), Some((answer, others))) = (best.first(), candidates.split_first_mut()) else {
            return Registration::no_solution(pairs.len(), threshold, stopped_because, counters);
        };
        let far_rival = best.rival(problem.points).filter(|_| first.exceeds_chance());
        let far_rival = far_rival.map(|(place, ratio)| Rival::new(&others[place - 1], ratio));
        let near_rival = near_rival.map(|(candidate, ratio)| {
            let evidence = self.complete(problem, &candidate);
            Rival::new(
                &crate::Candidate::new(pairs.outward(&candidate.model), candidate.inliers.len(), evidence),
                ratio,
            )
        });
        let rival = [far_rival, near_rival]
            .into_iter()
            .flatten()
            .max_by(|one, other| one.evidence_ratio.total_cmp(&other.evidence_ratio));
        answer.evidence.rival_evidence_ratio = rival.map_or(0.0, |rival| rival.evidence_ratio);
        let answer = *answer;
        let unfinished = Doubt::Unfinished { because: stopped_because };
        let doubt = answer.evidence.doubt(answer.inlier_count);
        let doubt = doubt.or_else(|| {
            let mirrored = self.mirrored(problem, first).map(|inliers| Doubt::Mirrored { inliers });
            mirrored.or((!sought_rivals).then_some(unfinished))
        });
        Registration {
            status: if doubt.is_none() { Status::Registered } else { Status::NotReliable },
            doubt,
            target_from_source: Some(answer.target_from_source),
            correspondences: pairs.len(),
            inliers: first.inliers.iter().map(|&i| i as usize).collect(),
            threshold,
            inlier_rmse: Some(pairs.target_length_outward(first.rmse)),
            covariance: None,
            evidence: Some(answer.evidence),
            rival,
            candidates,
            stopped_because,
            counters,
            seconds: Seconds::default(),
        }
    }

    /// All of a candidate's evidence. The search leaves some of it out where chance explains the candidate.
    fn complete(&mut self, problem: &Problem<'_>, candidate: &Candidate) -> Evidence {
        if candidate.exceeds_chance() {
            return candidate.evidence;
        }
        let affine = Affine::from(&candidate.model);
        let residual = |&i: &u32| squared_residual(problem.points, &affine, i as usize);
        let residuals: Vec<f64> = candidate.inliers.iter().map(residual).collect();
        let consensus = Consensus {
            points: problem.points,
            model: &candidate.model,
            inliers: &candidate.inliers,
            residuals: &residuals,
            sum: sum(&residuals),
            delta: candidate.delta,
            parameters: problem.model.parameters(),
            tilt: problem.model.tilt,
        };
        self.judge.complete(candidate.evidence, &consensus, &problem.model.background)
    }
}

impl Registration {
    /// This result for all `pairs`, of which some were left out because they repeat others. `earlier` is the search that was made before.
    pub(super) fn among(self, pairs: &Correspondences, earlier: &Self) -> Self {
        let Some(transform) = self.target_from_source else { return self };
        let model = pairs.inward(&transform);
        let affine = Affine::from(&model);
        let delta = self.threshold / pairs.target_length_outward(1.0);
        let follows = |i: &u32| squared_residual(pairs.points(), &affine, *i as usize) <= delta * delta;
        let inliers: Vec<u32> = (0..pairs.len() as u32).filter(follows).collect();
        let rmse = least_squares::rmse(pairs.points(), &inliers, &model);
        let mut candidates = self.candidates;
        if let Some(first) = candidates.first_mut() {
            first.inlier_count = inliers.len();
        }
        let mut counters = self.counters;
        counters.pairs += earlier.counters.pairs;
        counters.hypotheses += earlier.counters.hypotheses;
        Self {
            correspondences: pairs.len(),
            inliers: inliers.into_iter().map(|i| i as usize).collect(),
            inlier_rmse: rmse.map(|rmse| pairs.target_length_outward(rmse)),
            candidates,
            counters,
            seconds: self.seconds.preceded_by(&earlier.seconds),
            ..self
        }
    }
}
