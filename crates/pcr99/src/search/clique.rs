//! From a pair to a small set of matches that are all consistent with each other.

use super::edges::{Edges, Pair};

/// At most so many common neighbours are looked at: they are in random order, so any of them do.
const MOST_MEMBERS: usize = 64;
/// More members than this make a fit no better.
const LARGEST: usize = 12;

/// A set of matches, each pair of which is consistent.
#[derive(Debug, Default)]
pub(super) struct Clique {
    pub(super) members: Vec<u32>,
    neighbours: Vec<u32>,
    adjacent: Vec<u64>,
}

impl Clique {
    /// Grows `pair` greedily; false when fewer than `least` come together.
    pub(super) fn grow(&mut self, edges: &Edges, pair: &Pair, least: usize) -> bool {
        let slice = pair.slice;
        self.neighbours.clear();
        let rows = edges.row(pair.i, slice).iter().zip(edges.row(pair.j, slice));
        'words: for (word, (one, other)) in rows.enumerate() {
            let mut common = one & other;
            while common != 0 {
                self.neighbours.push(64 * word as u32 + common.trailing_zeros());
                common &= common - 1;
                if self.neighbours.len() == MOST_MEMBERS {
                    break 'words;
                }
            }
        }
        if self.neighbours.len() + 2 < least {
            return false;
        }
        // Who is consistent with whom among the neighbours, one bit each.
        self.adjacent.clear();
        self.adjacent.resize(self.neighbours.len(), 0);
        for (k, &m) in self.neighbours.iter().enumerate() {
            let row = edges.row(m, slice);
            for (l, &other) in self.neighbours.iter().enumerate().skip(k + 1) {
                let bit = row[other as usize / 64] >> (other % 64) & 1;
                self.adjacent[k] |= bit << l;
                self.adjacent[l] |= bit << k;
            }
        }
        self.members.clear();
        self.members.extend([pair.i, pair.j]);
        let mut left = if self.neighbours.len() == 64 { u64::MAX } else { (1 << self.neighbours.len()) - 1 };
        while left != 0 && self.members.len() < LARGEST {
            // The one with most others left; ties by position.
            let (mut best, mut most) = (0, 0);
            let mut rest = left;
            while rest != 0 {
                let k = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let degree = (self.adjacent[k] & left).count_ones() + 1;
                if degree > most {
                    (best, most) = (k, degree);
                }
            }
            // Too few are left to come to `least`.
            if self.members.len() + (most as usize) < least {
                return false;
            }
            self.members.push(self.neighbours[best]);
            left &= self.adjacent[best];
        }
        self.members.len() >= least
    }
}
