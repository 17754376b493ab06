//! AVX2 versions of the loops of stars: same operations in the same order, same bits.

use std::{arch::x86_64::*, ops::Range};

use super::{super::edges::Columns, Condition, Hits, MOST_HITS, SHORTEST_SQ, Seed, hits::first_seed_by};

/// Bit mask of the lanes that are consistent.
#[inline]
#[target_feature(enable = "avx2")]
fn near(a: __m256, b: __m256, tau_sq: __m256, shortest_sq: __m256) -> u64 {
    let (sum, difference) = (_mm256_add_ps(a, b), _mm256_sub_ps(a, b));
    let bound = _mm256_mul_ps(tau_sq, _mm256_sub_ps(_mm256_mul_ps(_mm256_set1_ps(2.0), sum), tau_sq));
    let near = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_mul_ps(difference, difference), bound);
    let long = _mm256_cmp_ps::<_CMP_GE_OQ>(sum, shortest_sq);
    _mm256_movemask_ps(_mm256_and_ps(near, long)) as u64
}

/// Squared distances of a match to group `k` of these.
#[inline]
#[target_feature(enable = "avx2")]
fn square_distances(point: [__m256; 3], others: [&[f32; 64]; 3], k: usize) -> __m256 {
    let square = |axis: usize| {
        let [a, b, c, d, e, f, g, h] = others[axis].as_chunks::<8>().0[k];
        let difference = _mm256_sub_ps(point[axis], _mm256_setr_ps(a, b, c, d, e, f, g, h));
        _mm256_mul_ps(difference, difference)
    };
    _mm256_add_ps(_mm256_add_ps(square(0), square(1)), square(2))
}

#[target_feature(enable = "avx2")]
pub(super) fn consistent_block(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    tau_sq: f32,
    bits: &mut [u64],
) {
    let (a, b) = columns.one(i);
    let (a, b) = (a.map(|x| _mm256_set1_ps(x)), b.map(|x| _mm256_set1_ps(x)));
    let (shortest_sq, tau_sq) = (_mm256_set1_ps(SHORTEST_SQ * tau_sq), _mm256_set1_ps(tau_sq));
    for (word, out) in words.zip(bits) {
        let others = columns.sixty_four(word);
        *out = (0..8).fold(0, |bits, k| {
            let (a, b) = (square_distances(a, others.a, k), square_distances(b, others.b, k));
            bits | near(a, b, tau_sq, shortest_sq) << (8 * k)
        });
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn scale_bins(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    per_unit: f32,
    most: u16,
    bins: &mut [u16],
) {
    let (a, b) = columns.one(i);
    let (a, b) = (a.map(|x| _mm256_set1_ps(x)), b.map(|x| _mm256_set1_ps(x)));
    let (per_unit, most) = (_mm256_set1_ps(per_unit), _mm256_set1_ps(f32::from(most)));
    for (word, bins) in words.zip(bins.as_chunks_mut::<64>().0) {
        let others = columns.sixty_four(word);
        for (k, out) in bins.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let (a, b) = (square_distances(a, others.a, k), square_distances(b, others.b, k));
            let place = _mm256_mul_ps(_mm256_sqrt_ps(_mm256_div_ps(b, a)), per_unit);
            // The second operand, when the first is not smaller or NaN.
            let bins = _mm256_cvttps_epi32(_mm256_min_ps(place, most));
            // Packing works in halves; the permutation puts the two halves of eight next to each other.
            let packed = _mm256_permute4x64_epi64::<0b1000>(_mm256_packus_epi32(bins, bins));
            let packed = _mm256_castsi256_si128(packed);
            let (low, high) = (_mm_cvtsi128_si64(packed) as u64, _mm_extract_epi64::<1>(packed) as u64);
            for k in 0..4 {
                out[k] = (low >> (16 * k)) as u16;
                out[4 + k] = (high >> (16 * k)) as u16;
            }
        }
    }
}

#[target_feature(enable = "avx2,popcnt")]
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
#[target_feature(enable = "avx2")]
pub(super) fn consistent_hits(hits: &Hits, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
    let (a, b) = (a.map(|x| _mm256_set1_ps(x)), b.map(|x| _mm256_set1_ps(x)));
    let (shortest_sq, tau_sq) = (_mm256_set1_ps(SHORTEST_SQ * tau_sq), _mm256_set1_ps(tau_sq));
    let (scale_sq, others) = (_mm256_set1_ps(scale_sq), hits.sixty_four());
    (0..hits.len.min(MOST_HITS).div_ceil(8)).fold(0, |bits, k| {
        let (a, b) = (square_distances(a, others.a, k), square_distances(b, others.b, k));
        bits | near(_mm256_mul_ps(scale_sq, a), b, tau_sq, shortest_sq) << (8 * k)
    })
}

#[target_feature(enable = "avx2")]
pub(super) fn in_window(bins: &[u16], bin: u16, bits: &mut [u64]) {
    let (bin, one) = (_mm256_set1_epi16(bin as i16), _mm256_set1_epi16(1));
    // All bits of the lanes that are `bin` or the next one.
    let within = |bins: &[u16; 16]| {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bins.map(|bin| bin as i16);
        let bins = _mm256_setr_epi16(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
        let beyond = _mm256_sub_epi16(bins, bin);
        _mm256_cmpeq_epi16(_mm256_min_epu16(beyond, one), beyond)
    };
    for (bins, out) in bins.as_chunks::<64>().0.iter().zip(bits) {
        let sixteens = bins.as_chunks::<16>().0;
        *out = (0..2).fold(0, |bits, half| {
            let (low, high) = (within(&sixteens[2 * half]), within(&sixteens[2 * half + 1]));
            // Packing works in halves; the permutation puts them into order.
            let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
            bits | u64::from(_mm256_movemask_epi8(packed) as u32) << (32 * half)
        });
    }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn consistent_with_centre(hits: &Hits, scale_sq: f32, tau_sq: f32) -> u64 {
    let eight = |column: &[f32; MOST_HITS], group: usize| {
        let [a, b, c, d, e, f, g, h] = column.as_chunks::<8>().0[group];
        _mm256_setr_ps(a, b, c, d, e, f, g, h)
    };
    let (shortest_sq, tau_sq) = (_mm256_set1_ps(SHORTEST_SQ * tau_sq), _mm256_set1_ps(tau_sq));
    let scale_sq = _mm256_set1_ps(scale_sq);
    let [a, b] = &hits.from_centre;
    let bits = (0..hits.len.div_ceil(8)).fold(0, |bits, group| {
        let a = _mm256_mul_ps(scale_sq, eight(a, group));
        bits | near(a, eight(b, group), tau_sq, shortest_sq) << (8 * group)
    });
    // The places after the last match hold what an earlier centre left there.
    bits & (u64::MAX >> (MOST_HITS - hits.len.max(1)))
}
