//! Arrays of `NumPy` to and from our own lists.
//!
//! What comes in is copied: other Python threads may change an array while we work on it.

use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::error::Failure;

/// The rows of an N×`COLUMNS` array; the package has seen to it that it is one, without gaps.
pub(crate) fn rows<T: Element + Copy, const COLUMNS: usize>(
    array: &PyReadonlyArray2<'_, T>,
) -> PyResult<Vec<[T; COLUMNS]>> {
    let (rows, rest) = array.as_slice()?.as_chunks::<COLUMNS>();
    if array.as_array().ncols() != COLUMNS || !rest.is_empty() {
        return Err(PyValueError::new_err(format!("an array with {COLUMNS} columns is needed")));
    }
    Ok(rows.to_vec())
}

/// Index pairs.
pub(crate) fn index_pairs(array: &PyReadonlyArray2<'_, i64>) -> PyResult<Result<Vec<[usize; 2]>, Failure>> {
    let rows = rows::<i64, 2>(array)?;
    let pair = |(row, pair): (usize, &[i64; 2])| {
        let [Ok(a), Ok(b)] = pair.map(usize::try_from) else {
            let [a, b] = pair;
            return Err(Failure::Value(format!(
                "indices: row {row} (counted from 0) is ({a}, {b}): indices count from 0, none is negative"
            )));
        };
        Ok([a, b])
    };
    Ok(rows.iter().enumerate().map(pair).collect())
}

/// An array with a row for each of the `rows`.
pub(crate) fn array<T: Element, const COLUMNS: usize>(
    py: Python<'_>,
    rows: Vec<[T; COLUMNS]>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = [rows.len(), COLUMNS];
    rows.into_flattened().into_pyarray(py).reshape(shape)
}

/// Indices as `NumPy` has them.
pub(crate) fn indices<I: TryInto<i64>>(
    py: Python<'_>,
    list: impl IntoIterator<Item = I>,
) -> Bound<'_, PyArray1<i64>> {
    let index = |i: I| i.try_into().unwrap_or(i64::MAX);
    list.into_iter().map(index).collect::<Vec<i64>>().into_pyarray(py)
}
