//! Clouds as arrays: N×3, or wider with the position first and the columns after it interpreted by `guess`.

use std::io::{self, Read, Write};

use super::{Array, Fit};
use crate::cloud::Cloud;
use crate::error::Fault;
use crate::files::fields::Want;
use crate::files::guess::{Habit, Unnamed};
use crate::files::writing::{Real, reals};

/// Reads the points of an array; `size` is that of the whole stream, if known.
pub(crate) fn read(reader: impl Read, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let array = Array::read(reader, size)?;
    let fit = |rows, columns| match columns {
        3 => Fit::Good,
        0..3 => Fit::Wrong,
        // Fewer points than columns is 3×N (or 4×N, 6×N) rather than a cloud. One or two points are let
        // pass: no array of points has fewer than three coordinates; and so are points with normals.
        _ if rows >= 3 && rows < columns && !unnamed(&array, rows, columns).has_normals() => Fit::Transposed,
        _ => Fit::Good,
    };
    let [rows, columns] = array.table("N×3, or wider with x y z first,", fit)?;
    let mut cloud =
        Cloud::new((0..rows).map(|row| [0, 1, 2].map(|column| array.number(row, column))).collect());
    if want == Want::Everything {
        unnamed(&array, rows, columns).judge(&mut cloud);
    }
    Ok(cloud)
}

/// The columns after the position.
fn unnamed(array: &Array, rows: usize, columns: usize) -> Unnamed {
    let mut unnamed = Unnamed::new(columns, Habit::Usual);
    (0..rows).for_each(|row| unnamed.push(|column| Some(array.number(row, column))));
    unnamed
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
    for (i, point) in cloud.points.iter().enumerate() {
        reals(out, point, Real::Double)?;
        if let Some(normals) = &cloud.normals {
            reals(out, &normals[i], Real::Double)?;
        }
        if let Some(colors) = &cloud.colors {
            reals(out, &colors[i].map(f64::from), Real::Double)?;
        }
        if let Some(intensities) = &cloud.intensities {
            reals(out, &intensities[i..=i], Real::Double)?;
        }
    }
    Ok(())
}
