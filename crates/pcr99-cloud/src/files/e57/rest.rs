//! Attributes of E57 points beyond position, normal, colour and intensity, as columns.

use e57::{E57Reader, Record, RecordDataType, RecordName, RecordValue};

use super::{E57Error, chosen};
use crate::error::{Fault, said};
use crate::files::Reader;
use crate::files::file::{CloudFile, Column};
use crate::files::scalar::Scalar;

/// Standard attributes of E57 and their names as columns.
pub(super) const STANDARD: [(RecordName, &str); 8] = [
    (RecordName::RowIndex, "row_index"),
    (RecordName::ColumnIndex, "column_index"),
    (RecordName::ReturnIndex, "return_index"),
    (RecordName::ReturnCount, "return_count"),
    (RecordName::TimeStamp, "time_stamp"),
    (RecordName::IsTimeStampInvalid, "is_time_stamp_invalid"),
    (RecordName::IsIntensityInvalid, "is_intensity_invalid"),
    (RecordName::IsColorInvalid, "is_color_invalid"),
];

/// Name of the column of an attribute; `None` for those that are in a cloud.
fn name(record: &Record) -> Option<String> {
    match &record.name {
        RecordName::Unknown { name, .. } if !matches!(name.as_str(), "normalX" | "normalY" | "normalZ") => {
            Some(name.clone())
        }
        known => STANDARD.iter().find(|(other, _)| other == known).map(|(_, name)| (*name).to_owned()),
    }
}

/// Adds the columns that all scans have, the coordinate system, and the names of what is left out.
pub(in crate::files) fn read_rest(
    reader: Reader,
    scan: Option<usize>,
    file: &mut CloudFile,
) -> Result<(), Fault> {
    let mut e57 =
        E57Reader::new(reader).map_err(|cause| Fault::whole(E57Error::File { cause: said(&cause) }))?;
    file.coordinate_system = e57.coordinate_metadata().map(str::to_owned).filter(|text| !text.is_empty());
    let scans = chosen(e57.pointclouds(), scan)?;
    let all = scans.first().map_or(&[][..], |scan| &scan.prototype);
    let has = |name: &str| {
        scans.iter().all(|scan| scan.prototype.iter().any(|r| self::name(r).as_deref() == Some(name)))
    };
    let names: Vec<String> = all.iter().filter_map(name).filter(|name| has(name)).collect();
    for scan in &scans {
        for missing in scan.prototype.iter().filter_map(name).filter(|name| !names.contains(name)) {
            let missing = format!("`{missing}`, which not every scan has");
            if !file.left_out.contains(&missing) {
                file.left_out.push(missing);
            }
        }
    }
    if scans.len() > 1 {
        file.left_out.push(format!("the division into {} scans and their poses", scans.len()));
    }
    if !e57.images().is_empty() {
        file.left_out.push("images".to_owned());
    }
    if names.is_empty() {
        return Ok(());
    }
    let scalar = |name: &String| {
        let of = all
            .iter()
            .find(|record| self::name(record).as_ref() == Some(name))
            .map(|record| &record.data_type);
        match of {
            Some(RecordDataType::Integer { min, max }) if *min >= 0 && *max < 256 => Scalar::U8,
            Some(RecordDataType::Integer { min, max }) if *min >= 0 && *max < 65536 => Scalar::U16,
            Some(RecordDataType::Integer { min, max })
                if i32::try_from(*min).and(i32::try_from(*max)).is_ok() =>
            {
                Scalar::I32
            }
            Some(RecordDataType::Integer { .. }) => Scalar::I64,
            Some(RecordDataType::Single { .. }) => Scalar::F32,
            _ => Scalar::F64,
        }
    };
    let mut columns: Vec<Column> = names
        .iter()
        .map(|name| Column { name: name.clone(), values: Vec::new(), scalar: scalar(name) })
        .collect();
    for (number, scan) in scans.iter().enumerate() {
        let damaged = |cause: e57::Error| {
            let cause = said(&cause);
            Fault::whole(E57Error::Scan { scan: number, promised: scan.records, found: 0, cause })
        };
        let find = |name: &String| scan.prototype.iter().position(|r| self::name(r).as_ref() == Some(name));
        let places: Vec<usize> = names.iter().filter_map(find).collect();
        for values in e57.pointcloud_raw(scan).map_err(damaged)? {
            let values: Vec<RecordValue> = values.map_err(damaged)?;
            for (column, &place) in columns.iter_mut().zip(&places) {
                let value = values[place].to_f64(&scan.prototype[place].data_type).map_err(damaged)?;
                column.values.push(value);
            }
        }
    }
    file.columns = columns;
    Ok(())
}
