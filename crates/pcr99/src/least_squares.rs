//! The similarity that fits many matches best: least squares, by Horn's unit quaternions
//! (B. K. P. Horn, "Closed-form solution of absolute orientation using unit quaternions", JOSA A 4, 1987).
//!
//! The quaternion is always a proper rotation, which for other solutions takes a fix of the determinant.

use crate::{
    Similarity,
    eigen::symmetric_eigen,
    kernel::{
        Soa,
        consensus::{Affine, squared_residual},
        sums::FitSums,
    },
    similarity::{rotate, rotation_of},
};

/// The similarity that minimises `Σ ‖s·R·a + t − b‖²` over `inliers`; `None` when they do not fix it: fewer than three, or all
/// on a line.
pub fn fit(points: &Soa, inliers: &[u32], known_scale: Option<f64>) -> Option<Similarity> {
    fit_weighted(points, inliers, known_scale, |_| 1.0)
}

/// The same with a weight for each of the `inliers`, by their position in the list.
pub fn fit_weighted(
    points: &Soa,
    inliers: &[u32],
    known_scale: Option<f64>,
    weight: impl Fn(usize) -> f64,
) -> Option<Similarity> {
    if inliers.len() < 3 {
        return None;
    }
    let mut sums = FitSums::default();
    for (k, &i) in inliers.iter().enumerate() {
        let (a, b, w) = (points.source(i as usize), points.target(i as usize), weight(k));
        sums.count += w;
        for row in 0..3 {
            let wa = w * a[row];
            sums.a[row] += wa;
            sums.b[row] += w * b[row];
            sums.squares += wa * a[row];
            for (sum, b) in sums.products[row].iter_mut().zip(b) {
                *sum += wa * b;
            }
        }
    }
    fit_sums(&sums, known_scale)
}

/// The same from the sums over the matches; `None` when they are all on a line.
pub(crate) fn fit_sums(sums: &FitSums, known_scale: Option<f64>) -> Option<Similarity> {
    // Coordinates are centred already, so little is lost by subtracting the means afterwards.
    let (a_mean, b_mean) = (sums.a.map(|x| x / sums.count), sums.b.map(|x| x / sums.count));
    // M = Σ (a − ā)(b − b̄)ᵀ and Σ ‖a − ā‖².
    let (mut m, mut spread) = (sums.products, sums.squares);
    for row in 0..3 {
        spread -= sums.a[row] * a_mean[row];
        for column in 0..3 {
            m[row][column] -= sums.a[row] * b_mean[column];
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
pub(crate) fn rmse(points: &Soa, inliers: &[u32], model: &Similarity) -> Option<f64> {
    let model = Affine::from(model);
    let sum: f64 = inliers.iter().map(|&i| squared_residual(points, &model, i as usize)).sum();
    (!inliers.is_empty()).then(|| (sum / inliers.len() as f64).sqrt())
}

/// The rotation that maximises `tr(R M)`; `None` when more than one does.
pub fn best_rotation(m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
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
    Some(rotation_of(vectors.map(|row| row[largest])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kernel::test_points,
        random::Random,
        similarity::{cross, dot},
    };

    fn squared_error(points: &Soa, inliers: &[u32], model: &Similarity) -> f64 {
        inliers.len() as f64 * rmse(points, inliers, model).unwrap().powi(2)
    }

    /// A least-squares fit: no small change of any parameter makes it better.
    #[test]
    fn no_neighbour_is_better() {
        let points = test_points::random(40, 8);
        let inliers: Vec<u32> = (0..40).collect();
        let mut random = Random::new(3);
        for known in [None, Some(0.9)] {
            let best = fit(&points, &inliers, known).unwrap();
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

    #[test]
    fn mirrored_points_still_give_a_rotation() {
        let mut points = test_points::random(30, 8);
        points.b = points.a.clone();
        points.b[0].iter_mut().for_each(|x| *x = -*x);
        let [x, y, z] = fit(&points, &(0..30).collect::<Vec<_>>(), Some(1.0)).unwrap().rotation();
        let determinant = dot(cross(x, y), z);
        assert!((determinant - 1.0).abs() < 1e-12);
    }

    /// A line in general position: rounding makes no two eigenvalues quite equal, and the rotation about it would be made of that.
    #[test]
    fn a_line_is_seen_through_rounding() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let mut draw = || -> [f64; 3] { std::array::from_fn(|_| random.gaussian()) };
            let [a_from, a_along, b_from, b_along] = [draw(), draw(), draw(), draw()];
            let on = |from: [f64; 3], along: [f64; 3]| {
                let place = |axis: usize| (0..9).map(|i| from[axis] + f64::from(i) * along[axis]).collect();
                std::array::from_fn(place)
            };
            let points = Soa { a: on(a_from, a_along), b: on(b_from, b_along) };
            assert_eq!(fit(&points, &(0..9).collect::<Vec<_>>(), None), None);
        }
    }

    #[test]
    fn a_line_fixes_no_rotation() {
        let along: Vec<f64> = (0..9).map(f64::from).collect();
        let zeros = vec![0.0; 9];
        let points =
            Soa { a: [along.clone(), zeros.clone(), zeros.clone()], b: [zeros.clone(), along, zeros] };
        assert_eq!(fit(&points, &(0..9).collect::<Vec<_>>(), None), None);
        assert_eq!(fit(&points, &[0, 1], None), None);
    }
}
