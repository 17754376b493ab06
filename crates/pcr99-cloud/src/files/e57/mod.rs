//! E57 files, read by the crate `e57`: all scans, each moved by its pose.
//!
//! The crate verifies page checksums. It does not check, and this module does, how
//! many points a scan has (no more than the file has bits) and the ranges of its integers. Its raw reader is used: the
//! simple one stops at packets that complete no point, turns intensities into colours, and has angles converted by
//! functions that differ from machine to machine.

mod copy;

mod rest;
mod step;

mod write;

use e57::{E57Reader, PointCloud, Record, RecordDataType, RecordName, RecordValue, Transform};

pub(super) use copy::copy;
pub(super) use rest::read_rest;
pub(super) use write::write;

use super::Reader;
use super::fields::{Depth, Want, scaled};
use crate::cloud::Cloud;
use crate::error::{Fault, said};

/// Error in an E57 file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum E57Error {
    /// The stream is a pipe or a device.
    #[error("an E57 file can only be read from a disk, not from a pipe; save it first")]
    Pipe,
    /// The library that decodes the file refused it before the first point.
    #[error("the file is no E57 file, or damaged ({cause}); copy or export it again")]
    File {
        /// Message of the decoding library, shortened.
        cause: String,
    },
    /// A scan cannot be read.
    #[error(
        "scan {scan} (counted from 0) is damaged after {found} of {promised} points ({cause}); copy or export the file \
         again"
    )]
    Scan {
        /// The scan, from 0.
        scan: usize,
        /// Number of points that the header declares.
        promised: u64,
        /// Number of points that were decoded before.
        found: u64,
        /// Message of the decoding library, shortened.
        cause: String,
    },
    /// A scan has neither kind of coordinates.
    #[error(
        "scan {scan} (counted from 0) has neither cartesian nor spherical coordinates; export the file with its points"
    )]
    NoCoordinates {
        /// The scan, from 0.
        scan: usize,
    },
    /// A scan promises more points than the file has bits.
    #[error(
        "scan {scan} (counted from 0) promises {promised} points, more than a file of {size} bytes can hold; it is damaged"
    )]
    TooMany {
        /// The scan, from 0.
        scan: usize,
        /// Number of points that the header declares.
        promised: u64,
        /// The size of the file.
        size: u64,
    },
    /// The library that encodes the file refused it.
    #[error("the cloud cannot be written as E57 ({cause}); write a PLY or LAS file")]
    Encoder {
        /// Message of the encoding library, shortened.
        cause: String,
    },
    /// Doubles are too coarse where the moved points would lie.
    #[error(
        "moved, its coordinates reach {coordinate:e} metres, where doubles are {spacing:e} metres apart; use a transform to a place nearer to the origin"
    )]
    Far {
        /// Largest coordinate, approximately.
        coordinate: f64,
        /// Distance of neighbouring doubles there.
        spacing: f64,
    },
    /// A copy would have another scale.
    #[error(
        "E57 files keep their values and move by poses, which have no scale, but the transform has the scale {scale}; write a PLY or LAS file"
    )]
    Scale {
        /// The scale.
        scale: f64,
    },
    /// The chosen scan is not there.
    #[error("there is no scan {number}: the file has {found}, counted from 0; `pcr99 info` lists them")]
    NoScan {
        /// The number that was given.
        number: usize,
        /// Number of scans.
        found: usize,
    },
    /// The integers of a scan have no room, or all values are constant.
    #[error("scan {scan} (counted from 0) has values whose range is wrong; the file is damaged")]
    Range {
        /// The scan, from 0.
        scan: usize,
    },
}

/// Reads all scans, or one of them; `size` is that of the file.
pub(super) fn read(
    reader: Reader,
    size: Option<u64>,
    want: Want,
    scan: Option<usize>,
) -> Result<Cloud, Fault> {
    let size = size.ok_or_else(|| Fault::whole(E57Error::Pipe))?;
    let mut file =
        E57Reader::new(reader).map_err(|cause| Fault::whole(E57Error::File { cause: said(&cause) }))?;
    let scans = chosen(file.pointclouds(), scan)?;
    let mut columns = Vec::with_capacity(scans.len());
    for (number, scan) in scans.iter().enumerate() {
        columns.push(Columns::of(scan, number, size)?);
    }
    // An attribute is present when all scans have it.
    let known = |has: fn(&Columns) -> bool| want == Want::Everything && columns.iter().all(has);
    let mut found = Scans {
        points: Vec::new(),
        normals: known(|columns| columns.normal.is_some()).then(Vec::new),
        colors: known(|columns| columns.color.is_some()).then(Vec::new),
        intensities: known(|columns| columns.intensity.is_some()).then(Vec::new),
    };
    for (number, (scan, columns)) in scans.iter().zip(&columns).enumerate() {
        found.read(&mut file, number, scan, columns)?;
    }
    // The sensor has one position only when there is one scan.
    let viewpoint = match scans.as_slice() {
        [scan] => scan.transform.as_ref().map(|pose| {
            let place = &pose.translation;
            [place.x, place.y, place.z]
        }),
        _ => None,
    };
    Ok(Cloud {
        points: found.points,
        normals: found.normals,
        colors: found.colors.and_then(|colors| scaled(&colors, Depth::Any)),
        intensities: found.intensities,
        viewpoint: viewpoint.filter(|place| place.iter().all(|x| x.is_finite())),
    })
}

