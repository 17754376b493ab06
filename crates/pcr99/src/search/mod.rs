//! The default method: a search over pairs of matches, judged by evidence.
//!
//! With a fraction `w` of right matches, a random pair is right with probability `w²`; a random triplet only with `w³`. A right pair is
//! recognised by its *common neighbours*, the matches that are consistent with both of its members. Well supported pairs are grown to
//! small cliques and fitted by least squares. Each fit is refined until its inliers no longer change, and judged by its number of
//! false alarms.
//!
//! | step | module |
//! |---|---|
//! | one round: the pairs of a subset, tried in order of contrast | `round` |
//! | a random subset of the matches: 64, 256, 1024, … | `subset` |
//! | its consistency graph as bits; one graph, or one per slice of scales | `edges` |
//! | the pairs with many common neighbours | `edges` |
//! | a clique around a pair | `clique` |
//! | candidates: fit, collect inliers, refit, judge | `candidate` |
//! | what has been found, and whether the search may stop | `progress` |
//! | a second motion within the consensus | `modes` |
//! | a final fit with weights | `polish` |
//! | the threshold, where none is given | `threshold` |
//!
//! Easy problems are solved in a subset of 64 matches, before anything of size `n²` exists. Hard ones continue with larger subsets, up
//! to all matches or as many as the memory budget and `LARGEST` allow.
//!
//! # When it stops
//!
//! Two consensuses must not be missed: one larger by one match than the best, which would change the answer, and a rival with 0.6 of its inliers, which
//! would change the verdict. Let `w` be the fraction of the matches in one of them. A random pair belongs to it with probability `w²` and is recognised
//! with probability at least 0.6. The search stops when for both:
//!
//! * `(1 − 0.6·w²)^pairs` is at most the accepted probability of a miss;
//! * the subset holds enough of such a consensus to recognise it, up to the same probability.
//!
//! It also stops when all pairs have been examined.

pub(crate) mod bench_stages;
mod candidate;
mod clique;
mod edges;
mod modes;
mod outcome;
mod params;
mod polish;
mod progress;
mod round;
mod subset;
mod threads;
mod threshold;

use self::{
    candidate::{Candidate, Model, Refiner},
    clique::Clique,
    edges::{Edges, Pair},
    progress::{DOUBTFUL_EFFORT, Progress, registered},
    subset::{Order, Subset},
    threads::Threads,
};
use pcr99_base::{Soa, clock::Clock};

use crate::{
    Correspondences, Error, Registration, Scale, StopReason,
    evidence::{Background, Judge, Scope, fewest_inliers},
    stop::{self, StopCheck},
};

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
    refiner: Refiner,
    judge: Judge,
    threads: Threads,
}

/// Ratio `τ/δ` of the tolerance on a difference of distances to the inlier threshold. With `δ` at five standard deviations of the
/// noise, `τ` is 2.5 standard deviations of such a difference.
const TAU: f64 = 0.7;
/// Size of the first subset, in matches: one machine word per row of the graph.
const FIRST_SUBSET: usize = 64;
/// Largest subset with a known scale, in matches. Its 5·10⁸ pairs take some seconds if nothing is found.
const LARGEST_KNOWN: usize = 1 << 15;
/// Largest subset with an unknown scale or threshold, in matches.
const LARGEST: usize = 1 << 14;
/// Growth factor from one subset to the next, while nothing has been found.
const GROWTH: usize = 4;
/// Pairs tried in each round by default, at most.
const DEFAULT_EFFORT: u64 = 100_000;
/// Pairs tried in each round, at most, while the threshold is not known yet: this many, or a tenth of the effort where that is more.
const LIMITED_EFFORT: u64 = 10_000;
/// Largest threshold, relative to the longest half-axis of the targets. A larger one would not tell matches apart.
const WIDEST: f64 = 0.3;
/// Largest number of weighted fits of the answer.
const MOST_POLISHES: usize = 4;
/// Smallest `τ`, in normalised units: single precision resolves no less.
const FINEST_TAU: f64 = 1e-5;

/// How much a search may try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// All that the caller allows.
    Full,
    /// A part of that, for each threshold that is tried while none is known.
    Limited,
}

