//! The transform from all inliers (Algorithm 1, line 23): least squares, by Horn's unit quaternions
//! (B. K. P. Horn, "Closed-form solution of absolute orientation using unit quaternions", JOSA A 4, 1987).
//!
//! The quaternion is always a proper rotation, which for other solutions takes a fix of the determinant. The eigenvector is
//! found by Jacobi rotations: 4 × 4 needs no linear-algebra library, and it is the same on every CPU.

use crate::{
    Similarity,
    kernel::{
        Soa,
        consensus::{Affine, squared_residual},
    },
    similarity::rotate,
};

/// The similarity that minimises `Σ ‖s·R·a + t − b‖²` over `inliers`; `None` when they do not fix it: fewer than three, or all
/// on a line.
pub(super) fn refit(points: &Soa, inliers: &[usize], known_scale: Option<f64>) -> Option<Similarity> {
    if inliers.len() < 3 {
        return None;
    }
    let mean = |columns: &[Vec<f64>; 3]| -> [f64; 3] {
        let sum = |column: &Vec<f64>| inliers.iter().map(|&i| column[i]).sum::<f64>();
        columns.each_ref().map(|column| sum(column) / inliers.len() as f64)
    };
    let (a_mean, b_mean) = (mean(&points.a), mean(&points.b));
    // M = Σ (a − ā)(b − b̄)ᵀ and Σ ‖a − ā‖².
    let (mut m, mut spread) = ([[0.0; 3]; 3], 0.0);
    for &i in inliers {
        let (a, b) = (points.source(i), points.target(i));
        for row in 0..3 {
            let x = a[row] - a_mean[row];
            spread += x * x;
            for column in 0..3 {
                m[row][column] += x * (b[column] - b_mean[column]);
            }
        }
    }
    let rotation = best_rotation(&m)?;
    // s = Σ (b − b̄)ᵀ R (a − ā) / Σ ‖a − ā‖² = tr(R M) / Σ ‖a − ā‖².
    let trace: f64 = (0..3).map(|row| (0..3).map(|k| rotation[row][k] * m[k][row]).sum::<f64>()).sum();
    let scale = known_scale.unwrap_or(trace / spread);
    (scale > 0.0 && scale.is_finite()).then(|| {
        let moved = rotate(&rotation, a_mean);
        Similarity::new(scale, rotation, std::array::from_fn(|axis| b_mean[axis] - scale * moved[axis]))
    })
}

/// Root mean square residual over `inliers`; `None` when there are none.
pub(super) fn rmse(points: &Soa, inliers: &[usize], model: &Similarity) -> Option<f64> {
    let model = Affine::from(model);
    let sum: f64 = inliers.iter().map(|&i| squared_residual(points, &model, i)).sum();
    (!inliers.is_empty()).then(|| (sum / inliers.len() as f64).sqrt())
}

/// The rotation that maximises `tr(R M)`; `None` when more than one does.
fn best_rotation(m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = *m;
    // Horn's matrix N: its eigenvector of the largest eigenvalue is the quaternion.
    let n = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ];
    let (values, vectors) = symmetric_eigen(n);
    let largest = (0..4).fold(0, |best, i| if values[i] > values[best] { i } else { best });
    let second = (0..4).filter(|&i| i != largest).map(|i| values[i]).fold(f64::NEG_INFINITY, f64::max);
    let size = values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    // Points on a line leave the rotation about it open: two eigenvalues are equal up to rounding.
    let gap = values[largest] - second;
    if gap.is_nan() || gap <= 1e-12 * size {
        return None;
    }
    let q = vectors.map(|row| row[largest]);
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    let [w, x, y, z] = q.map(|c| c / norm);
    Some([
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ])
}

