//! What a search has found so far, and whether it may stop.

use super::{
    Params, Problem,
    budget::{Budget, Effort},
    candidate::{Best, Candidate, Model},
    star::Sample,
};
use pcr99_base::kernel::edges::common;

use crate::{Counters, Evidence, StopReason, evidence::fewest_inliers};

/// Number of right matches that a subset must hold for their consensus to be recognised.
const ENOUGH_INLIERS: usize = 7;
/// Lower bound on the fraction of the pairs of a consensus that pass all tests.
const RECOGNITION_RATE: f64 = 0.6;

/// Accepted probability that a rival is missed. It does not make the answer wrong; but the verdict would depend on the seed.
const MISSED_RIVALS: f64 = 0.001;

/// Smallest number of candidates that are kept: rivals are among them.
const FEWEST_CANDIDATES: usize = 5;

/// Ratio of two thresholds up to which a search with the smaller one finds what there is with the larger one: with noise of a fifth of the larger one, one right match
/// in a thousand is farther away than the smaller one.
const HARDLY_LARGER: f64 = 1.25;

/// Smallest threshold that a consensus may turn out to have, relative to the one that it was found with. With a smaller one, a last search is needed.
const FAR_SMALLER: f64 = 0.1;

/// What a search found, and why it ended.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) best: Best,
    pub(super) counters: Counters,
    pub(super) stopped_because: StopReason,
    /// Whether a rival of the best would have been found, up to the accepted probability.
    pub(super) sought_rivals: bool,
    pub(super) shown: Shown,
}

/// What a search looked at: it shows that a consensus of a given size was not missed.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// Stars that were sampled.
    pub(super) stars: Vec<Sample>,
    /// Pairs that were examined in rounds, and the size of the last subset.
    pairs: u64,
    subset: usize,
}

impl Found {
    /// Nothing yet. As many candidates as the caller wants are kept, and enough to tell a rival.
    pub(super) fn new(candidates: usize) -> Self {
        let counters = Counters::default();
        Self {
            best: Best::new(candidates.max(FEWEST_CANDIDATES)),
            counters,
            stopped_because: StopReason::Exhausted,
            sought_rivals: false,
            shown: Shown::default(),
        }
    }

    /// Whether the caller ended the search.
    pub(super) fn was_ended(&self) -> bool {
        self.stopped_because.is_request()
    }

    /// Number of matches that the only candidate of this search explains and `best`, which has a threshold of its own, does not; `None` when there are
    /// several candidates, or when its threshold is larger than that of this search.
    pub(super) fn hidden_beside(&self, best: &Candidate) -> Option<usize> {
        let mut candidates = self.best.all().iter().filter(|candidate| candidate.stands_out);
        let (Some(only), None) = (candidates.next(), candidates.next()) else { return None };
        let shared = common(&only.mask, &best.mask) as usize;
        (best.delta <= HARDLY_LARGER * only.delta).then(|| only.inliers.len() - shared)
    }

    /// Takes over what a later search did and why it ended, but not its candidates.
    pub(super) fn add(&mut self, later: &Self) {
        self.counters.pairs += later.counters.pairs;
        self.counters.hypotheses += later.counters.hypotheses;
        (self.stopped_because, self.sought_rivals) = (later.stopped_because, later.sought_rivals);
    }
}

/// The state of a search with one threshold.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) found: Found,
    pub(super) budget: Budget,
    /// Number of matches.
    n: usize,
    /// Accepted probability that a larger consensus is missed.
    miss_probability: f64,
    /// Whether subsets are random. With weights they are not, and say nothing about the matches left out.
    random_subsets: bool,
    /// Number of inliers from which a consensus may exceed chance.
    pub(super) fewest_inliers: usize,
    /// Inliers of the best that a smaller threshold may leave out, because they are there by chance.
    by_chance: usize,
}

