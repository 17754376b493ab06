//! One match against a block of others: which of them are consistent with it, and what scale each pair suggests.
//!
//! As in [`edges`](super::edges), single precision is enough, and the columns are padded with NaN to a multiple of 64. Here, pairs that are so short that
//! the noise decides about them are consistent with nothing.

use std::ops::Range;

use super::{
    edges::{Columns, SixtyFour},
    pack::pack,
};
use crate::dispatch::compiled_twice;

/// Largest number of matches in [`Hits`]: one per bit of a word.
pub const MOST_HITS: usize = 64;
/// Sum of the squared distances of a pair in source and target below which noise decides about it, relative to `τ²`: each of them is two `τ` long.
const SHORTEST_SQ: f32 = 8.0;

/// Whether a pair with these squared distances is consistent: with `S = A + B` and `D = A − B`, `D² ≤ τ²·(2S − τ²)`, as in
/// [`consistent_rows`](super::edges::consistent_rows).
#[inline(always)]
pub fn is_consistent(a: f32, b: f32, tau_sq: f32) -> bool {
    let (sum, difference) = (a + b, a - b);
    (difference * difference <= tau_sq * (2.0 * sum - tau_sq)) & (sum >= SHORTEST_SQ * tau_sq)
}

/// Sets the bits of the matches of the block `words` that are consistent with match `i`: 64 matches for each word. The source must be scaled already.
pub fn consistent_block(columns: &Columns, i: usize, words: Range<usize>, tau_sq: f32, bits: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::consistent_block(columns, i, words, tau_sq, bits) };
        return;
    }
    consistent_block_lanes(columns, i, words, tau_sq, bits);
}

/// [`consistent_block`] a word at a time, which NEON, simd128 and SSE2 do in vectors.
fn consistent_block_lanes(columns: &Columns, i: usize, words: Range<usize>, tau_sq: f32, bits: &mut [u64]) {
    let one = columns.one(i);
    for (word, out) in words.zip(bits) {
        let others = columns.sixty_four(word);
        *out = pack(|k| {
            let (a, b) = others.squares(one, k);
            is_consistent(a, b, tau_sq)
        });
    }
}

#[cfg(test)]
fn consistent_block_plain(columns: &Columns, i: usize, words: Range<usize>, tau_sq: f32, bits: &mut [u64]) {
    for (word, out) in words.zip(bits) {
        *out = (0..64).fold(0, |bits, bit| {
            let (a, b) = columns.squares(i, 64 * word + bit);
            bits | u64::from(is_consistent(a, b, tau_sq)) << bit
        });
    }
}

compiled_twice! {
    /// Number of matches whose target is within the root of `delta_sq` of the moved source.
    pub fn count_near(columns: &Columns, linear: &[[f32; 3]; 3], translation: &[f32; 3], delta_sq: f32) -> usize = count_near_lanes
}

#[inline(always)]
fn count_near_lanes(
    columns: &Columns,
    linear: &[[f32; 3]; 3],
    translation: &[f32; 3],
    delta_sq: f32,
) -> usize {
    let n = columns.a[0].len();
    let [ax, ay, az] = columns.a.each_ref().map(|column| &column[..n]); // equal lengths: no bounds checks below
    let [bx, by, bz] = columns.b.each_ref().map(|column| &column[..n]);
    let mut count = 0_u32;
    for i in 0..n {
        let error = |axis: usize, b: f32| {
            let row = linear[axis];
            row[0] * ax[i] + row[1] * ay[i] + row[2] * az[i] + translation[axis] - b
        };
        let (x, y, z) = (error(0, bx[i]), error(1, by[i]), error(2, bz[i]));
        count += u32::from(x * x + y * y + z * z <= delta_sq);
    }
    count as usize
}

/// Writes for each match of the block `words` the bin of the scale that it suggests together with match `i`: `per_unit·‖b_i − b_m‖/‖a_i − a_m‖`, rounded down,
/// or `most` when it is larger or there is none.
pub fn scale_bins(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    per_unit: f32,
    most: u16,
    bins: &mut [u16],
) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::scale_bins(columns, i, words, per_unit, most, bins) };
        return;
    }
    scale_bins_lanes(columns, i, words, per_unit, most, bins);
}

