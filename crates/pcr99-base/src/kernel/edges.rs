//! Consistency of pairs of matches under the noise bound, one bit per pair.
//!
//! Single precision is enough: coordinates are centred and near one, and every candidate that comes from these bits is evaluated in double
//! precision afterwards. The points are padded to a multiple of 64 with points that are consistent with nothing.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
pub(in crate::kernel) mod avx512;

use super::pack::pack;
use crate::dispatch::compiled_twice;

/// Points in single precision, padded with NaN to a multiple of 64.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Source points: x, y and z.
    pub a: [Vec<f32>; 3],
    /// Target points: x, y and z.
    pub b: [Vec<f32>; 3],
}

/// Sixty-four matches, one array per coordinate.
#[derive(Debug, Clone, Copy)]
pub(super) struct SixtyFour<'a> {
    pub(super) a: [&'a [f32; 64]; 3],
    pub(super) b: [&'a [f32; 64]; 3],
}

impl SixtyFour<'_> {
    /// Squared distances between a match and match `k` of these.
    #[expect(clippy::inline_always, reason = "it vectorises only with the loop around it")]
    #[inline(always)]
    pub(super) fn squares(&self, (a, b): ([f32; 3], [f32; 3]), k: usize) -> (f32, f32) {
        let square = |point: [f32; 3], [x, y, z]: [&[f32; 64]; 3]| {
            let [x, y, z] = [point[0] - x[k], point[1] - y[k], point[2] - z[k]];
            x * x + y * y + z * z
        };
        (square(a, self.a), square(b, self.b))
    }
}

impl Columns {
    /// Match `i`.
    #[expect(clippy::inline_always, reason = "it is part of a loop")]
    #[inline(always)]
    pub(super) fn one(&self, i: usize) -> ([f32; 3], [f32; 3]) {
        (self.a.each_ref().map(|column| column[i]), self.b.each_ref().map(|column| column[i]))
    }

    /// The matches from `64·word` on.
    #[expect(clippy::inline_always, reason = "it is part of a loop")]
    #[inline(always)]
    pub(super) fn sixty_four(&self, word: usize) -> SixtyFour<'_> {
        SixtyFour {
            a: self.a.each_ref().map(|column| &column.as_chunks().0[word]),
            b: self.b.each_ref().map(|column| &column.as_chunks().0[word]),
        }
    }

    /// Squared distances between matches `i` and `m`.
    #[inline(always)]
    pub fn squares(&self, i: usize, m: usize) -> (f32, f32) {
        let square = |columns: &[Vec<f32>; 3]| {
            let [x, y, z] = columns.each_ref().map(|column| column[i] - column[m]);
            x * x + y * y + z * z
        };
        (square(&self.a), square(&self.b))
    }
}

/// Sets bit `m` of the row of match `i` where `|‖b_i − b_m‖ − ‖a_i − a_m‖| ≤ τ`, for all rows in `rows`.
///
/// A row has `words` words, and the first row is that of match `first`. The source must be scaled already.
///
/// The test needs no square root: with the squared distances `A` and `B`, `S = A + B` and `D = A − B`, it is `D² ≤ τ²·(2S − τ²)`, or `S ≤ τ²`
/// when both distances are small.
///
/// Only the bits from the block of eight of `i` on are written. [`mirror`] writes the others, by symmetry.
pub fn consistent_rows(columns: &Columns, first: usize, tau_sq: f32, words: usize, rows: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx512() {
        // SAFETY: the line above checked that this CPU has AVX-512.
        unsafe { avx512::consistent_rows(columns, first, tau_sq, words, rows) };
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::consistent_rows(columns, first, tau_sq, words, rows) };
        return;
    }
    consistent_rows_lanes(columns, first, tau_sq, words, rows);
}

