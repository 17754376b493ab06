//! The LASzip record, which describes how the points of a LAZ file are compressed.
//!
//! The decoder allocates by it: models for each item, and layers whose number follows from the items. A record is therefore accepted only when
//! it lists exactly the items of the point format. The decoder gets the same bytes that are checked here.

use super::LasError;
use super::header::little;
use crate::error::{Fault, Place};

/// Author of the record, padded with zeros to 16 bytes.
pub(super) const USER: &[u8] = b"laszip encoded\0\0";

/// Number of the record.
pub(super) const NUMBER: u64 = 22204;

/// Most extra bytes of a compressed point. The decoder keeps models of about 9 kB for each, so these take up to 38 MB. Usual files have fewer
/// than a hundred.
const MOST_EXTRA: u64 = 4096;

/// Type numbers of items.
const POINT: u64 = 6;
const TIME: u64 = 7;
const COLOR: u64 = 8;
const WAVE: u64 = 9;
const EXTRA: u64 = 0;
const LAYERED_POINT: u64 = 10;
const LAYERED_COLOR: u64 = 11;
const LAYERED_COLOR_INFRARED: u64 = 12;
const LAYERED_WAVE: u64 = 13;
const LAYERED_EXTRA: u64 = 14;

/// Items of the point formats 0 to 10, without extra bytes: type and bytes.
const ITEMS: [&[(u64, u64)]; 11] = [
    &[(POINT, 20)],
    &[(POINT, 20), (TIME, 8)],
    &[(POINT, 20), (COLOR, 6)],
    &[(POINT, 20), (TIME, 8), (COLOR, 6)],
    &[(POINT, 20), (TIME, 8), (WAVE, 29)],
    &[(POINT, 20), (TIME, 8), (COLOR, 6), (WAVE, 29)],
    &[(LAYERED_POINT, 30)],
    &[(LAYERED_POINT, 30), (LAYERED_COLOR, 6)],
    &[(LAYERED_POINT, 30), (LAYERED_COLOR_INFRARED, 8)],
    &[(LAYERED_POINT, 30), (LAYERED_WAVE, 29)],
    &[(LAYERED_POINT, 30), (LAYERED_COLOR_INFRARED, 8), (LAYERED_WAVE, 29)],
];

/// First point format whose chunks consist of layers.
const FIRST_LAYERED: u64 = 6;

/// A record that fits the points of its file.
#[derive(Debug)]
pub(super) struct Record {
    /// Content, without the header of the record.
    pub(super) bytes: Vec<u8>,
    /// Number of layers of a chunk; `None` when chunks have no layers.
    pub(super) layers: Option<u64>,
}

impl Record {
    /// Checks the content of the record at `place` against points of `format` that have `stride` bytes.
    pub(super) fn check(bytes: Vec<u8>, place: u64, format: u64, stride: u64) -> Result<Self, Fault> {
        let wrong = |what| Fault::at(Place::Byte(place), LasError::Header { what });
        let is_layered = format >= FIRST_LAYERED;
        let mut expected = ITEMS[format as usize].to_vec();
        let extra = stride - expected.iter().map(|(_, size)| size).sum::<u64>();
        if extra > MOST_EXTRA {
            return Err(wrong("compressed points have more than 4096 extra bytes"));
        }
        if extra > 0 {
            expected.push((if is_layered { LAYERED_EXTRA } else { EXTRA }, extra));
        }
        let field = |at: u64, width: u64| {
            little(&bytes, at, width).ok_or_else(|| wrong("the record of the compression is too short"))
        };
        let kinds = if is_layered { 3..=3 } else { 1..=2 };
        let versions = if is_layered { 3..=4 } else { 1..=2 };
        let mut fits = kinds.contains(&field(0, 2)?) && field(32, 2)? == expected.len() as u64;
        for (i, item) in (0..).zip(&expected) {
            let at = 34 + 6 * i;
            fits =
                fits && (field(at, 2)?, field(at + 2, 2)?) == *item && versions.contains(&field(at + 4, 2)?);
        }
        if !fits {
            return Err(wrong("the record of the compression describes other points"));
        }
        let layers = expected.iter().map(|&(item, size)| match item {
            LAYERED_POINT => 9,
            LAYERED_COLOR_INFRARED => 2,
            LAYERED_EXTRA => size,
            _ => 1,
        });
        let layers = is_layered.then(|| layers.sum());
        Ok(Self { bytes, layers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of the given kind with items of type, size and version.
    fn record(kind: u16, items: &[[u16; 3]]) -> Vec<u8> {
        let mut bytes = vec![0; 34];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[32..].copy_from_slice(&(items.len() as u16).to_le_bytes());
        bytes.extend(items.as_flattened().iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    #[test]
    fn only_the_items_of_the_format_are_accepted() {
        let layers = |bytes: &[u8], format, stride| {
            Record::check(bytes.to_vec(), 0, format, stride).map(|record| record.layers).ok()
        };
        let old = record(2, &[[6, 20, 2], [7, 8, 2], [8, 6, 2]]);
        assert_eq!(layers(&old, 3, 34), Some(None));
        assert_eq!(layers(&old, 3, 35), None); // an extra byte without an item
        assert_eq!(layers(&old, 2, 26), None);
        assert_eq!(layers(&old[..40], 3, 34), None);
        let new = [[10, 30, 3], [12, 8, 3], [13, 29, 4], [14, 5, 3]];
        assert_eq!(layers(&record(3, &new), 10, 72), Some(Some(9 + 2 + 1 + 5)));
        // Layered items in chunks without layers: the decoder would follow the items, and a check of the kind alone would see no layers.
        assert_eq!(layers(&record(2, &new), 10, 72), None);
        assert_eq!(layers(&record(3, &[[10, 30, 2]]), 6, 30), None);
        // Sizes that the decoder would believe.
        assert_eq!(layers(&record(3, &[[10, 30, 3], [14, 65000, 3]]), 6, 65030), None);
        assert_eq!(layers(&record(3, &[[10, 30, 3], [14, 9, 3], [14, 9, 3]]), 6, 48), None);
        assert_eq!(layers(&record(3, &[]), 6, 30), None);
    }
}
