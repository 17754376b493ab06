//! Which stars are sampled next, and whether enough were.

use std::ops::Range;

use pcr99_base::kernel::star::MOST_HITS;

use super::{
    recognition::{FEWEST_COMMON, Rates, Star, least_common, recognition},
    windows::{Windows, window_limit},
};
use crate::{
    random::Random,
    search::{
        Problem,
        progress::{Goal, Progress},
    },
};

/// Centres are taken from this many matches at most.
const LARGEST: usize = 1 << 14;
/// A block is at most this part of the matches that it is taken from, so that blocks are independent of each other; or these are all matches.
pub(super) const PART: usize = 4;
/// Matches of a consensus that the subset of a round must hold on average, so that it nearly always holds enough of them.
const ENOUGH: f64 = 24.0;
/// Levels at which a consensus is recognised more rarely are not used to look for it.
const LEAST_RECOGNITION: f64 = 0.2;
/// Largest number of chance hits with a known scale, so that right ones find a place among the hits that are looked at.
const MOST_CHANCE_HITS: f64 = 0.5 * MOST_HITS as f64;

/// How stars are sampled.
#[derive(Debug)]
pub(super) struct Level {
    /// Size of a block, in words of 64 matches.
    pub(super) words: usize,
    /// Largest number of seeds.
    pub(super) seeds: usize,
    /// Centres while nothing was found. A limit on cost.
    centres: usize,
}

pub(super) const LEVELS: [Level; 5] = [
    Level { words: 1, seeds: 4, centres: 24 },
    Level { words: 2, seeds: 6, centres: 48 },
    Level { words: 4, seeds: 8, centres: 96 },
    Level { words: 8, seeds: 12, centres: 128 },
    // Only once a consensus was found: rounds find a small one faster.
    Level { words: 16, seeds: 12, centres: 0 },
];

/// Cost of a star in nanoseconds, relative to that of the tables of a round: for each, for each match of the block, and for each two matches of the subset of a round.
/// Measured with known and with unknown scale (example `growth`, n = 1000).
const COSTS: [[f64; 3]; 2] = [[40.0, 0.6, 0.7], [120.0, 2.2, 7.0]];

/// Centres that were sampled in one way.
#[derive(Debug)]
pub(super) struct Sampled {
    level: usize,
    least: usize,
    centres: usize,
}

/// What was sampled so far, and what comes next.
#[derive(Debug)]
pub(super) struct Sampling {
    random: Random,
    pub(super) level: usize,
    /// Number of hits that must be consistent with a seed.
    pub(super) least: usize,
    /// Centres until the next plan.
    pub(super) left: usize,
    /// Place of the next centre in the random order.
    pub(super) next: usize,
    /// Centres so far, by level and smallest support.
    sampled: Vec<Sampled>,
    /// Pairs that were consistent, and pairs looked at: with a known scale those of centres, with an unknown scale those of seeds within a window.
    pub(super) common: f64,
    pub(super) looked_at: f64,
    pub(super) rates: Rates,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    Sample,
    Confident,
    GiveUp,
}

