//! Slices of the unknown scale: the logarithm of the ratio of two lengths, with its tolerance, on a grid.
//!
//! A pair of matches meets all slices within `L ± τ/‖b_i − b_m‖`. Each slice has a graph of its own, one bit per pair, so that
//! an unknown scale is searched with the same operations as a known one.

#[cfg(target_arch = "x86_64")]
mod avx512;

use super::{edges::Columns, pack::pack};

/// Division of the log ratios into slices of equal width.
#[derive(Debug, Clone, Copy)]
pub struct Slicing {
    /// `ln s` where slice 0 starts.
    pub first: f32,
    /// Slices per unit of `ln s`.
    pub per_unit: f32,
    /// Number of slices, at most 64.
    pub count: u8,
    /// `τ`: the tolerance of a log ratio is `τ / ‖b_i − b_m‖`.
    pub tau: f32,
    /// Largest tolerance of a log ratio; pairs beyond it meet no slice.
    pub widest: f32,
}

/// The first slice of a pair that meets no slice.
pub const NOWHERE: u8 = 255;

/// Writes the first slice that `L(i,m) ± τ/‖b_i − b_m‖` meets, and the number of further ones, for every `m` and all rows `i` of `spans`.
///
/// The first row is that of match `from`. The entries before the block of eight of `i` mean nothing. [`mirror_bytes`] writes them, by symmetry.
pub fn slice_spans(columns: &Columns, from: usize, slicing: Slicing, spans: Spans<'_>) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx512() {
        // SAFETY: the line above checked that this CPU has AVX-512.
        unsafe { avx512::slice_spans(columns, from, slicing, spans) };
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::slice_spans(columns, from, slicing, spans) };
        return;
    }
    slice_spans_lanes(columns, from, slicing, spans);
}

/// Rows of spans: for each pair the slices that it meets.
#[derive(Debug)]
pub struct Spans<'a> {
    /// Length of a row, a multiple of 64.
    pub width: usize,
    /// First slice of each pair, or [`NOWHERE`].
    pub first: &'a mut [u8],
    /// Number of further slices of each pair.
    pub more: &'a mut [u8],
}

/// A [`Slicing`] with all lengths in units of a slice, for the loops.
#[derive(Debug, Clone, Copy)]
struct InSlices {
    /// Half a doubling of the ratio of two squares.
    doubling: f32,
    /// The series of `artanh`, see [`half_log_ratio`].
    series: [f32; 3],
    /// Where slice 0 starts.
    first: f32,
    /// `1.5` and `0.5` of Newton's step, times `τ`, see [`inverse_root`].
    newton: [f32; 2],
    widest: f32,
    top: f32,
}

impl From<Slicing> for InSlices {
    fn from(slicing: Slicing) -> Self {
        let Slicing { first, per_unit, count, tau, widest } = slicing;
        Self {
            doubling: 0.5 * std::f32::consts::LN_2 * per_unit,
            series: SERIES.map(|x| x * per_unit),
            first: first * per_unit,
            newton: [1.5, 0.5].map(|x| x * (tau * per_unit)),
            widest: widest * per_unit,
            top: f32::from(count) - 1.0,
        }
    }
}

/// [`slice_spans`] sixty-four pairs at a time, which NEON, simd128 and SSE2 do in vectors.
fn slice_spans_lanes(columns: &Columns, from: usize, slicing: Slicing, spans: Spans<'_>) {
    let slicing = InSlices::from(slicing);
    let words = spans.width / 64;
    let (first, more) = (spans.first.as_chunks_mut::<64>().0, spans.more.as_chunks_mut::<64>().0);
    for (at, (first, more)) in first.iter_mut().zip(more).enumerate() {
        let (i, word) = (from + at / words, at % words);
        if word < i / 64 {
            continue;
        }
        let (one, others) = (columns.one(i), columns.sixty_four(word));
        // In the first word, what is before the group of eight of `i` is left out.
        let start = if word == i / 64 { i % 64 / 8 * 8 } else { 0 };
        for k in start..64 {
            let (a, b) = others.squares(one, k);
            (first[k], more[k]) = span(a, b, &slicing);
        }
    }
}

