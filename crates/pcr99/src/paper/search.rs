//! The loop of Algorithm 1 (lines 8–25): forms hypotheses from samples that pass, keeps the largest consensus, and decides when to stop.

use super::{
    Problem,
    align::align_triplet,
    consensus::Consensus,
    params::Params,
    prescreen::{Prescreen, Random},
    triplets::runs,
};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, Coarse, count_inliers},
};

use crate::{Counters, StopReason, random, stop::StopCheck};

/// Buffers that are kept between problems.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    coarse: Coarse,
    passed: Vec<u32>,
}

/// Largest number of triplets between stop checks: some tens of microseconds.
const TRIPLETS_BETWEEN_CHECKS: u64 = 1 << 16;
/// Cost of a hypothesis in triplets, besides one for each match that it is tested on.
const TRIPLETS_PER_HYPOTHESIS: u64 = 256;

/// State of the search.
pub(super) struct Search<'a> {
    problem: &'a Problem<'a>,
    params: &'a Params,
    stop: StopCheck<'a>,
    work: &'a mut Workspace,
    best: Option<Consensus>,
    counters: Counters,
    next_check: u64,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        problem: &'a Problem<'a>,
        params: &'a Params,
        stop: StopCheck<'a>,
        work: &'a mut Workspace,
    ) -> Self {
        work.coarse.assign(problem.points);
        Self { problem, params, stop, work, best: None, counters: Counters::default(), next_check: 0 }
    }

    /// The largest consensus found, and the amount of work done.
    pub(super) fn finish(self) -> (Option<Consensus>, Counters) {
        (self.best, self.counters)
    }

    /// Tries samples in the order of their rank sums.
    pub(super) fn in_order(&mut self, prescreen: &mut Prescreen<'_>) -> StopReason {
        let mut passed = std::mem::take(&mut self.work.passed);
        let reason = self.in_order_with(prescreen, &mut passed);
        self.work.passed = passed;
        reason
    }

    fn in_order_with(&mut self, prescreen: &mut Prescreen<'_>, passed: &mut Vec<u32>) -> StopReason {
        for run in runs(self.problem.points.len()) {
            if let Some(reason) = self.asked_to_stop() {
                return reason;
            }
            prescreen.passing(&run, passed);
            let before = self.counters.triplets;
            for r_j in passed.iter().map(|&r_j| r_j as usize) {
                self.counters.triplets = before + (r_j - run.r_j[0] + 1) as u64;
                // Points are in rank order, with rank r at index r − 1.
                let sample = [run.r_i - 1, r_j - 1, run.r_jk - r_j - 1];
                // With exact data a whole run passes, and each sample is tested on all matches, so check here as well.
                let reason = self.test(prescreen.ranked(), sample).or_else(|| self.asked_to_stop());
                if let Some(reason) = reason {
                    return reason;
                }
            }
            self.counters.triplets = before + run.len() as u64;
        }
        StopReason::Exhausted
    }

    /// Tries random samples of three distinct matches. A sample may be drawn more than once.
    pub(super) fn at_random(&mut self, prescreen: Random<'_>, seed: u64, draw_limit: u64) -> StopReason {
        let n = self.problem.points.len();
        let mut random = random::Random::new(seed);
        let limit = draw_limit.min(draws_that_visit_all(n));
        while self.counters.triplets < limit {
            if let Some(reason) = self.asked_to_stop() {
                return reason;
            }
            let sample = random.distinct_triple(n);
            self.counters.triplets += 1;
            if prescreen.passes(sample)
                && let Some(reason) = self.test(prescreen.points(), sample)
            {
                return reason;
            }
        }
        StopReason::Exhausted
    }

    /// Forms a hypothesis from `sample` and keeps it when it has more inliers than any before. Returns whether to stop.
    fn test(&mut self, points: &Soa, sample: [usize; 3]) -> Option<StopReason> {
        let model = align_triplet(points, sample, self.problem.known_scale)?;
        self.counters.hypotheses += 1;
        let (affine, delta) = (Affine::from(&model), self.problem.delta);
        let best = self.best.map_or(0, |best| best.len);
        // The first hypothesis is kept even without inliers, as the best found so far.
        if self.best.is_none() || self.work.coarse.may_exceed(&affine, delta, best) {
            let len = count_inliers(self.problem.points, &affine, delta * delta);
            if self.best.is_none() || len > best {
                self.best = Some(Consensus { model, len });
            }
        }
        let hypotheses = self.counters.hypotheses;
        if hypotheses.is_multiple_of(self.params.batch()) && self.has_enough() {
            return Some(StopReason::EnoughInliers);
        }
        (self.params.hypothesis_limit() == Some(hypotheses)).then_some(StopReason::HypothesisLimit)
    }

    fn has_enough(&self) -> bool {
        self.best.is_some_and(|best| best.len >= self.problem.required)
    }

    /// Calls the stop check when enough work has been done since the last call.
    fn asked_to_stop(&mut self) -> Option<StopReason> {
        let per_hypothesis = TRIPLETS_PER_HYPOTHESIS + self.problem.points.len() as u64;
        let work = self.counters.triplets + per_hypothesis * self.counters.hypotheses;
        if work < self.next_check {
            return None;
        }
        self.next_check = work + TRIPLETS_BETWEEN_CHECKS;
        (self.stop)().map(StopReason::from)
    }
}

