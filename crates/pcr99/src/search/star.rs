//! Stars: one match against a block of others.
//!
//! A pair of right matches is found with `w²` of the pairs, but a single right match with `w` of the matches. So the search first takes one match
//! after the other, in random order, as the *centre* of a star. Its *hits* are the matches of a random block that are consistent with it. Where the centre is
//! right, the other right matches of the block are among them, and they are consistent with each other. A few hits are tried as *seeds*: when enough other hits are
//! consistent with a seed, they are grown to a clique and fitted, as in a round.
//!
//! With an unknown scale, each match of the block suggests a scale together with the centre. The hits are those whose scale falls into a *window* that holds more
//! than chance puts there.
//!
//! # When it stops
//!
//! Let a consensus hold `k` of the `n` matches. Centres are drawn without replacement, and a right one is recognised with probability `r`. After `N` centres
//! the consensus was missed with probability at most `(1 − r·N/n)^k` (the number of its matches among the centres is hypergeometric, and a convex function of it
//! has a smaller mean than for the binomial distribution: Hoeffding, 1963). `r` follows from the size of the block, the number of matches in the consensus and
//! the chance hits, which are counted, and from how often matches of the best consensus are consistent with each other, which is counted as well.
//!
//! Where the best consensus is so small that stars would cost more than rounds, or where none was found, rounds take over.

mod recognition;
mod windows;

use std::ops::Range;

use pcr99_base::{
    kernel::{
        edges::Columns,
        star::{
            Condition, Hits, MOST_HITS, Seed, consistent_block, count_near, in_window, is_consistent,
            scale_bins,
        },
        upright::keep_upright,
    },
    squared_distances,
};

use self::{
    recognition::{FEWEST_COMMON, Rates, Star, least_common, recognition},
    windows::{Windows, window_limit},
};
use super::{
    Problem, Solver,
    candidate::Best,
    progress::{Goal, Progress, registered},
    round::NEXT_TO_NOTHING,
    subset::gather_columns,
};
use crate::{Similarity, StopReason, random::Random, stop::StopCheck};

/// Smallest number of matches for which stars are used. Rounds of fewer take some microseconds.
const SMALLEST: usize = 96;
/// Centres are taken from this many matches at most.
const LARGEST: usize = 1 << 14;
/// A block is at most this part of the matches that it is taken from, so that blocks are independent of each other; or these are all matches.
const PART: usize = 4;
/// Centres between two looks at the stop check.
const BETWEEN_STOPS: usize = 16;
/// Matches of a consensus that the subset of a round must hold on average, so that it nearly always holds enough of them.
const ENOUGH: f64 = 24.0;
/// Levels at which a consensus is recognised more rarely are not used to look for it.
const LEAST_RECOGNITION: f64 = 0.2;
/// A transform of wrong matches has fewer inliers by chance than one match in this many.
const CHANCE_INLIERS: usize = 256;
/// Largest number of chance hits with a known scale, so that right ones find a place among the hits that are looked at.
const MOST_CHANCE_HITS: f64 = 0.5 * MOST_HITS as f64;
/// Matches of the best consensus whose consistency is looked at.
const COUNTED: usize = 64;

/// How stars are sampled.
#[derive(Debug)]
struct Level {
    /// Size of a block, in words of 64 matches.
    words: usize,
    /// Largest number of seeds.
    seeds: usize,
    /// Centres while nothing was found. A limit on cost.
    centres: usize,
}

