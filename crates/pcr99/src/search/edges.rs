//! Consistency as a graph: an edge joins two matches that could both be right.
//!
//! With a known scale there is one graph, with an edge where `|‖b_i − b_j‖ − s‖a_i − a_j‖| ≤ τ`. With an unknown scale the logarithm of
//! the scale is cut into slices, each with a graph of its own. An edge joins two matches whose log ratio, within its tolerance
//! `τ/‖b_i − b_j‖`, meets the slice. An unknown scale thus becomes a few dozen known ones, and the same bit operations serve both.

use std::ops::Range;

use super::{
    subset::Subset,
    threads::{self, WORTH_IT},
};
use pcr99_base::{
    kernel::{
        edges::{consistent_rows, count_bits, edges_of, mirror, pair_supports},
        log_ratio::half_log_ratios,
        slices::{NOWHERE, Rows, Slicing, Spans, mirror_bytes, slice_rows, slice_spans},
        upright::{UprightTest, keep_upright},
    },
    squared_distances,
};

/// Largest number of further slices that a pair may meet. A pair that meets more does not determine its scale.
const LONGEST_SPAN: u8 = 4;
/// Largest tolerance of a log ratio (natural logarithm). Beyond it, a pair is consistent with almost anything.
const WIDEST_TOLERANCE: f32 = 0.4;
/// Largest number of slices, enough to show a consensus of one match in a hundred. Each slice costs a row of bits per match.
const MOST_SLICES: u8 = 40;
/// Smallest number of slices.
const FEWEST_SLICES: u8 = 12;

/// Rows of matches that one thread judges at a time. The number only has to be the same in every run, because it fixes the order of the pairs.
const CHUNK: usize = 512;

/// The consistency graphs of one subset.
#[derive(Debug, Default)]
pub(super) struct Edges {
    n: usize,
    words: usize,
    /// Number of slices; `None` for a known scale, which has one graph.
    slices: Option<usize>,
    /// Adjacency bits, graph after graph, row after row.
    bits: Vec<u64>,
    degrees: Vec<u32>,
    /// First slice that each pair meets, and the number of further ones.
    first: Vec<u8>,
    more: Vec<u8>,
    work: Work,
}

/// A pair of matches with more common neighbours than expected by chance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pair {
    pub(super) i: u32,
    pub(super) j: u32,
    /// Index of its graph.
    pub(super) slice: u32,
    /// Number of common neighbours: matches consistent with both.
    pub(super) support: u32,
    /// Number of common neighbours expected by chance.
    pub(super) expected: f32,
    /// Excess of the support over the expectation, in standard deviations.
    pub(super) contrast: f32,
}

impl Pair {
    /// Order of trial: highest contrast first, ties by position.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        other.contrast.total_cmp(&self.contrast).then((self.i, self.j).cmp(&(other.i, other.j)))
    }
}

/// Conditions on the pairs to return.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Smallest contrast, in standard deviations.
    pub(super) contrast: f32,
    /// Number of inliers already found. Pairs must be able to exceed it, or have a contrast of at least `RUNNER_UP`.
    pub(super) to_beat: Option<u32>,
}

/// Contrast, in standard deviations, of a pair that may belong to a consensus other than the best.
const RUNNER_UP: f32 = 4.0;

impl Pair {
    /// Whether the pair could belong to a consensus larger than `inliers`: it then has about `inliers − 1` common neighbours, besides
    /// those expected by chance.
    pub(super) fn may_beat(&self, inliers: u32) -> bool {
        self.support as f32 >= 0.9 * (inliers as f32 - 1.0) + self.expected - self.expected.sqrt()
    }
}

/// Buffers of one thread.
#[derive(Debug, Default)]
struct Work {
    unsorted: Vec<(u32, u32, u8)>,
    /// Pairs sorted by slice.
    pairs: Vec<(u32, u32)>,
    /// End of each slice in `pairs`.
    ends: Vec<u32>,
    supports: Vec<u32>,
}

impl Edges {
    /// Number of bytes that the graphs of `n` matches need.
    pub(super) fn memory_needed(n: usize, known: bool) -> u64 {
        let (n, words) = (n as u64, n.div_ceil(64) as u64);
        if known { 8 * n * words } else { 8 * n * words * u64::from(MOST_SLICES) + 2 * n * 64 * words }
    }

