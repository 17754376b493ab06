//! A cloud with everything that its file says of its points: for conversions to another format.

use std::path::Path;

use super::clouds::{self, Written};
use super::copied::format;
#[cfg(feature = "e57")]
use super::e57;
use super::fields::{Fields, NORMALS};
use super::format::Format;
#[cfg(feature = "las")]
use super::las;
use super::scalar::Scalar;
use super::{Source, pcd, ply, read_cloud, xyz};
use crate::cloud::Cloud;
use crate::error::{Fault, FileError, Problem};

/// A cloud and the attributes that a [`Cloud`] has no list for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CloudFile {
    /// Points, normals, colours, intensities and viewpoint.
    pub cloud: Cloud,
    /// Further attributes, one value for each point.
    pub columns: Vec<Column>,
    /// Coordinate system as WKT, where the format has a place for it (LAS, E57).
    pub coordinate_system: Option<String>,
    /// Contents of the file that are in none of the other fields, by name.
    pub left_out: Vec<String>,
}

/// An attribute by its name: `classification`, `gps_time`, a property of a PLY file, extra bytes of a LAS file.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name, as in the file. Attributes of LAS points have the names of ASPRS in lower case, with underscores.
    pub name: String,
    /// Values, one for each point.
    pub values: Vec<f64>,
    /// Type of the values.
    pub(crate) scalar: Scalar,
}

impl Column {
    /// A column of doubles.
    pub fn new(name: impl Into<String>, values: Vec<f64>) -> Self {
        Self { name: name.into(), values, scalar: Scalar::F64 }
    }

    /// A type that writers have: half precision and integers of 64 bits become doubles.
    pub(crate) fn stored(&self) -> Scalar {
        match self.scalar {
            Scalar::F16 | Scalar::I64 | Scalar::U64 => Scalar::F64,
            scalar => scalar,
        }
    }

    /// The name as one word, for formats that separate names by spaces or commas.
    pub(crate) fn word(&self) -> String {
        let is_plain =
            |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ',' | ';' | '"' | '\'' | '#');
        let word: String = self.name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        if word.is_empty() { "_".to_owned() } else { word }
    }

    /// Whether a double holds all values.
    fn is_exact(&self) -> bool {
        let is_long = matches!(self.scalar, Scalar::I64 | Scalar::U64);
        !is_long || self.values.iter().all(|value| value.abs() <= 2f64.powi(53))
    }
}

/// Reads the cloud at `path` as [`read_cloud`] does, with all further attributes.
///
/// # Errors
/// As [`read_cloud`].
pub fn read_cloud_file(path: &Path) -> Result<CloudFile, FileError> {
    let mut file = CloudFile { cloud: read_cloud(path)?, ..CloudFile::default() };
    let Source { reader, size, label, scan } = Source::open(path)?;
    #[cfg(not(feature = "e57"))]
    let _ = scan; // only E57 files hold several scans
    let read = match format(path)? {
        Format::Ply => ply::extra_columns(reader).and_then(|found| file.take(path, size.is_some(), found)),
        Format::Pcd => pcd::extra_columns(reader).and_then(|found| file.take(path, size.is_some(), found)),
        Format::Text(habit) => {
            xyz::extra_columns(reader, habit).and_then(|found| file.take(path, size.is_some(), found))
        }
        #[cfg(feature = "las")]
        Format::Las => las::read_rest(path, &mut file),
        #[cfg(feature = "e57")]
        Format::E57 => e57::read_rest(reader, scan, &mut file),
        _ => Ok(()),
    };
    read.map_err(|fault| fault.in_file(&label))?;
    let (kept, inexact) = std::mem::take(&mut file.columns).into_iter().partition(Column::is_exact);
    file.columns = kept;
    file.left_out.extend(inexact.into_iter().map(|column: Column| format!("`{}`", column.name)));
    file.adopt_normals();
    Ok(file)
}

/// Columns of a table that are no part of a [`Cloud`].
pub(super) struct ExtraColumns {
    /// Columns of one number for each point.
    pub(super) usable: Vec<usize>,
    /// Columns, their names and types.
    pub(super) columns: Vec<(usize, String, Scalar)>,
    /// Number of columns that are read together: 1 where a column may hold words.
    pub(super) together: usize,
    /// What cannot be a column, by name.
    pub(super) left_out: Vec<String>,
}

impl CloudFile {
    /// Makes columns with the names of normals the normals of the cloud, so that they turn with it: extra bytes of LAS files.
    fn adopt_normals(&mut self) {
        let find = |name: &str| self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let triple = NORMALS.iter().find_map(|&[x, y, z]| Some([find(x)?, find(y)?, find(z)?]));
        if let (None, Some(places)) = (&self.cloud.normals, triple) {
            let [x, y, z] = places.map(|at| &self.columns[at].values);
            self.cloud.normals = Some(x.iter().zip(y).zip(z).map(|((x, y), z)| [*x, *y, *z]).collect());
            let mut at = 0..;
            self.columns.retain(|_| !at.next().is_some_and(|at| places.contains(&at)));
        }
    }

    /// Moves points, normals and viewpoint.
    ///
    /// # Errors
    /// When doubles are too coarse where the points would lie.
    pub fn moved(self, transform: &pcr99::Similarity) -> Result<Self, Problem> {
        Ok(Self { cloud: super::edit::moved(self.cloud, transform)?, ..self })
    }

    /// Writes the file at `path`, in the format that its extension names. Attributes that the format cannot hold are listed.
    ///
    /// # Errors
    /// As [`write_cloud`](super::write_cloud).
    pub fn write(&self, path: &Path) -> Result<Written, FileError> {
        clouds::write_file(path, &self.cloud, &self.columns, self.coordinate_system.as_deref())
    }

    /// Reads the columns, three at a time, in the place of coordinates: the readers of positions are fast.
    fn take(&mut self, path: &Path, is_file: bool, found: ExtraColumns) -> Result<(), Fault> {
        self.left_out = found.left_out;
        if !is_file {
            // A pipe cannot be read again.
            self.left_out.extend(found.columns.into_iter().map(|(_, name, _)| format!("`{name}`")));
            return Ok(());
        }
        for some in found.columns.chunks(found.together) {
            let mut three: Vec<usize> = some.iter().map(|&(column, ..)| column).collect();
            let others = found.usable.iter().filter(|&column| some.iter().all(|(other, ..)| other != column));
            three.extend(others.take(2));
            let fields = Fields::positions([three[0], three[1], three[2]]);
            match clouds::read_columns(path, &fields) {
                Ok(values) => {
                    for (k, (_, name, scalar)) in some.iter().enumerate() {
                        let values = values.iter().map(|triple| triple[k]).collect();
                        self.columns.push(Column { name: name.clone(), values, scalar: *scalar });
                    }
                }
                // A column of words.
                Err(Fault::Malformed(..)) => {
                    self.left_out.extend(some.iter().map(|(_, name, _)| format!("`{name}`")));
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}