/// [`consistent_rows`] a word at a time, which NEON, simd128 and SSE2 do in vectors.
fn consistent_rows_lanes(columns: &Columns, first: usize, tau_sq: f32, words: usize, rows: &mut [u64]) {
    for (i, row) in (first..).zip(rows.chunks_exact_mut(words)) {
        let one = columns.one(i);
        for (word, bits) in row.iter_mut().enumerate().skip(i / 64) {
            let others = columns.sixty_four(word);
            *bits = pack(|k| {
                let (a, b) = others.squares(one, k);
                let (sum, difference) = (a + b, a - b);
                (difference * difference <= tau_sq * (2.0 * sum - tau_sq)) | (sum <= tau_sq)
            });
        }
        clear_before(row, i);
    }
}

/// Clears the bits before the group of eight of match `i`, and that of `i` itself.
#[inline(always)]
fn clear_before(row: &mut [u64], i: usize) {
    row[i / 64] &= (u64::MAX << (i % 64 / 8 * 8)) & !(1 << (i % 64));
}

#[cfg(test)]
fn consistent_rows_plain(columns: &Columns, first: usize, tau_sq: f32, words: usize, rows: &mut [u64]) {
    for (i, row) in (first..).zip(rows.chunks_exact_mut(words)) {
        for (word, bits) in row.iter_mut().enumerate().skip(i / 64) {
            let from = if word == i / 64 { i % 64 / 8 * 8 } else { 0 };
            *bits = (from..64).fold(0, |bits, bit| {
                let (a, b) = columns.squares(i, 64 * word + bit);
                let (sum, difference) = (a + b, a - b);
                let near = difference * difference <= tau_sq * (2.0 * sum - tau_sq) || sum <= tau_sq;
                bits | u64::from(near) << bit
            });
        }
        row[i / 64] &= !(1 << (i % 64));
    }
}

/// Copies the bits above the diagonal of a symmetric matrix to below it. A row has `words` words.
pub fn mirror(bits: &mut [u64], words: usize) {
    let rows = bits.len() / words;
    for block in 0..words {
        let mut square = [0; 64];
        let diagonal = |k: usize| (64 * block + k) * words + block;
        let there = 64.min(rows - 64 * block);
        square[..there].iter_mut().enumerate().for_each(|(k, word)| *word = bits[diagonal(k)]);
        transpose(&mut square);
        square[..there].iter().enumerate().for_each(|(k, word)| bits[diagonal(k)] |= word);
        mirror_block(bits, words, block);
    }
}

