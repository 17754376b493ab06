//! The published method PCR-99: Algorithm 1 (unknown scale) and Section VI (known scale), with the paper's order of samples or with random
//! ones (the paper's ablation "no S/O").
//!
//! | step | module |
//! |---|---|
//! | log ratios, Eq. (4) | `log_ratio` |
//! | score of each match, Eq. (6)–(10) | `score` |
//! | ranking by score | `ranking` |
//! | samples in the order of their rank sums, Eq. (48), (50) | `triplets` |
//! | prescreening test, Eq. (24)–(29) | `prescreen` |
//! | transform from three matches | `align` |
//! | inliers of the transform | `consensus` |
//! | transform from all inliers | `refit` |
//!
//! The page `docs/explanation/paper-map.md` of the repository lists what the paper leaves open and our decisions. Every decision has a
//! test.
//!
//! # Memory
//!
//! | sampling | scale | memory | examples |
//! |---|---|---|---|
//! | ordered | unknown | `8·n·(n−1)` bytes: log ratios by rows and by antidiagonals | 8 MB for 1000 matches, 200 MB for 5000, 1 GiB for 11 585 |
//! | ordered | known | `n²/16` bytes: one bit per pair | 1.6 MB for 5000 matches, 1 GiB for 131 000 |
//! | random | any | the matches themselves | |
//!
//! Problems above the [budget](crate::paper::Params::with_memory_budget) are refused before anything is computed. Rows are computed as the
//! search reaches them, so an easy problem uses little of this.
//!
//! # What is not guaranteed
//!
//! The published stopping rule accepts the largest consensus once it has `max(9, 0.009·n)` matches at the end of a batch of 1000 hypotheses.
//! With a threshold of five standard deviations, nine accidental inliers do occur among a thousand random matches. The status of the
//! result therefore depends on the [evidence](crate::Evidence), as for every method.

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

/// Registers `pairs` by the published method. For many problems, keep a [`Solver`].
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
/// [`Error::TooMuchMemory`] or [`Error::OutOfMemory`] when the tables exceed the budget or the memory of the system, and
/// [`Error::ScaleRangeWithPaper`] for a range of scales.
pub fn solve(pairs: &Correspondences, scale: Scale, params: &Params) -> Result<Registration, Error> {
    Solver::new().solve(pairs, scale, params)
}

/// The published method, with buffers that are reused from one problem to the next.
#[derive(Debug, Default)]
pub struct Solver {
    score: score::Workspace,
    prescreen: prescreen::Workspace,
    search: search::Workspace,
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

/// A problem in normalised units, with the parameters that the stages need.
#[derive(Debug)]
struct Problem<'a> {
    points: &'a Soa,
    /// The scale `s`, when it is known.
    known_scale: Option<f64>,
    /// The inlier threshold `δ_in`.
    delta: f64,
    /// The tolerance `ε` of log ratios.
    epsilon: f64,
    /// Spacing of the grid of `ln s`.
    grid_step: f64,
    /// Number of inliers at which the search stops, `max(9, round(0.009·n))`.
    required: usize,
}

impl<'a> Problem<'a> {
    fn new(pairs: &'a Correspondences, scale: Scale, params: &Params) -> Result<Self, Error> {
        if pairs.differ_in_noise() {
            return Err(Error::StandardDeviationsWithPaper);
        }
        if pairs.vertical().is_some() {
            return Err(Error::VerticalWithPaper);
        }
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

/// The last lines of Algorithm 1: the transform from the largest consensus, with its evidence.
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
    // Too few or collinear inliers determine no transform. The hypothesis itself is then the best found, and nothing confirms it
    // (decision 17).
    let refitted = refit::refit(problem.points, &inliers, problem.known_scale);
    let confirmed = refitted.is_some();
    let model = refitted.unwrap_or(consensus.model);
    let rmse = refit::rmse(problem.points, &inliers, &model);
    let evidence = Judge::default().evidence(pairs, &model, &inliers, problem.delta, problem.known_scale);
    let target_from_source = pairs.outward(&model);
    // Inliers that determine no transform leave the rotation about some axis open.
    let open = Doubt::LooseRotation { deviation_deg: 180.0 };
    let doubt = evidence.doubt(inliers.len()).or((!confirmed).then_some(open));
    Registration {
        status: if doubt.is_none() { Status::Registered } else { Status::NotReliable },
        doubt,
        target_from_source: Some(target_from_source),
        correspondences: pairs.len(),
        inlier_rmse: rmse.map(|rmse| pairs.target_length_outward(rmse)),
        covariance: None,
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