/// First slice and number of further ones of a pair with these squared distances.
#[expect(clippy::inline_always, reason = "it vectorises only with the loop around it")]
#[inline(always)]
fn span(a: f32, b: f32, slicing: &InSlices) -> (u8, u8) {
    let middle = half_log_ratio(a, b, slicing) - slicing.first;
    let reach = inverse_root(b, slicing.newton);
    let (low, high) = (middle - reach, middle + reach);
    // False for NaN: padding, coincident points, the match itself.
    let meets = (high >= 0.0) & (low < slicing.top + 1.0) & (reach <= slicing.widest);
    let (low, high) = (low.max(0.0) as i32, high.min(slicing.top) as i32);
    (if meets { low as u8 } else { NOWHERE }, if meets { (high - low) as u8 } else { 0 })
}

#[cfg(test)]
fn slice_spans_plain(columns: &Columns, from: usize, slicing: Slicing, spans: Spans<'_>) {
    let slicing = InSlices::from(slicing);
    for (at, (first, more)) in spans.first.iter_mut().zip(spans.more).enumerate() {
        let (i, m) = (from + at / spans.width, at % spans.width);
        if m < i / 8 * 8 {
            continue;
        }
        let (a, b) = columns.squares(i, m);
        (*first, *more) = span(a, b, &slicing);
    }
}

/// `½ ln(b/a)` of positive normal numbers to better than 10⁻⁴, in slices, by mantissas and exponents: `artanh u` with
/// `u = (m_b − m_a)/(m_b + m_a)`, `|u| ≤ 1/3`.
fn half_log_ratio(a: f32, b: f32, slicing: &InSlices) -> f32 {
    let (a, b) = (a.to_bits() as i32, b.to_bits() as i32);
    let power = ((b >> 23) - (a >> 23)) as f32;
    let mantissa = |bits: i32| f32::from_bits((bits & 0x007F_FFFF | 0x3F80_0000) as u32);
    let (m_a, m_b) = (mantissa(a), mantissa(b));
    let u = (m_b - m_a) / (m_b + m_a);
    let v = u * u;
    let [one, third, fifth] = slicing.series;
    power * slicing.doubling + u * (one + v * (third + v * fifth))
}

/// `τ/√x`, in slices, to two parts in a thousand, which is enough for a tolerance.
///
/// The first estimate negates and halves the exponent; one step of Newton's method, `y·(1.5 − 0.5·x·y²)`, improves it. The estimate of the
/// processor's own instruction differs between manufacturers.
fn inverse_root(x: f32, newton: [f32; 2]) -> f32 {
    let y = f32::from_bits((ROOT_START - ((x.to_bits() as i32) >> 1)) as u32);
    y * (newton[0] - newton[1] * x * y * y)
}

/// Constant of the first estimate of `1/√x`: the usual one, which makes its largest error 3.4 %.
const ROOT_START: i32 = 0x5F37_59DF;

/// `artanh u = u + u³/3 + u⁵/5 + …`
const SERIES: [f32; 3] = [1.0, 1.0 / 3.0, 0.2];

/// Rows of some matches in all slices.
#[derive(Debug)]
pub struct Rows<'a> {
    /// For each slice its bits, row after row.
    pub bits: Vec<&'a mut [u64]>,
    /// For each slice the number of bits in each row.
    pub degrees: Vec<&'a mut [u32]>,
}

/// Writes row `at` of every slice: bit `m` is set where the span of `m` meets the slice.
pub fn slice_rows(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx512() {
        // SAFETY: the line above checked that this CPU has AVX-512 and POPCNT.
        unsafe { avx512::slice_rows(first, more, at, rows) };
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
        unsafe { avx2::slice_rows(first, more, at, rows) };
        return;
    }
    slice_rows_lanes(first, more, at, rows);
}

