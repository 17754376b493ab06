//! Header and records of a LAS file, as far as lengths and offsets are concerned (ASPRS LAS 1.0 to 1.4).

use std::io::{BufRead, Read, Seek, SeekFrom};

use super::record::{self, Record};
use super::{LasError, chunks};
use crate::error::{Fault, Place};

/// Bytes of the header of versions 1.0 to 1.2, 1.3 and 1.4.
const SIZES: [u64; 3] = [227, 235, 375];

/// Bytes of a point of formats 0 to 10, without extra bytes.
pub(super) const LEAST: [u64; 11] = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67];

/// Largest number of compressed points per byte. Equal points in chunks of 50 000, the usual number, reach about 150, and 500 in layers.
const DENSEST: u64 = 1000;

/// The checked fields of the header.
#[derive(Debug)]
pub(super) struct Header {
    /// Number of points.
    pub(super) points: u64,
    /// Offset of the first point.
    pub(super) offset: u64,
    /// Bytes from there to the end of the file.
    room: u64,
    /// Bytes of a point when not compressed.
    pub(super) stride: u64,
    /// How points are compressed; `None` when they are not.
    pub(super) compression: Option<Record>,
    /// Format of the points.
    pub(super) format: u8,
    /// The bytes of the header, as far as its version is known here.
    pub(super) bytes: Vec<u8>,
    /// Bytes of the header, with those that are not known here.
    pub(super) length: u64,
}

impl Header {
    /// Reads and checks the header of a file of `size` bytes.
    pub(super) fn read(reader: &mut (impl BufRead + Seek), size: u64) -> Result<Self, Fault> {
        let mut bytes = Vec::new();
        reader.by_ref().take(SIZES[2]).read_to_end(&mut bytes)?;
        if !bytes.starts_with(b"LASF") {
            return Err(Fault::whole(LasError::NotLas));
        }
        let wrong = |at: u64, what| Fault::at(Place::Byte(at), LasError::Header { what });
        let field =
            |at: u64, width: u64| little(&bytes, at, width).ok_or_else(|| wrong(size, "it ends inside"));
        let (major, minor) = (field(24, 1)?, field(25, 1)?);
        if major != 1 || minor > 4 {
            return Err(wrong(24, "its version is not known"));
        }
        let least = SIZES[minor.saturating_sub(2) as usize];
        let (header_size, offset) = (field(94, 2)?, field(96, 4)?);
        if header_size < least || (bytes.len() as u64) < least {
            return Err(wrong(94, "it is shorter than its version needs"));
        }
        if offset < header_size || offset > size {
            return Err(wrong(96, "points begin outside of the file"));
        }
        let compressed = field(104, 1)? & 0xc0 != 0;
        let (format, stride) = (field(104, 1)? & 0x3f, field(105, 2)?);
        if LEAST.get(format as usize).is_none_or(|&least| stride < least) {
            return Err(wrong(104, "points of this format or length are not known"));
        }
        for at in (131..179).step_by(8) {
            if !f64::from_bits(field(at, 8)?).is_finite() {
                return Err(wrong(at, "a scale or offset is not a finite number"));
            }
        }
        let record = check_records(reader, header_size, field(100, 4)?, offset)?;
        let mut points = field(107, 4)?;
        if minor == 4 {
            check_extended(reader, field(235, 8)?, field(243, 4)?, size)?;
            // The old count is zero where the format of points is new or there are too many for it.
            points = field(247, 8)?;
        }
        let compression = match (compressed, record) {
            (false, _) => None,
            (true, Some((place, bytes))) => Some(Record::check(bytes, place, format, stride)?),
            (true, None) => return Err(wrong(104, "points are compressed, but no record says how")),
        };
        bytes.truncate(least as usize);
        let (format, length) = (format as u8, header_size);
        let header = Self { points, offset, room: size - offset, stride, compression, format, bytes, length };
        if let Some(compression) = &header.compression {
            header.check_compressed(reader, size, compression.layers)?;
        } else {
            let found = header.room / stride;
            if found < points {
                return Err(Fault::at(Place::Byte(size), LasError::Truncated { promised: points, found }));
            }
        }
        Ok(header)
    }

    /// Number of points for which memory may be reserved: at most those that fit into the bytes when not compressed.
    pub(super) fn capacity(&self) -> usize {
        usize::try_from(self.points.min(self.room / self.stride)).unwrap_or(0)
    }

