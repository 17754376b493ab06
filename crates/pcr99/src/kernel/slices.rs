//! An unknown scale: the logarithm of the ratio of two lengths, with its tolerance, cut into slices.
//!
//! A pair of matches meets all slices within `L ± τ/‖b_i − b_m‖`. Each slice has a graph of its own, one bit per pair, so that
//! an unknown scale is searched with the same operations as a known one.

use super::edges::Columns;

/// How log ratios are cut into slices of equal width for an unknown scale.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slicing {
    /// `ln s` where slice 0 starts.
    pub(crate) first: f32,
    /// Slices per unit of `ln s`.
    pub(crate) per_unit: f32,
    /// How many slices; at most `LIMIT`.
    pub(crate) count: u8,
    /// `τ`: the tolerance of a log ratio is `τ / ‖b_i − b_m‖`.
    pub(crate) tau: f32,
    /// Pairs with a larger tolerance tell nothing.
    pub(crate) widest: f32,
}

/// There are never more slices.
const LIMIT: usize = 64;

/// No slice at all.
pub(crate) const NOWHERE: u8 = 255;

/// For match `i` and every `m`, the first slice that `L(i,m) ± τ/‖b_i − b_m‖` meets, and how many more. Only for `m` from the block of
/// eight of `i` on; what is before follows from symmetry, see [`mirror_bytes`].
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
    for (m, (first, more)) in first.iter_mut().zip(more).enumerate().skip(i / 8 * 8) {
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

/// The rows of some matches in all slices: for each slice the bits, row after row, and how many bits each row has.
pub(crate) struct Rows<'a> {
    pub(crate) bits: Vec<&'a mut [u64]>,
    pub(crate) degrees: Vec<&'a mut [u32]>,
}

/// Writes row `at` of every slice: bit `m` is set where the span of `m` meets the slice.
pub(crate) fn slice_rows(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the line above checked that this CPU has both.
        unsafe { avx2::slice_rows(first, more, at, rows) };
        return;
    }
    slice_rows_plain(first, more, at, rows);
}

fn slice_rows_plain(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
    let words = first.len() / 64;
    let (first, _) = first.as_chunks::<64>();
    let (more, _) = more.as_chunks::<64>();
    for (slice, (graph, degrees)) in (0..).zip(rows.bits.iter_mut().zip(&mut rows.degrees)) {
        let row = &mut graph[at * words..(at + 1) * words];
        for ((bits, first), more) in row.iter_mut().zip(first).zip(more) {
            // NOWHERE is never reached: the difference is then at least 1, and `more` is 0.
            let meets = |lane: usize| u8::wrapping_sub(slice, first[lane]) <= more[lane];
            *bits = (0..64).fold(0, |bits, lane| bits | u64::from(meets(lane)) << lane);
        }
        degrees[at] = row.iter().map(|word| word.count_ones()).sum();
    }
}

/// Fills what is below the diagonal of a symmetric square of bytes, whose rows have `width` each, from what is above it, for the
/// rows of which only the part from the block of eight of the diagonal on has been written.
pub(crate) fn mirror_bytes(bytes: &mut [u8], width: usize) {
    mirror_bytes_by(bytes, width, transpose_bytes);
}

#[inline(always)]
fn mirror_bytes_by(bytes: &mut [u8], width: usize, transpose: impl Fn(&mut [u64; 8])) {
    let rows = bytes.len() / width;
    for block in (0..rows).step_by(64) {
        for c in (block + 8..rows).step_by(8) {
            for r in (block..c.min(block + 64)).step_by(8) {
                // Eight rows of eight bytes, turned over. These are not the last rows, so all of them are there.
                let mut square: [u64; 8] = std::array::from_fn(|k| {
                    let at = (r + k) * width + c;
                    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
                });
                transpose(&mut square);
                for (k, value) in square.iter().enumerate().take(rows - c) {
                    let at = (c + k) * width + r;
                    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                }
            }
        }
    }
}

/// Transposes 8 × 8 bytes.
#[inline(always)]
fn transpose_bytes(square: &mut [u64; 8]) {
    #[cfg(target_arch = "x86_64")]
    sse2::transpose_bytes(square);
    #[cfg(not(target_arch = "x86_64"))]
    transpose_bytes_plain(square);
}

/// Swaps quarters, then quarters of quarters, and so on.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn transpose_bytes_plain(square: &mut [u64; 8]) {
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

/// With instructions that every x86-64 has.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    #[inline(always)]
    pub(super) fn transpose_bytes(square: &mut [u64; 8]) {
        // SAFETY: SSE2 is part of x86-64.
        unsafe {
            let row = |k: usize| _mm_cvtsi64_si128(square[k] as i64);
            // Bytes of two rows side by side, then of four, then of eight.
            let pairs = [0, 2, 4, 6].map(|k| _mm_unpacklo_epi8(row(k), row(k + 1)));
            let low = [_mm_unpacklo_epi16(pairs[0], pairs[1]), _mm_unpackhi_epi16(pairs[0], pairs[1])];
            let high = [_mm_unpacklo_epi16(pairs[2], pairs[3]), _mm_unpackhi_epi16(pairs[2], pairs[3])];
            for k in 0..2 {
                let columns = [_mm_unpacklo_epi32(low[k], high[k]), _mm_unpackhi_epi32(low[k], high[k])];
                for (l, two) in columns.into_iter().enumerate() {
                    square[4 * k + 2 * l] = _mm_cvtsi128_si64(two) as u64;
                    square[4 * k + 2 * l + 1] = _mm_cvtsi128_si64(_mm_unpackhi_epi64(two, two)) as u64;
                }
            }
        }
    }
}

