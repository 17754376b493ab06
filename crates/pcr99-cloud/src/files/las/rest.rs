//! Attributes of LAS points beyond position, colour and intensity, as columns.

use std::io::{self, Read, Seek};
use std::path::Path;

use super::decoder::Part;
use super::extra::{self, Field};
use super::header::{Header, bytes_at, little};
use super::{LasError, each_batch, on_decoder_thread};
use crate::error::Fault;
use crate::files::Source;
use crate::files::file::{CloudFile, Column};
use crate::files::scalar::{ByteOrder, Scalar};

/// Degrees of a unit of the scan angle in point formats 6 to 10.
pub(super) const ANGLE: f64 = 0.006;

/// An attribute of a point: its name, the place of its bytes, their type, lowest bit and number of bits.
struct Attribute {
    name: &'static str,
    place: usize,
    scalar: Scalar,
    bits: Option<(u32, u32)>,
    factor: f64,
}

/// The attributes of points of a format.
fn attributes(format: u8) -> Vec<Attribute> {
    let whole = |name, place, scalar| Attribute { name, place, scalar, bits: None, factor: 1.0 };
    let bits = |name, place, low, count| Attribute {
        name,
        place,
        scalar: Scalar::U8,
        bits: Some((low, count)),
        factor: 1.0,
    };
    let mut all = if format < 6 {
        vec![
            bits("return_number", 14, 0, 3),
            bits("number_of_returns", 14, 3, 3),
            bits("scan_direction_flag", 14, 6, 1),
            bits("edge_of_flight_line", 14, 7, 1),
            bits("classification", 15, 0, 5),
            bits("synthetic", 15, 5, 1),
            bits("key_point", 15, 6, 1),
            bits("withheld", 15, 7, 1),
            whole("scan_angle", 16, Scalar::I8),
            whole("user_data", 17, Scalar::U8),
            whole("point_source_id", 18, Scalar::U16),
        ]
    } else {
        vec![
            bits("return_number", 14, 0, 4),
            bits("number_of_returns", 14, 4, 4),
            bits("synthetic", 15, 0, 1),
            bits("key_point", 15, 1, 1),
            bits("withheld", 15, 2, 1),
            bits("overlap", 15, 3, 1),
            bits("scanner_channel", 15, 4, 2),
            bits("scan_direction_flag", 15, 6, 1),
            bits("edge_of_flight_line", 15, 7, 1),
            whole("classification", 16, Scalar::U8),
            whole("user_data", 17, Scalar::U8),
            Attribute { factor: ANGLE, ..whole("scan_angle", 18, Scalar::I16) },
            whole("point_source_id", 20, Scalar::U16),
        ]
    };
    match format {
        1 | 3 | 4 | 5 => all.push(whole("gps_time", 20, Scalar::F64)),
        6.. => all.push(whole("gps_time", 22, Scalar::F64)),
        _ => {}
    }
    if matches!(format, 8 | 10) {
        all.push(whole("nir", 36, Scalar::U16));
    }
    all
}

