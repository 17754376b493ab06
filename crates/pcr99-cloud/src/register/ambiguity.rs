//! Ambiguity: the poses that fit as well as the answer.
//!
//! Where a scene is symmetric or repeats itself, several poses fit. Proposals come from the search, from turns about the principal axes of both clouds, from
//! shifts on which matches agree, and from each other: a motion that brings the target onto itself does so after any other such motion. Each proposal is
//! refined and compared with the answer by the votes of the same points. Motions that the overlap leaves free are confirmed in the same way.

use std::collections::VecDeque;

use pcr99::Similarity;
use rayon::prelude::*;

use super::{
    Doubt, SharedStopCheck,
    decoys::principal_axes,
    free_motion::FreeMotion,
    judge::limits,
    look::Look,
    search::{Attempt, Candidate, SampledPair},
    telling_parts::{Parts, Places},
    turns::{RANKING_POINTS, turns},
};

/// Largest number of poses, the answer included: an icosahedron has 60.
const MOST_POSES: usize = 64;
/// Largest number of proposals that are refined; each takes a few milliseconds.
const MOST_REFINED: usize = 160;
/// A proposal explains at least this fraction of what the answer explains before it is refined.
const ROUGHLY: f64 = 0.5;
/// Number of proposals that are refined at once.
const AT_ONCE: usize = 8;
/// Parts of a whole turn by which a free turn is confirmed. They are irregular, so that no regular prism with few sides fits at all of them.
const CONFIRMED_AT: [f64; 6] = [0.068, 0.195, 0.347, 0.479, 0.641, 0.833];
/// Lengths by which a free shift is confirmed, in voxels. Farther shifts leave too little overlap of small clouds.
const CONFIRMED_BY: [f64; 2] = [6.0, 12.0];
/// Smallest overlap of both clouds from which they count as the same shape.
const WHOLE: f64 = 0.8;
/// Smallest overlap of the same shape under a pose that fits as well, as a fraction of that under the answer. The rest is for edges and noise.
const AS_WHOLE: f64 = 0.9;
/// A pose that fits worse by more than this many standard deviations does not fit as well. Of 60 equal ones, fewer than one in ten is lost.
const WORSE: f64 = 3.0;

/// The poses that fit as well as the answer, from moving to fixed.
#[derive(Debug, Clone, Default)]
pub(super) struct Ambiguity {
    /// Other poses, without those that a free motion leads to.
    pub(super) others: Vec<Candidate>,
    /// Motions of the fixed cloud's space after which the clouds fit as well, by any amount.
    pub(super) free: Vec<FreeMotion>,
}

impl Ambiguity {
    /// What fits as well as the answer of a look; `None` where the answer was refused for another reason, or nothing else was found. The poses so far, when
    /// `stop` says so.
    pub(super) fn of(look: &Look, with_scale: bool, stop: SharedStopCheck<'_>) -> Option<Self> {
        let answer = look.answer.as_ref()?;
        let fit = &answer.judgement.assessment;
        let is_whole = fit.overlap_source.min(fit.overlap_target) >= WHOLE;
        let is_possible = match answer.judgement.doubt? {
            Doubt::Ambiguous { .. } | Doubt::Underconstrained { .. } => true,
            // Too little evidence for one place, which is as it should be where there are several.
            Doubt::Chance { .. } | Doubt::OnlyPlanes { .. } => {
                is_whole
                    && fit.conflict_fraction <= limits::CONFLICT_FRACTION
                    && fit.residual_voxels <= limits::RESIDUAL_VOXELS
            }
            _ => false,
        };
        if !is_possible {
            return None;
        }
        let rival = answer.judgement.rival.as_ref().map(|rival| &rival.candidate);
        let mut found = Finder::new(look, &answer.candidate, with_scale, is_whole);
        found.confirm_free_motions();
        if matches!(answer.judgement.doubt, Some(Doubt::Underconstrained { .. })) && found.free.is_empty() {
            return None;
        }
        let known: Vec<Similarity> = look.known.iter().chain(rival).map(|known| known.pose).collect();
        found.search(known, stop);
        found.prune();
        let mut others: Vec<Candidate> = found.others.into_iter().map(|fitting| fitting.candidate).collect();
        // What the judge could not refute is named in any case.
        if let Some(rival) = rival.filter(|_| others.is_empty() && found.free.is_empty()) {
            others.push(rival.clone());
        }
        (!others.is_empty() || !found.free.is_empty()).then_some(Self { others, free: found.free })
    }
}

