//! Registration of two clouds.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pcr99::{Positive, Seconds, Similarity};
use pcr99_cloud::{RawCloud, verify::Assessment, voxel::Density};
use pcr99_document::{Document as ResultDocument, Inputs};
use pcr99_plan::text;
use pyo3::prelude::*;

use crate::{
    arrays::{array, rows},
    document::{Document, FitFields, fit_fields},
    error::Failure,
    solve::{PyScale, given_scale, given_threads, named, similarity},
    work::{self, Interrupted},
};

/// Cloud that is prepared once and registered many times.
#[pyclass(frozen, module = "pcr99._core")]
#[derive(Debug)]
pub(crate) struct PreparedCloud {
    cloud: Arc<pcr99_cloud::PreparedCloud>,
}

#[pymethods]
impl PreparedCloud {
    #[new]
    fn new(
        py: Python<'_>,
        points: PyReadonlyArray2<'_, f64>,
        normals: Option<PyReadonlyArray2<'_, f64>>,
        viewpoint: Option<[f64; 3]>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let points: Vec<[f64; 3]> = rows(&points)?;
        let normals: Option<Vec<[f64; 3]>> = normals.map(|normals| rows(&normals)).transpose()?;
        let cloud = work::run(py, move || {
            let raw = RawCloud::new(points).with_viewpoint(viewpoint)?.with_normals(normals.as_deref())?;
            Ok(work::with_threads(threads, || pcr99_cloud::PreparedCloud::new(raw))??)
        })?;
        Ok(Self { cloud: Arc::new(cloud) })
    }

    /// Number of points that were passed.
    #[getter]
    fn given(&self) -> usize {
        self.cloud.given()
    }

    /// Number of removed points that were NaN or infinite.
    #[getter]
    fn not_finite(&self) -> usize {
        self.cloud.not_finite()
    }

    /// Number of removed points that were equal to an earlier one.
    #[getter]
    fn duplicates(&self) -> usize {
        self.cloud.duplicates()
    }

    /// Points that are kept, in the coordinates of the caller.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let center = self.cloud.center();
        let point = |p: &[f64; 3]| std::array::from_fn(|axis| p[axis] + center[axis]);
        array::<f64, 3>(py, self.cloud.points().iter().map(point).collect())
    }

    /// Median of the points on each axis.
    #[getter]
    fn center<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.cloud.center())
    }
}

/// Options of `register`; `None` means the default.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RegisterOptions {
    voxel: Option<f64>,
    scale: Option<PyScale>,
    refine: String,
    vertical: Option<String>,
    tilt: Option<f64>,
    candidates: Option<usize>,
    threads: Option<usize>,
    time_limit: Option<f64>,
    seed: u64,
    is_local: bool,
}

/// Running clock of a time limit.
#[pyclass(frozen, module = "pcr99._core")]
#[derive(Debug)]
pub(crate) struct Deadline(pcr99_plan::Deadline);

/// Checked options of `register`. They are checked before the clouds are read.
#[pyclass(frozen, module = "pcr99._core")]
#[derive(Debug)]
pub(crate) struct RegisterPlan(pcr99_plan::RegisterPlan);

#[pymethods]
impl RegisterPlan {
    #[new]
    fn new(
        py: Python<'_>,
        initial: Option<PyReadonlyArray2<'_, f64>>,
        options: RegisterOptions,
    ) -> PyResult<Self> {
        let initial: Option<Vec<[f64; 4]>> = initial.map(|matrix| rows(&matrix)).transpose()?;
        let plan = || -> Result<_, Failure> {
            let options = pcr99_plan::RegisterOptions {
                scale: Some(given_scale(options.scale)),
                voxel: options.voxel,
                refine: Some(named("refine", &options.refine, text::refinement)?),
                initial: initial.map(|matrix| similarity("initial", &matrix)).transpose()?,
                is_local: options.is_local,
                vertical: options.vertical.map(|text| named("vertical", &text, str::parse)).transpose()?,
                tilt: options.tilt,
                candidates: options.candidates,
                threads: given_threads(options.threads),
                time_limit: options.time_limit,
                seed: Some(options.seed),
            };
            Ok(pcr99_plan::RegisterPlan::new(&options)?)
        };
        plan().map(Self).map_err(|failure| failure.raised(py))
    }