impl Sampling {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            level: 0,
            least: FEWEST_COMMON,
            left: 0,
            next: 0,
            sampled: Vec::new(),
            common: 0.0,
            looked_at: 0.0,
            rates: Rates::default(),
        }
    }

    /// Number of matches from which blocks are taken at the present level, of `n`.
    pub(super) fn needed(&self, n: usize) -> usize {
        (64 * PART * LEVELS[self.level].words).max(self.next + self.left).min(n)
    }

    /// A random block of the `words` of matches.
    pub(super) fn block(&mut self, words: usize) -> Range<usize> {
        let len = LEVELS[self.level].words.min(words);
        let start = self.random.below(words - len + 1);
        start..start + len
    }

    /// Counts a centre.
    pub(super) fn count(&mut self) {
        self.next += 1;
        self.left -= 1;
        let (level, least) = (self.level, self.least);
        match self.sampled.iter_mut().find(|sampled| (sampled.level, sampled.least) == (level, least)) {
            Some(sampled) => sampled.centres += 1,
            None => self.sampled.push(Sampled { level, least, centres: 1 }),
        }
    }

    /// A block of a level among `n` matches, as far as recognition depends on it.
    fn star(&self, level: usize, n: usize, windows: Option<&Windows>) -> Star {
        // The last word is not full. What is counted is counted for each place of a block.
        let words = n.div_ceil(64);
        let places = 64 * LEVELS[level].words.min(words);
        // Before anything was seen, one hit in twenty is assumed.
        let common_rate = (self.common + 1.0) / (self.looked_at + 20.0);
        let chance_hits = match windows {
            None => common_rate * places as f64,
            Some(windows) => windows.most_expected(places),
        };
        let least = least_common(common_rate * chance_hits, windows.is_some());
        let limit = windows.map(|_| window_limit(chance_hits, places, least));
        let matches = places * n / (64 * words);
        Star { matches, seeds: LEVELS[level].seeds, least, chance_hits, limit }
    }

    /// Decides how to go on.
    pub(super) fn plan(
        &mut self,
        problem: &Problem<'_>,
        windows: Option<&Windows>,
        progress: &Progress,
    ) -> Plan {
        let n = problem.points.len();
        let most = n.min(LARGEST);
        if self.next >= most {
            return Plan::GiveUp;
        }
        let samples = self.samples(n, windows);
        let missing = |goal: Goal| Missing {
            share: goal.right as f64 / n as f64,
            centres: goal.stars_left(n, &samples),
        };
        let mut missing: Vec<Missing> = progress.goals().map(missing).collect();
        if missing.is_empty() {
            return self.plan_first(n, windows);
        }
        missing.retain(|missing| missing.centres > 0.0);
        let Some(fewest) = missing.iter().map(|missing| missing.centres).reduce(f64::max) else {
            return Plan::Confident;
        };
        let [each, per_match, per_pair] = COSTS[usize::from(windows.is_some())];
        let smallest = missing.iter().map(|missing| missing.share).fold(1.0, f64::min);
        let subset = (ENOUGH / smallest).min(n as f64);
        let mut cheapest = (per_pair * subset * subset, None);
        for (level, Level { words, .. }) in LEVELS.iter().enumerate() {
            let cost = each + per_match * (64 * words) as f64;
            if cost * fewest > cheapest.0 {
                break;
            }
            let star = self.star(level, n, windows);
            if windows.is_none() && star.chance_hits > MOST_CHANCE_HITS {
                break;
            }
            let centres = missing.iter().map(|missing| missing.at(&star, self.rates)).fold(0.0, f64::max);
            if cost * centres < cheapest.0 && self.next as f64 + centres <= most as f64 {
                cheapest = (cost * centres, Some((level, star.least, centres as usize + 1)));
            }
        }
        let (_, Some((level, least, centres))) = cheapest else { return Plan::GiveUp };
        (self.level, self.least, self.left) = (level, least, centres.min(most - self.next));
        Plan::Sample
    }

    /// Goes from one level to the next while nothing was found.
    fn plan_first(&mut self, n: usize, windows: Option<&Windows>) -> Plan {
        let most = n.min(LARGEST);
        let done = |level: usize| -> usize {
            self.sampled.iter().filter(|sampled| sampled.level == level).map(|sampled| sampled.centres).sum()
        };
        while done(self.level) >= LEVELS[self.level].centres {
            if self.level + 1 == LEVELS.len() {
                return Plan::GiveUp;
            }
            self.level += 1;
        }
        let left = LEVELS[self.level].centres - done(self.level);
        // After the first centres, it is known how many hits there are by chance.
        let left = if self.next == 0 { 2 } else { left };
        self.left = left.min(most - self.next);
        self.least = self.star(self.level, n, windows).least;
        Plan::Sample
    }

    /// The stars that were sampled.
    pub(super) fn samples(&self, n: usize, windows: Option<&Windows>) -> Vec<Sample> {
        let sample = |sampled: &Sampled| {
            let star = Star { least: sampled.least, ..self.star(sampled.level, n, windows) };
            Sample { star, rates: self.rates, centres: sampled.centres }
        };
        self.sampled.iter().map(sample).collect()
    }
}

/// Stars of one kind that were sampled.
#[derive(Debug, Clone)]
pub(in crate::search) struct Sample {
    star: Star,
    rates: Rates,
    centres: usize,
}

impl Sample {
    /// Number of centres, each counted with the probability that it shows a consensus of this `share` of the matches if it belongs to it.
    pub(in crate::search) fn showing(&self, share: f64) -> f64 {
        recognition(share, &self.star, self.rates) * self.centres as f64
    }
}

/// What is still to be done so that a consensus is not missed.
#[derive(Debug, Clone, Copy)]
struct Missing {
    /// Fraction of the matches in the consensus.
    share: f64,
    /// Centres to be sampled, if all were recognised.
    centres: f64,
}

impl Missing {
    /// Centres to be sampled with stars of one kind; infinite when they would not show the consensus.
    fn at(&self, star: &Star, rates: Rates) -> f64 {
        let recognition = recognition(self.share, star, rates);
        if recognition < LEAST_RECOGNITION { f64::INFINITY } else { self.centres / recognition }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recognition would be overstated otherwise, and so would the certificate.
    #[test]
    fn a_block_has_no_more_matches_than_there_are() {
        let matches = |level: usize, n: usize| Sampling::new(0).star(level, n, None).matches;
        for n in [96, 100, 200, 500, 600, 1000] {
            for level in 0..LEVELS.len() {
                assert!(matches(level, n) <= n, "{n} {level}: {}", matches(level, n));
            }
        }
        assert_eq!(matches(4, 600), 600);
        // Eight of ten words, the last of which holds 24 matches.
        assert_eq!(matches(3, 600), 480);
        assert_eq!(matches(3, 5000), 506);
    }
}
