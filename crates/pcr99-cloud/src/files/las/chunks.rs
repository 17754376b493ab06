//! Chunks of layered LAZ files (point formats 6 to 10). The decoder allocates by the sizes at their beginning, so these
//! are checked against the file size.
//!
//! A chunk consists of its first point, uncompressed, the number of its points, the size of each layer, and the layers.

use std::io::{Read, Seek};

use super::LasError;
use super::header::{bytes_at, little};
use crate::error::{Fault, Place};

/// A part of a compressed point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Its bytes when not compressed.
    size: u64,
    /// Layers that it is compressed into.
    layers: u64,
}

/// The items of a compressed point from the record of LAZ; `None` when its chunks are not layered.
pub(super) fn items(record: &[u8]) -> Option<Vec<Item>> {
    const LAYERED: u64 = 3;
    if little(record, 0, 2)? != LAYERED {
        return None;
    }
    let count = little(record, 32, 2)?;
    let item = |i: u64| {
        let size = little(record, 36 + 6 * i, 2)?;
        let layers = match little(record, 34 + 6 * i, 2)? {
            10 => 9,    // a point
            12 => 2,    // a colour with infrared
            14 => size, // extra bytes, one layer each
            _ => 1,
        };
        Some(Item { size, layers })
    };
    (0..count).map(item).collect()
}

/// Checks the sizes of all layers of the chunks that lie from `start` to `end`.
pub(super) fn check(
    reader: &mut (impl Read + Seek),
    items: Vec<Item>,
    start: u64,
    end: u64,
) -> Result<(), Fault> {
    let (point, layers) = items.iter().fold((0, 0), |(size, layers), i| (size + i.size, layers + i.layers));
    let before = point + 4 + 4 * layers; // less than a gigabyte: 2¹⁶ items of 2¹⁶ bytes at most, of a record that is there
    let mut at = start;
    while at < end {
        let sizes = bytes_at(reader, at + point + 4, 4 * layers)?;
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