    /// Builds the graph for a known scale.
    pub(super) fn build_known(&mut self, subset: &Subset, tau: f64, upright: Option<UprightTest>) {
        self.reset(subset.len(), None);
        let tau_sq = (tau * tau) as f32;
        let (words, used) = (self.words, self.n * self.words);
        for_each_part(&mut self.bits[..used], 64 * words, self.n, |block, rows| {
            consistent_rows(&subset.columns, 64 * block, tau_sq, words, rows);
            if let Some(test) = &upright {
                for (i, row) in (64 * block..).zip(rows.chunks_exact_mut(words)) {
                    keep_upright(&subset.columns, i, i / 64, test, &mut row[i / 64..]);
                }
            }
        });
        mirror(&mut self.bits[..used], self.words);
        count_bits(&self.bits[..used], self.words, &mut self.degrees[..self.n]);
    }

    /// Builds the graphs for an unknown scale. `range` bounds its logarithm. The slices are fine enough to show a consensus of a `share`
    /// of the matches.
    pub(super) fn build_unknown(
        &mut self,
        subset: &Subset,
        tau: f64,
        range: Option<[f64; 2]>,
        share: f64,
        upright: Option<UprightTest>,
    ) {
        let slicing = slicing(subset, tau, range, slices_to_show(share));
        let slices = usize::from(slicing.count);
        self.reset(subset.len(), Some(slices));
        let (n, words) = (self.n, self.words);
        let (span, used) = (64 * words, n * words * slices);
        let (first, more) = (&mut self.first[..n * span], &mut self.more[..n * span]);
        let spans = |(block, (first, more)): (usize, (&mut [u8], &mut [u8]))| {
            slice_spans(
                &subset.columns,
                64 * block,
                slicing,
                Spans { width: span, first: &mut *first, more },
            );
            if let Some(test) = &upright {
                let mut bits = vec![0; words];
                for (i, row) in (64 * block..n).zip(first.chunks_exact_mut(span)) {
                    bits.fill(u64::MAX);
                    keep_upright(&subset.columns, i, 0, test, &mut bits);
                    for (m, slice) in row.iter_mut().enumerate() {
                        *slice = if bits[m / 64] >> (m % 64) & 1 == 1 { *slice } else { NOWHERE };
                    }
                }
            }
        };
        threads::for_each(first.chunks_mut(64 * span).zip(more.chunks_mut(64 * span)).enumerate(), n, spans);
        mirror_bytes(&mut self.first[..n * span], span);
        mirror_bytes(&mut self.more[..n * span], span);
        // Each block of 64 matches has its rows in every slice.
        let (graph, block) = (n * words, 64 * words);
        let no_rows = || Rows { bits: Vec::with_capacity(slices), degrees: Vec::with_capacity(slices) };
        let mut blocks: Vec<Rows<'_>> = (0..words).map(|_| no_rows()).collect();
        let graphs = self.bits[..used].chunks_exact_mut(graph).zip(self.degrees.chunks_exact_mut(n));
        for (bits, degrees) in graphs {
            let parts = bits.chunks_mut(block).zip(degrees.chunks_mut(64));
            for (rows, (bits, degrees)) in blocks.iter_mut().zip(parts) {
                rows.bits.push(bits);
                rows.degrees.push(degrees);
            }
        }
        let (first, more) = (&self.first, &self.more);
        for_each_part(&mut blocks, 1, n, |block, rows| {
            for i in 64 * block..(64 * block + 64).min(n) {
                let span = i * span..(i + 1) * span;
                slice_rows(&first[span.clone()], &more[span], i % 64, &mut rows[0]);
            }
        });
    }

    fn reset(&mut self, n: usize, slices: Option<usize>) {
        (self.n, self.words, self.slices) = (n, n.div_ceil(64), slices);
        let rows = n * slices.unwrap_or(1);
        let spans = if slices.is_some() { n * 64 * self.words } else { 0 };
        // Everything is written before it is read, so nothing is cleared. Buffers of larger subsets are kept.
        grow(&mut self.bits, rows * self.words);
        grow(&mut self.degrees, rows);
        grow(&mut self.first, spans);
        grow(&mut self.more, spans);
    }

    /// The row of match `i` in one of the graphs.
    pub(super) fn row(&self, i: u32, slice: u32) -> &[u64] {
        let start = (slice as usize * self.n + i as usize) * self.words;
        &self.bits[start..start + self.words]
    }