/// One step of [`mirror`]: the words of the rows from `64·block` on that are beyond the diagonal become word `block` of the rows below.
pub fn mirror_block(bits: &mut [u64], words: usize, block: usize) {
    let rows = bits.len() / words;
    for other in block + 1..words {
        // Word `other` of the rows from 64·block on, transposed, is word `block` of the rows from 64·other on.
        let mut square: [u64; 64] = std::array::from_fn(|k| bits[(64 * block + k) * words + other]);
        transpose(&mut square);
        for (k, value) in square.iter().enumerate().take(rows.saturating_sub(64 * other)) {
            bits[(64 * other + k) * words + block] = *value;
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

/// AVX2 versions of the loops above: same operations in the same order, same bits.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::*;

    use super::Columns;

    /// Groups of eight matches, one array per coordinate, all of the same length.
    #[derive(Clone, Copy)]
    pub(in crate::kernel) struct Eights<'a> {
        a: [&'a [[f32; 8]]; 3],
        b: [&'a [[f32; 8]]; 3],
    }

    /// One match, in all lanes.
    pub(in crate::kernel) struct Match {
        a: [__m256; 3],
        b: [__m256; 3],
    }

    impl<'a> Eights<'a> {
        /// The first `count` groups.
        #[inline]
        pub(in crate::kernel) fn new(columns: &'a Columns, count: usize) -> Self {
            let side = |side: &'a [Vec<f32>; 3]| side.each_ref().map(|column| &column.as_chunks().0[..count]);
            Self { a: side(&columns.a), b: side(&columns.b) }
        }

        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::kernel) fn one(&self, i: usize) -> Match {
            let lanes = |eights: &[[f32; 8]]| _mm256_set1_ps(eights[i / 8][i % 8]);
            let ([ax, ay, az], [bx, by, bz]) = (self.a, self.b);
            Match { a: [lanes(ax), lanes(ay), lanes(az)], b: [lanes(bx), lanes(by), lanes(bz)] }
        }

        /// Squared distances of a match to group `k`, in source and target.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::kernel) fn squares(&self, one: &Match, k: usize) -> (__m256, __m256) {
            let square = |point: __m256, eights: &[[f32; 8]]| {
                let [a, b, c, d, e, f, g, h] = eights[k];
                let difference = _mm256_sub_ps(point, _mm256_setr_ps(a, b, c, d, e, f, g, h));
                _mm256_mul_ps(difference, difference)
            };
            let sum = |[px, py, pz]: [__m256; 3], [x, y, z]: [&[[f32; 8]]; 3]| {
                _mm256_add_ps(_mm256_add_ps(square(px, x), square(py, y)), square(pz, z))
            };
            (sum(one.a, self.a), sum(one.b, self.b))
        }
    }

    /// Number of common bits, four words at a time. The bits of a byte are counted by looking up its halves.
    #[target_feature(enable = "avx2")]
    pub(super) fn pair_supports(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) {
        let fours = bits.as_chunks::<4>().0;
        let per_row = words / 4;
        let row = |i: u32| &fours[i as usize * per_row..(i as usize + 1) * per_row];
        let half = _mm256_set1_epi8(15);
        let counts =
            _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
        let load = |[a, b, c, d]: [u64; 4]| _mm256_setr_epi64x(a as i64, b as i64, c as i64, d as i64);
        for (&(i, j), out) in pairs.iter().zip(out) {
            let mut total = _mm256_setzero_si256();
            for (one, other) in row(i).iter().zip(row(j)) {
                let common = _mm256_and_si256(load(*one), load(*other));
                let low = _mm256_and_si256(common, half);
                let high = _mm256_and_si256(_mm256_srli_epi64::<4>(common), half);
                let bits =
                    _mm256_add_epi8(_mm256_shuffle_epi8(counts, low), _mm256_shuffle_epi8(counts, high));
                total = _mm256_add_epi64(total, _mm256_sad_epu8(bits, _mm256_setzero_si256()));
            }
            let two = _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256::<1>(total));
            *out = (_mm_cvtsi128_si32(two) + _mm_extract_epi32::<2>(two)) as u32;
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn consistent_rows(
        columns: &Columns,
        first: usize,
        tau_sq: f32,
        words: usize,
        rows: &mut [u64],
    ) {
        let (tau_sq, two) = (_mm256_set1_ps(tau_sq), _mm256_set1_ps(2.0));
        let eights = Eights::new(columns, 8 * words);
        for (i, row) in (first..).zip(rows.chunks_exact_mut(words)) {
            let one = eights.one(i);
            // The bits before the group of eight of `i` are left out in the first word.
            let mut k = i / 8;
            for bits in &mut row[i / 64..] {
                let mut packed = 0;
                for part in k % 8..8 {
                    let (a, b) = eights.squares(&one, k);
                    let (sum, difference) = (_mm256_add_ps(a, b), _mm256_sub_ps(a, b));
                    let bound = _mm256_mul_ps(tau_sq, _mm256_sub_ps(_mm256_mul_ps(two, sum), tau_sq));
                    let near = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_mul_ps(difference, difference), bound);
                    let small = _mm256_cmp_ps::<_CMP_LE_OQ>(sum, tau_sq);
                    packed |= (_mm256_movemask_ps(_mm256_or_ps(near, small)) as u64) << (8 * part);
                    k += 1;
                }
                *bits = packed;
            }
            row[i / 64] &= !(1 << (i % 64));
        }
    }
}

compiled_twice! {
    /// Number of bits set in each row.
    pub fn count_bits(bits: &[u64], words: usize, out: &mut [u32]) = count_bits_lanes
}

#[inline(always)]
fn count_bits_lanes(bits: &[u64], words: usize, out: &mut [u32]) {
    for (row, count) in bits.chunks_exact(words).zip(out) {
        *count = row.iter().map(|word| word.count_ones()).sum();
    }
}

compiled_twice! {
    /// Number of bits that are set in both rows.
    pub fn common(one: &[u64], other: &[u64]) -> u32 = common_lanes
}

#[inline(always)]
fn common_lanes(one: &[u64], other: &[u64]) -> u32 {
    one.iter().zip(other).map(|(one, other)| (one & other).count_ones()).sum()
}

/// Bits of a word that are looked at together.
const AT_ONCE: usize = 6;

/// Appends the pairs `(i, j)` for all `j` in `columns` whose bit is set in the `row` of match `i`.
pub fn edges_of(row: &[u64], i: u32, columns: Range<usize>, out: &mut Vec<(u32, u32)>) {
    let words = columns.start / 64..columns.end.div_ceil(64);
    for (word, mut left) in words.clone().zip(row[words].iter().copied()) {
        if word == columns.start / 64 {
            left &= u64::MAX << (columns.start % 64);
        }
        if word == columns.end / 64 {
            left &= (1 << (columns.end % 64)) - 1;
        }
        // Most words have fewer bits. A loop that ends with the last bit would end unpredictably.
        let end = out.len() + left.count_ones() as usize;
        while left != 0 {
            let some: [(u32, u32); AT_ONCE] = std::array::from_fn(|_| {
                let place = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (i, 64 * word as u32 + place)
            });
            out.extend_from_slice(&some);
        }
        out.truncate(end);
    }
}

/// Number of bits that are set in both rows of each pair.
pub fn pair_supports(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    if words >= 8 && crate::dispatch::has_avx512() {
        // SAFETY: the line above checked that this CPU has AVX-512.
        unsafe { avx512::pair_supports(bits, words, pairs, out) };
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if words.is_multiple_of(4) && crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::pair_supports(bits, words, pairs, out) };
        return;
    }
    word_supports(bits, words, pairs, out);
}