fn slice_rows_lanes(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
    let words = first.len() / 64;
    let (first, _) = first.as_chunks::<64>();
    let (more, _) = more.as_chunks::<64>();
    for (slice, (graph, degrees)) in (0..).zip(rows.bits.iter_mut().zip(&mut rows.degrees)) {
        let row = &mut graph[at * words..(at + 1) * words];
        for ((bits, first), more) in row.iter_mut().zip(first).zip(more) {
            // NOWHERE meets no slice: the difference is at least 1, and `more` is 0.
            let meets = |lane: usize| u8::wrapping_sub(slice, first[lane]) <= more[lane];
            *bits = pack(meets);
        }
        degrees[at] = row.iter().map(|word| word.count_ones()).sum();
    }
}

/// Copies the bytes above the diagonal of a symmetric matrix to below it. A row has `width` bytes, of which those from the block of eight of the
/// diagonal on have been written.
pub fn mirror_bytes(bytes: &mut [u8], width: usize) {
    #[cfg(target_arch = "x86_64")]
    mirror_bytes_in::<sse2::Sixteen>(bytes, width);
    #[cfg(not(target_arch = "x86_64"))]
    mirror_bytes_in::<[u8; 16]>(bytes, width);
}

#[inline(always)]
fn mirror_bytes_in<T: Sixteen>(bytes: &mut [u8], width: usize) {
    let rows = bytes.len() / width;
    let (cells, per_row) = (bytes.as_chunks_mut::<16>().0, width / 16);
    for block in (0..rows).step_by(64) {
        for c in (block..rows).step_by(16) {
            let there = 16.min(rows - c);
            for r in (block..c.min(block + 64)).step_by(16) {
                let square = std::array::from_fn(|k| T::load(&cells[(r + k) * per_row + c / 16]));
                for (k, column) in transpose(square).into_iter().enumerate().take(there) {
                    column.store(&mut cells[(c + k) * per_row + r / 16]);
                }
            }
            // On the diagonal, only the left half of the lower half is missing.
            if c < block + 64 {
                for (k, l) in (8..there).flat_map(|k| (0..8).map(move |l| (k, l))) {
                    cells[(c + k) * per_row + c / 16][l] = cells[(c + l) * per_row + c / 16][k];
                }
            }
        }
    }
}

/// A row of a square of 16 × 16 bytes.
trait Sixteen: Copy {
    fn load(bytes: &[u8; 16]) -> Self;
    fn store(self, bytes: &mut [u8; 16]);
    /// The bytes of two rows, alternately one of `self` and one of `other`.
    fn interleave(self, other: Self) -> [Self; 2];
}

/// Transposes 16 × 16 bytes: interleaving the rows of the upper and the lower half four times puts every byte into its place.
#[inline(always)]
fn transpose<T: Sixteen>(square: [T; 16]) -> [T; 16] {
    shuffle(shuffle(shuffle(shuffle(square))))
}

#[inline(always)]
fn shuffle<T: Sixteen>([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]: [T; 16]) -> [T; 16] {
    let ([a, i], [b, j], [c, k], [d, l]) =
        (a.interleave(i), b.interleave(j), c.interleave(k), d.interleave(l));
    let ([e, m], [f, n], [g, o], [h, p]) =
        (e.interleave(m), f.interleave(n), g.interleave(o), h.interleave(p));
    [a, i, b, j, c, k, d, l, e, m, f, n, g, o, h, p]
}

#[cfg(any(test, not(target_arch = "x86_64")))]
impl Sixteen for [u8; 16] {
    fn load(bytes: &[u8; 16]) -> Self {
        *bytes
    }

    fn store(self, bytes: &mut [u8; 16]) {
        *bytes = self;
    }

    fn interleave(self, other: Self) -> [Self; 2] {
        let from = |start: usize| {
            std::array::from_fn(|k| if k % 2 == 0 { self[start + k / 2] } else { other[start + k / 2] })
        };
        [from(0), from(8)]
    }
}

/// SSE2 version, which every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::*;

    #[derive(Clone, Copy)]
    pub(super) struct Sixteen(__m128i);

    impl super::Sixteen for Sixteen {
        #[inline(always)]
        fn load(bytes: &[u8; 16]) -> Self {
            // SAFETY: reads the 16 bytes of the array, which need no alignment.
            Self(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        }

        #[inline(always)]
        fn store(self, bytes: &mut [u8; 16]) {
            // SAFETY: writes the 16 bytes of the array, which need no alignment.
            unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), self.0) };
        }

        #[inline(always)]
        fn interleave(self, other: Self) -> [Self; 2] {
            // SAFETY: SSE2 is part of x86-64.
            unsafe { [Self(_mm_unpacklo_epi8(self.0, other.0)), Self(_mm_unpackhi_epi8(self.0, other.0))] }
        }
    }
}

