//! Clouds as LAS 1.4 files, compressed or not: point format 6, 7 with colours, 8 with infrared.

use std::io::{self, Seek, SeekFrom, Write};

use laz::{LazVlr, LazVlrBuilder};
use pcr99_base::output_file::PendingFile;

use super::extra::{FIELD, TYPES};
use super::grid::{Grid, power_of_ten};
use super::header::LEAST;
use super::rest::ANGLE;
use super::rewrite::{Sink, encoder, put};
use super::{LasError, record};
use crate::cloud::Cloud;
use crate::error::Fault;
use crate::files::file::Column;
use crate::files::scalar::{ByteOrder, Scalar};

/// Bytes of the header.
const HEADER: usize = 375;

/// Smallest step that is tried for coordinates with few decimals.
const FINEST: i32 = -6;

/// Largest distance of a coordinate from a decimal number, as a fraction of its magnitude: rounding of doubles.
const ROUNDING: f64 = 1e-12;

/// Where a column is stored.
enum Place {
    /// Byte, lowest bit, largest value.
    Bits(usize, u32, f64),
    /// Byte, type, unit.
    Whole(usize, Scalar, f64),
    /// Extra bytes.
    Extra(usize, Scalar),
}

/// The place of a standard attribute; `Bits` also for whole bytes.
fn standard(name: &str) -> Option<Place> {
    Some(match name {
        "return_number" => Place::Bits(14, 0, 15.0),
        "number_of_returns" => Place::Bits(14, 4, 15.0),
        "synthetic" => Place::Bits(15, 0, 1.0),
        "key_point" => Place::Bits(15, 1, 1.0),
        "withheld" => Place::Bits(15, 2, 1.0),
        "overlap" => Place::Bits(15, 3, 1.0),
        "scanner_channel" => Place::Bits(15, 4, 3.0),
        "scan_direction_flag" => Place::Bits(15, 6, 1.0),
        "edge_of_flight_line" => Place::Bits(15, 7, 1.0),
        "classification" => Place::Bits(16, 0, 255.0),
        "user_data" => Place::Bits(17, 0, 255.0),
        "scan_angle" => Place::Whole(18, Scalar::I16, ANGLE),
        "point_source_id" => Place::Whole(20, Scalar::U16, 1.0),
        "gps_time" => Place::Whole(22, Scalar::F64, 1.0),
        "nir" => Place::Whole(36, Scalar::U16, 1.0),
        _ => return None,
    })
}

/// Whether the values fit into the place.
fn fits(place: &Place, values: &[f64]) -> bool {
    let whole = |largest: f64| values.iter().all(|&v| v.fract() == 0.0 && (0.0..=largest).contains(&v));
    match *place {
        Place::Bits(_, _, largest) => whole(largest),
        Place::Whole(_, Scalar::U16, _) => whole(65535.0),
        Place::Whole(_, Scalar::I16, unit) => {
            values.iter().all(|&v| (f64::from(i16::MIN)..=f64::from(i16::MAX)).contains(&(v / unit).round()))
        }
        _ => true,
    }
}

/// How points are stored.
struct Layout<'a> {
    format: u8,
    /// Bytes of a point.
    stride: usize,
    placed: Vec<(Place, &'a Column)>,
    /// Content of the record of extra bytes.
    extra: Vec<u8>,
    /// Names of columns that cannot be stored.
    lost: Vec<String>,
}

impl<'a> Layout<'a> {
    /// A place for each column, among the standard attributes or after them.
    fn new(columns: impl Iterator<Item = &'a Column> + Clone, has_colors: bool) -> Self {
        let format = match (columns.clone().any(|column| column.name == "nir"), has_colors) {
            (true, _) => 8,
            (false, true) => 7,
            (false, false) => 6,
        };
        let stride = LEAST[usize::from(format)] as usize;
        let mut layout = Self { format, stride, placed: Vec::new(), extra: Vec::new(), lost: Vec::new() };
        for column in columns {
            match standard(&column.name) {
                Some(place) if fits(&place, &column.values) => layout.placed.push((place, column)),
                Some(_) => {
                    layout.lost.push(format!("`{}`, whose values are out of the range of LAS", column.name));
                }
                None => {
                    let scalar = column.stored();
                    layout.placed.push((Place::Extra(layout.stride, scalar), column));
                    layout.stride += scalar.size();
                    layout.extra.extend_from_slice(&described(column, scalar));
                }
            }
        }
        layout
    }

    /// How the points are compressed.
    fn compression(&self) -> Result<LazVlr, Fault> {
        let extra = self.stride - LEAST[usize::from(self.format)] as usize;
        let builder = LazVlrBuilder::default().with_point_format(self.format, extra as u16);
        Ok(builder.map_err(|cause| encoder(&cause))?.build())
    }
}

