//! Archives of `NumPy` arrays (`.npz`): a ZIP archive with one `.npy` file per array.

use std::io::{Read, Seek};

use super::Matches;
use super::fields::reserved;
use super::matches::{are_finite, finite};
use super::npy::{Array, Fit};
use super::zip::{Archive, ZipError};
use crate::error::{Fault, FileError, Place, Problem, quote_all};

/// Matches from the arrays `src` and `dst`, and optionally `weights` and `sigma`; messages call the archive `label`.
pub(super) fn read_matches(reader: impl Read + Seek, label: &str) -> Result<Matches, FileError> {
    let in_archive = |fault: Fault| fault.in_file(label);
    let mut archive = Archive::open(reader).map_err(in_archive)?;
    let source = points(&mut archive, ["src", "source"], label)?;
    let target = points(&mut archive, ["dst", "target"], label)?;
    if source.len() != target.len() {
        let (source_points, target) = (source.len(), target.len());
        return Err(in_archive(Fault::whole(ZipError::UnequalLengths { source_points, target })));
    }
    if source.is_empty() {
        return Err(in_archive(Fault::whole(Problem::Nothing { what: "matches" })));
    }
    let mut list = |names, kind| match find(&archive, names) {
        Some((index, name)) => {
            numbers(&mut archive, index, kind, source.len(), &inside(label, name)).map(Some)
        }
        None => Ok(None),
    };
    let weights = list(["weights", "weight"], WEIGHTS)?;
    let standard_deviations = list(["sigma", "standard_deviations"], DEVIATIONS)?;
    Ok(Matches { source, target, weights, standard_deviations })
}

