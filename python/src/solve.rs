//! Matches → transform.

use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pcr99::{Correspondences, Positive, Registration, Scale, Solver, paper};
use pcr99_baselines::{Method, Solvers};
use pyo3::prelude::*;
use serde_json::Value;

use crate::{
    arrays::{index_pairs, indices, rows},
    error::Failure,
    work,
};

/// A document without its inliers, the inliers, and the verdict in words.
pub(crate) type Outcome<'py> = (String, Bound<'py, PyArray1<i64>>, String);

/// `document` is given back without its inliers, of which there may be a million.
pub(crate) fn outcome<'py>(
    py: Python<'py>,
    mut document: Value,
    inliers: &[usize],
    verdict: String,
) -> Outcome<'py> {
    document["inliers"] = Value::Null;
    (document.to_string(), indices(py, inliers.iter().copied()), verdict)
}

/// What is known of the scale; nothing when it is not there.
#[derive(Debug, Clone, Copy, FromPyObject)]
pub(crate) enum GivenScale {
    Known(f64),
    Between(f64, f64),
}

/// As the library has it.
pub(crate) fn scale(given: Option<GivenScale>) -> Result<Scale, Failure> {
    Ok(match given {
        None => Scale::Unknown,
        Some(GivenScale::Known(s)) => Scale::known(s)?,
        Some(GivenScale::Between(low, high)) => Scale::between(low, high)?,
    })
}

/// The options of `solve`; those that are not there have the library's defaults.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SolveOptions {
    scale: Option<GivenScale>,
    threshold: Option<f64>,
    method: String,
    threads: Option<usize>,
    time_limit: Option<f64>,
    seed: u64,
    candidates: Option<usize>,
    memory_budget: Option<u64>,
    epsilon: Option<f64>,
    grid_step: Option<f64>,
    batch: Option<u64>,
    min_inliers: Option<usize>,
    min_inlier_fraction: Option<f64>,
    hypothesis_limit: Option<u64>,
}

/// A method with its parameters.
enum Plan {
    Default(pcr99::Params),
    Paper(paper::Params),
    Baseline(Method, Positive),
}

impl SolveOptions {
    fn plan(&self, method: Method, scale: Scale) -> Result<Plan, Failure> {
        let paper = matches!(method, Method::Paper | Method::PaperRandom);
        let of_paper = [
            ("epsilon", self.epsilon.is_some()),
            ("grid_step", self.grid_step.is_some()),
            ("batch", self.batch.is_some()),
            ("min_inliers", self.min_inliers.is_some()),
            ("min_inlier_fraction", self.min_inlier_fraction.is_some()),
            ("hypothesis_limit", self.hypothesis_limit.is_some()),
        ];
        if let Some((name, _)) = of_paper.iter().find(|(_, given)| *given && !paper) {
            return Err(Failure::Value(format!(
                "{name} is a parameter of the paper's methods: leave it out, or give method=\"paper\""
            )));
        }
        if method == Method::Default {
            return self.default_params().map(Plan::Default);
        }
        if self.candidates.is_some() {
            return Err(Failure::Value(format!(
                "candidates is a parameter of the default method: leave it out, or leave out method=\"{method}\""
            )));
        }
        if matches!(scale, Scale::Between(..)) {
            return Err(Failure::Value(format!(
                "method \"{method}\" takes no range of scales: give one number or None, or leave out method"
            )));
        }
        let threshold = self.threshold.ok_or_else(|| {
            Failure::Value(format!(
                "method \"{method}\" needs a threshold: how far a right match may be off, in target units (about five \
                 standard deviations of the noise)"
            ))
        })?;
        let threshold = Positive::new("threshold", threshold)?;
        if paper {
            return self.paper_params(threshold, method).map(Plan::Paper);
        }
        if !matches!(scale, Scale::Known(_)) && !method.finds_scale() {
            return Err(Failure::Value(format!(
                "method \"{method}\" must be told the scale: give a number, or leave out method"
            )));
        }
        Ok(Plan::Baseline(method, threshold))
    }

    fn default_params(&self) -> Result<pcr99::Params, Failure> {
        let mut params =
            pcr99::Params::new().with_seed(self.seed).with_threads(work::thread_count(self.threads));
        if let Some(threshold) = self.threshold {
            params = params.with_threshold(threshold)?;
        }
        if let Some(candidates) = self.candidates {
            params = params.with_candidates(candidates)?;
        }
        if let Some(mib) = self.memory_budget {
            params = params.with_memory_budget(mib.saturating_mul(1 << 20));
        }
        Ok(params)
    }

