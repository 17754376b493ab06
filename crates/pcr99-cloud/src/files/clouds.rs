//! Clouds in files of any format.

use std::io::{self, BufRead};
use std::path::Path;

#[cfg(feature = "e57")]
use super::e57;
use super::fields::{Fields, Want};
use super::file::Column;
use super::format::Format;
#[cfg(feature = "las")]
use super::las;
use super::source::Origin;
use super::xyz::Layout;
use super::{Reader, Source, kitti, npy, obj, pcd, ply, xyz};
use crate::cloud::{Attribute, Cloud};
use crate::error::{Fault, FileError, Problem, label};
use pcr99_base::output_file::OutputFile;

/// Reads the cloud at `path` with all attributes that the format holds.
///
/// * `.ply`: the element `vertex`, in ASCII or binary of either byte order, with any layout of properties.
/// * `.pcd`: ASCII, binary and compressed, with any layout of fields.
/// * `.las`, `.laz`: position, colour and intensity of each point.
/// * `.e57`: all scans, each moved by its pose, or one of them (`scan.e57#2`, counted from 0); cartesian or spherical; points marked invalid
///   come back as NaN.
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
    read(Origin::Disk(path), Want::Everything)
}

/// Reads only the points of the cloud at `path`; otherwise as [`read_cloud`].
///
/// # Errors
/// As [`read_cloud`].
pub fn read_points(path: &Path) -> Result<Vec<[f64; 3]>, FileError> {
    read(Origin::Disk(path), Want::Points).map(|cloud| cloud.points)
}

/// Reads a cloud from a disk or from memory.
pub(super) fn read(origin: Origin<'_>, want: Want) -> Result<Cloud, FileError> {
    let Source { mut reader, size, label, scan } = origin.open()?;
    let read = match reader.fill_buf() {
        Ok(start) => {
            let format = Format::signed(start).unwrap_or_else(|| Format::named(origin.path()));
            from(reader, size, format, want, scan)
        }
        Err(error) => Err(error.into()),
    };
    let cloud = read.map_err(|fault| fault.in_file(&label))?;
    if cloud.is_empty() {
        return Err(Fault::whole(Problem::Nothing { what: "points" }).in_file(&label));
    }
    Ok(cloud)
}

fn from(
    reader: Reader,
    size: Option<u64>,
    format: Format,
    want: Want,
    #[cfg_attr(not(feature = "e57"), expect(unused_variables, reason = "only E57 files hold several scans"))]
    scan: Option<usize>,
) -> Result<Cloud, Fault> {
    match format {
        Format::Ply => ply::read(reader, size, want),
        Format::Pcd => pcd::read(reader, size, want),
        #[cfg(feature = "las")]
        Format::Las => las::read(reader, size, want),
        #[cfg(not(feature = "las"))]
        Format::Las => Err(Fault::whole(Problem::NotBuiltIn { format: "LAS and LAZ", feature: "las" })),
        #[cfg(feature = "e57")]
        Format::E57 => e57::read(reader, size, want, scan),
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
    /// LAS 1.4.
    Las,
    /// LAS 1.4, compressed.
    Laz,
    /// E57, one scan.
    E57,
}

impl CloudFormat {
    /// Extensions of all formats that are written, for messages.
    pub const EXTENSIONS: &'static str = ".ply, .pcd, .las, .laz, .e57, .xyz, .txt, .asc, .csv, .npy";

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
            Some("las") => Self::Las,
            Some("laz") => Self::Laz,
            Some("e57") => Self::E57,
            _ => return Err(FileError::UnknownFormat { file: label(path) }),
        })
    }

    /// Whether files of this format have a place for `attribute`.
    pub fn holds(self, attribute: Attribute) -> bool {
        attribute != Attribute::Viewpoint || matches!(self, Self::Pcd | Self::E57)
    }

    /// Whether points with NaN coordinates can be written: programs that read text seldom expect them.
    pub fn holds_missing(self) -> bool {
        matches!(self, Self::Ply | Self::Pcd | Self::Npy | Self::E57)
    }

    /// Whether files of this format have a place for a coordinate system.
    fn holds_coordinate_system(self) -> bool {
        matches!(self, Self::Las | Self::Laz | Self::E57)
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
    /// Names of further attributes in the file.
    pub kept_columns: Vec<String>,
    /// Names of what the format cannot hold.
    pub lost: Vec<String>,
}

/// Writes `cloud` to the file at `path`, in the format that its extension names ([`CloudFormat`]). The file is written completely
/// or not at all; an existing file is replaced.
///
/// # Errors
/// When the extension is not known, when the lists of `cloud` differ in length, and when the file cannot be written.
pub fn write_cloud(path: &Path, cloud: &Cloud) -> Result<Written, FileError> {
    write_file(path, cloud, &[], None)
}

