//! Clouds as E57 files with one scan.

use e57::{
    E57Writer, Extension, Quaternion, Record, RecordDataType, RecordName, RecordValue, Transform, Translation,
};
use pcr99_base::output_file::PendingFile;

use super::E57Error;
use super::copy::checksum;
use super::rest::STANDARD;
use crate::cloud::Cloud;
use crate::error::{Fault, said};
use crate::files::file::Column;
use crate::files::scalar::Scalar;
use crate::files::writing::Real;

/// The extension for normals, and ours for attributes that are not in the standard.
const NORMALS: (&str, &str) = ("nor", "http://www.libe57.org/E57_NOR_surface_normals.txt");
const COLUMNS: (&str, &str) = ("pcr99", "https://github.com/pcr99/pcr99#attributes");

/// Values of one attribute.
enum Values<'a> {
    Axis(&'a [[f64; 3]], usize),
    Channel(&'a [[u8; 3]], usize),
    List(&'a [f64]),
    IsMissing(&'a [[f64; 3]]),
}

impl Values<'_> {
    fn at(&self, row: usize) -> f64 {
        match self {
            Self::Axis(list, axis) => list[row][*axis],
            Self::Channel(list, channel) => list[row][*channel].into(),
            Self::List(list) => list[row],
            Self::IsMissing(list) => {
                if list[row].iter().all(|x| x.is_finite()) {
                    0.0
                } else {
                    2.0
                }
            }
        }
    }
}

/// Writes `cloud` and its columns; returns the names of what cannot be stored.
pub(in crate::files) fn write(
    out: &mut PendingFile,
    cloud: &Cloud,
    columns: &[Column],
    coordinate_system: Option<&str>,
) -> Result<Vec<String>, Fault> {
    let failed = |cause: e57::Error| Fault::whole(E57Error::Encoder { cause: said(&cause) });
    // A scan knows its sensor as the origin of its coordinates.
    let pose = cloud.viewpoint.unwrap_or([0.0; 3]);
    let local: Vec<[f64; 3]>;
    let points = match cloud.viewpoint {
        Some(_) => {
            local = cloud.points.iter().map(|p| [0, 1, 2].map(|k| p[k] - pose[k])).collect();
            &local
        }
        None => &cloud.points,
    };
    let (attributes, lost) = attributes(cloud, points, columns);
    // The same cloud gives the same file, and another cloud another name.
    let mut bytes = Vec::with_capacity(24 * points.len());
    points.as_flattened().iter().for_each(|x| bytes.extend_from_slice(&x.to_le_bytes()));
    let name = format!("pcr99-{:08x}-{}", checksum(&bytes), points.len());
    drop(bytes);
    let mut file = E57Writer::new(&mut *out, &name).map_err(failed)?;
    file.set_coordinate_metadata(coordinate_system.map(str::to_owned));
    for (namespace, url) in [NORMALS, COLUMNS] {
        let is_used = |record: &Record| matches!(&record.name, RecordName::Unknown { namespace: n, .. } if n == namespace);
        if attributes.iter().any(|(record, _)| is_used(record)) {
            file.register_extension(Extension::new(namespace, url)).map_err(failed)?;
        }
    }
    let prototype = attributes.iter().map(|(record, _)| record.clone()).collect();
    let mut scan = file.add_pointcloud(&format!("{name}-scan"), prototype).map_err(failed)?;
    let [x, y, z] = pose;
    if cloud.viewpoint.is_some() {
        let rotation = Quaternion { w: 1.0, x: 0.0, y: 0.0, z: 0.0 };
        scan.set_transform(Some(Transform { rotation, translation: Translation { x, y, z } }));
    }
    for row in 0..points.len() {
        let is_missing = !points[row].iter().all(|x| x.is_finite());
        let value = |(record, values): &(Record, Values<'_>)| {
            let value = values.at(row);
            // Coordinates of missing points are ignored by readers.
            let value = if is_missing
                && matches!(values, Values::Axis(list, _) if list.as_ptr() == points.as_ptr())
            {
                0.0
            } else {
                value
            };
            match record.data_type {
                RecordDataType::Single { .. } => RecordValue::Single(value as f32),
                RecordDataType::Double { .. } => RecordValue::Double(value),
                RecordDataType::ScaledInteger { .. } => RecordValue::ScaledInteger(value as i64),
                RecordDataType::Integer { .. } => RecordValue::Integer(value as i64),
            }
        };
        scan.add_point(attributes.iter().map(value).collect()).map_err(failed)?;
    }
    scan.finalize().map_err(failed)?;
    file.finalize().map_err(failed)?;
    Ok(lost)
}

/// The attributes and their values, and the names of columns that cannot be stored.
fn attributes<'a>(
    cloud: &'a Cloud,
    points: &'a [[f64; 3]],
    columns: &'a [Column],
) -> (Vec<(Record, Values<'a>)>, Vec<String>) {
    use RecordName as Name;
    let mut all = Vec::new();
    let mut lost = Vec::new();
    let real = |real: Real| match real {
        Real::Single => RecordDataType::Single { min: None, max: None },
        Real::Double => RecordDataType::Double { min: None, max: None },
    };
    let position = real(Real::exact(points.as_flattened()));
    for (axis, name) in [Name::CartesianX, Name::CartesianY, Name::CartesianZ].into_iter().enumerate() {
        all.push((Record { name, data_type: position.clone() }, Values::Axis(points, axis)));
    }
    if cloud.count_missing() > 0 {
        let data_type = RecordDataType::Integer { min: 0, max: 2 };
        all.push((Record { name: Name::CartesianInvalidState, data_type }, Values::IsMissing(points)));
    }
    if let Some(normals) = &cloud.normals {
        let data_type = real(Real::exact(normals.as_flattened()));
        for (axis, name) in ["normalX", "normalY", "normalZ"].into_iter().enumerate() {
            let name = Name::Unknown { namespace: NORMALS.0.to_owned(), name: name.to_owned() };
            all.push((Record { name, data_type: data_type.clone() }, Values::Axis(normals, axis)));
        }
    }
    if let Some(colors) = &cloud.colors {
        for (channel, name) in [Name::ColorRed, Name::ColorGreen, Name::ColorBlue].into_iter().enumerate() {
            let data_type = RecordDataType::Integer { min: 0, max: 255 };
            all.push((Record { name, data_type }, Values::Channel(colors, channel)));
        }
    }
    if let Some(values) = &cloud.intensities {
        let (low, high) = range(values);
        let data_type = match Real::exact(values) {
            Real::Single => RecordDataType::Single { min: Some(low as f32), max: Some(high as f32) },
            Real::Double => RecordDataType::Double { min: Some(low), max: Some(high) },
        };
        all.push((Record { name: Name::Intensity, data_type }, Values::List(values)));
    }
    for column in columns {
        let name = xml_name(&column.name);
        let is_taken = |name: &str| {
            all.iter().any(|(record, _)| matches!(&record.name, Name::Unknown { name: n, .. } if n == name))
        };
        if is_taken(&name) || column.values.iter().any(|x| !x.is_finite()) && column.stored().is_integer() {
            lost.push(format!("`{}`", column.name));
            continue;
        }
        let (low, high) = range(&column.values);
        let data_type = match column.stored() {
            Scalar::F32 => RecordDataType::Single { min: None, max: None },
            scalar if scalar.is_integer() => RecordDataType::Integer { min: low as i64, max: high as i64 },
            _ => RecordDataType::Double { min: None, max: None },
        };
        // Other standard attributes depend on each other and on the start of the scan.
        let is_index = |name: &str| matches!(name, "row_index" | "column_index");
        let standard = STANDARD.iter().find(|(_, name)| *name == column.name && is_index(name));
        let name = match standard {
            Some((name, _)) if matches!(data_type, RecordDataType::Integer { .. }) => name.clone(),
            _ => Name::Unknown { namespace: COLUMNS.0.to_owned(), name },
        };
        all.push((Record { name, data_type }, Values::List(&column.values)));
    }
    (all, lost)
}

/// The least and the largest finite value.
fn range(values: &[f64]) -> (f64, f64) {
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    let low = finite().fold(f64::INFINITY, f64::min);
    if low.is_finite() { (low, finite().fold(low, f64::max)) } else { (0.0, 0.0) }
}

/// A name that XML allows.
fn xml_name(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' });
    let name: String = letters.collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') { name } else { format!("_{name}") }
}
