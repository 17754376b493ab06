//! Reading and writing of files: text, PLY, `.npy` and `.npz` below; matches, points and index
//! pairs on top.
//!
//! The format is chosen by the extension (of any case); whatever has no extension of its own is read
//! as text, and the text reader recognises by their first bytes files that got the wrong name.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::error::{FileError, label};

/// Index pairs between two clouds.
mod indices;

/// Matches: two lists of points, row by row.
mod matches;

/// `NumPy` arrays.
mod npy;

/// Archives of `NumPy` arrays.
mod npz;

/// PLY files.
mod ply;

/// Clouds: one list of points.
mod points;

/// Tables of numbers as text.
mod text;

/// ZIP archives, as far as `.npz` needs them.
mod zip;

pub use indices::read_indices;
pub use matches::{Matches, read_matches, read_matches_text, write_matches};
pub use npy::NpyError;
pub use ply::PlyError;
pub use points::read_points;
pub use text::{Hint, TextError};
pub use zip::ZipError;

/// Bytes read from a file at a time.
const BUFFER: usize = 128 * 1024;

/// A file that is open for reading.
struct Source {
    /// Its bytes, from the beginning.
    reader: BufReader<File>,
    /// Its size; `None` for pipes and devices, which do not tell.
    size: Option<u64>,
    /// What messages call it.
    label: String,
}

impl Source {
    /// Opens the file at `path`.
    fn open(path: &Path) -> Result<Self, FileError> {
        let label = label(path);
        let failed = |cause| FileError::Io { file: label.clone(), cause };
        let file = File::open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if meta.is_dir() {
            return Err(FileError::Directory { file: label });
        }
        let size = meta.is_file().then_some(meta.len());
        Ok(Self { reader: BufReader::with_capacity(BUFFER, file), size, label })
    }
}

/// Whether `path` ends in `.extension`, in any case.
fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}