    /// Number of pairs whose cyclic difference of positions is in `differences`.
    pub(super) fn pairs_at(&self, differences: &Range<usize>) -> u64 {
        // With an even number of matches, the largest difference meets every pair twice.
        let all = (self.n * differences.len()) as u64;
        let twice = self.n.is_multiple_of(2) && differences.contains(&(self.n / 2));
        if twice { all - (self.n / 2) as u64 } else { all }
    }

    /// Judges the pairs `(i, i + d mod n)` for all `d` in `differences`, at most `n/2`, and returns those that are wanted, in any order.
    /// Positions are in random order, so each difference is a random sample of the pairs; all differences together are all pairs.
    pub(super) fn supported_pairs(&mut self, differences: Range<usize>, wanted: Wanted, out: &mut Vec<Pair>) {
        out.clear();
        let mut work = std::mem::take(&mut self.work);
        if self.n < WORTH_IT {
            self.judge(0..self.n, &differences, wanted, &mut work, out);
        } else {
            let chunks = threads::map(0..self.n.div_ceil(CHUNK), |work: &mut Work, chunk| {
                let (mut out, rows) = (Vec::new(), CHUNK * chunk..self.n.min(CHUNK * chunk + CHUNK));
                self.judge(rows, &differences, wanted, work, &mut out);
                out
            });
            out.extend(chunks.into_iter().flatten());
        }
        self.work = work;
    }

    fn judge(
        &self,
        rows: Range<usize>,
        differences: &Range<usize>,
        wanted: Wanted,
        work: &mut Work,
        out: &mut Vec<Pair>,
    ) {
        match self.slices {
            None => {
                work.pairs.clear();
                for i in rows {
                    for columns in self.columns(i, differences) {
                        edges_of(self.row(i as u32, 0), i as u32, columns, &mut work.pairs);
                    }
                }
                work.ends.clear();
                work.ends.push(work.pairs.len() as u32);
            }
            Some(slices) => self.sort_into_slices(rows, differences, slices, work),
        }
        grow(&mut work.supports, work.pairs.len());
        let graph = self.n * self.words;
        let mut start = 0;
        for (slice, &end) in work.ends.iter().enumerate() {
            let pairs = &work.pairs[start..end as usize];
            let supports = &mut work.supports[start..end as usize];
            let bits = &self.bits[slice * graph..(slice + 1) * graph];
            pair_supports(bits, self.words, pairs, supports);
            let supported = pairs.iter().zip(supports).map(|(&(i, j), support)| (i, j, *support));
            self.keep(slice, wanted, supported, out);
            start = end as usize;
        }
    }

    /// The columns `i + d mod n` of row `i`, as a range up to the end and a range from the start.
    fn columns(&self, i: usize, differences: &Range<usize>) -> [Range<usize>; 2] {
        let n = self.n;
        // At half way round, a pair would be met from both of its ends.
        let last =
            if 2 * (differences.end - 1) == n && i >= n / 2 { differences.end - 1 } else { differences.end };
        let (from, to) = (i + differences.start.min(last), i + last);
        [from.min(n)..to.min(n), from.max(n) - n..to.max(n) - n]
    }

    /// Sorts the pairs by slice into `work.pairs`, with the end of each slice in `work.ends`.
    fn sort_into_slices(
        &self,
        rows: Range<usize>,
        differences: &Range<usize>,
        slices: usize,
        work: &mut Work,
    ) {
        let span = 64 * self.words;
        let most = rows.len() * differences.len();
        grow(&mut work.unsorted, most);
        grow(&mut work.pairs, most);
        let mut starts = [0_u32; 257];
        let mut count = 0;
        for i in rows {
            for columns in self.columns(i, differences) {
                let at = i * span + columns.start..i * span + columns.end;
                let spans = self.first[at.clone()].iter().zip(&self.more[at]);
                for (j, (&first, &more)) in columns.zip(spans) {
                    // The middle of the slices that the pair meets; none when it meets too many.
                    let known = (more <= LONGEST_SPAN) & (first != NOWHERE);
                    let slice = if known { first + more / 2 } else { NOWHERE };
                    starts[usize::from(slice) + 1] += 1;
                    // Branch-free, because the outcome is unpredictable: an unwanted entry is overwritten by the next.
                    work.unsorted[count] = (i as u32, j as u32, slice);
                    count += usize::from(known);
                }
            }
        }
        for slice in 0..slices {
            starts[slice + 1] += starts[slice];
        }
        for &(i, j, slice) in &work.unsorted[..count] {
            let at = &mut starts[usize::from(slice)];
            work.pairs[*at as usize] = (i, j);
            *at += 1;
        }
        // Each start has advanced to the end of its slice.
        work.ends.clear();
        work.ends.extend_from_slice(&starts[..slices]);
    }

