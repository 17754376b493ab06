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

mod header;

mod points;

mod record;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::thread;

use decoder::Decoder;
use header::Header;
use points::Points;

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
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread runs the LAZ decoder.
pub(super) fn is_decoding() -> bool {
    DECODING.get()
}

/// Reads the points; `size` is that of the file.
pub(super) fn read(mut reader: BufReader<File>, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let size = size.ok_or_else(|| Fault::whole(LasError::Pipe))?;
    let header = Header::read(&mut reader, size)?;
    reader.seek(SeekFrom::Start(0))?;
    thread::scope(|scope| {
        let work = || {
            DECODING.set(true);
            decode(reader, &header, want)
        };
        let decoding = thread::Builder::new().stack_size(decoder::STACK).spawn_scoped(scope, work)?;
        decoding.join().unwrap_or_else(|_| Err(header.damaged(0, &"the decoder met a contradiction")))
    })
}

impl Header {
    /// The file is damaged after `found` points.
    fn damaged(&self, found: u64, cause: &impl std::fmt::Display) -> Fault {
        let problem = LasError::Decoder { promised: self.points, found, cause: said(cause) };
        Fault::at(Place::Byte(self.offset), problem)
    }
}

fn decode(mut reader: BufReader<File>, header: &Header, want: Want) -> Result<Cloud, Fault> {
    let las_header = las::Header::new(&mut reader).map_err(|cause| header.damaged(0, &cause))?;
    let mut points = Points::new(&las_header, header.capacity(), want)?;
    let stride = usize::from(las_header.point_format().len());
    if header.points == 0 {
        // No decoder needs to see the rest.
    } else if let Some(record) = &header.compression {
        // Errors with a code come from the operating system; all others mean a damaged file.
        let failed = |found: u64, error: io::Error| match error.raw_os_error() {
            Some(_) => Fault::from(error),
            None => header.damaged(found, &error),
        };
        let mut source = Decoder::new(reader, record).map_err(|cause| header.damaged(0, &cause))?;
        let mut bytes = Vec::new();
        while points.len() < header.points {
            let wanted = BATCH.min(header.points - points.len());
            bytes.resize(wanted as usize * stride, 0);
            source.fill(&mut bytes).map_err(|error| failed(points.len(), error))?;
            points.extend(Records { bytes: &bytes, stride, order: ByteOrder::Little });
        }
    } else {
        let mut body = Binary::new(reader, header.offset, ByteOrder::Little);
        let found = body.records(header.points, stride, |records| points.extend(records))?;
        if found < header.points {
            return Err(header.damaged(found, &"failed to fill whole buffer"));
        }
    }
    Ok(points.finish())
}