/// Writes `cloud`, without missing points, and its columns; returns the names of what cannot be stored.
pub(in crate::files) fn write(
    out: &mut PendingFile,
    cloud: &Cloud,
    columns: &[Column],
    coordinate_system: Option<&str>,
    is_packed: bool,
) -> Result<Vec<String>, Fault> {
    let (grid, is_exact) = grid(&cloud.points).map_err(Fault::whole)?;
    let normals = split_normals(cloud);
    let intensities = odd_intensities(cloud);
    let mut layout = Layout::new(columns.iter().chain(&normals).chain(&intensities), cloud.colors.is_some());
    if !is_exact {
        layout.lost.push(format!("digits of coordinates below {:e}", grid.steps()[0]));
    }
    let mut header = header(cloud, columns, &layout, coordinate_system.is_some(), is_packed);
    grid.store(&mut header);
    let mut records = records(coordinate_system, &layout.extra);
    let compression = if is_packed { Some(layout.compression()?) } else { None };
    if let Some(compression) = &compression {
        let mut content = Vec::new();
        compression.write_to(&mut content)?;
        records.push((record::USER, record::NUMBER, content));
    }
    put(&mut header, 100, 4, records.len() as u64);
    out.write_all(&header)?;
    for (user, number, content) in &records {
        let mut head = vec![0; 54];
        head[2..2 + user.len()].copy_from_slice(user);
        put(&mut head, 18, 2, *number);
        put(&mut head, 20, 2, content.len() as u64);
        out.write_all(&head)?;
        out.write_all(content)?;
    }
    put(&mut header, 96, 4, out.stream_position()?);
    let whole = cloud.intensities.as_deref().filter(|_| intensities.is_empty());
    write_points(&mut *out, (cloud, whole), &layout, &grid, compression, &mut header)?;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&header)?;
    Ok(layout.lost)
}

/// The header, without the number and place of records and points' box.
fn header(
    cloud: &Cloud,
    columns: &[Column],
    layout: &Layout<'_>,
    has_system: bool,
    is_packed: bool,
) -> Vec<u8> {
    /// Seconds of a week: larger times are counted from 1980.
    const WEEK: f64 = 604_800.0;
    let times = columns.iter().find(|column| column.name == "gps_time");
    let is_adjusted = times.is_some_and(|times| times.values.iter().any(|&time| time.abs() > WEEK));
    let mut bytes = vec![0; HEADER];
    bytes[..4].copy_from_slice(b"LASF");
    put(&mut bytes, 6, 2, u64::from(is_adjusted) | (u64::from(has_system) << 4));
    bytes[24..26].copy_from_slice(&[1, 4]);
    bytes[58..63].copy_from_slice(b"pcr99");
    put(&mut bytes, 94, 2, HEADER as u64);
    bytes[104] = layout.format | if is_packed { 0x80 } else { 0 };
    put(&mut bytes, 105, 2, layout.stride as u64);
    put(&mut bytes, 247, 8, cloud.len() as u64);
    bytes
}

/// Writes the points, and puts their box and the numbers of returns into the header.
fn write_points(
    out: &mut PendingFile,
    (cloud, intensities): (&Cloud, Option<&[f64]>),
    layout: &Layout<'_>,
    grid: &Grid,
    compression: Option<LazVlr>,
    header: &mut [u8],
) -> Result<(), Fault> {
    let mut sink = Sink::new(out, compression)?;
    let (mut low, mut high, mut returns) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3], [0u64; 15]);
    let mut batch = Vec::new();
    for row in 0..cloud.len() {
        let start = batch.len();
        batch.resize(start + layout.stride, 0);
        let point = &mut batch[start..];
        let integers =
            grid.integers(cloud.points[row]).ok_or_else(|| io::Error::other("a point is out of range"))?;
        point[..12].copy_from_slice(integers.map(i32::to_le_bytes).as_flattened());
        let place = grid.point(integers);
        low = [0, 1, 2].map(|k| low[k].min(place[k]));
        high = [0, 1, 2].map(|k| high[k].max(place[k]));
        if let Some(intensities) = intensities {
            put(point, 12, 2, intensities[row] as u64);
        }
        point[14] = 0x11; // the only return
        if let Some(colors) = &cloud.colors {
            for (k, channel) in colors[row].into_iter().enumerate() {
                put(point, 30 + 2 * k, 2, u64::from(channel) * 257);
            }
        }
        for (place, column) in &layout.placed {
            store(point, place, column.values[row]);
        }
        if let Some(count) = returns.get_mut(usize::from(point[14] & 15).wrapping_sub(1)) {
            *count += 1;
        }
        if batch.len() > 1 << 20 || row + 1 == cloud.len() {
            sink.write(&batch)?;
            batch.clear();
        }
    }
    sink.finish()?;
    for k in 0..3 {
        put(header, 179 + 16 * k, 8, high[k].to_bits());
        put(header, 187 + 16 * k, 8, low[k].to_bits());
    }
    for (k, count) in returns.into_iter().enumerate() {
        put(header, 255 + 8 * k, 8, count);
    }
    Ok(())
}

