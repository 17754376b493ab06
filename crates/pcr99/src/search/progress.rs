//! What has been found so far, and whether that is enough.

use super::candidate::{Best, Candidate};
use crate::{Counters, StopReason};

/// A consensus is recognised in a subset that holds this many of it; expecting `SURELY_ENOUGH` has fewer with less than 10⁻⁶.
const SURELY_ENOUGH: f64 = 26.0;
/// How often, at least, a pair of a consensus that is there passes all tests.
const RECOGNISED: f64 = 0.6;

/// Pairs that are tried at a level at most where something stands out that cannot be trusted.
const DOUBTFUL_EFFORT: u64 = 10_000;
/// Pairs that may be tried in any case.
const LEAST_ALLOWANCE: u64 = 256;

/// What has been found so far.
pub(super) struct Progress {
    pub(super) best: Best,
    pub(super) counters: Counters,
    /// Pairs examined with the present threshold.
    pub(super) examined: u64,
    /// Pairs that may still be tried at this level.
    pub(super) effort: u64,
    /// And of those that are looked at next.
    pub(super) allowance: u64,
    /// Whether that ran out.
    pub(super) limited: bool,
    /// Whether subsets are random; with weights they are not, and say nothing of the matches left out.
    pub(super) random_subsets: bool,
    pub(super) stopped_because: StopReason,
}

impl Progress {
    pub(super) fn new(candidates: usize) -> Self {
        Self {
            best: Best::new(candidates),
            counters: Counters::default(),
            examined: 0,
            effort: 0,
            allowance: 0,
            limited: false,
            random_subsets: true,
            stopped_because: StopReason::Exhausted,
        }
    }

    /// Gives the pairs that are looked at next, a `share` of those left, their part of the effort: twice their share, since most need
    /// less. The most contrasting pairs of the whole level are tried, then, not all of the first. Where something stands out
    /// that cannot be trusted, local structure repeats, and there is no end of pairs to try.
    pub(super) fn allow(&mut self, share: f64, local: &Best) {
        if local.first().is_some_and(|best| best.stands_out && !best.is_reliable()) {
            self.effort = self.effort.min(DOUBTFUL_EFFORT);
        }
        let part = (2.0 * share * self.effort as f64).ceil() as u64;
        self.allowance = part.max(LEAST_ALLOWANCE).min(self.effort);
    }

    /// Counts pairs that have been looked at; those that there was no effort left to try do not count against a miss.
    pub(super) fn count(&mut self, pairs: u64) {
        self.counters.pairs += pairs;
        if self.allowance > 0 {
            self.examined += pairs;
        }
    }

    /// The share of right matches if the best significant consensus had one more.
    fn share_to_beat(&self, n: usize) -> Option<f64> {
        let best = reliable(&self.best)?;
        Some(((best.inliers.len() + 1) as f64 / n as f64).min(1.0))
    }

    /// A subset that surely holds enough of a larger consensus.
    pub(super) fn wanted_subset(&self, n: usize) -> Option<usize> {
        self.share_to_beat(n).map(|share| (SURELY_ENOUGH / share).ceil() as usize)
    }

    pub(super) fn is_confident(&self, n: usize, size: usize, miss_probability: f64) -> bool {
        self.share_to_beat(n).is_some_and(|share| {
            let large_enough = size == n || (self.random_subsets && size as f64 * share >= SURELY_ENOUGH);
            let missed = self.examined as f64 * libm::log1p(-RECOGNISED * share * share);
            large_enough && missed <= libm::log(miss_probability)
        })
    }
}

/// The best candidate, when it can be trusted.
pub(super) fn reliable(best: &Best) -> Option<&Candidate> {
    best.first().filter(|best| best.is_reliable())
}