/// AVX2 versions of the loops above: same operations in the same order, same bits.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{InSlices, Rows, Slicing, Spans};
    use crate::kernel::edges::{Columns, avx2::Eights};

    /// Largest number of slices, so that the counts of one row need no allocation.
    const MOST_SLICES: usize = 64;

    #[target_feature(enable = "avx2")]
    pub(super) fn slice_spans(columns: &Columns, from: usize, slicing: Slicing, spans: Spans<'_>) {
        let slicing = InSlices::from(slicing);
        let (first, more) = (spans.first.as_chunks_mut::<8>().0, spans.more.as_chunks_mut::<8>().0);
        let count = spans.width / 8;
        let eights = Eights::new(columns, count);
        let rows = first.chunks_exact_mut(count).zip(more.chunks_exact_mut(count));
        for (i, (first, more)) in (from..).zip(rows) {
            let one = eights.one(i);
            for k in i / 8..count {
                let (a, b) = eights.squares(&one, k);
                let middle = _mm256_sub_ps(half_log_ratio(a, b, &slicing), _mm256_set1_ps(slicing.first));
                let reach = inverse_root(b, slicing.newton);
                let (low, high) = (_mm256_sub_ps(middle, reach), _mm256_add_ps(middle, reach));
                let meets = _mm256_and_ps(
                    _mm256_and_ps(
                        _mm256_cmp_ps::<_CMP_GE_OQ>(high, _mm256_setzero_ps()),
                        _mm256_cmp_ps::<_CMP_LT_OQ>(low, _mm256_set1_ps(slicing.top + 1.0)),
                    ),
                    _mm256_cmp_ps::<_CMP_LE_OQ>(reach, _mm256_set1_ps(slicing.widest)),
                );
                let meets = _mm256_castps_si256(meets);
                let low = _mm256_cvttps_epi32(_mm256_max_ps(low, _mm256_setzero_ps()));
                let high = _mm256_cvttps_epi32(_mm256_min_ps(high, _mm256_set1_ps(slicing.top)));
                // A pair that meets no slice gets NOWHERE, which is all ones, and 0 further ones.
                let nowhere = _mm256_set1_epi32(i32::from(super::NOWHERE));
                first[k] = bytes(_mm256_blendv_epi8(nowhere, low, meets));
                more[k] = bytes(_mm256_and_si256(_mm256_sub_epi32(high, low), meets));
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn inverse_root(x: __m256, newton: [f32; 2]) -> __m256 {
        let halved = _mm256_srai_epi32::<1>(_mm256_castps_si256(x));
        let y = _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(super::ROOT_START), halved));
        let [whole, half] = newton.map(|x| _mm256_set1_ps(x));
        let square = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(half, x), y), y);
        _mm256_mul_ps(y, _mm256_sub_ps(whole, square))
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
    fn half_log_ratio(a: __m256, b: __m256, slicing: &InSlices) -> __m256 {
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
        let [one, third, fifth] = slicing.series.map(|x| _mm256_set1_ps(x));
        let series = _mm256_add_ps(third, _mm256_mul_ps(v, fifth));
        let series = _mm256_add_ps(one, _mm256_mul_ps(v, series));
        _mm256_add_ps(_mm256_mul_ps(power, _mm256_set1_ps(slicing.doubling)), _mm256_mul_ps(u, series))
    }

    /// The outer loop is over words and the inner one over slices, so that the input stays in registers. The distance of a slice from the first slice that
    /// a pair meets grows by one from slice to slice.
    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn slice_rows(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
        let words = first.len() / 64;
        let mut counts = [0_u32; MOST_SLICES];
        let counts = &mut counts[..rows.bits.len()];
        let end = at.checked_add(1).and_then(|rows| rows.checked_mul(words)).unwrap_or(usize::MAX);
        assert!(rows.bits.iter().all(|graph| graph.len() >= end), "a row in every slice");
        let one = _mm256_set1_epi8(1);
        let first = first.as_chunks::<32>().0.as_chunks::<2>().0;
        let more = more.as_chunks::<32>().0.as_chunks::<2>().0;
        for (word, (first, more)) in first.iter().zip(more).enumerate() {
            // Distance of slice 0 from the first slice, modulo 256.
            let ahead_of = |first: &[u8; 32]| _mm256_sub_epi8(_mm256_setzero_si256(), load(first));
            let (mut low, mut high) = (ahead_of(&first[0]), ahead_of(&first[1]));
            let (low_more, high_more) = (load(&more[0]), load(&more[1]));
            // As unsigned bytes: ahead ≤ more.
            let meets = |ahead: __m256i, more: __m256i| {
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(ahead, more), ahead)) as u32
            };
            for (graph, count) in rows.bits.iter_mut().zip(&mut *counts) {
                let bits = u64::from(meets(low, low_more)) | u64::from(meets(high, high_more)) << 32;
                // SAFETY: `word` is less than `words`, and the assertion above checked that every graph has row `at`.
                unsafe { *graph.get_unchecked_mut(at * words + word) = bits };
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

    /// The version for AVX2, also where the CPU has AVX-512.
    fn slice_spans_avx2(columns: &Columns, from: usize, slicing: Slicing, spans: Spans<'_>) {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2.
            return unsafe { avx2::slice_spans(columns, from, slicing, spans) };
        }
        slice_spans(columns, from, slicing, spans);
    }

    /// The version for AVX2, also where the CPU has AVX-512.
    fn slice_rows_avx2(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
            return unsafe { avx2::slice_rows(first, more, at, rows) };
        }
        slice_rows(first, more, at, rows);
    }

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
                slice_spans(&columns, i, slicing, Spans { width, first: &mut first, more: &mut more });
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
            slice_spans(&columns, 0, slicing, Spans { width, first: &mut first, more: &mut more });
            let mut plain = first.clone();
            mirror_bytes(&mut first, width);
            mirror_bytes_in::<[u8; 16]>(&mut plain, width);
            prop_assert_eq!(&first, &plain);
            for i in 0..n {
                for m in 0..n {
                    prop_assert_eq!(first[i * width + m], first[m * width + i], "{} {}", i, m);
                }
                prop_assert!(first[i * width + n..(i + 1) * width].iter().all(|slice| *slice == NOWHERE), "{}", i);
            }
        }

        #[test]
        fn fast_equals_plain(n in 1_usize..150, seed in any::<u64>(), tau in 0.01..0.5_f32) {
            let columns = columns(n, seed);
            let width = 64 * n.div_ceil(64);
            let slicing = Slicing { first: -1.0, per_unit: 20.0, count: 40, tau, widest: 0.3 };
            for from in [0, n / 3] {
                let spans = |make: fn(&Columns, usize, Slicing, Spans<'_>)| {
                    let (mut first, mut more) = (vec![0; (n - from) * width], vec![0; (n - from) * width]);
                    make(&columns, from, slicing, Spans { width, first: &mut first, more: &mut more });
                    for (i, row) in (from..).zip(first.chunks_mut(width).zip(more.chunks_mut(width))) {
                        row.0[..i / 8 * 8].fill(0);
                        row.1[..i / 8 * 8].fill(0);
                    }
                    (first, more)
                };
                let (first, more) = spans(slice_spans);
                prop_assert_eq!(&(first.clone(), more.clone()), &spans(slice_spans_plain));
                prop_assert_eq!(&(first.clone(), more.clone()), &spans(slice_spans_lanes));
                prop_assert_eq!(&(first.clone(), more.clone()), &spans(slice_spans_avx2));
                for (first, more) in first.chunks_exact(width).zip(more.chunks_exact(width)) {
                    let rows = rows_of(first, more, 40, slice_rows);
                    prop_assert_eq!(&rows, &rows_of(first, more, 40, slice_rows_lanes));
                    prop_assert_eq!(&rows, &rows_of(first, more, 40, slice_rows_avx2));
                }
            }
        }
    }
}