compiled_twice! {
    /// [`pair_supports`] word by word.
    fn word_supports(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) = word_supports_lanes
}

#[inline(always)]
fn word_supports_lanes(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) {
    let row = |i: u32| &bits[i as usize * words..(i as usize + 1) * words];
    for (&(i, j), out) in pairs.iter().zip(out) {
        *out = common_lanes(row(i), row(j));
    }
}

#[cfg(test)]
pub(in crate::kernel) mod tests {
    use super::*;
    use crate::{random::Random, test_points};
    use proptest::prelude::*;

    #[test]
    fn long_rows_share_all_their_bits() {
        for words in [1, 4, 124, 500] {
            let mut random = Random::new(words as u64);
            let mut bits = vec![u64::MAX; 3 * words];
            bits[2 * words..].iter_mut().for_each(|word| *word = random.bits());
            let (pairs, mut out) = ([(0, 1), (0, 2), (2, 2)], [0; 3]);
            pair_supports(&bits, words, &pairs, &mut out);
            let some: u32 = bits[2 * words..].iter().map(|word| word.count_ones()).sum();
            assert_eq!(out, [64 * words as u32, some, some]);
            #[cfg(target_arch = "x86_64")]
            if words.is_multiple_of(4) && crate::dispatch::has_avx2() {
                // SAFETY: the line above checked that this CPU has AVX2.
                unsafe { avx2::pair_supports(&bits, words, &pairs, &mut out) };
                assert_eq!(out, [64 * words as u32, some, some]);
            }
        }
    }

    pub(in crate::kernel) fn columns(n: usize, seed: u64) -> Columns {
        let points = test_points::random(n, seed);
        let pad = |column: &Vec<f64>| {
            let mut padded: Vec<f32> = column.iter().map(|&x| x as f32).collect();
            padded.resize(n.div_ceil(64) * 64, f32::NAN);
            padded
        };
        Columns { a: points.a.each_ref().map(pad), b: points.b.each_ref().map(pad) }
    }

