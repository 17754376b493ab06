//! Which matches are consistent with each other under the noise bound, one bit per pair.
//!
//! In single precision: coordinates are centred and near one, and the search only needs candidates; what they are worth is
//! computed in double precision afterwards. Lengths are padded to whole words with points that are consistent with nothing.

use super::compiled_twice;

/// Points in single precision, padded with NaN to a multiple of 64.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) a: [Vec<f32>; 3],
    pub(crate) b: [Vec<f32>; 3],
}

impl Columns {
    /// Squared distances from match `i` to the 8 matches from `at` on.
    #[inline(always)]
    fn squares(&self, i: usize, at: usize) -> ([f32; 8], [f32; 8]) {
        let square = |columns: &[Vec<f32>; 3]| {
            let [x, y, z] = columns.each_ref().map(|column| {
                let (p, block) = (column[i], &column[at..at + 8]);
                std::array::from_fn::<f32, 8, _>(|lane| p - block[lane])
            });
            std::array::from_fn(|lane| x[lane] * x[lane] + y[lane] * y[lane] + z[lane] * z[lane])
        };
        (square(&self.a), square(&self.b))
    }
}

compiled_twice! {
    /// Sets bit `m` of `row` where `|‖b_i − b_m‖ − ‖a_i − a_m‖| ≤ τ`; the source is already scaled.
    ///
    /// With `A` and `B` the squared distances, `S = A + B` and `D = A − B`, that is `D² ≤ τ²·(2S − τ²)`, or `S ≤ τ²` when both
    /// distances are small: no square root.
    pub(crate) fn consistent_row(columns: &Columns, i: usize, tau_sq: f32, row: &mut [u64]) = consistent_row_lanes
}

#[inline(always)]
fn consistent_row_lanes(columns: &Columns, i: usize, tau_sq: f32, row: &mut [u64]) {
    for (word, bits) in row.iter_mut().enumerate() {
        let mut packed = 0;
        for part in 0..8 {
            let (a, b) = columns.squares(i, 64 * word + 8 * part);
            let mut inside = [0_i32; 8];
            for lane in 0..8 {
                let (sum, difference) = (a[lane] + b[lane], a[lane] - b[lane]);
                let near = difference * difference <= tau_sq * (2.0 * sum - tau_sq);
                inside[lane] = if near | (sum <= tau_sq) { -1 } else { 0 };
            }
            packed |= u64::from(sign_bits(&inside)) << (8 * part);
        }
        *bits = packed;
    }
    row[i / 64] &= !(1 << (i % 64));
}

/// The sign bits of eight numbers.
#[inline(always)]
fn sign_bits(lanes: &[i32; 8]) -> u8 {
    let mut bits = 0;
    for (lane, value) in lanes.iter().enumerate() {
        bits |= u8::from(*value < 0) << lane;
    }
    bits
}

/// How log ratios are cut into slices of equal width for an unknown scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slicing {
    /// `ln s` where slice 0 starts.
    pub(crate) first: f32,
    /// Slices per unit of `ln s`.
    pub(crate) per_unit: f32,
    /// How many slices; at most 255.
    pub(crate) count: u8,
    /// `τ`: the tolerance of a log ratio is `τ / ‖b_i − b_m‖`.
    pub(crate) tau: f32,
    /// Pairs with a larger tolerance tell nothing.
    pub(crate) widest: f32,
}

/// No slice at all.
pub(crate) const NOWHERE: u8 = 255;

compiled_twice! {
    /// For match `i` and every `m`, the first slice that `L(i,m) ± τ/‖b_i − b_m‖` meets, and how many more.
    pub(crate) fn slice_spans(columns: &Columns, i: usize, slicing: Slicing, first: &mut [u8], more: &mut [u8]) = slice_spans_lanes
}

#[inline(always)]
fn slice_spans_lanes(columns: &Columns, i: usize, slicing: Slicing, first: &mut [u8], more: &mut [u8]) {
    let top = f32::from(slicing.count) - 1.0;
    for (block, (first, more)) in first.chunks_exact_mut(8).zip(more.chunks_exact_mut(8)).enumerate() {
        let (a, b) = columns.squares(i, 8 * block);
        for lane in 0..8 {
            let log_ratio = 0.5 * ln(b[lane] / a[lane]);
            let tolerance = slicing.tau / b[lane].sqrt();
            let low = (log_ratio - tolerance - slicing.first) * slicing.per_unit;
            let high = (log_ratio + tolerance - slicing.first) * slicing.per_unit;
            // False for NaN: padding, coincident points, the match itself.
            let meets = (high >= 0.0) & (low < top + 1.0) & (tolerance <= slicing.widest);
            let (low, high) = (low.max(0.0) as i32, high.min(top) as i32);
            first[lane] = if meets { low as u8 } else { NOWHERE };
            more[lane] = if meets { (high - low) as u8 } else { 0 };
        }
    }
}