/// Eigenvalues and, as columns, eigenvectors of a symmetric matrix, by cyclic Jacobi rotations.
fn symmetric_eigen(mut a: [[f64; 4]; 4]) -> ([f64; 4], [[f64; 4]; 4]) {
    let mut vectors: [[f64; 4]; 4] =
        std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    // Convergence is quadratic: five or six sweeps. The bound only makes the end certain.
    for _ in 0..50 {
        let off: f64 = (0..4).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        let diagonal: f64 = (0..4).map(|i| a[i][i] * a[i][i]).sum();
        if off <= 1e-34 * diagonal {
            break;
        }
        for p in 0..3 {
            for q in p + 1..4 {
                if a[p][q] == 0.0 {
                    continue;
                }
                // tan of the angle that makes a[p][q] zero, the smaller of the two.
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                let turn = |x: f64, y: f64| (c * x - s * y, s * x + c * y);
                for row in a.iter_mut().chain(&mut vectors) {
                    (row[p], row[q]) = turn(row[p], row[q]);
                }
                let (row_p, row_q) = (a[p], a[q]);
                for (k, (x, y)) in row_p.into_iter().zip(row_q).enumerate() {
                    (a[p][k], a[q][k]) = turn(x, y);
                }
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{kernel::test_points, random::Random};
    use proptest::{array::uniform4, prelude::*};

    fn squared_error(points: &Soa, inliers: &[usize], model: &Similarity) -> f64 {
        inliers.len() as f64 * rmse(points, inliers, model).unwrap().powi(2)
    }

    proptest! {
        #[test]
        fn eigenvectors_satisfy_their_equation(lower in uniform4(uniform4(-1.0..1.0_f64))) {
            let a: [[f64; 4]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| lower[i.max(j)][i.min(j)]));
            let (values, vectors) = symmetric_eigen(a);
            for k in 0..4 {
                for row in 0..4 {
                    let left: f64 = (0..4).map(|j| a[row][j] * vectors[j][k]).sum();
                    prop_assert!((left - values[k] * vectors[row][k]).abs() < 1e-13);
                }
            }
        }
    }

    /// A least-squares fit: no small change of any parameter makes it better.
    #[test]
    fn no_neighbour_is_better() {
        let points = test_points::random(40, 8);
        let inliers: Vec<usize> = (0..40).collect();
        let mut random = Random::new(3);
        for known in [None, Some(0.9)] {
            let best = refit(&points, &inliers, known).unwrap();
            let least = squared_error(&points, &inliers, &best);
            for _ in 0..200 {
                let mut small = || 1e-3 * random.gaussian();
                let turn = rotation_of([1.0, small(), small(), small()]);
                let nudge = Similarity::new(
                    if known.is_none() { 1.0 + small() } else { 1.0 },
                    turn,
                    [small(), small(), small()],
                );
                assert!(squared_error(&points, &inliers, &best.then(&nudge)) >= least);
            }
        }
    }

    fn rotation_of(q: [f64; 4]) -> [[f64; 3]; 3] {
        let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
        let [w, x, y, z] = q.map(|c| c / norm);
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    }

    #[test]
    fn mirrored_points_still_give_a_rotation() {
        let mut points = test_points::random(30, 8);
        points.b = points.a.clone();
        points.b[0].iter_mut().for_each(|x| *x = -*x);
        let [x, y, z] = refit(&points, &(0..30).collect::<Vec<_>>(), Some(1.0)).unwrap().rotation();
        let determinant = crate::correspondences::cross(x, y).iter().zip(z).map(|(n, z)| n * z).sum::<f64>();
        assert!((determinant - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_line_fixes_no_rotation() {
        let along: Vec<f64> = (0..9).map(f64::from).collect();
        let zeros = vec![0.0; 9];
        let points =
            Soa { a: [along.clone(), zeros.clone(), zeros.clone()], b: [zeros.clone(), along, zeros] };
        assert_eq!(refit(&points, &(0..9).collect::<Vec<_>>(), None), None);
        assert_eq!(refit(&points, &[0, 1], None), None);
    }
}
