//! Order of work: pairs that share clouds run close together.
//!
//! Clouds are numbered in the order of their first occurrence, and pairs are sorted by tiles of [`TILE`] target clouds times [`TILE`] source
//! clouds. Among all pairs of a hundred clouds, each cloud is then read a few times instead of fifty times. Pairs of consecutive scans keep
//! their order.

use std::collections::HashMap;

use crate::{
    manifest::Manifest,
    row::{Input, Row},
};

/// Clouds on either side of a tile. The default cache of 1 GiB holds the 16 clouds of a tile if each takes at most 64 MiB.
const TILE: u32 = 8;

impl Manifest {
    /// Row numbers, from 0, in the order of work.
    pub fn order(&self) -> Vec<u32> {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut keys: Vec<((u32, u32), u32)> = Vec::with_capacity(self.rows().len());
        for (row, place) in self.rows().iter().zip(0..) {
            let tile = match &row.input {
                Input::Matches { .. } => (0, 0),
                Input::Clouds { source, target } => {
                    let mut number = |path| {
                        let next = numbers.len() as u32;
                        *numbers.entry(path).or_insert(next) / TILE
                    };
                    let (source, target) = (number(source), number(target));
                    (target.max(source), target.min(source))
                }
            };
            keys.push((tile, place));
        }
        keys.sort_unstable();
        keys.into_iter().map(|(_, place)| place).collect()
    }

    /// Unfinished rows in chunks of `size` pairs, in the order of work.
    pub fn chunks(&self, size: usize, is_finished: &dyn Fn(&Row) -> bool) -> Vec<Chunk> {
        let rows = self.order().into_iter().map(|place| &self.rows()[place as usize]);
        let rows: Vec<Row> = rows.filter(|row| !is_finished(row)).cloned().collect();
        let base = self.base().to_string_lossy();
        rows.chunks(size.max(1))
            .map(|rows| Chunk { base: base.clone().into_owned(), rows: rows.to_vec() })
            .collect()
    }
}

/// Some pairs, with everything that a worker on another machine needs.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Chunk {
    /// Directory of the manifest.
    pub base: String,
    /// The pairs.
    pub rows: Vec<Row>,
}
