//! Difference in length between the two sides of a pair of matches, for a scale of one: `r = |‖a_i − a_j‖ − ‖b_i − b_j‖|`.
//!
//! A pair is alike when `r` is small. The loops compute which pairs are alike (one bit each) and how much (votes). Most published methods are
//! built on this.

use crate::{Soa, dispatch::compiled_twice};

/// Number of points that a loop without branches handles at a time: the bits of one word.
const BLOCK: usize = 64;

/// `r` of two matches, given by their coordinates. Coordinates that overflow make it infinite or NaN, which is alike to nothing.
#[inline(always)]
fn difference(a: [f64; 3], b: [f64; 3], a_other: [f64; 3], b_other: [f64; 3]) -> f64 {
    let length = |p: [f64; 3], q: [f64; 3]| {
        let (x, y, z) = (p[0] - q[0], p[1] - q[1], p[2] - q[2]);
        (x * x + y * y + z * z).sqrt()
    };
    (length(a, a_other) - length(b, b_other)).abs()
}

/// `r` of matches `i` and `j`, by the same operations as the loops.
#[inline]
pub fn length_difference(points: &Soa, i: usize, j: usize) -> f64 {
    difference(points.source(i), points.target(i), points.source(j), points.target(j))
}

compiled_twice! {
    /// Sets bit `j` of `row` where `r ≤ τ` and clears it elsewhere, in the words from `first` on. No match is alike to itself.
    pub fn alike_row(points: &Soa, i: usize, tau: f64, first: usize, row: &mut [u64]) = alike_row_lanes
}

#[inline(always)]
fn alike_row_lanes(points: &Soa, i: usize, tau: f64, first: usize, row: &mut [u64]) {
    let n = points.len();
    let (a, b) = (points.source(i), points.target(i));
    for (word, bits) in row.iter_mut().enumerate().skip(first) {
        let (start, end) = ((BLOCK * word).min(n), (BLOCK * word + BLOCK).min(n));
        let [ax, ay, az] = points.a.each_ref().map(|column| &column[start..end]);
        let [bx, by, bz] = points.b.each_ref().map(|column| &column[start..end]);
        let mut alike = 0_u64;
        for k in 0..end - start {
            let r = difference(a, b, [ax[k], ay[k], az[k]], [bx[k], by[k], bz[k]]);
            alike |= u64::from(r <= tau) << k;
        }
        *bits = alike;
    }
    if i / 64 >= first {
        row[i / 64] &= !(1 << (i % 64));
    }
}

compiled_twice! {
    /// Adds Tukey's weight of the pairs `(i, j)` with `j > i` to the votes of both: `(1 − r²/T²)²` up to `r = T`, zero beyond.
    pub fn vote(points: &Soa, i: usize, bound_sq: f64, votes: &mut [f64]) = vote_lanes
}

#[inline(always)]
fn vote_lanes(points: &Soa, i: usize, bound_sq: f64, votes: &mut [f64]) {
    let n = points.len();
    let (a, b, per_unit) = (points.source(i), points.target(i), 1.0 / bound_sq);
    // Eight interleaved sums: an order of additions that vector registers can keep.
    let mut sums = [0.0; 8];
    let mut start = i + 1;
    while start < n {
        let end = (start + BLOCK).min(n);
        let [ax, ay, az] = points.a.each_ref().map(|column| &column[start..end]);
        let [bx, by, bz] = points.b.each_ref().map(|column| &column[start..end]);
        let votes = &mut votes[start..end];
        let mut weights = [0.0; BLOCK];
        for k in 0..end - start {
            let r = difference(a, b, [ax[k], ay[k], az[k]], [bx[k], by[k], bz[k]]);
            let part = r * r * per_unit;
            let rest = if part < 1.0 { 1.0 - part } else { 0.0 };
            weights[k] = rest * rest;
            votes[k] += rest * rest;
        }
        for eight in weights.chunks_exact(8) {
            for lane in 0..8 {
                sums[lane] += eight[lane];
            }
        }
        start = end;
    }
    votes[i] += sums.iter().sum::<f64>();
}

compiled_twice! {
    /// Number of bits that are set in both rows.
    pub fn common_bits(one: &[u64], other: &[u64]) -> u32 = common_bits_lanes
}

#[inline(always)]
fn common_bits_lanes(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(x, y)| (x & y).count_ones()).sum()
}

