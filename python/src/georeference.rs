//! The transform of control points.

use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pcr99::ControlPoint;
use pcr99_plan::{SolveOptions, SolvePlan};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arrays::{array, list, rows},
    error::Failure,
    solve::{PyScale, given_scale, named},
    work,
};

/// Finds the transform of control points: a dictionary of the result.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called only by the package")]
pub(crate) fn georeference<'py>(
    py: Python<'py>,
    names: Vec<String>,
    local: PyReadonlyArray2<'py, f64>,
    world: PyReadonlyArray2<'py, f64>,
    deviations: Option<PyReadonlyArray1<'py, f64>>,
    scale: Option<PyScale>,
    vertical: Option<String>,
    tilt: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let (local, world): (Vec<[f64; 3]>, Vec<[f64; 3]>) = (rows(&local)?, rows(&world)?);
    let deviations = list(deviations)?;
    let found = work::run(py, move || {
        // The rules of scale and vertical are those of `solve`.
        let plan = SolvePlan::new(&SolveOptions {
            scale: Some(given_scale(scale)),
            vertical: vertical.map(|text| named("vertical", &text, str::parse)).transpose()?,
            tilt,
            ..SolveOptions::default()
        })?;
        let mut points: Vec<ControlPoint> = (names.into_iter().zip(local).zip(world))
            .map(|((name, local), world)| ControlPoint::new(name, local, world))
            .collect();
        for (point, deviation) in points.iter_mut().zip(deviations.into_iter().flatten()) {
            point.deviation = Some(deviation);
        }
        pcr99::georeference(&points, plan.scale(), plan.vertical())
            .map_err(|error| Failure::Value(error.to_string()))
    })?;
    let covariance = PyArray2::from_vec2(py, &found.covariance.matrix)?;
    let result = PyDict::new(py);
    let matrix: Vec<[f64; 4]> = found.world_from_local.matrix().to_vec();
    result.set_item("transform", array(py, matrix)?)?;
    result.set_item("scale", found.world_from_local.scale())?;
    result.set_item("accuracy", found.covariance.accuracy().to_string())?;
    result.set_item("covariance", covariance)?;
    result.set_item("covariance_center", found.covariance.center.to_vec())?;
    result.set_item("residuals", array(py, found.points.iter().map(|point| point.residual).collect())?)?;
    result.set_item("is_used", found.points.iter().map(|point| point.is_used).collect::<Vec<bool>>())?;
    result.set_item("rmse", found.rmse)?;
    result.set_item("redundancy", found.redundancy)?;
    result.set_item("check", found.check().to_string())?;
    result.set_item("is_supported", found.is_supported())?;
    Ok(result)
}