/// [`scale_bins`] sixty-four matches at a time, which NEON, simd128 and SSE2 do in vectors.
fn scale_bins_lanes(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    per_unit: f32,
    most: u16,
    bins: &mut [u16],
) {
    let (one, most) = (columns.one(i), f32::from(most));
    for (word, bins) in words.zip(bins.as_chunks_mut::<64>().0) {
        let others = columns.sixty_four(word);
        for (k, bin) in bins.iter_mut().enumerate() {
            let (a, b) = others.squares(one, k);
            let place = (b / a).sqrt() * per_unit;
            *bin = if place < most { place } else { most } as u16;
        }
    }
}

#[cfg(test)]
fn scale_bins_plain(
    columns: &Columns,
    i: usize,
    words: Range<usize>,
    per_unit: f32,
    most: u16,
    bins: &mut [u16],
) {
    let most = f32::from(most);
    for (m, bin) in (64 * words.start..64 * words.end).zip(bins) {
        let (a, b) = columns.squares(i, m);
        let place = (b / a).sqrt() * per_unit;
        *bin = if place < most { place } else { most } as u16;
    }
}

compiled_twice! {
    /// Sets the bits of the matches whose bin is `bin` or the next one: 64 matches for each word.
    pub fn in_window(bins: &[u16], bin: u16, bits: &mut [u64]) = in_window_lanes
}

#[inline(always)]
fn in_window_lanes(bins: &[u16], bin: u16, bits: &mut [u64]) {
    for (bins, out) in bins.as_chunks::<64>().0.iter().zip(bits) {
        *out = pack(|k| bins[k].wrapping_sub(bin) < 2);
    }
}

compiled_twice! {
    /// First place from `from` on at which a count and the next one add up to the limit there; `None` when there is none.
    pub fn first_window(counts: &[u8], limits: &[u8], from: usize) -> Option<usize> = first_window_lanes
}

#[inline(always)]
fn first_window_lanes(counts: &[u8], limits: &[u8], from: usize) -> Option<usize> {
    const STEP: usize = 32;
    let end = limits.len().min(counts.len().saturating_sub(1));
    let is_full = |k: usize| counts[k].saturating_add(counts[k + 1]) >= limits[k];
    let mut at = from;
    while at + STEP <= end {
        let (one, next) = (&counts[at..at + STEP], &counts[at + 1..at + 1 + STEP]);
        let limits = &limits[at..at + STEP];
        let full = (0..STEP).fold(false, |any, k| any | (one[k].saturating_add(next[k]) >= limits[k]));
        if full {
            break;
        }
        at += STEP;
    }
    (at..end).find(|&k| is_full(k))
}

/// A few matches, copied together.
#[derive(Debug, Clone)]
pub struct Hits {
    positions: [u32; MOST_HITS],
    a: [[f32; MOST_HITS]; 3],
    b: [[f32; MOST_HITS]; 3],
    /// Squared distances from the centre, where they were measured.
    from_centre: [[f32; MOST_HITS]; 2],
    len: usize,
}

impl Default for Hits {
    fn default() -> Self {
        let empty = [[f32::NAN; MOST_HITS]; 3];
        Self {
            positions: [0; MOST_HITS],
            a: empty,
            b: empty,
            from_centre: [[f32::NAN; MOST_HITS]; 2],
            len: 0,
        }
    }
}

