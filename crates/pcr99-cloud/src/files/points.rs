//! Clouds: one list of points.

use std::io::BufRead;
use std::path::Path;

use super::npy::Fit;
use super::text::{Rows, TextError};
use super::{Source, has_extension, npy, ply};
use crate::error::{Fault, FileError, Place, Problem};

/// Reads the points of the cloud at `path`.
///
/// * `.ply`: `x`, `y`, `z` of the element `vertex`, in ASCII or binary.
/// * `.npy`: an N×3 array, or a wider one of which the first three columns are taken.
/// * Anything else: text (XYZ, TXT, CSV …) with at least three columns. When a header names columns `x`,
///   `y` and `z`, those are taken, else the first three.
///
/// NaN and infinite coordinates come back as they are: organised scans hold such points where they saw
/// nothing, and index pairs refer to the positions in the file, so that dropping them is only for the
/// caller to do.
///
/// # Errors
/// When the file cannot be read or is not as above, and when there is no point in it.
pub fn read_points(path: &Path) -> Result<Vec<[f64; 3]>, FileError> {
    let Source { reader, size, label } = Source::open(path)?;
    let read = if has_extension(path, "ply") {
        ply::read_points(reader, size)
    } else if has_extension(path, "npy") {
        npy::Array::read(reader, size).and_then(|array| from_array(&array))
    } else {
        from_text(reader)
    };
    let points = read.map_err(|fault| fault.in_file(&label))?;
    if points.is_empty() {
        return Err(Fault::whole(Problem::Nothing { what: "points" }).in_file(&label));
    }
    Ok(points)
}

fn from_text(reader: impl BufRead) -> Result<Vec<[f64; 3]>, Fault> {
    let mut rows = Rows::new(reader)?;
    let [x, y, z] = columns(&rows)?;
    let mut points = Vec::new();
    while let Some(row) = rows.next()? {
        points.push([row.number(x)?, row.number(y)?, row.number(z)?]);
    }
    Ok(points)
}

/// The columns of `x`, `y` and `z`: by name if the header has all three, else the first three.
fn columns(rows: &Rows<impl BufRead>) -> Result<[usize; 3], Fault> {
    if let Some(header) = rows.header()
        && let [Some(x), Some(y), Some(z)] = header.find(["x", "y", "z"])?
    {
        rows.check_header_width()?;
        return Ok([x, y, z]);
    }
    if rows.width() < 3 {
        let expected = "at least 3 are needed (x y z)";
        return Err(Fault::at(
            Place::Line(rows.line()),
            TextError::Columns { found: rows.width(), expected },
        ));
    }
    Ok([0, 1, 2])
}

fn from_array(array: &npy::Array) -> Result<Vec<[f64; 3]>, Fault> {
    let fit = |rows, columns| match columns {
        3 => Fit::Good,
        0..3 => Fit::Wrong,
        // Fewer points than columns is 3×N (or 4×N, 6×N) rather than a cloud. One or two points are let
        // pass: no array of points has fewer than three coordinates.
        _ if rows >= 3 && rows < columns => Fit::Transposed,
        _ => Fit::Good,
    };
    let [rows, _] = array.table("N×3, or wider with x y z first,", fit)?;
    Ok((0..rows).map(|row| [0, 1, 2].map(|column| array.number(row, column))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<[f64; 3]>, String> {
        from_text(text.as_bytes()).map_err(|fault| fault.in_file("t").to_string())
    }

    #[test]
    fn columns_go_by_position_or_by_name() {
        assert_eq!(read("1 2 3 red\n4 5 6 blue\n"), Ok(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
        assert_eq!(read("//X Y Z\n1 2 3\n"), Ok(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(read("id,Z,Y,X\na,3,2,1\n"), Ok(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(read("east north height\n1 2 3\n"), Ok(vec![[1.0, 2.0, 3.0]]));
    }

    #[test]
    fn points_without_a_place_keep_theirs_in_the_list() {
        let points = read("nan nan nan\n1 2 3\ninf 0 0\n").expect("three points");
        assert!(points[0][0].is_nan());
        assert_eq!(points[1..], [[1.0, 2.0, 3.0], [f64::INFINITY, 0.0, 0.0]]);
    }

    #[test]
    fn too_few_columns_are_an_error() {
        assert_eq!(
            read("1 2\n"),
            Err("t, line 1: 2 column(s), but at least 3 are needed (x y z)".to_owned())
        );
    }
}
