//! Consistency graph of matches, as rows of bits.

use std::ops::Range;

use pcr99::stop::{StopCheck, StopRequest};
use pcr99_base::Soa;

/// Number of rows between two stop checks.
const BETWEEN_CHECKS: usize = 64;

/// Undirected graph, one bit for each ordered pair.
#[derive(Debug, Default, Clone)]
pub(super) struct Graph {
    n: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Graph {
    /// Starts a graph without edges.
    pub(super) fn clear(&mut self, n: usize) {
        self.n = n;
        self.words = n.div_ceil(64);
        self.bits.clear();
        self.bits.resize(n * self.words, 0);
    }

    pub(super) fn len(&self) -> usize {
        self.n
    }

    /// Neighbours of `i`.
    pub(super) fn row(&self, i: usize) -> &[u64] {
        &self.bits[i * self.words..(i + 1) * self.words]
    }

    /// Whether `i` and `j` are joined.
    #[cfg(test)]
    pub(super) fn has(&self, i: usize, j: usize) -> bool {
        self.row(i)[j / 64] >> (j % 64) & 1 == 1
    }

    /// Joins `i` and `j`.
    #[cfg(test)]
    pub(super) fn join(&mut self, i: usize, j: usize) {
        self.bits[i * self.words + j / 64] |= 1 << (j % 64);
        self.bits[j * self.words + i / 64] |= 1 << (i % 64);
    }

    /// Builds the graph of matches whose lengths agree with the scale `s`: `|‖b_i − b_j‖ − s·‖a_i − a_j‖| ≤ tolerance`.
    pub(super) fn assign_consistent(
        &mut self,
        points: &Soa,
        s: f64,
        tolerance: f64,
        stop: StopCheck<'_>,
    ) -> Result<(), StopRequest> {
        let n = points.len();
        self.clear(n);
        for i in 0..n {
            if i.is_multiple_of(BETWEEN_CHECKS)
                && let Some(request) = stop()
            {
                return Err(request);
            }
            // Only later matches, from the start of a word on. Earlier rows have set the other half.
            for word in i / 64..self.words {
                let mut later = consistent(points, i, 64 * word..(64 * word + 64).min(n), s, tolerance);
                if word == i / 64 {
                    later &= (!1_u64) << (i % 64); // after i
                }
                self.bits[i * self.words + word] |= later;
                for j in ones(later) {
                    self.bits[(64 * word + j) * self.words + i / 64] |= 1 << (i % 64);
                }
            }
        }
        Ok(())
    }

    /// Copies `other` with vertex `order[k]` as number k.
    pub(super) fn assign_permuted(
        &mut self,
        other: &Self,
        order: &[u32],
        stop: StopCheck<'_>,
    ) -> Result<(), StopRequest> {
        self.clear(other.n);
        let mut place = vec![0_u32; other.n];
        order.iter().enumerate().for_each(|(k, &v)| place[v as usize] = k as u32);
        for (k, &v) in order.iter().enumerate() {
            if k.is_multiple_of(BETWEEN_CHECKS)
                && let Some(request) = stop()
            {
                return Err(request);
            }
            let row = &mut self.bits[k * self.words..(k + 1) * self.words];
            for u in members(other.row(v as usize)) {
                let l = place[u] as usize;
                row[l / 64] |= 1 << (l % 64);
            }
        }
        Ok(())
    }

    /// Copies the part of `other` with the given vertices, numbered in the given order.
    pub(super) fn assign_induced(&mut self, other: &Self, some: &[u32]) {
        self.clear(some.len());
        for (k, &v) in some.iter().enumerate() {
            let from = other.row(v as usize);
            let row = &mut self.bits[k * self.words..(k + 1) * self.words];
            for (word, some) in row.iter_mut().zip(some.chunks(64)) {
                let bit = |u: u32| from[u as usize / 64] >> (u % 64) & 1;
                *word = some.iter().enumerate().fold(0, |word, (l, &u)| word | bit(u) << l);
            }
        }
    }
}

/// One bit for each match of `some` (at most 64) that is consistent with match `i`.
fn consistent(points: &Soa, i: usize, some: Range<usize>, s: f64, tolerance: f64) -> u64 {
    let (a, b) = (points.source(i), points.target(i));
    let len = some.len();
    let [ax, ay, az] = points.a.each_ref().map(|column| &column[some.clone()][..len]);
    let [bx, by, bz] = points.b.each_ref().map(|column| &column[some.clone()][..len]);
    // Two loops: the first one vectorizes, the second one packs the bits.
    let mut differences = [f64::INFINITY; 64];
    for (k, difference) in differences[..len].iter_mut().enumerate() {
        let (x, y, z) = (ax[k] - a[0], ay[k] - a[1], az[k] - a[2]);
        let (u, v, w) = (bx[k] - b[0], by[k] - b[1], bz[k] - b[2]);
        *difference = ((u * u + v * v + w * w).sqrt() - s * (x * x + y * y + z * z).sqrt()).abs();
    }
    let bit = |k: usize| u64::from(differences[k] <= tolerance) << k;
    (0..64).fold(0, |bits, k| bits | bit(k))
}

/// Positions of the set bits of a word.
pub(super) fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = word.trailing_zeros() as usize;
        (word != 0).then(|| {
            word &= word - 1;
            position
        })
    })
}

/// Positions of the set bits of a row.
pub(super) fn members(row: &[u64]) -> impl Iterator<Item = usize> {
    row.iter().enumerate().flat_map(|(k, &word)| ones(word).map(move |position| 64 * k + position))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::{random::Random, stop};

    #[test]
    fn edges_are_those_of_the_definition() {
        let mut random = Random::new(4);
        for n in [3, 63, 64, 65, 150] {
            let mut points = Soa::default();
            for column in points.a.iter_mut().chain(&mut points.b) {
                column.extend((0..n).map(|_| random.uniform()));
            }
            let mut graph = Graph::default();
            graph.assign_consistent(&points, 1.5, 0.2, &stop::never).unwrap();
            let order: Vec<u32> = (0..n as u32).rev().collect();
            let mut mirrored = Graph::default();
            mirrored.assign_permuted(&graph, &order, &stop::never).unwrap();
            let some: Vec<u32> = (0..n as u32).rev().step_by(2).collect();
            let mut part = Graph::default();
            part.assign_induced(&graph, &some);
            for (k, &i) in some.iter().enumerate() {
                assert!(
                    some.iter()
                        .enumerate()
                        .all(|(l, &j)| part.has(k, l) == graph.has(i as usize, j as usize))
                );
            }
            for i in 0..n {
                for j in 0..n {
                    let length = |p: [f64; 3], q: [f64; 3]| {
                        (0..3).map(|axis| (p[axis] - q[axis]).powi(2)).sum::<f64>().sqrt()
                    };
                    let a = length(points.source(i), points.source(j));
                    let b = length(points.target(i), points.target(j));
                    assert_eq!(graph.has(i, j), i != j && (b - 1.5 * a).abs() <= 0.2);
                    assert_eq!(mirrored.has(n - 1 - i, n - 1 - j), graph.has(i, j));
                }
            }
        }
    }
}
