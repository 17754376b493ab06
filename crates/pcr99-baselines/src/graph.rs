//! Graph of length-consistent matches at scale 1: one bit for each pair of matches, set where its lengths in source and target are alike.
//!
//! The table takes `n²/8` bytes: 125 kB for 1000 matches, 12.5 MB for 10 000, 1 GiB for 92 672. Larger tables are an error.

use pcr99::StopReason;
use pcr99_base::{
    Soa,
    kernel::{
        edges::mirror_block,
        lengths::{alike_row, length_difference},
    },
};

use crate::{Error, error::LARGEST_TABLE_MIB, watch::Watch};

/// Mark of a row that is not computed yet.
const NOWHERE: u32 = u32::MAX;

/// Graph of length-consistent matches. Rows are computed all at once, or when they are first needed.
#[derive(Debug, Default)]
pub(crate) struct LengthGraph {
    tau: f64,
    /// Words per row.
    words: usize,
    /// Rows in the order in which they were computed.
    bits: Vec<u64>,
    /// Place of the row of each match.
    place: Vec<u32>,
}

impl LengthGraph {
    /// Allocates the whole graph.
    ///
    /// # Errors
    /// When the graph needs more memory than allowed or available.
    pub(crate) fn reserve(&mut self, method: &'static str, matches: usize) -> Result<(), Error> {
        let words = matches as u128 * matches.div_ceil(64) as u128;
        let needed_mib = (words * 8).div_ceil(1 << 20) as u64;
        let refused = Error::TooManyMatches { method, matches, needed_mib };
        if needed_mib > LARGEST_TABLE_MIB {
            return Err(refused);
        }
        self.bits.clear();
        self.bits.try_reserve_exact(words as usize).map_err(|_| refused)
    }

    /// Starts an empty graph of `n` matches, in which lengths are alike when they differ by at most `tau`.
    pub(crate) fn clear(&mut self, n: usize, tau: f64) {
        self.tau = tau;
        self.words = n.div_ceil(64);
        self.bits.clear();
        self.place.clear();
        self.place.resize(n, NOWHERE);
    }

    /// Computes all rows.
    ///
    /// # Errors
    /// When the caller stops the search.
    pub(crate) fn fill(&mut self, points: &Soa, watch: &mut Watch<'_>) -> Result<(), StopReason> {
        let n = points.len();
        self.bits.clear();
        for i in 0..n {
            watch.work(2 * (n - i))?;
            self.bits.resize((i + 1) * self.words, 0);
            alike_row(points, i, self.tau, i / 64, &mut self.bits[i * self.words..]);
            self.place[i] = i as u32;
        }
        for block in 0..self.words {
            watch.work(100 * (self.words - block))?;
            mirror_block(&mut self.bits, self.words, block);
        }
        Ok(())
    }

    /// Computes the row of `i` if it is missing.
    pub(crate) fn need(&mut self, points: &Soa, i: usize) {
        if self.place[i] == NOWHERE {
            let start = self.bits.len();
            self.place[i] = (start / self.words) as u32;
            self.bits.resize(start + self.words, 0);
            alike_row(points, i, self.tau, 0, &mut self.bits[start..]);
        }
    }

    /// Row of `i`, which must have been computed.
    pub(crate) fn row(&self, i: usize) -> &[u64] {
        &self.bits[self.place[i] as usize * self.words..][..self.words]
    }

    /// Whether two matches are consistent, from the table where possible.
    pub(crate) fn alike(&self, points: &Soa, i: usize, j: usize) -> bool {
        if self.place[i] == NOWHERE {
            i != j && length_difference(points, i, j) <= self.tau
        } else {
            self.row(i)[j / 64] >> (j % 64) & 1 == 1
        }
    }

    /// All rows, which must have been computed, in the order of the matches.
    pub(crate) fn rows(&self) -> &[u64] {
        &self.bits
    }
}

/// Replaces `list` by the positions of the bits of `words`, ascending.
pub(crate) fn list_bits(words: impl IntoIterator<Item = u64>, list: &mut Vec<u32>) {
    list.clear();
    for (k, mut word) in words.into_iter().enumerate() {
        while word != 0 {
            list.push(64 * k as u32 + word.trailing_zeros());
            word &= word - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::{random::Random, stop};

    pub(crate) fn random_points(n: usize, seed: u64) -> Soa {
        let mut random = Random::new(seed);
        let mut columns = || std::array::from_fn(|_| (0..n).map(|_| random.uniform()).collect());
        Soa::new(columns(), columns())
    }

    #[test]
    fn all_at_once_and_one_by_one_give_the_same_rows() {
        for n in [3, 64, 65, 200] {
            let points = random_points(n, n as u64);
            let (mut whole, mut lazy) = (LengthGraph::default(), LengthGraph::default());
            whole.clear(n, 0.1);
            whole.fill(&points, &mut Watch::new(&stop::never)).unwrap();
            lazy.clear(n, 0.1);
            let mut list = Vec::new();
            for i in (0..n).rev() {
                let before: Vec<bool> = (0..n).map(|j| lazy.alike(&points, i, j)).collect();
                lazy.need(&points, i);
                assert_eq!(whole.row(i), lazy.row(i));
                list_bits(lazy.row(i).iter().copied(), &mut list);
                let plain = |j: &u32| *j as usize != i && length_difference(&points, i, *j as usize) <= 0.1;
                assert_eq!(list, (0..n as u32).filter(plain).collect::<Vec<_>>());
                assert!((0..n).all(|j| before[j] == lazy.alike(&points, i, j)));
            }
            assert_eq!(whole.rows().len(), n * n.div_ceil(64));
        }
    }

    #[test]
    fn too_large_a_graph_is_refused() {
        let mut graph = LengthGraph::default();
        graph.reserve("trivoc", 92_672).unwrap();
        assert!(graph.reserve("trivoc", 92_673).is_err());
        let message = graph.reserve("trivoc", 100_000).unwrap_err().to_string();
        assert!(message.contains("trivoc") && message.contains("1193 MiB"), "{message}");
        assert!(graph.reserve("trivoc", usize::MAX).is_err());
    }
}
