//! One round of the search: the pairs of a subset, in order of contrast, are grown, fitted and judged.

use super::{
    FIRST_SUBSET, Problem, Solver,
    candidate::{Best, Candidate},
    edges::{Pair, Wanted},
    params::Params,
    progress::{Progress, registered},
};
use pcr99_base::kernel::consensus::Affine;

use crate::{StopReason, stop::StopCheck};

/// Contrast from which a pair is tried in the first pass, in standard deviations.
pub(super) const FIRST_CONTRAST: f32 = 1.5;
/// Contrast from which a pair is tried while larger subsets are still to come, in which a consensus stands out more clearly.
const CLEAR_CONTRAST: f32 = 2.5;
/// Pairs tried for other candidates once none can exceed the best.
const RUNNERS_UP: usize = 32;
/// Candidates of a subset that are kept, so that the pairs they explain are not tried again.
const EXPLORED: usize = 64;
/// A transform is dropped unrefined when it has fewer inliers than the best divided by this: refining does not make up for that.
const NEXT_TO_NOTHING: usize = 6;
/// Pairs tried in the last pass, which accepts any three consistent matches so that some transform can be returned.
const LAST_RESORT_PAIRS: u64 = 200;
/// Pairs tried before all are sorted. Where right matches abound, these are enough.
const FIRST_PAIRS: usize = 3;

