//! Another look at a consensus of few matches that is barely beyond chance.
//!
//! Three or four wrong matches among ten inliers turn a transform by many degrees, and refining does not get rid of them: they fit the
//! transform that they have turned. Most of the inliers are right all the same, so transforms of three of them are tried. One of three right ones shows
//! the right consensus, which has more evidence.

use super::{
    Problem, Solver,
    candidate::{Candidate, Model},
    progress::Found,
};

use pcr99_base::kernel::consensus::{Affine, squared_residual};

use crate::random::Random;

/// Largest number of inliers of such a consensus. Among more, a few wrong ones turn the transform little.
const MOST_INLIERS: usize = 24;
/// `log10_nfa` above which a consensus is looked at again. Right ones of ten matches in a thousand are mostly below.
const BARELY: f64 = -10.0;
/// Largest number of candidates that are looked at.
const CANDIDATES: usize = 2;
/// Triplets tried for each. With six of ten inliers right, one in six triplets is right.
const TRIPLETS: usize = 48;
/// A transform is refined when it has at least as many inliers as the candidate without this many.
const FEWER: usize = 2;

impl Solver {
    /// Replaces candidates of few matches that are barely beyond chance by better ones made from three of their inliers. Returns whether there are any.
    pub(super) fn resample(&mut self, problem: &Problem<'_>, found: &mut Found) -> bool {
        let is_weak = |candidate: &&Candidate| {
            (4..=MOST_INLIERS).contains(&candidate.inliers.len()) && candidate.evidence.log10_nfa > BARELY
        };
        let weak: Vec<Candidate> =
            found.best.all().iter().take(CANDIDATES).filter(is_weak).cloned().collect();
        let mut is_better = false;
        let mut random = Random::new(0);
        let mut seen: Vec<Vec<u64>> = weak.iter().map(|candidate| candidate.mask.clone()).collect();
        for candidate in weak {
            let known = Model { delta: candidate.delta, ..problem.model };
            let least = candidate.inliers.len() - FEWER.min(candidate.inliers.len() - 4);
            for _ in 0..TRIPLETS {
                let triplet = random.distinct_triple(candidate.inliers.len()).map(|k| candidate.inliers[k]);
                let Some(model) = known.fit(problem.points, &triplet, |_| 1.0) else { continue };
                // Most of the inliers are right, so a right transform explains most of them.
                let affine = Affine::from(&model);
                let is_near = |i: &&u32| {
                    squared_residual(problem.points, &affine, **i as usize) <= known.delta * known.delta
                };
                if 2 * candidate.inliers.iter().filter(is_near).count() <= candidate.inliers.len() {
                    continue;
                }
                let Self { refiner, judge, .. } = self;
                let refined =
                    refiner.refine_unless_seen(problem.points, model, &known, least, &mut seen, judge);
                if let Some(better) = refined.filter(|refined| refined.is_better_than(&candidate)) {
                    found.best.insert(better);
                    is_better = true;
                }
            }
        }
        is_better
    }
}
