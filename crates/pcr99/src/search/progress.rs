//! What a search has found so far, and whether it may stop.

use super::candidate::{Best, Candidate};
use crate::{Counters, Evidence, StopReason};

/// Number of right matches that a subset must hold for their consensus to be recognised.
const ENOUGH_INLIERS: usize = 7;
/// Lower bound on the fraction of the pairs of a consensus that pass all tests.
const RECOGNITION_RATE: f64 = 0.6;

/// Pairs tried in a round, at most, where a candidate stands out but is not registered: this many, or a tenth of the effort where that
/// is more.
pub(super) const DOUBTFUL_EFFORT: u64 = 10_000;
/// Smallest allowance of a chunk, in pairs.
const SMALLEST_ALLOWANCE: u64 = 256;

/// State of a search.
pub(super) struct Progress {
    pub(super) best: Best,
    pub(super) counters: Counters,
    /// Pairs examined with the current threshold.
    pub(super) examined: u64,
    /// Pairs that may still be tried in this round.
    pub(super) effort: u64,
    /// Pairs that may be tried of the current chunk.
    pub(super) allowance: u64,
    /// Bound on `effort` where a candidate stands out but is not registered.
    pub(super) doubtful_effort: u64,
    /// Whether a bound on the pairs tried was reached.
    pub(super) limited: bool,
    /// Whether subsets are random. With weights they are not, and say nothing about the matches left out.
    pub(super) random_subsets: bool,
    /// Number of inliers from which a consensus may exceed chance.
    pub(super) fewest_inliers: usize,
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
            doubtful_effort: DOUBTFUL_EFFORT,
            limited: false,
            random_subsets: true,
            fewest_inliers: 0,
            stopped_because: StopReason::Exhausted,
        }
    }

    /// Sets the allowance of the next chunk, which holds a `share` of the pairs left: twice its share of the effort, since most chunks
    /// need less. The effort thus lasts for the pairs of high contrast in all chunks. Where a candidate stands out that is not
    /// registered, local structure repeats and gives endless pairs to try, so the effort is reduced.
    pub(super) fn allow(&mut self, share: f64, local: &Best) {
        if local.first().is_some_and(|best| best.stands_out && !best.is_registered()) {
            self.effort = self.effort.min(self.doubtful_effort);
        }
        let part = (2.0 * share * self.effort as f64).ceil() as u64;
        self.allowance = part.max(SMALLEST_ALLOWANCE).min(self.effort);
    }

    /// Counts examined pairs. Those for which no effort was left do not count towards confidence.
    pub(super) fn count(&mut self, pairs: u64) {
        self.counters.pairs += pairs;
        if self.allowance > 0 {
            self.examined += pairs;
        }
    }

    /// Number of inliers from which another consensus is a rival of one with `inliers` inliers: enough for a share of the evidence, and enough to exceed
    /// chance.
    pub(super) fn rival_of(&self, inliers: usize) -> usize {
        let share = (Evidence::LARGEST_RIVAL_RATIO * inliers as f64).ceil() as usize;
        share.max(self.fewest_inliers)
    }

    /// Number of inliers of a rival within a subset of `size` of the `n` matches, which holds a part of each consensus.
    pub(super) fn rival_in_subset(&self, inliers: usize, size: usize, n: usize) -> usize {
        let share = (Evidence::LARGEST_RIVAL_RATIO * inliers as f64).ceil() as usize;
        share.max(self.fewest_inliers * size / n)
    }

    /// What must not be missed before the search may stop; empty while nothing is registered.
    ///
    /// One is a consensus that is larger than the best: it would change the answer. The other is a rival, which would change the verdict. A missed
    /// rival is accepted more often, because it does not make the answer wrong.
    fn goals(&self, n: usize, miss_probability: f64) -> impl Iterator<Item = Goal> {
        let goals = registered(&self.best).map(|best| {
            let inliers = best.inliers.len();
            [
                Goal { right: (inliers + 1).min(n), miss_probability },
                Goal { right: self.rival_of(inliers).min(n), miss_probability: miss_probability.sqrt() },
            ]
        });
        goals.into_iter().flatten()
    }

    /// Fraction of right matches to look for in a subset: those of a rival, and enough to be recognised.
    pub(super) fn share_to_find(&self, n: usize, size: usize) -> f64 {
        let recognised = ENOUGH_INLIERS as f64 / size as f64;
        let rival = registered(&self.best).map_or(0, |best| self.rival_of(best.inliers.len()));
        recognised.max(rival as f64 / n as f64)
    }

    /// Size of a subset that holds enough of what must not be missed; `None` while nothing is registered.
    pub(super) fn needed_subset(&self, n: usize, miss_probability: f64) -> Option<usize> {
        self.goals(n, miss_probability).map(|goal| goal.smallest_subset(n)).max()
    }

    /// Number of pairs still to be examined before the search may stop; `None` while nothing is registered.
    pub(super) fn pairs_left(&self, n: usize, miss_probability: f64) -> Option<f64> {
        let needed = self.goals(n, miss_probability).map(|goal| goal.needed_pairs(n));
        needed.reduce(f64::max).map(|needed| (needed - self.examined as f64).max(0.0))
    }

    /// Whether a subset holds enough of what must not be missed; `None` while nothing is registered.
    pub(super) fn is_large_enough(&self, n: usize, size: usize, miss_probability: f64) -> Option<bool> {
        registered(&self.best)?;
        let surely =
            |goal: Goal| self.random_subsets && has_too_few(n, goal.right, size) <= goal.miss_probability;
        Some(size == n || self.goals(n, miss_probability).all(surely))
    }

    /// Whether nothing that must not be missed was missed, up to the accepted probabilities.
    pub(super) fn is_confident(&self, n: usize, size: usize, miss_probability: f64) -> bool {
        self.pairs_left(n, miss_probability) == Some(0.0)
            && self.is_large_enough(n, size, miss_probability) == Some(true)
    }
}

