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

mod plan;
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

pub(super) use self::plan::Sample;
use self::{
    plan::{LEVELS, PART, Plan, Sampling},
    recognition::Rates,
    windows::Windows,
};
use super::{
    Problem, Solver,
    candidate::Best,
    progress::{Progress, registered},
    round::NEXT_TO_NOTHING,
    subset::gather_columns,
};
use crate::{Similarity, StopReason, stop::StopCheck};

/// Smallest number of matches for which stars are used. Rounds of fewer take some microseconds.
const SMALLEST: usize = 96;
/// Centres between two looks at the stop check.
const BETWEEN_STOPS: usize = 16;
/// A transform of wrong matches has fewer inliers by chance than one match in this many.
const CHANCE_INLIERS: usize = 256;
/// Matches of the best consensus whose consistency is looked at.
const COUNTED: usize = 64;

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
