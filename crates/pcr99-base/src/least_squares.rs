//! The similarity that fits many matches best in the least-squares sense, by Horn's unit quaternions
//! (B. K. P. Horn, "Closed-form solution of absolute orientation using unit quaternions", JOSA A 4, 1987).
//!
//! A quaternion is always a proper rotation. Solutions by singular values have to correct the sign of the determinant.

use crate::{
    Similarity, Soa,
    eigen::symmetric_eigen,
    kernel::{
        consensus::{Affine, squared_distance, squared_residual},
        sums::FitSums,
    },
    similarity::rotation_of,
    upright::Tilt,
    vector::{cross, dot, rotate},
};

/// The similarity that minimises `Σ ‖s·R·a + t − b‖²` over `inliers`, each weighted by its precision; `None` when they do not determine it: fewer
/// than three, or all on a line.
pub fn fit(points: &Soa, inliers: &[u32], known_scale: Option<f64>) -> Option<Similarity> {
    fit_weighted(points, inliers, known_scale, |_| 1.0)
}

/// As [`fit`], with a further weight for each of the `inliers`, by their position in the list.
pub fn fit_weighted(
    points: &Soa,
    inliers: &[u32],
    known_scale: Option<f64>,
    weight: impl Fn(usize) -> f64,
) -> Option<Similarity> {
    if inliers.len() < 3 {
        return None;
    }
    fit_sums(&weighted_sums(points, inliers, weight), known_scale)
}

/// Sums over the `inliers`, each weighted by its precision and a further weight by its position in the list.
pub fn weighted_sums(points: &Soa, inliers: &[u32], weight: impl Fn(usize) -> f64) -> FitSums {
    let mut sums = FitSums::default();
    for (k, &i) in inliers.iter().enumerate() {
        let (a, b) = (points.source(i as usize), points.target(i as usize));
        let w = weight(k) * points.precision_of(i as usize);
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
    sums
}

/// As [`fit`], from the sums over the matches; `None` when they are all on a line.
pub fn fit_sums(sums: &FitSums, known_scale: Option<f64>) -> Option<Similarity> {
    fit_sums_by(sums, known_scale, best_rotation)
}

/// As [`fit_sums`], with a rotation that tilts the third axis by no more than `tilt`; `None` when the turn about that axis is undetermined. Two matches are enough.
pub fn fit_sums_upright(sums: &FitSums, known_scale: Option<f64>, tilt: &Tilt) -> Option<Similarity> {
    fit_sums_by(sums, known_scale, |m| tilt.best_rotation(m))
}

fn fit_sums_by(
    sums: &FitSums,
    known_scale: Option<f64>,
    best_rotation: impl Fn(&[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]>,
) -> Option<Similarity> {
    // Coordinates are centred already, so subtracting the means afterwards loses few digits.
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
        Similarity::new_unchecked(
            scale,
            rotation,
            std::array::from_fn(|axis| b_mean[axis] - scale * moved[axis]),
        )
    })
}

/// Root mean square distance between moved sources and targets over `inliers`, whatever their precision; `None` when there are none.
pub fn rmse(points: &Soa, inliers: &[u32], model: &Similarity) -> Option<f64> {
    mean_root(points, inliers, model, squared_distance)
}

/// Root mean square residual over `inliers`, each relative to its noise; `None` when there are none. It equals [`rmse`] when all matches are alike.
pub fn relative_rmse(points: &Soa, inliers: &[u32], model: &Similarity) -> Option<f64> {
    mean_root(points, inliers, model, squared_residual)
}

fn mean_root(
    points: &Soa,
    inliers: &[u32],
    model: &Similarity,
    square: impl Fn(&Soa, &Affine, usize) -> f64,
) -> Option<f64> {
    let model = Affine::from(model);
    let sum: f64 = inliers.iter().map(|&i| square(points, &model, i as usize)).sum();
    (!inliers.is_empty()).then(|| (sum / inliers.len() as f64).sqrt())
}

