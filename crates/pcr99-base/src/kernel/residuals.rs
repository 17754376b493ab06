//! Residuals of a hypothesis at all matches: `‖s·R·a + t − b‖²`, times the precision of the match.

use super::{consensus::Affine, pack::pack};
use crate::{Soa, dispatch::compiled_twice};

compiled_twice! {
    /// Squared residual of every match, by the same operations as the count of inliers.
    pub fn squared_residuals(points: &Soa, model: &Affine, out: &mut [f64]) = squared_residuals_lanes
}

#[inline(always)]
fn squared_residuals_lanes(points: &Soa, model: &Affine, out: &mut [f64]) {
    let n = out.len();
    let [ax, ay, az] = points.a.each_ref().map(|column| &column[..n]);
    let [bx, by, bz] = points.b.each_ref().map(|column| &column[..n]);
    let ([r0, r1, r2], [t0, t1, t2]) = (model.linear, model.translation);
    for (i, out) in out.iter_mut().enumerate() {
        let ex = r0[0] * ax[i] + r0[1] * ay[i] + r0[2] * az[i] + t0 - bx[i];
        let ey = r1[0] * ax[i] + r1[1] * ay[i] + r1[2] * az[i] + t1 - by[i];
        let ez = r2[0] * ax[i] + r2[1] * ay[i] + r2[2] * az[i] + t2 - bz[i];
        *out = ex * ex + ey * ey + ez * ez;
    }
    // Without precisions there is nothing to multiply.
    for (out, precision) in out.iter_mut().zip(&points.precision) {
        *out *= precision;
    }
}

/// Sets bit `i` of `mask` where residual `i` is at most `limit`, and clears the other bits.
pub fn mask_within(residuals: &[f64], limit: f64, mask: &mut [u64]) {
    #[cfg(target_arch = "x86_64")]
    if crate::dispatch::has_avx2() {
        // SAFETY: the line above checked that this CPU has AVX2.
        unsafe { avx2::mask_within(residuals, limit, mask) };
        return;
    }
    mask_within_lanes(residuals, limit, mask);
}

/// [`mask_within`] a word at a time, which NEON, simd128 and SSE2 do in vectors.
fn mask_within_lanes(residuals: &[f64], limit: f64, mask: &mut [u64]) {
    let (words, rest) = residuals.as_chunks::<64>();
    for (residuals, word) in words.iter().zip(&mut *mask) {
        *word = pack(|k| residuals[k] <= limit);
    }
    mask_within_plain(rest, limit, &mut mask[words.len()..]);
}

fn mask_within_plain(residuals: &[f64], limit: f64, mask: &mut [u64]) {
    for (residuals, word) in residuals.chunks(64).zip(mask) {
        *word = (0..).zip(residuals).fold(0, |word, (bit, sq)| word | u64::from(*sq <= limit) << bit);
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub(super) fn mask_within(residuals: &[f64], limit: f64, mask: &mut [u64]) {
        let (words, rest) = residuals.as_chunks::<64>();
        let at_most = _mm256_set1_pd(limit);
        for (word, bits) in words.iter().zip(&mut *mask) {
            *bits = 0;
            for (k, four) in word.as_chunks::<4>().0.iter().enumerate() {
                let four = _mm256_setr_pd(four[0], four[1], four[2], four[3]);
                let within = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(four, at_most));
                *bits |= (within as u64) << (4 * k);
            }
        }
        super::mask_within_plain(rest, limit, &mut mask[words.len()..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::consensus::squared_residual, test_points};
    use proptest::{array::uniform3, prelude::*};

    proptest! {
        #[test]
        fn masks_are_those_within(residuals in prop::collection::vec(0.0..1.0_f64, 1..200), limit in 0.0..1.0_f64) {
            let mut fast = vec![7; residuals.len().div_ceil(64)];
            mask_within(&residuals, limit, &mut fast);
            for bit in 0..64 * fast.len() {
                let within = residuals.get(bit).is_some_and(|sq| *sq <= limit);
                prop_assert_eq!(fast[bit / 64] >> (bit % 64) & 1 == 1, within);
            }
            let mut plain = vec![7; fast.len()];
            mask_within_plain(&residuals, limit, &mut plain);
            prop_assert_eq!(&fast, &plain);
            let mut lanes = vec![7; fast.len()];
            mask_within_lanes(&residuals, limit, &mut lanes);
            prop_assert_eq!(lanes, plain);
        }

        #[test]
        fn fast_equals_reference(
            n in 1_usize..67, seed in any::<u64>(), linear in uniform3(uniform3(-2.0..2.0)), translation in uniform3(-2.0..2.0),
        ) {
            let (mut points, model) = (test_points::random(n, seed), Affine { linear, translation });
            if seed % 2 == 0 {
                points.precision = (0..n).map(|i| points.a[0][i].abs() + 0.1).collect();
            }
            let mut fast = vec![0.0; n];
            squared_residuals(&points, &model, &mut fast);
            let mut plain = vec![0.0; n];
            squared_residuals_lanes(&points, &model, &mut plain);
            prop_assert_eq!(&fast, &plain, "the plain compilation");
            for (i, fast) in fast.iter().enumerate() {
                prop_assert_eq!(fast.to_bits(), squared_residual(&points, &model, i).to_bits());
            }
        }
    }
}