/// Number of random draws that visit all `m = C(n, 3)` samples with a probability of 1 − 10⁻⁶. Each sample is missed with probability
/// `(1 − 1/m)^draws`, so `m·(ln m + 14)` draws are enough.
fn draws_that_visit_all(n: usize) -> u64 {
    let n = n as f64;
    let samples = n * (n - 1.0) * (n - 2.0) / 6.0;
    (samples * (libm::log(samples) + 14.0)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{random::Random as Draws, stop};
    use pcr99_base::test_points;

    /// Decision 16: this many draws visit every sample, and it is not far too many.
    #[test]
    fn random_draws_visit_every_sample_and_then_end() {
        for n in [3_usize, 4, 6, 9] {
            let samples = n * (n - 1) * (n - 2) / 6;
            let mut random = Draws::new(n as u64);
            let (mut seen, mut needed) = (std::collections::BTreeSet::new(), 0_u64);
            while seen.len() < samples {
                let mut sample = random.distinct_triple(n);
                sample.sort_unstable();
                seen.insert(sample);
                needed += 1;
            }
            let enough = draws_that_visit_all(n);
            assert!((needed..30 * samples as u64).contains(&enough), "{n}: {needed} of {enough}");
        }
        // m·(ln m + 14) with m = C(1000, 3).
        assert_eq!(draws_that_visit_all(1000) / 1_000_000_000, 5);
    }

    /// Regression: with exact data a single run has many hypotheses, and must be interruptible.
    #[test]
    fn a_run_can_be_stopped_inside() {
        let mut points = test_points::random(600, 2);
        points.b = points.a.clone();
        let problem = Problem {
            points: &points,
            known_scale: Some(1.0),
            delta: 0.05,
            epsilon: 0.1,
            grid_step: 0.1,
            required: 601,
        };
        let params = Params::new(0.05).unwrap();
        let ranking = crate::paper::ranking::Ranking::by_descending(&vec![0.0; 600]);
        let asked = std::cell::Cell::new(0_u64);
        let count = || {
            asked.set(asked.get() + 1);
            (asked.get() > 2000).then_some(stop::StopRequest::Interrupted)
        };
        let (mut work, mut table) = (Workspace::default(), crate::paper::prescreen::Workspace::default());
        let mut search = Search::new(&problem, &params, &count, &mut work);
        let mut prescreen = Prescreen::new(&problem, &ranking, &mut table).unwrap();
        assert_eq!(search.in_order(&mut prescreen), StopReason::Interrupted);
        let (_, counters) = search.finish();
        let most = 2 + TRIPLETS_BETWEEN_CHECKS / (TRIPLETS_PER_HYPOTHESIS + 600);
        assert!(counters.hypotheses / asked.get() <= most, "{counters:?}");
    }
}