impl Progress {
    /// Begins a search. `start` is a candidate that is known already.
    pub(super) fn new(
        problem: &Problem<'_>,
        params: &Params,
        effort: Effort,
        start: Option<&Candidate>,
    ) -> Self {
        let n = problem.points.len();
        let Model { delta, background, .. } = &problem.model;
        // What is found with limited effort will have a threshold of its own, which may be far smaller.
        let (by_chance, smallest) = match effort {
            Effort::Full => (0, *delta),
            Effort::Limited => (at_most(n as f64 * background.chance(*delta)), FAR_SMALLER * delta),
        };
        let mut found = Found::new(params.candidates());
        start.into_iter().for_each(|candidate| found.best.insert(candidate.clone()));
        Self {
            found,
            budget: Budget::new(effort, params),
            n,
            miss_probability: params.miss_probability(),
            random_subsets: problem.weights.is_none(),
            fewest_inliers: fewest_inliers(n, smallest, background),
            by_chance,
        }
    }

    /// Ends the search of a subset of `size` matches.
    pub(super) fn end(mut self, reason: StopReason, size: usize) -> Found {
        self.found.shown.subset = size;
        let rival = self.goals().last();
        let is_complete = reason == StopReason::Exhausted && size == self.n;
        self.found.sought_rivals = reason == StopReason::Confident
            || is_complete
            || rival.is_some_and(|rival| self.is_shown_by_pairs(rival, &self.found.shown));
        self.found.stopped_because = reason;
        self.found
    }

    /// Counts examined pairs. Those for which no budget was left do not count towards confidence.
    pub(super) fn count(&mut self, pairs: u64) {
        self.found.counters.pairs += pairs;
        if self.budget.covers_chunk() {
            self.found.shown.pairs += pairs;
        }
    }

    /// Number of inliers from which another consensus is a rival of one with `inliers` inliers: that with the smallest surplus of a rival.
    pub(super) fn rival_of(&self, inliers: usize) -> usize {
        let explained = self.fewest_inliers.saturating_sub(1);
        let surplus = inliers.saturating_sub(explained) as f64;
        explained + (Evidence::LARGEST_RIVAL_RATIO * surplus).ceil().max(1.0) as usize
    }

    /// Number of inliers that a rival of the best has within a subset of `size` matches, at least, up to two standard deviations; `None` while nothing is registered, neither among all
    /// matches nor among the candidates of the subset.
    pub(super) fn rival_of_best(&self, local: &Best, size: usize) -> Option<usize> {
        let part = size as f64 / self.n as f64;
        let of_all = registered(&self.found.best).map(|best| best.inliers.len() as f64);
        let all = of_all.or_else(|| registered(local).map(|best| best.inliers.len() as f64 / part))?;
        let mean = part * self.rival_of(all as usize) as f64;
        Some((mean - 2.0 * (mean * (1.0 - part)).sqrt()).max(0.0) as usize)
    }

    /// What must not be missed before the search may stop; empty while nothing is registered.
    ///
    /// One is a consensus that is larger than the best: it would change the answer. The other is a rival, which would change the verdict. A missed
    /// rival is accepted more often, because it does not make the answer wrong.
    pub(super) fn goals(&self) -> impl Iterator<Item = Goal> + use<> {
        let Self { n, miss_probability, .. } = *self;
        let goals = registered(&self.found.best).map(|best| {
            let inliers = best.inliers.len().saturating_sub(self.by_chance).max(self.fewest_inliers);
            [
                Goal { right: (inliers + 1).min(n), miss_probability },
                Goal {
                    right: self.rival_of(inliers).min(n),
                    miss_probability: miss_probability.max(MISSED_RIVALS),
                },
            ]
        });
        goals.into_iter().flatten()
    }

    /// Fraction of right matches to look for in a subset: those of a rival, and enough to be recognised.
    pub(super) fn share_to_find(&self, size: usize) -> f64 {
        let recognised = ENOUGH_INLIERS as f64 / size as f64;
        let rival = registered(&self.found.best).map_or(0, |best| self.rival_of(best.inliers.len()));
        recognised.max(rival as f64 / self.n as f64)
    }