compiled_twice! {
    /// Number of common bits of `set` and the row of each of the `members`. The rows lie one after the other in `bits`.
    pub fn common_counts(bits: &[u64], set: &[u64], members: &[u32], counts: &mut Vec<u32>) = common_counts_lanes
}

#[inline(always)]
fn common_counts_lanes(bits: &[u64], set: &[u64], members: &[u32], counts: &mut Vec<u32>) {
    let words = set.len();
    counts.clear();
    counts.extend(members.iter().map(|&i| common_bits_lanes(&bits[i as usize * words..][..words], set)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{points::squared_distances, test_points};
    use proptest::prelude::*;

    /// The definition.
    fn plain(points: &Soa, i: usize, j: usize) -> f64 {
        let (a_sq, b_sq) = squared_distances(points, i, j);
        (a_sq.sqrt() - b_sq.sqrt()).abs()
    }

    proptest! {
        /// The threshold sits exactly on one pair; some matches coincide, one may be far off.
        #[test]
        fn bits_are_those_of_the_definition(
            n in 2_usize..200, seed in any::<u64>(), i in 0_usize..200, pick in 0_usize..200,
            first in 0_usize..3, far in prop_oneof![2 => Just(1.0), 1 => Just(1e60), 1 => Just(1e200)],
        ) {
            let mut points = test_points::random(n, seed);
            points.a[1][n / 2] *= far;
            let (i, words) = (i % n, n.div_ceil(64));
            let first = first.min(words - 1);
            let tau = plain(&points, i, pick % n);
            let expected: Vec<u64> = (0..words).map(|word| (0..64).fold(0, |bits, bit| {
                let j = 64 * word + bit;
                let alike = word >= first && j < n && j != i && plain(&points, i, j) <= tau;
                bits | u64::from(alike) << bit
            })).collect();
            for alike in [alike_row, alike_row_lanes] {
                let mut row = vec![0; words];
                row[first..].fill(u64::MAX);
                alike(&points, i, tau, first, &mut row);
                prop_assert_eq!(&row, &expected);
            }
            prop_assert!(length_difference(&points, i, pick % n).to_bits() == tau.to_bits() || tau.is_nan());
        }

        #[test]
        fn votes_are_those_of_the_definition(n in 2_usize..200, seed in any::<u64>(), bound in 0.05..2.0_f64) {
            let mut points = test_points::random(n, seed);
            points.b[2][n / 2] *= if seed % 2 == 0 { 1.0 } else { 1e200 };
            let weight = |i: usize, j: usize| {
                let r = plain(&points, i, j);
                if r < bound { (1.0 - r * r / (bound * bound)).powi(2) } else { 0.0 }
            };
            let (mut votes, mut other) = (vec![0.0; n], vec![0.0; n]);
            for i in 0..n {
                vote(&points, i, bound * bound, &mut votes);
                vote_lanes(&points, i, bound * bound, &mut other);
            }
            prop_assert_eq!(&votes, &other, "the plain compilation");
            for (i, vote) in votes.iter().enumerate() {
                let expected: f64 = (0..n).filter(|&j| j != i).map(|j| weight(i, j)).sum();
                prop_assert!((vote - expected).abs() < 1e-9, "{} {}", vote, expected);
            }
        }

        #[test]
        fn common_bits_are_counted(rows in proptest::collection::vec(any::<[u64; 3]>(), 1..9), set in any::<[u64; 3]>()) {
            let members: Vec<u32> = (0..rows.len() as u32).rev().collect();
            let has = |row: &[u64; 3], k: usize| row[k / 64] >> (k % 64) & 1 == 1;
            let common = |i: &u32| (0..192).filter(|&k| has(&rows[*i as usize], k) && has(&set, k)).count() as u32;
            let expected: Vec<u32> = members.iter().map(common).collect();
            let (mut counts, mut other) = (vec![7], Vec::new());
            common_counts(rows.as_flattened(), &set, &members, &mut counts);
            common_counts_lanes(rows.as_flattened(), &set, &members, &mut other);
            prop_assert_eq!(&counts, &expected);
            prop_assert_eq!(&other, &expected);
            prop_assert_eq!(common_bits(&rows[0], &set), *expected.last().unwrap());
            prop_assert_eq!(common_bits_lanes(&rows[0], &set), *expected.last().unwrap());
        }
    }
}
