//! Checked options of `solve`.

use std::{fmt, time::Duration};

use pcr99::{Correspondences, Params, Positive, Registration, Scale, Vertical, paper, stop::StopCheck};
use pcr99_base::info;
use pcr99_baselines::{Method, Solvers};

use crate::{
    Deadline, GivenScale, GivenVertical, PaperOptions, PlanError, RunError, SolveOptions, check_threads,
    deadline::time_limit, text::number_text, vertical::vertical_text,
};

/// Bytes of a mebibyte: options give sizes in MiB, the library takes bytes.
const MIB: u64 = 1 << 20;

/// A method with its parameters, checked.
///
/// Its text describes it, for instance "method default, scale 1, threshold from the data, seed 0".
#[derive(Debug, Clone, PartialEq)]
pub struct SolvePlan {
    method: Method,
    scale: Scale,
    seed: u64,
    params: MethodParams,
    time_limit: Option<Duration>,
    correlation_length: Option<f64>,
    vertical: Option<Vertical>,
}

/// Parameters of each kind of method.
#[derive(Debug, Clone, PartialEq)]
enum MethodParams {
    Default(Params),
    Paper(paper::Params),
    /// Threshold of a baseline.
    Baseline(Positive),
}

impl SolvePlan {
    /// Checks the options.
    ///
    /// # Errors
    /// When a value is outside its range, or when the method does not take or lacks one of the options.
    pub fn new(options: &SolveOptions) -> Result<Self, PlanError> {
        let method = options.method.unwrap_or(Method::Default);
        let scale = options.scale.map_or(Ok(Scale::one()), GivenScale::checked)?;
        let time_limit = time_limit(options.time_limit)?;
        options.threads.map(check_threads).transpose()?;
        let correlation_length = options.correlation_length;
        if let Some(value) = correlation_length.filter(|length| !(length.is_finite() && *length >= 0.0)) {
            return Err(pcr99::Error::Negative { name: "correlation_length", value }.into());
        }
        let vertical = GivenVertical::checked(options.vertical, options.tilt)?;
        let is_paper = matches!(method, Method::Paper | Method::PaperRandom);
        if let Some(name) = options.paper.first_set().filter(|_| !is_paper) {
            return Err(PlanError::PaperOnly { name });
        }
        let params = if method == Method::Default {
            MethodParams::Default(default_params(options)?)
        } else {
            check_default_only(options, method)?;
            check_scale(method, scale)?;
            let threshold = threshold(options)?.ok_or(PlanError::ThresholdNeeded { method })?;
            if is_paper {
                MethodParams::Paper(paper_params(options, method, threshold)?)
            } else {
                MethodParams::Baseline(threshold)
            }
        };
        let seed = options.seed.unwrap_or(0);
        Ok(Self { method, scale, seed, params, time_limit, correlation_length, vertical })
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// What is known of the scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The inlier threshold in target units; `None` when it is found from the data.
    pub fn threshold(&self) -> Option<Positive> {
        match &self.params {
            MethodParams::Default(params) => params.threshold(),
            MethodParams::Paper(params) => Some(params.inlier_threshold()),
            MethodParams::Baseline(threshold) => Some(*threshold),
        }
    }

    /// The given correlation length, in target units; `None` when it is measured.
    pub fn correlation_length(&self) -> Option<f64> {
        self.correlation_length
    }

    /// The time limit.
    pub fn time_limit(&self) -> Option<Duration> {
        self.time_limit
    }

    /// The vertical, if it is known.
    pub fn vertical(&self) -> Option<&Vertical> {
        self.vertical.as_ref()
    }

    /// Whether the method uses the weights of the matches.
    pub fn uses_weights(&self) -> bool {
        matches!(self.params, MethodParams::Default(_))
    }

    /// Starts the clock of the time limit.
    pub fn deadline(&self) -> Deadline {
        Deadline::new(self.time_limit)
    }

    /// Runs the search in the memory of `solvers`, and adds the covariance of the answer. It asks `stop` now and then whether to end; see [`Deadline::check`].
    ///
    /// # Errors
    /// When the tables of the method would need more memory than they may take, and when matches differ in noise and the method is not the default one.
    pub fn run(
        &self,
        pairs: &Correspondences,
        solvers: &mut Solvers,
        stop: StopCheck<'_>,
    ) -> Result<Registration, RunError> {
        let described;
        let pairs = if self.correlation_length.is_some() || self.vertical.is_some() {
            let mut more = pairs.clone();
            if let Some(length) = self.correlation_length {
                more = more.with_correlation_length(length)?;
            }
            if let Some(vertical) = self.vertical {
                more = more.with_vertical(vertical);
            }
            described = more;
            &described
        } else {
            pairs
        };
        info!("{} matches; {self}", pairs.len());
        let found = match &self.params {
            MethodParams::Default(params) => solvers.solve_default(pairs, self.scale, params, stop)?,
            MethodParams::Paper(params) => solvers.solve_paper(pairs, self.scale, params, stop)?,
            MethodParams::Baseline(threshold) => {
                solvers.solve(self.method, pairs, self.scale, *threshold, self.seed, stop)?
            }
        };
        // The default method tells what it found.
        if self.method != Method::Default {
            found.tell(self.threshold());
        }
        let found = found.with_covariance(pairs, self.scale);
        if let Some(covariance) = &found.covariance {
            info!("accuracy: {}", covariance.accuracy());
        }
        Ok(found)
    }
}

/// A fraction in percent, without the rounding error of the multiplication.
fn percent(fraction: f64) -> f64 {
    (1e14 * fraction).round() / 1e12
}

impl fmt::Display for SolvePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "method {}, scale {}, ", self.method, GivenScale::from(self.scale))?;
        match self.threshold() {
            Some(threshold) => write!(f, "threshold {}", number_text(threshold.get()))?,
            None => write!(f, "threshold from the data")?,
        }
        if let MethodParams::Paper(params) = &self.params {
            let least = params.min_inliers();
            write!(
                f,
                ", epsilon {}, grid step {}, stops at {} inliers and {} % of the matches, checked every {} hypotheses",
                number_text(params.epsilon().get()),
                number_text(params.grid_step().get()),
                least.at_least(),
                number_text(percent(least.fraction())),
                params.batch(),
            )?;
        }
        if let Some(length) = self.correlation_length {
            write!(f, ", correlation length {}", number_text(length))?;
        }
        if let Some(vertical) = &self.vertical {
            write!(f, "{}", vertical_text(vertical))?;
        }
        if self.method != Method::Paper {
            write!(f, ", seed {}", self.seed)?;
        }
        match self.time_limit {
            Some(limit) => write!(f, ", time limit {} s", number_text(limit.as_secs_f64())),
            None => Ok(()),
        }
    }
}

