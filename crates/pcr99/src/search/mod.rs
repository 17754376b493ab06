//! The default method: a search over pairs of matches, judged by evidence.
//!
//! With a fraction `w` of right matches, a random pair is right with probability `w²`; a random triplet only with `w³`. A right pair is
//! recognised by its *common neighbours*, the matches that are consistent with both of its members. Well supported pairs are grown to
//! small cliques and fitted by least squares. Each fit is refined until its inliers no longer change, and judged by its number of
//! false alarms.
//!
//! | step | module |
//! |---|---|
//! | one match against others, before anything else | `star` |
//! | one round: the pairs of a subset, tried in order of contrast | `round` |
//! | a random subset of the matches: 64, 256, 1024, … | `subset` |
//! | its consistency graph as bits; one graph, or one per slice of scales | `edges` |
//! | the pairs with many common neighbours | `edges` |
//! | a clique around a pair | `clique` |
//! | candidates: fit, collect inliers, refit, judge | `candidate` |
//! | inliers of a transform that hardly moved | `nearby` |
//! | what has been found, and whether the search may stop | `progress` |
//! | how many pairs may be tried | `budget` |
//! | another look at a consensus barely beyond chance | `resample` |
//! | a second motion within the consensus | `modes` |
//! | the small motion that leads to it | `twist` |
//! | whether there are two motions or one | `mixture` |
//! | a final fit with weights | `polish` |
//! | the threshold, where none is given | `threshold` |
//! | a far tighter consensus within the one found | `tighten` |
//! | whether the matches are those of mirrored points | `mirror` |
//!
//! Easy problems are solved by stars, before anything of size `n²` exists. Hard ones continue with rounds over growing subsets, up
//! to all matches or as many as the memory budget and `LARGEST` allow.
//!
//! # When it stops
//!
//! Two consensuses must not be missed: one larger by one match than the best, which would change the answer, and a rival with 0.6 of its surplus, which
//! would change the verdict. `star` says how stars show that neither was missed. In rounds, let `w` be the fraction of the matches in one of them. A random pair belongs
//! to it with probability `w²` and is recognised with probability at least 0.6. The search stops when for both:
//!
//! * `(1 − 0.6·w²)^pairs` is at most the accepted probability of a miss;
//! * the subset holds enough of such a consensus to recognise it, up to the same probability.
//!
//! It also stops when all pairs have been examined.

pub(crate) mod bench_stages;
mod budget;
mod candidate;
mod clique;
mod edges;
mod mirror;
mod mixture;
mod modes;
mod nearby;
mod outcome;
mod params;
mod polish;
mod progress;
mod resample;
mod round;
mod star;
mod subset;
mod threads;
mod threshold;
mod tighten;
mod told;
mod twist;

use self::{
    budget::Effort,
    candidate::{Candidate, Model, Refiner},
    clique::Clique,
    edges::{Edges, Pair},
    progress::{Found, Progress, registered},
    star::Stars,
    subset::{Order, Subset},
    threads::Threads,
};
use pcr99_base::{Soa, clock::Clock, debug, kernel::upright::UprightTest};

use crate::{
    Correspondences, Doubt, Error, Registration, Scale, StopReason,
    evidence::{Background, Judge, Scope},
    stop::{self, StopCheck},
};

pub(crate) use self::{polish::Gaussian, threshold::untruncated_ratio};
pub use params::Params;

/// Registers `pairs` by the default method. For many problems, keep a [`Solver`].
///
/// # Errors
/// None at present: `pairs`, `scale` and `params` were checked when they were made.
pub fn solve(pairs: &Correspondences, scale: Scale, params: &Params) -> Result<Registration, Error> {
    Solver::new().solve(pairs, scale, params)
}

/// The default method, with buffers that are reused from one problem to the next.
#[derive(Debug, Default)]
pub struct Solver {
    order: Order,
    subset: Subset,
    edges: Edges,
    pairs: Vec<Pair>,
    clique: Clique,
    stars: Stars,
    refiner: Refiner,
    judge: Judge,
    threads: Threads,
}