/// A pose, with where the points of both clouds are under it.
struct Fitting {
    candidate: Candidate,
    places: Places,
}

impl Fitting {
    fn pose(&self) -> &Similarity {
        &self.candidate.pose
    }
}

/// The search for poses that fit as well.
struct Finder<'a> {
    sampled: &'a SampledPair,
    parts: Parts<'a>,
    attempt: Option<&'a Attempt>,
    with_scale: bool,
    /// Whether both clouds show all of the same shape.
    is_whole: bool,
    /// The answer, refined as the others are.
    answer: Fitting,
    /// Middle of the moving cloud under the answer.
    center: [f64; 3],
    /// Fraction of a few points that the answer explains.
    roughly: f64,
    free: Vec<FreeMotion>,
    others: Vec<Fitting>,
    refined: usize,
}

impl<'a> Finder<'a> {
    fn new(look: &'a Look, answer: &Candidate, with_scale: bool, is_whole: bool) -> Self {
        let sampled = &look.sampled;
        let pose = sampled.refine_coarsely(answer.pose, with_scale, Default::default());
        let pose = if sampled.differ(&answer.pose, &pose) { answer.pose } else { pose };
        let center = pose.apply(principal_axes(&sampled.moving.points).0);
        let parts = Parts::of(sampled);
        let places = parts.places(&pose);
        let answer = Fitting { candidate: Candidate::without_matches(sampled, pose, pose), places };
        Self {
            sampled,
            parts,
            attempt: look.attempt.as_ref(),
            with_scale,
            is_whole,
            roughly: sampled.explained_roughly(&pose, RANKING_POINTS),
            answer,
            center,
            free: Vec::new(),
            others: Vec::new(),
            refined: 0,
        }
    }

    /// Finds the motions that the overlap does not hold, and keeps those after which the clouds fit as well by any amount.
    fn confirm_free_motions(&mut self) {
        let Some(firmness) = self.sampled.firmness(self.answer.pose()) else { return };
        let voxel = self.sampled.voxel(self.answer.pose().scale());
        for motion in FreeMotion::of(&firmness, super::judge::LEAST_RIGIDITY) {
            let further: Vec<Similarity> = match motion {
                FreeMotion::Shift { .. } => CONFIRMED_BY.map(|by| motion.by(0.0, by * voxel)).concat(),
                _ => CONFIRMED_AT.map(|part| motion.by(part, 0.0)).concat(),
            };
            let fits = |further: &Similarity| {
                let pose = self.answer.pose().then(further);
                let pose = self.sampled.refine_coarsely(pose, self.with_scale, Default::default());
                self.is_not_worse(&self.fitting(Candidate::without_matches(self.sampled, pose, pose)))
            };
            if further.par_iter().all(fits) {
                self.free.push(motion);
            }
        }
    }

    /// Refines and compares proposals, and then what follows from those that fit.
    fn search(&mut self, known: Vec<Similarity>, stop: SharedStopCheck<'_>) {
        // Where the clouds slide, every other pose slides as well: the motion says all.
        if self.free.iter().any(|motion| matches!(motion, FreeMotion::Shift { .. })) {
            return;
        }
        let mut proposals = known;
        proposals.extend(turns(self.sampled, self.answer.pose(), ROUGHLY * self.roughly));
        let shifts =
            self.attempt.map_or(Vec::new(), |attempt| attempt.shifts(self.sampled, self.answer.pose()));
        proposals
            .extend(shifts.into_iter().map(|by| self.answer.pose().then(&Similarity::from_translation(by))));
        let mut waiting = VecDeque::from(proposals);
        let is_full = |found: &Self| found.others.len() + 1 >= MOST_POSES || found.refined >= MOST_REFINED;
        while !waiting.is_empty() && !is_full(self) && stop().is_none() {
            let mut batch: Vec<Similarity> = Vec::with_capacity(AT_ONCE);
            while let Some(pose) = waiting.pop_front() {
                let is_new = self.is_new(&pose) && !batch.iter().any(|other| self.are_same(other, &pose));
                if is_new && self.sampled.explained_roughly(&pose, RANKING_POINTS) >= ROUGHLY * self.roughly {
                    batch.push(pose);
                }
                if batch.len() == AT_ONCE {
                    break;
                }
            }
            self.refined += batch.len();
            let compared = |start: &Similarity| {
                let pose = self.sampled.refine_coarsely(*start, self.with_scale, Default::default());
                let candidate = match self.attempt {
                    Some(attempt) => attempt.compare(self.sampled, *start, pose),
                    None => Candidate::without_matches(self.sampled, *start, pose),
                };
                let fitting = self.is_new(&pose).then(|| self.fitting(candidate))?;
                self.fits_as_well(&fitting).then_some(fitting)
            };
            let fitting: Vec<Option<Fitting>> = batch.par_iter().map(compared).collect();
            for fitting in fitting.into_iter().flatten() {
                if self.is_new(fitting.pose()) && self.others.len() + 1 < MOST_POSES {
                    waiting.extend(self.following(fitting.pose()));
                    self.others.push(fitting);
                }
            }
        }
    }