    fn paper_params(&self, threshold: Positive, method: Method) -> Result<paper::Params, Failure> {
        let mut params = paper::Params::new(threshold.get())?;
        if let Some(epsilon) = self.epsilon {
            params = params.with_epsilon(epsilon)?;
        }
        if let Some(step) = self.grid_step {
            params = params.with_grid_step(step)?;
        }
        if let Some(batch) = self.batch {
            params = params.with_batch(batch)?;
        }
        if self.min_inliers.is_some() || self.min_inlier_fraction.is_some() {
            let usual = paper::MinInliers::default();
            let least = self.min_inliers.unwrap_or(usual.at_least());
            let fraction = self.min_inlier_fraction.unwrap_or(usual.fraction());
            params = params.with_min_inliers(paper::MinInliers::new(least, fraction)?);
        }
        if let Some(limit) = self.hypothesis_limit {
            params = params.with_hypothesis_limit(limit)?;
        }
        if let Some(mib) = self.memory_budget {
            params = params.with_memory_budget(mib.saturating_mul(1 << 20));
        }
        Ok(match method {
            Method::PaperRandom => params.with_sampling(paper::Sampling::random(self.seed)),
            _ => params,
        })
    }
}

/// Matches as they were given.
struct Given {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    indices: Option<Vec<[usize; 2]>>,
    weights: Option<Vec<f64>>,
}

impl Given {
    fn new(
        py: Python<'_>,
        source: &PyReadonlyArray2<'_, f64>,
        target: &PyReadonlyArray2<'_, f64>,
        indices: Option<PyReadonlyArray2<'_, i64>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let pairs = indices.map(|indices| index_pairs(&indices)).transpose()?;
        let pairs = pairs.transpose().map_err(|failure| failure.raised(py))?;
        let weights = weights.map(|weights| weights.as_slice().map(<[f64]>::to_vec)).transpose()?;
        Ok(Self { source: rows(source)?, target: rows(target)?, indices: pairs, weights })
    }

    fn checked(&self) -> Result<Correspondences, Failure> {
        let pairs = match &self.indices {
            Some(indices) => Correspondences::from_indices(&self.source, &self.target, indices)?,
            None => Correspondences::new(&self.source, &self.target)?,
        };
        Ok(match &self.weights {
            Some(weights) => pairs.with_weights(weights)?,
            None => pairs,
        })
    }
}

/// Finds the transform from matches.
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    source: PyReadonlyArray2<'py, f64>,
    target: PyReadonlyArray2<'py, f64>,
    indices: Option<PyReadonlyArray2<'py, i64>>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    options: SolveOptions,
) -> PyResult<Outcome<'py>> {
    let given = Given::new(py, &source, &target, indices, weights)?;
    let limit = options.time_limit;
    let (document, found, verdict) = work::run_here(py, limit, move |stop| {
        let method: Method = options.method.parse()?;
        let scale = scale(options.scale)?;
        let plan = options.plan(method, scale)?;
        let pairs = given.checked()?;
        let found = match plan {
            Plan::Default(params) => Solver::new().solve_until(&pairs, scale, &params, stop)?,
            Plan::Paper(params) => paper::Solver::new().solve_until(&pairs, scale, &params, stop)?,
            Plan::Baseline(method, threshold) => {
                Solvers::new().solve(method, &pairs, scale, threshold, options.seed, stop)?
            }
        };
        Ok(described(method.name(), pairs.len(), found))
    })?;
    Ok(outcome(py, document, &found, verdict))
}

/// The document without its inliers, these, and the verdict.
fn described(method: &str, matches: usize, mut found: Registration) -> (Value, Vec<usize>, String) {
    let verdict = pcr99_cli::verdict(&found);
    let inliers = std::mem::take(&mut found.inliers);
    (pcr99_cloud::document::of_matches(method, matches, &found), inliers, verdict)
}

/// Judges a transform from elsewhere.
#[pyfunction]
pub(crate) fn assess<'py>(
    py: Python<'py>,
    source: PyReadonlyArray2<'py, f64>,
    target: PyReadonlyArray2<'py, f64>,
    indices: Option<PyReadonlyArray2<'py, i64>>,
    transform: PyReadonlyArray2<'py, f64>,
    threshold: f64,
) -> PyResult<Outcome<'py>> {
    let given = Given::new(py, &source, &target, indices, None)?;
    let matrix: Vec<[f64; 4]> = rows(&transform)?;
    let (document, found, verdict) = work::run(py, move || {
        let threshold = Positive::new("threshold", threshold)?;
        let model = similarity("transform", &matrix)?;
        let pairs = given.checked()?;
        Ok(described("assess", pairs.len(), pcr99::assess(&pairs, &model, threshold)))
    })?;
    Ok(outcome(py, document, &found, verdict))
}

/// The transform of a 4×4 matrix.
pub(crate) fn similarity(name: &str, rows: &[[f64; 4]]) -> Result<pcr99::Similarity, Failure> {
    let matrix: Option<&[[f64; 4]; 4]> = rows.try_into().ok();
    let wrong = || {
        Failure::Value(format!(
            "{name} is not [sR t; 0 1] with a rotation R and a positive scale s: check that it is not transposed"
        ))
    };
    matrix.and_then(|matrix| pcr99::Similarity::from_matrix(matrix).ok()).ok_or_else(wrong)
}

/// The names of the methods.
#[pyfunction]
pub(crate) fn methods() -> Vec<&'static str> {
    Method::ALL.map(Method::name).to_vec()
}
