//! The default method: search pairs, judge by evidence.
//!
//! A pair of right matches has probability `w²`, not `w³`, and is recognised by its *common neighbours*: matches that are
//! consistent with both under the noise bound. Well supported pairs are grown to small cliques, fitted by least squares,
//! refined by collecting and refitting until stable, and judged by their number of false alarms.
//!
//! | step | module |
//! |---|---|
//! | a random subset of the matches: 64, 256, 1024, … | `subset` |
//! | its consistency graph, in bits; one slice, or one for each scale | `edges` |
//! | pairs by their common neighbours, the most contrasting first | `edges` |
//! | a clique around a pair | `clique` |
//! | fit, collect, refit, judge; the best few | `candidate` |
//! | a last fit with weights | `polish` |
//! | the threshold, where none is given | `threshold` |
//!
//! Easy problems are settled in a subset of 64, before anything of size `n²` exists; hard ones go on to larger subsets and at last
//! to all matches, or to as many as the memory budget allows.
//!
//! # When it stops
//!
//! Let `w` be the share of right matches if the best consensus had one more. A pair of such a consensus is drawn with probability
//! `w²` and recognised with at least 0.6; the search stops when `(1 − 0.6·w²)^pairs` is below the accepted probability of a miss,
//! and the subset is so large that it almost certainly holds enough of that consensus to be recognised. Or when all pairs have been
//! examined.

mod candidate;
mod clique;
mod edges;
mod params;
mod polish;
mod subset;
mod threads;
mod threshold;

use self::{
    candidate::{Best, Candidate, Model, Refiner},
    clique::Clique,
    edges::{Edges, Pair},
    subset::{Order, Subset},
    threads::Threads,
};
use crate::{
    Correspondences, Counters, Error, Evidence, Registration, Scale, Seconds, StopReason,
    evidence::{Background, Judge},
    kernel::{Soa, consensus::Affine},
    least_squares,
    registration::{Alternative, Clock},
    stop::{self, StopCheck},
};

pub use params::Params;

/// Registers `pairs` by the default method. For many problems keep a [`Solver`].
///
/// # Errors
/// None at present beyond what the types already exclude.
pub fn solve(pairs: &Correspondences, scale: Scale, params: &Params) -> Result<Registration, Error> {
    Solver::new().solve(pairs, scale, params)
}

/// Solves one problem after the other in the same memory.
#[derive(Debug, Default)]
pub struct Solver {
    order: Order,
    subset: Subset,
    edges: Edges,
    pairs: Vec<Pair>,
    clique: Clique,
    refiner: Refiner,
    judge: Judge,
    threads: Threads,
}

/// `τ = 0.7 δ`: with `δ` five standard deviations, 2.5 of the difference of two distances.
const TAU: f64 = 0.7;
/// The first subset.
const FIRST_SUBSET: usize = 64;
/// The largest with a known scale: a second's work for each of a hundred million pairs.
const LARGEST_KNOWN: usize = 1 << 15;
/// The largest with an unknown scale, or while the threshold is not known yet.
const LARGEST: usize = 1 << 14;
/// Each further one is so many times larger.
const GROWTH: usize = 4;
/// A consensus is recognised in a subset that holds this many of it; expecting `SURELY_ENOUGH` has fewer with less than 10⁻⁶.
const SURELY_ENOUGH: f64 = 26.0;
/// How often, at least, a pair of a consensus that is there passes all tests.
const RECOGNISED: f64 = 0.6;
/// Pairs that are tried for runners-up once the best is settled.
const RUNNERS_UP: usize = 32;
/// The contrast from which on a pair is tried at first, in standard deviations.
const FIRST_CONTRAST: f32 = 1.5;
/// Pairs that are tried at each level at most.
const FULL_EFFORT: u64 = 100_000;
/// Pairs that are tried at each level while the threshold is not known yet.
const LIMITED_EFFORT: u64 = 4000;
/// Less than this single precision cannot tell.
const FINEST_TAU: f64 = 1e-5;
/// Pairs that are tried for a guess when there is nothing else.
const GUESSES: u64 = 200;
/// Pairs that are tried before all are sorted.
const FIRST_PAIRS: usize = 3;

/// A problem in our own units.
struct Problem<'a> {
    points: &'a Soa,
    model: Model,
    weights: Option<&'a [f64]>,
    /// No smaller than single precision can tell.
    tau: f64,
}

impl Solver {
    /// A solver that holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `pairs`.
    ///
    /// # Errors
    /// As [`solve`].
    pub fn solve(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &Params,
    ) -> Result<Registration, Error> {
        self.solve_until(pairs, scale, params, &stop::never)
    }

