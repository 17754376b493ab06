//! Decompression of LAZ points.

use std::io::{self, Read, Seek, SeekFrom};

use laz::{DecompressionSelection as Selection, LasZipDecompressor, LazVlr};

use super::record::Record;
use crate::files::Reader;

/// Stack size of the decoding thread, in bytes. Memory is committed only as it is used.
pub(super) const STACK: usize = 64 << 20;

/// Largest stack use when a byte is read, in bytes. Between two bytes the coder can give at most about forty thousand
/// symbols, since its probabilities have 15 bits, and each takes a few hundred bytes of the stack at most.
const DEEPEST: usize = STACK / 8;

/// What is decoded of each point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Position, intensity and colour.
    Cloud,
    /// All bytes.
    Everything,
}

/// Decompressed points.
pub(super) struct Decoder(Box<LasZipDecompressor<'static, Watched>>);

impl Decoder {
    /// Starts decoding; `reader` is at the first point.
    pub(super) fn new(reader: Reader, record: &Record, part: Part) -> Result<Self, laz::LasZipError> {
        // Unneeded layers are not decoded: this is faster, and the layer of point times is where the decoder
        // recurses.
        let selection = match part {
            Part::Cloud => {
                Selection::xy_returns_channel().decompress_z().decompress_intensity().decompress_rgb()
            }
            Part::Everything => Selection::all(),
        };
        let watched = Watched { reader, top: here() };
        let decompressor =
            LasZipDecompressor::selective(watched, LazVlr::from_buffer(&record.bytes)?, selection)?;
        Ok(Self(Box::new(decompressor)))
    }

    /// Fills `bytes` with whole points.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.0.decompress_many(bytes)
    }
}

/// A file that fails to read when the stack is too deep.
pub(super) struct Watched {
    reader: Reader,
    /// Approximate stack address when decoding began.
    top: usize,
}

/// Approximate stack address.
fn here() -> usize {
    let local = 0u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.top.abs_diff(here()) > DEEPEST {
            return Err(io::Error::other("the decoder does not come to an end"));
        }
        self.reader.read(buffer)
    }
}

impl Seek for Watched {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.reader.seek(position)
    }
}
