//! Two raw clouds → transform.

use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pcr99::{Positive, Scale, Similarity, Status};
use pcr99_cloud::{RawCloud, Refinement, RegisterParams, register_until, verify::Assessment, voxel::Density};
use pyo3::prelude::*;

use crate::{
    arrays::{array, rows},
    error::Failure,
    solve::{GivenScale, Outcome, outcome, scale, similarity},
    work::{self, Interrupted},
};

/// A cloud made ready to be registered many times.
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
            let raw = RawCloud::new(&points).with_viewpoint(viewpoint)?.with_normals(normals.as_deref())?;
            Ok(work::with_threads(threads, || pcr99_cloud::PreparedCloud::new(raw))??)
        })?;
        Ok(Self { cloud: Arc::new(cloud) })
    }

    /// Points as they were given.
    #[getter]
    fn given(&self) -> usize {
        self.cloud.given()
    }

    /// Points left out: NaN or infinite.
    #[getter]
    fn not_finite(&self) -> usize {
        self.cloud.not_finite()
    }

    /// Points left out: equal to an earlier one.
    #[getter]
    fn duplicates(&self) -> usize {
        self.cloud.duplicates()
    }

    /// The points that are left, where they were given.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let middle = self.cloud.center();
        let place = |p: &[f64; 3]| std::array::from_fn(|axis| p[axis] + middle[axis]);
        array::<f64, 3>(py, self.cloud.points().iter().map(place).collect())
    }

    /// The middle of the cloud.
    #[getter]
    fn center<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.cloud.center())
    }
}

/// The options of `register`.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RegisterOptions {
    voxel: Option<f64>,
    scale: Option<GivenScale>,
    refine: Option<String>,
    candidates: Option<usize>,
    threads: Option<usize>,
    time_limit: Option<f64>,
    seed: u64,
}

impl RegisterOptions {
    fn params(&self, initial: Option<Similarity>) -> Result<RegisterParams, Failure> {
        let scale = scale(self.scale)?;
        let mut params = RegisterParams::new()
            .with_scale(scale)
            .with_seed(self.seed)
            .with_threads(work::thread_count(self.threads))
            .with_refinement(refinement(self.refine.as_deref())?);
        if let Some(voxel) = self.voxel {
            params = params.with_voxel(voxel)?;
        }
        if let Some(candidates) = self.candidates {
            params = params.with_candidates(candidates)?;
        }
        if let Some(initial) = initial {
            if let Scale::Known(known) = scale
                && (initial.scale() / known.get() - 1.0).abs() >= 1e-3
            {
                return Err(Failure::Value(format!(
                    "initial has scale {}, but scale={}: make them agree, or give scale=None",
                    initial.scale(),
                    known.get()
                )));
            }
            params = params.with_initial(initial);
        }
        Ok(params)
    }
}

fn refinement(name: Option<&str>) -> Result<Refinement, Failure> {
    match name {
        Some("point-to-plane") => Ok(Refinement::PointToPlane),
        Some("point-to-point") => Ok(Refinement::PointToPoint),
        None | Some("none") => Ok(Refinement::None),
        Some(other) => Err(Failure::Value(format!(
            "refine=\"{other}\" is unknown: give \"point-to-plane\", \"point-to-point\" or None"
        ))),
    }
}

/// Finds the transform between two clouds; with it come the matches that were searched, source and target beside each other.
#[pyfunction]
pub(crate) fn register<'py>(
    py: Python<'py>,
    source: Bound<'py, PreparedCloud>,
    target: Bound<'py, PreparedCloud>,
    initial: Option<PyReadonlyArray2<'py, f64>>,
    options: RegisterOptions,
) -> PyResult<(Outcome<'py>, Option<Bound<'py, PyArray2<f64>>>)> {
    let (source, target) = (Arc::clone(&source.get().cloud), Arc::clone(&target.get().cloud));
    let initial: Option<Vec<[f64; 4]>> = initial.map(|matrix| rows(&matrix)).transpose()?;
    let limit = options.time_limit;
    let (document, inliers, verdict, points) =
        work::run_until(py, limit, Interrupted::Leave, move |watch| {
            let initial = initial.map(|matrix| similarity("initial", &matrix)).transpose()?;
            let params = options.params(initial)?;
            let mut found = register_until(&source, &target, &params, &|| watch.check())?;
            let status = match found.status {
                Status::Registered => "registered",
                Status::NotReliable => "NOT RELIABLE",
                Status::NoSolution => "NO SOLUTION",
            };
            let inliers = found.matches.as_ref().map_or(Vec::new(), |matches| matches.inliers.clone());
            let points = found.matches.as_mut().map(|matches| std::mem::take(&mut matches.points));
            let document = pcr99_cloud::document::of_clouds(&found);
            Ok((document, inliers, format!("{status}: {}", found.reason()), points))
        })?;
    let beside = |[[a, b, c], [d, e, f]]: [[f64; 3]; 2]| [a, b, c, d, e, f];
    let points = points.map(|points| array(py, points.into_iter().map(beside).collect())).transpose()?;
    Ok((outcome(py, document, &inliers, verdict), points))
}

/// The edge of a voxel that suits two clouds, in units of the target.
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

/// What two clouds say of a pose: overlap of the source and of the target, share of agreeing normals, residual in voxels.
#[pyfunction]
pub(crate) fn verify(
    py: Python<'_>,
    source: Bound<'_, PreparedCloud>,
    target: Bound<'_, PreparedCloud>,
    transform: PyReadonlyArray2<'_, f64>,
    voxel: f64,
    threads: Option<usize>,
) -> PyResult<[f64; 6]> {
    let (source, target) = (Arc::clone(&source.get().cloud), Arc::clone(&target.get().cloud));
    let matrix: Vec<[f64; 4]> = rows(&transform)?;
    work::run(py, move || {
        let voxel = Positive::new("voxel", voxel)?.get();
        let pose = similarity("transform", &matrix)?;
        // Clouds are kept relative to their middle.
        let shift = |by: [f64; 3]| Similarity::from_translation(by);
        let inner = shift(source.center()).then(&pose).then(&shift(target.center().map(|x| -x)));
        let assessment = work::with_threads(threads, || {
            Assessment::of(&source.sampled(voxel / pose.scale()), &target.sampled(voxel), &inner, voxel)
        })?;
        let a = assessment;
        Ok([
            a.overlap_source,
            a.overlap_target,
            a.normal_agreement,
            a.residual_voxels,
            a.conflict_fraction,
            a.off_plane_fraction,
        ])
    })
}