/// Writes `cloud` with further attributes, which have one value for each point, and a coordinate system.
pub(super) fn write_file(
    path: &Path,
    cloud: &Cloud,
    columns: &[Column],
    coordinate_system: Option<&str>,
) -> Result<Written, FileError> {
    let format = CloudFormat::of(path)?;
    cloud.validate().map_err(|cause| FileError::Unequal { file: label(path), cause })?;
    let file = OutputFile::new(path)?;
    let (complete, complete_columns); // without missing points
    let mut dropped = 0;
    let (mut cloud, mut columns) = (cloud, columns);
    if !format.holds_missing() && cloud.count_missing() > 0 {
        let is_there: Vec<bool> = cloud.points.iter().map(|p| p.iter().all(|x| x.is_finite())).collect();
        let kept = |column: &Column| {
            let values = column.values.iter().zip(&is_there).filter(|(_, there)| **there);
            Column { values: values.map(|(value, _)| *value).collect(), ..column.clone() }
        };
        complete_columns = columns.iter().map(kept).collect::<Vec<Column>>();
        (complete, dropped) = cloud.clone().without_missing();
        (cloud, columns) = (&complete, &complete_columns);
    }
    #[cfg(any(feature = "las", feature = "e57"))]
    let named = |fault: Fault| fault.in_file(&label(path));
    let mut lost = match format {
        #[cfg(feature = "las")]
        CloudFormat::Las | CloudFormat::Laz => {
            let is_packed = format == CloudFormat::Laz;
            file.write_seekable(|out| {
                las::write(out, cloud, columns, coordinate_system, is_packed).map_err(named)
            })?
        }
        #[cfg(feature = "e57")]
        CloudFormat::E57 => {
            file.write_seekable(|out| e57::write(out, cloud, columns, coordinate_system).map_err(named))?
        }
        #[cfg(not(feature = "las"))]
        CloudFormat::Las | CloudFormat::Laz => return Err(FileError::UnknownFormat { file: label(path) }),
        #[cfg(not(feature = "e57"))]
        CloudFormat::E57 => return Err(FileError::UnknownFormat { file: label(path) }),
        CloudFormat::Ply => file.write(|out| ply::write(out, cloud, columns)).map(|()| Vec::new())?,
        CloudFormat::Pcd => file.write(|out| pcd::write(out, cloud, columns)).map(|()| Vec::new())?,
        CloudFormat::Xyz => {
            file.write(|out| xyz::write(out, cloud, columns, Layout::Spaces)).map(|()| Vec::new())?
        }
        CloudFormat::Csv => {
            file.write(|out| xyz::write(out, cloud, columns, Layout::Commas)).map(|()| Vec::new())?
        }
        CloudFormat::Npy => file.write(|out| npy::cloud::write(out, cloud, columns)).map(|()| Vec::new())?,
    };
    let (kept, not_kept): (Vec<Attribute>, Vec<Attribute>) =
        cloud.attributes().into_iter().partition(|&attribute| format.holds(attribute));
    lost.splice(0..0, not_kept.iter().map(Attribute::to_string));
    if coordinate_system.is_some() && !format.holds_coordinate_system() {
        lost.push("the coordinate system".to_owned());
    }
    let is_lost = |name: &str| lost.iter().any(|lost| lost.starts_with(&format!("`{name}`")));
    let kept_columns =
        columns.iter().map(|column| column.name.clone()).filter(|name| !is_lost(name)).collect();
    Ok(Written { points: cloud.len(), dropped, kept, kept_columns, lost })
}

/// The bytes of a PLY file; `name` is its name in messages.
pub(super) fn ply_bytes(cloud: &Cloud, name: &str) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let written = ply::write(&mut bytes, cloud, &[]);
    written.map_err(|error| Fault::from(error).in_file(&label(Path::new(name))))?;
    Ok(bytes)
}

/// Reads three columns of the file at `path`, which has a table of columns.
pub(super) fn read_columns(path: &Path, fields: &Fields) -> Result<Vec<[f64; 3]>, Fault> {
    let format = super::copied::format(path).map_err(io::Error::other)?;
    let Source { reader, size, .. } = Source::open(path).map_err(io::Error::other)?;
    let cloud = match format {
        Format::Ply => ply::read_columns(reader, size, fields)?,
        Format::Pcd => pcd::read_columns(reader, size, fields)?,
        _ => xyz::read_columns(reader, fields)?,
    };
    Ok(cloud.points)
}