impl Hits {
    /// Copies the matches whose bits are set, at most [`MOST_HITS`] of them. The first word has the bits of the matches from `64·first` on.
    pub fn gather(&mut self, columns: &Columns, first: usize, bits: &[u64]) {
        let mut len = 0;
        'words: for (word, &bits) in (first..).zip(bits) {
            let mut left = bits;
            while left != 0 {
                if len == MOST_HITS {
                    break 'words;
                }
                let m = 64 * word + left.trailing_zeros() as usize;
                left &= left - 1;
                for axis in 0..3 {
                    self.a[axis][len] = columns.a[axis][m];
                    self.b[axis][len] = columns.b[axis][m];
                }
                self.positions[len] = m as u32;
                len += 1;
            }
        }
        let padded = len.next_multiple_of(8);
        for column in self.a.iter_mut().chain(&mut self.b) {
            column[len..padded].fill(f32::NAN);
        }
        self.len = len;
    }

    /// Measures how far the matches are from match `centre`.
    pub fn measure(&mut self, columns: &Columns, centre: usize) {
        let point = |side: &[Vec<f32>; 3]| side.each_ref().map(|column| column[centre]);
        measure_hits(self, point(&columns.a), point(&columns.b));
    }

    /// Square of the scale that match `k` suggests together with the centre.
    pub fn scale_sq(&self, k: usize) -> f32 {
        self.from_centre[1][k] / self.from_centre[0][k]
    }

    /// Bits of the matches that are consistent with the centre, for a scale given by its square.
    pub fn consistent_with_centre(&self, scale_sq: f32, tau_sq: f32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2.
            return unsafe { avx2::consistent_with_centre(self, scale_sq, tau_sq) };
        }
        self.consistent_with_centre_plain(scale_sq, tau_sq)
    }

    fn consistent_with_centre_plain(&self, scale_sq: f32, tau_sq: f32) -> u64 {
        let [a, b] = &self.from_centre;
        (0..self.len).fold(0, |bits, k| bits | u64::from(is_consistent(scale_sq * a[k], b[k], tau_sq)) << k)
    }

    /// Number of matches.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Position of match `k` in the columns that it was copied from.
    pub fn position(&self, k: usize) -> u32 {
        self.positions[k]
    }

    /// Bits of the matches that are consistent with a match at `a` and `b`, when squared lengths in the source are multiplied by `scale_sq`.
    pub fn consistent(&self, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if crate::dispatch::has_avx2() {
            // SAFETY: the line above checked that this CPU has AVX2.
            return unsafe { avx2::consistent_hits(self, a, b, scale_sq, tau_sq) };
        }
        self.consistent_lanes(a, b, scale_sq, tau_sq)
    }

    /// [`Self::consistent`] with all places at once, which NEON, simd128 and SSE2 do in vectors. Places without a match hold old ones.
    fn consistent_lanes(&self, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        let others = SixtyFour { a: self.a.each_ref(), b: self.b.each_ref() };
        let bits = pack(|k| {
            let (square_a, square_b) = others.squares((a, b), k);
            is_consistent(scale_sq * square_a, square_b, tau_sq)
        });
        bits & u64::MAX.checked_shr((MOST_HITS - self.len) as u32).unwrap_or(0)
    }

    #[cfg(test)]
    fn consistent_plain(&self, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        let square = |point: [f32; 3], columns: &[[f32; MOST_HITS]; 3], k: usize| {
            let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| point[axis] - columns[axis][k]);
            x * x + y * y + z * z
        };
        (0..self.len).fold(0, |bits, k| {
            let near = is_consistent(scale_sq * square(a, &self.a, k), square(b, &self.b, k), tau_sq);
            bits | u64::from(near) << k
        })
    }

    /// Bits of the matches that are consistent with match `k`.
    pub fn consistent_with(&self, k: usize, scale_sq: f32, tau_sq: f32) -> u64 {
        let point = |columns: &[[f32; MOST_HITS]; 3]| columns.each_ref().map(|column| column[k]);
        self.consistent(point(&self.a), point(&self.b), scale_sq, tau_sq)
    }
}

compiled_twice! {
    fn measure_hits(hits: &mut Hits, a: [f32; 3], b: [f32; 3]) = measure_hits_lanes
}

#[inline(always)]
fn measure_hits_lanes(hits: &mut Hits, a: [f32; 3], b: [f32; 3]) {
    let square = |[px, py, pz]: [f32; 3], [x, y, z]: &[[f32; MOST_HITS]; 3], k: usize| {
        let (x, y, z) = (px - x[k], py - y[k], pz - z[k]);
        x * x + y * y + z * z
    };
    for k in 0..MOST_HITS {
        hits.from_centre[0][k] = square(a, &hits.a, k);
        hits.from_centre[1][k] = square(b, &hits.b, k);
    }
}