const LEVELS: [Level; 5] = [
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

/// Buffers of the stars.
#[derive(Debug, Default)]
pub(super) struct Stars {
    /// Matches from which centres and blocks are taken, and their points.
    members: Vec<u32>,
    columns: Columns,
    /// Bits of those that each candidate explains.
    masks: Vec<Vec<u64>>,
    bits: Vec<u64>,
    explained: Vec<u64>,
    hits: Hits,
    bins: Vec<u16>,
    windows: Windows,
}

/// Centres that were sampled in one way.
#[derive(Debug)]
struct Sampled {
    level: usize,
    least: usize,
    centres: usize,
}

/// What was sampled so far, and what comes next.
#[derive(Debug)]
struct Sampling {
    random: Random,
    level: usize,
    /// Number of hits that must be consistent with a seed.
    least: usize,
    /// Centres until the next plan.
    left: usize,
    /// Place of the next centre in the random order.
    next: usize,
    /// Centres so far, by level and smallest support.
    sampled: Vec<Sampled>,
    /// Pairs that were consistent, and pairs looked at: with a known scale those of centres, with an unknown scale those of seeds within a window.
    common: f64,
    looked_at: f64,
    rates: Rates,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    Sample,
    Confident,
    GiveUp,
}

impl Solver {
    /// Samples stars until nothing can have been missed, up to the accepted probabilities; `None` when rounds must go on.
    pub(super) fn sample_stars(
        &mut self,
        problem: &Problem<'_>,
        seed: u64,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> Option<StopReason> {
        let n = problem.points.len();
        if n < SMALLEST || problem.weights.is_some() {
            return None;
        }
        progress.budget.start_round();
        progress.budget.start_chunk(1.0, false);
        let mut sampling = Sampling::new(seed);
        self.take_matches(problem, &mut sampling, progress)?;
        loop {
            let windows = problem.model.known_scale.is_none().then_some(&self.stars.windows);
            match sampling.plan(problem, windows, progress) {
                Plan::Confident => {
                    progress.found.shown.stars = sampling.samples(n, windows);
                    return Some(StopReason::Confident);
                }
                Plan::GiveUp => return None,
                Plan::Sample => {}
            }
            if sampling.needed(n) > self.stars.members.len() {
                self.take_matches(problem, &mut sampling, progress)?;
            }
            while sampling.left > 0 {
                if sampling.next.is_multiple_of(BETWEEN_STOPS)
                    && let Some(request) = stop()
                {
                    return Some(request.into());
                }
                let found = match problem.model.known_scale {
                    Some(_) => self.star_of_known_scale(problem, &mut sampling, progress)?,
                    None => self.star_of_unknown_scale(problem, &mut sampling, progress)?,
                };
                sampling.count();
                if found && registered(&progress.found.best).is_some() {
                    self.stars.mark_explained(&progress.found.best);
                    sampling.rates = self.stars.measure_rates(problem, &progress.found.best);
                    // What was counted as chance may have been the candidate.
                    (sampling.common, sampling.looked_at) = (0.0, 0.0);
                    self.stars.windows.forget();
                    break;
                }
            }
        }
    }

    /// Copies as many matches as the present level needs.
    fn take_matches(
        &mut self,
        problem: &Problem<'_>,
        sampling: &mut Sampling,
        progress: &Progress,
    ) -> Option<()> {
        let n = problem.points.len();
        let mut size = 64 * PART;
        while size < sampling.needed(n) {
            size *= 4;
        }
        let size = if 2 * size > n { n } else { size };
        let Self { stars, order, .. } = self;
        stars.members.clear();
        stars.members.extend_from_slice(order.first(size));
        let known = problem.model.known_scale;
        gather_columns(problem.points, &stars.members, known.unwrap_or(1.0), &mut stars.columns);
        if known.is_none() && !stars.windows.reset(&stars.members, problem) {
            return None;
        }
        stars.mark_explained(&progress.found.best);
        sampling.rates = stars.measure_rates(problem, &progress.found.best);
        Some(())
    }

    /// One star with a known scale. Returns whether a new candidate was found, `None` when the budget is spent.
    fn star_of_known_scale(
        &mut self,
        problem: &Problem<'_>,
        sampling: &mut Sampling,
        progress: &mut Progress,
    ) -> Option<bool> {
        let stars = &mut self.stars;
        let (centre, words) = (sampling.next, sampling.block(stars.columns.a[0].len() / 64));
        let tau_sq = (problem.tau * problem.tau) as f32;
        stars.bits.resize(words.len(), 0);
        consistent_block(&stars.columns, centre, words.clone(), tau_sq, &mut stars.bits);
        if stars.explain_with(centre, words.clone()) {
            stars.bits.iter_mut().zip(&stars.explained).for_each(|(bits, explained)| *bits &= !*explained);
        }
        if let Some(test) = &problem.upright_test() {
            keep_upright(&stars.columns, centre, words.start, test, &mut stars.bits);
        }
        let pairs = 64 * words.len();
        progress.found.counters.pairs += pairs as u64;
        let count: u32 = stars.bits.iter().map(|word| word.count_ones()).sum();
        sampling.common += f64::from(count);
        sampling.looked_at += pairs as f64;
        if count as usize <= sampling.least {
            return Some(false);
        }
        stars.hits.gather(&stars.columns, words.start, &stars.bits);
        self.try_hits(problem, sampling, false, progress)
    }

    /// One star with an unknown scale. Returns whether a new candidate was found, `None` when the budget is spent.
    fn star_of_unknown_scale(
        &mut self,
        problem: &Problem<'_>,
        sampling: &mut Sampling,
        progress: &mut Progress,
    ) -> Option<bool> {
        let stars = &mut self.stars;
        let (centre, words) = (sampling.next, sampling.block(stars.columns.a[0].len() / 64));
        stars.bits.resize(words.len(), 0);
        stars.bins.resize(64 * words.len(), 0);
        let (per_unit, most) = stars.windows.scale();
        scale_bins(&stars.columns, centre, words.clone(), per_unit, most, &mut stars.bins);
        progress.found.counters.pairs += stars.bins.len() as u64;
        if let Some(test) = &problem.upright_test() {
            let Stars { columns, bits, bins, .. } = &mut *stars;
            bits.fill(u64::MAX);
            keep_upright(columns, centre, words.start, test, bits);
            for (m, bin) in bins.iter_mut().enumerate() {
                *bin = if bits[m / 64] >> (m % 64) & 1 == 1 { *bin } else { most };
            }
        }
        if stars.explain_with(centre, words.clone()) {
            let Stars { bins, explained, .. } = stars;
            for (m, bin) in bins.iter_mut().enumerate() {
                *bin = if explained[m / 64] >> (m % 64) & 1 == 1 { most } else { *bin };
            }
        }
        stars.windows.count(&stars.bins, sampling.least);
        while let Some(bin) = self.stars.windows.next() {
            let Stars { columns, bits, hits, bins, .. } = &mut self.stars;
            in_window(bins, bin, bits);
            hits.gather(columns, words.start, bits);
            hits.measure(columns, centre);
            if self.try_hits(problem, sampling, true, progress)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Tries the first hits as seeds. With an unknown scale, each seed suggests a scale together with the centre. Returns whether a new candidate was found, `None`
    /// when the budget is spent.
    fn try_hits(
        &mut self,
        problem: &Problem<'_>,
        sampling: &mut Sampling,
        is_scale_unknown: bool,
        progress: &mut Progress,
    ) -> Option<bool> {
        let (centre, least) = (sampling.next, sampling.least);
        let hits = &self.stars.hits;
        let tau = if is_scale_unknown { LOOSER * problem.tau } else { problem.tau };
        let tau_sq = (tau * tau) as f32;
        let condition = Condition { is_scale_unknown, tau_sq, least: least as u32 };
        let mut seeds = 0..hits.len().min(LEVELS[sampling.level].seeds);
        while !seeds.is_empty() {
            let mut common = 0;
            let found = hits.first_seed(seeds.clone(), condition, &mut common);
            let next = found.map_or(seeds.end, |seed| seed.hit + 1);
            if is_scale_unknown {
                sampling.common += f64::from(common);
                sampling.looked_at += ((next - seeds.start) * (hits.len() - 1)) as f64;
            }
            seeds.start = next;
            let Some(Seed { hit, scale_sq, common }) = found else { break };
            let mut rows = [0; MOST_HITS];
            let mut left = common;
            while left != 0 {
                let hit = left.trailing_zeros() as usize;
                left &= left - 1;
                rows[hit] = hits.consistent_with(hit, scale_sq, tau_sq);
            }
            let pair = [centre as u32, hits.position(hit)];
            if self.clique.choose(common, pair, least + 1, |hit| (hits.position(hit), rows[hit])) {
                return progress.budget.spend().then(|| self.try_star(problem, progress).is_some());
            }
        }
        Some(false)
    }

    /// Fits the clique that was grown from a star, and refines the fit on all matches, unless it has hardly more inliers than the clique and no more than chance gives, or far fewer
    /// than the best.
    fn try_star(&mut self, problem: &Problem<'_>, progress: &mut Progress) -> Option<()> {
        let Self { stars, clique, refiner, judge, .. } = self;
        clique.members.iter_mut().for_each(|member| *member = stars.members[*member as usize]);
        let model = problem.model.fit_clique(problem.points, &clique.members)?;
        progress.found.counters.hypotheses += 1;
        let best = &mut progress.found.best;
        let (some, all) = (stars.members.len(), problem.points.len());
        let most = best.first().filter(|best| best.stands_out).map_or(0, |best| best.inliers.len());
        // A clique that holds a whole consensus has no more inliers.
        let more = (clique.members.len() + some / CHANCE_INLIERS).min(progress.fewest_inliers - 1);
        let floor = more.max(most * some / (NEXT_TO_NOTHING * all));
        if stars.count_near(&model, problem) <= floor {
            return None;
        }
        let found = refiner.refine_unless_known(problem.points, model, &problem.model, judge, best)?;
        best.insert(found);
        Some(())
    }
}

impl Stars {
    /// Number of matches near a transform, in single precision.
    fn count_near(&self, model: &Similarity, problem: &Problem<'_>) -> usize {
        // The columns of the source are scaled already.
        let scale = problem.model.known_scale.unwrap_or(1.0);
        let linear = model.linear().map(|row| row.map(|x| (x / scale) as f32));
        let translation = model.translation().map(|x| x as f32);
        let delta = problem.model.delta;
        count_near(&self.columns, &linear, &translation, (delta * delta) as f32)
    }

    /// Marks the matches that candidates explain.
    fn mark_explained(&mut self, best: &Best) {
        let Self { members, masks, .. } = self;
        masks.clear();
        masks.extend(best.all().iter().filter(|candidate| candidate.stands_out).map(|candidate| {
            let word = |members: &[u32]| {
                members.iter().rev().fold(0, |bits, &i| bits << 1 | u64::from(candidate.explains(i)))
            };
            members.chunks(64).map(word).collect::<Vec<u64>>()
        }));
    }

    /// Sets the bits of the matches of a block that a candidate explains together with the centre. Returns false when no candidate explains the centre.
    fn explain_with(&mut self, centre: usize, words: Range<usize>) -> bool {
        let Self { masks, explained, .. } = self;
        explained.clear();
        for mask in masks.iter().filter(|mask| mask[centre / 64] >> (centre % 64) & 1 == 1) {
            explained.resize(words.len(), 0);
            for (bits, more) in explained.iter_mut().zip(&mask[words.start..]) {
                *bits |= more;
            }
        }
        !explained.is_empty()
    }

    /// How often matches of the best consensus are consistent with each other.
    fn measure_rates(&self, problem: &Problem<'_>, best: &Best) -> Rates {
        let Some(best) = best.first().filter(|best| best.stands_out) else { return Rates::default() };
        let members = &best.inliers;
        let (step, apart) = (members.len().div_ceil(COUNTED), members.len() / 3);
        let some = (0..members.len()).step_by(step);
        let squares = |k: usize, l: usize| {
            let member = |k: usize| members[k % members.len()] as usize;
            let (source_sq, target_sq) = squared_distances(problem.points, member(k), member(l));
            (source_sq as f32, target_sq as f32)
        };
        let is_near = |k: usize, l: usize, scale_sq: f32, tau: f64| {
            let (source_sq, target_sq) = squares(k, l);
            is_consistent(scale_sq * source_sq, target_sq, (tau * tau) as f32)
        };
        // Only the centre is compared by height.
        let is_upright = |k: usize, l: usize| {
            problem.upright_test().is_none_or(|test| {
                let between = |side: &[Vec<f64>; 3], scale: f64| {
                    let [k, l] = [k, l].map(|k| members[k % members.len()] as usize);
                    side.each_ref().map(|column| (scale * (column[k] - column[l])) as f32)
                };
                let scale = problem.model.known_scale.unwrap_or(1.0);
                test.holds(between(&problem.points.a, scale), between(&problem.points.b, 1.0))
            })
        };
        let scale = best.model.scale() as f32;
        let (mut hits, mut common) = (0, 0);
        for (k, l, m) in some.clone().map(|k| (k, k + apart, k + 2 * apart + 1)) {
            if problem.model.known_scale.is_some() {
                hits += usize::from(is_near(k, l, scale * scale, problem.tau) && is_upright(k, l));
                common += usize::from(is_near(l, m, scale * scale, problem.tau));
            } else {
                let (source_sq, target_sq) = squares(k, l);
                let scale_sq = target_sq / source_sq;
                let is_hit = (scale_sq.sqrt() - scale).abs() <= self.windows.half_width();
                hits += usize::from(is_hit && is_upright(k, l));
                let tau = LOOSER * problem.tau;
                common += usize::from(is_near(k, m, scale_sq, tau) && is_near(l, m, scale_sq, tau));
            }
        }
        let rate = |count: usize| count as f64 / some.len() as f64;
        Rates { hit: rate(hits), common: rate(common) }
    }
}

/// Tolerance on distances with an unknown scale, relative to that with a known one: the scale comes from a single pair, whose noise adds to that of the others.
const LOOSER: f64 = 1.3;

impl Sampling {
    fn new(seed: u64) -> Self {
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
    fn needed(&self, n: usize) -> usize {
        (64 * PART * LEVELS[self.level].words).max(self.next + self.left).min(n)
    }

    /// A random block of the `words` of matches.
    fn block(&mut self, words: usize) -> Range<usize> {
        let len = LEVELS[self.level].words.min(words);
        let start = self.random.below(words - len + 1);
        start..start + len
    }

    /// Counts a centre.
    fn count(&mut self) {
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
    fn plan(&mut self, problem: &Problem<'_>, windows: Option<&Windows>, progress: &Progress) -> Plan {
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
    fn samples(&self, n: usize, windows: Option<&Windows>) -> Vec<Sample> {
        let sample = |sampled: &Sampled| {
            let star = Star { least: sampled.least, ..self.star(sampled.level, n, windows) };
            Sample { star, rates: self.rates, centres: sampled.centres }
        };
        self.sampled.iter().map(sample).collect()
    }
}

/// Stars of one kind that were sampled.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    star: Star,
    rates: Rates,
    centres: usize,
}

impl Sample {
    /// Number of centres, each counted with the probability that it shows a consensus of this `share` of the matches if it belongs to it.
    pub(super) fn showing(&self, share: f64) -> f64 {
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
