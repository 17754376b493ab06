//! LAS and LAZ files. The crate `las` reads the header, the crate `laz` decompresses points.
//!
//! Both trust the header, so the header is checked here first against the size of the file: every
//! length and offset, the number of points, the description of the compression, and the sizes of compressed layers.
//!
//! The LAZ decoder (crate `laz`) panics on some damaged bytes, and recurses once for each wrong
//! symbol on others. Only decoding can detect this, so it runs in its own thread, whose panics become
//! errors ([`panic_is_caught`](super::panic_is_caught) tells panic hooks about it) and whose stack use is checked at each read (`decoder`).

mod chunks;

mod decoder;

mod extra;

mod grid;

mod header;

mod points;

mod record;

mod rest;

mod rewrite;

mod write;

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::thread;

use decoder::{Decoder, Part};
use header::Header;
use points::Points;
pub(super) use rest::read_rest;
pub(super) use rewrite::rewrite;
pub(super) use write::write;

use super::Reader;
use super::fields::Want;
use super::scalar::{Binary, ByteOrder, Records};
use crate::cloud::Cloud;
use crate::error::{Fault, Place, said};

/// Number of points decompressed at a time.
const BATCH: u64 = 1 << 14;

/// Error in a LAS or LAZ file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LasError {
    /// The first bytes are not those of the format.
    #[error(
        "this is not a LAS or LAZ file (it does not begin with LASF); give it the extension of its format"
    )]
    NotLas,
    /// The stream is a pipe or a device.
    #[error("a LAS or LAZ file can only be read from a disk, not from a pipe; save it first")]
    Pipe,
    /// The header contradicts itself or the size of the file.
    #[error("the header is damaged or the file is truncated ({what}); copy or export the file again")]
    Header {
        /// The defect.
        what: &'static str,
    },
    /// The file ends before its last point.
    #[error("the file has room for {found} of {promised} points; it is truncated or its header is wrong")]
    Truncated {
        /// Number of points that the header declares.
        promised: u64,
        /// Number of points that the file can hold.
        found: u64,
    },
    /// The library that decodes the file gave up.
    #[error(
        "the file is damaged after {found} of {promised} points ({cause}); copy or export the file again"
    )]
    Decoder {
        /// Number of points that the header declares.
        promised: u64,
        /// Number of points that were decoded before.
        found: u64,
        /// Message of the decoding library, shortened.
        cause: String,
    },
    /// The moved points do not fit into the integers of the file.
    #[error(
        "the moved cloud is {extent:e} long, but 32-bit coordinates with the step {step:e}, which loses nothing, hold only {most:e}; \
         write a PLY or PCD file"
    )]
    Range {
        /// Largest extent along an axis.
        extent: f64,
        /// Step of the coordinates.
        step: f64,
        /// Largest extent that can be stored.
        most: f64,
    },
    /// Doubles cannot tell the steps of the moved points apart.
    #[error(
        "moved, its coordinates reach {coordinate:e}, where doubles are {spacing:e} apart, but they have a step of {step:e}; \
         use a transform to a place nearer to the origin"
    )]
    Far {
        /// Largest coordinate.
        coordinate: f64,
        /// Distance of neighbouring doubles there.
        spacing: f64,
        /// Step of the coordinates.
        step: f64,
    },
    /// The points cannot be compressed.
    #[error("the points cannot be compressed ({cause}); write a `.las` file")]
    Encoder {
        /// Message of the compressing library, shortened.
        cause: String,
    },
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs the LAZ decoder.
pub(super) fn is_decoding() -> bool {
    DECODING.get()
}

/// Reads the points; `size` is that of the file.
pub(super) fn read(mut reader: Reader, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let size = size.ok_or_else(|| Fault::whole(LasError::Pipe))?;
    let header = Header::read(&mut reader, size)?;
    reader.seek(SeekFrom::Start(0))?;
    on_decoder_thread(&header, || decode(reader, &header, want))
}

/// Runs `work` where a panic or a deep recursion of the decoder is an error. WebAssembly has no threads, and a panic there ends the program.
fn on_decoder_thread<T: Send>(
    header: &Header,
    work: impl FnOnce() -> Result<T, Fault> + Send,
) -> Result<T, Fault> {
    let watched = || {
        let _guard = Decoding::begin();
        work()
    };
    if cfg!(target_family = "wasm") {
        return watched();
    }
    thread::scope(|scope| {
        let decoding = thread::Builder::new().stack_size(decoder::STACK).spawn_scoped(scope, watched)?;
        decoding.join().unwrap_or_else(|_| Err(header.damaged(0, &"the decoder met a contradiction")))
    })
}

/// While it lives, this thread runs the decoder.
struct Decoding;

impl Decoding {
    fn begin() -> Self {
        DECODING.set(true);
        Self
    }
}

impl Drop for Decoding {
    fn drop(&mut self) {
        DECODING.set(false);
    }
}

impl Header {
    /// The file is damaged after `found` points.
    fn damaged(&self, found: u64, cause: &impl std::fmt::Display) -> Fault {
        let problem = LasError::Decoder { promised: self.points, found, cause: said(cause) };
        Fault::at(Place::Byte(self.offset), problem)
    }
}

fn decode(mut reader: Reader, header: &Header, want: Want) -> Result<Cloud, Fault> {
    let las_header = las::Header::new(&mut reader).map_err(|cause| header.damaged(0, &cause))?;
    let mut points = Points::new(&las_header, header.capacity(), want)?;
    let stride = usize::from(las_header.point_format().len());
    if header.points == 0 {
        // No decoder needs to see the rest.
    } else if header.compression.is_some() {
        each_batch(reader, header, Part::Cloud, |bytes| {
            points.extend(Records { bytes, stride, order: ByteOrder::Little });
            Ok(())
        })?;
    } else {
        let mut body = Binary::new(reader, header.offset, ByteOrder::Little);
        let found = body.records(header.points, stride, |records| points.extend(records))?;
        if found < header.points {
            return Err(header.damaged(found, &"failed to fill whole buffer"));
        }
    }
    Ok(points.finish())
}

/// Hands all points to `each`, many at a time, in the form in which they are stored when not compressed.
fn each_batch(
    mut reader: Reader,
    header: &Header,
    part: Part,
    mut each: impl FnMut(&mut [u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    // Errors with a code come from the operating system; all others mean a damaged file.
    let failed = |found: u64, error: io::Error| match error.raw_os_error() {
        Some(_) => Fault::from(error),
        None => header.damaged(found, &error),
    };
    reader.seek(SeekFrom::Start(header.offset))?;
    let mut source = match &header.compression {
        _ if header.points == 0 => return Ok(()),
        Some(record) => {
            Source::Packed(Decoder::new(reader, record, part).map_err(|cause| header.damaged(0, &cause))?)
        }
        None => Source::Plain(reader),
    };
    let (mut bytes, mut found) = (Vec::new(), 0);
    while found < header.points {
        let wanted = BATCH.min(header.points - found);
        bytes.resize((wanted * header.stride) as usize, 0);
        match &mut source {
            Source::Packed(decoder) => decoder.fill(&mut bytes),
            Source::Plain(reader) => reader.read_exact(&mut bytes),
        }
        .map_err(|error| failed(found, error))?;
        each(&mut bytes)?;
        found += wanted;
    }
    Ok(())
}

/// Where points come from.
enum Source {
    Packed(Decoder),
    Plain(Reader),
}
