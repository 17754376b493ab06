//! Reading and writing of clouds and matches.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pcr99_cloud::{Cloud, Matches, OutputFile};
use pyo3::{prelude::*, types::PyDict};

use crate::{
    arrays::{array, list, rows},
    error::Failure,
    work,
};

/// Reads the points of a cloud.
#[pyfunction]
pub(crate) fn read_points(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let read = move || pcr99_cloud::read_points(&path).map_err(Failure::file(&path));
    array(py, work::run(py, read)?)
}

/// Reads a cloud: a dictionary of `points`, `normals`, `colors`, `intensities` and `viewpoint`.
#[pyfunction]
pub(crate) fn read_cloud(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let read = move || pcr99_cloud::read_cloud(&path).map_err(Failure::file(&path));
    let Cloud { points, normals, colors, intensities, viewpoint } = work::run(py, read)?;
    let fields = PyDict::new(py);
    fields.set_item("points", array(py, points)?)?;
    fields.set_item("normals", normals.map(|normals| array(py, normals)).transpose()?)?;
    fields.set_item("colors", colors.map(|colors| array(py, colors)).transpose()?)?;
    fields.set_item("intensities", intensities.map(|list| list.into_pyarray(py)))?;
    fields.set_item("viewpoint", viewpoint.map(|place| PyArray1::from_slice(py, &place)))?;
    Ok(fields)
}

/// Writes a cloud, completely or not at all. Returns the number of removed non-finite points and the names of attributes that the format
/// cannot store.
#[pyfunction]
pub(crate) fn write_cloud(
    py: Python<'_>,
    path: PathBuf,
    points: PyReadonlyArray2<'_, f64>,
    normals: Option<PyReadonlyArray2<'_, f64>>,
    colors: Option<PyReadonlyArray2<'_, u8>>,
    intensities: Option<PyReadonlyArray1<'_, f64>>,
    viewpoint: Option<[f64; 3]>,
) -> PyResult<(usize, Vec<String>)> {
    let cloud = Cloud {
        points: rows(&points)?,
        normals: normals.map(|normals| rows(&normals)).transpose()?,
        colors: colors.map(|colors| rows(&colors)).transpose()?,
        intensities: intensities.map(|list| list.as_slice().map(<[f64]>::to_vec)).transpose()?,
        viewpoint,
    };
    let written =
        work::run_to_end(py, move |_| pcr99_cloud::write_cloud(&path, &cloud).map_err(Failure::file(&path)))?;
    Ok((written.dropped, written.lost))
}

/// Points of one side, and a number for each match.
type Points<'py> = Bound<'py, PyArray2<f64>>;
type Numbers<'py> = Option<Bound<'py, PyArray1<f64>>>;

/// Reads matches: source, target, weights and standard deviations.
#[pyfunction]
pub(crate) fn read_matches(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<(Points<'_>, Points<'_>, Numbers<'_>, Numbers<'_>)> {
    let read = move || pcr99_cloud::read_matches(&path).map_err(Failure::file(&path));
    let Matches { source, target, weights, standard_deviations } = work::run(py, read)?;
    let numbers = |list: Option<Vec<f64>>| list.map(|list| list.into_pyarray(py));
    Ok((array(py, source)?, array(py, target)?, numbers(weights), numbers(standard_deviations)))
}

/// Writes matches as text, completely or not at all.
#[pyfunction]
pub(crate) fn write_matches(
    py: Python<'_>,
    path: PathBuf,
    source: PyReadonlyArray2<'_, f64>,
    target: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    standard_deviations: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<()> {
    let (weights, standard_deviations) = (list(weights)?, list(standard_deviations)?);
    let matches = Matches { source: rows(&source)?, target: rows(&target)?, weights, standard_deviations };
    work::run_to_end(py, move |_| {
        let file = OutputFile::new(&path).map_err(Failure::file(&path))?;
        let written = file.write(|mut out| pcr99_cloud::write_matches(&mut out, &matches));
        written.map_err(Failure::file(&path))
    })
}
