//! Registration of matches.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pcr99::{Clock, Correspondences, Positive, Seconds};
use pcr99_document::Document as ResultDocument;
use pcr99_plan::{GivenScale, Method, PaperOptions, SolvePlan, Solvers, text};
use pyo3::prelude::*;

use crate::{
    arrays::{index_pairs, list, rows},
    document::Document,
    error::Failure,
    work,
};

/// Scale as the package passes it; `None` is an unknown scale.
#[derive(Debug, Clone, Copy, FromPyObject)]
pub(crate) enum PyScale {
    Known(f64),
    Range(f64, f64),
}

/// Scale as the plan takes it.
pub(crate) fn given_scale(scale: Option<PyScale>) -> GivenScale {
    match scale {
        None => GivenScale::Unknown,
        Some(PyScale::Known(scale)) => GivenScale::Known(scale),
        Some(PyScale::Range(low, high)) => GivenScale::Range(low, high),
    }
}

/// Number of threads as the plan takes it. 0 stays 0, so that the plan can refuse it.
pub(crate) fn given_threads(threads: Option<usize>) -> Option<usize> {
    if threads == Some(0) { threads } else { Some(work::thread_count(threads)) }
}

/// Options of `solve`; `None` means the default.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SolveOptions {
    scale: Option<PyScale>,
    threshold: Option<f64>,
    method: String,
    threads: Option<usize>,
    time_limit: Option<f64>,
    seed: u64,
    candidates: Option<usize>,
    effort: Option<u64>,
    miss_probability: Option<f64>,
    correlation_length: Option<f64>,
    memory_budget: Option<u64>,
    epsilon: Option<f64>,
    grid_step: Option<f64>,
    batch: Option<u64>,
    min_inliers: Option<usize>,
    min_inlier_fraction: Option<f64>,
    hypothesis_limit: Option<u64>,
}

impl SolveOptions {
    fn plan(&self) -> Result<SolvePlan, Failure> {
        let options = pcr99_plan::SolveOptions {
            scale: Some(given_scale(self.scale)),
            threshold: self.threshold,
            method: Some(named("method", &self.method, text::method)?),
            threads: given_threads(self.threads),
            memory_budget_mib: self.memory_budget,
            time_limit: self.time_limit,
            seed: Some(self.seed),
            candidates: self.candidates,
            effort: self.effort,
            miss_probability: self.miss_probability,
            correlation_length: self.correlation_length,
            paper: PaperOptions {
                epsilon: self.epsilon,
                grid_step: self.grid_step,
                batch: self.batch,
                min_inliers: self.min_inliers,
                min_inlier_fraction: self.min_inlier_fraction,
                hypothesis_limit: self.hypothesis_limit,
            },
        };
        Ok(SolvePlan::new(&options)?)
    }
}

/// Value of the option `name` with the given `text`.
pub(crate) fn named<T>(
    name: &str,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, text::Expected>,
) -> Result<T, Failure> {
    parse(text).map_err(|expected| Failure::Value(format!("`{name}` is `{text}`: {expected}")))
}

/// Matches as the caller passed them.
struct Matches {
    source: Vec<[f64; 3]>,
    target: Vec<[f64; 3]>,
    indices: Option<Vec<[usize; 2]>>,
    weights: Option<Vec<f64>>,
    standard_deviations: Option<Vec<f64>>,
}

impl Matches {
    fn new(
        py: Python<'_>,
        source: &PyReadonlyArray2<'_, f64>,
        target: &PyReadonlyArray2<'_, f64>,
        indices: Option<PyReadonlyArray2<'_, i64>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        standard_deviations: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let pairs = indices.map(|indices| index_pairs(&indices)).transpose()?;
        let pairs = pairs.transpose().map_err(|failure| failure.raised(py))?;
        let (weights, standard_deviations) = (list(weights)?, list(standard_deviations)?);
        let (source, target) = (rows(source)?, rows(target)?);
        Ok(Self { source, target, indices: pairs, weights, standard_deviations })
    }

    fn checked(&self) -> Result<Correspondences, Failure> {
        let pairs = match &self.indices {
            Some(indices) => Correspondences::from_indices(&self.source, &self.target, indices)?,
            None => Correspondences::new(&self.source, &self.target)?,
        };
        let pairs = match &self.weights {
            Some(weights) => pairs.with_weights(weights)?,
            None => pairs,
        };
        Ok(match &self.standard_deviations {
            Some(deviations) => pairs.with_standard_deviations(deviations)?,
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
    standard_deviations: Option<PyReadonlyArray1<'py, f64>>,
    options: SolveOptions,
) -> PyResult<Document> {
    let mut clock = Clock::start();
    let plan = options.plan().map_err(|failure| failure.raised(py))?;
    let matches = Matches::new(py, &source, &target, indices, weights, standard_deviations)?;
    work::run_here(py, plan.deadline(), move |stop| {
        let pairs = matches.checked()?;
        clock.lap(Seconds::PREPARING);
        let mut found = plan.run(&pairs, &mut Solvers::new(), stop)?;
        found.seconds = found.seconds.preceded_by(&clock.stop());
        Ok(Document(ResultDocument::of_matches(plan.method().name(), &found)))
    })
}

/// Options of `assess`.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AssessOptions {
    threshold: f64,
    correlation_length: Option<f64>,
}

/// Judges a given transform.
#[pyfunction]
pub(crate) fn assess<'py>(
    py: Python<'py>,
    source: PyReadonlyArray2<'py, f64>,
    target: PyReadonlyArray2<'py, f64>,
    indices: Option<PyReadonlyArray2<'py, i64>>,
    standard_deviations: Option<PyReadonlyArray1<'py, f64>>,
    transform: PyReadonlyArray2<'py, f64>,
    options: AssessOptions,
) -> PyResult<Document> {
    let mut clock = Clock::start();
    let matches = Matches::new(py, &source, &target, indices, None, standard_deviations)?;
    let matrix: Vec<[f64; 4]> = rows(&transform)?;
    work::run(py, move || {
        let threshold = Positive::new("threshold", options.threshold)?;
        let model = similarity("transform", &matrix)?;
        let mut pairs = matches.checked()?;
        if let Some(length) = options.correlation_length {
            pairs = pairs.with_correlation_length(length)?;
        }
        clock.lap(Seconds::PREPARING);
        let mut found = pcr99::assess(&pairs, &model, threshold);
        clock.lap("evidence");
        found.seconds = clock.stop();
        Ok(Document(ResultDocument::of_matches("assess", &found)))
    })
}

/// Similarity transform of a 4×4 matrix, the value of the argument `name`.
pub(crate) fn similarity(name: &str, rows: &[[f64; 4]]) -> Result<pcr99::Similarity, Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::Value(format!("`{name}`: {error}"));
    let matrix: &[[f64; 4]; 4] = rows.try_into().map_err(|_| wrong(&"expected a 4×4 matrix"))?;
    pcr99::Similarity::from_matrix(matrix).map_err(|error| wrong(&error))
}

/// Names of the methods.
#[pyfunction]
pub(crate) fn methods() -> Vec<&'static str> {
    Method::ALL.map(Method::name).to_vec()
}