    /// Registers `pairs`, asking `stop` now and then whether to end with the best found so far.
    ///
    /// # Errors
    /// As [`solve`].
    pub fn solve_until(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &Params,
        stop: StopCheck<'_>,
    ) -> Result<Registration, Error> {
        let mut clock = Clock::start();
        let background = Background::of(pairs.points(), pairs.target_rounding());
        let problem = |delta: f64| Problem {
            points: pairs.points(),
            model: Model {
                delta,
                known_scale: match scale {
                    Scale::Known(s) => Some(pairs.scale_inward(s)),
                    Scale::Unknown | Scale::Between(..) => None,
                },
                scale_range: match scale {
                    Scale::Between(low, high) => Some([pairs.scale_inward(low), pairs.scale_inward(high)]),
                    Scale::Unknown | Scale::Known(_) => None,
                },
                background,
            },
            weights: pairs.weights(),
            tau: (TAU * delta).max(FINEST_TAU),
        };
        self.threads.set(params.threads(), pairs.len());
        let mut searched = Searched::new(params.candidates());
        let delta = match params.threshold() {
            Some(delta) => {
                let delta = pairs.target_length_inward(delta);
                self.search(&problem(delta), params, FULL_EFFORT, &mut searched, stop);
                delta
            }
            None => self.search_with_any_threshold(&problem, params, &mut searched, stop),
        };
        clock.lap("search");
        self.polish(&problem(delta), &mut searched);
        let threshold =
            params.threshold().map_or_else(|| pairs.target_length_outward(delta), |delta| delta.get());
        let registration = self.outcome(pairs, delta, threshold, searched);
        clock.lap("evidence");
        Ok(Registration { seconds: clock.stop(), ..registration })
    }

