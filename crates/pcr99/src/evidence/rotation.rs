//! Standard deviation of the rotation.
//!
//! With noise of standard deviation `σ`, a small rotation `ω` has the covariance `σ²/s² · J⁻¹`, where
//! `J = Σ ‖a − ā‖²·I − (a − ā)(a − ā)ᵀ` is the inertia of the inliers. The smallest eigenvalue of `J` belongs to the axis that the inliers
//! determine least; for a rod, that is its own axis. Where matches differ in noise, `σ` is that of the median match, and each match counts in `ā` and `J`
//! with its precision.

use super::Consensus;
use pcr99_base::{
    eigen::symmetric_eigen,
    vector::{dot, minus},
};

/// Largest number of inliers considered. More are sampled evenly.
const LARGEST_SAMPLE: usize = 128;

/// Largest number of inliers without which the rotation is looked at.
const MOST_LEFT_OUT: usize = 3;
/// How much larger the deviation may be without the inliers that determine the rotation most. Half of their share comes back with this factor.
const LEVERAGE: f64 = 2.0;

/// Standard deviation of the rotation about the axis that is determined least, in radians; infinite when it is undetermined.
///
/// A single wrong match beside a line of right ones would determine the rotation about the line. So the rotation is also looked at without the inlier that
/// is farthest from the axis, and without as many more as chance adds: `wrong` of them on average. When the deviation is more than twice as large
/// then, half of it counts.
pub(super) fn rotation_deviation(consensus: &Consensus<'_>, wrong: f64) -> f64 {
    let Consensus { points, model, inliers, sum, parameters, tilt, .. } = *consensus;
    let step = inliers.len().div_ceil(LARGEST_SAMPLE).max(1);
    let mut some: Vec<([f64; 3], f64)> = inliers
        .iter()
        .step_by(step)
        .map(|&i| (points.source(i as usize), points.precision_of(i as usize)))
        .collect();
    let all = some.len() as f64;
    let freedom = (3.0 * inliers.len() as f64 - parameters).max(1.0);
    let variance = sum / freedom;
    // What the vertical says about the two horizontal axes, as inertia: a tilt within a disc has the standard deviation of half its radius.
    let held = tilt.map(|tilt| {
        let per_inlier = variance / (model.scale() * 0.5 * tilt.radians()).powi(2);
        per_inlier * (all / inliers.len() as f64)
    });
    let deviation = |inertia: f64| {
        let deviation = (variance / (inertia * (inliers.len() as f64 / all))).sqrt() / model.scale();
        if deviation.is_nan() { f64::INFINITY } else { deviation }
    };
    let (inertia, mut axis, mut mean) = least_inertia(&some, held);
    let with_all = deviation(inertia);
    let mut without = with_all;
    for _ in 0..MOST_LEFT_OUT.min(1 + wrong.round() as usize) {
        let distance_sq = |(a, weight): &([f64; 3], f64)| {
            let off = minus(*a, mean);
            weight * (dot(off, off) - dot(off, axis).powi(2))
        };
        let farthest =
            (0..some.len()).max_by(|&k, &l| distance_sq(&some[k]).total_cmp(&distance_sq(&some[l])));
        let Some(farthest) = farthest else { return f64::INFINITY };
        some.swap_remove(farthest);
        let inertia;
        (inertia, axis, mean) = least_inertia(&some, held);
        without = deviation(inertia);
    }
    with_all.max(without / LEVERAGE)
}

/// Smallest inertia of some points with weights, its axis, and their mean. `held` is added to that about horizontal axes.
fn least_inertia(some: &[([f64; 3], f64)], held: Option<f64>) -> (f64, [f64; 3], [f64; 3]) {
    let (mut total, mut mean) = (0.0, [0.0; 3]);
    for (a, weight) in some {
        total += weight;
        mean = std::array::from_fn(|axis| mean[axis] + weight * a[axis]);
    }
    let mean = mean.map(|sum| sum / total);
    let mut spread = [[0.0; 3]; 3];
    for (a, weight) in some {
        let off = minus(*a, mean);
        for row in 0..3 {
            for column in 0..3 {
                spread[row][column] += weight * (off[row] * off[column]);
            }
        }
    }
    if let Some(held) = held {
        return least_held(&spread, held, mean);
    }
    // The eigenvalues of J are sums of two eigenvalues of the spread; the smallest leaves out the largest, which comes last.
    let (spreads, axes) = symmetric_eigen(&spread);
    (spreads[0].max(0.0) + spreads[1].max(0.0), axes[2], mean)
}

