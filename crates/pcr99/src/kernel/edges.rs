//! Which matches are consistent with each other under the noise bound, one bit per pair.
//!
//! In single precision: coordinates are centred and near one, and the search only needs candidates; what they are worth is
//! computed in double precision afterwards. Lengths are padded to whole words with points that are consistent with nothing.

use std::ops::Range;

use super::compiled_twice;

/// Points in single precision, padded with NaN to a multiple of 64.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) a: [Vec<f32>; 3],
    pub(crate) b: [Vec<f32>; 3],
}

impl Columns {
    /// Squared distances between matches `i` and `m`.
    #[inline(always)]
    fn squares(&self, i: usize, m: usize) -> (f32, f32) {
        let square = |columns: &[Vec<f32>; 3]| {
            let [x, y, z] = columns.each_ref().map(|column| column[i] - column[m]);
            x * x + y * y + z * z
        };
        (square(&self.a), square(&self.b))
    }
}

/// Sets bit `m` of `row` where `|‖b_i − b_m‖ − ‖a_i − a_m‖| ≤ τ`; the source is already scaled.
///
/// With `A` and `B` the squared distances, `S = A + B` and `D = A − B`, that is `D² ≤ τ²·(2S − τ²)`, or `S ≤ τ²` when both
/// distances are small: no square root.
///
/// Only for `m` from the word of `i` on; what is before follows from symmetry, see [`mirror`].
pub(crate) fn consistent_row(columns: &Columns, i: usize, tau_sq: f32, row: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::consistent_row(columns, i, tau_sq, row) };
        row[i / 64] &= !(1 << (i % 64));
        return;
    }
    consistent_row_plain(columns, i, tau_sq, row);
}

/// Fills the words below the diagonal of a symmetric matrix of bits, whose rows have `words` each, from those above it.
pub(crate) fn mirror(bits: &mut [u64], words: usize) {
    for block in 0..words {
        mirror_block(bits, words, block);
    }
}

/// The part of it that comes from the rows `64·block…`: their words beyond the diagonal become word `block` of the rows below.
pub fn mirror_block(bits: &mut [u64], words: usize, block: usize) {
    let rows = bits.len() / words;
    for other in block + 1..words {
        // Rows 64·block…, word `other`, turned over, are rows 64·other…, word `block`.
        let mut square: [u64; 64] = std::array::from_fn(|k| bits[(64 * block + k) * words + other]);
        transpose(&mut square);
        for (k, value) in square.iter().enumerate().take(rows.saturating_sub(64 * other)) {
            bits[(64 * other + k) * words + block] = *value;
        }
    }
}