/// Ratio `τ/δ` of the tolerance on a difference of distances to the inlier threshold. With `δ` at five standard deviations of the
/// noise, `τ` is 2.5 standard deviations of such a difference. Where matches differ in noise, `δ` and `τ` are those of the median match: noisier matches
/// have fewer edges and seed fewer hypotheses, but count as inliers.
const TAU: f64 = 0.7;
/// Size of the first subset, in matches: one machine word per row of the graph.
const FIRST_SUBSET: usize = 64;
/// Size of the first subset where stars found nothing, in matches.
const AFTER_STARS: usize = 512;
/// Largest subset with a known scale, in matches. Its 5·10⁸ pairs take some seconds if nothing is found.
const LARGEST_KNOWN: usize = 1 << 15;
/// Largest subset with an unknown scale or threshold, in matches.
const LARGEST: usize = 1 << 14;
/// Growth factor from one subset to the next, while nothing has been found.
const GROWTH: usize = 4;
/// Largest threshold, relative to the longest half-axis of the targets. A larger one would not tell matches apart.
const WIDEST: f64 = 0.3;
/// Largest number of weighted fits of the answer.
const MOST_POLISHES: usize = 4;
/// Smallest `τ`, in normalised units: single precision resolves no less.
const FINEST_TAU: f64 = 1e-5;

/// A problem in normalised units.
#[derive(Debug)]
struct Problem<'a> {
    points: &'a Soa,
    model: Model,
    weights: Option<&'a [f64]>,
    /// Tolerance on a difference of distances.
    tau: f64,
    /// Target length of a normalised unit.
    unit: f64,
}

impl<'a> Problem<'a> {
    /// The problem `pairs` with the threshold `delta`, in normalised units.
    fn new(pairs: &'a Correspondences, scale: Scale, delta: f64, background: Background) -> Self {
        let (known_scale, scale_range) = match scale {
            Scale::Unknown => (None, None),
            Scale::Known(s) => (Some(pairs.scale_inward(s)), None),
            Scale::Between(low, high) => (None, Some([low, high].map(|s| pairs.scale_inward(s)))),
        };
        Self {
            points: pairs.points(),
            model: Model {
                delta,
                known_scale,
                scale_range,
                tilt: pairs.tilt(),
                background,
                scope: Scope::All,
            },
            weights: pairs.weights(),
            tau: (TAU * delta).max(FINEST_TAU),
            unit: pairs.target_length_outward(1.0),
        }
    }

    /// The test of a pair of matches where the vertical is known, with the tolerance `tau` on distances.
    fn upright_test(&self) -> Option<UprightTest> {
        self.model.tilt.map(|tilt| UprightTest {
            tau: self.tau as f32,
            chord: tilt.chord() as f32,
            is_scale_known: self.model.known_scale.is_some(),
        })
    }

    /// The model for a subset of the matches.
    fn in_subset(&self) -> Model {
        Model { scope: Scope::Subset, ..self.model }
    }
}

impl Solver {
    /// A solver without buffers.
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

