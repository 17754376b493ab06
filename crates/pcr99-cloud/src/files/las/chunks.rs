//! Chunks of layered LAZ files (point formats 6 to 10). The decoder allocates by the sizes at their beginning, so these
//! are checked against the file size.
//!
//! A chunk consists of its first point, uncompressed, the number of its points, the size of each layer, and the layers.

use std::io::{Read, Seek};

use super::LasError;
use super::header::{bytes_at, little};
use crate::error::{Fault, Place};

/// Checks the sizes of all layers of the chunks that lie from `start` to `end`. A point has `stride` bytes, a chunk has `layers` layers.
pub(super) fn check(
    reader: &mut (impl Read + Seek),
    (stride, layers): (u64, u64),
    start: u64,
    end: u64,
) -> Result<(), Fault> {
    let before = stride + 4 + 4 * layers;
    let mut at = start;
    while at < end {
        let sizes = bytes_at(reader, at + stride + 4, 4 * layers)?;
        let all: Option<u64> = (0..layers).map(|layer| little(&sizes, 4 * layer, 4)).sum();
        match all {
            Some(all) if all <= end.saturating_sub(at + before) => at += before + all,
            _ => {
                let what = "a layer of compressed points reaches beyond their end";
                return Err(Fault::at(Place::Byte(at), LasError::Header { what }));
            }
        }
    }
    Ok(())
}