    pub(in crate::kernel) fn distances(columns: &Columns, i: usize, m: usize) -> (f64, f64) {
        let distance =
            |c: &[Vec<f32>; 3]| (0..3).map(|k| f64::from(c[k][i] - c[k][m]).powi(2)).sum::<f64>().sqrt();
        (distance(&columns.a), distance(&columns.b))
    }

    proptest! {
        #[test]
        fn consistent_pairs_are_those_within_the_bound(n in 2_usize..150, seed in any::<u64>(), tau in 0.01..0.5_f64) {
            let columns = columns(n, seed);
            let words = n.div_ceil(64);
            let mut rows = vec![0; n * words];
            consistent_rows(&columns, 0, (tau * tau) as f32, words, &mut rows);
            for i in 0..n {
                for m in i / 8 * 8..64 * words {
                    let bit = rows[i * words + m / 64] >> (m % 64) & 1 == 1;
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
        fn fast_equals_plain(n in 1_usize..150, first in 0_usize..150, seed in any::<u64>(), tau in 0.01..0.5_f32) {
            let (columns, words, first) = (columns(n, seed), n.div_ceil(64), first.min(n - 1));
            let (mut fast, mut plain) = (vec![0; (n - first) * words], vec![0; (n - first) * words]);
            consistent_rows(&columns, first, tau * tau, words, &mut fast);
            consistent_rows_plain(&columns, first, tau * tau, words, &mut plain);
            prop_assert_eq!(&fast, &plain);
            let mut lanes = vec![0; fast.len()];
            consistent_rows_lanes(&columns, first, tau * tau, words, &mut lanes);
            prop_assert_eq!(&lanes, &plain);
            #[cfg(target_arch = "x86_64")]
            if crate::dispatch::has_avx2() {
                // SAFETY: the line above checked that this CPU has AVX2.
                unsafe { avx2::consistent_rows(&columns, first, tau * tau, words, &mut lanes) };
                prop_assert_eq!(&lanes, &plain);
            }
        }

        #[test]
        fn supports_are_shared_bits(n in 2_usize..300, from in 0_usize..150, seed in any::<u64>()) {
            let (columns, words) = (columns(n, seed), n.div_ceil(64));
            let mut bits = vec![0; n * words];
            consistent_rows(&columns, 0, 0.01, words, &mut bits);
            mirror(&mut bits, words);
            let is_set = |i: usize, m: usize| bits[i * words + m / 64] >> (m % 64) & 1 == 1;
            for i in 0..n {
                let (from, mut found) = (from.min(n), Vec::new());
                edges_of(&bits[i * words..(i + 1) * words], i as u32, from..n, &mut found);
                let plain: Vec<_> = (from..n).filter(|&j| is_set(i, j)).map(|j| (i as u32, j as u32)).collect();
                prop_assert_eq!(&found, &plain);
            }
            let (mut counts, mut lanes) = (vec![0; n], vec![0; n]);
            count_bits(&bits, words, &mut counts);
            count_bits_lanes(&bits, words, &mut lanes);
            prop_assert_eq!(&counts, &lanes);
            prop_assert_eq!(&counts, &(0..n).map(|i| (0..n).filter(|&m| is_set(i, m)).count() as u32).collect::<Vec<_>>());
            let (mut fast, all) = ([0; 2], [(0, n as u32 - 1), (n as u32 / 2, 0)]);
            pair_supports(&bits, words, &all, &mut fast);
            let mut lanes = [0; 2];
            word_supports_lanes(&bits, words, &all, &mut lanes);
            prop_assert_eq!(&fast, &lanes, "the plain compilation");
            for (&(i, j), fast) in all.iter().zip(fast) {
                let (i, j) = (i as usize, j as usize);
                prop_assert_eq!(fast, (0..n).filter(|&m| is_set(i, m) && is_set(j, m)).count() as u32);
                prop_assert_eq!(is_set(i, j), is_set(j, i));
            }
        }
    }
}
