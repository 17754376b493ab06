//! PCR-99 as published: Algorithm 1 (unknown scale) and Section VI (known scale), each with the paper's order of samples
//! or with random ones ("no S/O", the paper's ablation).
//!
//! | step | module |
//! |---|---|
//! | log ratios, Eq. (4) | `log_ratio` |
//! | score of each match, Eq. (6)–(10) | `score` |
//! | ranking by score | `ranking` |
//! | samples in the order of their rank sums, Eq. (48), (50) | `triplets` |
//! | prescreening test, Eq. (24)–(29) | `prescreen` |
//! | transform from three matches | `align` |
//! | matches that fit it | `consensus` |
//! | transform from all of them | `refit` |
//!
//! What the paper leaves open, and what we decided, is in `docs/paper-map.md`; every decision has a test.
//!
//! # Memory
//!
//! With sample ordering, `n` matches need up to `8·n·(n−1)` bytes with unknown scale (a triangle of log ratios in `f64`, once by
//! rows and once by antidiagonals: 8 MB for 1000, 200 MB for 5000, 1 GiB for 11 585) and about `n²/16` bytes with known scale
//! (one bit a pair: 1.6 MB for 5000, 1 GiB for 131 000). More than the [budget](crate::paper::Params::with_memory_budget) is
//! refused before anything is computed. Rows are made as the search reaches them, so an easy problem touches little of this.
//! Random sampling needs memory only for the matches themselves.
//!
//! # What is not guaranteed
//!
//! The published stopping rule accepts the first consensus of `max(9, 0.009·n)` matches that is there when a batch of 1000
//! hypotheses ends. With a threshold of five standard deviations, nine accidental inliers do occur among a thousand random
//! matches. Whether the answer can be trusted is therefore judged by the [evidence](crate::Evidence), as for every method.

mod align;
pub(crate) mod bench_stages;
mod consensus;
mod log_ratio;
mod params;
mod prescreen;
mod ranking;
mod refit;
mod score;
mod search;
mod triplets;

pub use params::{MinInliers, Params, Sampling};

use self::{
    consensus::Consensus,
    prescreen::{Prescreen, Random, mib},
    search::Search,
};
use pcr99_base::{Soa, clock::Clock};

use crate::{
    Candidate, Correspondences, Counters, Doubt, Error, Registration, Scale, Seconds, Status, StopReason,
    evidence::Judge,
    stop::{self, StopCheck},
};

/// Registers `pairs` by the published method. For many problems keep a [`Solver`].
///
/// ```
/// use pcr99::{Correspondences, Scale, paper};
///
/// // Twelve points and the same points turned by 90° about z; three of them mismatched.
/// let source: Vec<[f64; 3]> = (0..12).map(|i| { let x = f64::from(i); [x, x * x % 7.0, x * x * x % 5.0] }).collect();
/// let mut target: Vec<[f64; 3]> = source.iter().map(|p| [-p[1], p[0], p[2]]).collect();
/// target[..3].rotate_left(1);
///
/// let pairs = Correspondences::new(&source, &target)?;
/// let registration = paper::solve(&pairs, Scale::one(), &paper::Params::new(0.01)?)?;
/// assert_eq!(registration.inliers, [3, 4, 5, 6, 7, 8, 9, 10, 11]);
/// # Ok::<(), pcr99::Error>(())
/// ```
///
/// # Errors
/// When the matches need more memory than the budget allows or the system gives.
pub fn solve(pairs: &Correspondences, scale: Scale, params: &Params) -> Result<Registration, Error> {
    Solver::new().solve(pairs, scale, params)
}

/// Solves one problem after the other in the same memory.
#[derive(Debug, Default)]
pub struct Solver {
    score: score::Workspace,
    prescreen: prescreen::Workspace,
    search: search::Workspace,
}

