//! LAS and LAZ files, read by the crate `las`.
//!
//! That crate trusts the header, so the header is checked here first against the size of the file: every
//! length and offset, the number of points, and the sizes of compressed layers.
//!
//! The LAZ decoder (crate `laz`) panics on some damaged bytes, and recurses once for each wrong
//! symbol on others. Only decoding can detect this, so it runs in its own thread, whose panics become
//! errors ([`panic_is_caught`](super::panic_is_caught) tells panic hooks about it) and whose stack use is checked at each read (`decoder`).

mod chunks;

mod decoder;

mod header;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::thread;

use decoder::Decoder;
use header::Header;
use las::PointDataBuilder;

use super::fields::{Depth, Want, reserved, scaled};
use crate::cloud::Cloud;
use crate::error::{Fault, Place, said};

/// Number of points decoded at a time.
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
    let promised = header.points;
    // Errors with a code come from the operating system; all others mean a damaged file.
    let failed = |found: u64, error: io::Error| match error.raw_os_error() {
        Some(_) => Fault::from(error),
        None => header.damaged(found, &error),
    };
    let las_header = las::Header::new(&mut reader).map_err(|cause| header.damaged(0, &cause))?;
    let mut source = Decoder::new(reader, &las_header).map_err(|cause| header.damaged(0, &cause))?;
    let stride = usize::from(las_header.point_format().len());
    let mut points = reserved(header.capacity())?;
    let (mut colors, mut intensities) = (Vec::new(), Vec::new());
    while (points.len() as u64) < promised {
        let found = points.len() as u64;
        let wanted = BATCH.min(promised - found);
        let mut bytes = vec![0; wanted as usize * stride];
        source.fill(&mut bytes).map_err(|error| failed(found, error))?;
        let batch = PointDataBuilder::new().for_header(&las_header).build_from_bytes(bytes);
        let batch = batch.map_err(|cause| header.damaged(found, &cause))?;
        points.extend(batch.x().zip(batch.y()).zip(batch.z()).map(|((x, y), z)| [x, y, z]));
        if want == Want::Everything {
            intensities.extend(batch.intensity().map(f64::from));
            if let Some(batch) = batch.rgb() {
                colors.extend(batch.map(|(red, green, blue)| [red, green, blue].map(f32::from)));
            }
        }
    }
    // Every point has a place for an intensity, and for a colour in some formats; writers leave zeros when there is none.
    let known = |any: bool| want == Want::Everything && any;
    let has_colors =
        known(colors.len() == points.len() && colors.as_flattened().iter().any(|&value| value > 0.0));
    Ok(Cloud {
        colors: has_colors.then(|| scaled(&colors, Depth::Integer)).flatten(),
        intensities: known(intensities.iter().any(|&value| value > 0.0)).then_some(intensities),
        ..Cloud::new(points)
    })
}
