//! Values in binary, low byte first: point by point, or compressed and then field by field.

use std::io::BufRead;

use super::header::Header;
use super::lzf::{self, GROWTH};
use super::{PcdError, is_packed};
use crate::error::{Fault, Place};
use crate::files::fields::{Fields, Gather};
use crate::files::scalar::{Binary, ByteOrder, Scalar};

/// Adds each point to `cloud`, which takes the values of `fields`.
pub(super) fn read(
    reader: impl BufRead,
    header: &Header,
    fields: &Fields,
    cloud: &mut Gather,
) -> Result<(), Fault> {
    let mut body = Binary::new(reader, header.bytes, ByteOrder::Little);
    let places: Vec<_> = columns(header, fields)
        .map(|(column, scalar)| (header.fields[column].offset as usize, scalar))
        .collect();
    let found =
        body.records(header.points, header.stride as usize, |records| cloud.extend(records, &places))?;
    if found < header.points {
        let problem = PcdError::Truncated { promised: header.points, found };
        return Err(Fault::at(Place::Byte(body.byte), problem));
    }
    Ok(())
}

/// Hands the values of compressed points to `row`; `available` bytes follow the header, if that is known.
pub(super) fn read_compressed(
    reader: impl BufRead,
    header: &Header,
    fields: &Fields,
    available: Option<u64>,
    mut row: impl FnMut(&[f64]),
) -> Result<(), Fault> {
    let mut body = Binary::new(reader, header.bytes, ByteOrder::Little);
    let damaged = |byte: u64, what| Fault::at(Place::Byte(byte), PcdError::Compressed { what });
    let (packed, size) = (body.scalar(Scalar::U32)?, body.scalar(Scalar::U32)?);
    let (Some(packed), Some(size)) = (packed, size) else {
        return Err(damaged(body.byte, "their sizes are missing"));
    };
    let (packed, size) = (packed as u64, size as u64);
    if header.points.checked_mul(header.stride) != Some(size) {
        return Err(damaged(header.bytes + 4, "their size is not that of the points of the header"));
    }
    if size > packed.saturating_mul(GROWTH) || available.is_some_and(|there| there.saturating_sub(8) < packed)
    {
        return Err(damaged(header.bytes, "the file is too short for them"));
    }
    let start = body.byte;
    let block = body.bytes(packed)?;
    if (block.len() as u64) < packed {
        return Err(damaged(body.byte, "the file is too short for them"));
    }
    let values =
        lzf::decompress(&block, size as usize).map_err(|(at, what)| damaged(start + at as u64, what))?;

    let count = header.points as usize; // its product with the stride fits into 32 bits
    let places: Vec<(usize, Scalar)> = columns(header, fields)
        .map(|(column, scalar)| (header.fields[column].offset as usize * count, scalar))
        .collect();
    let mut point = vec![0.0; places.len()];
    for i in 0..count {
        for (value, &(start, scalar)) in point.iter_mut().zip(&places) {
            *value = scalar.decode(&values[start + i * scalar.size()..], ByteOrder::Little);
        }
        row(&point);
    }
    Ok(())
}

/// The columns of `fields` with the types to read them by.
fn columns(header: &Header, fields: &Fields) -> impl Iterator<Item = (usize, Scalar)> {
    fields.columns().into_iter().map(|column| {
        // The bits of a colour, whatever number they make: a float could not hold them through a conversion.
        let scalar = if is_packed(fields, column) { Scalar::U32 } else { header.fields[column].scalar };
        (column, scalar)
    })
}
