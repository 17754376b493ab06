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
    pub(super) fn squares(&self, i: usize, m: usize) -> (f32, f32) {
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

/// The same with AVX2: same operations, same order, same bits.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::*;

    use super::Columns;

    /// One side of the matches in words of 64, from that of match `i` on, and match `i` in all lanes.
    pub(in crate::kernel) struct Side<'a> {
        x: &'a [[f32; 64]],
        y: &'a [[f32; 64]],
        z: &'a [[f32; 64]],
        point: [__m256; 3],
    }

    impl<'a> Side<'a> {
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::kernel) fn new(columns: &'a [Vec<f32>; 3], i: usize) -> Self {
            let [x, y, z] = columns;
            let point = [_mm256_set1_ps(x[i]), _mm256_set1_ps(y[i]), _mm256_set1_ps(z[i])];
            let words = |column: &'a [f32]| &column.as_chunks::<64>().0[i / 64..];
            Self { x: words(x), y: words(y), z: words(z), point }
        }

        /// Word after word; slices side by side, so that no bounds are checked.
        #[inline]
        pub(in crate::kernel) fn words(&self) -> impl Iterator<Item = [&'a [f32; 64]; 3]> + use<'a> {
            self.x.iter().zip(self.y).zip(self.z).map(|((x, y), z)| [x, y, z])
        }

        /// Squared distances to eight of a word.
        #[inline]
        #[target_feature(enable = "avx2")]
        pub(in crate::kernel) fn squares(&self, [x, y, z]: [&[f32; 64]; 3], part: usize) -> __m256 {
            let square = |point: __m256, word: &[f32; 64]| {
                let lane = |k: usize| word[(8 * part + k) % 64];
                let others =
                    _mm256_setr_ps(lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7));
                let difference = _mm256_sub_ps(point, others);
                _mm256_mul_ps(difference, difference)
            };
            let [px, py, pz] = self.point;
            _mm256_add_ps(_mm256_add_ps(square(px, x), square(py, y)), square(pz, z))
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn consistent_row(columns: &Columns, i: usize, tau_sq: f32, row: &mut [u64]) {
        let (tau_sq, two) = (_mm256_set1_ps(tau_sq), _mm256_set1_ps(2.0));
        let (a, b) = (Side::new(&columns.a, i), Side::new(&columns.b, i));
        for ((bits, a_word), b_word) in row[i / 64..].iter_mut().zip(a.words()).zip(b.words()) {
            let mut packed = 0;
            for part in 0..8 {
                let (a, b) = (a.squares(a_word, part), b.squares(b_word, part));
                let (sum, difference) = (_mm256_add_ps(a, b), _mm256_sub_ps(a, b));
                let bound = _mm256_mul_ps(tau_sq, _mm256_sub_ps(_mm256_mul_ps(two, sum), tau_sq));
                let near = _mm256_cmp_ps::<_CMP_LE_OQ>(_mm256_mul_ps(difference, difference), bound);
                let small = _mm256_cmp_ps::<_CMP_LE_OQ>(sum, tau_sq);
                packed |= (_mm256_movemask_ps(_mm256_or_ps(near, small)) as u64) << (8 * part);
            }
            *bits = packed;
        }
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
    pub(crate) fn pair_supports(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) = pair_supports_lanes
}

#[inline(always)]
fn pair_supports_lanes(bits: &[u64], words: usize, pairs: &[(u32, u32)], out: &mut [u32]) {
    let row = |i: u32| &bits[i as usize * words..(i as usize + 1) * words];
    for (&(i, j), out) in pairs.iter().zip(out) {
        *out = common_lanes(row(i), row(j));
    }
}

#[cfg(test)]
pub(in crate::kernel) mod tests {
    use super::*;
    use crate::kernel::test_points;
    use proptest::prelude::*;

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
        fn fast_equals_plain(n in 1_usize..150, seed in any::<u64>(), tau in 0.01..0.5_f32) {
            let columns = columns(n, seed);
            let words = n.div_ceil(64);
            let (mut fast, mut plain) = (vec![0; words], vec![0; words]);
            for i in 0..n {
                consistent_row(&columns, i, tau * tau, &mut fast);
                consistent_row_plain(&columns, i, tau * tau, &mut plain);
                prop_assert_eq!(&fast, &plain);
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
                prop_assert_eq!(&fast, &plain);
                let mut lanes = Vec::new();
                row_supports_lanes(&bits, words, i, i + 1..n, &mut lanes);
                prop_assert_eq!(&lanes, &plain, "the plain compilation");
            }
            let (mut counts, mut lanes) = (vec![0; n], vec![0; n]);
            count_bits(&bits, words, &mut counts);
            count_bits_lanes(&bits, words, &mut lanes);
            prop_assert_eq!(&counts, &lanes);
            prop_assert_eq!(&counts, &(0..n).map(|i| (0..n).filter(|&m| is_set(i, m)).count() as u32).collect::<Vec<_>>());
            let (mut fast, all) = ([0; 2], [(0, n as u32 - 1), (n as u32 / 2, 0)]);
            pair_supports(&bits, words, &all, &mut fast);
            let mut lanes = [0; 2];
            pair_supports_lanes(&bits, words, &all, &mut lanes);
            prop_assert_eq!(&fast, &lanes, "the plain compilation");
            for (&(i, j), fast) in all.iter().zip(fast) {
                let (i, j) = (i as usize, j as usize);
                prop_assert_eq!(fast, (0..n).filter(|&m| is_set(i, m) && is_set(j, m)).count() as u32);
                prop_assert_eq!(is_set(i, j), is_set(j, i));
            }
        }
    }
}
