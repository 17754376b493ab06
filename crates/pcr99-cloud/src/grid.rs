//! Cubic cells: their keys, and a table from key to cell number.

use pcr99_base::kernel::cells::{BITS, STRAY, cell_key, cell_keys};

/// Number of points whose keys are computed at a time.
const BLOCK: usize = 256;

/// Key of the cell of `point`, which is relative to the centre of its cloud; `None` for a stray a million cells away.
#[inline]
pub(crate) fn key_of(point: [f64; 3], inverse_cell: f64) -> Option<u64> {
    Some(cell_key(point, inverse_cell)).filter(|key| *key != STRAY)
}

/// Middle of the cell with this key.
pub(crate) fn middle_of_cell(key: u64, cell: f64) -> [f64; 3] {
    let half = f64::from(1_u32 << (BITS - 1));
    indices(key).map(|index| (index as f64 - half + 0.5) * cell)
}

/// Key of the cell of twice the size that holds the cell with this key.
pub(crate) fn parent_key(key: u64) -> u64 {
    let [x, y, z] = indices(key).map(|index| (index >> 1) + (1 << (BITS - 2)));
    x << (2 * BITS) | y << BITS | z
}

/// Key of the cell of twice the size that holds the cell with this key, in a grid that is moved by a cell along the axes whose bit is set in `shift`.
pub(crate) fn shifted_parent(key: u64, shift: u64) -> u64 {
    let [x, y, z] = indices(key);
    let half = |index: u64, bit: u64| (index + (shift >> bit & 1)) >> 1;
    half(x, 2) << (2 * BITS) | half(y, 1) << BITS | half(z, 0)
}

/// Keys of the eight cells that meet at the lower corner of the cell with this key. The index of a cell is never 0, so there is a cell below it.
pub(crate) fn keys_at_corner(key: u64) -> [u64; 8] {
    std::array::from_fn(|k| {
        let k = k as u64;
        key - ((k >> 2) << (2 * BITS)) - ((k >> 1 & 1) << BITS) - (k & 1)
    })
}

/// Indices of a cell on the three axes.
fn indices(key: u64) -> [u64; 3] {
    let mask = (1 << BITS) - 1;
    [key >> (2 * BITS), key >> BITS & mask, key & mask]
}

/// Calls `found` with the index of each point and the key of its cell; `None` for strays.
pub(crate) fn for_each_key(
    points: &[[f64; 3]],
    inverse_cell: f64,
    mut found: impl FnMut(usize, Option<u64>),
) {
    let mut keys = [0; BLOCK];
    for (number, block) in points.chunks(BLOCK).enumerate() {
        cell_keys(block, inverse_cell, &mut keys);
        for (k, &key) in keys[..block.len()].iter().enumerate() {
            found(number * BLOCK + k, Some(key).filter(|key| *key != STRAY));
        }
    }
}

/// Hash of some words: every bit depends on every bit of them.
#[inline]
pub(crate) fn hash_of<const N: usize>(words: [u64; N]) -> u64 {
    let mixed = words.into_iter().fold(0x243F_6A88_85A3_08D3, |state: u64, word| {
        let product = u128::from(state ^ word) * 0x9E37_79B9_7F4A_7C15;
        (product >> 64) as u64 ^ product as u64
    });
    mixed ^ mixed >> 32
}

/// Numbers keys in the order of their first appearance.
#[derive(Debug, Clone)]
pub(crate) struct KeyTable {
    slots: Vec<u32>,
    keys: Vec<u64>,
}

const FREE: u32 = u32::MAX;
/// Number of slots of a small table.
const FIRST_SLOTS: usize = 1024;

impl KeyTable {
    /// An empty table.
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), keys: Vec::new() }
    }

    /// Approximate memory use, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.keys)
    }

    /// Keys in the order of their numbers.
    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Number of `key`, if it was seen before.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = hash_of([key]) as usize & mask;
        loop {
            let there = self.slots[slot];
            if there == FREE {
                return None;
            }
            if self.keys[there as usize] == key {
                return Some(there as usize);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Number of `key`: a new one when the key was not seen before.
    #[inline]
    pub(crate) fn number(&mut self, key: u64) -> usize {
        if 2 * self.keys.len() >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash_of([key]) as usize & mask;
        loop {
            let there = self.slots[slot];
            if there == FREE {
                break;
            }
            if self.keys[there as usize] == key {
                return there as usize;
            }
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = self.keys.len() as u32;
        self.keys.push(key);
        self.keys.len() - 1
    }

    fn grow(&mut self) {
        let slots = (4 * self.slots.len()).max(FIRST_SLOTS);
        self.slots = vec![FREE; slots];
        for (number, &key) in self.keys.iter().enumerate() {
            let mut slot = hash_of([key]) as usize & (slots - 1);
            while self.slots[slot] != FREE {
                slot = (slot + 1) & (slots - 1);
            }
            self.slots[slot] = number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_know_their_middle_their_parent_and_their_corner() {
        for point in [[0.3, -0.2, 7.9], [-5.5, 4.1, -0.01]] {
            let key = key_of(point, 2.0).expect("a cell");
            let middle = middle_of_cell(key, 0.5);
            assert!((0..3).all(|k| (middle[k] - point[k]).abs() <= 0.25));
            assert_eq!(Some(parent_key(key)), key_of(point, 1.0));
            let corner = middle.map(|x| x - 0.25);
            for near in keys_at_corner(key) {
                let middle = middle_of_cell(near, 0.5);
                assert!((0..3).all(|k| (middle[k] - corner[k]).abs() == 0.25));
            }
        }
    }

    #[test]
    fn numbers_follow_first_appearance_through_growth() {
        let mut table = KeyTable::new();
        for round in 0..2 {
            for key in 0..5000_u64 {
                assert_eq!(table.number(key * key), key as usize, "round {round}");
            }
        }
        assert_eq!(table.keys().len(), 5000);
        assert_eq!((table.find(4999 * 4999), table.find(3)), (Some(4999), None));
        assert_eq!(KeyTable::new().find(1), None);
    }
}
