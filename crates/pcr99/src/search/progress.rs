//! What has been found so far, and whether that is enough.

use super::candidate::{Best, Candidate};
use crate::{Counters, StopReason};

/// A consensus is recognised in a subset that holds this many of it.
const ENOUGH: i32 = 7;
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

    /// The share of right matches that is looked for in a subset: more than has been found, and no fewer than are recognised in it.
    pub(super) fn share_to_find(&self, n: usize, size: usize) -> f64 {
        let recognised = f64::from(ENOUGH) / size as f64;
        self.share_to_beat(n).unwrap_or(0.0).max(recognised)
    }

    /// A subset that surely holds enough of a larger consensus.
    pub(super) fn wanted_subset(&self, n: usize, miss_probability: f64) -> Option<usize> {
        self.share_to_beat(n).map(|share| {
            // The chance falls with the size: halve the range until it is one.
            let (mut small, mut large) = (0.0, f64::from(8 * ENOUGH) / share);
            while large - small > 1.0 {
                let middle = 0.5 * (small + large);
                let enough = has_too_few(middle, share) <= miss_probability;
                (small, large) = if enough { (small, middle) } else { (middle, large) };
            }
            large.ceil() as usize
        })
    }

    /// How many of them are still to be examined.
    pub(super) fn pairs_left(&self, n: usize, miss_probability: f64) -> Option<f64> {
        self.wanted_pairs(n, miss_probability).map(|wanted| (wanted - self.examined as f64).max(0.0))
    }

    /// How many pairs have to be examined so that one of a larger consensus is among them and recognised.
    fn wanted_pairs(&self, n: usize, miss_probability: f64) -> Option<f64> {
        let share = self.share_to_beat(n)?;
        Some(libm::log(miss_probability) / libm::log1p(-RECOGNISED * share * share))
    }

    /// Whether a subset surely holds enough of a larger consensus; `None` when there is nothing to compare with.
    pub(super) fn is_large_enough(&self, n: usize, size: usize, miss_probability: f64) -> Option<bool> {
        let share = self.share_to_beat(n)?;
        let surely = || self.random_subsets && has_too_few(size as f64, share) <= miss_probability;
        Some(size == n || surely())
    }

    pub(super) fn is_confident(&self, n: usize, size: usize, miss_probability: f64) -> bool {
        self.wanted_pairs(n, miss_probability).is_some_and(|pairs| self.examined as f64 >= pairs)
            && self.is_large_enough(n, size, miss_probability) == Some(true)
    }
}

/// The chance that fewer than `ENOUGH` of `size` matches are right when each is with probability `share`: the binomial sum. (Without
/// replacement it is smaller still.)
fn has_too_few(size: f64, share: f64) -> f64 {
    if share >= 1.0 {
        return if size >= f64::from(ENOUGH) { 0.0 } else { 1.0 };
    }
    let mut term = libm::pow(1.0 - share, size);
    let mut sum = term;
    for k in 1..ENOUGH {
        term *= (size - f64::from(k - 1)).max(0.0) / f64::from(k) * (share / (1.0 - share));
        sum += term;
    }
    sum
}

/// The best candidate, when it can be trusted.
pub(super) fn reliable(best: &Best) -> Option<&Candidate> {
    best.first().filter(|best| best.is_reliable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_has_too_few_as_often_as_the_binomial_says() {
        // Six of twelve or fewer at a half: 1 − the other half, plus the middle.
        assert!((has_too_few(12.0, 0.5) - (0.5 + 0.5 * 924.0 / 4096.0)).abs() < 1e-12);
        assert_eq!((has_too_few(7.0, 1.0), has_too_few(6.0, 1.0)), (0.0, 1.0));
        // Rare events: Poisson's law.
        let poisson: f64 =
            (0..7).map(|k| (-26.0_f64).exp() * 26.0_f64.powi(k) / (1..=k).product::<i32>() as f64).sum();
        assert!((has_too_few(26e6, 1e-6) / poisson - 1.0).abs() < 1e-3);
    }
}
