//! One round of the search: the pairs of a subset, in order of contrast, are grown, fitted and judged.

use super::{
    FIRST_SUBSET, Problem, Solver,
    candidate::{Best, Candidate},
    edges::{Pair, Wanted},
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
pub(super) const NEXT_TO_NOTHING: usize = 6;
/// Pairs tried before all are sorted. Where right matches abound, these are enough.
const FIRST_PAIRS: usize = 3;

/// One pass over the pairs of a subset.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// Smallest contrast of a pair.
    contrast: f32,
    /// Smallest clique.
    clique: usize,
    purpose: Purpose,
}

/// What a pass is for. Each runs only when those before it found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Finds a consensus. Its pairs count as examined.
    Consensus,
    /// Finds a consensus that hardly stands out.
    FaintConsensus,
    /// Finds some transform to return.
    AnyTransform,
}

/// What follows a pass.
enum Next {
    Pass,
    Subset,
    Stop(StopReason),
}

impl Solver {
    /// Searches the pairs of a subset of `size`. `is_last` says that no larger subset follows. Returns why the whole search ends, or
    /// `None` when it goes on.
    pub(super) fn round(
        &mut self,
        problem: &Problem<'_>,
        size: usize,
        is_last: bool,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> Option<StopReason> {
        progress.budget.start_round();
        self.build(problem, size, progress);
        let mut local = self.seen_in_subset(problem, progress);
        for pass in passes(size, is_last, problem.model.tilt.is_some()) {
            if pass.purpose == Purpose::AnyTransform {
                if progress.found.best.first().is_some() {
                    break;
                }
                progress.budget.start_last_resort();
            }
            match self.pass(problem, *pass, is_last, &mut local, progress, stop) {
                Next::Pass if local.exceeds_chance() => break,
                Next::Pass => {}
                Next::Subset => return None,
                Next::Stop(reason) => return Some(reason),
            }
        }
        None
    }

    /// Copies the subset and builds its graphs.
    fn build(&mut self, problem: &Problem<'_>, size: usize, progress: &Progress) {
        let known = problem.model.known_scale;
        self.subset.assign(problem.points, self.order.first(size), known.unwrap_or(1.0));
        let share = progress.share_to_find(size);
        let range = problem.model.scale_range.map(|range| range.map(libm::log));
        let upright = problem.upright_test();
        self.threads.run(|| match known {
            Some(_) => self.edges.build_known(&self.subset, problem.tau, upright),
            None => self.edges.build_unknown(&self.subset, problem.tau, range, share, upright),
        });
    }

    /// Candidates of earlier rounds, refined on this subset.
    fn seen_in_subset(&mut self, problem: &Problem<'_>, progress: &Progress) -> Best {
        let best = &progress.found.best;
        let mut local = Best::new(EXPLORED.max(best.most()));
        let (points, known) = (&self.subset.points, problem.in_subset());
        for candidate in best.all() {
            if let Some(seen) = self.refiner.refine(points, candidate.model, &known, &mut self.judge) {
                local.insert(seen);
            }
        }
        local
    }

    /// Goes through the pairs of the subset in growing chunks.
    fn pass(
        &mut self,
        problem: &Problem<'_>,
        pass: Pass,
        is_last: bool,
        local: &mut Best,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> Next {
        let size = self.subset.len();
        let half = size / 2;
        let [few, many] = chunk_sizes(size, problem.model.known_scale.is_some());
        let (mut from, mut chunk) = (1, few.div_ceil(size));
        while from <= half {
            if let Some(request) = stop() {
                return Next::Stop(request.into());
            }
            // Once something has been found, no more pairs than confidence in it needs.
            let enough = progress.pairs_left();
            let enough = enough.map_or(half, |pairs| ((pairs / size as f64) as usize).saturating_add(1));
            let differences = from..(from + chunk.min(enough)).min(half + 1);
            let to_beat = progress.rival_of_best(local, size).map(|rival| rival as u32);
            let wanted = Wanted { contrast: pass.contrast, to_beat };
            self.threads.run(|| {
                self.edges.supported_pairs(differences.clone(), wanted, &mut self.pairs);
            });
            let is_in_doubt = local.first().is_some_and(|best| best.stands_out && !best.is_registered());
            let share = differences.len() as f64 / (half + 1 - from) as f64;
            progress.budget.start_chunk(share, is_in_doubt);
            let ended = self.examine(problem, pass.clique, local, progress, stop);
            self.promote(problem, local, progress);
            if let Some(reason) = ended {
                return Next::Stop(reason);
            }
            if pass.purpose == Purpose::Consensus {
                progress.count(self.edges.pairs_at(&differences));
            }
            if progress.budget.is_spent() {
                break;
            }
            if progress.is_confident(size) {
                return Next::Stop(StopReason::Confident);
            }
            // This subset cannot make the search confident; a larger one can.
            if !is_last && progress.is_large_enough(size) == Some(false) {
                return Next::Subset;
            }
            from = differences.end;
            chunk = (2 * chunk).min(many.div_ceil(size));
        }
        Next::Pass
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
            if !progress.budget.spend() {
                break;
            }
            let mut least = least_clique;
            if let Some(rival) = progress.rival_of_best(local, self.subset.len()) {
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
        let model = problem.model.fit_clique(&self.subset.points, &self.clique.members)?;
        progress.found.counters.hypotheses += 1;
        // Refined only when it explains the clique it was made from, and not far fewer matches than the best.
        let best = local.first().filter(|best| best.stands_out).map_or(0, |best| best.inliers.len());
        let floor = (least.min(4) - 1).max(best / NEXT_TO_NOTHING);
        if self.subset.coarse.may_exceed(&Affine::from(&model), problem.model.delta, floor) {
            let (points, known) = (&self.subset.points, problem.in_subset());
            progress.budget.charge(points.len());
            local.insert(self.refiner.refine_unless_known(points, model, &known, &mut self.judge, local)?);
        }
        Some(())
    }

    /// Refines the best new candidates of a subset on all matches.
    fn promote(&mut self, problem: &Problem<'_>, local: &mut Best, progress: &mut Progress) {
        let best = &mut progress.found.best;
        let whole = self.subset.len() == problem.points.len();
        // In a small subset nothing exceeds chance yet; the best is tried all the same.
        let worth = |k: usize, candidate: &Candidate| whole || k == 0 || candidate.exceeds_chance();
        for model in local.take_new(best.most(), worth) {
            let (points, known) = (problem.points, &problem.model);
            let found = self.refiner.refine_unless_known(points, model, known, &mut self.judge, best);
            if let Some(found) = found {
                best.insert(found);
            }
        }
    }
}

/// Number of pairs in the first chunk and in the largest. With a known scale only one pair in twenty has an edge, so the chunks may be larger.
fn chunk_sizes(size: usize, is_scale_known: bool) -> [usize; 2] {
    match is_scale_known {
        _ if size <= FIRST_SUBSET => [1 << 7, if is_scale_known { 1 << 18 } else { 1 << 15 }],
        true => [(size * size / 16).min(1 << 16), 1 << 18],
        false => [1 << 9, 1 << 15],
    }
}

/// The passes of a round. Only the last round goes down to the contrast of chance, and only few matches are searched without any bound.
fn passes(size: usize, is_last: bool, is_upright: bool) -> &'static [Pass] {
    use Purpose::{AnyTransform, Consensus, FaintConsensus};
    const fn pass(contrast: f32, clique: usize, purpose: Purpose) -> Pass {
        Pass { contrast, clique, purpose }
    }
    const CLEAR: [Pass; 1] = [pass(CLEAR_CONTRAST, 5, Consensus)];
    const FEW: [Pass; 3] = [
        pass(FIRST_CONTRAST, 5, Consensus),
        pass(0.0, 4, FaintConsensus),
        pass(f32::NEG_INFINITY, 3, AnyTransform),
    ];
    const MANY: [Pass; 3] = [
        pass(FIRST_CONTRAST, 5, Consensus),
        pass(0.0, 5, FaintConsensus),
        pass(FIRST_CONTRAST, 3, AnyTransform),
    ];
    // With a known vertical two matches determine the transform, and few pairs agree by chance.
    const CLEAR_UPRIGHT: [Pass; 1] = [pass(CLEAR_CONTRAST, 4, Consensus)];
    const UPRIGHT: [Pass; 3] = [
        pass(FIRST_CONTRAST, 4, Consensus),
        pass(0.0, 3, FaintConsensus),
        pass(f32::NEG_INFINITY, 2, AnyTransform),
    ];
    match (is_last, size > 128) {
        (false, _) if is_upright => &CLEAR_UPRIGHT,
        (true, _) if is_upright => &UPRIGHT,
        (false, _) => &CLEAR,
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