/// Checks that no parameter of the default method was given to another one.
fn check_default_only(options: &SolveOptions, method: Method) -> Result<(), PlanError> {
    let set = [
        ("candidates", options.candidates.is_some()),
        ("effort", options.effort.is_some()),
        ("miss_probability", options.miss_probability.is_some()),
        ("vertical", options.vertical.is_some()),
    ];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(PlanError::DefaultOnly { name, method }),
        None => Ok(()),
    }
}

/// Checks that a method other than the default one can do with what is known of the scale.
fn check_scale(method: Method, scale: Scale) -> Result<(), PlanError> {
    match scale {
        Scale::Between(..) => Err(PlanError::ScaleRange { method }),
        Scale::Unknown if !method.finds_scale() => Err(PlanError::ScaleNeeded { method }),
        _ => Ok(()),
    }
}

/// Inlier threshold, in standard deviations of the noise of a coordinate. Farther away are 1.5·10⁻⁵ of the right matches (χ² with three degrees of freedom).
const THRESHOLD_IN_DEVIATIONS: f64 = 5.0;

/// The inlier threshold, however it is given.
fn threshold(options: &SolveOptions) -> Result<Option<Positive>, PlanError> {
    let threshold = match (options.threshold, options.noise_bound) {
        (Some(_), Some(_)) => return Err(PlanError::ThresholdTwice),
        (None, Some(bound)) => Some(Positive::new(
            "threshold",
            THRESHOLD_IN_DEVIATIONS * Positive::new("noise_bound", bound)?.get(),
        )?),
        (None, None) => None,
        (Some(threshold), None) => Some(Positive::new("threshold", threshold)?),
    };
    Ok(threshold)
}

fn default_params(options: &SolveOptions) -> Result<Params, PlanError> {
    let mut params = Params::new().with_seed(options.seed.unwrap_or(0));
    if let Some(threshold) = threshold(options)? {
        params = params.with_threshold(threshold.get())?;
    }
    if let Some(threads) = options.threads {
        params = params.with_threads(threads);
    }
    if let Some(mib) = options.memory_budget_mib {
        params = params.with_memory_budget(mib.saturating_mul(MIB));
    }
    if let Some(candidates) = options.candidates {
        params = params.with_candidates(candidates)?;
    }
    if let Some(effort) = options.effort {
        params = params.with_effort(effort)?;
    }
    if let Some(probability) = options.miss_probability {
        params = params.with_miss_probability(probability)?;
    }
    Ok(params)
}

fn paper_params(
    options: &SolveOptions,
    method: Method,
    threshold: Positive,
) -> Result<paper::Params, PlanError> {
    let PaperOptions { epsilon, grid_step, batch, min_inliers, min_inlier_fraction, hypothesis_limit } =
        options.paper;
    let mut params = paper::Params::new(threshold.get())?;
    if let Some(epsilon) = epsilon {
        params = params.with_epsilon(epsilon)?;
    }
    if let Some(step) = grid_step {
        params = params.with_grid_step(step)?;
    }
    if let Some(batch) = batch {
        params = params.with_batch(batch)?;
    }
    if min_inliers.is_some() || min_inlier_fraction.is_some() {
        let usual = paper::MinInliers::default();
        let least = min_inliers.unwrap_or(usual.at_least());
        let fraction = min_inlier_fraction.unwrap_or(usual.fraction());
        params = params.with_min_inliers(paper::MinInliers::new(least, fraction)?);
    }
    if let Some(limit) = hypothesis_limit {
        params = params.with_hypothesis_limit(limit)?;
    }
    if let Some(mib) = options.memory_budget_mib {
        params = params.with_memory_budget(mib.saturating_mul(MIB));
    }
    Ok(match method {
        Method::PaperRandom => params.with_sampling(paper::Sampling::random(options.seed.unwrap_or(0))),
        _ => params,
    })
}
