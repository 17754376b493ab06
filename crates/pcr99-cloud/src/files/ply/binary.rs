//! Values in binary. Elements without lists all have the same number of bytes and are read many at a
//! time; those with lists are walked value by value.

use std::io::BufRead;

use super::PlyError;
use super::header::{Element, Header, Kind};
use crate::error::{Fault, Place, quote};
use crate::files::fields::Gather;
use crate::files::scalar::{self, Binary, ByteOrder};

/// Adds each vertex to `cloud`, which takes the values of `columns`.
pub(super) fn read_vertices(
    reader: impl BufRead,
    order: ByteOrder,
    header: &Header,
    columns: &[usize],
    cloud: &mut Gather,
) -> Result<(), Fault> {
    let mut body = Binary::new(reader, header.bytes, order);
    for element in &header.elements {
        match (element.is_vertex(), element.is_fixed()) {
            (true, true) => return fixed(&mut body, element, columns, cloud),
            (true, false) => return walk(&mut body, element, columns, |row| cloud.push(row)),
            (false, true) => skip_fixed(&mut body, element)?,
            (false, false) => walk(&mut body, element, &[], |_| ())?,
        }
    }
    Ok(())
}

/// Reads elements that all have the same number of bytes.
fn fixed(
    body: &mut Binary<impl BufRead>,
    element: &Element,
    columns: &[usize],
    cloud: &mut Gather,
) -> Result<(), Fault> {
    let (places, stride) = places(element, columns); // the caller found a property, so the stride is not 0
    let found = body.records(element.count, stride, |records| cloud.extend(records, &places))?;
    if found < element.count { Err(truncated(body.byte, element, found)) } else { Ok(()) }
}

/// Skips elements that all have the same number of bytes.
fn skip_fixed(body: &mut Binary<impl BufRead>, element: &Element) -> Result<(), Fault> {
    let stride = element.least_bytes();
    // A product beyond 64 bits is beyond any file: the skip ends with the file all the same.
    let all = stride.saturating_mul(element.count);
    let skipped = body.skip(all)?;
    if skipped < all { Err(truncated(body.byte, element, skipped / stride)) } else { Ok(()) }
}

/// Reads elements with lists, whose entries are skipped.
fn walk(
    body: &mut Binary<impl BufRead>,
    element: &Element,
    columns: &[usize],
    mut row: impl FnMut(&[f64]),
) -> Result<(), Fault> {
    let mut values = vec![0.0; columns.len()];
    for found in 0..element.count {
        for (position, property) in element.properties.iter().enumerate() {
            match property.kind {
                Kind::Scalar(scalar) => {
                    let read = body.scalar(scalar)?.ok_or_else(|| truncated(body.byte, element, found))?;
                    for (value, _) in
                        values.iter_mut().zip(columns).filter(|(_, column)| **column == position)
                    {
                        *value = read;
                    }
                }
                Kind::List { length, item } => {
                    let length = body.scalar(length)?.ok_or_else(|| truncated(body.byte, element, found))?;
                    if length < 0.0 {
                        let problem = PlyError::ListLength { element: quote(&element.name), length };
                        return Err(Fault::at(Place::Byte(body.byte), problem));
                    }
                    // At most 32 bits, whole: exact.
                    let bytes = length as u64 * item.size() as u64;
                    if body.skip(bytes)? < bytes {
                        return Err(truncated(body.byte, element, found));
                    }
                }
            }
        }
        row(&values);
    }
    Ok(())
}

fn truncated(byte: u64, element: &Element, found: u64) -> Fault {
    let (element, promised) = (quote(&element.name), element.count);
    Fault::at(Place::Byte(byte), PlyError::Truncated { element, promised, found })
}

/// Where in the bytes of one element the values of `columns` lie, and how many bytes it has.
fn places(element: &Element, columns: &[usize]) -> (Vec<scalar::Place>, usize) {
    let mut offset = 0;
    let mut all = Vec::with_capacity(element.properties.len());
    for property in &element.properties {
        if let Kind::Scalar(scalar) = property.kind {
            all.push((offset, scalar));
            offset += scalar.size();
        }
    }
    (columns.iter().map(|&column| all[column]).collect(), offset)
}
