//! Consistency as a graph: an edge joins two matches that could both be right.
//!
//! Known scale: `|‖b_i − b_j‖ − s‖a_i − a_j‖| ≤ τ`, one graph. Unknown scale: the logarithm of the scale is cut into slices;
//! in each slice an edge joins two matches whose log ratio, with its tolerance `τ/‖b_i − b_j‖`, meets the slice. So an unknown
//! scale is a known one, some dozens of times, with the same operations on bits.

use rayon::prelude::*;

use super::subset::Subset;
use crate::kernel::edges::{
    NOWHERE, SliceTable, Slicing, common, consistent_row, row_supports, slice_row, slice_spans,
    slice_supports,
};

/// Pairs with less tolerance than this many slices know their scale well enough to be judged.
const LONGEST_SPAN: u8 = 4;
/// A tolerance of the log ratio beyond this tells nothing.
const WIDEST_TOLERANCE: f32 = 0.4;
/// At most so many slices: each costs a row of bits per match.
const MOST_SLICES: u8 = 48;

/// The graph over one subset.
#[derive(Debug, Default)]
pub(super) struct Edges {
    n: usize,
    words: usize,
    /// How many slices; 1 for a known scale.
    slices: usize,
    known: bool,
    bits: Vec<u64>,
    degrees: Vec<u32>,
    first: Vec<u8>,
    more: Vec<u8>,
}

/// A pair and how many matches are consistent with both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) i: u32,
    pub(super) j: u32,
    pub(super) support: u32,
    /// How many would be by chance.
    pub(super) expected: f32,
}

impl Pair {
    /// How far the support exceeds chance, in standard deviations.
    pub(super) fn contrast(&self) -> f32 {
        (self.support as f32 - self.expected) / (self.expected + 0.25).sqrt()
    }
}

impl Edges {
    /// How many bytes `n` matches need.
    pub(super) fn memory_needed(n: usize, known: bool) -> u64 {
        let (n, words) = (n as u64, n.div_ceil(64) as u64);
        if known { 8 * n * words } else { 8 * n * words * u64::from(MOST_SLICES) + 2 * n * 64 * words }
    }

    /// The graph for a known scale.
    pub(super) fn build_known(&mut self, subset: &Subset, tau: f64) {
        self.reset(subset.len(), 1, true);
        let tau_sq = (tau * tau) as f32;
        self.fill(|i, row, _, _| consistent_row(&subset.columns, i, tau_sq, row));
    }

    /// The graphs for an unknown scale between `e^range[0]` and `e^range[1]`.
    pub(super) fn build_unknown(&mut self, subset: &Subset, tau: f64, range: Option<[f64; 2]>) {
        let slicing = slicing(subset, tau, range);
        self.reset(subset.len(), usize::from(slicing.count), false);
        self.fill(|i, rows, first, more| {
            slice_spans(&subset.columns, i, slicing, first, more);
            let words = rows.len() / usize::from(slicing.count);
            for (slice, row) in (0..slicing.count).zip(rows.chunks_exact_mut(words)) {
                slice_row(first, more, slice, row);
            }
        });
    }

    fn reset(&mut self, n: usize, slices: usize, known: bool) {
        (self.n, self.words, self.slices, self.known) = (n, n.div_ceil(64), slices, known);
        self.bits.resize(n * slices * self.words, 0);
        self.degrees.resize(n * slices, 0);
        let spans = if known { 0 } else { n * 64 * self.words };
        self.first.resize(spans, NOWHERE);
        self.more.resize(spans, 0);
    }