    /// Searches along the ladder of thresholds; returns the one that suits.
    fn search_with_any_threshold<'a>(
        &mut self,
        problem: &impl Fn(f64) -> Problem<'a>,
        params: &Params,
        searched: &mut Searched,
        stop: StopCheck<'_>,
    ) -> f64 {
        let extent = problem(1.0).model.background.extent();
        let mut best: Option<(Candidate, f64)> = None;
        for rung in threshold::LADDER {
            let problem = problem(rung * extent);
            let mut here = Searched::new(params.candidates());
            self.search(&problem, params, LIMITED_EFFORT, &mut here, stop);
            searched.counters.pairs += here.counters.pairs;
            searched.counters.hypotheses += here.counters.hypotheses;
            searched.stopped_because = here.stopped_because;
            let settled = here.best.first().and_then(|candidate| {
                threshold::settle(
                    problem.points,
                    candidate,
                    &problem.model,
                    &mut self.refiner,
                    &mut self.judge,
                )
            });
            if let Some((candidate, delta)) = settled
                && best.as_ref().is_none_or(|(best, _)| candidate.is_better_than(best))
            {
                best = Some((candidate, delta));
            }
            let asked = matches!(here.stopped_because, StopReason::TimeLimit | StopReason::Interrupted);
            if asked || best.as_ref().is_some_and(|(best, _)| best.is_reliable()) {
                break;
            }
        }
        let Some((candidate, delta)) = best else { return threshold::LADDER[0] * extent };
        searched.best.insert(candidate);
        if !matches!(searched.stopped_because, StopReason::TimeLimit | StopReason::Interrupted)
            && reliable(&searched.best).is_some()
        {
            self.search(&problem(delta), params, FULL_EFFORT, searched, stop);
        }
        delta
    }

    /// Levels of growing subsets until one of them settles it. `effort` bounds the pairs tried in each.
    fn search(
        &mut self,
        problem: &Problem<'_>,
        params: &Params,
        effort: u64,
        searched: &mut Searched,
        stop: StopCheck<'_>,
    ) {
        let n = problem.points.len();
        self.order.reset(n, params.seed(), problem.weights);
        let known = problem.model.known_scale.is_some();
        let most = match (known, effort < FULL_EFFORT) {
            (true, false) => LARGEST_KNOWN,
            _ => LARGEST,
        };
        let mut largest = n.min(most);
        while largest > FIRST_SUBSET && Edges::memory_needed(largest, known) > params.memory_budget() {
            largest = largest * 3 / 4;
        }
        searched.stopped_because = StopReason::Exhausted;
        searched.examined = 0;
        let mut size = if 2 * FIRST_SUBSET > largest { largest } else { FIRST_SUBSET };
        loop {
            if let Some(request) = stop() {
                searched.stopped_because = request.into();
                return;
            }
            searched.effort = effort;
            if let Some(reason) = self.level(problem, params, size, size == largest, searched, stop) {
                searched.stopped_because = reason;
                return;
            }
            if size == largest {
                if searched.effort == 0 {
                    searched.stopped_because = StopReason::HypothesisLimit;
                }
                return;
            }
            let wanted = searched.wanted_subset(n).unwrap_or(size * GROWTH).max(size + size / 2);
            size = if wanted * 3 / 2 > largest { largest } else { wanted };
        }
    }

    /// One level: the pairs of a subset of `size`, best supported first.
    fn level(
        &mut self,
        problem: &Problem<'_>,
        params: &Params,
        size: usize,
        last: bool,
        searched: &mut Searched,
        stop: StopCheck<'_>,
    ) -> Option<StopReason> {
        let n = problem.points.len();
        let members = self.order.first(size);
        let known = problem.model.known_scale;
        self.subset.assign(problem.points, members, known.unwrap_or(1.0));
        let range = problem.model.scale_range.map(|range| range.map(libm::log));
        self.threads.run(|| match known {
            Some(_) => self.edges.build_known(&self.subset, problem.tau),
            None => self.edges.build_unknown(&self.subset, problem.tau, range),
        });
        // What is known from earlier levels, seen in this subset.
        let mut local = Best::new(params.candidates());
        for candidate in searched.best.all() {
            if let Some(seen) =
                self.refiner.refine(&self.subset.points, candidate.model, &problem.model, &mut self.judge)
            {
                local.insert(seen);
            }
        }
        for (round, &(least_contrast, least_clique)) in rounds(size, last).iter().enumerate() {
            // The last round is for want of anything better: a guess.
            if least_clique == 3 {
                if searched.best.first().is_some() {
                    break;
                }
                searched.effort = GUESSES;
            }
            // A few pairs first, then more and more. With a known scale only one in twenty needs to be judged, so few are more.
            let half = size / 2;
            let (few, many) = if known.is_some() { (1 << 16, 1 << 18) } else { (1 << 9, 1 << 15) };
            let (mut from, mut chunk) = (1, few / size + 1);
            while from <= half {
                if let Some(request) = stop() {
                    return Some(request.into());
                }
                let differences = from..(from + chunk).min(half + 1);
                self.threads.run(|| {
                    self.edges.supported_pairs(differences.clone(), least_contrast, &mut self.pairs);
                });
                let ended = self.examine(problem, least_clique, &mut local, searched, stop);
                self.promote(problem, &local, size, searched);
                if ended.is_some() {
                    return ended;
                }
                if round == 0 {
                    searched.counters.pairs += self.edges.pairs_at(&differences);
                    searched.examined += self.edges.pairs_at(&differences);
                }
                if searched.is_confident(n, size, params.miss_probability()) {
                    return Some(StopReason::Confident);
                }
                from = differences.end;
                chunk = (2 * chunk).min(many / size + 1);
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
        searched: &mut Searched,
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
            self.try_pair(problem, &pair, least_clique, local, searched);
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
            if searched.effort == 0 {
                break;
            }
            searched.effort -= 1;
            let mut least = least_clique;
            if let Some(best) = reliable(local) {
                if could_be_larger(pair, best) {
                    least = least.max((best.inliers.len() * 6 / 10).min(9));
                } else if runners_up == 0 {
                    break;
                } else {
                    runners_up -= 1;
                }
            }
            self.try_pair(problem, pair, least, local, searched);
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
        searched: &mut Searched,
    ) -> Option<()> {
        if !self.clique.grow(&self.edges, pair, least) {
            return None;
        }
        let known_scale = problem.model.known_scale;
        let model = least_squares::fit(&self.subset.points, &self.clique.members, known_scale)?;
        if !problem.model.allows(&model) {
            return None;
        }
        searched.counters.hypotheses += 1;
        // Worth a closer look only when it explains what it was made from.
        if self.subset.coarse.may_exceed(&Affine::from(&model), problem.model.delta, least.min(4) - 1) {
            local.insert(self.refiner.refine(&self.subset.points, model, &problem.model, &mut self.judge)?);
        }
        Some(())
    }

    /// Fits the best once more, with weights.
    fn polish(&mut self, problem: &Problem<'_>, searched: &mut Searched) {
        let best = reliable(&searched.best);
        let polished = best
            .and_then(|best| polish::polish(problem.points, best, &problem.model))
            .and_then(|model| self.refiner.judge(problem.points, model, &problem.model, &mut self.judge));
        if let Some(polished) = polished.filter(Candidate::is_reliable) {
            searched.best.replace_first(polished);
        }
    }

    /// Brings the candidates of a subset to all matches.
    fn promote(&mut self, problem: &Problem<'_>, local: &Best, size: usize, searched: &mut Searched) {
        let whole = size == problem.points.len();
        for (k, candidate) in local.all().iter().enumerate() {
            // With few points nothing is significant yet; the best is worth a look all the same.
            if whole || k == 0 || candidate.is_significant() {
                let known = searched.best.all().iter().any(|c| c.model == candidate.model);
                if !known
                    && let Some(found) =
                        self.refiner.refine(problem.points, candidate.model, &problem.model, &mut self.judge)
                {
                    searched.best.insert(found);
                }
            }
        }
    }

    fn outcome(
        &mut self,
        pairs: &Correspondences,
        delta: f64,
        threshold: f64,
        searched: Searched,
    ) -> Registration {
        let Searched { best, counters, stopped_because, .. } = searched;
        let alternative = |candidate: &Candidate| Alternative {
            target_from_source: pairs.outward(&candidate.model),
            inlier_count: candidate.inliers.len(),
            log10_nfa: candidate.evidence.log10_nfa,
        };
        let candidates = best.all().iter().map(alternative).collect();
        let Some(best) = best.first() else {
            return Registration::nothing(threshold, stopped_because, counters);
        };
        // Not computed along the way where nothing depended on it.
        let effective_inliers = match best.is_significant() {
            true => best.evidence.effective_inliers,
            false => self.judge.effective_support(pairs.points(), &best.inliers, 3.0 * delta),
        };
        let evidence = Evidence { effective_inliers, ..best.evidence };
        let rmse = least_squares::rmse(pairs.points(), &best.inliers, &best.model);
        Registration {
            status: evidence.status(best.inliers.len()),
            target_from_source: Some(pairs.outward(&best.model)),
            inliers: best.inliers.iter().map(|&i| i as usize).collect(),
            threshold,
            inlier_rmse: rmse.map(|rmse| pairs.target_length_outward(rmse)),
            evidence: Some(evidence),
            candidates,
            stopped_because,
            counters,
            seconds: Seconds::default(),
        }
    }
}

/// The least contrast of a pair and the least size of a clique to try, one after the other as long as nothing is found. Only at the
/// last level it is worth going down to chance, and only among few matches to the bottom.
fn rounds(size: usize, last: bool) -> &'static [(f32, usize)] {
    const FEW: [(f32, usize); 3] = [(FIRST_CONTRAST, 5), (0.0, 4), (f32::NEG_INFINITY, 3)];
    const MANY: [(f32, usize); 3] = [(FIRST_CONTRAST, 5), (0.0, 5), (FIRST_CONTRAST, 3)];
    match (last, size > 128) {
        (false, _) => &MANY[..1],
        (true, true) => &MANY,
        (true, false) => &FEW,
    }
}

