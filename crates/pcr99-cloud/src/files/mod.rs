//! Reading and writing of files: one module per format below; matches, clouds and index pairs on top.
//!
//! The format is chosen by the extension (in any case); files with an unknown extension are read
//! as text. Clouds with the signature of a format are read in that format, whatever their extension. For matches and index
//! pairs, the text reader recognises such files and names their format.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::error::{FileError, label};

mod clouds;

#[cfg(feature = "e57")]
mod e57;

mod fields;

mod format;

mod guess;

mod indices;

mod kitti;

#[cfg(feature = "las")]
mod las;

mod matches;

mod npy;

mod npz;

mod obj;

mod pcd;

mod ply;

mod scalar;

mod text;

mod transform;

mod writing;

mod xyz;

mod zip;

pub use clouds::{CloudFormat, Written, read_cloud, read_points, write_cloud};
#[cfg(feature = "e57")]
pub use e57::E57Error;
pub use indices::read_indices;
pub use kitti::KittiError;
#[cfg(feature = "las")]
pub use las::LasError;
pub use matches::{Matches, read_matches, read_matches_text, write_matches};
pub use npy::NpyError;
pub use obj::ObjError;
pub use pcd::PcdError;
pub use pcr99_base::output_file::{OutputError, OutputFile};
pub use ply::PlyError;
pub use text::{Hint, TextError};
pub use transform::{TransformError, read_transform};
pub use zip::ZipError;

/// Whether a panic of this thread is caught and becomes a [`FileError`]. A panic hook should print nothing then.
///
/// The decoder of LAZ files, another library, panics on some damaged files.
pub fn panic_is_caught() -> bool {
    #[cfg(feature = "las")]
    return las::is_decoding();
    #[cfg(not(feature = "las"))]
    false
}

/// Largest size of the read buffer, in bytes.
const BUFFER: usize = 128 * 1024;

/// Smallest size of the read buffer, in bytes.
const SMALL_BUFFER: usize = 4 * 1024;

/// A file opened for reading.
struct Source {
    /// The bytes, from the beginning.
    reader: BufReader<File>,
    /// Size in bytes; `None` for pipes and devices.
    size: Option<u64>,
    /// Name in messages.
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
        // A small file needs no large buffer, which would take longer than the file when many are read.
        let capacity = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(BUFFER);
        let reader = BufReader::with_capacity(capacity.clamp(SMALL_BUFFER, BUFFER), file);
        Ok(Self { reader, size, label })
    }
}

/// Whether `path` has this extension, in any case.
fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}