/// Natural logarithm of a positive normal number to about 10⁻⁵; of anything else something.
#[inline(always)]
fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = ((bits >> 23) as i32 - 127) as f32;
    let m = f32::from_bits(bits & 0x007F_FFFF | 0x3F80_0000);
    // ln m = 2 artanh(u), u = (m − 1)/(m + 1) ≤ 1/3.
    let u = (m - 1.0) / (m + 1.0);
    let v = u * u;
    let log =
        exponent * std::f32::consts::LN_2 + 2.0 * u * (1.0 + v * (1.0 / 3.0 + v * (0.2 + v * (1.0 / 7.0))));
    if x > 0.0 { log } else { f32::NAN }
}

compiled_twice! {
    /// Sets bit `m` of `row` where the span of `m` meets `slice`.
    pub(crate) fn slice_row(first: &[u8], more: &[u8], slice: u8, row: &mut [u64]) = slice_row_lanes
}

#[inline(always)]
fn slice_row_lanes(first: &[u8], more: &[u8], slice: u8, row: &mut [u64]) {
    let (first, _) = first.as_chunks::<64>();
    let (more, _) = more.as_chunks::<64>();
    for ((bits, first), more) in row.iter_mut().zip(first).zip(more) {
        let mut inside = [0_u8; 64];
        for lane in 0..64 {
            // NOWHERE is never reached: the difference is then at least 1, and `more` is 0.
            inside[lane] = u8::from(slice.wrapping_sub(first[lane]) <= more[lane]);
        }
        *bits = super::consistent_bits::pack(&inside);
    }
}

compiled_twice! {
    /// How many bits two rows share.
    pub(crate) fn common(one: &[u64], other: &[u64]) -> u32 = common_lanes
}

#[inline(always)]
fn common_lanes(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one & other).count_ones()).sum()
}

compiled_twice! {
    /// For every bit `j > i` of row `i`, how many bits rows `i` and `j` share.
    pub(crate) fn row_supports(bits: &[u64], words: usize, i: usize, out: &mut Vec<(u32, u32)>) = row_supports_lanes
}

#[inline(always)]
fn row_supports_lanes(bits: &[u64], words: usize, i: usize, out: &mut Vec<(u32, u32)>) {
    let row = &bits[i * words..(i + 1) * words];
    for word in (i + 1) / 64..words {
        let mut left = row[word];
        if word == (i + 1) / 64 {
            left &= u64::MAX << ((i + 1) % 64);
        }
        while left != 0 {
            let j = 64 * word + left.trailing_zeros() as usize;
            left &= left - 1;
            out.push((j as u32, common_lanes(row, &bits[j * words..(j + 1) * words])));
        }
    }
}

/// The slices of every match: `bits` has, for each match, `slicing.count` rows of `words`; `first` and `more` the spans.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SliceTable<'a> {
    pub(crate) bits: &'a [u64],
    pub(crate) first: &'a [u8],
    pub(crate) more: &'a [u8],
    pub(crate) words: usize,
    pub(crate) count: usize,
    /// Pairs whose own span is longer are not judged: they do not know their scale.
    pub(crate) longest: u8,
}

impl SliceTable<'_> {
    /// The slice in which a pair is judged: the middle of its span.
    #[inline(always)]
    pub(crate) fn slice_of(&self, i: usize, j: usize) -> Option<usize> {
        let at = i * 64 * self.words + j;
        let (first, more) = (self.first[at], self.more[at]);
        (first != NOWHERE && more <= self.longest).then(|| usize::from(first) + usize::from(more / 2))
    }

    /// The row of a match in a slice.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize, slice: usize) -> &[u64] {
        let start = (i * self.count + slice) * self.words;
        &self.bits[start..start + self.words]
    }
}

