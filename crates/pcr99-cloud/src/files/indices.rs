//! Index pairs: which point of one cloud matches which of the other.

use std::io::BufRead;
use std::path::Path;

use super::npy::{self, Fit, Value};
use super::text::{Rows, TextError};
use super::{Source, has_extension};
use crate::error::{Fault, FileError, Place, Problem};

/// Whole numbers up to here are exact in `f64`; above, a float no longer says which index was meant.
const EXACT: f64 = 9_007_199_254_740_992.0; // 2⁵³

/// Reads index pairs `[source, target]`, both counted from 0, from the file at `path`.
///
/// * `.npy`: an N×2 array of integers, or of floats that are whole numbers.
/// * Anything else: text with two columns, separated as for
///   [`read_matches_text`](crate::read_matches_text), with an optional header. `3.0` and `3e0` are
///   accepted for `3`: some programs write integers like that.
///
/// Whether the indices exist in the clouds is not known here; the caller checks it.
///
/// # Errors
/// When the file cannot be read or is not as above; when an index is negative or no whole number; when
/// there is no pair at all.
pub fn read_indices(path: &Path) -> Result<Vec<[usize; 2]>, FileError> {
    let Source { reader, size, label, .. } = Source::open(path)?;
    let read = if has_extension(path, "npy") {
        npy::Array::open(reader, size).and_then(from_array)
    } else {
        from_text(reader)
    };
    let pairs = read.map_err(|fault| fault.in_file(&label))?;
    if pairs.is_empty() {
        return Err(Fault::whole(Problem::Nothing { what: "index pairs" }).in_file(&label));
    }
    Ok(pairs)
}

fn from_text(reader: impl BufRead) -> Result<Vec<[usize; 2]>, Fault> {
    let mut rows = Rows::new(reader)?;
    if rows.width() != 2 {
        let expected = "2 are needed: index of the source point, index of the target point";
        return Err(Fault::at(
            Place::Line(rows.line()),
            TextError::Columns { found: rows.width(), expected },
        ));
    }
    let mut pairs = Vec::new();
    while let Some(row) = rows.next()? {
        let index = |column| match row.text(column).parse() {
            Ok(index) => Ok(index),
            Err(_) => {
                from_float(row.number(column)?).map_err(|problem| Fault::at(row.place(column), problem))
            }
        };
        pairs.push([index(0)?, index(1)?]);
    }
    Ok(pairs)
}

fn from_array(array: npy::Array<impl BufRead>) -> Result<Vec<[usize; 2]>, Fault> {
    let fit = |rows, columns| match (rows, columns) {
        (_, 2) => Fit::Good,
        (2, _) => Fit::Transposed,
        _ => Fit::Wrong,
    };
    let [rows, _] = array.table("N×2 (index of the source point, index of the target point)", fit)?;
    let array = array.load()?;
    let index = |row, column| {
        let index = match array.value(row, column) {
            Value::Float(value) => from_float(value),
            Value::Integer(value) => usize::try_from(value).map_err(|_| not_an_index(value as f64)),
        };
        index.map_err(|problem| Fault::at(Place::Entry { row, column }, problem))
    };
    (0..rows).map(|row| Ok([index(row, 0)?, index(row, 1)?])).collect()
}

/// The index that a float stands for.
fn from_float(value: f64) -> Result<usize, Problem> {
    if !(0.0..=EXACT).contains(&value) || value.fract() != 0.0 {
        return Err(not_an_index(value));
    }
    // Whole and at most 2⁵³: exact in 64 bits; a narrower address space may still be too small for it.
    usize::try_from(value as u64).map_err(|_| not_an_index(value))
}

fn not_an_index(value: f64) -> Problem {
    if value < 0.0 && value.fract() == 0.0 {
        Problem::NegativeIndex { value }
    } else {
        Problem::NotAnIndex { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<[usize; 2]>, String> {
        from_text(text.as_bytes()).map_err(|fault| fault.in_file("t").to_string())
    }

    #[test]
    fn integers_in_any_spelling() {
        assert_eq!(read("source,target\n0,1\n12,7\n"), Ok(vec![[0, 1], [12, 7]]));
        assert_eq!(read("3.000000000000000000e+00 4.0\n"), Ok(vec![[3, 4]]));
        // Above 2⁵³ only integers are exact.
        assert_eq!(read("9007199254740993 0\n"), Ok(vec![[9_007_199_254_740_993, 0]]));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, message) in [
            ("0 1\n-1 2\n", "line 2, column 1: index -1 is negative; indices count from 0"),
            ("0 1.5\n", "line 1, column 2: 1.5 is not an index; indices are whole numbers that count from 0"),
            ("0 nan\n", "line 1, column 2: NaN is not an index; indices are whole numbers that count from 0"),
            ("0 x\n", "line 1, column 2: `x` is not a number; correct or remove this row"),
            (
                "0 1 2\n",
                "line 1: 3 column(s), but 2 are needed: index of the source point, index of the target point",
            ),
        ] {
            assert_eq!(read(text), Err(format!("t, {message}")), "{text:?}");
        }
        assert!(read("0 1e300\n").is_err_and(|e| e.contains("is not an index")));
    }
}
