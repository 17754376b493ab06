//! In which order pairs are worked on: those that share clouds near each other.
//!
//! Clouds are numbered as they first appear. Pairs go by tiles of `TILE` target clouds times `TILE` source clouds, so that all pairs of a
//! hundred clouds load each of them a few times instead of fifty, while a list that goes along a path keeps its order.

use std::collections::HashMap;

use crate::{
    manifest::Manifest,
    row::{Input, Row},
};

/// Clouds on either side of a tile.
const TILE: u32 = 8;

impl Manifest {
    /// The numbers of all rows, from 0, in the order in which they are best worked on.
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

    /// The work in chunks of `size` pairs, without the rows for which `is_finished` says so.
    pub fn chunks(&self, size: usize, is_finished: &dyn Fn(&Row) -> bool) -> Vec<Chunk> {
        let rows = self.order().into_iter().map(|place| &self.rows()[place as usize]);
        let rows: Vec<Row> = rows.filter(|row| !is_finished(row)).cloned().collect();
        let base = self.base().to_string_lossy();
        rows.chunks(size.max(1))
            .map(|rows| Chunk { base: base.clone().into_owned(), rows: rows.to_vec() })
            .collect()
    }
}

/// Some pairs, with all that is needed to run them elsewhere.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Chunk {
    /// The directory of the manifest.
    pub base: String,
    /// The pairs.
    pub rows: Vec<Row>,
}