impl Solver {
    /// Searches the pairs of a subset of `size`. `last` says that no larger subset follows. Returns why the whole search ends, or
    /// `None` when it goes on.
    pub(super) fn round(
        &mut self,
        problem: &Problem<'_>,
        params: &Params,
        size: usize,
        last: bool,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> Option<StopReason> {
        let n = problem.points.len();
        let members = self.order.first(size);
        let known = problem.model.known_scale;
        self.subset.assign(problem.points, members, known.unwrap_or(1.0));
        let share = progress.share_to_find(n, size);
        let range = problem.model.scale_range.map(|range| range.map(libm::log));
        self.threads.run(|| match known {
            Some(_) => self.edges.build_known(&self.subset, problem.tau),
            None => self.edges.build_unknown(&self.subset, problem.tau, range, share),
        });
        // Candidates of earlier rounds, refined on this subset.
        let mut local = Best::new(EXPLORED.max(params.candidates()));
        for candidate in progress.best.all() {
            if let Some(seen) = self.refiner.refine(
                &self.subset.points,
                candidate.model,
                &problem.in_subset(),
                &mut self.judge,
            ) {
                local.insert(seen);
            }
        }
        for (pass, &(least_contrast, least_clique)) in passes(size, last).iter().enumerate() {
            // The last pass only runs when nothing was found at all.
            if least_clique == 3 {
                if progress.best.first().is_some() {
                    break;
                }
                progress.effort = LAST_RESORT_PAIRS;
            }
            // Chunks of pairs grow. With a known scale only one pair in twenty has an edge, so the chunks may be larger.
            let half = size / 2;
            let few: usize = match known {
                _ if size <= FIRST_SUBSET => 1 << 7,
                Some(_) => (size * size / 16).min(1 << 16),
                None => 1 << 9,
            };
            let many: usize = if known.is_some() { 1 << 18 } else { 1 << 15 };
            let (mut from, mut chunk) = (1, few.div_ceil(size));
            while from <= half {
                if let Some(request) = stop() {
                    return Some(request.into());
                }
                // Once something has been found, no more pairs than confidence in it needs.
                let enough = progress.pairs_left(n, params.miss_probability());
                let enough = enough.map_or(half, |pairs| ((pairs / size as f64) as usize).saturating_add(1));
                let differences = from..(from + chunk.min(enough)).min(half + 1);
                let to_beat = registered(&local)
                    .map(|best| progress.rival_in_subset(best.inliers.len(), size, n) as u32);
                let wanted = Wanted { contrast: least_contrast, to_beat };
                self.threads.run(|| {
                    self.edges.supported_pairs(differences.clone(), wanted, &mut self.pairs);
                });
                progress.allow(differences.len() as f64 / (half + 1 - from) as f64, &local);
                let ended = self.examine(problem, least_clique, &mut local, progress, stop);
                self.promote(problem, &mut local, params.candidates(), progress);
                if ended.is_some() {
                    return ended;
                }
                if pass == 0 {
                    progress.count(self.edges.pairs_at(&differences));
                }
                if progress.effort == 0 {
                    progress.limited = true;
                    break;
                }
                if progress.is_confident(n, size, params.miss_probability()) {
                    return Some(StopReason::Confident);
                }
                // This subset cannot make the search confident; a larger one can.
                if !last && progress.is_large_enough(n, size, params.miss_probability()) == Some(false) {
                    return None;
                }
                from = differences.end;
                chunk = (2 * chunk).min(many.div_ceil(size));
            }
            if local.exceeds_chance() {
                break;
            }
        }
        None
    }

    /// Tries the pairs in order of contrast as long as they could lead to a larger consensus than the best, then a few more for other
    /// candidates.
    fn examine(
        &mut self,
        problem: &Problem<'_>,
        least_clique: usize,
        local: &mut Best,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> Option<StopReason> {
        let mut pairs = std::mem::take(&mut self.pairs);
        for _ in 0..FIRST_PAIRS {
            if registered(local).is_some() {
                break;
            }
            let Some(first) = (0..pairs.len()).min_by(|&k, &l| pairs[k].order(&pairs[l])) else { break };
            let pair = pairs.swap_remove(first);
            self.try_pair(problem, &pair, least_clique, local, progress);
        }
        pairs.retain(|pair| is_of_interest(pair, local));
        pairs.sort_unstable_by(Pair::order);
        let mut runners_up = RUNNERS_UP;
        let mut ended = None;
        for (k, pair) in pairs.iter().enumerate() {
            if k % 64 == 0
                && let Some(request) = stop()
            {
                ended = Some(request.into());
                break;
            }
            if !is_of_interest(pair, local) {
                continue;
            }
            if progress.allowance == 0 {
                progress.limited = true;
                break;
            }
            progress.allowance -= 1;
            progress.effort -= 1;
            let mut least = least_clique;
            if let Some(best) = registered(local) {
                let rival =
                    progress.rival_in_subset(best.inliers.len(), self.subset.len(), problem.points.len());
                if pair.may_beat(rival as u32) {
                    least = least.max((rival * 3 / 4).min(9));
                } else if runners_up == 0 {
                    break;
                } else {
                    runners_up -= 1;
                }
            }
            self.try_pair(problem, pair, least, local, progress);
        }
        self.pairs = pairs;
        ended
    }

    /// Grows a pair to a clique, fits it, and adds the refined candidate to `local`.
    fn try_pair(
        &mut self,
        problem: &Problem<'_>,
        pair: &Pair,
        least: usize,
        local: &mut Best,
        progress: &mut Progress,
    ) -> Option<()> {
        if !self.clique.grow(&self.edges, pair, least) {
            return None;
        }
        let model = problem.model.fit(&self.subset.points, &self.clique.members, |_| 1.0)?;
        progress.counters.hypotheses += 1;
        // Refined only when it explains the clique it was made from, and not far fewer matches than the best.
        let best = local.first().filter(|best| best.stands_out).map_or(0, |best| best.inliers.len());
        let floor = (least.min(4) - 1).max(best / NEXT_TO_NOTHING);
        if self.subset.coarse.may_exceed(&Affine::from(&model), problem.model.delta, floor) {
            let (points, known) = (&self.subset.points, problem.in_subset());
            local.insert(self.refiner.refine_unless_known(points, model, &known, &mut self.judge, local)?);
        }
        Some(())
    }

    /// Refines the best new candidates of a subset on all matches.
    fn promote(&mut self, problem: &Problem<'_>, local: &mut Best, most: usize, progress: &mut Progress) {
        let whole = self.subset.len() == problem.points.len();
        // In a small subset nothing exceeds chance yet; the best is tried all the same.
        let worth = |k: usize, candidate: &Candidate| whole || k == 0 || candidate.exceeds_chance();
        for model in local.take_new(most, worth) {
            let (points, known) = (problem.points, &problem.model);
            let found =
                self.refiner.refine_unless_known(points, model, known, &mut self.judge, &progress.best);
            if let Some(found) = found {
                progress.best.insert(found);
            }
        }
    }
}

/// Smallest contrast of a pair and smallest clique of each pass. Passes run until one finds something. Only the last round goes down to
/// the contrast of chance, and only few matches are searched without any bound.
fn passes(size: usize, last: bool) -> &'static [(f32, usize)] {
    const FEW: [(f32, usize); 3] = [(FIRST_CONTRAST, 5), (0.0, 4), (f32::NEG_INFINITY, 3)];
    const MANY: [(f32, usize); 3] = [(FIRST_CONTRAST, 5), (0.0, 5), (FIRST_CONTRAST, 3)];
    match (last, size > 128) {
        (false, _) => &[(CLEAR_CONTRAST, 5)],
        (true, true) => &MANY,
        (true, false) => &FEW,
    }
}

/// Whether a pair can lead to a larger consensus, or to one of other matches.
fn is_of_interest(pair: &Pair, local: &Best) -> bool {
    let explained = |c: &Candidate| c.stands_out && c.explains(pair.i) && c.explains(pair.j);
    if local.all().iter().any(explained) {
        return false;
    }
    registered(local).is_none_or(|best| {
        pair.may_beat(best.inliers.len() as u32) || !(best.explains(pair.i) || best.explains(pair.j))
    })
}
