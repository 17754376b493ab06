//! One match against a block of others: which of them are consistent with it, and what scale each pair suggests.
//!
//! As in [`edges`](super::edges), single precision is enough, and the columns are padded with NaN to a multiple of 64. Here, pairs that are so short that
//! the noise decides about them are consistent with nothing.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod hits;

use std::ops::Range;

pub use hits::{Condition, Hits, MOST_HITS, Seed};

use super::{edges::Columns, pack::pack};
use crate::dispatch::compiled_twice;

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
    if crate::dispatch::has_avx512() {
        // SAFETY: the line above checked that this CPU has AVX-512.
        unsafe { avx512::consistent_block(columns, i, words, tau_sq, bits) };
        return;
    } else if crate::dispatch::has_avx2() {
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
    if crate::dispatch::has_avx512() {
        // SAFETY: the line above checked that this CPU has AVX-512.
        unsafe { avx512::scale_bins(columns, i, words, per_unit, most, bins) };
        return;
    } else if crate::dispatch::has_avx2() {
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

/// Sets the bits of the matches whose bin is `bin` or the next one: 64 matches for each word.
pub fn in_window(bins: &[u16], bin: u16, bits: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::in_window(bins, bin, bits) };
        return;
    }
    in_window_lanes(bins, bin, bits);
}

/// [`in_window`] a word at a time, which NEON, simd128 and SSE2 do in vectors.
fn in_window_lanes(bins: &[u16], bin: u16, bits: &mut [u64]) {
    for (bins, out) in bins.as_chunks::<64>().0.iter().zip(bits) {
        *out = pack(|k| bins[k].wrapping_sub(bin) < 2);
    }
}

compiled_twice! {
    /// First place from `from` on at which a count and the next one add up to the limit there; `None` when there is none. Counts are below 2¹⁵.
    pub fn first_window(counts: &[u16], limits: &[u16], from: usize) -> Option<usize> = first_window_lanes
}

#[inline(always)]
fn first_window_lanes(counts: &[u16], limits: &[u16], from: usize) -> Option<usize> {
    const STEP: usize = 32;
    let end = limits.len().min(counts.len().saturating_sub(1));
    let is_full = |k: usize| counts[k] + counts[k + 1] >= limits[k];
    let mut at = from;
    while at + STEP <= end {
        let (one, next) = (&counts[at..at + STEP], &counts[at + 1..at + 1 + STEP]);
        let limits = &limits[at..at + STEP];
        let full = (0..STEP).fold(false, |any, k| any | (one[k] + next[k] >= limits[k]));
        if full {
            break;
        }
        at += STEP;
    }
    (at..end).find(|&k| is_full(k))
}
#[cfg(test)]
mod tests {
    use super::{hits::measure_hits_lanes, *};
    #[cfg(target_arch = "x86_64")]
    use crate::dispatch::has_avx2;
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
            #[cfg(target_arch = "x86_64")]
            if has_avx2() {
                // SAFETY: the line above checked that this CPU has AVX2.
                unsafe { avx2::consistent_block(&columns, i, range.clone(), (tau * tau) as f32, &mut lanes) };
                prop_assert_eq!(&lanes, &plain);
            }
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
                let (a, b) = hits.point(k);
                let plain = hits.consistent_plain(a, b, scale, tau_sq);
                prop_assert_eq!(hits.consistent_with(k, scale, tau_sq), plain);
                prop_assert_eq!(hits.consistent_lanes(a, b, scale, tau_sq), plain);
            }
            hits.measure(&columns, i);
            let point = |columns: &[Vec<f32>; 3]| columns.each_ref().map(|column| column[i]);
            let direct = hits.consistent(point(&columns.a), point(&columns.b), scale, tau_sq);
            prop_assert_eq!(hits.consistent_with_centre_plain(scale, tau_sq), direct);
            for is_scale_unknown in [false, true] {
                for least in [2, 4] {
                    let condition = Condition { is_scale_unknown, tau_sq, least };
                    let (mut seen, mut seen_by_lanes) = (0, 0);
                    let found = hits.first_seed(1..9, condition, &mut seen);
                    prop_assert_eq!(hits.first_seed_lanes(1..9, condition, &mut seen_by_lanes), found);
                    #[cfg(target_arch = "x86_64")]
                    if has_avx2() {
                        // SAFETY: the line above checked that this CPU has AVX2 and POPCNT.
                        let again = unsafe { avx2::first_seed(&hits, 1..9, condition, &mut 0) };
                        prop_assert_eq!(again, found);
                    }
                    let common = |k: usize| {
                        let scale_sq = if is_scale_unknown { hits.scale_sq(k) } else { 1.0 };
                        let around = hits.consistent_with(k, scale_sq, tau_sq);
                        around & if is_scale_unknown { hits.consistent_with_centre_plain(scale_sq, tau_sq) } else { u64::MAX }
                    };
                    let wanted = (1..hits.len().min(9)).find(|&k| common(k).count_ones() >= least);
                    prop_assert_eq!(found.map(|seed| (seed.hit, seed.common)), wanted.map(|k| (k, common(k))));
                    let last = wanted.unwrap_or(hits.len().min(9).saturating_sub(1));
                    prop_assert_eq!(seen, (1..=last).map(|k| common(k).count_ones()).sum::<u32>());
                    prop_assert_eq!(seen_by_lanes, seen);
                }
            }
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
            #[cfg(target_arch = "x86_64")]
            if has_avx2() {
                // SAFETY: the line above checked that this CPU has AVX2.
                unsafe { avx2::scale_bins(&columns, i, 0..words, per_unit, most, &mut lanes) };
                prop_assert_eq!(&lanes, &plain);
            }
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
        fn the_first_full_window_is_found(counts in proptest::collection::vec(0_u16..9, 1..200), limit in 1_u16..18, from in 0_usize..200) {
            let limits = vec![limit; counts.len()];
            let plain = (from..counts.len().saturating_sub(1)).find(|&k| counts[k] + counts[k + 1] >= limit);
            prop_assert_eq!(first_window(&counts, &limits, from), plain);
            prop_assert_eq!(first_window_lanes(&counts, &limits, from), plain);
        }
    }
}
