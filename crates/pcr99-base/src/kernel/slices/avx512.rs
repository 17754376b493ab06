//! AVX-512 versions of the loops over slices: same operations in the same order, same bits.

use std::arch::x86_64::*;

use super::{InSlices, NOWHERE, ROOT_START, Rows, Slicing, Spans};
use crate::kernel::edges::{Columns, avx512::Match};

/// Largest number of slices, so that the counts of one row need no allocation.
const MOST_SLICES: usize = 64;

#[target_feature(enable = "avx512f")]
pub(super) fn slice_spans(columns: &Columns, from: usize, slicing: Slicing, spans: Spans<'_>) {
    let slicing = InSlices::from(slicing);
    let words = spans.width / 64;
    let (first, more) = (spans.first.as_chunks_mut::<64>().0, spans.more.as_chunks_mut::<64>().0);
    let rows = first.chunks_exact_mut(words).zip(more.chunks_exact_mut(words));
    for (i, (first, more)) in (from..).zip(rows) {
        let one = Match::new(columns, i);
        for word in i / 64..words {
            let others = columns.sixty_four(word);
            // What is before the group of eight of `i` is not read. Groups of sixteen are written.
            let start = if word == i / 64 { i % 64 / 16 } else { 0 };
            for k in start..4 {
                let (a, b) = one.squares(&others, k);
                let (low, further) = span(a, b, &slicing);
                first[word].as_chunks_mut().0[k] = low;
                more[word].as_chunks_mut().0[k] = further;
            }
        }
    }
}

/// First slices and numbers of further ones of pairs with these squared distances.
#[inline]
#[target_feature(enable = "avx512f")]
fn span(a: __m512, b: __m512, slicing: &InSlices) -> ([u8; 16], [u8; 16]) {
    let middle = _mm512_sub_ps(half_log_ratio(a, b, slicing), _mm512_set1_ps(slicing.first));
    let reach = inverse_root(b, slicing.newton);
    let (low, high) = (_mm512_sub_ps(middle, reach), _mm512_add_ps(middle, reach));
    let meets = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(high, _mm512_setzero_ps())
        & _mm512_cmp_ps_mask::<_CMP_LT_OQ>(low, _mm512_set1_ps(slicing.top + 1.0))
        & _mm512_cmp_ps_mask::<_CMP_LE_OQ>(reach, _mm512_set1_ps(slicing.widest));
    let low = _mm512_cvttps_epi32(_mm512_max_ps(low, _mm512_setzero_ps()));
    let high = _mm512_cvttps_epi32(_mm512_min_ps(high, _mm512_set1_ps(slicing.top)));
    let nowhere = _mm512_set1_epi32(i32::from(NOWHERE));
    (bytes(_mm512_mask_mov_epi32(nowhere, meets, low)), bytes(_mm512_maskz_sub_epi32(meets, high, low)))
}

/// Sixteen numbers from 0 to 255 as bytes.
#[inline]
#[target_feature(enable = "avx512f")]
fn bytes(lanes: __m512i) -> [u8; 16] {
    let mut bytes = [0; 16];
    // SAFETY: writes the 16 bytes of the array, which need no alignment.
    unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), _mm512_cvtepi32_epi8(lanes)) };
    bytes
}

#[inline]
#[target_feature(enable = "avx512f")]
fn inverse_root(x: __m512, newton: [f32; 2]) -> __m512 {
    let halved = _mm512_srai_epi32::<1>(_mm512_castps_si512(x));
    let y = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(ROOT_START), halved));
    let [whole, half] = newton.map(|x| _mm512_set1_ps(x));
    let square = _mm512_mul_ps(_mm512_mul_ps(_mm512_mul_ps(half, x), y), y);
    _mm512_mul_ps(y, _mm512_sub_ps(whole, square))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn half_log_ratio(a: __m512, b: __m512, slicing: &InSlices) -> __m512 {
    let (a, b) = (_mm512_castps_si512(a), _mm512_castps_si512(b));
    let power = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_srai_epi32::<23>(b), _mm512_srai_epi32::<23>(a)));
    let mantissa = |bits: __m512i| {
        let digits = _mm512_and_si512(bits, _mm512_set1_epi32(0x007F_FFFF));
        _mm512_castsi512_ps(_mm512_or_si512(digits, _mm512_set1_epi32(0x3F80_0000)))
    };
    let (m_a, m_b) = (mantissa(a), mantissa(b));
    let u = _mm512_div_ps(_mm512_sub_ps(m_b, m_a), _mm512_add_ps(m_b, m_a));
    let v = _mm512_mul_ps(u, u);
    let [one, third, fifth] = slicing.series.map(|x| _mm512_set1_ps(x));
    let series = _mm512_add_ps(third, _mm512_mul_ps(v, fifth));
    let series = _mm512_add_ps(one, _mm512_mul_ps(v, series));
    _mm512_add_ps(_mm512_mul_ps(power, _mm512_set1_ps(slicing.doubling)), _mm512_mul_ps(u, series))
}

/// As for AVX2, but a comparison gives the bits of sixty-four pairs.
#[target_feature(enable = "avx512f,avx512bw,popcnt")]
pub(super) fn slice_rows(first: &[u8], more: &[u8], at: usize, rows: &mut Rows<'_>) {
    let words = first.len() / 64;
    let mut counts = [0_u32; MOST_SLICES];
    let counts = &mut counts[..rows.bits.len()];
    let end = at.checked_add(1).and_then(|rows| rows.checked_mul(words)).unwrap_or(usize::MAX);
    assert!(rows.bits.iter().all(|graph| graph.len() >= end), "a row in every slice");
    let one = _mm512_set1_epi8(1);
    for (word, (first, more)) in first.as_chunks::<64>().0.iter().zip(more.as_chunks::<64>().0).enumerate() {
        // SAFETY: reads the 64 bytes of each array, which need no alignment.
        let (first, more) =
            unsafe { (_mm512_loadu_si512(first.as_ptr().cast()), _mm512_loadu_si512(more.as_ptr().cast())) };
        // Distance of slice 0 from the first slice, modulo 256.
        let mut ahead = _mm512_sub_epi8(_mm512_setzero_si512(), first);
        for (graph, count) in rows.bits.iter_mut().zip(&mut *counts) {
            let bits = _mm512_cmple_epu8_mask(ahead, more);
            // SAFETY: `word` is less than `words`, and the assertion above checked that every graph has row `at`.
            unsafe { *graph.get_unchecked_mut(at * words + word) = bits };
            *count += bits.count_ones();
            ahead = _mm512_add_epi8(ahead, one);
        }
    }
    for (degrees, count) in rows.degrees.iter_mut().zip(counts) {
        degrees[at] = *count;
    }
}