/// The rotation that maximises `tr(R M)`; `None` when more than one does.
pub fn best_rotation(m: &[[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let quaternion = quickly(m).or_else(|| carefully(m))?;
    Some(rotation_of(quaternion))
}

/// Horn's matrix `N`: its eigenvector of the largest eigenvalue is the quaternion of the best rotation.
pub(crate) fn horn(m: &[[f64; 3]; 3]) -> [[f64; 4]; 4] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = *m;
    [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ]
}

/// The quaternion from all eigenvectors of `N`; `None` when the largest eigenvalue is a double one.
fn carefully(m: &[[f64; 3]; 3]) -> Option<[f64; 4]> {
    let (values, vectors) = symmetric_eigen(&horn(m));
    let size = values[0].abs().max(values[3].abs());
    // Points on a line leave the rotation about it open: the two largest eigenvalues are equal up to rounding.
    let gap = values[3] - values[2];
    if gap.is_nan() || gap <= 1e-12 * size {
        return None;
    }
    Some(vectors[3])
}

/// Smallest product of the gaps between the largest eigenvalue and the others, for `‖M‖ = 1`, for [`quickly`]. Below it, the quick way loses digits.
const WELL_APART: f64 = 0.01;
/// Largest number of steps of Newton's method. It doubles the digits with each step once it is close; if it has not converged by then, the eigenvalues are
/// not well apart.
const MOST_STEPS: usize = 12;
/// Largest last step of Newton's method, relative to `‖M‖`. The next step would be about its square, below the rounding error.
const SETTLED: f64 = 1e-9;

/// A multiple of the quaternion, from the largest eigenvalue alone; `None` when it is not well apart from the others.
///
/// `N` has the characteristic polynomial `p(λ) = λ⁴ − 2‖M‖²·λ² − 8 det M·λ + det N`, all of whose roots are real. Newton's method
/// descends from the upper bound `√3·‖M‖` to the largest root. The eigenvector is perpendicular to the rows of `N − λ`.
fn quickly(m: &[[f64; 3]; 3]) -> Option<[f64; 4]> {
    let size = m.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    let m = m.map(|row| row.map(|x| x / size));
    let n = horn(&m);
    let [x, y, z] = m;
    let linear = -8.0 * dot(x, cross(y, z));
    let constant = dot4(n[0], perpendicular(n[1], n[2], n[3]));
    let mut lambda = 3.0_f64.sqrt();
    // The slope at the root is the product of the gaps.
    let slope = (0..MOST_STEPS).find_map(|_| {
        let square = lambda * lambda;
        let value = ((square - 2.0) * lambda + linear) * lambda + constant;
        let slope = 4.0 * (square - 1.0) * lambda + linear;
        let step = value / slope;
        lambda -= step;
        (step.abs() <= SETTLED).then_some(slope)
    })?;
    if slope < WELL_APART {
        return None;
    }
    let mut rows = n;
    (0..4).for_each(|k| rows[k][k] -= lambda);
    let [p, q, r, s] = rows;
    // Each of the four is the eigenvector times the slope times one of its entries, and one entry is at least a half.
    [[q, r, s], [p, r, s], [p, q, s], [p, q, r]]
        .into_iter()
        .map(|[u, v, w]| perpendicular(u, v, w))
        .find(|x| dot4(*x, *x) >= 0.2 * slope * slope)
}

/// The vector perpendicular to three others, with the volume that they span as its length.
fn perpendicular(u: [f64; 4], v: [f64; 4], w: [f64; 4]) -> [f64; 4] {
    let minor = |i: usize, j: usize| v[i] * w[j] - v[j] * w[i];
    let (m01, m02, m03) = (minor(0, 1), minor(0, 2), minor(0, 3));
    let (m12, m13, m23) = (minor(1, 2), minor(1, 3), minor(2, 3));
    [
        u[1] * m23 - u[2] * m13 + u[3] * m12,
        -u[0] * m23 + u[2] * m03 - u[3] * m02,
        u[0] * m13 - u[1] * m03 + u[3] * m01,
        -u[0] * m12 + u[1] * m02 - u[2] * m01,
    ]
}

fn dot4(a: [f64; 4], b: [f64; 4]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{random::Random, test_points};

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
                )
                .expect("a similarity");
                assert!(squared_error(&points, &inliers, &best.then(&nudge)) >= least);
            }
        }
    }

    /// A match with twice the precision counts as often as two copies of it.
    #[test]
    fn precision_is_a_weight() {
        let mut points = test_points::random(20, 9);
        let inliers: Vec<u32> = (0..20).collect();
        let doubled: Vec<u32> = (0..20).chain(0..5).collect();
        let copies = fit(&points, &doubled, None).unwrap();
        points.precision = (0..20).map(|i| if i < 5 { 2.0 } else { 1.0 }).collect();
        let weighted = fit(&points, &inliers, None).unwrap();
        assert!((copies.scale() / weighted.scale() - 1.0).abs() < 1e-12);
        for (one, other) in copies.translation().into_iter().zip(weighted.translation()) {
            assert!((one - other).abs() < 1e-12);
        }
        let twice = relative_rmse(&points, &inliers[..5], &copies).unwrap()
            / rmse(&points, &inliers[..5], &copies).unwrap();
        assert!((twice - 2.0_f64.sqrt()).abs() < 1e-12, "{twice}");
    }

    /// Both ways find the same quaternion, also where the eigenvalues are near each other, of any size, mirrored or flat.
    #[test]
    fn quickly_is_as_good_as_carefully() {
        let (mut random, mut quick) = (Random::new(4), 0);
        for trial in 0..4000 {
            let flatten = [1.0, 0.5, 0.1, 0.01, 1e-3, 0.0][trial % 6];
            let size = [1.0, 1e-100, 1e100][trial % 3];
            let mut draw = || -> [f64; 3] { std::array::from_fn(|_| random.gaussian()) };
            let stretch = [[1.0, 1.0, flatten], [1.0, flatten, flatten]][trial / 6 % 2];
            let points: Vec<([f64; 3], [f64; 3])> = (0..5).map(|_| (draw(), draw())).collect();
            let m = std::array::from_fn(|row| {
                std::array::from_fn(|column| {
                    let term = |(a, b): &([f64; 3], [f64; 3])| {
                        a[row] * stretch[row] * (a[column] * stretch[column] + 0.1 * b[column])
                    };
                    size * points.iter().map(term).sum::<f64>()
                })
            });
            let Some(found) = quickly(&m) else { continue };
            quick += 1;
            let careful = carefully(&m).unwrap();
            let length = dot4(found, found).sqrt().copysign(dot4(found, careful));
            let off = found.iter().zip(careful).map(|(x, y)| (x / length - y).abs()).fold(0.0, f64::max);
            assert!(off < 1e-12, "{trial}: {off}");
        }
        assert!(quick > 2000, "{quick}");
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
            let points = Soa::new(on(a_from, a_along), on(b_from, b_along));
            assert_eq!(fit(&points, &(0..9).collect::<Vec<_>>(), None), None);
        }
    }

    #[test]
    fn a_line_fixes_no_rotation() {
        let along: Vec<f64> = (0..9).map(f64::from).collect();
        let zeros = vec![0.0; 9];
        let points = Soa::new([along.clone(), zeros.clone(), zeros.clone()], [zeros.clone(), along, zeros]);
        assert_eq!(fit(&points, &(0..9).collect::<Vec<_>>(), None), None);
        assert_eq!(fit(&points, &[0, 1], None), None);
    }
}