/// The same where the vertical is known. An infinite `held` leaves the turn about it.
fn least_held(spread: &[[f64; 3]; 3], held: f64, mean: [f64; 3]) -> (f64, [f64; 3], [f64; 3]) {
    let all = spread[0][0] + spread[1][1] + spread[2][2];
    if held.is_nan() || held > MOST_HELD * all {
        return (spread[0][0] + spread[1][1], [0.0, 0.0, 1.0], mean);
    }
    let entry = |row: usize, column: usize| {
        let diagonal = if row == column { all + if row < 2 { held } else { 0.0 } } else { 0.0 };
        diagonal - spread[row][column]
    };
    let inertia = std::array::from_fn(|row| std::array::from_fn(|column| entry(row, column)));
    let (values, axes): ([f64; 3], _) = symmetric_eigen(&inertia);
    (values[0].max(0.0), axes[0], mean)
}

/// What holds the vertical, relative to the inertia, from which it is kept exactly.
const MOST_HELD: f64 = 1e9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Similarity, evidence::fitted_parameters, random::Random};
    use pcr99_base::{
        Soa,
        kernel::consensus::{Affine, squared_residual},
        least_squares,
    };

    /// With a known scale one parameter fewer is fitted, so the same residuals mean less noise.
    #[test]
    fn a_known_scale_leaves_one_more_degree_of_freedom() {
        let points = pcr99_base::test_points::random(4, 3);
        let model = Similarity::IDENTITY;
        let deviation = |known_scale| {
            let consensus = Consensus {
                points: &points,
                model: &model,
                inliers: &[0, 1, 2, 3],
                residuals: &[0.01; 4],
                sum: 0.04,
                delta: 1.0,
                parameters: fitted_parameters(known_scale, None),
                tilt: None,
            };
            rotation_deviation(&consensus, 0.0)
        };
        // Twelve coordinates less six or seven parameters: variances in the ratio 1/6 to 1/5.
        let ratio = deviation(Some(1.0)) / deviation(None);
        assert!((ratio - (5.0_f64 / 6.0).sqrt()).abs() < 1e-12, "{ratio}");
    }

    /// The deviation agrees with that of repeated fits.
    #[test]
    fn it_is_the_deviation_of_repeated_fits() {
        assert_deviation_of_repeated_fits(|_| 1.0);
    }

    /// Half of the matches have ten times the noise of the others.
    #[test]
    fn differing_noise_is_taken_into_account() {
        assert_deviation_of_repeated_fits(|i| if i % 2 == 0 { 1.0 } else { 10.0 });
    }

    /// Compares the deviation with that of fits of a rod, with this factor of the noise of each match.
    fn assert_deviation_of_repeated_fits(factor: impl Fn(usize) -> f64) {
        let mut random = Random::new(7);
        let (sigma, scale) = (0.01, 2.0);
        // A rod ten times as long as thick.
        let source: Vec<[f64; 3]> =
            (0..60).map(|_| [random.uniform(), 0.1 * random.uniform(), 0.1 * random.uniform()]).collect();
        let inliers: Vec<u32> = (0..60).collect();
        let (mut turns_sq, mut said) = (0.0, 0.0);
        let trials = 400;
        for _ in 0..trials {
            let mut points = Soa::default();
            for (i, a) in source.iter().enumerate() {
                for (axis, x) in a.iter().enumerate() {
                    points.a[axis].push(*x);
                    points.b[axis].push(scale * x + factor(i) * sigma * random.gaussian());
                }
                points.precision.push(1.0 / factor(i).powi(2));
            }
            let model = least_squares::fit(&points, &inliers, None).unwrap();
            let affine = Affine::from(&model);
            let residuals: Vec<f64> = (0..60).map(|i| squared_residual(&points, &affine, i)).collect();
            let consensus = Consensus {
                points: &points,
                model: &model,
                inliers: &inliers,
                residuals: &residuals,
                sum: residuals.iter().sum(),
                delta: 1.0,
                parameters: fitted_parameters(None, None),
                tilt: None,
            };
            said += rotation_deviation(&consensus, 0.0) / f64::from(trials);
            // The rotation about the rod's own axis, x.
            turns_sq += model.rotation()[2][1].powi(2) / f64::from(trials);
        }
        let ratio = said / turns_sq.sqrt();
        assert!((0.85..1.15).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_line_leaves_the_rotation_undetermined() {
        let mut points = Soa::default();
        for i in 0..9 {
            for axis in 0..3 {
                points.a[axis].push(f64::from(i) * [1.0, 2.0, -1.0][axis]);
                points.b[axis].push(f64::from(i) * [1.0, 2.0, -1.0][axis]);
            }
        }
        let inliers: Vec<u32> = (0..9).collect();
        let model = Similarity::IDENTITY;
        let consensus = Consensus {
            points: &points,
            model: &model,
            inliers: &inliers,
            residuals: &[1e-6; 9],
            sum: 9e-6,
            delta: 1.0,
            parameters: fitted_parameters(None, None),
            tilt: None,
        };
        assert!(rotation_deviation(&consensus, 0.0).to_degrees() > 90.0);
    }
}
