//! All residuals of a hypothesis: `‖s·R·a + t − b‖²`.

use super::{Soa, compiled_twice, consensus::Affine};

compiled_twice! {
    /// Writes the squared residual of every point, by the same operations as the count of inliers.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{consensus::squared_residual, test_points};
    use proptest::{array::uniform3, prelude::*};

    proptest! {
        #[test]
        fn fast_equals_reference(
            n in 1_usize..67, seed in any::<u64>(), linear in uniform3(uniform3(-2.0..2.0)), translation in uniform3(-2.0..2.0),
        ) {
            let (points, model) = (test_points::random(n, seed), Affine { linear, translation });
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