impl Effort {
    /// Number of pairs that a round may try.
    fn pairs(self, params: &Params) -> u64 {
        match self {
            Self::Full => params.effort(),
            Self::Limited => params.effort().min(LIMITED_EFFORT.max(params.effort() / 10)),
        }
    }
}

/// Whether the caller ended the search.
fn here_ended(progress: &Progress) -> bool {
    progress.stopped_because.is_request()
}

/// A problem in normalised units.
#[derive(Debug)]
struct Problem<'a> {
    points: &'a Soa,
    model: Model,
    weights: Option<&'a [f64]>,
    /// Tolerance on a difference of distances.
    tau: f64,
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
            model: Model { delta, known_scale, scale_range, background, scope: Scope::All },
            weights: pairs.weights(),
            tau: (TAU * delta).max(FINEST_TAU),
        }
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
        let mut clock = Clock::start();
        let background = Background::of(pairs.points(), pairs.target_rounding());
        let problem = |delta: f64| Problem::new(pairs, scale, delta, background);
        self.judge.begin(pairs.correlation_length());
        self.threads.set(params.threads(), pairs.len());
        let mut progress = Progress::new(params.candidates());
        let given = params.threshold().map(|given| pairs.target_length_inward(given));
        let mut delta = match given {
            Some(delta) => {
                let delta = delta.min(WIDEST * background.extent());
                self.search(&problem(delta), params, Effort::Full, &mut progress, stop);
                delta
            }
            None => self.search_with_any_threshold(&problem, params, &mut progress, stop),
        };
        self.compare(&problem(delta), &mut progress);
        if let (None, Some(best)) = (given, progress.best.first()) {
            delta = best.delta;
        }
        clock.lap("search");
        let near_rival = self.split(&problem(delta), given.is_some(), &mut progress);
        if let (None, Some(best)) = (given, progress.best.first()) {
            delta = best.delta;
        }
        if near_rival.is_none() {
            self.polish(&problem(delta), &mut progress);
        }
        // A threshold that was used as given is returned to the bit.
        let given = params.threshold().filter(|given| pairs.target_length_inward(*given) == delta);
        let threshold = given.map_or_else(|| pairs.target_length_outward(delta), |given| given.get());
        let registration = self.outcome(pairs, &problem(delta), threshold, progress, near_rival);
        clock.lap("evidence");
        Ok(Registration { seconds: clock.stop(), ..registration })
    }

    /// Searches with one threshold after the other until one gives a registered consensus, then once more with the threshold that suits that
    /// consensus. Returns the threshold.
    fn search_with_any_threshold<'a>(
        &mut self,
        problem: &impl Fn(f64) -> Problem<'a>,
        params: &Params,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) -> f64 {
        let extent = problem(1.0).model.background.extent();
        for rung in threshold::LADDER {
            let mut here = Progress::new(params.candidates());
            self.search(&problem(rung * extent), params, Effort::Limited, &mut here, stop);
            progress.counters.pairs += here.counters.pairs;
            progress.counters.hypotheses += here.counters.hypotheses;
            progress.stopped_because = here.stopped_because;
            self.settle(&problem(rung * extent), here, progress);
            if here_ended(progress) || registered(&progress.best).is_some() {
                break;
            }
        }
        let Some(best) = progress.best.first() else { return threshold::LADDER[0] * extent };
        let delta = best.delta;
        if !here_ended(progress) && registered(&progress.best).is_some() {
            let mut here = Progress::new(params.candidates());
            here.best.insert(best.clone());
            self.search(&problem(delta), params, Effort::Full, &mut here, stop);
            progress.counters.pairs += here.counters.pairs;
            progress.counters.hypotheses += here.counters.hypotheses;
            progress.stopped_because = here.stopped_because;
            self.settle(&problem(delta), here, progress);
        }
        delta
    }

    /// Gives each candidate that was found the threshold that its own residuals suggest.
    fn settle(&mut self, problem: &Problem<'_>, found: Progress, progress: &mut Progress) {
        let Self { refiner, judge, .. } = self;
        for (k, candidate) in found.best.all().iter().enumerate() {
            if (k == 0 || candidate.stands_out)
                && let Some(settled) =
                    threshold::settle(problem.points, candidate, &problem.model, refiner, judge)
            {
                progress.best.insert(settled);
            }
        }
    }

    /// Judges the candidates anew where there are several: the correlation of wrong matches is measured among those that follow none of them, and
    /// is then the same for all.
    fn compare(&mut self, problem: &Problem<'_>, progress: &mut Progress) {
        let Self { refiner, judge, .. } = self;
        let models: Vec<_> =
            progress.best.all().iter().filter(|c| c.stands_out).map(|candidate| candidate.model).collect();
        if models.len() < 2 {
            return;
        }
        let models: Vec<_> = models.iter().collect();
        judge.settle_correlation(problem.points, &models, &problem.model.background);
        progress.best.judge_again(|candidate| {
            let known = Model { delta: candidate.delta, ..problem.model };
            refiner.judge(problem.points, candidate.model, &known, judge)
        });
    }

    /// Runs rounds on growing subsets until one of them ends the search. `effort` bounds the pairs tried in each.
    fn search(
        &mut self,
        problem: &Problem<'_>,
        params: &Params,
        effort: Effort,
        progress: &mut Progress,
        stop: StopCheck<'_>,
    ) {
        let n = problem.points.len();
        self.order.reset(n, params.seed(), problem.weights);
        let known = problem.model.known_scale.is_some();
        let most = match (known, effort) {
            (true, Effort::Full) => LARGEST_KNOWN,
            _ => LARGEST,
        };
        let mut largest = n.min(most);
        while largest > FIRST_SUBSET && Edges::memory_needed(largest, known) > params.memory_budget() {
            largest = largest * 3 / 4;
        }
        progress.stopped_because = StopReason::Exhausted;
        progress.examined = 0;
        progress.limited = false;
        progress.random_subsets = problem.weights.is_none();
        progress.fewest_inliers = fewest_inliers(n, problem.model.delta, &problem.model.background);
        let mut size = if 2 * FIRST_SUBSET > largest { largest } else { FIRST_SUBSET };
        loop {
            if let Some(request) = stop() {
                progress.stopped_because = request.into();
                return;
            }
            progress.effort = effort.pairs(params);
            progress.doubtful_effort = DOUBTFUL_EFFORT.max(params.effort() / 10);
            if let Some(reason) = self.round(problem, params, size, size == largest, progress, stop) {
                progress.stopped_because = reason;
                return;
            }
            if size == largest {
                if progress.limited {
                    progress.stopped_because = StopReason::HypothesisLimit;
                }
                return;
            }
            let wanted = progress
                .needed_subset(n, params.miss_probability())
                .unwrap_or(size * GROWTH)
                .max(size + size / 4);
            size = if wanted * 3 / 2 > largest { largest } else { wanted };
        }
    }

    /// Looks for a second motion within the consensus of the answer. If there is one, the answer becomes the larger of the two; the other is
    /// returned with its size relative to the answer's.
    fn split(
        &mut self,
        problem: &Problem<'_>,
        keep_threshold: bool,
        progress: &mut Progress,
    ) -> Option<(Candidate, f64)> {
        let best = registered(&progress.best)?;
        let modes = modes::split(problem.points, best, &problem.model)?;
        let own = (5.0 * modes.sigma).max(4.0 * problem.model.background.finest());
        let delta = if keep_threshold { best.delta } else { own };
        let known = Model { delta, ..problem.model };
        let [answer, rival] =
            modes.models.map(|model| self.refiner.judge(problem.points, model, &known, &mut self.judge));
        let (answer, rival) = (answer?, rival?);
        progress.best.replace_first(answer);
        Some((rival, modes.sizes[1] as f64 / modes.sizes[0] as f64))
    }

    /// Refits the answer with weights, and repeats while that changes its inliers.
    fn polish(&mut self, problem: &Problem<'_>, progress: &mut Progress) {
        for _ in 0..MOST_POLISHES {
            let Some(best) = registered(&progress.best) else { return };
            let polished = polish::polish(problem.points, best, &problem.model)
                .and_then(|model| self.refiner.judge(problem.points, model, &problem.model, &mut self.judge));
            let Some(polished) = polished.filter(Candidate::is_registered) else { return };
            let settled = polished.inliers == best.inliers;
            progress.best.replace_first(polished);
            if settled {
                return;
            }
        }
    }
}