/// Puts a value into a point.
fn store(point: &mut [u8], place: &Place, value: f64) {
    match *place {
        Place::Bits(at, low, largest) => {
            let mask = (largest as u8) << low;
            point[at] = (point[at] & !mask) | ((value as u8) << low);
        }
        Place::Whole(at, Scalar::U16, _) => put(point, at, 2, value as u64),
        Place::Whole(at, Scalar::I16, unit) => {
            point[at..at + 2].copy_from_slice(&((value / unit).round() as i16).to_le_bytes());
        }
        Place::Whole(at, ..) => put(point, at, 8, value.to_bits()),
        Place::Extra(at, scalar) => {
            let mut bytes = Vec::with_capacity(8);
            scalar.push(value, ByteOrder::Little, &mut bytes);
            point[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
}

/// A grid for the points: with a decimal step that holds them exactly if there is one, else the finest that covers them; and whether it is exact.
fn grid(points: &[[f64; 3]]) -> Result<(Grid, bool), LasError> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for point in points {
        low = [0, 1, 2].map(|k| low[k].min(point[k]));
        high = [0, 1, 2].map(|k| high[k].max(point[k]));
    }
    if points.is_empty() {
        (low, high) = ([0.0; 3], [0.0; 3]);
    }
    let extent = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let is_decimal = |step: f64| {
        let off = |x: f64| ((x / step).round() * step - x).abs() > ROUNDING * x.abs().max(step);
        !points.as_flattened().iter().any(|&x| off(x))
    };
    let decimal = (FINEST..=-2).rev().map(|k| power_of_ten(10f64.powi(k))).find(|&step| is_decimal(step));
    if let Some(grid) = decimal.and_then(|step| Grid::around([low, high], step).ok()) {
        return Ok((grid, true));
    }
    // A third of the range of 32 bits at least is used, and no step is below the rounding of the coordinates.
    let largest = low.iter().chain(&high).fold(0.0, |most: f64, x| most.max(x.abs()));
    let step = power_of_ten(10.0 * (extent / 4e9).max(largest * 1e-15).max(1e-290));
    Ok((Grid::around([low, high], step)?, false))
}

/// Normals as columns.
fn split_normals(cloud: &Cloud) -> Vec<Column> {
    let Some(normals) = &cloud.normals else { return Vec::new() };
    let axis = |k: usize, name: &str| Column {
        name: name.to_owned(),
        values: normals.iter().map(|normal| normal[k]).collect(),
        scalar: Scalar::F32,
    };
    vec![axis(0, "normal_x"), axis(1, "normal_y"), axis(2, "normal_z")]
}

/// Intensities that are no whole numbers of 16 bits, as a column of their own.
fn odd_intensities(cloud: &Cloud) -> Vec<Column> {
    match &cloud.intensities {
        Some(values) if !values.iter().all(|&v| v.fract() == 0.0 && (0.0..=65535.0).contains(&v)) => {
            vec![Column::new("scalar_intensity", values.clone())]
        }
        _ => Vec::new(),
    }
}

/// The description of extra bytes.
fn described(column: &Column, scalar: Scalar) -> [u8; FIELD] {
    let mut entry = [0; FIELD];
    entry[2] = TYPES.iter().position(|&kind| kind == scalar).map_or(0, |k| k as u8 + 1);
    // Of at most 31 bytes, cut between characters.
    let longest = column.name.len().min(31);
    let end = (0..=longest).rev().find(|&end| column.name.is_char_boundary(end)).unwrap_or(0);
    let name = &column.name[..end];
    entry[4..4 + name.len()].copy_from_slice(name.as_bytes());
    entry
}

/// The records of a coordinate system and of extra bytes: user, number, content.
fn records(coordinate_system: Option<&str>, extra: &[u8]) -> Vec<(&'static [u8], u64, Vec<u8>)> {
    let mut records: Vec<(&'static [u8], u64, Vec<u8>)> = Vec::new();
    if let Some(text) = coordinate_system {
        records.push((b"LASF_Projection", 2112, [text.as_bytes(), &[0]].concat()));
    }
    if !extra.is_empty() {
        records.push((b"LASF_Spec", 4, extra.to_vec()));
    }
    records
}
