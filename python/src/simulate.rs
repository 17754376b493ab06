//! Simulated problems with known truth.

use numpy::{PyArray2, PyReadonlyArray2};
use pcr99_lab::{OutlierCenter, Recipe, ScaleChoice, Shape};
use pyo3::prelude::*;

use crate::{
    arrays::{array, rows},
    error::Failure,
    work,
};

/// Generates a problem: source points, target points, and the truth as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "one argument for each option")]
#[expect(clippy::type_complexity, reason = "two arrays and a text")]
pub(crate) fn simulate<'py>(
    py: Python<'py>,
    points: usize,
    outliers: f64,
    outlier_center: &str,
    noise: f64,
    scale: Option<f64>,
    shape: Option<&str>,
    cloud: Option<PyReadonlyArray2<'py, f64>>,
    seed: u64,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, String)> {
    let center = OutlierCenter::ALL.into_iter().find(|center| center.name() == outlier_center);
    let shape = match (cloud, shape) {
        (Some(cloud), name) => {
            Some(Shape::Cloud { name: name.unwrap_or("points").to_owned(), points: rows(&cloud)? })
        }
        (None, Some(name)) => Some(Shape::builtin(name).ok_or_else(|| {
            let known = Shape::BUILTIN_NAMES.join(", ");
            Failure::Value(format!("`shape` must be one of {known}, or a file, got `{name}`")).raised(py)
        })?),
        (None, None) => None,
    };
    let problem = work::run(py, move || {
        let center = center.ok_or_else(|| {
            let known = OutlierCenter::ALL.map(OutlierCenter::name).join("\" or \"");
            Failure::Value(format!("`outlier_center` must be \"{known}\""))
        })?;
        let mut recipe = Recipe::default();
        if let Some(shape) = shape {
            recipe = recipe.with_shape(shape)?;
        }
        let recipe = recipe
            .with_points(points)?
            .with_outlier_ratio(outliers)?
            .with_noise(noise)?
            .with_scale(scale.map_or(ScaleChoice::Random, ScaleChoice::Fixed))?
            .with_outlier_center(center)
            .with_seed(seed);
        Ok(recipe.generate()?)
    })?;
    let truth = problem.truth_document().to_json();
    Ok((array(py, problem.source)?, array(py, problem.target)?, truth))
}

/// Names of the built-in shapes.
#[pyfunction]
pub(crate) fn shapes() -> Vec<&'static str> {
    Shape::BUILTIN_NAMES.to_vec()
}