/// One of the scans if it is chosen, otherwise all.
fn chosen(scans: Vec<PointCloud>, scan: Option<usize>) -> Result<Vec<PointCloud>, Fault> {
    let Some(number) = scan else { return Ok(scans) };
    let found = scans.len();
    let scan = scans.into_iter().nth(number);
    Ok(vec![scan.ok_or_else(|| Fault::whole(E57Error::NoScan { number, found }))?])
}

/// A scan of an E57 file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanInfo {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Number of points.
    pub points: u64,
    /// Position of the sensor in the coordinates of the file.
    pub position: [f64; 3],
    /// Rotation of the sensor as a quaternion w, x, y, z.
    pub quaternion: [f64; 4],
    /// Step of the stored coordinates, if they have one, and whether it is that of single precision.
    pub step: Option<(f64, bool)>,
}

/// Lists the scans.
pub(super) fn scans(reader: Reader) -> Result<Vec<ScanInfo>, Fault> {
    let file =
        E57Reader::new(reader).map_err(|cause| Fault::whole(E57Error::File { cause: said(&cause) }))?;
    let info = |scan: PointCloud| {
        let step = step::step(&scan);
        let pose = scan.transform.unwrap_or_default();
        let (t, q) = (pose.translation, pose.rotation);
        ScanInfo {
            step,
            name: scan.name,
            points: scan.records,
            position: [t.x, t.y, t.z],
            quaternion: [q.w, q.x, q.y, q.z],
        }
    };
    Ok(file.pointclouds().into_iter().map(info).collect())
}

/// Columns of the values of a point.
struct Columns {
    position: Position,
    /// Column that marks invalid positions.
    invalid: Option<usize>,
    normal: Option<[usize; 3]>,
    color: Option<[usize; 3]>,
    intensity: Option<usize>,
}

#[derive(Clone, Copy)]
enum Position {
    Cartesian([usize; 3]),
    /// Range, azimuth, elevation.
    Spherical([usize; 3]),
}

impl Columns {
    /// Finds the columns of a scan, and checks what the library assumes.
    fn of(scan: &PointCloud, number: usize, size: u64) -> Result<Self, Fault> {
        use RecordName as Name;
        let promised = scan.records;
        if promised > size.saturating_mul(8) {
            return Err(Fault::whole(E57Error::TooMany { scan: number, promised, size }));
        }
        let range = |record: &Record| match record.data_type {
            RecordDataType::Integer { min, max } | RecordDataType::ScaledInteger { min, max, .. } => {
                max.cmp(&min)
            }
            RecordDataType::Single { .. } | RecordDataType::Double { .. } => std::cmp::Ordering::Greater,
        };
        // Constant values take no bits: if all are, nothing in the file would end the list of points.
        if scan.prototype.iter().any(|record| range(record).is_lt())
            || scan.prototype.iter().all(|r| range(r).is_eq())
        {
            return Err(Fault::whole(E57Error::Range { scan: number }));
        }
        let find = |name: &RecordName| scan.prototype.iter().position(|record| record.name == *name);
        let triple = |[a, b, c]: [RecordName; 3]| Some([find(&a)?, find(&b)?, find(&c)?]);
        let cartesian = triple([Name::CartesianX, Name::CartesianY, Name::CartesianZ]);
        let spherical = triple([Name::SphericalRange, Name::SphericalAzimuth, Name::SphericalElevation]);
        let (position, invalid) = match (cartesian, spherical) {
            (Some(columns), _) => (Position::Cartesian(columns), find(&Name::CartesianInvalidState)),
            (None, Some(columns)) => (Position::Spherical(columns), find(&Name::SphericalInvalidState)),
            (None, None) => return Err(Fault::whole(E57Error::NoCoordinates { scan: number })),
        };
        let extension = |axis: &str| {
            scan.prototype
                .iter()
                .position(|record| matches!(&record.name, Name::Unknown { name, .. } if name == axis))
        };
        Ok(Self {
            position,
            invalid,
            normal: (|| Some([extension("normalX")?, extension("normalY")?, extension("normalZ")?]))(),
            color: triple([Name::ColorRed, Name::ColorGreen, Name::ColorBlue]),
            intensity: find(&Name::Intensity),
        })
    }
}

