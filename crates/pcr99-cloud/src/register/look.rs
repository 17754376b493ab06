//! A look at the clouds: with one voxel size, from matches to a judged pose.

use pcr99::{Scale, Similarity, Status};

use super::{
    Doubt, RegisterError, RoundKind, SearchRound, Task,
    decoys::{decoys, mirror_clearness},
    judge::{Case, Judgement, limits},
    search::{Attempt, Candidate, Effort, SampledPair},
    told,
};
use crate::{
    refine::{Refinement, finish::Finished},
    verify::Assessment,
};

/// Smallest overlap of both clouds from which they count as the same shape.
const ALL_OVERLAPS: f64 = 0.8;
/// Largest number of poses of an earlier look that are rivals in a later one. The matches support eight.
const CARRIED: usize = 8;

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aim {
    /// Number of fixed units per moving unit, at least approximately.
    pub(super) scale: f64,
    /// Bounds of the scale.
    pub(super) range: Scale,
    /// The caller's pose. It is judged, and what the search finds are its rivals.
    pub(super) given: Option<Similarity>,
}

impl Aim {
    /// Whether the scale is estimated.
    pub(super) fn with_scale(&self) -> bool {
        !matches!(self.range, Scale::Known(_))
    }
}

/// The clouds, sampled with one voxel size, and what was found there.
pub(super) struct Look {
    pub(super) sampled: SampledPair,
    /// Poses that were compared with the clouds, best first.
    pub(super) known: Vec<Candidate>,
    /// The matches, and the search among them.
    pub(super) attempt: Option<Attempt>,
    /// The caller's pose, once it was compared.
    given: Option<Candidate>,
    pub(super) answer: Option<Answer>,
}

/// A refined pose and the verdict on it.
pub(super) struct Answer {
    pub(super) candidate: Candidate,
    pub(super) judgement: Judgement,
    /// The last refinement.
    pub(super) fit: Finished,
}

impl Answer {
    /// Whether a further search cannot help: when all of two underconstrained clouds overlaps, as of two spheres, no other pose would be
    /// better constrained.
    fn is_final(&self) -> bool {
        let Assessment { overlap_source, overlap_target, .. } = self.judgement.assessment;
        self.judgement.status == Status::Registered
            || (matches!(self.judgement.doubt, Some(Doubt::Underconstrained { .. }))
                && overlap_source.min(overlap_target) > ALL_OVERLAPS)
    }
}

impl Look {
    pub(super) fn new(sampled: SampledPair) -> Self {
        Self { sampled, known: Vec::new(), attempt: None, given: None, answer: None }
    }

    pub(super) fn is_registered(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.judgement.status == Status::Registered)
    }

    /// Whether another pose could not be refuted.
    pub(super) fn has_rival(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.judgement.rival.is_some())
    }

    /// Whether the matches support a pose, so that it was refused for another reason.
    pub(super) fn has_evidence(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| answer.candidate.log10_nfa() <= limits::LOG10_NFA)
    }

    /// Whether a further look cannot help.
    pub(super) fn is_final(&self) -> bool {
        self.answer.as_ref().is_some_and(Answer::is_final)
    }

    /// A pose, compared with the clouds and the matches of this look.
    fn compare(&self, start: Similarity, pose: Similarity) -> Candidate {
        match &self.attempt {
            Some(attempt) => attempt.compare(&self.sampled, start, pose),
            None => Candidate::without_matches(&self.sampled, start, pose),
        }
    }

    /// Takes up the best poses of an earlier look and its rival, compared with the clouds as they are sampled here.
    pub(super) fn carry(&mut self, earlier: &Self) {
        let rival = earlier.answer.iter().filter_map(|answer| answer.judgement.rival.as_ref());
        let poses = earlier.known.iter().take(CARRIED).chain(rival.map(|rival| &rival.candidate));
        let compared = |c: &Candidate| Candidate::without_matches(&self.sampled, c.start, c.pose);
        self.known = poses.map(compared).collect();
    }

    /// Takes up the poses that these matches support. All poses are judged by the same matches, the last. Returns the pose to be judged.
    fn gather(&mut self, attempt: Option<Attempt>, aim: &Aim, refinement: Refinement) -> Option<Candidate> {
        let with_scale = aim.with_scale();
        if let (Some(start), None) = (aim.given, &self.given) {
            self.given = Some(self.sampled.given(start, with_scale, refinement));
        }
        if let Some(attempt) = attempt {
            self.known.iter_mut().chain(&mut self.given).for_each(|c| attempt.count(&self.sampled, c));
            self.known.extend(attempt.candidates(&self.sampled, with_scale, refinement));
            self.attempt = Some(attempt);
        }
        if self.known.is_empty() && aim.given.is_none() {
            self.known.push(self.sampled.fallback(aim.scale, with_scale));
        }
        self.known.sort_by(|a, b| b.merit().total_cmp(&a.merit()));
        self.given.as_ref().or(self.known.first()).cloned()
    }

    /// Puts the answer first, with the numbers that it was judged by.
    fn settle(&mut self) {
        let Some(Answer { candidate, .. }) = &self.answer else { return };
        let is_it = |c: &Candidate| self.given.is_none() && c.start == candidate.start;
        self.known.retain(|c| !is_it(c));
        self.known.insert(0, candidate.clone());
    }
}

