//! Errors: one line that names the file, the place in it, what is wrong and what to do.
//!
//! Readers inside the crate work on streams and do not know the file's name; they fail with a [`Fault`],
//! and the public functions add the name.

use std::fmt;
use std::io;

use pcr99_base::output_file::OutputError;
pub(crate) use pcr99_base::output_file::quoted as label;
use pcr99_base::text::is_direction_mark;

use crate::cloud::UnequalLengths;
#[cfg(feature = "e57")]
use crate::files::E57Error;
#[cfg(feature = "las")]
use crate::files::LasError;
use crate::files::{
    CloudFormat, KittiError, NpyError, ObjError, PcdError, PlyError, TextError, TransformError, ZipError,
};

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused: no such file, no permission, a broken disk.
    #[error("cannot read {file}: {cause}")]
    Io {
        /// The file, quoted, or the name of the stream.
        file: String,
        /// Error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// The path is a directory.
    #[error("cannot read {file}: it is a directory; name a file inside it")]
    Directory {
        /// The directory, quoted.
        file: String,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The extension of an output file names no known format.
    #[error(
        "cannot write {file}: its extension names no format that clouds are written in; use one of {}",
        CloudFormat::EXTENSIONS
    )]
    UnknownFormat {
        /// The file, quoted.
        file: String,
    },
    /// A cloud to be written has lists of different lengths.
    #[error("cannot write {file}: {cause}")]
    Unequal {
        /// The file, quoted.
        file: String,
        /// The list whose length differs.
        #[source]
        cause: UnequalLengths,
    },
    /// The content of the file is malformed.
    #[error("{file}{place}: {problem}")]
    Malformed {
        /// The file, quoted, or the name of the stream; for archives with the array's name.
        file: String,
        /// Position in the file.
        place: Place,
        /// The defect and its remedy. Boxed to keep results small.
        problem: Box<Problem>,
    },
}

/// A position in a file. Lines and columns of text count from 1, as editors do; rows and columns of arrays
/// and bytes count from 0, as `NumPy` and hex viewers do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    Whole,
    /// A line of text, from 1.
    Line(u64),
    /// A field of text: line and column, both from 1.
    Field {
        /// The line, from 1.
        line: u64,
        /// The column, from 1.
        column: usize,
    },
    /// An entry of an array: row and column, both from 0.
    Entry {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
    },
    /// A byte, from 0.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Line(line) => write!(f, ", line {line}"),
            Self::Field { line, column } => write!(f, ", line {line}, column {column}"),
            Self::Entry { row, column } => write!(f, ", row {row}, column {column} (counted from 0)"),
            Self::Byte(byte) => write!(f, ", byte {byte}"),
        }
    }
}

