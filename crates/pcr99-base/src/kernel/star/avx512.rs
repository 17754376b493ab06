//! AVX-512 versions of the longest loops of stars: same operations in the same order, same bits.

use std::{arch::x86_64::*, ops::Range};

use super::{
    super::edges::{Columns, avx512::Match},
    Condition, Hits, MOST_HITS, SHORTEST_SQ, Seed,
    avx2::consistent_with_centre,
    hits::first_seed_by,
};

/// Bit mask of the lanes that are consistent.
#[inline]
#[target_feature(enable = "avx512f")]
fn near(a: __m512, b: __m512, tau_sq: __m512, shortest_sq: __m512) -> u64 {
    let (sum, difference) = (_mm512_add_ps(a, b), _mm512_sub_ps(a, b));
    let bound = _mm512_mul_ps(tau_sq, _mm512_sub_ps(_mm512_mul_ps(_mm512_set1_ps(2.0), sum), tau_sq));
    let long = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(sum, shortest_sq);
    let square = _mm512_mul_ps(difference, difference);
    u64::from(_mm512_mask_cmp_ps_mask::<_CMP_LE_OQ>(long, square, bound))
}

#[target_feature(enable = "avx512f")]
pub(super) fn consistent_block(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    tau_sq: f32,
    bits: &mut [u64],
) {
    let one = Match::new(columns, i);
    let (shortest_sq, tau_sq) = (_mm512_set1_ps(SHORTEST_SQ * tau_sq), _mm512_set1_ps(tau_sq));
    for (word, out) in words.zip(bits) {
        let others = columns.sixty_four(word);
        *out = (0..4).fold(0, |bits, k| {
            let (a, b) = one.squares(&others, k);
            bits | near(a, b, tau_sq, shortest_sq) << (16 * k)
        });
    }
}

#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn first_seed(
    hits: &Hits,
    seeds: Range<usize>,
    condition: Condition,
    seen: &mut u32,
) -> Option<Seed> {
    let tau_sq = condition.tau_sq;
    let consistent = |a, b, scale_sq| consistent_hits(hits, a, b, scale_sq, tau_sq);
    first_seed_by(hits, seeds, condition, seen, consistent, |scale_sq| {
        consistent_with_centre(hits, scale_sq, tau_sq)
    })
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn consistent_hits(hits: &Hits, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
    let one = Match::of(a, b);
    let (shortest_sq, tau_sq) = (_mm512_set1_ps(SHORTEST_SQ * tau_sq), _mm512_set1_ps(tau_sq));
    let (scale_sq, others) = (_mm512_set1_ps(scale_sq), hits.sixty_four());
    (0..hits.len.min(MOST_HITS).div_ceil(16)).fold(0, |bits, k| {
        let (a, b) = one.squares(&others, k);
        bits | near(_mm512_mul_ps(scale_sq, a), b, tau_sq, shortest_sq) << (16 * k)
    })
}

#[target_feature(enable = "avx512f")]
pub(super) fn scale_bins(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    per_unit: f32,
    most: u16,
    bins: &mut [u16],
) {
    let one = Match::new(columns, i);
    let (per_unit, most) = (_mm512_set1_ps(per_unit), _mm512_set1_ps(f32::from(most)));
    for (word, bins) in words.zip(bins.as_chunks_mut::<64>().0) {
        let others = columns.sixty_four(word);
        for (k, out) in bins.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let (a, b) = one.squares(&others, k);
            let place = _mm512_mul_ps(_mm512_sqrt_ps(_mm512_div_ps(b, a)), per_unit);
            // The second operand, when the first is not smaller or NaN.
            let bins = _mm512_cvtepi32_epi16(_mm512_cvttps_epi32(_mm512_min_ps(place, most)));
            // SAFETY: the pointer is that of sixteen numbers.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bins) };
        }
    }
}
