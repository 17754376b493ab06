//! Matches: source and target points, row by row.

use std::io::{self, BufRead, Write};
use std::path::Path;

use super::fields::reserved;
use super::npy::Fit;
use super::source::Origin;
use super::text::{Picks, Rows, TextError};
use super::writing::{push_number, write_records};
use super::{has_extension, npy, npz};
use crate::error::{Fault, FileError, Place, Problem};

/// Names of the six coordinates, in their usual order.
const COORDINATES: [&str; 6] = ["sx", "sy", "sz", "tx", "ty", "tz"];

/// Accepted names of the weight in a header.
const WEIGHTS: [&str; 4] = ["weight", "w", "confidence", "score"];

/// Accepted names of the standard deviation in a header.
const DEVIATIONS: [&str; 3] = ["sigma", "standard_deviation", "std"];

/// Matches between two point sets: `source[i]` belongs to `target[i]`. All values that a reader of this
/// crate returns are finite, and the lists have the same length, at least 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matches {
    /// Points `a` of the source.
    pub source: Vec<[f64; 3]>,
    /// Points `b` of the target.
    pub target: Vec<[f64; 3]>,
    /// Confidence of each match, if known; higher is better, any finite number is allowed.
    pub weights: Option<Vec<f64>>,
    /// Standard deviation of the noise of each match, if known. Whether they are positive is not checked.
    pub standard_deviations: Option<Vec<f64>>,
}

impl Matches {
    /// Adds a match: six coordinates, then weight and standard deviation as far as there are `columns` for them.
    fn push(&mut self, values: &[f64], columns: &Columns) {
        let &[sx, sy, sz, tx, ty, tz, ref rest @ ..] = values else { return };
        self.source.push([sx, sy, sz]);
        self.target.push([tx, ty, tz]);
        let further =
            [(columns.weight, &mut self.weights), (columns.deviation, &mut self.standard_deviations)];
        let known = further.into_iter().filter(|(column, _)| column.is_some());
        known.zip(rest).for_each(|((_, list), &value)| list.get_or_insert_default().push(value));
    }

    /// An error when there are no matches.
    fn or_nothing(self) -> Result<Self, Fault> {
        if self.source.is_empty() {
            Err(Fault::whole(Problem::Nothing { what: "matches" }))
        } else {
            Ok(self)
        }
    }
}

/// Reads matches from the file at `path`.
///
/// * `.npy`: an N×6 array, or N×7 with a weight in the last column.
/// * `.npz`: arrays `src` and `dst` (or `source` and `target`), N×3 each; optionally `weights` (or
///   `weight`) and `sigma` (or `standard_deviations`), of length N each.
/// * Anything else: text, see [`read_matches_text`].
///
/// # Errors
/// When the file cannot be read or is malformed, when a value is NaN or infinite, and when there is no
/// match.
pub fn read_matches(path: &Path) -> Result<Matches, FileError> {
    read(Origin::Disk(path))
}

/// Reads matches from a disk or from memory.
pub(super) fn read(origin: Origin<'_>) -> Result<Matches, FileError> {
    let (source, path) = (origin.open()?, origin.path());
    if has_extension(path, "npz") {
        return npz::read_matches(source.reader, &source.label);
    }
    let read = if has_extension(path, "npy") {
        npy::Array::open(source.reader, source.size).and_then(from_array)
    } else {
        from_text(source.reader)
    };
    read.map_err(|fault| fault.in_file(&source.label))
}

/// Reads matches as text from `reader`; messages call it `name`, such as `standard input`.
///
/// Each row has six columns `sx sy sz tx ty tz`, or seven with a weight (confidence, higher is better),
/// separated by commas, semicolons, tabs or spaces. Blank lines and lines that begin with `#` or `//` are
/// skipped. A first line without any number is a header; when it has all of the names above, columns
/// are chosen by name, in any order and with others between them. The weight
/// is then the column `weight`, `w`, `confidence` or `score` (the first of these that exists). The standard
/// deviation of the noise is the column `sigma`, `standard_deviation` or `std`; it needs a name.
///
/// # Errors
/// As [`read_matches`].
pub fn read_matches_text(reader: impl BufRead, name: &str) -> Result<Matches, FileError> {
    from_text(reader).map_err(|fault| fault.in_file(name))
}