    /// Appends the pairs that meet the conditions.
    fn keep(
        &self,
        slice: usize,
        wanted: Wanted,
        pairs: impl Iterator<Item = (u32, u32, u32)>,
        out: &mut Vec<Pair>,
    ) {
        let degrees = &self.degrees[slice * self.n..(slice + 1) * self.n];
        let (per_match, cap) = (1.0 / self.n as f32, self.n as f32 / 16.0);
        let least = wanted.contrast;
        let least_sq = least.max(0.0) * least.max(0.0);
        for (i, j, support) in pairs {
            // With many right matches the degrees say nothing of chance, so the expectation is capped at n/16.
            let expected = (degrees[i as usize] as f32 * degrees[j as usize] as f32 * per_match).min(cap);
            let (excess, variance) = (support as f32 - expected, expected + 0.25);
            // A single branch that is rarely taken predicts better than two.
            let stands_out = (excess > 0.0) & (excess * excess >= least_sq * variance);
            if stands_out | (least == f32::NEG_INFINITY) {
                let contrast = excess / variance.sqrt();
                let pair = Pair { i, j, slice: slice as u32, support, expected, contrast };
                if wanted.to_beat.is_none_or(|best| contrast >= RUNNER_UP || pair.may_beat(best)) {
                    out.push(pair);
                }
            }
        }
    }
}

fn grow<T: Clone + Default>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
}

/// Calls `make` with the index and the content of each part of `size`, in parallel when `n` is at least `WORTH_IT`.
fn for_each_part<T: Send>(
    all: &mut [T],
    size: usize,
    n: usize,
    make: impl Fn(usize, &mut [T]) + Sync + Send,
) {
    threads::for_each(all.chunks_mut(size).enumerate(), n, |(k, part)| make(k, part));
}

/// Number of slices that show a consensus of a `share` of the matches. The common neighbours expected by chance grow with the square
/// of the width of a slice, those of a consensus with the share, so the width may grow with the root of the share.
fn slices_to_show(share: f64) -> u8 {
    let slices = f64::from(MOST_SLICES) * (0.01 / share).sqrt();
    slices.clamp(f64::from(FEWEST_SLICES), f64::from(MOST_SLICES)) as u8
}

/// Slices that cover the scales suggested by the pairs of the subset, at most `most` of them.
fn slicing(subset: &Subset, tau: f64, range: Option<[f64; 2]>, most: u8) -> Slicing {
    // Squared distances of a sample of at most 256 pairs.
    let n = subset.len();
    let looked_at = n.min(n / 4 + 16).min(256);
    // Coincident points have no log ratio.
    let is_length = |sq: f64| sq >= f64::MIN_POSITIVE && sq.is_finite();
    let (sources_sq, mut targets_sq): (Vec<f64>, Vec<f64>) = (0..looked_at)
        .map(|k| (k, if k + n / 2 < n { k + n / 2 } else { k + n / 2 - n }))
        .map(|(i, j)| squared_distances(&subset.points, i, j))
        .filter(|(source_sq, target_sq)| is_length(*source_sq) && is_length(*target_sq))
        .unzip();
    let mut ratios = targets_sq.clone();
    half_log_ratios(&sources_sq, &mut ratios);
    let (low, high) =
        (quantile(&mut ratios, 0.02).unwrap_or(0.0), quantile(&mut ratios, 0.98).unwrap_or(0.0));
    let tolerance = tau / quantile(&mut targets_sq, 0.5).unwrap_or(1.0).sqrt();
    let [low, high] = range.unwrap_or([low, high]);
    let [low, high] = [low - 0.2, high + 0.2];
    let most = f64::from(most);
    let width = tolerance.clamp(0.01, 0.2).max((high - low) / most);
    let count = ((high - low) / width).ceil().clamp(1.0, most);
    Slicing {
        first: low as f32,
        per_unit: (1.0 / width) as f32,
        count: count as u8,
        tau: tau as f32,
        widest: WIDEST_TOLERANCE,
    }
}

/// The value below which about a fraction `part` of the values lie.
fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    let place = (part * values.len().checked_sub(1)? as f64) as usize;
    Some(*values.select_nth_unstable_by(place, f64::total_cmp).1)
}
