//! ZIP archives, as far as `.npz` needs them: files stored or deflated, sizes of 32 or 64 bits, one
//! disk, no encryption. Every file is checked against its CRC-32.

mod crc;

mod directory;

use std::io::{self, Read, Seek, SeekFrom};

use directory::{Entry, damaged, read_at, u16_at};
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use crate::error::{Fault, quote};

/// Largest compression ratio of Deflate.
const MAX_RATIO: u64 = 1032;

/// Bytes that a file may have beyond the ratio, for the rounding of very small ones.
const SLACK: u64 = 1 << 16;

/// Length of a local header without name and extra field.
const LOCAL: u64 = 30;

/// Error in an `.npz` archive.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ZipError {
    /// There is no end record.
    #[error("this is not a NumPy archive, or its end is missing; write it again with numpy.savez")]
    NotZip,
    /// A record of the archive contradicts the file.
    #[error("the archive is damaged ({what}); write it again with numpy.savez")]
    Damaged {
        /// The defect.
        what: &'static str,
    },
    /// A file of the archive is damaged.
    #[error("{name} in the archive is damaged ({what}); write it again with numpy.savez")]
    DamagedFile {
        /// The file, quoted.
        name: String,
        /// The defect.
        what: &'static str,
    },
    /// A file needs a password.
    #[error("{name} in the archive is encrypted; write it again without a password")]
    Encrypted {
        /// The file, quoted.
        name: String,
    },
    /// A file is compressed in a way that `NumPy` does not use.
    #[error(
        "{name} in the archive is compressed by method {method}; only stored (0) and deflated (8) can be read"
    )]
    Method {
        /// The file, quoted.
        name: String,
        /// The number of the method.
        method: u16,
    },
    /// A required array is missing.
    #[error(
        "there is no array `{name}` (or `{alias}`); the arrays found are {found}; write it with \
         numpy.savez(file, src=…, dst=…)"
    )]
    MissingArray {
        /// Its name.
        name: &'static str,
        /// The other name it may have.
        alias: &'static str,
        /// Names of the arrays in the archive, quoted.
        found: String,
    },
    /// The two sides of the matches differ in number.
    #[error(
        "{source_points} source points but {target} target points; row i of one must match row i of the other"
    )]
    UnequalLengths {
        /// Points of the source.
        source_points: usize,
        /// Points of the target.
        target: usize,
    },
    /// There are more or fewer numbers in a list than matches.
    #[error("{found} {what} for {expected} matches; give one for each match")]
    ListLength {
        /// What the numbers are.
        what: &'static str,
        /// Number of numbers.
        found: usize,
        /// Number of matches.
        expected: usize,
    },
}

/// An archive whose directory has been read.
pub(super) struct Archive<R> {
    reader: R,
    size: u64,
    entries: Vec<Entry>,
}

impl<R> Archive<R> {
    /// The names of its files, in the order of the directory.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory.
    pub(super) fn open(mut reader: R) -> Result<Self, Fault> {
        let size = reader.seek(SeekFrom::End(0))?;
        let entries = directory::read(&mut reader, size)?;
        Ok(Self { reader, size, entries })
    }

    /// The content of the file at position `index` of [`names`](Self::names).
    pub(super) fn read(&mut self, index: usize) -> Result<Vec<u8>, Fault> {
        let entry = &self.entries[index];
        let name = || quote(&entry.name);
        let broken = |what| Fault::whole(ZipError::DamagedFile { name: name(), what });
        if entry.flags & 1 == 1 {
            return Err(Fault::whole(ZipError::Encrypted { name: name() }));
        }
        let possible = match entry.method {
            0 => entry.uncompressed == entry.compressed,
            8 => entry.uncompressed <= entry.compressed.saturating_mul(MAX_RATIO).saturating_add(SLACK),
            method => return Err(Fault::whole(ZipError::Method { name: name(), method })),
        };
        let limit = usize::try_from(entry.uncompressed).ok().filter(|_| possible);
        let limit = limit.ok_or_else(|| broken("its sizes contradict each other"))?;

        let packed = packed(&mut self.reader, self.size, entry)?;
        let unpacked = match entry.method {
            0 => packed,
            _ => decompress_to_vec_with_limit(&packed, limit).map_err(|_| broken("it cannot be unpacked"))?,
        };
        if unpacked.len() != limit {
            return Err(broken("it unpacks to another size than it should"));
        }
        if crc::crc32(&unpacked) != entry.crc {
            return Err(broken("its checksum is wrong"));
        }
        Ok(unpacked)
    }
}

/// The bytes of `entry` as they are in the archive.
fn packed(reader: &mut (impl Read + Seek), size: u64, entry: &Entry) -> Result<Vec<u8>, Fault> {
    let outside = || damaged(entry.offset, "a file does not lie inside it");
    let after =
        |start: u64, length: u64| start.checked_add(length).filter(|&end| end <= size).ok_or_else(outside);
    let header_end = after(entry.offset, LOCAL)?;
    let mut header = [0; LOCAL as usize];
    read_at(reader, entry.offset, &mut header)?;
    if !header.starts_with(b"PK\x03\x04") {
        return Err(damaged(entry.offset, "a file does not begin where the directory says"));
    }
    // Sizes are taken from the directory alone: the local header may not know them yet.
    let start = after(header_end, u64::from(u16_at(&header, 26)) + u64::from(u16_at(&header, 28)))?;
    after(start, entry.compressed)?;
    let length = usize::try_from(entry.compressed).map_err(|_| outside())?;
    let mut bytes = Vec::new(); // to be no longer than the archive, as just checked
    bytes.try_reserve_exact(length).map_err(io::Error::from)?;
    bytes.resize(length, 0);
    read_at(reader, start, &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod tests;
