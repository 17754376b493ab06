//! Reading and writing of files: one module per format below; matches, clouds and index pairs on top.
//!
//! The format is chosen by the extension (in any case); files with an unknown extension are read
//! as text. Clouds with the signature of a format are read in that format, whatever their extension. For matches and index
//! pairs, the text reader recognises such files and names their format.

use std::path::Path;

mod clouds;

mod copied;

#[cfg(feature = "e57")]
mod e57;

mod edit;

mod fields;

mod file;

mod format;

mod guess;

mod indices;

mod info;

mod kitti;

#[cfg(feature = "las")]
mod las;

mod matches;

mod memory;

mod npy;

mod npz;

mod obj;

mod pcd;

mod ply;

mod scalar;

mod source;

mod text;

mod transform;

mod writing;

mod xyz;

mod zip;

pub use clouds::{CloudFormat, Written, read_cloud, read_points, write_cloud};
pub use copied::{Copied, copy_cloud, is_copy};
#[cfg(feature = "e57")]
pub use e57::{E57Error, ScanInfo};
pub use file::{CloudFile, Column, read_cloud_file};
pub use indices::read_indices;
pub use info::{CloudInfo, cloud_info, points_unit_hint, unit_hint};
pub use kitti::KittiError;
#[cfg(feature = "las")]
pub use las::LasError;
pub use matches::{Matches, read_matches, read_matches_text, write_matches};
pub use memory::MemoryFile;
pub use npy::NpyError;
pub use obj::ObjError;
pub use pcd::PcdError;
pub use pcr99_base::output_file::{OutputError, OutputFile};
pub use ply::PlyError;
pub use text::{Hint, TextError};
pub use transform::{TransformError, read_transform};
pub use zip::ZipError;

use source::{Reader, Source, chosen_scan};

/// Whether a panic of this thread is caught and becomes a [`FileError`](crate::FileError). A panic hook should print nothing then.
///
/// The decoder of LAZ files, another library, panics on some damaged files.
pub fn panic_is_caught() -> bool {
    #[cfg(feature = "las")]
    return las::is_decoding();
    #[cfg(not(feature = "las"))]
    false
}

/// Whether `path` has this extension, in any case.
fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}