    /// Starts the clock of the time limit.
    fn deadline(&self) -> Deadline {
        Deadline(self.0.deadline())
    }

    /// Finds the transform between two clouds, whose files are named by `source_file` and `target_file`. `reading` and `preparing` are the seconds that they took. Also returns
    /// the matches that were searched, K×6.
    #[expect(clippy::too_many_arguments, reason = "the package passes each by position")]
    fn run<'py>(
        &self,
        py: Python<'py>,
        source: Bound<'py, PreparedCloud>,
        target: Bound<'py, PreparedCloud>,
        source_file: Option<String>,
        target_file: Option<String>,
        reading: f64,
        preparing: f64,
        deadline: Bound<'py, Deadline>,
    ) -> PyResult<(Document, Option<Bound<'py, PyArray2<f64>>>)> {
        let (source, target) = (Arc::clone(&source.get().cloud), Arc::clone(&target.get().cloud));
        let plan = self.0.clone();
        let mut stages = vec![(Seconds::PREPARING, preparing)];
        if source_file.is_some() || target_file.is_some() {
            stages.insert(0, (Seconds::READING, reading));
        }
        let input = Seconds::new(reading + preparing, stages);
        let (document, points) = work::run_until(py, deadline.get().0, Interrupted::Leave, move |watch| {
            let mut found = plan.run(&source, &target, &|| watch.check())?;
            found.seconds = found.seconds.preceded_by(&input);
            let points = found.matches.as_mut().map(|matches| std::mem::take(&mut matches.points));
            Ok((ResultDocument::of_clouds(&found), points))
        })?;
        let mut inputs = Inputs::default();
        (inputs.source, inputs.target) = (source_file, target_file);
        let is_from_file = inputs != Inputs::default();
        let document = Document(document.with_inputs(is_from_file.then_some(inputs)));
        let row = |[[a, b, c], [d, e, f]]: [[f64; 3]; 2]| [a, b, c, d, e, f];
        let points = points.map(|points| array(py, points.into_iter().map(row).collect())).transpose()?;
        Ok((document, points))
    }
}

/// Default voxel edge for two clouds, in target units.
#[pyfunction]
pub(crate) fn suggest_voxel(
    py: Python<'_>,
    source: Bound<'_, PreparedCloud>,
    target: Bound<'_, PreparedCloud>,
    scale: f64,
) -> PyResult<f64> {
    let (source, target) = (Arc::clone(&source.get().cloud), Arc::clone(&target.get().cloud));
    work::run(py, move || {
        let scale = Positive::new("scale", scale)?.get();
        Ok(Density::common_voxel(&source.density().scaled(scale), target.density()))
    })
}

/// Fit of two clouds under a transform. Without `voxel`, the default voxel edge is used.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    source: Bound<'_, PreparedCloud>,
    target: Bound<'_, PreparedCloud>,
    transform: PyReadonlyArray2<'_, f64>,
    voxel: Option<f64>,
    threads: Option<usize>,
) -> PyResult<FitFields> {
    let (source, target) = (Arc::clone(&source.get().cloud), Arc::clone(&target.get().cloud));
    let matrix: Vec<[f64; 4]> = rows(&transform)?;
    work::run(py, move || {
        let pose = similarity("transform", &matrix)?;
        let voxel = match voxel {
            Some(voxel) => Positive::new("voxel", voxel)?.get(),
            None => Density::common_voxel(&source.density().scaled(pose.scale()), target.density()),
        };
        // Prepared clouds are relative to their centers.
        let shift = |by: [f64; 3]| Similarity::from_translation(by);
        let inner = shift(source.center()).then(&pose).then(&shift(target.center().map(|x| -x)));
        let assessment = work::with_threads(threads, || {
            Assessment::of(&source.sampled(voxel / pose.scale()), &target.sampled(voxel), &inner, voxel)
        })?;
        Ok(fit_fields(&assessment.into()))
    })
}