/// A defect of a file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A table of text is malformed.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A PLY file is malformed.
    #[error(transparent)]
    Ply(#[from] PlyError),
    /// A PCD file is malformed.
    #[error(transparent)]
    Pcd(#[from] PcdError),
    /// A LAS or LAZ file is malformed.
    #[cfg(feature = "las")]
    #[error(transparent)]
    Las(#[from] LasError),
    /// An E57 file is malformed.
    #[cfg(feature = "e57")]
    #[error(transparent)]
    E57(#[from] E57Error),
    /// An OBJ file is malformed.
    #[error(transparent)]
    Obj(#[from] ObjError),
    /// A KITTI scan is malformed.
    #[error(transparent)]
    Kitti(#[from] KittiError),
    /// A `NumPy` array is malformed or of the wrong kind.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// An `.npz` archive is malformed or lacks an array.
    #[error(transparent)]
    Zip(#[from] ZipError),
    /// A transform is malformed.
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// The reader of the format was left out when the program was built.
    #[error("{format} files cannot be read: the program was built without the feature `{feature}`")]
    NotBuiltIn {
        /// The format.
        format: &'static str,
        /// The feature of this crate that reads it.
        feature: &'static str,
    },
    /// A file that is read twice is a pipe or a device.
    #[error("it is read twice, so it must be a file on a disk; save it first")]
    ReadTwice,
    /// A copy would have another format.
    #[error("a copy of it cannot be written to {output}, whose extension names another format; convert it")]
    OtherFormat {
        /// The copy, quoted.
        output: String,
    },
    /// Doubles cannot tell the moved points apart.
    #[error(
        "moved, its coordinates reach {coordinate:e}, where doubles are {spacing:e} apart, which is too coarse for a cloud that is {extent:e} long; \
         use a transform to a place nearer to the origin"
    )]
    Far {
        /// Largest coordinate of the moved points.
        coordinate: f64,
        /// Distance of neighbouring doubles there.
        spacing: f64,
        /// Extent of the moved points before rounding.
        extent: f64,
    },
    /// NaN or infinity in a match.
    #[error("{value} is not a finite number; remove this match or correct it")]
    NotFinite {
        /// The value.
        value: f64,
    },
    /// An index below zero.
    #[error("index {value} is negative; indices count from 0")]
    NegativeIndex {
        /// The value.
        value: f64,
    },
    /// An index that is not a whole number, or too large.
    #[error("{value} is not an index; indices are whole numbers that count from 0")]
    NotAnIndex {
        /// The value.
        value: f64,
    },
    /// The file is well-formed but empty.
    #[error("there are no {what} in it; at least one is needed")]
    Nothing {
        /// The missing things: `matches`, `points`, `index pairs`.
        what: &'static str,
    },
}

/// A failure inside a stream whose name is not known yet.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The stream failed.
    Io(io::Error),
    /// The content is wrong.
    Malformed(Place, Box<Problem>),
}

impl Fault {
    /// `problem` at `place`.
    pub(crate) fn at(place: Place, problem: impl Into<Problem>) -> Self {
        Self::Malformed(place, Box::new(problem.into()))
    }

    /// `problem` of the file as a whole.
    pub(crate) fn whole(problem: impl Into<Problem>) -> Self {
        Self::at(Place::Whole, problem)
    }

    /// The public error: `file` as made by [`label`], or the name of a stream.
    pub(crate) fn in_file(self, file: &str) -> FileError {
        let file = file.to_owned();
        match self {
            Self::Io(cause) => FileError::Io { file, cause },
            Self::Malformed(place, problem) => FileError::Malformed { file, place, problem },
        }
    }
}

impl From<io::Error> for Fault {
    fn from(cause: io::Error) -> Self {
        Self::Io(cause)
    }
}

/// Text from a file for use in a message: one line, of bounded length, in backticks.
pub(crate) fn quote(text: &str) -> String {
    format!("`{}`", shortened(text, 40))
}

/// Message of another library, on one line and of bounded length.
#[cfg(any(feature = "las", feature = "e57", test))]
pub(crate) fn said(error: &impl fmt::Display) -> String {
    shortened(&error.to_string(), 200)
}

fn shortened(text: &str, longest: usize) -> String {
    let shown: String = text.chars().take(longest).flat_map(escape).collect();
    let dots = if text.chars().nth(longest).is_some() { "…" } else { "" };
    format!("{shown}{dots}")
}

/// `character` as it is, or spelled out where it would break the line or move the cursor.
fn escape(character: char) -> impl Iterator<Item = char> {
    let control = character.is_control() || is_direction_mark(character);
    let spelled = control.then(|| character.escape_default()).into_iter().flatten();
    spelled.chain((!control).then_some(character))
}

/// Names from a file for use in a message, of bounded length.
pub(crate) fn quote_all<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let mut names = names.into_iter();
    let mut shown: Vec<String> = names.by_ref().take(MOST).map(quote).collect();
    let more = names.count();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quote("a\nb'"), "`a\\nb'`");
        assert_eq!(quote(&"x".repeat(41)), format!("`{}…`", "x".repeat(40)));
        assert_eq!(said(&"a\nb"), "a\\nb");
        assert_eq!(said(&"x".repeat(300)).chars().count(), 201);
        assert_eq!(quote_all([]), "none");
        assert_eq!(quote_all(["a", "b"]), "`a`, `b`");
        assert!(quote_all(["n"; 25]).ends_with("`n`, and 5 more"));
        assert_eq!(label(std::path::Path::new("dir/a\nü.csv")), "`dir/a\\nü.csv`");
    }

    #[test]
    fn a_result_stays_small() {
        assert!(size_of::<FileError>() <= 64);
    }
}
