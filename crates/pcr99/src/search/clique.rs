//! Grows a pair of matches to a clique: a small set in which every two matches are consistent.

use super::edges::{Edges, Pair};

/// Largest number of common neighbours considered: one per bit of a word. They are in random order, so the first ones are a fair sample.
const MOST_MEMBERS: usize = 64;
/// Largest clique. More members do not improve the fit that starts the refinement.
const LARGEST: usize = 12;

/// A set of matches of which every two are consistent.
#[derive(Debug, Default)]
pub(super) struct Clique {
    pub(super) members: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Clique {
    /// Grows `pair` greedily. Returns false when the clique stays below `least` members.
    pub(super) fn grow(&mut self, edges: &Edges, pair: &Pair, least: usize) -> bool {
        // With at most 64 matches a row of the graph is one word and needs no translation.
        let row = |i: u32| edges.row(i, pair.slice);
        if let ([one], [other]) = (row(pair.i), row(pair.j)) {
            return self.choose(one & other, [pair.i, pair.j], least, |k| (k as u32, row(k as u32)[0]));
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
        // Adjacency of the neighbours, one bit per pair.
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
        let grown = self.choose(all, [pair.i, pair.j], least, |k| (neighbours[k], adjacent[k]));
        self.neighbours = neighbours;
        grown
    }

    /// Starts with a pair and adds members one by one, always the one with most remaining neighbours. `left` has a bit for each match that may be
    /// added; `look` maps a bit to its match and to the bits of the matches consistent with it. Returns false when the clique stays below `least` members.
    pub(super) fn choose(
        &mut self,
        mut left: u64,
        pair: [u32; 2],
        least: usize,
        look: impl Fn(usize) -> (u32, u64),
    ) -> bool {
        self.members.clear();
        self.members.extend(pair);
        while left != 0 && self.members.len() < LARGEST {
            // Ties go to the lower position.
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
            // Too few are left to reach `least`.
            if self.members.len() + (most as usize) < least {
                return false;
            }
            self.members.push(best.0);
            left &= best.1;
        }
        self.members.len() >= least
    }
}
