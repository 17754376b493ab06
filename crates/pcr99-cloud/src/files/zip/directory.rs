//! The directory at the end of a ZIP archive: which files it holds, and where.

use std::io::{self, Read, Seek, SeekFrom};

use super::ZipError;
use crate::error::{Fault, Place};

/// Length of the end record without its comment.
const END: usize = 22;

/// Length of the record that leads to the 64-bit end record.
const LOCATOR: usize = 20;

/// The largest directory accepted; an archive of arrays has a few hundred bytes.
const MAX_DIRECTORY: u64 = 1 << 26;

/// One file of the archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) crc: u32,
    pub(super) compressed: u64,
    pub(super) uncompressed: u64,
    /// Where its local header begins.
    pub(super) offset: u64,
}

/// The directory of the archive in `reader`, which has `size` bytes.
pub(super) fn read(reader: &mut (impl Read + Seek), size: u64) -> Result<Vec<Entry>, Fault> {
    let (offset, length) = locate(reader, size)?;
    let inside = offset.checked_add(length).is_some_and(|end| end <= size) && length <= MAX_DIRECTORY;
    if !inside {
        return Err(damaged(offset, "its directory does not lie inside the file"));
    }
    let mut bytes = vec![0; length as usize]; // at most `size` and `MAX_DIRECTORY`
    read_at(reader, offset, &mut bytes)?;
    parse(&bytes, offset)
}

/// Offset and length of the directory, from the end record.
fn locate(reader: &mut (impl Read + Seek), size: u64) -> Result<(u64, u64), Fault> {
    // The end record is followed only by a comment of at most 65535 bytes.
    let mut tail = vec![0; size.min((END + 0xffff) as u64) as usize];
    let start = size - tail.len() as u64;
    read_at(reader, start, &mut tail)?;
    let is_end = |at: &usize| {
        let record = &tail[*at..];
        record.starts_with(b"PK\x05\x06") && END + usize::from(u16_at(record, 20)) == record.len()
    };
    let Some(at) = (0..(tail.len() + 1).saturating_sub(END)).rev().find(is_end) else {
        return Err(Fault::whole(ZipError::NotZip));
    };
    let record = &tail[at..];
    let (entries, length, offset) = (u16_at(record, 10), u32_at(record, 12), u32_at(record, 16));
    if entries != u16::MAX && length != u32::MAX && offset != u32::MAX {
        return Ok((offset.into(), length.into()));
    }
    // Numbers too large for the end record are in a 64-bit one, found through a locator just before.
    let end = start + at as u64;
    let broken = || damaged(end, "its 64-bit directory cannot be found");
    let mut locator = [0; LOCATOR];
    read_at(reader, end.checked_sub(LOCATOR as u64).ok_or_else(broken)?, &mut locator)?;
    let record_at = u64_at(&locator, 8);
    let mut record = [0; 56];
    if !locator.starts_with(b"PK\x06\x07") || record_at.checked_add(56).is_none_or(|end| end > size) {
        return Err(broken());
    }
    read_at(reader, record_at, &mut record)?;
    if !record.starts_with(b"PK\x06\x06") {
        return Err(broken());
    }
    Ok((u64_at(&record, 48), u64_at(&record, 40)))
}

/// The entries of a directory that begins at `offset`.
fn parse(bytes: &[u8], offset: u64) -> Result<Vec<Entry>, Fault> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = offset + (bytes.len() - rest.len()) as u64;
        let broken = || damaged(at, "an entry of its directory is cut short or overwritten");
        let (fixed, after) = rest.split_at_checked(46).ok_or_else(broken)?;
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(fixed, at)));
        let (name, after) = after.split_at_checked(name).ok_or_else(broken)?;
        let (extra, after) = after.split_at_checked(extra).ok_or_else(broken)?;
        if !fixed.starts_with(b"PK\x01\x02") || after.len() < comment {
            return Err(broken());
        }
        let mut wide = zip64(extra);
        // In this order, and only those that do not fit 32 bits.
        let [uncompressed, compressed, offset] = [24, 20, 42].map(|at| match u32_at(fixed, at) {
            u32::MAX => wide.split_off_first(),
            value => Some(value.into()),
        });
        entries.push(Entry {
            name: String::from_utf8_lossy(name).into_owned(),
            flags: u16_at(fixed, 8),
            method: u16_at(fixed, 10),
            crc: u32_at(fixed, 16),
            compressed: compressed.ok_or_else(broken)?,
            uncompressed: uncompressed.ok_or_else(broken)?,
            offset: offset.ok_or_else(broken)?,
        });
        rest = &after[comment..];
    }
    Ok(entries)
}

/// 64-bit numbers of an extra field that are still to be handed out.
struct Wide<'a>(&'a [u8]);

impl Wide<'_> {
    fn split_off_first(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }
}

/// The content of the extra field with 64-bit numbers; empty if there is none.
fn zip64(mut extra: &[u8]) -> Wide<'_> {
    while let Some((head, rest)) = extra.split_at_checked(4) {
        let Some((content, after)) = rest.split_at_checked(u16_at(head, 2).into()) else { break };
        if u16_at(head, 0) == 1 {
            return Wide(content);
        }
        extra = after;
    }
    Wide(&[])
}

/// Fills `buffer` from `offset` on; the caller knows that the bytes are there.
pub(super) fn read_at(reader: &mut (impl Read + Seek), offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    reader.seek(SeekFrom::Start(offset))?;
    reader.read_exact(buffer)
}

pub(super) fn damaged(byte: u64, what: &'static str) -> Fault {
    Fault::at(Place::Byte(byte), ZipError::Damaged { what })
}

/// The 16-bit number at `at`, which lies inside `bytes`.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The 32-bit number at `at`, which lies inside `bytes`.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

/// The 64-bit number at `at`, which lies inside `bytes`.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