impl Solver {
    /// A solver that holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers `pairs`.
    ///
    /// # Errors
    /// When the matches need more memory than the budget allows or the system gives.
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
    /// When the matches need more memory than the budget allows or the system gives.
    pub fn solve_until(
        &mut self,
        pairs: &Correspondences,
        scale: Scale,
        params: &Params,
        stop: StopCheck<'_>,
    ) -> Result<Registration, Error> {
        let mut clock = Clock::start();
        let problem = Problem::new(pairs, scale, params)?;
        let mut search = Search::new(&problem, params, stop, &mut self.search);
        let stopped_because = match params.sampling() {
            Sampling::Ordered => {
                let ranking = score::rank(&problem, stop, &mut self.score);
                clock.lap("score");
                match ranking {
                    Err(request) => request.into(),
                    Ok(ranking) => {
                        search.in_order(&mut Prescreen::new(&problem, &ranking, &mut self.prescreen)?)
                    }
                }
            }
            Sampling::Random { seed, draw_limit } => {
                search.at_random(Random::new(&problem), seed, draw_limit)
            }
        };
        let (consensus, counters) = search.finish();
        clock.lap("search");
        let threshold = params.inlier_threshold().get();
        let registration = outcome(pairs, &problem, threshold, consensus, counters, stopped_because);
        clock.lap("refit");
        Ok(Registration { seconds: clock.stop(), ..registration })
    }
}

/// A problem in our own units, with all that the stages need of the parameters.
#[derive(Debug)]
struct Problem<'a> {
    points: &'a Soa,
    /// `s` when it is known.
    known_scale: Option<f64>,
    /// `δ_in`.
    delta: f64,
    /// `ε`.
    epsilon: f64,
    /// What the candidates for `ln s` should be apart.
    grid_step: f64,
    /// `max(9, round(0.009·n))`.
    required: usize,
}

impl<'a> Problem<'a> {
    fn new(pairs: &'a Correspondences, scale: Scale, params: &Params) -> Result<Self, Error> {
        if params.sampling() == Sampling::Ordered {
            let needed = prescreen::memory_needed(pairs.len(), scale);
            let budget = params.memory_budget();
            if needed > u128::from(budget) {
                let (needed_mib, budget_mib) = (mib(needed), mib(u128::from(budget)));
                return Err(Error::TooMuchMemory { matches: pairs.len(), needed_mib, budget_mib });
            }
        }
        Ok(Self {
            points: pairs.points(),
            known_scale: match scale {
                Scale::Unknown => None,
                Scale::Known(s) => Some(pairs.scale_inward(s)),
                Scale::Between(..) => return Err(Error::ScaleRangeWithPaper),
            },
            delta: pairs.target_length_inward(params.inlier_threshold()),
            epsilon: params.epsilon().get(),
            grid_step: params.grid_step().get(),
            required: params.min_inliers().of(pairs.len()),
        })
    }
}

/// The last lines of Algorithm 1: the transform from the largest consensus, and what it is worth.
fn outcome(
    pairs: &Correspondences,
    problem: &Problem<'_>,
    threshold: f64,
    consensus: Option<Consensus>,
    counters: Counters,
    stopped_because: StopReason,
) -> Registration {
    let seconds = Seconds::default();
    let Some(consensus) = consensus else {
        return Registration::no_solution(pairs.len(), threshold, stopped_because, counters);
    };
    let inliers = consensus.inliers(problem);
    // Too few inliers, or all on a line, fix no transform: then the hypothesis itself is the best found, and nothing confirms it
    // (decision 17).
    let refitted = refit::refit(problem.points, &inliers, problem.known_scale);
    let confirmed = refitted.is_some();
    let model = refitted.unwrap_or(consensus.model);
    let rmse = refit::rmse(problem.points, &inliers, &model);
    let evidence = Judge::default().evidence(pairs, &model, &inliers, problem.delta, problem.known_scale);
    let target_from_source = pairs.outward(&model);
    // Inliers that fix no transform leave at least one rotation open.
    let open = Doubt::LooseRotation { deviation_deg: 180.0 };
    let doubt = evidence.doubt(inliers.len()).or((!confirmed).then_some(open));
    Registration {
        status: if doubt.is_none() { Status::Registered } else { Status::NotReliable },
        doubt,
        target_from_source: Some(target_from_source),
        correspondences: pairs.len(),
        inlier_rmse: rmse.map(|rmse| pairs.target_length_outward(rmse)),
        candidates: vec![Candidate::new(target_from_source, inliers.len(), evidence)],
        inliers: inliers.into_iter().map(|i| i as usize).collect(),
        threshold,
        evidence: Some(evidence),
        rival: None,
        stopped_because,
        counters,
        seconds,
    }
}
