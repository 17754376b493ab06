//! Values in binary. Elements without lists all have the same number of bytes and are read many at a
//! time; those with lists are walked value by value.

use std::io::{self, BufRead, Read};

use super::PlyError;
use super::header::{Element, Header, Kind};
use super::scalar::{ByteOrder, Scalar};
use crate::error::{Fault, Place, quote};

/// About how many bytes of vertices are read at a time.
const CHUNK: usize = 1 << 16;

/// Hands the values of `columns` of each vertex to `row`.
pub(super) fn read_vertices(
    reader: impl BufRead,
    order: ByteOrder,
    header: &Header,
    columns: &[usize],
    row: impl FnMut(&[f64]),
) -> Result<(), Fault> {
    let mut body = Body { reader, byte: header.bytes, order };
    for element in &header.elements {
        match (element.is_vertex(), element.is_fixed()) {
            (true, true) => return body.fixed(element, columns, row),
            (true, false) => return body.walk(element, columns, row),
            (false, true) => body.skip_fixed(element)?,
            (false, false) => body.walk(element, &[], |_| ())?,
        }
    }
    Ok(())
}

/// The bytes below the header.
struct Body<R> {
    reader: R,
    /// Bytes read so far, with the header.
    byte: u64,
    order: ByteOrder,
}

impl<R: BufRead> Body<R> {
    /// Reads elements that all have the same number of bytes.
    fn fixed(
        &mut self,
        element: &Element,
        columns: &[usize],
        mut row: impl FnMut(&[f64]),
    ) -> Result<(), Fault> {
        let (places, stride) = places(element, columns);
        let mut values = vec![0.0; columns.len()];
        let at_once = (CHUNK / stride).max(1); // the caller found a property, so the stride is not 0
        let mut chunk = vec![0; at_once * stride];
        let mut found = 0;
        while found < element.count {
            let wanted = usize::try_from(element.count - found).unwrap_or(at_once).min(at_once);
            let filled = self.fill(&mut chunk[..wanted * stride])?;
            for record in chunk[..filled].chunks_exact(stride) {
                for (value, &(offset, scalar)) in values.iter_mut().zip(&places) {
                    *value = scalar.decode(&record[offset..], self.order);
                }
                row(&values);
            }
            found += (filled / stride) as u64;
            if filled < wanted * stride {
                return Err(self.truncated(element, found));
            }
        }
        Ok(())
    }

    /// Passes over elements that all have the same number of bytes.
    fn skip_fixed(&mut self, element: &Element) -> Result<(), Fault> {
        let stride = element.least_bytes();
        // A product beyond 64 bits is beyond any file: the skip ends with the file all the same.
        let all = stride.saturating_mul(element.count);
        let skipped = self.skip(all)?;
        if skipped < all { Err(self.truncated(element, skipped / stride)) } else { Ok(()) }
    }

    /// Reads elements with lists, whose entries are passed over.
    fn walk(
        &mut self,
        element: &Element,
        columns: &[usize],
        mut row: impl FnMut(&[f64]),
    ) -> Result<(), Fault> {
        let mut values = vec![0.0; columns.len()];
        for found in 0..element.count {
            for (position, property) in element.properties.iter().enumerate() {
                let cut = |body: &Self| body.truncated(element, found);
                match property.kind {
                    Kind::Scalar(scalar) => {
                        let read = self.scalar(scalar)?.ok_or_else(|| cut(self))?;
                        for (value, _) in
                            values.iter_mut().zip(columns).filter(|(_, column)| **column == position)
                        {
                            *value = read;
                        }
                    }
                    Kind::List { length, item } => {
                        let length = self.scalar(length)?.ok_or_else(|| cut(self))?;
                        if length < 0.0 {
                            let problem = PlyError::ListLength { element: quote(&element.name), length };
                            return Err(Fault::at(Place::Byte(self.byte), problem));
                        }
                        // At most 32 bits, whole: exact.
                        let bytes = length as u64 * item.size() as u64;
                        if self.skip(bytes)? < bytes {
                            return Err(cut(self));
                        }
                    }
                }
            }
            row(&values);
        }
        Ok(())
    }

    /// One value; `None` when the file ends before or inside it.
    fn scalar(&mut self, scalar: Scalar) -> io::Result<Option<f64>> {
        let mut bytes = [0; 8];
        let wanted = scalar.size();
        let filled = self.fill(&mut bytes[..wanted])?;
        Ok((filled == wanted).then(|| scalar.decode(&bytes, self.order)))
    }

    /// Fills `buffer` as far as the file reaches.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.reader.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.byte += filled as u64;
        Ok(filled)
    }

    /// Passes over `count` bytes, or as many as there are.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let skipped = io::copy(&mut self.reader.by_ref().take(count), &mut io::sink())?;
        self.byte += skipped;
        Ok(skipped)
    }

    fn truncated(&self, element: &Element, found: u64) -> Fault {
        let (element, promised) = (quote(&element.name), element.count);
        Fault::at(Place::Byte(self.byte), PlyError::Truncated { element, promised, found })
    }
}

/// Where in the bytes of one element the values of `columns` lie, and how many bytes it has.
fn places(element: &Element, columns: &[usize]) -> (Vec<(usize, Scalar)>, usize) {
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