    /// Size of a subset that holds enough of what must not be missed; `None` while nothing is registered.
    pub(super) fn needed_subset(&self) -> Option<usize> {
        self.goals().map(|goal| goal.smallest_subset(self.n)).max()
    }

    /// Number of pairs still to be examined before the search may stop; `None` while nothing is registered.
    pub(super) fn pairs_left(&self) -> Option<f64> {
        let needed = self.goals().map(|goal| goal.needed_pairs(self.n));
        needed.reduce(f64::max).map(|needed| (needed - self.found.shown.pairs as f64).max(0.0))
    }

    /// Whether a subset holds enough of what must not be missed; `None` while nothing is registered.
    pub(super) fn is_large_enough(&self, size: usize) -> Option<bool> {
        registered(&self.found.best)?;
        Some(size == self.n || self.goals().all(|goal| self.is_likely_within(goal, size)))
    }

    /// Whether a subset holds enough of a consensus, up to the accepted probability.
    fn is_likely_within(&self, goal: Goal, size: usize) -> bool {
        self.random_subsets && has_too_few(self.n, goal.right, size) <= goal.miss_probability
    }

    /// Whether an earlier search, with a threshold that was not smaller, showed that nothing was missed. That search did not look at pairs that its own candidate explains;
    /// `hidden` of its inliers are none of the best, and may belong to what must not be missed.
    pub(super) fn is_shown(&self, shown: &Shown, hidden: usize) -> bool {
        let mut goals = self.goals().peekable();
        goals.peek().is_some()
            && goals.all(|goal| {
                let goal = Goal { right: goal.right.saturating_sub(hidden).max(1), ..goal };
                self.is_shown_by_pairs(goal, shown) || goal.stars_left(self.n, &shown.stars) <= 0.0
            })
    }

    /// Whether the pairs that were examined show that a consensus was not missed.
    fn is_shown_by_pairs(&self, goal: Goal, shown: &Shown) -> bool {
        let is_within = shown.subset == self.n || self.is_likely_within(goal, shown.subset);
        is_within && goal.needed_pairs(self.n) <= shown.pairs as f64
    }

    /// Whether nothing that must not be missed was missed, up to the accepted probabilities.
    pub(super) fn is_confident(&self, size: usize) -> bool {
        self.pairs_left() == Some(0.0) && self.is_large_enough(size) == Some(true)
    }
}

/// A consensus that must not be missed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goal {
    /// Its number of inliers.
    pub(super) right: usize,
    /// Accepted probability that it is missed.
    pub(super) miss_probability: f64,
}

impl Goal {
    /// Number of pairs to examine so that one of its pairs is among them and recognised.
    fn needed_pairs(self, n: usize) -> f64 {
        let share = self.right as f64 / n as f64;
        libm::log(self.miss_probability) / libm::log1p(-RECOGNITION_RATE * share * share)
    }

    /// Centres to be sampled beside these stars so that it is not missed, if each of its own showed it.
    pub(super) fn stars_left(self, n: usize, stars: &[Sample]) -> f64 {
        let share = self.right as f64 / n as f64;
        let wanted = 1.0 - libm::exp(libm::log(self.miss_probability) / self.right as f64);
        wanted * n as f64 - stars.iter().map(|sample| sample.showing(share)).sum::<f64>()
    }

    /// Smallest subset that holds enough of it, with a little to spare: the number of inliers may still change by a few.
    fn smallest_subset(self, n: usize) -> usize {
        smallest_subset(n, self.right - self.right / 32, self.miss_probability)
    }
}

/// A number that chance rarely exceeds where it gives `expected` on average.
fn at_most(expected: f64) -> usize {
    (expected + 2.0 * expected.sqrt()).ceil() as usize
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
