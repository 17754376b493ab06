//! Clouds in files of any format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

#[cfg(feature = "e57")]
use super::e57;
use super::fields::Want;
use super::format::Format;
#[cfg(feature = "las")]
use super::las;
use super::xyz::Layout;
use super::{Source, kitti, npy, obj, pcd, ply, xyz};
use crate::cloud::{Attribute, Cloud};
use crate::error::{Fault, FileError, Problem, label};
use pcr99_base::output_file::OutputFile;

/// Reads the cloud at `path` with all attributes that the format holds.
///
/// * `.ply`: the element `vertex`, in ASCII or binary of either byte order, with any layout of properties.
/// * `.pcd`: ASCII, binary and compressed, with any layout of fields.
/// * `.las`, `.laz`: position, colour and intensity of each point.
/// * `.e57`: all scans, each moved by its pose; cartesian or spherical; points marked invalid come back as NaN.
/// * `.npy`: an N×3 array, or a wider one that begins with x y z.
/// * `.obj`: vertices, their colours, and their normals when there is one for each.
/// * `.bin`: KITTI scans (x y z intensity in single precision).
/// * Anything else: text (XYZ, TXT, CSV, ASC, PTS …) with at least three columns. When a header names columns `x`,
///   `y` and `z`, those are used, otherwise the first three.
///
/// Further columns of `.npy` arrays and of text without names are interpreted by their values: a fourth is
/// the intensity, three more are normals if they have unit length and colours if they are whole numbers from 0 to
/// 255, and so on for combinations of these.
///
/// The extension may be in any case. A file with the signature of PLY, PCD, LAS, E57 or `.npy` is read in that
/// format, whatever its extension.
///
/// Points with NaN and infinite coordinates are kept: organised scans hold them where they saw
/// nothing, and index pairs refer to positions in the file.
/// [`Cloud::without_missing`] removes them.
///
/// # Errors
/// When the file cannot be read, is malformed, or holds no point.
pub fn read_cloud(path: &Path) -> Result<Cloud, FileError> {
    read(path, Want::Everything)
}

/// Reads only the points of the cloud at `path`; otherwise as [`read_cloud`].
///
/// # Errors
/// As [`read_cloud`].
pub fn read_points(path: &Path) -> Result<Vec<[f64; 3]>, FileError> {
    read(path, Want::Points).map(|cloud| cloud.points)
}

fn read(path: &Path, want: Want) -> Result<Cloud, FileError> {
    let Source { mut reader, size, label } = Source::open(path)?;
    let read = match reader.fill_buf() {
        Ok(start) => {
            let format = Format::signed(start).unwrap_or_else(|| Format::named(path));
            from(reader, size, format, want)
        }
        Err(error) => Err(error.into()),
    };
    let cloud = read.map_err(|fault| fault.in_file(&label))?;
    if cloud.is_empty() {
        return Err(Fault::whole(Problem::Nothing { what: "points" }).in_file(&label));
    }
    Ok(cloud)
}

fn from(reader: BufReader<File>, size: Option<u64>, format: Format, want: Want) -> Result<Cloud, Fault> {
    match format {
        Format::Ply => ply::read(reader, size, want),
        Format::Pcd => pcd::read(reader, size, want),
        #[cfg(feature = "las")]
        Format::Las => las::read(reader, size, want),
        #[cfg(not(feature = "las"))]
        Format::Las => Err(Fault::whole(Problem::NotBuiltIn { format: "LAS and LAZ", feature: "las" })),
        #[cfg(feature = "e57")]
        Format::E57 => e57::read(reader, size, want),
        #[cfg(not(feature = "e57"))]
        Format::E57 => Err(Fault::whole(Problem::NotBuiltIn { format: "E57", feature: "e57" })),
        Format::Npy => npy::cloud::read(reader, size, want),
        Format::Obj => obj::read(reader, want),
        Format::Kitti => kitti::read(reader, size, want),
        Format::Text(habit) => xyz::read(reader, want, habit),
    }
}

/// A format that clouds are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloudFormat {
    /// PLY, binary, little-endian; each property in single precision if that is exact, else in double.
    Ply,
    /// PCD, binary. Coordinates are in single precision, which is all that many readers take, unless it would move a
    /// point by more than a millionth of the cloud's extent.
    Pcd,
    /// Text, columns separated by spaces; a comment names them when there are more than three.
    Xyz,
    /// Text, columns separated by commas, with a header.
    Csv,
    /// A `NumPy` array of doubles, one row per point: x y z, then normal, colour and intensity as far as known.
    Npy,
}

impl CloudFormat {
    /// Extensions of all formats that are written, for messages.
    pub const EXTENSIONS: &'static str = ".ply, .pcd, .xyz, .txt, .asc, .csv, .npy";

    /// The format that the extension of `path` names, in any case.
    ///
    /// # Errors
    /// When it names none of [`EXTENSIONS`](Self::EXTENSIONS).
    pub fn of(path: &Path) -> Result<Self, FileError> {
        let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
        Ok(match extension.as_deref().and_then(|extension| extension.to_str()) {
            Some("ply") => Self::Ply,
            Some("pcd") => Self::Pcd,
            Some("xyz" | "txt" | "asc") => Self::Xyz,
            Some("csv") => Self::Csv,
            Some("npy") => Self::Npy,
            _ => return Err(FileError::UnknownFormat { file: label(path) }),
        })
    }

    /// Whether files of this format have a place for `attribute`.
    pub fn holds(self, attribute: Attribute) -> bool {
        attribute != Attribute::Viewpoint || self == Self::Pcd
    }

    /// Whether points with NaN coordinates can be written: programs that read text seldom expect them.
    pub fn holds_missing(self) -> bool {
        matches!(self, Self::Ply | Self::Pcd | Self::Npy)
    }
}

/// Summary of a written cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Number of points in the file.
    pub points: usize,
    /// Number of missing points (NaN or infinite) that the format cannot hold.
    pub dropped: usize,
    /// Attributes in the file.
    pub kept: Vec<Attribute>,
    /// Attributes of the cloud that the format cannot hold.
    pub lost: Vec<Attribute>,
}

/// Writes `cloud` to the file at `path`, in the format that its extension names ([`CloudFormat`]). The file is written completely
/// or not at all; an existing file is replaced.
///
/// # Errors
/// When the extension is not known, when the lists of `cloud` differ in length, and when the file cannot be written.
pub fn write_cloud(path: &Path, cloud: &Cloud) -> Result<Written, FileError> {
    let format = CloudFormat::of(path)?;
    cloud.validate().map_err(|cause| FileError::Unequal { file: label(path), cause })?;
    let file = OutputFile::new(path)?;
    let complete; // without missing points
    let (cloud, dropped) = if !format.holds_missing() && cloud.count_missing() > 0 {
        let dropped;
        (complete, dropped) = cloud.clone().without_missing();
        (&complete, dropped)
    } else {
        (cloud, 0)
    };
    file.write(|out| write(out, cloud, format))?;
    let (kept, lost) = cloud.attributes().into_iter().partition(|&attribute| format.holds(attribute));
    Ok(Written { points: cloud.len(), dropped, kept, lost })
}

fn write(out: &mut dyn Write, cloud: &Cloud, format: CloudFormat) -> io::Result<()> {
    match format {
        CloudFormat::Ply => ply::write(out, cloud),
        CloudFormat::Pcd => pcd::write(out, cloud),
        CloudFormat::Xyz => xyz::write(out, cloud, Layout::Spaces),
        CloudFormat::Csv => xyz::write(out, cloud, Layout::Commas),
        CloudFormat::Npy => npy::cloud::write(out, cloud),
    }
}
