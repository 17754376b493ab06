//! LAS and LAZ files, read by the crate `las`.
//!
//! That crate believes what a header says, so the header is checked here first, against the size of the file: every
//! length it holds, the places it points to, how many points there can be, and the sizes of compressed layers. What
//! remains is the arithmetic decoder of LAZ, which panics on some damaged bytes that no check can foresee short of
//! decoding them; such a panic is caught and becomes an error ([`is_decoding`] tells panic hooks of it).

/// Sizes inside of compressed chunks, checked.
mod chunks;

/// What the header says, checked.
mod header;

use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};

use header::Header;
use las::{PointDataBuilder, Reader};

use super::fields::{Depth, Want, reserved, scaled};
use crate::cloud::Cloud;
use crate::error::{Fault, Place, said};

/// Points that are decoded at a time.
const BATCH: u64 = 1 << 14;

/// What is wrong with a LAS or LAZ file.
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
        /// What is wrong with it.
        what: &'static str,
    },
    /// The file ends before its last point.
    #[error("the file has room for {found} of {promised} points; it is truncated or its header is wrong")]
    Truncated {
        /// How many the header promises.
        promised: u64,
        /// How many fit.
        found: u64,
    },
    /// The library that decodes the file gave up.
    #[error(
        "the file is damaged after {found} of {promised} points ({cause}); copy or export the file again"
    )]
    Decoder {
        /// How many the header promises.
        promised: u64,
        /// How many are known to be in order.
        found: u64,
        /// What the library said, shortened.
        cause: String,
    },
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is inside a decoder of another library whose panics are caught and become errors. A panic hook may
/// look at this and stay silent.
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Reads the points; `size` is that of the file.
pub(super) fn read(mut reader: BufReader<File>, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let size = size.ok_or_else(|| Fault::whole(LasError::Pipe))?;
    let header = Header::read(&mut reader, size)?;
    reader.seek(SeekFrom::Start(0))?;
    DECODING.set(true);
    // Nothing that the panic may have left half done is used afterwards.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(reader, size, &header, want)));
    DECODING.set(false);
    decoded.unwrap_or_else(|_| {
        let cause = "the decoder met a contradiction".to_owned();
        let problem = LasError::Decoder { promised: header.points, found: 0, cause };
        Err(Fault::at(Place::Byte(header.offset), problem))
    })
}

fn decode(reader: BufReader<File>, size: u64, header: &Header, want: Want) -> Result<Cloud, Fault> {
    let promised = header.points;
    let decoder = |found: u64, cause: las::Error| match cause {
        las::Error::Io(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => Fault::from(error),
        cause => {
            let cause = said(&cause);
            Fault::at(Place::Byte(header.offset), LasError::Decoder { promised, found, cause })
        }
    };
    let mut reader = Reader::new(reader).map_err(|cause| decoder(0, cause))?;
    let mut batch = PointDataBuilder::new().for_header(reader.header()).build();
    let mut points = reserved(header.capacity())?;
    let (mut colors, mut intensities) = (Vec::new(), Vec::new());
    while (points.len() as u64) < promised {
        let found = points.len() as u64;
        let wanted = BATCH.min(promised - found);
        let read = reader.fill_points(wanted, &mut batch).map_err(|cause| decoder(found, cause))?;
        if read == 0 {
            return Err(Fault::at(Place::Byte(size), LasError::Truncated { promised, found }));
        }
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
