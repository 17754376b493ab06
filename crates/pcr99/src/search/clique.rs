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
}

impl Clique {
    /// Grows `pair` greedily; false when fewer than `least` come together.
    pub(super) fn grow(&mut self, edges: &Edges, pair: &Pair, least: usize) -> bool {
        // In one word the rows themselves say who is consistent with whom.
        let row = |i: u32| edges.row(i, pair.slice);
        if let ([one], [other]) = (row(pair.i), row(pair.j)) {
            return self.choose(one & other, pair, least, |k| (k as u32, row(k as u32)[0]));
        }
        self.neighbours.clear();
        'words: for (word, (one, other)) in row(pair.i).iter().zip(row(pair.j)).enumerate() {
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
        let mut adjacent = [0_u64; MOST_MEMBERS];
        for (k, &m) in self.neighbours.iter().enumerate() {
            let row = row(m);
            for (l, &other) in self.neighbours.iter().enumerate().skip(k + 1) {
                let bit = row[other as usize / 64] >> (other % 64) & 1;
                adjacent[k] |= bit << l;
                adjacent[l] |= bit << k;
            }
        }
        let all = u64::MAX.checked_shr(64 - self.neighbours.len() as u32).unwrap_or(0);
        let neighbours = std::mem::take(&mut self.neighbours);
        let grown = self.choose(all, pair, least, |k| (neighbours[k], adjacent[k]));
        self.neighbours = neighbours;
        grown
    }

    /// Takes the members in one after the other: of those that are `left`, one bit each, always the one with most others left. `look`
    /// tells which match a bit is, and with which it is consistent.
    fn choose(
        &mut self,
        mut left: u64,
        pair: &Pair,
        least: usize,
        look: impl Fn(usize) -> (u32, u64),
    ) -> bool {
        self.members.clear();
        self.members.extend([pair.i, pair.j]);
        while left != 0 && self.members.len() < LARGEST {
            // Ties by position.
            let (mut best, mut most) = ((0, 0), 0);
            let mut rest = left;
            while rest != 0 {
                let (member, adjacent) = look(rest.trailing_zeros() as usize);
                rest &= rest - 1;
                let degree = (adjacent & left).count_ones() + 1;
                if degree > most {
                    (best, most) = ((member, adjacent), degree);
                }
            }
            // Too few are left to come to `least`.
            if self.members.len() + (most as usize) < least {
                return false;
            }
            self.members.push(best.0);
            left &= best.1;
        }
        self.members.len() >= least
    }
}