/// Fills what is below the diagonal of a symmetric square of bytes, whose rows have `width` each, from what is above it, for the
/// rows of which only the part from the block of 64 of the diagonal on has been written.
pub(crate) fn mirror_bytes(bytes: &mut [u8], width: usize) {
    let rows = bytes.len() / width;
    for block in (0..rows).step_by(64) {
        for r in (block..(block + 64).min(rows)).step_by(8) {
            for c in (block + 64..rows).step_by(8) {
                // Eight rows of eight bytes, turned over. Below the last row there is nothing, nor is anything read from there.
                let mut square: [u64; 8] = std::array::from_fn(|k| {
                    let at = (r + k) * width + c;
                    bytes
                        .get(at..at + 8)
                        .map_or(0, |eight| u64::from_le_bytes(eight.try_into().expect("eight bytes")))
                });
                transpose_bytes(&mut square);
                for (k, value) in square.iter().enumerate().take(rows - c) {
                    let at = (c + k) * width + r;
                    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }
}

/// Transposes 8 × 8 bytes: swaps quarters, then quarters of quarters, and so on.
fn transpose_bytes(square: &mut [u64; 8]) {
    for (half, mask) in
        [(4, 0x0000_0000_FFFF_FFFF_u64), (2, 0x0000_FFFF_0000_FFFF), (1, 0x00FF_00FF_00FF_00FF)]
    {
        let mut k = 0;
        while k < 8 {
            let swapped = (square[k] >> (8 * half) ^ square[k + half]) & mask;
            square[k] ^= swapped << (8 * half);
            square[k + half] ^= swapped;
            k = (k + half + 1) & !half;
        }
    }
}

/// Transposes 64 × 64 bits: swaps quarters, then quarters of quarters, and so on.
fn transpose(square: &mut [u64; 64]) {
    let (mut half, mut mask) = (32, 0x0000_0000_FFFF_FFFF_u64);
    while half != 0 {
        let mut k = 0;
        while k < 64 {
            let swapped = (square[k] >> half ^ square[k + half]) & mask;
            square[k] ^= swapped << half;
            square[k + half] ^= swapped;
            k = (k + half + 1) & !half;
        }
        half /= 2;
        mask ^= mask << half;
    }
}

fn consistent_row_plain(columns: &Columns, i: usize, tau_sq: f32, row: &mut [u64]) {
    for (word, bits) in row.iter_mut().enumerate().skip(i / 64) {
        *bits = (0..64).fold(0, |bits, bit| {
            let (a, b) = columns.squares(i, 64 * word + bit);
            let (sum, difference) = (a + b, a - b);
            let near = difference * difference <= tau_sq * (2.0 * sum - tau_sq) || sum <= tau_sq;
            bits | u64::from(near) << bit
        });
    }
    row[i / 64] &= !(1 << (i % 64));
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

/// For match `i` and every `m`, the first slice that `L(i,m) ± τ/‖b_i − b_m‖` meets, and how many more. Only for `m` from the block of
/// 64 of `i` on; what is before follows from symmetry, see [`mirror_bytes`].
pub(crate) fn slice_spans(columns: &Columns, i: usize, slicing: Slicing, first: &mut [u8], more: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::slice_spans(columns, i, slicing, first, more) };
        return;
    }
    slice_spans_plain(columns, i, slicing, first, more);
}

fn slice_spans_plain(columns: &Columns, i: usize, slicing: Slicing, first: &mut [u8], more: &mut [u8]) {
    let top = f32::from(slicing.count) - 1.0;
    for (m, (first, more)) in first.iter_mut().zip(more).enumerate().skip(i / 64 * 64) {
        let (a, b) = columns.squares(i, m);
        let middle = (half_log_ratio(a, b) - slicing.first) * slicing.per_unit;
        let tolerance = slicing.tau * inverse_root(b);
        let reach = tolerance * slicing.per_unit;
        let (low, high) = (middle - reach, middle + reach);
        // False for NaN: padding, coincident points, the match itself.
        let meets = high >= 0.0 && low < top + 1.0 && tolerance <= slicing.widest;
        let (low, high) = (low.max(0.0) as i32, high.min(top) as i32);
        *first = if meets { low as u8 } else { NOWHERE };
        *more = if meets { (high - low) as u8 } else { 0 };
    }
}

/// `½ ln(b/a)` of positive normal numbers to about 10⁻⁵, by mantissas and exponents: `artanh u` with
/// `u = (m_b − m_a)/(m_b + m_a)`, `|u| ≤ 1/3`.
fn half_log_ratio(a: f32, b: f32) -> f32 {
    let (a, b) = (a.to_bits() as i32, b.to_bits() as i32);
    let power = ((b >> 23) - (a >> 23)) as f32;
    let mantissa = |bits: i32| f32::from_bits((bits & 0x007F_FFFF | 0x3F80_0000) as u32);
    let (m_a, m_b) = (mantissa(a), mantissa(b));
    let u = (m_b - m_a) / (m_b + m_a);
    let v = u * u;
    power * HALF_LN_2 + u * (1.0 + v * (SERIES[0] + v * (SERIES[1] + v * SERIES[2])))
}

/// `1/√x` to two parts in a thousand, which is enough for a tolerance: half the exponent with its sign changed, and one step of
/// Newton's. The processor's own estimate differs between makers.
fn inverse_root(x: f32) -> f32 {
    let y = f32::from_bits((ROOT_START - ((x.to_bits() as i32) >> 1)) as u32);
    y * (1.5 - 0.5 * x * y * y)
}

/// The line through the logarithm that makes the first guess of `1/√x` best.
const ROOT_START: i32 = 0x5F37_59DF;

const HALF_LN_2: f32 = 0.5 * std::f32::consts::LN_2;
const SERIES: [f32; 3] = [1.0 / 3.0, 0.2, 1.0 / 7.0];

/// Sets bit `m` of `row` where the span of `m` meets `slice`.
pub(crate) fn slice_row(first: &[u8], more: &[u8], slice: u8, row: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::slice_row(first, more, slice, row) };
        return;
    }
    slice_row_plain(first, more, slice, row);
}