    /// Registers `pairs` and returns the best found so far when `stop` asks for it.
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
        let found = self.solve_with_and_without_repeats(pairs, scale, params, stop);
        found.tell(params.threshold());
        Ok(found)
    }

    /// Registers `pairs`, and once more without repeated ones where chance explains the answer.
    fn solve_with_and_without_repeats(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &Params,
        stop: StopCheck<'_>,
    ) -> Registration {
        let found = self.solve_all(pairs, scale, params, stop);
        let is_chance = matches!(found.doubt, Some(Doubt::Chance { .. } | Doubt::NoConsensus { .. }));
        if !is_chance || found.stopped_because.is_request() {
            return found;
        }
        let Some(fewer) = pairs.without_repeats() else { return found };
        debug!("searches once more, without {} repeated matches", pairs.len() - fewer.len());
        let again = self.solve_all(&fewer, scale, params, stop);
        if again.is_registered() {
            again.among(pairs, &found)
        } else if again.stopped_because.is_request() {
            Registration { stopped_because: again.stopped_because, ..found }
        } else {
            found
        }
    }

    /// Registers `pairs`, repeated ones included.
    fn solve_all(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &Params,
        stop: StopCheck<'_>,
    ) -> Registration {
        let mut clock = Clock::start();
        let background = Background::of_matches(pairs).with_vertical(pairs, scale);
        let problem = |delta: f64| Problem::new(pairs, scale, delta, background);
        self.judge.begin(pairs.correlation_length());
        self.threads.set(params.threads(), pairs.len());
        let given = params.threshold().map(|given| pairs.target_length_inward(given));
        let (mut delta, mut found) = match given {
            Some(delta) => {
                let delta = delta.min(WIDEST * background.extent());
                (delta, self.search(&problem(delta), params, Effort::Full, None, stop))
            }
            None => self.search_with_any_threshold(&problem, params, stop),
        };
        if self.resample(&problem(delta), &mut found) && given.is_none() {
            self.settle_first(&problem(delta), &mut found);
        }
        self.compare(&problem(delta), &mut found);
        if let (None, Some(best)) = (given, found.best.first()) {
            delta = best.delta;
        }
        clock.lap("search");
        let near_rival = self.split(&problem(delta), given.is_some(), &mut found);
        if let (None, Some(best)) = (given, found.best.first()) {
            delta = best.delta;
        }
        self.polish(&problem(delta), &mut found, near_rival.as_ref().map(|(rival, _)| rival));
        // A threshold that was used as given is returned to the bit.
        let given = params.threshold().filter(|given| pairs.target_length_inward(*given) == delta);
        let threshold = given.map_or_else(|| pairs.target_length_outward(delta), |given| given.get());
        let mut registration = self.outcome(pairs, &problem(delta), threshold, found, near_rival);
        registration.candidates.truncate(params.candidates());
        clock.lap("evidence");
        Registration { seconds: clock.stop(), ..registration }
    }

    /// Searches with one threshold after the other until one gives a registered consensus, then once more with the threshold that suits that
    /// consensus, unless the search before showed already that nothing was missed. Returns the threshold and what was found.
    fn search_with_any_threshold<'a>(
        &mut self,
        problem: &impl Fn(f64) -> Problem<'a>,
        params: &Params,
        stop: StopCheck<'_>,
    ) -> (f64, Found) {
        let extent = problem(1.0).model.background.extent();
        let mut found = Found::new(params.candidates());
        let mut last = None;
        for rung in threshold::LADDER {
            let problem = problem(rung * extent);
            problem.tell_rung(rung, extent);
            let here = self.search(&problem, params, Effort::Limited, None, stop);
            found.add(&here);
            self.settle(&problem, &here, None, &mut found);
            last = Some(here);
            if found.was_ended() || registered(&found.best).is_some() {
                break;
            }
        }
        let Some(mut best) = found.best.first().cloned() else {
            return (threshold::LADDER[0] * extent, found);
        };
        problem(best.delta).tell_settled(&best);
        let tighter = if best.is_registered() { self.tighten(&problem(best.delta), &best) } else { None };
        if let Some(tighter) = &tighter {
            problem(tighter.delta).tell_tighter(tighter);
            found.best.replace_first(tighter.clone());
            best = tighter.clone();
        }
        if found.was_ended() || !best.is_registered() {
            return (best.delta, found);
        }
        let problem = problem(best.delta);
        let progress = Progress::new(&problem, params, Effort::Full, Some(&best));
        let hidden = last.as_ref().and_then(|last| last.hidden_beside(&best));
        let is_shown = last.zip(hidden).is_some_and(|(last, hidden)| progress.is_shown(&last.shown, hidden));
        problem.tell_last(is_shown);
        if is_shown {
            (found.stopped_because, found.sought_rivals) = (StopReason::Confident, true);
        } else {
            let here = self.search(&problem, params, Effort::Full, Some(&best), stop);
            found.add(&here);
            self.settle(&problem, &here, tighter.as_ref(), &mut found);
        }
        (best.delta, found)
    }

    /// Gives each candidate that was found the threshold that its own residuals suggest. Those that blend others, or that `tighter` is a part of, are left out.
    fn settle(
        &mut self,
        problem: &Problem<'_>,
        here: &Found,
        tighter: Option<&Candidate>,
        found: &mut Found,
    ) {
        let Self { refiner, judge, .. } = self;
        let (points, model) = (problem.points, &problem.model);
        for (k, candidate) in here.best.all().iter().enumerate() {
            if k > 0 && !candidate.stands_out || found.best.has(candidate) {
                continue;
            }
            let settled = threshold::settle(points, candidate, f64::INFINITY, model, refiner, judge);
            let Some(settled) = settled else { continue };
            if !found.best.is_blend(&settled) && !tighter.is_some_and(|tighter| tighter.is_part_of(&settled))
            {
                found.best.insert(settled);
            }
        }
    }

    /// Gives the best candidate the threshold that its own residuals suggest, where that does not cost evidence.
    fn settle_first(&mut self, problem: &Problem<'_>, found: &mut Found) {
        let Self { refiner, judge, .. } = self;
        let Some(best) = found.best.first() else { return };
        let settled = threshold::settle(problem.points, best, f64::INFINITY, &problem.model, refiner, judge);
        if let Some(settled) = settled.filter(|settled| settled.evidence.log10_nfa <= best.evidence.log10_nfa)
        {
            found.best.replace_first(settled);
        }
    }

    /// Judges the candidates anew where there are several: the correlation of wrong matches is measured among those that follow none of them, and
    /// is then the same for all. So is the probability of a chance agreement by which they are ordered.
    fn compare(&mut self, problem: &Problem<'_>, found: &mut Found) {
        let Self { refiner, judge, .. } = self;
        // Many matches that lead to one point agree wherever it is. They would be compared with themselves.
        let is_compared = |c: &&Candidate| c.stands_out && c.has_places();
        let models: Vec<_> =
            found.best.all().iter().filter(is_compared).map(|candidate| candidate.model).collect();
        if models.len() < 2 {
            return;
        }
        let models: Vec<_> = models.iter().collect();
        judge.settle_correlation(problem.points, &models, &problem.model.background);
        judge.settle_chance(problem.points, &models, &problem.model.background, problem.model.delta);
        found.best.judge_again(|candidate| {
            let known = Model { delta: candidate.delta, ..problem.model };
            refiner.judge(problem.points, candidate.model, &known, judge)
        });
    }

    /// Runs rounds on growing subsets until one of them ends the search. `start` is a candidate that is known already.
    fn search(
        &mut self,
        problem: &Problem<'_>,
        params: &Params,
        effort: Effort,
        start: Option<&Candidate>,
        stop: StopCheck<'_>,
    ) -> Found {
        let n = problem.points.len();
        self.order.reset(n, params.seed(), problem.weights);
        let largest = largest_subset(n, problem.model.known_scale.is_some(), effort, params.memory_budget());
        let mut progress = Progress::new(problem, params, effort, start);
        let ended = self.sample_stars(problem, params.seed(), &mut progress, stop);
        if progress.found.counters.pairs > 0 {
            progress.tell_stars(ended);
        }
        if let Some(reason) = ended {
            progress.tell_end(problem, reason);
            return progress.end(reason, n);
        }
        // Stars would have shown a consensus that small subsets show.
        let first = if progress.found.counters.pairs == 0 { FIRST_SUBSET } else { AFTER_STARS };
        let first = progress.needed_subset().unwrap_or(first);
        let mut size = if 2 * first > largest { largest } else { first };
        let reason = loop {
            if let Some(request) = stop() {
                break request.into();
            }
            let ended = self.round(problem, size, size == largest, &mut progress, stop);
            progress.tell_round(size, n);
            if let Some(reason) = ended {
                break reason;
            }
            if size == largest {
                break if progress.budget.was_short {
                    StopReason::HypothesisLimit
                } else {
                    StopReason::Exhausted
                };
            }
            let wanted = progress.needed_subset().unwrap_or(size * GROWTH).max(size + size / 4);
            size = if wanted * 3 / 2 > largest { largest } else { wanted };
        };
        progress.tell_end(problem, reason);
        progress.end(reason, size)
    }

    /// Looks for a second motion within the consensus of the answer. If there is one, the answer becomes the larger of the two; the other is
    /// returned with its size relative to the answer's.
    fn split(
        &mut self,
        problem: &Problem<'_>,
        keep_threshold: bool,
        found: &mut Found,
    ) -> Option<(Candidate, f64)> {
        let best = registered(&found.best)?;
        let residuals = self.refiner.residuals(problem.points, &best.model);
        let modes = modes::split(problem.points, residuals, best, &problem.model)?;
        let own = (threshold::DEVIATIONS * modes.sigma).max(4.0 * problem.model.background.finest());
        let delta = if keep_threshold { best.delta } else { own };
        let known = Model { delta, ..problem.model };
        let [answer, rival] =
            modes.models.map(|model| self.refiner.judge(problem.points, model, &known, &mut self.judge));
        let (answer, rival) = (answer?, rival?);
        problem.tell_split(&rival, modes.ratio);
        found.best.replace_first(answer);
        Some((rival, modes.ratio))
    }

    /// Refits the answer with weights, and repeats while that changes its inliers.
    fn polish(&mut self, problem: &Problem<'_>, found: &mut Found, near_rival: Option<&Candidate>) {
        for _ in 0..MOST_POLISHES {
            let Some(best) = registered(&found.best) else { return };
            let far =
                found.best.all()[1..].iter().filter(|other| other.is_registered() && other.touches(best));
            let others: Vec<&Candidate> = far.chain(near_rival).collect();
            let polished = polish::polish(problem.points, best, &problem.model, &others)
                .and_then(|model| self.refiner.judge(problem.points, model, &problem.model, &mut self.judge));
            let Some(polished) = polished.filter(Candidate::is_registered) else { return };
            let settled = polished.inliers == best.inliers;
            found.best.replace_first(polished);
            if settled {
                return;
            }
        }
    }
}

/// Size of the largest subset that time and the memory budget allow.
fn largest_subset(n: usize, is_scale_known: bool, effort: Effort, memory_budget: u64) -> usize {
    let most = if is_scale_known && effort == Effort::Full { LARGEST_KNOWN } else { LARGEST };
    let mut largest = n.min(most);
    while largest > FIRST_SUBSET && Edges::memory_needed(largest, is_scale_known) > memory_budget {
        largest = largest * 3 / 4;
    }
    largest
}