    /// Checks how many points and chunks a compressed file can have, and the sizes of its layers.
    fn check_compressed(
        &self,
        reader: &mut (impl Read + Seek),
        size: u64,
        layers: Option<u64>,
    ) -> Result<(), Fault> {
        let wrong = |at: u64, what| Fault::at(Place::Byte(at), LasError::Header { what });
        if self.room.saturating_mul(DENSEST) < self.points {
            return Err(wrong(size, "it declares more than 1000 points per compressed byte"));
        }
        if self.points == 0 {
            // Nothing is decoded, and not every writer adds a table of chunks.
            return Ok(());
        }
        // The offset of the table of chunks is before the points or, in files written to a pipe, at the end of the file.
        let pointer = number_at(reader, self.offset, 8)?;
        let table = match pointer {
            Some(u64::MAX) if size >= 8 => number_at(reader, size - 8, 8)?,
            table => table,
        };
        let table = table.filter(|&table| table >= self.offset + 8 && table <= size - 8);
        let chunks = table.map(|table| number_at(reader, table + 4, 4)).transpose()?.flatten();
        match (table, chunks) {
            // A chunk begins with one uncompressed point. Points end at the table.
            (Some(table), Some(chunks)) if chunks <= self.room / self.stride && chunks <= self.points => {
                layers.map_or(Ok(()), |layers| {
                    chunks::check(reader, (self.stride, layers), self.offset + 8, table)
                })
            }
            _ => Err(wrong(self.offset, "the table of its chunks is wrong")),
        }
    }
}

/// Checks that the `count` records that follow the header end before the points; returns place and content of the record of the compression.
fn check_records(
    reader: &mut (impl Read + Seek),
    start: u64,
    count: u64,
    end: u64,
) -> Result<Option<(u64, Vec<u8>)>, Fault> {
    const RECORD: u64 = 54;
    let wrong = |at: u64, what| Err(Fault::at(Place::Byte(at), LasError::Header { what }));
    let mut at = start;
    let mut found = None;
    for _ in 0..count {
        let length = if at + RECORD <= end { number_at(reader, at + 20, 2)? } else { None };
        let Some(length) = length.filter(|length| at + RECORD + length <= end) else {
            return wrong(at, "a record of the header reaches into the points");
        };
        let is_compression = number_at(reader, at + 18, 2)? == Some(record::NUMBER)
            && bytes_at(reader, at + 2, 16)? == record::USER;
        if is_compression {
            let content = bytes_at(reader, at + RECORD, length)?;
            if found.replace((at, content)).is_some() {
                return wrong(at, "there are two records of the compression");
            }
        }
        at += RECORD + length;
    }
    Ok(found)
}

/// Checks that the `count` records after the points end before the file does.
fn check_extended(reader: &mut (impl Read + Seek), start: u64, count: u64, end: u64) -> Result<(), Fault> {
    const RECORD: u64 = 60;
    let mut at = start;
    for _ in 0..count {
        let fits = at.checked_add(RECORD).is_some_and(|after| after <= end);
        let length = if fits { number_at(reader, at + 20, 8)? } else { None };
        match length {
            Some(length) if length <= end - at - RECORD => at += RECORD + length,
            _ => {
                let what = "a record after the points reaches beyond the end";
                return Err(Fault::at(Place::Byte(at.min(end)), LasError::Header { what }));
            }
        }
    }
    Ok(())
}

/// The number of `width` bytes at `place`; `None` at the end of the file.
fn number_at(reader: &mut (impl Read + Seek), place: u64, width: u64) -> Result<Option<u64>, Fault> {
    Ok(little(&bytes_at(reader, place, width)?, 0, width))
}

/// Up to `length` bytes at `place`, as many as there are.
pub(super) fn bytes_at(reader: &mut (impl Read + Seek), place: u64, length: u64) -> Result<Vec<u8>, Fault> {
    reader.seek(SeekFrom::Start(place))?;
    let mut bytes = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The number of `width` bytes at `place`, low byte first.
pub(super) fn little(bytes: &[u8], place: u64, width: u64) -> Option<u64> {
    let stored = bytes.get(place as usize..(place + width) as usize)?;
    Some(stored.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