fn slice_row_plain(first: &[u8], more: &[u8], slice: u8, row: &mut [u64]) {
    let (first, _) = first.as_chunks::<64>();
    let (more, _) = more.as_chunks::<64>();
    for ((bits, first), more) in row.iter_mut().zip(first).zip(more) {
        // NOWHERE is never reached: the difference is then at least 1, and `more` is 0.
        let meets = |lane: usize| slice.wrapping_sub(first[lane]) <= more[lane];
        *bits = (0..64).fold(0, |bits, lane| bits | u64::from(meets(lane)) << lane);
    }
}

/// The same with AVX2: same operations, same order, same bits.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Columns, HALF_LN_2, SERIES, Slicing};

    /// One side of the matches in blocks of eight, and match `i` in all lanes.
    struct Side<'a> {
        blocks: [&'a [[f32; 8]]; 3],
        point: [__m256; 3],
    }

    impl<'a> Side<'a> {
        #[inline]
        #[target_feature(enable = "avx2")]
        fn new(columns: &'a [Vec<f32>; 3], i: usize, len: usize) -> Self {
            // Cut to one length: no bounds are checked in the loops.
            let blocks = columns.each_ref().map(|column| &column.as_chunks::<8>().0[..len]);
            Self { blocks, point: columns.each_ref().map(|column| _mm256_set1_ps(column[i])) }
        }

        /// Squared distances to the eight of a block.
        #[inline]
        #[target_feature(enable = "avx2")]
        fn squares(&self, block: usize) -> __m256 {
            let square = |axis: usize| {
                let b = &self.blocks[axis][block];
                let others = _mm256_setr_ps(b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]);
                let difference = _mm256_sub_ps(self.point[axis], others);
                _mm256_mul_ps(difference, difference)
            };
            _mm256_add_ps(_mm256_add_ps(square(0), square(1)), square(2))
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn consistent_row(columns: &Columns, i: usize, tau_sq: f32, row: &mut [u64]) {
        let (tau_sq, two) = (_mm256_set1_ps(tau_sq), _mm256_set1_ps(2.0));
        let (a, b) = (Side::new(&columns.a, i, 8 * row.len()), Side::new(&columns.b, i, 8 * row.len()));
        for (word, bits) in row.iter_mut().enumerate().skip(i / 64) {
            let mut packed = 0;
            for part in 0..8 {
                let (a, b) = (a.squares(8 * word + part), b.squares(8 * word + part));
                let (sum, difference) = (_mm256_add_ps(a, b), _mm256_sub_ps(a, b));
                let bound = _mm256_mul_ps(tau_sq, _mm256_sub_ps(_mm256_mul_ps(two, sum), tau_sq));
                let near = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_mul_ps(difference, difference), bound);
                let small = _mm256_cmp_ps::<_CMP_LE_OQ>(sum, tau_sq);
                packed |= (_mm256_movemask_ps(_mm256_or_ps(near, small)) as u64) << (8 * part);
            }
            *bits = packed;
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn slice_spans(
        columns: &Columns,
        i: usize,
        slicing: Slicing,
        first: &mut [u8],
        more: &mut [u8],
    ) {
        let top = f32::from(slicing.count) - 1.0;
        let (a, b) = (Side::new(&columns.a, i, first.len() / 8), Side::new(&columns.b, i, first.len() / 8));
        let blocks = first.chunks_exact_mut(8).zip(more.chunks_exact_mut(8));
        for (block, (first, more)) in blocks.enumerate().skip(i / 64 * 8) {
            let (a, b) = (a.squares(block), b.squares(block));
            let shifted = _mm256_sub_ps(half_log_ratio(a, b), _mm256_set1_ps(slicing.first));
            let per_unit = _mm256_set1_ps(slicing.per_unit);
            let middle = _mm256_mul_ps(shifted, per_unit);
            let tolerance = _mm256_mul_ps(_mm256_set1_ps(slicing.tau), inverse_root(b));
            let reach = _mm256_mul_ps(tolerance, per_unit);
            let (low, high) = (_mm256_sub_ps(middle, reach), _mm256_add_ps(middle, reach));
            let meets = _mm256_and_ps(
                _mm256_and_ps(
                    _mm256_cmp_ps::<_CMP_GE_OQ>(high, _mm256_setzero_ps()),
                    _mm256_cmp_ps::<_CMP_LT_OQ>(low, _mm256_set1_ps(top + 1.0)),
                ),
                _mm256_cmp_ps::<_CMP_LE_OQ>(tolerance, _mm256_set1_ps(slicing.widest)),
            );
            let meets = _mm256_castps_si256(meets);
            let low = _mm256_cvttps_epi32(_mm256_max_ps(low, _mm256_setzero_ps()));
            let high = _mm256_cvttps_epi32(_mm256_min_ps(high, _mm256_set1_ps(top)));
            // Where nothing is met: NOWHERE, that is all ones, and 0 more.
            let nowhere = _mm256_set1_epi32(i32::from(super::NOWHERE));
            first.copy_from_slice(&bytes(_mm256_blendv_epi8(nowhere, low, meets)));
            more.copy_from_slice(&bytes(_mm256_and_si256(_mm256_sub_epi32(high, low), meets)));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn inverse_root(x: __m256) -> __m256 {
        let halved = _mm256_srai_epi32::<1>(_mm256_castps_si256(x));
        let y = _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(super::ROOT_START), halved));
        let half = _mm256_mul_ps(_mm256_set1_ps(0.5), x);
        let correction = _mm256_sub_ps(_mm256_set1_ps(1.5), _mm256_mul_ps(_mm256_mul_ps(half, y), y));
        _mm256_mul_ps(y, correction)
    }

    /// Eight numbers from 0 to 255 as bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bytes(lanes: __m256i) -> [u8; 8] {
        let words = _mm_packus_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
        _mm_cvtsi128_si64(_mm_packus_epi16(words, words)).to_le_bytes()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn half_log_ratio(a: __m256, b: __m256) -> __m256 {
        let (a, b) = (_mm256_castps_si256(a), _mm256_castps_si256(b));
        let power =
            _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srai_epi32::<23>(b), _mm256_srai_epi32::<23>(a)));
        let mantissa = |bits: __m256i| {
            let digits = _mm256_and_si256(bits, _mm256_set1_epi32(0x007F_FFFF));
            _mm256_castsi256_ps(_mm256_or_si256(digits, _mm256_set1_epi32(0x3F80_0000)))
        };
        let (m_a, m_b) = (mantissa(a), mantissa(b));
        let u = _mm256_div_ps(_mm256_sub_ps(m_b, m_a), _mm256_add_ps(m_b, m_a));
        let v = _mm256_mul_ps(u, u);
        let [third, fifth, seventh] = SERIES.map(|x| _mm256_set1_ps(x));
        let series = _mm256_add_ps(fifth, _mm256_mul_ps(v, seventh));
        let series = _mm256_add_ps(third, _mm256_mul_ps(v, series));
        let series = _mm256_add_ps(_mm256_set1_ps(1.0), _mm256_mul_ps(v, series));
        _mm256_add_ps(_mm256_mul_ps(power, _mm256_set1_ps(HALF_LN_2)), _mm256_mul_ps(u, series))
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn slice_row(first: &[u8], more: &[u8], slice: u8, row: &mut [u64]) {
        let slice = _mm256_set1_epi8(slice as i8);
        let half = |first: &[u8; 32], more: &[u8; 32]| {
            let (first, more) = (load(first), load(more));
            let ahead = _mm256_sub_epi8(slice, first);
            // Unsigned ahead ≤ more.
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(ahead, more), ahead)) as u32
        };
        let (first, _) = first.as_chunks::<32>();
        let (more, _) = more.as_chunks::<32>();
        for (k, bits) in row.iter_mut().enumerate() {
            let low = half(&first[2 * k], &more[2 * k]);
            let high = half(&first[2 * k + 1], &more[2 * k + 1]);
            *bits = u64::from(low) | u64::from(high) << 32;
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: reads the 32 bytes of the array, which need no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }
}