/// A consensus that must not be missed.
#[derive(Debug, Clone, Copy)]
struct Goal {
    /// Its number of inliers.
    right: usize,
    /// Accepted probability that it is missed.
    miss_probability: f64,
}

impl Goal {
    /// Number of pairs to examine so that one of its pairs is among them and recognised.
    fn needed_pairs(self, n: usize) -> f64 {
        let share = self.right as f64 / n as f64;
        libm::log(self.miss_probability) / libm::log1p(-RECOGNITION_RATE * share * share)
    }

    /// Smallest subset that holds enough of it, with a little to spare: the number of inliers may still change by a few.
    fn smallest_subset(self, n: usize) -> usize {
        smallest_subset(n, self.right - self.right / 32, self.miss_probability)
    }
}

/// Smallest subset that holds enough of the `right` matches, up to that probability of a miss.
fn smallest_subset(n: usize, right: usize, miss_probability: f64) -> usize {
    // The probability of a miss falls with the size, so bisection finds the bound.
    let (mut small, mut large) = (0, n);
    while large - small > 1 {
        let middle = small.midpoint(large);
        let enough = has_too_few(n, right, middle) <= miss_probability;
        (small, large) = if enough { (small, middle) } else { (middle, large) };
    }
    large
}

/// Probability that a random subset of `size` of the `n` matches, of which `right` are right, holds fewer than `ENOUGH_INLIERS` of
/// those: the hypergeometric sum `Σ C(right, k)·C(n − right, size − k) / C(n, size)`.
fn has_too_few(n: usize, right: usize, size: usize) -> f64 {
    // A large subset holds at least this many.
    let least = (size + right).saturating_sub(n);
    let most = (ENOUGH_INLIERS - 1).min(right).min(size);
    if least > most {
        return 0.0;
    }
    let log_choose = |n: usize, k: usize| {
        let log_factorial = |n: usize| libm::lgamma(n as f64 + 1.0);
        log_factorial(n) - log_factorial(k) - log_factorial(n - k)
    };
    let first = log_choose(right, least) + log_choose(n - right, size - least) - log_choose(n, size);
    let (mut term, mut sum) = (libm::exp(first), 0.0);
    for k in least..=most {
        sum += term;
        let wrong_left = (n + k + 1 - size).saturating_sub(right);
        term *= ((right - k) * (size - k)) as f64 / ((k + 1) * wrong_left) as f64;
    }
    sum
}

/// The best candidate, when it is registered.
pub(super) fn registered(best: &Best) -> Option<&Candidate> {
    best.first().filter(|best| best.is_registered())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_has_too_few_as_often_as_the_hypergeometric_law_says() {
        // At most six right among twelve of 24, half of which are right: one half, plus half of the middle term.
        let middle = 924.0 * 924.0 / 2_704_156.0;
        assert!((has_too_few(24, 12, 12) - (0.5 + 0.5 * middle)).abs() < 1e-12);
        assert_eq!(has_too_few(1000, 1000, 7), 0.0);
        assert!((has_too_few(1000, 1000, 6) - 1.0).abs() < 1e-9);
        assert!((has_too_few(1000, 6, 500) - 1.0).abs() < 1e-9, "there are only six");
        // All matches but four: at least eight of twelve right ones, and at least six of ten.
        assert_eq!(has_too_few(1000, 12, 996), 0.0);
        let all_four_right = (10 * 9 * 8 * 7) as f64 / (1000.0 * 999.0 * 998.0 * 997.0);
        assert!((has_too_few(1000, 10, 996) / all_four_right - 1.0).abs() < 1e-6);
        // Rare events among many follow Poisson's law.
        let poisson: f64 =
            (0..7).map(|k| (-26.0_f64).exp() * 26.0_f64.powi(k) / (1..=k).product::<i32>() as f64).sum();
        assert!((has_too_few(100_000_000, 26_000, 100_000) / poisson - 1.0).abs() < 0.05);
    }

    #[test]
    fn the_wanted_subset_is_the_smallest_that_is_large_enough() {
        for (n, right) in [(1000, 101), (1000, 51), (100_000, 1000), (20, 19)] {
            let wanted = smallest_subset(n, right, 1e-6);
            let miss = |size: usize| has_too_few(n, right, size);
            assert!(miss(wanted) <= 1e-6 && miss(wanted - 1) > 1e-6 && wanted < n, "{n} {right} {wanted}");
        }
        assert_eq!(smallest_subset(1000, 5, 1e-6), 1000, "five right matches are never enough");
    }
}
