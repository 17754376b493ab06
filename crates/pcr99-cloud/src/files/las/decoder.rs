//! Bytes of points, decompressed or as they are.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use laz::{DecompressionSelection as Selection, LasZipDecompressor};

/// The stack of the thread that decodes. It is mapped, not filled: memory is taken as it is used.
pub(super) const STACK: usize = 64 << 20;

/// How much of it may be in use when a byte is read. Between two bytes the coder can give at most about forty thousand
/// symbols, since its probabilities have 15 bits, and each takes a few hundred bytes of the stack at most.
const DEEPEST: usize = STACK / 8;

/// Where points come from.
pub(super) enum Decoder {
    Plain(BufReader<File>),
    Compressed(Box<LasZipDecompressor<'static, Watched>>),
}

impl Decoder {
    /// `reader` stands at the first point.
    pub(super) fn new(reader: BufReader<File>, header: &las::Header) -> Result<Self, las::Error> {
        if !header.point_format().is_compressed {
            return Ok(Self::Plain(reader));
        }
        // Layers that are not asked for are not decoded: faster, and the times of points are where the decoder of layers
        // calls itself.
        let selection =
            Selection::xy_returns_channel().decompress_z().decompress_intensity().decompress_rgb();
        let watched = Watched { reader, top: here() };
        let decompressor = LasZipDecompressor::selective(watched, header.laz_vlr()?, selection)?;
        Ok(Self::Compressed(Box::new(decompressor)))
    }

    /// Fills `bytes` with whole points.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Plain(reader) => reader.read_exact(bytes),
            Self::Compressed(decompressor) => decompressor.decompress_many(bytes),
        }
    }
}

/// A file that refuses to be read from too deep a call.
pub(super) struct Watched {
    reader: BufReader<File>,
    /// About where the stack was when decoding began.
    top: usize,
}

/// About where the stack is.
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