/// AVX2 versions of the loops above: same operations in the same order, same bits.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::{arch::x86_64::*, ops::Range};

    use super::{
        super::edges::{Columns, avx2::Eights},
        Hits, MOST_HITS, SHORTEST_SQ,
    };

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

    #[target_feature(enable = "avx2")]
    pub(super) fn consistent_block(
        columns: &Columns,
        i: usize,
        words: Range<usize>,
        tau_sq: f32,
        bits: &mut [u64],
    ) {
        let eights = Eights::new(columns, columns.a[0].len() / 8);
        let one = eights.one(i);
        let (shortest_sq, tau_sq) = (_mm256_set1_ps(SHORTEST_SQ * tau_sq), _mm256_set1_ps(tau_sq));
        for (word, out) in words.zip(bits) {
            let mut packed = 0;
            for part in 0..8 {
                let (a, b) = eights.squares(&one, 8 * word + part);
                packed |= near(a, b, tau_sq, shortest_sq) << (8 * part);
            }
            *out = packed;
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
        let eights = Eights::new(columns, columns.a[0].len() / 8);
        let one = eights.one(i);
        let (per_unit, most) = (_mm256_set1_ps(per_unit), _mm256_set1_ps(f32::from(most)));
        for (group, out) in (8 * words.start..8 * words.end).zip(bins.as_chunks_mut::<8>().0) {
            let (a, b) = eights.squares(&one, group);
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

    #[target_feature(enable = "avx2")]
    pub(super) fn consistent_hits(hits: &Hits, a: [f32; 3], b: [f32; 3], scale_sq: f32, tau_sq: f32) -> u64 {
        let square = |point: f32, column: &[f32; MOST_HITS], group: usize| {
            let [a, b, c, d, e, f, g, h] = column.as_chunks::<8>().0[group];
            let difference = _mm256_sub_ps(_mm256_set1_ps(point), _mm256_setr_ps(a, b, c, d, e, f, g, h));
            _mm256_mul_ps(difference, difference)
        };
        let sum = |[px, py, pz]: [f32; 3], [x, y, z]: &[[f32; MOST_HITS]; 3], group: usize| {
            let xy = _mm256_add_ps(square(px, x, group), square(py, y, group));
            _mm256_add_ps(xy, square(pz, z, group))
        };
        let (shortest_sq, tau_sq) = (_mm256_set1_ps(SHORTEST_SQ * tau_sq), _mm256_set1_ps(tau_sq));
        let scale_sq = _mm256_set1_ps(scale_sq);
        (0..hits.len.div_ceil(8)).fold(0, |bits, group| {
            let a = _mm256_mul_ps(scale_sq, sum(a, &hits.a, group));
            bits | near(a, sum(b, &hits.b, group), tau_sq, shortest_sq) << (8 * group)
        })
    }

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::edges::tests::{columns, distances};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bits_of_a_block_are_the_consistent_matches(n in 2_usize..300, seed in any::<u64>(), tau in 0.01..0.3_f64) {
            let columns = columns(n, seed);
            let words = n.div_ceil(64);
            let range = words / 2..words;
            let i = seed as usize % n;
            let (mut fast, mut plain) = (vec![0; range.len()], vec![0; range.len()]);
            consistent_block(&columns, i, range.clone(), (tau * tau) as f32, &mut fast);
            consistent_block_plain(&columns, i, range.clone(), (tau * tau) as f32, &mut plain);
            prop_assert_eq!(&fast, &plain);
            let mut lanes = vec![0; range.len()];
            consistent_block_lanes(&columns, i, range.clone(), (tau * tau) as f32, &mut lanes);
            prop_assert_eq!(&lanes, &plain);
            for m in 64 * range.start..64 * range.end {
                let bit = fast[m / 64 - range.start] >> (m % 64) & 1 == 1;
                if m >= n {
                    prop_assert!(!bit);
                } else {
                    let (a, b) = distances(&columns, i, m);
                    let (off, short) = ((a - b).abs() - tau, a * a + b * b - 8.0 * tau * tau);
                    let is_clear = off.abs() > 1e-5 && short.abs() > 1e-5;
                    prop_assert!(!is_clear || bit == (off < 0.0 && short > 0.0), "{i} {m} {off} {short}");
                }
            }
        }

        #[test]
        fn hits_are_consistent_as_in_the_block(n in 2_usize..300, seed in any::<u64>(), tau in 0.01..0.3_f32, scale in 0.5..2.0_f32) {
            let columns = columns(n, seed);
            let (words, i, tau_sq) = (n.div_ceil(64), seed as usize % n, tau * tau);
            let mut bits = vec![0; words];
            consistent_block(&columns, i, 0..words, tau_sq, &mut bits);
            let mut hits = Hits::default();
            hits.gather(&columns, 0, &bits);
            let all: u32 = bits.iter().map(|word| word.count_ones()).sum();
            prop_assert_eq!(hits.len(), (all as usize).min(MOST_HITS));
            for k in 0..hits.len() {
                let mut row = vec![0; words];
                consistent_block(&columns, hits.position(k) as usize, 0..words, tau_sq, &mut row);
                let bits = hits.consistent_with(k, 1.0, tau_sq);
                for l in 0..hits.len() {
                    let m = hits.position(l) as usize;
                    prop_assert_eq!(bits >> l & 1, row[m / 64] >> (m % 64) & 1);
                }
                let point = |columns: &[[f32; MOST_HITS]; 3]| columns.each_ref().map(|column| column[k]);
                let plain = hits.consistent_plain(point(&hits.a), point(&hits.b), scale, tau_sq);
                prop_assert_eq!(hits.consistent_with(k, scale, tau_sq), plain);
                prop_assert_eq!(hits.consistent_lanes(point(&hits.a), point(&hits.b), scale, tau_sq), plain);
            }
            hits.measure(&columns, i);
            let point = |columns: &[Vec<f32>; 3]| columns.each_ref().map(|column| column[i]);
            let direct = hits.consistent(point(&columns.a), point(&columns.b), scale, tau_sq);
            prop_assert_eq!(hits.consistent_with_centre(scale, tau_sq), direct);
            prop_assert_eq!(hits.consistent_with_centre_plain(scale, tau_sq), direct);
            let mut lanes = hits.clone();
            measure_hits_lanes(&mut lanes, point(&columns.a), point(&columns.b));
            for side in 0..2 {
                for k in 0..hits.len() {
                    prop_assert_eq!(lanes.from_centre[side][k].to_bits(), hits.from_centre[side][k].to_bits());
                }
            }
        }

        #[test]
        fn bins_hold_the_ratio_of_distances(n in 2_usize..300, seed in any::<u64>(), per_unit in 5.0..200.0_f32, most in 20_u16..2000) {
            let columns = columns(n, seed);
            let (words, i) = (n.div_ceil(64), seed as usize % n);
            let (mut fast, mut plain) = (vec![0; 64 * words], vec![0; 64 * words]);
            scale_bins(&columns, i, 0..words, per_unit, most, &mut fast);
            scale_bins_plain(&columns, i, 0..words, per_unit, most, &mut plain);
            prop_assert_eq!(&fast, &plain);
            let mut lanes = vec![0; 64 * words];
            scale_bins_lanes(&columns, i, 0..words, per_unit, most, &mut lanes);
            prop_assert_eq!(&lanes, &plain);
            for (m, bin) in fast.iter().enumerate() {
                let (a, b) = if m < n { distances(&columns, i, m) } else { (0.0, 0.0) };
                let place = b / a * f64::from(per_unit);
                if place.is_nan() || place >= f64::from(most) + 0.01 {
                    prop_assert_eq!(*bin, most);
                } else if place < f64::from(most) - 0.01 {
                    prop_assert!((f64::from(*bin) - place.floor()).abs() <= 1.0, "{place} {bin}");
                }
            }
            let (mut bits, mut lanes) = (vec![0; words], vec![0; words]);
            in_window(&fast, 7, &mut bits);
            in_window_lanes(&fast, 7, &mut lanes);
            prop_assert_eq!(&bits, &lanes);
            for (m, bin) in fast.iter().enumerate() {
                prop_assert_eq!(bits[m / 64] >> (m % 64) & 1 == 1, *bin == 7 || *bin == 8);
            }
        }

        #[test]
        fn near_matches_are_counted(n in 2_usize..300, seed in any::<u64>(), delta in 0.05..1.0_f32) {
            let columns = columns(n, seed);
            let (linear, translation) = ([[0.7, 0.0, 0.0], [0.0, 0.7, 0.0], [0.0, 0.0, 0.7]], [0.0; 3]);
            let fast = count_near(&columns, &linear, &translation, delta * delta);
            prop_assert_eq!(fast, count_near_lanes(&columns, &linear, &translation, delta * delta));
            let distance = |i: usize| {
                (0..3).map(|k| f64::from(0.7 * columns.a[k][i] - columns.b[k][i]).powi(2)).sum::<f64>().sqrt()
            };
            let within = |delta: f64| (0..n).filter(|&i| distance(i) <= delta).count();
            prop_assert!((within(f64::from(delta) - 1e-5)..=within(f64::from(delta) + 1e-5)).contains(&fast));
        }

        #[test]
        fn the_first_full_window_is_found(counts in proptest::collection::vec(0_u8..9, 1..200), limit in 1_u8..18, from in 0_usize..200) {
            let limits = vec![limit; counts.len()];
            let plain = (from..counts.len().saturating_sub(1)).find(|&k| counts[k] + counts[k + 1] >= limit);
            prop_assert_eq!(first_window(&counts, &limits, from), plain);
            prop_assert_eq!(first_window_lanes(&counts, &limits, from), plain);
        }
    }
}