/// Position and name of the first of `names` that is in the archive.
fn find<R>(archive: &Archive<R>, names: [&'static str; 2]) -> Option<(usize, &'static str)> {
    let position = |name| archive.names().position(|found| array_name(found) == name);
    names.into_iter().find_map(|name| Some((position(name)?, name)))
}

/// The name of the array in a file of the archive.
fn array_name(file: &str) -> &str {
    file.strip_suffix(".npy").unwrap_or(file)
}

/// Name of an array of the archive in messages.
fn inside(label: &str, name: &str) -> String {
    format!("{label}, array `{name}`")
}

/// An N×3 array.
fn points(
    archive: &mut Archive<impl Read + Seek>,
    names: [&'static str; 2],
    label: &str,
) -> Result<Vec<[f64; 3]>, FileError> {
    let Some((index, name)) = find(archive, names) else {
        let found = quote_all(archive.names().map(array_name));
        let problem = ZipError::MissingArray { name: names[0], alias: names[1], found };
        return Err(Fault::whole(problem).in_file(label));
    };
    let mut read = || {
        let bytes = archive.read(index)?;
        let array = Array::open(bytes.as_slice(), Some(bytes.len() as u64))?;
        let fit = |rows, columns| match (rows, columns) {
            (_, 3) => Fit::Good,
            (3, _) => Fit::Transposed,
            _ => Fit::Wrong,
        };
        let [rows, _] = array.table("N×3 (x y z)", fit)?;
        let mut points = reserved(rows)?;
        array.blocks(3, |block| {
            block.triples([0, 1, 2], &mut points);
            Ok(())
        })?;
        check(points.as_flattened(), 3)?;
        Ok(points)
    };
    read().map_err(|fault: Fault| fault.in_file(&inside(label, name)))
}

/// Words of messages about a list of numbers: their name, and the shape that is needed.
type ListKind = (&'static str, &'static str);

const WEIGHTS: ListKind = ("weights", "(N,), one weight for each match,");
const DEVIATIONS: ListKind = ("standard deviations", "(N,), one standard deviation for each match,");

/// An array of `expected` numbers.
fn numbers(
    archive: &mut Archive<impl Read + Seek>,
    index: usize,
    (what, shape): ListKind,
    expected: usize,
    label: &str,
) -> Result<Vec<f64>, FileError> {
    let mut read = || {
        let bytes = archive.read(index)?;
        let array = Array::open(bytes.as_slice(), Some(bytes.len() as u64))?;
        let found = array.list(shape)?;
        if found != expected {
            return Err(Fault::whole(ZipError::ListLength { what, found, expected }));
        }
        let mut numbers = reserved(found)?;
        array.blocks(1, |block| {
            block.values(0, &mut numbers);
            Ok(())
        })?;
        check(&numbers, 1)?;
        Ok(numbers)
    };
    read().map_err(|fault: Fault| fault.in_file(label))
}

/// Checks that the `values` of a table of `columns` columns are finite.
fn check(values: &[f64], columns: usize) -> Result<(), Fault> {
    if are_finite(values) {
        return Ok(());
    }
    let place = |i| Place::Entry { row: i / columns, column: i % columns };
    values.iter().enumerate().try_for_each(|(i, &value)| finite(value, place(i)).map(drop))
}

#[cfg(test)]
mod tests {
    use super::super::npy::tests::file;
    use super::super::zip::tests::stored;
    use super::*;
    use std::io::Cursor;

    fn read(files: &[(&str, Vec<u8>)]) -> Result<Matches, String> {
        read_matches(Cursor::new(stored(files)), "`m.npz`").map_err(|error| error.to_string())
    }

    fn bytes(shape: &str, data: &[u8]) -> Vec<u8> {
        file("'|u1'", "False", shape, data)
    }

    #[test]
    fn either_pair_of_names_and_optional_weights() {
        let (a, b) = (bytes("(2, 3)", &[1, 2, 3, 4, 5, 6]), bytes("(2, 3)", &[7, 8, 9, 10, 11, 12]));
        let plain = Matches {
            source: vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
            target: vec![[7.0, 8.0, 9.0], [10.0, 11.0, 12.0]],
            weights: None,
            standard_deviations: None,
        };
        assert_eq!(read(&[("dst.npy", b.clone()), ("src.npy", a.clone())]), Ok(plain.clone()));
        for shape in ["(2,)", "(2, 1)"] {
            let files =
                [("source.npy", a.clone()), ("target.npy", b.clone()), ("weight.npy", bytes(shape, &[5, 6]))];
            assert_eq!(read(&files), Ok(Matches { weights: Some(vec![5.0, 6.0]), ..plain.clone() }));
            let files =
                [("src.npy", a.clone()), ("dst.npy", b.clone()), ("sigma.npy", bytes(shape, &[5, 6]))];
            let expected = Matches { standard_deviations: Some(vec![5.0, 6.0]), ..plain.clone() };
            assert_eq!(read(&files), Ok(expected));
        }
    }

    #[test]
    fn mistakes_are_named_with_the_array() {
        let (two, one) = (bytes("(2, 3)", &[0; 6]), bytes("(1, 3)", &[0; 3]));
        let nan = file("'<f2'", "False", "(1, 3)", &[0, 0, 0, 0, 0, 0x7e]);
        for (files, message) in [
            (
                vec![("a.npy", one.clone()), ("src.npy", one.clone())],
                "`m.npz`: there is no array `dst` (or `target`); the arrays found are `a`, `src`; write it with \
                 numpy.savez(file, src=…, dst=…)",
            ),
            (
                vec![("src.npy", two.clone()), ("dst.npy", one.clone())],
                "`m.npz`: 2 source points but 1 target points; row i of one must match row i of the other",
            ),
            (
                vec![("src.npy", nan), ("dst.npy", one.clone())],
                "`m.npz`, array `src`, row 0, column 2 (counted from 0): NaN is not a finite number; remove this \
                 match or correct it",
            ),
            (
                vec![("src.npy", bytes("(3, 2)", &[0; 6])), ("dst.npy", one.clone())],
                "`m.npz`, array `src`: the array has shape 3×2 and looks transposed: N×3 (x y z) is needed; save its \
                 transpose (.T)",
            ),
            (
                vec![("src.npy", bytes("(0, 3)", &[])), ("dst.npy", bytes("(0, 3)", &[]))],
                "`m.npz`: there are no matches in it; at least one is needed",
            ),
            (
                vec![
                    ("src.npy", one.clone()),
                    ("dst.npy", one.clone()),
                    ("weights.npy", bytes("(2,)", &[0; 2])),
                ],
                "`m.npz`, array `weights`: 2 weights for 1 matches; give one for each match",
            ),
            (
                vec![
                    ("src.npy", one.clone()),
                    ("dst.npy", one.clone()),
                    ("sigma.npy", bytes("(2,)", &[1; 2])),
                ],
                "`m.npz`, array `sigma`: 2 standard deviations for 1 matches; give one for each match",
            ),
            (
                vec![("src.npy", one.clone()), ("dst.npy", one.clone()), ("weights.npy", two.clone())],
                "`m.npz`, array `weights`: the array has shape 2×3, but (N,), one weight for each match, is needed",
            ),
        ] {
            assert_eq!(read(&files), Err(message.to_owned()));
        }
    }
}