impl Task<'_> {
    /// Searches the matches, first few and then more, until a pose is registered.
    pub(super) fn look(
        &mut self,
        mut look: Look,
        aim: &Aim,
        rounds: &[(Effort, RoundKind)],
        earlier: Option<&Look>,
    ) -> Result<Look, RegisterError> {
        for &(effort, kind) in rounds {
            if self.is_stopped() {
                break;
            }
            let attempt = self.pair.attempt(
                &look.sampled,
                aim.range,
                effort,
                self.params,
                self.stop,
                &mut self.clock,
            )?;
            let best = look.gather(attempt, aim, self.params.refinement());
            self.clock.lap("verify");
            self.tell_candidates(&look.known);
            let mut round = self.round(kind, &look.sampled, look.attempt.as_ref(), best.as_ref());
            let Some(best) = best else {
                self.add_round(round);
                break;
            };
            let answer = self.refine_and_judge(&look, &best, aim, earlier);
            round = SearchRound {
                best_inlier_count: answer.candidate.inliers,
                status: Some(answer.judgement.status),
                doubt: answer.judgement.doubt,
                ..round
            };
            self.add_round(round);
            let is_final = answer.is_final();
            look.answer = Some(answer);
            if is_final {
                break;
            }
        }
        look.settle();
        Ok(look)
    }

    /// Refines a candidate on all points, and judges it.
    fn refine_and_judge(
        &mut self,
        look: &Look,
        best: &Candidate,
        aim: &Aim,
        earlier: Option<&Look>,
    ) -> Answer {
        let pose = match self.params.refinement() {
            Refinement::None => best.start,
            Refinement::PointToPoint => self.refined_densely(&look.sampled, best.pose, aim.with_scale()),
            _ => best.pose,
        };
        let fit = self.finish(&look.sampled, &best.start, &pose);
        let pose = fit.pose;
        self.clock.lap("refine");
        let candidate = look.compare(best.start, pose);
        let voxel = look.sampled.fixed.voxel;
        let earlier = earlier.map(|earlier| {
            (earlier.sampled.fixed.voxel.total_cmp(&voxel), earlier.compare(best.start, pose))
        });
        let case = Case {
            pair: &self.pair,
            sampled: &look.sampled,
            this: &candidate,
            earlier: earlier.as_ref().map(|(order, candidate)| (*order, candidate)),
            is_given: self.params.initial().is_some(),
        };
        let suggested = || {
            let poses = decoys(&look.sampled, &pose, look.attempt.as_ref(), aim.with_scale());
            told::tell_decoys(poses.len());
            poses
        };
        let mirror = || mirror_clearness(&look.sampled, &pose, aim.with_scale());
        let judgement = case.judge(&look.known, suggested, mirror);
        self.clock.lap("verify");
        Answer { candidate, judgement, fit }
    }
}
