//! Clouds as arrays: N×3, or wider with the position first and the columns after it interpreted by `guess`.

use std::io::{self, BufRead, Write};

use pcr99::Similarity;

use super::{Array, Fit, NpyError};
use crate::cloud::Cloud;
use crate::error::Fault;
use crate::files::Source;
use crate::files::edit::{Edit, Open};
use crate::files::fields::{Fields, Want, reserved};
use crate::files::file::Column;
use crate::files::guess::{Habit, Unnamed};
use crate::files::scalar::{ByteOrder, Scalar};
use crate::files::writing::{Real, push_real, push_triple, write_records};

/// The shape that is needed.
const SHAPE: &str = "N×3, or wider with x y z first,";

/// Reads the points of an array; `size` is that of the whole stream, if known.
pub(crate) fn read(reader: impl BufRead, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    read_with_normals(reader, size, want).map(|(cloud, _)| cloud)
}

/// Reads the points of an array; also returns the columns of the normals.
fn read_with_normals(
    reader: impl BufRead,
    size: Option<u64>,
    want: Want,
) -> Result<(Cloud, Option<[usize; 3]>), Fault> {
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
    let normals = unnamed.normal_columns();
    if want == Want::Everything {
        unnamed.judge(&mut cloud);
    }
    Ok((cloud, normals))
}

/// Copies an array with its points moved; returns their number. An array of integers, or in too low a precision, becomes one of floats.
pub(crate) fn copy(open: Open<'_>, how: &Similarity, out: &mut dyn Write) -> Result<u64, Fault> {
    let Source { reader, size, .. } = open()?;
    let (cloud, normal) = read_with_normals(reader, size, Want::Everything)?;
    let Source { reader, size, .. } = open()?;
    let array = Array::open(reader, size)?;
    let (old, is_by_columns) = (array.scalar(), array.is_by_columns());
    let edit = Edit::new(cloud, how, &Fields { normal, ..Fields::positions([0, 1, 2]) }, |_| old)?;
    let scalar = if old == Scalar::F32 { edit.column(0).map_or(old, |x| x.scalar) } else { Scalar::F64 };
    let [rows, columns] = array.table(SHAPE, |_, _| Fit::Good)?;
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); columns];
    let mut is_exact = true;
    array.blocks(columns, |block| {
        for (column, list) in values.iter_mut().enumerate() {
            block.values(column, list);
        }
        Ok(())
    })?;
    for (column, list) in values.iter_mut().enumerate() {
        match edit.column(column) {
            Some(edited) => {
                for (row, value) in list.iter_mut().enumerate() {
                    *value = edit.value(edited, row)?;
                }
            }
            // Integers of 64 bits may have been rounded.
            None => {
                is_exact &=
                    old.size() < 8 || !old.is_integer() || list.iter().all(|x| x.abs() < 2f64.powi(53))
            }
        }
    }
    if !is_exact {
        let what = "integers above 2^53, which cannot stand beside moved points";
        return Err(Fault::whole(NpyError::Type { descr: "64-bit".to_owned(), what }));
    }
    write_header(out, if scalar == Scalar::F64 { "<f8" } else { "<f4" }, is_by_columns, [rows, columns])?;
    write_records(out, rows * columns, |k, record| {
        let (row, column) = if is_by_columns { (k % rows, k / rows) } else { (k / columns, k % columns) };
        scalar.push(values[column][row], ByteOrder::Little, record);
    })?;
    Ok(rows as u64)
}

/// Writes the header of an array.
fn write_header(
    out: &mut dyn Write,
    descr: &str,
    is_by_columns: bool,
    [rows, columns]: [usize; 2],
) -> io::Result<()> {
    let order = if is_by_columns { "True" } else { "False" };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({rows}, {columns}), }}");
    // Padded so that the numbers begin at a multiple of 64 bytes, as the format asks.
    let padding = 63 - (10 + header.len()) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?; // about a hundred
    out.write_all(header.as_bytes())
}

/// Writes all of `cloud` but its viewpoint as an array of doubles, one row per point: x y z, then normal, colour (0 to
/// 255) and intensity, as far as they are known.
pub(crate) fn write(out: &mut dyn Write, cloud: &Cloud, extra: &[Column]) -> io::Result<()> {
    let widths =
        [(cloud.normals.is_some(), 3), (cloud.colors.is_some(), 3), (cloud.intensities.is_some(), 1)];
    let columns: usize =
        3 + widths.iter().filter(|(known, _)| *known).map(|(_, width)| width).sum::<usize>() + extra.len();
    write_header(out, "<f8", false, [cloud.len(), columns])?;
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
        for column in extra {
            push_real(record, column.values[i], Real::Double);
        }
    })
}