/// Writes `matches` as text that [`read_matches_text`] reads back to the same bits: comma-separated, with
/// the header `sx,sy,sz,tx,ty,tz`, and `weight` and `sigma` if there are any.
///
/// # Errors
/// When `out` fails; of kind [`InvalidInput`](io::ErrorKind::InvalidInput), before anything is written,
/// when the lists of `matches` differ in length.
pub fn write_matches(out: &mut impl Write, matches: &Matches) -> io::Result<()> {
    let count = matches.source.len();
    let further = [("weight", &matches.weights), ("sigma", &matches.standard_deviations)];
    let further: Vec<(&str, &[f64])> =
        further.into_iter().filter_map(|(name, column)| Some((name, column.as_deref()?))).collect();
    if matches.target.len() != count || further.iter().any(|(_, column)| column.len() != count) {
        let message = "source, target, weights and standard deviations of matches must have the same length";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    write!(out, "{}", COORDINATES.join(","))?;
    for (name, _) in &further {
        write!(out, ",{name}")?;
    }
    writeln!(out)?;
    write_records(out, count, |i, row| {
        for (column, &value) in matches.source[i].iter().chain(&matches.target[i]).enumerate() {
            if column > 0 {
                row.push(b',');
            }
            push_number(row, value);
        }
        for (_, column) in &further {
            row.push(b',');
            push_number(row, column[i]);
        }
        row.push(b'\n');
    })
}

/// Which columns of a table hold what.
struct Columns {
    coordinates: [usize; 6],
    weight: Option<usize>,
    deviation: Option<usize>,
}

impl Columns {
    /// By name if the header has the names, else by position.
    fn of(rows: &Rows<impl BufRead>) -> Result<Self, Fault> {
        if let Some(header) = rows.header() {
            let found = header.find(COORDINATES)?;
            if let Some(first) = found.iter().position(Option::is_some) {
                if let Some(missing) = found.iter().position(Option::is_none) {
                    let (found, missing) = (COORDINATES[first], COORDINATES[missing]);
                    return Err(Fault::at(
                        Place::Line(header.line),
                        TextError::MissingName { found, missing },
                    ));
                }
                rows.check_header_width()?;
                let weight = header.find(WEIGHTS)?.into_iter().flatten().next();
                let deviation = header.find(DEVIATIONS)?.into_iter().flatten().next();
                return Ok(Self { coordinates: found.map(Option::unwrap_or_default), weight, deviation });
            }
        }
        let weight = match rows.width() {
            6 => None,
            7 => Some(6),
            found => {
                let expected = "6 are needed (sx sy sz tx ty tz), or 7 with a weight; remove others, or name \
                                these in a header";
                return Err(Fault::at(Place::Line(rows.line()), TextError::Columns { found, expected }));
            }
        };
        Ok(Self { coordinates: [0, 1, 2, 3, 4, 5], weight, deviation: None })
    }
}

fn from_text(reader: impl BufRead) -> Result<Matches, Fault> {
    let mut rows = Rows::new(reader)?;
    let columns = Columns::of(&rows)?;
    let all: Vec<usize> =
        columns.coordinates.into_iter().chain(columns.weight).chain(columns.deviation).collect();
    let picks = Picks::new(rows.width(), all.iter().copied());
    let mut values = [0.0; 8];
    let values = &mut values[..all.len()];
    let mut matches = Matches::default();
    loop {
        rows.take_plain(&picks, values, |values| matches.push(values, &columns))?;
        let Some(row) = rows.next()? else { break };
        for (value, &column) in values.iter_mut().zip(&all) {
            *value = finite(row.number(column)?, row.place(column))?;
        }
        matches.push(values, &columns);
    }
    matches.or_nothing()
}

fn from_array(array: npy::Array<impl BufRead>) -> Result<Matches, Fault> {
    let fit = |rows, columns| match (rows, columns) {
        (_, 6 | 7) => Fit::Good,
        (6 | 7, _) => Fit::Transposed,
        _ => Fit::Wrong,
    };
    let [rows, columns] = array.table("N×6 (sx sy sz tx ty tz), or N×7 with a weight,", fit)?;
    let (mut source, mut target) = (reserved(rows)?, reserved(rows)?);
    let mut weights = (columns == 7).then(|| reserved(rows)).transpose()?;
    array.blocks(columns, |block| {
        let before = source.len();
        block.triples([0, 1, 2], &mut source);
        block.triples([3, 4, 5], &mut target);
        if let Some(weights) = &mut weights {
            block.values(6, weights);
        }
        let weights = weights.as_deref().unwrap_or_default();
        let lists = [
            source[before..].as_flattened(),
            target[before..].as_flattened(),
            weights.get(before..).unwrap_or_default(),
        ];
        if lists.iter().all(|list| are_finite(list)) {
            return Ok(());
        }
        for row in before..source.len() {
            let values = source[row].iter().chain(&target[row]).chain(weights.get(row));
            for (column, &value) in values.enumerate() {
                finite(value, Place::Entry { row, column })?;
            }
        }
        Ok(())
    })?;
    Matches { source, target, weights, standard_deviations: None }.or_nothing()
}

/// Whether all `values` are finite. Faster than one test after the other.
pub(super) fn are_finite(values: &[f64]) -> bool {
    values.iter().fold(true, |all, value| all & value.is_finite())
}

/// `value`, which must be finite.
pub(super) fn finite(value: f64, place: Place) -> Result<f64, Fault> {
    if value.is_finite() { Ok(value) } else { Err(Fault::at(place, Problem::NotFinite { value })) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{array::uniform3, collection::vec, prelude::*};

    fn read(text: &str) -> Result<Matches, String> {
        read_matches_text(text.as_bytes(), "standard input").map_err(|error| error.to_string())
    }

    fn one(weights: Option<Vec<f64>>) -> Matches {
        let (source, target) = (vec![[1.0, 2.0, 3.0]], vec![[4.0, 5.0, 6.0]]);
        Matches { source, target, weights, standard_deviations: None }
    }

    #[test]
    fn columns_go_by_position_or_by_name() {
        assert_eq!(read("1 2 3 4 5 6\n"), Ok(one(None)));
        assert_eq!(read("1,2,3,4,5,6,0.5\n"), Ok(one(Some(vec![0.5]))));
        assert_eq!(read("a,b,c,d,e,f\n1,2,3,4,5,6\n"), Ok(one(None)));
        assert_eq!(read("tx ty tz id SX SY SZ\n4 5 6 left 1 2 3\n"), Ok(one(None)));
        assert_eq!(read("score;sx;sy;sz;tx;ty;tz\n-7;1;2;3;4;5;6\n"), Ok(one(Some(vec![-7.0]))));
        let both = Matches { standard_deviations: Some(vec![0.1]), ..one(Some(vec![5.0])) };
        assert_eq!(read("sx,sy,sz,tx,ty,tz,Sigma,weight\n1,2,3,4,5,6,0.1,5\n"), Ok(both));
        let deviation = Matches { standard_deviations: Some(vec![0.1]), ..one(None) };
        assert_eq!(read("std sx sy sz tx ty tz\n0.1 1 2 3 4 5 6\n"), Ok(deviation));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, message) in [
            (
                "1 2 3 4 5\n",
                "line 1: 5 column(s), but 6 are needed (sx sy sz tx ty tz), or 7 with a weight; remove others, or \
                 name these in a header",
            ),
            (
                "1 2 3 4 5 6\n1 2 3 4 5 6 7\n",
                "line 2: 7 column(s), but the rows above have 6; complete or remove this row",
            ),
            (
                "1 2 3 4 5 6\n1 2 nan 4 5 6\n",
                "line 2, column 3: NaN is not a finite number; remove this match or correct it",
            ),
            (
                "1 2 3 4 5 1e999\n",
                "line 1, column 6: inf is not a finite number; remove this match or correct it",
            ),
            (
                "sx sy sz tx ty zt\n1 2 3 4 5 6\n",
                "line 1: the header has a column `sx` but no `tz`; name all of sx, sy, sz, tx, ty, tz or none",
            ),
            ("1 2 3 4 5 six\n", "line 1, column 6: `six` is not a number; correct or remove this row"),
        ] {
            assert_eq!(read(text), Err(format!("standard input, {message}")), "{text:?}");
        }
    }

    /// The first in the order of rows, whatever the order in memory, also far into a file.
    #[test]
    fn the_first_number_of_an_array_that_is_not_finite_is_named() {
        let rows = 40_000;
        for (by_columns, broken, expected) in [
            (false, [(39_999, 6), (39_998, 2)], (39_998, 2)),
            (false, [(7, 6), (7, 5)], (7, 5)),
            (true, [(39_999, 0), (20_000, 6)], (20_000, 6)),
        ] {
            let mut values = vec![1.5; 7 * rows];
            for (row, column) in broken {
                values[if by_columns { column * rows + row } else { 7 * row + column }] = f64::INFINITY;
            }
            let data: Vec<u8> = values.iter().flat_map(|x: &f64| x.to_le_bytes()).collect();
            let order = if by_columns { "True" } else { "False" };
            let bytes = npy::tests::file("'<f8'", order, &format!("({rows}, 7)"), &data);
            let (row, column) = expected;
            for size in [Some(bytes.len() as u64), None] {
                let error = npy::Array::open(&bytes[..], size).and_then(from_array).expect_err("infinity");
                let place =
                    format!("t, row {row}, column {column} (counted from 0): inf is not a finite number");
                assert!(error.in_file("t").to_string().starts_with(&place), "{by_columns}");
            }
        }
    }

    #[test]
    fn lists_of_unequal_length_are_not_written() {
        let mut out = Vec::new();
        let error = write_matches(&mut out, &one(Some(vec![]))).expect_err("no weight");
        assert_eq!((error.kind(), out.len()), (io::ErrorKind::InvalidInput, 0));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_to_the_bit(
            rows in vec((uniform3(any::<f64>()), uniform3(-1e3..1e3), any::<f64>()), 1..20), weighted: bool, noisy: bool,
        ) {
            let finite = |x: f64| if x.is_finite() { x } else { -0.0 };
            let source: Vec<_> = rows.iter().map(|row| row.0.map(finite)).collect();
            let target: Vec<_> = rows.iter().map(|row| row.1).collect();
            let weights = weighted.then(|| rows.iter().map(|row| finite(row.2)).collect());
            let standard_deviations = noisy.then(|| rows.iter().map(|row| finite(row.2).abs()).collect());
            let matches = Matches { source, target, weights, standard_deviations };
            let mut out = Vec::new();
            write_matches(&mut out, &matches).expect("a vector");
            let text = String::from_utf8(out).expect("ASCII");
            let further = [if weighted { ",weight" } else { "" }, if noisy { ",sigma" } else { "" }].concat();
            let header = format!("sx,sy,sz,tx,ty,tz{further}");
            prop_assert_eq!(text.lines().next(), Some(header.as_str()));
            let again = read(&text).expect("own text");
            prop_assert_eq!(format!("{:?}", &again), format!("{:?}", &matches)); // tells −0 from 0
        }
    }
}
