//! A far tighter consensus within a consensus.
//!
//! Where no threshold is given, two motions that are close together look like one with large noise, and a few precise matches disappear among many coarse ones.
//! If all inliers had the same Gaussian noise, then few of them would agree with a transform of three of them within a small part of that noise. When far more do, and
//! they are most of the inliers, the tighter consensus is the answer, with a threshold of its own. The search that follows finds the others again, if they are a
//! motion of their own.

use super::{
    Problem, Solver,
    candidate::{Candidate, Model},
    threshold::{self, DEVIATIONS},
};
use crate::{Similarity, evidence::log_choose, random::Random};

use pcr99_base::{
    Soa,
    kernel::{consensus::Affine, edges::common, residuals::squared_residuals},
};

/// Smallest number of inliers among which a tighter consensus is looked for.
const FEWEST: usize = 8;
/// Largest number of inliers that are looked at.
const LARGEST_SAMPLE: usize = 48;
/// Triplets tried. Of two motions of equal size, one triplet in four is of one of them, so that none is once in a thousand times.
const TRIPLETS: usize = 24;
/// Radii at which inliers are counted, in standard deviations of the noise.
const RADII: [f64; 5] = [0.8, 0.4, 0.2, 0.1, 0.05];
/// Probability density of a Gaussian vector at its centre, times the volume of the unit ball: an upper bound on the share within a radius of 1.
const AT_CENTRE: f64 = 0.266;
/// Logarithm of the number of false alarms from which the tighter consensus is not one of chance: one in ten thousand problems.
const LARGEST_LOG_NFA: f64 = -9.2;
/// Ratio of the thresholds from which a consensus is far tighter. Noise that differs by less between matches is one noise.
const FAR_TIGHTER: f64 = 3.0;
/// Largest number of times that a consensus is tightened.
const MOST: usize = 3;

impl Solver {
    /// A far tighter consensus within that of `candidate`; `None` when there is none.
    pub(super) fn tighten(&mut self, problem: &Problem<'_>, candidate: &Candidate) -> Option<Candidate> {
        let mut tightest: Option<Candidate> = None;
        for _ in 0..MOST {
            let Some(tighter) = self.tighten_once(problem, tightest.as_ref().unwrap_or(candidate)) else {
                break;
            };
            tightest = Some(tighter);
        }
        tightest
    }

    fn tighten_once(&mut self, problem: &Problem<'_>, candidate: &Candidate) -> Option<Candidate> {
        let step = candidate.inliers.len().div_ceil(LARGEST_SAMPLE);
        let some: Vec<u32> = candidate.inliers.iter().copied().step_by(step).collect();
        if some.len() < FEWEST {
            return None;
        }
        let sigma = candidate.delta / DEVIATIONS;
        let log_shares = RADII.map(|radius| libm::log(AT_CENTRE * radius * radius * radius));
        let mut random = Random::new(0);
        let mut best: Option<(f64, usize, Similarity)> = None;
        let mut sample = Soa::default();
        sample.assign_permuted(problem.points, &some);
        let mut squares = vec![0.0; some.len()];
        let limits = RADII.map(|radius| (radius * sigma).powi(2));
        for _ in 0..TRIPLETS {
            let triplet = random.distinct_triple(some.len()).map(|k| some[k]);
            let Some(model) = problem.model.fit(problem.points, &triplet, |_| 1.0) else { continue };
            squared_residuals(&sample, &Affine::from(&model), &mut squares);
            let counts = limits.map(|limit| squares.iter().filter(|square| **square <= limit).count());
            for (place, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 4) {
                // Three are fitted.
                let log_nfa = libm::log((TRIPLETS * RADII.len()) as f64)
                    + log_choose(some.len() - 3, count - 3)
                    + (count - 3) as f64 * log_shares[place];
                if best.as_ref().is_none_or(|(least, ..)| log_nfa < *least) {
                    best = Some((log_nfa, place, model));
                }
            }
        }
        let (_, place, model) = best.filter(|(log_nfa, ..)| *log_nfa <= LARGEST_LOG_NFA)?;
        let Self { refiner, judge, .. } = self;
        let known = Model {
            delta: (2.0 * RADII[place] * sigma).max(4.0 * problem.model.background.finest()),
            ..problem.model
        };
        let tighter = refiner.refine(problem.points, model, &known, judge)?;
        let farthest = candidate.delta / FAR_TIGHTER;
        let tighter = threshold::settle(problem.points, &tighter, farthest, &known, refiner, judge)?;
        // A tighter minority may be a smaller motion; what the others follow would be lost.
        let others = (problem.points.len() - candidate.inliers.len()) as f64;
        let right =
            candidate.inliers.len() as f64 - others * problem.model.background.chance(candidate.delta);
        let is_majority = 2.0 * f64::from(common(&tighter.mask, &candidate.mask)) > right;
        (is_majority && tighter.is_registered()).then_some(tighter)
    }
}