/// The same with AVX2: same operations, same order, same bits.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{HALF_LN_2, Rows, SERIES, Slicing};
    use crate::kernel::edges::{Columns, avx2::Side};

    #[target_feature(enable = "avx2")]
    pub(super) fn slice_spans(
        columns: &Columns,
        i: usize,
        slicing: Slicing,
        first: &mut [u8],
        more: &mut [u8],
    ) {
        let top = f32::from(slicing.count) - 1.0;
        let (a, b) = (Side::new(&columns.a, i), Side::new(&columns.b, i));
        let (first, more) = (first.as_chunks_mut::<64>().0, more.as_chunks_mut::<64>().0);
        let out = first[i / 64..].iter_mut().zip(&mut more[i / 64..]);
        let mut before = i % 64 / 8;
        for (((first, more), a_word), b_word) in out.zip(a.words()).zip(b.words()) {
            let parts = first.as_chunks_mut::<8>().0.iter_mut().zip(more.as_chunks_mut::<8>().0);
            for (part, (first, more)) in parts.enumerate().skip(std::mem::take(&mut before)) {
                let (a, b) = (a.squares(a_word, part), b.squares(b_word, part));
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
                *first = bytes(_mm256_blendv_epi8(nowhere, low, meets));
                *more = bytes(_mm256_and_si256(_mm256_sub_epi32(high, low), meets));
            }
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

    /// Word after word, and for each all slices: what is read stays in registers, and how far a slice is ahead of the first that a
    /// pair meets grows by one from slice to slice.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn slice_rows(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
        let words = first.len() / 64;
        let mut counts = [0_u32; super::LIMIT];
        let counts = &mut counts[..rows.bits.len()];
        let one = _mm256_set1_epi8(1);
        let first = first.as_chunks::<32>().0.as_chunks::<2>().0;
        let more = more.as_chunks::<32>().0.as_chunks::<2>().0;
        for (word, (first, more)) in first.iter().zip(more).enumerate() {
            // Slice 0 is 0 − first ahead.
            let ahead_of = |first: &[u8; 32]| _mm256_sub_epi8(_mm256_setzero_si256(), load(first));
            let (mut low, mut high) = (ahead_of(&first[0]), ahead_of(&first[1]));
            let (low_more, high_more) = (load(&more[0]), load(&more[1]));
            // Unsigned ahead ≤ more.
            let meets = |ahead: __m256i, more: __m256i| {
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(ahead, more), ahead)) as u32
            };
            for (graph, count) in rows.bits.iter_mut().zip(&mut *counts) {
                let bits = u64::from(meets(low, low_more)) | u64::from(meets(high, high_more)) << 32;
                graph[at * words + word] = bits;
                *count += bits.count_ones();
                (low, high) = (_mm256_add_epi8(low, one), _mm256_add_epi8(high, one));
            }
        }
        for (degrees, count) in rows.degrees.iter_mut().zip(counts) {
            degrees[at] = *count;
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: reads the 32 bytes of the array, which need no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::edges::tests::{columns, distances};
    use proptest::prelude::*;

    /// The rows of one match in every slice, and their degrees.
    fn rows_of(
        first: &[u8],
        more: &[u8],
        slices: usize,
        make: fn(&[u8], &[u8], usize, &mut Rows<'_>),
    ) -> (Vec<Vec<u64>>, Vec<u32>) {
        let (mut bits, mut degrees) = (vec![vec![0; first.len() / 64]; slices], vec![0; slices]);
        let mut rows = Rows {
            bits: bits.iter_mut().map(Vec::as_mut_slice).collect(),
            degrees: degrees.chunks_mut(1).collect(),
        };
        make(first, more, 0, &mut rows);
        (bits, degrees)
    }

    proptest! {
        #[test]
        fn slices_are_those_the_tolerance_meets(n in 2_usize..150, seed in any::<u64>()) {
            let columns = columns(n, seed);
            let width = 64 * n.div_ceil(64);
            let slicing = Slicing { first: -1.0, per_unit: 20.0, count: 40, tau: 0.02, widest: 0.3 };
            let (mut first, mut more) = (vec![0; width], vec![0; width]);
            for i in 0..n {
                slice_spans(&columns, i, slicing, &mut first, &mut more);
                let (rows, degrees) = rows_of(&first, &more, 40, slice_rows);
                for (slice, row) in rows.iter().enumerate() {
                    let edge = -1.0 + slice as f64 / 20.0;
                    prop_assert_eq!(degrees[slice], row.iter().map(|word| word.count_ones()).sum::<u32>());
                    for m in i / 8 * 8..width {
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
            let mut plain = first.clone();
            mirror_bytes(&mut first, width);
            mirror_bytes_by(&mut plain, width, transpose_bytes_plain);
            prop_assert_eq!(&first, &plain);
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
            let mut spans = [vec![0; width], vec![0; width]];
            let mut spans_plain = spans.clone();
            for i in 0..n {
                let [first, more] = &mut spans;
                slice_spans(&columns, i, slicing, first, more);
                let [first_plain, more_plain] = &mut spans_plain;
                slice_spans_plain(&columns, i, slicing, first_plain, more_plain);
                prop_assert_eq!(&spans, &spans_plain);
                let [first, more] = &spans;
                prop_assert_eq!(rows_of(first, more, 40, slice_rows), rows_of(first, more, 40, slice_rows_plain));
            }
        }
    }
}