    /// Removes poses that fit worse than another one of them. The answer may say nothing about a place that two others compete for.
    fn prune(&mut self) {
        let is_beaten =
            |other: &Fitting| self.others.iter().any(|better| self.is_clearly_better(better, other));
        let beaten: Vec<bool> = self.others.par_iter().map(is_beaten).collect();
        let mut beaten = beaten.into_iter();
        self.others.retain(|_| !beaten.next().unwrap_or(false));
    }

    /// Poses that fit as well if a further one does: its motion and those of the others bring the fixed cloud onto itself, and so do all in turn.
    fn following(&self, further: &Similarity) -> Vec<Similarity> {
        let answer = self.answer.pose();
        let motion = |pose: &Similarity| answer.inverse().then(pose);
        let new = motion(further);
        let mut poses = vec![answer.then(&new.inverse()), further.then(&new)];
        for other in self.others.iter().map(Fitting::pose) {
            let known = motion(other);
            poses.extend([
                other.then(&new),
                further.then(&known),
                other.then(&new.inverse()),
                further.then(&known.inverse()),
            ]);
        }
        poses
    }

    /// A candidate, with where the points are under it.
    fn fitting(&self, candidate: Candidate) -> Fitting {
        Fitting { places: self.parts.places(&candidate.pose), candidate }
    }

    /// Whether no free motion leads from one of two poses to the other, up to the distance at which poses differ.
    fn are_same(&self, a: &Similarity, b: &Similarity) -> bool {
        let motion = a.inverse().then(b);
        let left = self.free.iter().fold(motion, |motion, free| free.undone(&motion, self.center));
        !self.sampled.differ(a, &a.then(&left))
    }

    fn is_new(&self, pose: &Similarity) -> bool {
        let known = std::iter::once(&self.answer).chain(&self.others);
        !known.map(Fitting::pose).any(|known| self.are_same(known, pose))
    }

    /// Whether the clouds fit as well under another pose. All of the same shape overlaps.
    fn fits_as_well(&self, other: &Fitting) -> bool {
        let [fit, as_whole] = [&self.answer, other].map(|fitting| &fitting.candidate.votes.assessment);
        let overlaps = as_whole.overlap_source >= AS_WHOLE * fit.overlap_source
            && as_whole.overlap_target >= AS_WHOLE * fit.overlap_target;
        (overlaps || !self.is_whole) && self.is_not_worse(other)
    }

    /// Whether the clouds fit as well under another pose, by the votes of the same points. A smaller overlap tells nothing.
    fn is_not_worse(&self, other: &Fitting) -> bool {
        let [this, explained] = [&self.answer, other].map(|fitting| fitting.candidate.votes.explained);
        if explained < limits::RIVAL_EXPLAINED * this {
            return false;
        }
        !self.is_clearly_better(&self.answer, other)
    }

    /// Whether the same points speak clearly for the first of two poses.
    fn is_clearly_better(&self, first: &Fitting, second: &Fitting) -> bool {
        let comparison = self.sampled.voters().compare(&first.candidate.votes, &second.candidate.votes);
        comparison.clearness() > WORSE || self.parts.tell_apart(&first.places, &second.places)
    }
}