compiled_twice! {
    /// For match `i` and each of `others`, in the slice of the pair, how many bits their rows share.
    pub(crate) fn slice_supports(table: SliceTable<'_>, i: usize, others: &[u32], out: &mut Vec<(u32, u32)>) = slice_supports_lanes
}

#[inline(always)]
fn slice_supports_lanes(table: SliceTable<'_>, i: usize, others: &[u32], out: &mut Vec<(u32, u32)>) {
    for &j in others {
        if let Some(slice) = table.slice_of(i, j as usize) {
            out.push((j, common_lanes(table.row(i, slice), table.row(j as usize, slice))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::test_points;
    use proptest::prelude::*;

    fn columns(n: usize, seed: u64) -> Columns {
        let points = test_points::random(n, seed);
        let pad = |column: &Vec<f64>| {
            let mut padded: Vec<f32> = column.iter().map(|&x| x as f32).collect();
            padded.resize(n.div_ceil(64) * 64, f32::NAN);
            padded
        };
        Columns { a: points.a.each_ref().map(pad), b: points.b.each_ref().map(pad) }
    }

    fn distances(columns: &Columns, i: usize, m: usize) -> (f64, f64) {
        let distance =
            |c: &[Vec<f32>; 3]| (0..3).map(|k| f64::from(c[k][i] - c[k][m]).powi(2)).sum::<f64>().sqrt();
        (distance(&columns.a), distance(&columns.b))
    }

    proptest! {
        #[test]
        fn consistent_pairs_are_those_within_the_bound(n in 2_usize..150, seed in any::<u64>(), tau in 0.01..0.5_f64) {
            let columns = columns(n, seed);
            let mut row = vec![0; n.div_ceil(64)];
            for i in 0..n {
                consistent_row(&columns, i, (tau * tau) as f32, &mut row);
                for m in 0..64 * row.len() {
                    let bit = row[m / 64] >> (m % 64) & 1 == 1;
                    if m >= n || m == i {
                        prop_assert!(!bit);
                    } else {
                        let (a, b) = distances(&columns, i, m);
                        let off = (a - b).abs() - tau;
                        // Single precision may decide either way within its rounding.
                        prop_assert!(off.abs() < 1e-5 || bit == (off < 0.0), "{i} {m} {off}");
                    }
                }
            }
        }

        #[test]
        fn slices_are_those_the_tolerance_meets(n in 2_usize..150, seed in any::<u64>()) {
            let columns = columns(n, seed);
            let width = 64 * n.div_ceil(64);
            let slicing = Slicing { first: -1.0, per_unit: 20.0, count: 40, tau: 0.02, widest: 0.3 };
            let (mut first, mut more, mut row) = (vec![0; width], vec![0; width], vec![0; width / 64]);
            for i in 0..n {
                slice_spans(&columns, i, slicing, &mut first, &mut more);
                for slice in 0..slicing.count {
                    slice_row(&first, &more, slice, &mut row);
                    let edge = -1.0 + f64::from(slice) / 20.0;
                    for m in 0..width {
                        let bit = row[m / 64] >> (m % 64) & 1 == 1;
                        if m >= n || m == i {
                            prop_assert!(!bit);
                            continue;
                        }
                        let (a, b) = distances(&columns, i, m);
                        let (log_ratio, tolerance) = ((b / a).ln(), 0.02 / b);
                        let meets = log_ratio + tolerance >= edge && log_ratio - tolerance < edge + 0.05 && tolerance <= 0.3;
                        let close = [log_ratio + tolerance - edge, log_ratio - tolerance - edge - 0.05, tolerance - 0.3];
                        let unsure = close.iter().any(|x| x.abs() < 2e-4);
                        prop_assert!(unsure || bit == (meets && a > 0.0 && b > 0.0), "{i} {m} {slice}");
                    }
                }
            }
        }

        #[test]
        fn supports_are_shared_bits(n in 2_usize..150, seed in any::<u64>()) {
            let (columns, words) = (columns(n, seed), n.div_ceil(64));
            let mut bits = vec![0; n * words];
            for (i, row) in bits.chunks_exact_mut(words).enumerate() {
                consistent_row(&columns, i, 0.01, row);
            }
            let is_set = |i: usize, m: usize| bits[i * words + m / 64] >> (m % 64) & 1 == 1;
            for i in 0..n {
                let mut fast = Vec::new();
                row_supports(&bits, words, i, &mut fast);
                let shared = |j: usize| (0..n).filter(|&m| is_set(i, m) && is_set(j, m)).count() as u32;
                let plain: Vec<_> = (i + 1..n).filter(|&j| is_set(i, j)).map(|j| (j as u32, shared(j))).collect();
                prop_assert_eq!(fast, plain);
            }
        }
    }
}
