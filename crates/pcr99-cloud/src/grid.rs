//! Cubic cells: their keys, and a table from key to cell number.

/// Bits of a key for each axis.
const BITS: u32 = 21;
/// Index of the cell at the origin on each axis. Points more than this many cells away are strays.
const MIDDLE: f64 = (1 << (BITS - 1)) as f64;

/// Key of the cell of `point`, which is relative to the centre of its cloud; `None` for a stray a million cells away.
#[inline]
pub(crate) fn key_of(point: [f64; 3], inverse_cell: f64) -> Option<u64> {
    let mut key = 0;
    for x in point {
        let place = x * inverse_cell + MIDDLE;
        // NaN is not inside either. The coordinate is positive here, so truncation gives the cell.
        if !(1.0..2.0 * MIDDLE).contains(&place) {
            return None;
        }
        key = key << BITS | place as i64 as u64;
    }
    Some(key)
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
#[derive(Debug)]
pub(crate) struct KeyTable {
    slots: Vec<u32>,
    keys: Vec<u64>,
}

const FREE: u32 = u32::MAX;

impl KeyTable {
    pub(crate) fn new() -> Self {
        Self { slots: vec![FREE; 1024], keys: Vec::new() }
    }

    /// Keys in the order of their numbers.
    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Number of `key`: a new one when the key was not seen before.
    #[inline]
    pub(crate) fn number(&mut self, key: u64) -> usize {
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
        if 2 * self.keys.len() > self.slots.len() {
            self.grow();
        }
        self.keys.len() - 1
    }

    fn grow(&mut self) {
        let slots = 4 * self.slots.len();
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
    fn keys_tell_cells_apart_and_strays_have_none() {
        assert_eq!(key_of([0.1, 0.2, 0.3], 1.0), key_of([0.9, 0.8, 0.7], 1.0));
        assert_ne!(key_of([-0.1, 0.2, 0.3], 1.0), key_of([0.1, 0.2, 0.3], 1.0));
        assert_eq!(key_of([1e9, 0.0, 0.0], 1.0), None);
        assert_eq!(key_of([f64::NAN, 0.0, 0.0], 1.0), None);
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
    }
}