/// The best candidate, when it can be trusted.
fn reliable(best: &Best) -> Option<&Candidate> {
    best.first().filter(|best| best.is_reliable())
}

/// One more than `best` would give each of its pairs so many common neighbours, and those by chance.
fn could_be_larger(pair: &Pair, best: &Candidate) -> bool {
    pair.support as f32 >= 0.9 * (best.inliers.len() as f32 - 1.0) + pair.expected - pair.expected.sqrt()
}

/// Whether a pair can lead to something new: a larger consensus, or one of other matches.
fn is_of_interest(pair: &Pair, local: &Best) -> bool {
    let explained = |c: &Candidate| c.is_significant() && c.explains(pair.i) && c.explains(pair.j);
    if local.all().iter().any(explained) {
        return false;
    }
    reliable(local)
        .is_none_or(|best| could_be_larger(pair, best) || !(best.explains(pair.i) || best.explains(pair.j)))
}

/// What has been found so far.
struct Searched {
    best: Best,
    counters: Counters,
    /// Pairs examined with the present threshold.
    examined: u64,
    /// Pairs that may still be tried at this level.
    effort: u64,
    stopped_because: StopReason,
}

impl Searched {
    fn new(candidates: usize) -> Self {
        Self {
            best: Best::new(candidates),
            counters: Counters::default(),
            examined: 0,
            effort: 0,
            stopped_because: StopReason::Exhausted,
        }
    }

    /// The share of right matches if the best significant consensus had one more.
    fn share_to_beat(&self, n: usize) -> Option<f64> {
        let best = reliable(&self.best)?;
        Some(((best.inliers.len() + 1) as f64 / n as f64).min(1.0))
    }

    /// A subset that surely holds enough of a larger consensus.
    fn wanted_subset(&self, n: usize) -> Option<usize> {
        self.share_to_beat(n).map(|share| (SURELY_ENOUGH / share).ceil() as usize)
    }

    fn is_confident(&self, n: usize, size: usize, miss_probability: f64) -> bool {
        self.share_to_beat(n).is_some_and(|share| {
            let large_enough = size == n || size as f64 * share >= SURELY_ENOUGH;
            let missed = self.examined as f64 * libm::log1p(-RECOGNISED * share * share);
            large_enough && missed <= libm::log(miss_probability)
        })
    }
}
