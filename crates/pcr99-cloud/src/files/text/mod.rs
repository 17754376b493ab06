//! Tables of numbers as text: [`Lines`] → [`Rows`] → numbers. Rows that are plain numbers take a short cut ([`Picks`]).
//!
//! Accepted: columns separated by commas, semicolons, tabs or spaces; an optional header; blank lines;
//! comment lines that begin with `#` or `//`; either line ending; a byte order mark; a separator at the
//! end of a line.

mod decimal;

mod lines;

mod plain;

mod rows;

pub(crate) use lines::{Lines, MAX_LINE, read_line};
pub(crate) use plain::{Picks, Separator};
pub(crate) use rows::{Rows, fields_of};

/// Parses a number; the spellings of NaN in C libraries are accepted.
pub(crate) fn number(word: &str) -> Option<f64> {
    decimal::parse(word.as_bytes()).or_else(|| word.parse().ok()).or_else(|| {
        let word = word.trim_start_matches(['+', '-']).to_ascii_lowercase();
        let nan = ["nan(", "1.#qnan", "1.#ind", "1.#snan"].iter().any(|start| word.starts_with(start));
        nan.then_some(f64::NAN)
    })
}

/// Error in a table of text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The first bytes are those of another format.
    #[error("this is not a table of text but {what}; {remedy}")]
    Foreign {
        /// The format that was recognised.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A byte that text does not have.
    #[error("this is not text ({what}); give a table of numbers, saved as UTF-8")]
    NotText {
        /// What was found.
        what: &'static str,
    },
    /// A carriage return inside a line: the file has line ends of Mac OS 9.
    #[error("the line has a carriage return inside it; save the file with line ends \\n or \\r\\n")]
    CarriageReturn,
    /// A line longer than any table has.
    #[error("the line is longer than {} KiB, so this is no table of numbers; put one row on each line", MAX_LINE / 1024)]
    LineTooLong,
    /// No line with content.
    #[error("the file is empty; it needs rows of numbers")]
    Empty,
    /// Only a header.
    #[error("there are no rows of numbers below the header")]
    HeaderOnly,
    /// The first row does not have the right number of columns.
    #[error("{found} column(s), but {expected}")]
    Columns {
        /// Number found.
        found: usize,
        /// Number needed, and their content.
        expected: &'static str,
    },
    /// A later row does not have as many columns as the first.
    #[error("{found} column(s), but the rows above have {expected}; complete or remove this row")]
    Ragged {
        /// Number of columns of this row.
        found: usize,
        /// Number of columns of the first row.
        expected: usize,
    },
    /// The columns are picked by name, but the header does not have as many as the rows.
    #[error(
        "the header names {header} column(s), but the first row below it has {row}; give each column one name"
    )]
    HeaderWidth {
        /// Names in the header.
        header: usize,
        /// Columns in the first row.
        row: usize,
    },
    /// The header has some of the names that pick columns, but not all.
    #[error(
        "the header has a column `{found}` but no `{missing}`; name all of sx, sy, sz, tx, ty, tz or none"
    )]
    MissingName {
        /// One that is present.
        found: &'static str,
        /// The first that is missing.
        missing: &'static str,
    },
    /// Two columns have the same name.
    #[error("the header names two columns `{name}`; rename or remove one")]
    DuplicateName {
        /// The name.
        name: &'static str,
    },
    /// Nothing between two separators.
    #[error("the field is empty; complete or remove this row")]
    EmptyField,
    /// The number of rows differs from that in the first line.
    #[error(
        "the first line promises {promised} points, but {found} follow; the file is truncated or its first line is wrong"
    )]
    Count {
        /// Number of points that the first line declares.
        promised: u64,
        /// Number of rows that follow.
        found: u64,
    },
    /// A field that is not a number.
    #[error("{field} is not a number{hint}")]
    NotANumber {
        /// The field, quoted and shortened.
        field: String,
        /// Possible reason.
        hint: Hint,
    },
}

/// Possible reason why a field is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// No hint.
    None,
    /// `1,5` between semicolons.
    DecimalComma,
    /// Spaces inside a field between commas.
    MixedSeparators,
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "; correct or remove this row",
            Self::DecimalComma => "; write decimals with a point, not a comma",
            Self::MixedSeparators => {
                "; the line mixes commas and spaces: separate columns by one of them, and write decimals with a point"
            }
        })
    }
}