/// Adds the columns, the coordinate system and the names of what is left out.
pub(in crate::files) fn read_rest(path: &Path, file: &mut CloudFile) -> Result<(), Fault> {
    let Source { mut reader, size, .. } = Source::open(path).map_err(io::Error::other)?;
    let size = size.ok_or_else(|| Fault::whole(LasError::Pipe))?;
    let header = Header::read(&mut reader, size)?;
    let records = Records::read(&mut reader, &header)?;
    file.coordinate_system = records.coordinate_system;
    file.left_out = records.left_out;
    if matches!(header.format, 4 | 5 | 9 | 10) {
        file.left_out.push("waveforms".to_owned());
    }
    let attributes = attributes(header.format);
    let fields: Vec<&Field> = records.fields.iter().filter(|field| field.scalar.is_some()).collect();
    let arrays = records.fields.iter().filter(|field| field.scalar.is_none());
    file.left_out.extend(arrays.map(|field| format!("`{}`", field.name)));
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); attributes.len() + fields.len()];
    on_decoder_thread(&header, || {
        each_batch(reader, &header, Part::Everything, |bytes| {
            for point in bytes.chunks_exact(header.stride as usize) {
                let (first, second) = columns.split_at_mut(attributes.len());
                for (attribute, list) in attributes.iter().zip(first) {
                    list.push(attribute.value(point));
                }
                for (field, list) in fields.iter().zip(second) {
                    let stored =
                        field.scalar.map_or(0.0, |s| s.decode(&point[field.place..], ByteOrder::Little));
                    list.push(field.conversion.map_or(stored, |[factor, summand]| stored * factor + summand));
                }
            }
            Ok(())
        })
    })?;
    let named =
        attributes.iter().map(|a| (a.name.to_owned(), if a.factor == 1.0 { a.scalar } else { Scalar::F64 }));
    let extra = fields.iter().map(|field| {
        let scalar = field.scalar.filter(|_| field.conversion.is_none()).unwrap_or(Scalar::F64);
        (field.name.clone(), scalar)
    });
    let is_extra = |k: usize| k >= attributes.len();
    for (k, ((name, scalar), values)) in named.chain(extra).zip(columns).enumerate() {
        // Points have a place for each standard attribute; writers leave zeros where there is none.
        if is_extra(k) || values.iter().any(|&value| value != 0.0) {
            file.columns.push(Column { name, values, scalar });
        }
    }
    Ok(())
}

impl Attribute {
    fn value(&self, point: &[u8]) -> f64 {
        match self.bits {
            Some((low, count)) => f64::from((point[self.place] >> low) & ((1 << count) - 1)),
            None => self.factor * self.scalar.decode(&point[self.place..], ByteOrder::Little),
        }
    }
}

/// What the records of a file say.
pub(super) struct Records {
    pub(super) fields: Vec<Field>,
    pub(super) coordinate_system: Option<String>,
    /// The system is given as GeoTIFF keys.
    pub(super) has_keys: bool,
    pub(super) left_out: Vec<String>,
}

impl Records {
    pub(super) fn read(reader: &mut (impl Read + Seek), header: &Header) -> Result<Self, Fault> {
        /// Longest text of a coordinate system that is read, in bytes; usual ones have a few thousand.
        const LONGEST: u64 = 1 << 20;
        let mut records =
            Self { fields: Vec::new(), coordinate_system: None, has_keys: false, left_out: Vec::new() };
        let number = |at: u64, width: u64| little(&header.bytes, at, width).unwrap_or(0);
        // Records before the points, then those after them: their number, place, bytes of their head and of their length.
        let lists = [(number(100, 4), header.length, 54, 2), (number(243, 4), number(235, 8), 60, 8)];
        for (count, start, head_size, width) in lists {
            let mut at = start;
            for _ in 0..count {
                let head = bytes_at(reader, at, head_size)?;
                let length = little(&head, 20, width).unwrap_or(0);
                let user =
                    head.get(2..18).unwrap_or_default().split(|&byte| byte == 0).next().unwrap_or_default();
                let content = || (at + head_size, length.min(LONGEST));
                match (user, little(&head, 18, 2).unwrap_or(0)) {
                    (b"laszip encoded", _) => {}
                    (b"LASF_Spec", 4) => {
                        let (place, length) = content();
                        records.fields = extra::fields(&bytes_at(reader, place, length)?, header);
                    }
                    (b"LASF_Projection", 2112) => {
                        let (place, length) = content();
                        let text = bytes_at(reader, place, length)?;
                        let text = String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned();
                        records.coordinate_system = Some(text).filter(|text| !text.is_empty());
                    }
                    (b"LASF_Projection", 34735) => records.has_keys = true,
                    (b"LASF_Projection", 34736 | 34737) => {}
                    (user, number) => {
                        let user: String = String::from_utf8_lossy(user).escape_debug().take(40).collect();
                        records.left_out.push(format!("record {number} of `{user}`"));
                    }
                }
                at += head_size + length;
            }
        }
        if records.has_keys && records.coordinate_system.is_none() {
            records.left_out.push("the coordinate system (GeoTIFF keys)".to_owned());
        }
        Ok(records)
    }
}
