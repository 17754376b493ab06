//! Registration of matches.

use std::cell::Cell;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pcr99::{Clock, Correspondences, Positive, Seconds};
use pcr99_document::Document as ResultDocument;
use pcr99_plan::{GivenScale, Method, PaperOptions, SolvePlan, Solvers, text};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString},
};

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

/// Checked options of `solve`. Those that the package leaves out have their defaults.
fn solve_plan(given: &Bound<'_, PyDict>) -> PyResult<Result<SolvePlan, Failure>> {
    let (mut options, mut paper) = (pcr99_plan::SolveOptions::default(), PaperOptions::default());
    options.threads = given_threads(None);
    for (name, value) in given {
        let name = name.cast::<PyString>()?;
        match &*name.to_cow()? {
            "scale" => options.scale = Some(given_scale(value.extract()?)),
            "threshold" => options.threshold = Some(value.extract()?),
            "noise_bound" => options.noise_bound = Some(value.extract()?),
            "method" => match named("method", &value.cast::<PyString>()?.to_cow()?, text::method) {
                Ok(method) => options.method = Some(method),
                Err(failure) => return Ok(Err(failure)),
            },
            "threads" => options.threads = given_threads(Some(value.extract()?)),
            "time_limit" => options.time_limit = Some(value.extract()?),
            "seed" => options.seed = Some(value.extract()?),
            "candidates" => options.candidates = Some(value.extract()?),
            "effort" => options.effort = Some(value.extract()?),
            "miss_probability" => options.miss_probability = Some(value.extract()?),
            "correlation_length" => options.correlation_length = Some(value.extract()?),
            "vertical" => match named("vertical", &value.cast::<PyString>()?.to_cow()?, str::parse) {
                Ok(vertical) => options.vertical = Some(vertical),
                Err(failure) => return Ok(Err(failure)),
            },
            "tilt" => options.tilt = Some(value.extract()?),
            "memory_budget" => options.memory_budget_mib = Some(value.extract()?),
            "epsilon" => paper.epsilon = Some(value.extract()?),
            "grid_step" => paper.grid_step = Some(value.extract()?),
            "batch" => paper.batch = Some(value.extract()?),
            "min_inliers" => paper.min_inliers = Some(value.extract()?),
            "min_inlier_fraction" => paper.min_inlier_fraction = Some(value.extract()?),
            "hypothesis_limit" => paper.hypothesis_limit = Some(value.extract()?),
            other => return Err(PyTypeError::new_err(format!("there is no option `{other}`"))),
        }
    }
    options.paper = paper;
    Ok(SolvePlan::new(&options).map_err(Failure::from))
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

    /// The matches, checked, in the memory of `earlier` ones if there are any.
    fn checked(&self, earlier: Option<Correspondences>) -> Result<Correspondences, Failure> {
        let pairs = match (&self.indices, earlier) {
            (Some(indices), _) => Correspondences::from_indices(&self.source, &self.target, indices)?,
            (None, Some(earlier)) => Correspondences::new_reusing(earlier, &self.source, &self.target)?,
            (None, None) => Correspondences::new(&self.source, &self.target)?,
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

/// Memory that a thread keeps from one call to the next.
struct Kept {
    solvers: Solvers,
    /// Matches of the call before.
    pairs: Option<Correspondences>,
    /// The process that they belong to. A child of `fork` has their memory, but not their threads.
    process: u32,
}

/// Largest number of matches after which a solver of the default method is kept. Its tables take up to 30 MiB; allocating larger ones takes little time beside filling them.
const MOST_KEPT: usize = 2048;
/// Largest number for the other methods, whose tables over pairs take 8 MiB then.
const MOST_KEPT_OTHERS: usize = 1024;

thread_local! {
    static KEPT: Cell<Option<Kept>> = const { Cell::new(None) };
}

impl Kept {
    /// What this thread has kept. After a failure nothing is put back, so that the next call starts afresh.
    fn take() -> Self {
        let process = std::process::id();
        match KEPT.take() {
            Some(kept) if kept.process == process => kept,
            other => {
                // Ending the threads of another process could wait for ever.
                std::mem::forget(other);
                Self { solvers: Solvers::new(), pairs: None, process }
            }
        }
    }

    /// Keeps the memory of a call with a given method, unless that is too much.
    fn put_back(self, method: Method, pairs: Correspondences) {
        let most = if method == Method::Default { MOST_KEPT } else { MOST_KEPT_OTHERS };
        if pairs.len() <= most {
            KEPT.set(Some(Self { pairs: Some(pairs), ..self }));
        }
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
    options: Bound<'py, PyDict>,
) -> PyResult<Document> {
    let mut clock = Clock::start();
    let plan = solve_plan(&options)?.map_err(|failure| failure.raised(py))?;
    let matches = Matches::new(py, &source, &target, indices, weights, standard_deviations)?;
    work::run_here(py, plan.deadline(), move |stop| {
        let mut kept = Kept::take();
        let pairs = matches.checked(kept.pairs.take())?;
        clock.lap(Seconds::PREPARING);
        let mut found = plan.run(&pairs, &mut kept.solvers, stop)?;
        found.seconds = found.seconds.preceded_by(&clock.stop());
        kept.put_back(plan.method(), pairs);
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
        let mut pairs = matches.checked(None)?;
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