    /// Calls `make` for every match with its rows and spans, then counts the bits.
    fn fill(&mut self, make: impl Fn(usize, &mut [u64], &mut [u8], &mut [u8]) + Sync) {
        let (words, slices) = (self.words, self.slices);
        let span = if self.known { 0 } else { 64 * words };
        let rows = self.bits[..self.n * slices * words].par_chunks_mut(slices * words);
        let degrees = self.degrees[..self.n * slices].par_chunks_mut(slices);
        let work = |i: usize, rows: &mut [u64], degrees: &mut [u32], first: &mut [u8], more: &mut [u8]| {
            make(i, rows, first, more);
            for (row, degree) in rows.chunks_exact(words).zip(degrees) {
                *degree = common(row, row);
            }
        };
        if self.known {
            let each = |(i, (rows, degrees)): (usize, (&mut [u64], &mut [u32]))| {
                work(i, rows, degrees, &mut [], &mut [])
            };
            if self.n < PARALLEL_FROM {
                let rows = self.bits.chunks_exact_mut(words).zip(self.degrees.chunks_exact_mut(1));
                rows.take(self.n).enumerate().for_each(each);
            } else {
                rows.zip(degrees).enumerate().for_each(each);
            }
        } else {
            type Parts<'a> = (((&'a mut [u64], &'a mut [u32]), &'a mut [u8]), &'a mut [u8]);
            let each = |(i, (((rows, degrees), first), more)): (usize, Parts<'_>)| {
                work(i, rows, degrees, first, more)
            };
            if self.n < PARALLEL_FROM {
                let rows =
                    self.bits.chunks_exact_mut(slices * words).zip(self.degrees.chunks_exact_mut(slices));
                let spans = rows.zip(self.first.chunks_exact_mut(span)).zip(self.more.chunks_exact_mut(span));
                spans.take(self.n).enumerate().for_each(each);
            } else {
                let spans = rows
                    .zip(degrees)
                    .zip(self.first.par_chunks_mut(span))
                    .zip(self.more.par_chunks_mut(span));
                spans.enumerate().for_each(each);
            }
        }
    }

    fn table(&self) -> SliceTable<'_> {
        SliceTable {
            bits: &self.bits,
            first: &self.first,
            more: &self.more,
            words: self.words,
            count: self.slices,
            longest: LONGEST_SPAN,
        }
    }

    /// The row of match `i` in the slice of a pair.
    pub(super) fn row(&self, i: u32, slice: usize) -> &[u64] {
        let start = (i as usize * self.slices + slice) * self.words;
        &self.bits[start..start + self.words]
    }

    /// The slice in which a pair is judged.
    pub(super) fn slice_of(&self, pair: &Pair) -> usize {
        if self.known { 0 } else { self.table().slice_of(pair.i as usize, pair.j as usize).unwrap_or(0) }
    }

    /// How many pairs there are whose difference of positions, going round, is in `differences`.
    pub(super) fn pairs_at(&self, differences: &std::ops::Range<usize>) -> u64 {
        // With an even number, the largest difference meets every pair twice.
        let all = (self.n * differences.len()) as u64;
        let twice = self.n.is_multiple_of(2) && differences.contains(&(self.n / 2));
        if twice { all - (self.n / 2) as u64 } else { all }
    }

    /// Judges the pairs `(i, i + d)`, going round, for all `d` in `differences` (at most half the number of matches): those with
    /// a contrast of at least `least` are returned, the highest first. Positions are in random order, so each difference is a
    /// random sample of pairs, and all differences together are all pairs.
    pub(super) fn supported_pairs(
        &self,
        differences: std::ops::Range<usize>,
        least: f32,
        out: &mut Vec<Pair>,
    ) {
        out.clear();
        let row = |i: usize, found: &mut Vec<(u32, u32)>, others: &mut Vec<u32>, out: &mut Vec<Pair>| {
            found.clear();
            if self.known {
                row_supports(&self.bits, self.words, i, found);
            } else {
                others.clear();
                let twice = |d: usize| 2 * d == self.n && i >= d;
                let other = |d: usize| ((i + d) % self.n) as u32;
                others.extend(differences.clone().filter(|&d| !twice(d)).map(other));
                slice_supports(self.table(), i, others, found);
            }
            let cap = self.n as f32 / 16.0;
            for &(j, support) in found.iter() {
                let slice = if self.known { 0 } else { self.table().slice_of(i, j as usize).unwrap_or(0) };
                let degree = |k: usize| self.degrees[k * self.slices + slice] as f32;
                // With many right matches everything is expected; then chance is not the measure.
                let expected = (degree(i) * degree(j as usize) / self.n as f32).min(cap);
                let pair = Pair { i: i as u32, j, support, expected };
                if pair.contrast() >= least {
                    out.push(pair);
                }
            }
        };
        if self.n < PARALLEL_FROM {
            let (mut found, mut others) = (Vec::new(), Vec::new());
            (0..self.n).for_each(|i| row(i, &mut found, &mut others, out));
        } else {
            let chunks: Vec<Vec<Pair>> = (0..self.n.div_ceil(256))
                .into_par_iter()
                .map(|chunk| {
                    let (mut found, mut others, mut out) = (Vec::new(), Vec::new(), Vec::new());
                    (256 * chunk..self.n.min(256 * chunk + 256))
                        .for_each(|i| row(i, &mut found, &mut others, &mut out));
                    out
                })
                .collect();
            out.extend(chunks.into_iter().flatten());
        }
        out.sort_unstable_by(|p, q| q.contrast().total_cmp(&p.contrast()).then((p.i, p.j).cmp(&(q.i, q.j))));
    }
}

/// From so many matches on, work is shared between threads.
const PARALLEL_FROM: usize = 2048;

/// Slices that cover the scales which the pairs of the subset suggest.
fn slicing(subset: &Subset, tau: f64, range: Option<[f64; 2]>) -> Slicing {
    // Log ratios and target distances of a few hundred pairs far apart in the order.
    let n = subset.len();
    let mut ratios = Vec::new();
    let mut distances = Vec::new();
    for k in 0..n.min(256) {
        let (i, j) = (k, (k + n / 2) % n);
        let (source_sq, target_sq) = crate::kernel::squared_distances(&subset.points, i, j);
        let log_ratio = crate::kernel::log_ratio::half_log_ratio(source_sq, target_sq);
        if log_ratio.is_finite() {
            ratios.push(log_ratio);
            distances.push(target_sq.sqrt());
        }
    }
    ratios.sort_unstable_by(f64::total_cmp);
    distances.sort_unstable_by(f64::total_cmp);
    let at =
        |sorted: &[f64], part: f64| sorted.get((part * (sorted.len().max(1) - 1) as f64) as usize).copied();
    let (low, high) = (at(&ratios, 0.01).unwrap_or(0.0), at(&ratios, 0.99).unwrap_or(0.0));
    let tolerance = tau / at(&distances, 0.5).unwrap_or(1.0);
    let [low, high] = range.unwrap_or([low - 0.25, high + 0.25]);
    let width = tolerance.clamp(0.01, 0.2).max((high - low) / f64::from(MOST_SLICES));
    let count = ((high - low) / width).ceil().clamp(1.0, f64::from(MOST_SLICES));
    Slicing {
        first: low as f32,
        per_unit: (1.0 / width) as f32,
        count: count as u8,
        tau: tau as f32,
        widest: WIDEST_TOLERANCE,
    }
}