compiled_twice! {
    /// How many bits each row has.
    pub(crate) fn count_bits(bits: &[u64], words: usize, out: &mut [u32]) = count_bits_lanes
}

#[inline(always)]
fn count_bits_lanes(bits: &[u64], words: usize, out: &mut [u32]) {
    for (row, count) in bits.chunks_exact(words).zip(out) {
        *count = row.iter().map(|word| word.count_ones()).sum();
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
    /// For every bit `j` of row `i` that is in `columns`, how many bits rows `i` and `j` share.
    pub(crate) fn row_supports(
        bits: &[u64], words: usize, i: usize, columns: Range<usize>, out: &mut Vec<(u32, u32)>,
    ) = row_supports_lanes
}

#[inline(always)]
fn row_supports_lanes(
    bits: &[u64],
    words: usize,
    i: usize,
    columns: Range<usize>,
    out: &mut Vec<(u32, u32)>,
) {
    let row = &bits[i * words..(i + 1) * words];
    for word in columns.start / 64..columns.end.div_ceil(64) {
        let mut left = row[word];
        if word == columns.start / 64 {
            left &= u64::MAX << (columns.start % 64);
        }
        if word == columns.end / 64 {
            left &= (1 << (columns.end % 64)) - 1;
        }
        while left != 0 {
            let j = 64 * word + left.trailing_zeros() as usize;
            left &= left - 1;
            out.push((j as u32, common_lanes(row, &bits[j * words..(j + 1) * words])));
        }
    }
}

compiled_twice! {
    /// How many bits the rows of each pair share.
    pub(crate) fn pair_supports(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut Vec<u32>) = pair_supports_lanes
}

#[inline(always)]
fn pair_supports_lanes(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut Vec<u32>) {
    let row = |i: u32| &bits[i as usize * words..(i as usize + 1) * words];
    let start = out.len();
    out.resize(start + pairs.len(), 0);
    // A plain loop: an iterator given to `extend` would be compiled without the features of this function.
    for (&(i, j), out) in pairs.iter().zip(&mut out[start..]) {
        *out = common_lanes(row(i), row(j));
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
                for m in i / 64 * 64..64 * row.len() {
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
                    for m in i / 64 * 64..width {
                        let bit = row[m / 64] >> (m % 64) & 1 == 1;
                        if m >= n || m == i {
                            prop_assert!(!bit);
                            continue;
                        }
                        let (a, b) = distances(&columns, i, m);
                        let (log_ratio, tolerance) = ((b / a).ln(), 0.02 / b);
                        let meets = log_ratio + tolerance >= edge && log_ratio - tolerance < edge + 0.05 && tolerance <= 0.3;
                        let close = [log_ratio + tolerance - edge, log_ratio - tolerance - edge - 0.05, tolerance - 0.3];
                        // The tolerance is known to two parts in a thousand.
                        let unsure = close.iter().any(|x| x.abs() < 2e-4 + 0.002 * tolerance);
                        prop_assert!(unsure || bit == (meets && a > 0.0 && b > 0.0), "{i} {m} {slice}");
                    }
                }
            }
        }

        #[test]
        fn mirrored_bytes_are_symmetric(n in 1_usize..150, seed in any::<u64>()) {
            let (columns, width) = (columns(n, seed), 64 * n.div_ceil(64));
            let slicing = Slicing { first: -1.0, per_unit: 20.0, count: 40, tau: 0.05, widest: 0.3 };
            let (mut first, mut more) = (vec![7; n * width], vec![7; n * width]);
            for (i, (first, more)) in first.chunks_exact_mut(width).zip(more.chunks_exact_mut(width)).enumerate() {
                slice_spans(&columns, i, slicing, first, more);
            }
            mirror_bytes(&mut first, width);
            for i in 0..n {
                for m in 0..n {
                    prop_assert_eq!(first[i * width + m], first[m * width + i], "{} {}", i, m);
                }
            }
        }

        #[test]
        fn fast_equals_plain(n in 1_usize..150, seed in any::<u64>(), tau in 0.01..0.5_f32) {
            let columns = columns(n, seed);
            let width = 64 * n.div_ceil(64);
            let slicing = Slicing { first: -1.0, per_unit: 20.0, count: 40, tau, widest: 0.3 };
            let (mut fast, mut plain) = (vec![0; width / 64], vec![0; width / 64]);
            let mut spans = [vec![0; width], vec![0; width]];
            let mut spans_plain = spans.clone();
            for i in 0..n {
                consistent_row(&columns, i, tau * tau, &mut fast);
                consistent_row_plain(&columns, i, tau * tau, &mut plain);
                prop_assert_eq!(&fast, &plain);
                let [first, more] = &mut spans;
                slice_spans(&columns, i, slicing, first, more);
                let [first_plain, more_plain] = &mut spans_plain;
                slice_spans_plain(&columns, i, slicing, first_plain, more_plain);
                prop_assert_eq!(&spans, &spans_plain);
                for slice in 0..40 {
                    slice_row(&spans[0], &spans[1], slice, &mut fast);
                    slice_row_plain(&spans[0], &spans[1], slice, &mut plain);
                    prop_assert_eq!(&fast, &plain);
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
            mirror(&mut bits, words);
            let is_set = |i: usize, m: usize| bits[i * words + m / 64] >> (m % 64) & 1 == 1;
            for i in 0..n {
                let mut fast = Vec::new();
                row_supports(&bits, words, i, i + 1..n, &mut fast);
                let shared = |j: usize| (0..n).filter(|&m| is_set(i, m) && is_set(j, m)).count() as u32;
                let plain: Vec<_> = (i + 1..n).filter(|&j| is_set(i, j)).map(|j| (j as u32, shared(j))).collect();
                prop_assert_eq!(fast, plain);
            }
            let (mut fast, all) = (Vec::new(), [(0, n as u32 - 1), (n as u32 / 2, 0)]);
            pair_supports(&bits, words, &all, &mut fast);
            for (&(i, j), fast) in all.iter().zip(fast) {
                let (i, j) = (i as usize, j as usize);
                prop_assert_eq!(fast, (0..n).filter(|&m| is_set(i, m) && is_set(j, m)).count() as u32);
                prop_assert_eq!(is_set(i, j), is_set(j, i));
            }
        }
    }
}
