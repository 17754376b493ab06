//! Clouds as arrays: N×3, or wider with the position first and the columns after it interpreted by `guess`.

use std::io::{self, BufRead, Write};

use super::{Array, Fit};
use crate::cloud::Cloud;
use crate::error::Fault;
use crate::files::fields::{Want, reserved};
use crate::files::guess::{Habit, Unnamed};
use crate::files::writing::{Real, push_real, push_triple, write_records};

/// The shape that is needed.
const SHAPE: &str = "N×3, or wider with x y z first,";

/// Reads the points of an array; `size` is that of the whole stream, if known.
pub(crate) fn read(reader: impl BufRead, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let array = Array::open(reader, size)?;
    let fit = |_, columns| if columns < 3 { Fit::Wrong } else { Fit::Good };
    let [rows, columns] = array.table(SHAPE, fit)?;
    // Fewer points than columns is 3×N (or 4×N, 6×N) rather than a cloud. One or two points are let
    // pass: no array of points has fewer than three coordinates; and so are points with normals.
    let lying = columns > 3 && rows >= 3 && rows < columns;
    let transposed = array.transposed(SHAPE);
    let mut unnamed = Unnamed::new(columns, Habit::Usual);
    let mut points = reserved(rows)?;
    array.blocks(columns, |block| {
        block.triples([0, 1, 2], &mut points);
        if lying || want == Want::Everything {
            unnamed.extend(|column, list| block.values(column, list));
        }
        Ok(())
    })?;
    if lying && !unnamed.has_normals() {
        return Err(transposed);
    }
    let mut cloud = Cloud::new(points);
    if want == Want::Everything {
        unnamed.judge(&mut cloud);
    }
    Ok(cloud)
}

/// Writes all of `cloud` but its viewpoint as an array of doubles, one row per point: x y z, then normal, colour (0 to
/// 255) and intensity, as far as they are known.
pub(crate) fn write(out: &mut dyn Write, cloud: &Cloud) -> io::Result<()> {
    let widths =
        [(cloud.normals.is_some(), 3), (cloud.colors.is_some(), 3), (cloud.intensities.is_some(), 1)];
    let columns: usize = 3 + widths.iter().filter(|(known, _)| *known).map(|(_, width)| width).sum::<usize>();
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {columns}), }}", cloud.len());
    // Padded so that the numbers begin at a multiple of 64 bytes, as the format asks.
    let padding = 63 - (10 + header.len()) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?; // about a hundred
    out.write_all(header.as_bytes())?;
    write_records(out, cloud.len(), |i, record| {
        push_triple(record, &cloud.points[i], Real::Double);
        if let Some(normals) = &cloud.normals {
            push_triple(record, &normals[i], Real::Double);
        }
        if let Some(colors) = &cloud.colors {
            push_triple(record, &colors[i].map(f64::from), Real::Double);
        }
        if let Some(intensities) = &cloud.intensities {
            push_real(record, intensities[i], Real::Double);
        }
    })
}
