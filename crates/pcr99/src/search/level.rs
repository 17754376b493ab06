//! One level of the search: the pairs of a subset, the most contrasting first, each grown, fitted and judged.

use super::{
    FIRST_SUBSET, Problem, Solver,
    candidate::{Best, Candidate},
    edges::{Pair, Wanted},
    params::Params,
    progress::{Progress, reliable},
};
use pcr99_base::kernel::consensus::Affine;

use crate::{StopReason, stop::StopCheck};

/// The contrast from which on a pair is tried at first, in standard deviations.
const FIRST_CONTRAST: f32 = 1.5;
/// The same as long as there are larger subsets to come: what is not clear in this one will be in those.
const CLEAR_CONTRAST: f32 = 2.5;
/// Pairs that are tried for runners-up once the best is settled.
const RUNNERS_UP: usize = 32;
/// Candidates of a subset that are remembered, so that what they explain is not tried again and again.
const EXPLORED: usize = 64;
/// A transform that explains less than this part of what the best does, before it is refined, will not come to more.
const NEXT_TO_NOTHING: usize = 6;
/// Pairs that are tried for a guess when there is nothing else.
const GUESSES: u64 = 200;
/// Pairs that are tried before all are sorted.
const FIRST_PAIRS: usize = 3;

impl Solver {
    /// One level: the pairs of a subset of `size`, best supported first.
    pub(super) fn level(
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
        // What is known from earlier levels, seen in this subset.
        let mut local = Best::new(EXPLORED.max(params.candidates()));
        for candidate in progress.best.all() {
            if let Some(seen) =
                self.refiner.refine(&self.subset.points, candidate.model, &problem.model, &mut self.judge)
            {
                local.insert(seen);
            }
        }
        for (round, &(least_contrast, least_clique)) in rounds(size, last).iter().enumerate() {
            // The last round is for want of anything better: a guess.
            if least_clique == 3 {
                if progress.best.first().is_some() {
                    break;
                }
                progress.effort = GUESSES;
            }
            // A few pairs first, then more and more. With a known scale only one in twenty needs to be judged, so few are more.
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
                // Where something has been found, as many as it takes to be sure of it.
                let enough = progress.pairs_left(n, params.miss_probability());
                let enough = enough.map_or(half, |pairs| ((pairs / size as f64) as usize).saturating_add(1));
                let differences = from..(from + chunk.min(enough)).min(half + 1);
                let to_beat = reliable(&local).map(|best| best.inliers.len() as u32);
                let wanted = Wanted { contrast: least_contrast, to_beat };
                self.threads.run(|| {
                    self.edges.supported_pairs(differences.clone(), wanted, &mut self.pairs);
                });
                progress.allow(differences.len() as f64 / (half + 1 - from) as f64, &local);
                let ended = self.examine(problem, least_clique, &mut local, progress, stop);
                self.promote(
                    problem,
                    &local.all()[..params.candidates().min(local.all().len())],
                    size,
                    progress,
                );
                if ended.is_some() {
                    return ended;
                }
                if round == 0 {
                    progress.count(self.edges.pairs_at(&differences));
                }
                if progress.effort == 0 {
                    progress.limited = true;
                    break;
                }
                if progress.is_confident(n, size, params.miss_probability()) {
                    return Some(StopReason::Confident);
                }
                // What is found here has to stand in a larger subset in any case, and is easier to beat there.
                if !last && progress.is_large_enough(n, size, params.miss_probability()) == Some(false) {
                    return None;
                }
                from = differences.end;
                chunk = (2 * chunk).min(many.div_ceil(size));
            }
            if local.is_significant() {
                break;
            }
        }
        None
    }

    /// Grows, fits and judges the pairs, the most contrasting first, as long as they could lead to a larger consensus than the
    /// best; then a few more for runners-up.
    fn examine(
        &mut self,
        problem: &Problem<'_>,
        least_clique: usize,
        local: &mut Best,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> Option<StopReason> {
        let mut pairs = std::mem::take(&mut self.pairs);
        // Where right matches abound, the first few pairs settle it: no need to sort them all.
        for _ in 0..FIRST_PAIRS {
            if reliable(local).is_some() {
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
            if let Some(best) = reliable(local) {
                if pair.may_beat(best.inliers.len() as u32) {
                    least = least.max((best.inliers.len() * 6 / 10).min(9));
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

    /// From a pair to a candidate, if there is one in it.
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
        // Worth a closer look only when it explains what it was made from, and not next to nothing beside the best.
        let best = local.first().filter(|best| best.stands_out).map_or(0, |best| best.inliers.len());
        let floor = (least.min(4) - 1).max(best / NEXT_TO_NOTHING);
        if self.subset.coarse.may_exceed(&Affine::from(&model), problem.model.delta, floor) {
            let (points, known) = (&self.subset.points, &problem.model);
            local.insert(self.refiner.refine_unless_known(points, model, known, &mut self.judge, local)?);
        }
        Some(())
    }

    /// Brings the candidates of a subset to all matches.
    fn promote(&mut self, problem: &Problem<'_>, local: &[Candidate], size: usize, progress: &mut Progress) {
        let whole = size == problem.points.len();
        for (k, candidate) in local.iter().enumerate() {
            // With few points nothing is significant yet; the best is worth a look all the same.
            if (whole || k == 0 || candidate.is_significant())
                && let Some(found) = self.refiner.refine_unless_known(
                    problem.points,
                    candidate.model,
                    &problem.model,
                    &mut self.judge,
                    &progress.best,
                )
            {
                progress.best.insert(found);
            }
        }
    }
}

/// The least contrast of a pair and the least size of a clique to try, one after the other as long as nothing is found. Only at the
/// last level it is worth going down to chance, and only among few matches to the bottom.
fn rounds(size: usize, last: bool) -> &'static [(f32, usize)] {
    const FEW: [(f32, usize); 3] = [(FIRST_CONTRAST, 5), (0.0, 4), (f32::NEG_INFINITY, 3)];
    const MANY: [(f32, usize); 3] = [(FIRST_CONTRAST, 5), (0.0, 5), (FIRST_CONTRAST, 3)];
    match (last, size > 128) {
        (false, _) => &[(CLEAR_CONTRAST, 5)],
        (true, true) => &MANY,
        (true, false) => &FEW,
    }
}

/// Whether a pair can lead to something new: a larger consensus, or one of other matches.
fn is_of_interest(pair: &Pair, local: &Best) -> bool {
    let explained = |c: &Candidate| c.stands_out && c.explains(pair.i) && c.explains(pair.j);
    if local.all().iter().any(explained) {
        return false;
    }
    reliable(local).is_none_or(|best| {
        pair.may_beat(best.inliers.len() as u32) || !(best.explains(pair.i) || best.explains(pair.j))
    })
}
