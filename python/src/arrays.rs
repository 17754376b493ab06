//! Conversion between `NumPy` arrays and lists of rows.
//!
//! Input is copied, because other Python threads may change an array during the work.

use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::error::Failure;

/// Rows of a contiguous N×`COLUMNS` array. The package checks the shape before; any other array is an error here.
pub(crate) fn rows<T: Element + Copy, const COLUMNS: usize>(
    array: &PyReadonlyArray2<'_, T>,
) -> PyResult<Vec<[T; COLUMNS]>> {
    let (rows, rest) = array.as_slice()?.as_chunks::<COLUMNS>();
    if array.as_array().ncols() != COLUMNS || !rest.is_empty() {
        return Err(PyValueError::new_err(format!("expected an array with {COLUMNS} columns")));
    }
    Ok(rows.to_vec())
}

/// Numbers of a contiguous list, if there is one.
pub(crate) fn list(array: Option<PyReadonlyArray1<'_, f64>>) -> PyResult<Option<Vec<f64>>> {
    Ok(array.map(|array| array.as_slice().map(<[f64]>::to_vec)).transpose()?)
}

/// Index pairs of an N×2 array; a negative index is an error.
pub(crate) fn index_pairs(array: &PyReadonlyArray2<'_, i64>) -> PyResult<Result<Vec<[usize; 2]>, Failure>> {
    let rows = rows::<i64, 2>(array)?;
    let pair = |(row, pair): (usize, &[i64; 2])| {
        let [Ok(a), Ok(b)] = pair.map(usize::try_from) else {
            let [a, b] = pair;
            return Err(Failure::Value(format!(
                "`indices` has a negative index in row {row} (counted from 0), ({a}, {b}): indices count from 0"
            )));
        };
        Ok([a, b])
    };
    Ok(rows.iter().enumerate().map(pair).collect())
}

/// N×`COLUMNS` array of the `rows`.
pub(crate) fn array<T: Element, const COLUMNS: usize>(
    py: Python<'_>,
    rows: Vec<[T; COLUMNS]>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = [rows.len(), COLUMNS];
    rows.into_flattened().into_pyarray(py).reshape(shape)
}

/// One-dimensional array of indices.
pub(crate) fn indices<I: TryInto<i64>>(
    py: Python<'_>,
    list: impl IntoIterator<Item = I>,
) -> Bound<'_, PyArray1<i64>> {
    let index = |i: I| i.try_into().unwrap_or(i64::MAX);
    list.into_iter().map(index).collect::<Vec<i64>>().into_pyarray(py)
}