/// State of the reader.
struct Scans {
    points: Vec<[f64; 3]>,
    normals: Option<Vec<[f64; 3]>>,
    colors: Option<Vec<[f32; 3]>>,
    intensities: Option<Vec<f64>>,
}

impl Scans {
    /// Adds the points of one scan.
    fn read(
        &mut self,
        file: &mut E57Reader<Reader>,
        number: usize,
        scan: &PointCloud,
        columns: &Columns,
    ) -> Result<(), Fault> {
        let damaged = |found: u64, cause: e57::Error| {
            let problem = E57Error::Scan { scan: number, promised: scan.records, found, cause: said(&cause) };
            Fault::whole(problem)
        };
        let color_ranges = columns.color.map(|color| color.map(|column| range(&scan.prototype[column])));
        let points = file.pointcloud_raw(scan).map_err(|cause| damaged(0, cause))?;
        for (found, values) in points.enumerate() {
            let wrong = |cause| damaged(found as u64, cause);
            let values = values.map_err(wrong)?;
            let value =
                |column: usize| values[column].to_f64(&scan.prototype[column].data_type).map_err(wrong);
            let triple = |[a, b, c]: [usize; 3]| Ok::<_, Fault>([value(a)?, value(b)?, value(c)?]);
            let valid = columns.invalid.is_none_or(|column| values[column] == RecordValue::Integer(0));
            let place = match columns.position {
                _ if !valid => [f64::NAN; 3],
                Position::Cartesian(columns) => triple(columns)?,
                Position::Spherical(columns) => cartesian(triple(columns)?),
            };
            self.points.push(scan.transform.as_ref().map_or(place, |pose| moved(pose, place)));
            if let (Some(normals), Some(columns)) = (&mut self.normals, columns.normal) {
                let normal = triple(columns)?;
                normals.push(scan.transform.as_ref().map_or(normal, |pose| turned(pose, normal)));
            }
            if let (Some(colors), Some(columns), Some(ranges)) =
                (&mut self.colors, columns.color, color_ranges)
            {
                let color = triple(columns)?;
                colors.push(std::array::from_fn(|k| {
                    ranges[k].map_or(color[k], |[low, high]| (color[k] - low) / (high - low)) as f32
                }));
            }
            if let (Some(intensities), Some(column)) = (&mut self.intensities, columns.intensity) {
                intensities.push(value(column)?);
            }
        }
        Ok(())
    }
}

/// The least and the largest value that the type of a column allows, if it says so.
fn range(record: &Record) -> Option<[f64; 2]> {
    let range = match record.data_type {
        RecordDataType::Integer { min, max } => [min as f64, max as f64],
        RecordDataType::ScaledInteger { min, max, scale, offset } => {
            [min as f64 * scale + offset, max as f64 * scale + offset]
        }
        RecordDataType::Single { min, max } => [min?.into(), max?.into()],
        RecordDataType::Double { min, max } => [min?, max?],
    };
    (range[1] > range[0]).then_some(range)
}

/// Cartesian coordinates of a point given by distance, azimuth and elevation above the xy plane (radians).
fn cartesian([range, azimuth, elevation]: [f64; 3]) -> [f64; 3] {
    let ((sin_a, cos_a), (sin_e, cos_e)) = (libm::sincos(azimuth), libm::sincos(elevation));
    [range * cos_e * cos_a, range * cos_e * sin_a, range * sin_e]
}

/// `vector` rotated by the unit quaternion `(w, v)` of `pose`: `p + 2w(v×p) + 2v×(v×p)`.
fn turned(pose: &Transform, vector: [f64; 3]) -> [f64; 3] {
    let turn = &pose.rotation;
    let axis = [turn.x, turn.y, turn.z];
    let once = cross(axis, vector);
    let twice = cross(axis, once);
    std::array::from_fn(|k| vector[k] + 2.0 * (turn.w * once[k] + twice[k]))
}

/// `point` moved by `pose`.
fn moved(pose: &Transform, point: [f64; 3]) -> [f64; 3] {
    let shift = &pose.translation;
    let shift = [shift.x, shift.y, shift.z];
    let turned = turned(pose, point);
    std::array::from_fn(|k| turned[k] + shift[k])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
