//! The final fit, which weights each inlier by the probability that it is right.
//!
//! Among many wrong matches some lie within the threshold by chance and distort a least-squares fit. Their expected number is
//! `(n − k)·α(δ)`. Matches that follow another motion distort it more, where the two motions are close: their density is that of the other
//! motion's residuals. Where matches differ in noise, a noisy one is more often wrong than a precise one.
//!
//! * Few inliers are left out one at a time. The distance of a match from where the fit of the others expects it says far more than
//!   its residual under a fit that it has distorted itself.
//! * Among many inliers, one distorts little. All residuals are compared with a Gaussian of the noise found, and a few iterations
//!   determine weights, noise and fit.

use super::candidate::{Candidate, Model};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, squared_residual},
    least_squares,
};

use crate::Similarity;

/// Expected wrong matches, as a fraction of the inliers, below which the plain fit is kept.
const HARMLESS: f64 = 0.002;
/// Largest number of inliers that are left out one at a time.
const FEW: usize = 32;
/// Largest number of iterations of weights and fits.
const ITERATIONS: usize = 6;
/// Change of a weight below which the iteration ends.
const SETTLED: f64 = 0.05;

/// The weighted fit of a candidate's inliers; `None` where it is not needed or not possible. `others` are motions that some of the inliers may follow.
pub(super) fn polish(
    points: &Soa,
    candidate: &Candidate,
    known: &Model,
    others: &[&Candidate],
) -> Option<Similarity> {
    let inliers = &candidate.inliers;
    let (n, k) = (points.len() as f64, inliers.len() as f64);
    let wrong = (n - k) * known.background.chance(known.delta);
    if wrong > 0.5 * k || (wrong < HARMLESS * k && others.is_empty()) {
        return None;
    }
    let ball = 4.0 / 3.0 * std::f64::consts::PI * known.delta.powi(3);
    let mut density_of_wrong: Vec<f64> =
        inliers.iter().map(|&i| wrong / ball * relative_chance(points, known, i)).collect();
    for other in others {
        let finest_sq = known.background.finest().powi(2);
        let rmse = least_squares::relative_rmse(points, &other.inliers, &other.model)?;
        let gaussian = Gaussian::new(other.inliers.len() as f64, (rmse * rmse / 3.0).max(finest_sq));
        let affine = Affine::from(&other.model);
        for (density, &i) in density_of_wrong.iter_mut().zip(inliers) {
            *density += gaussian.density(squared_residual(points, &affine, i as usize));
        }
    }
    if inliers.len() <= FEW {
        leave_out(points, inliers, known, &density_of_wrong)
    } else {
        reweight(points, candidate, known, &density_of_wrong)
    }
}

/// The density of matches around where a motion moves their sources.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gaussian {
    peak: f64,
    pub(super) variance: f64,
}

impl Gaussian {
    /// The density of `count` matches with the `variance` of each coordinate.
    pub(crate) fn new(count: f64, variance: f64) -> Self {
        Self { peak: count / libm::pow(2.0 * std::f64::consts::PI * variance, 1.5), variance }
    }

    pub(crate) fn density(&self, squared_residual: f64) -> f64 {
        self.peak * libm::exp(-0.5 * squared_residual / self.variance)
    }
}

/// Probability that match `i` lies within its threshold by chance, relative to the mean over all matches.
fn relative_chance(points: &Soa, known: &Model, i: u32) -> f64 {
    if points.precision.is_empty() {
        return 1.0;
    }
    let own = known.delta / points.precision[i as usize].sqrt();
    known.background.chance_within(own) / known.background.chance(known.delta)
}

/// The fit with each inlier weighted by the odds that the others give it.
fn leave_out(points: &Soa, inliers: &[u32], known: &Model, density_of_wrong: &[f64]) -> Option<Similarity> {
    let mut weights = vec![1.0; inliers.len()];
    for _ in 0..ITERATIONS {
        let odds = odds_of_wrong(points, inliers, &weights, known, density_of_wrong)?;
        let before = std::mem::replace(&mut weights, odds.iter().map(|odds| 1.0 / (1.0 + odds)).collect());
        if weights.iter().zip(&before).all(|(now, before)| (now - before).abs() < SETTLED) {
            break;
        }
    }
    known.fit(points, inliers, |k| weights[k])
}

/// Odds that each inlier is wrong, given the others and their weights.
///
/// The place where the others expect a match is uncertain by the noise, by the leverage `h` of the others at that place, and by the
/// uncertainty of the noise itself. With `S` the sum of their squared residuals and `ν` its degrees of freedom, the distance `d` from
/// that place follows Student's distribution in space, with the density
/// `Γ((ν+3)/2)/Γ(ν/2) · (π (1+h) S)^(−3/2) · (1 + d²/((1+h) S))^(−(ν+3)/2)`.
/// The sums of squared residuals with and without the match differ by `d²/(1+h)`.
fn odds_of_wrong(
    points: &Soa,
    inliers: &[u32],
    weights: &[f64],
    known: &Model,
    density_of_wrong: &[f64],
) -> Option<Vec<f64>> {
    let spent = known.parameters();
    let all: f64 = weights.iter().sum();
    let now = known.fit(points, inliers, |k| weights[k])?;
    let now = Affine::from(&now);
    let residuals: Vec<f64> = inliers.iter().map(|&i| squared_residual(points, &now, i as usize)).collect();
    let mean = residuals.iter().zip(weights).map(|(residual, weight)| weight * residual).sum::<f64>() / all;
    // The weighted fit of all inliers, with weight `own` for inlier `k`: its weighted sum of squares, and the square of inlier `k`.
    let fit = |k: usize, own: f64| {
        let weight = |l: usize| if l == k { own } else { weights[l] };
        let model = known.fit(points, inliers, weight)?;
        let affine = Affine::from(&model);
        let squares = |l: usize| squared_residual(points, &affine, inliers[l] as usize);
        let sum: f64 = (0..inliers.len()).map(|l| weight(l) * squares(l)).sum();
        Some((sum, squares(k)))
    };
    let odds = |k: usize| {
        // A residual below the mean needs no closer look.
        if residuals[k] <= mean {
            return Some(0.0);
        }
        let freedom = 3.0 * (all - weights[k]) - spent;
        if freedom < 1.0 {
            return None;
        }
        let (with, _) = fit(k, 1.0)?;
        let (without, distance_sq) = fit(k, 0.0)?;
        let held = ((with - without) / distance_sq).clamp(0.05, 1.0); // 1/(1 + h)
        let without = without.max(freedom * known.background.finest().powi(2));
        let log_density = libm::lgamma(0.5 * (freedom + 3.0)) - libm::lgamma(0.5 * freedom)
            + 1.5 * libm::log(held / (std::f64::consts::PI * without))
            - 0.5 * (freedom + 3.0) * libm::log1p(distance_sq * held / without);
        Some(density_of_wrong[k] / (all * libm::exp(log_density)))
    };
    (0..inliers.len()).map(odds).collect()
}

/// The fit with weights from a Gaussian of the noise found, iterated.
fn reweight(
    points: &Soa,
    candidate: &Candidate,
    known: &Model,
    density_of_wrong: &[f64],
) -> Option<Similarity> {
    let inliers = &candidate.inliers;
    let k = inliers.len() as f64;
    let mut model = candidate.model;
    let mut weights = vec![1.0; inliers.len()];
    let mut residuals = vec![0.0; inliers.len()];
    for iteration in 0..=ITERATIONS {
        let affine = Affine::from(&model);
        for (residual, &i) in residuals.iter_mut().zip(inliers) {
            *residual = squared_residual(points, &affine, i as usize);
        }
        let (sum, total) =
            weights.iter().zip(&residuals).fold((0.0, 0.0), |(s, t), (w, r)| (s + w * r, t + w));
        let variance = sum / (3.0 * total - known.parameters()).max(1.0);
        if iteration == ITERATIONS || variance <= known.background.finest().powi(2) {
            break;
        }
        let gaussian = Gaussian::new(k, variance);
        for ((weight, residual), density_of_wrong) in weights.iter_mut().zip(&residuals).zip(density_of_wrong)
        {
            let right = gaussian.density(*residual);
            *weight = right / (right + density_of_wrong);
        }
        model = known.fit(points, inliers, |k| weights[k])?;
    }
    Some(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{evidence::Background, random::Random};

    /// Ten right matches and one that is within the threshold by chance, among a thousand. The wrong one distorts the weighted fit less
    /// than half as much as the plain fit. Without it, the weighted fit is as good as the plain one.
    #[test]
    fn a_wrong_inlier_distorts_less() {
        let (mut plain, mut weighed) = ([0.0; 2], [0.0; 2]);
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let mut point = |size: f64| -> [f64; 3] {
                std::array::from_fn(|_| size * (0..12).map(|_| random.uniform() - 0.5).sum::<f64>())
            };
            let mut points = Soa::default();
            for i in 0..1000 {
                let a = point(0.5);
                let noise = match i {
                    0..10 => point(0.01),
                    10 => {
                        let away = point(1.0);
                        let length = away.iter().map(|x| x * x).sum::<f64>().sqrt();
                        away.map(|x| 0.06 * x / length)
                    }
                    _ => point(0.5),
                };
                for axis in 0..3 {
                    points.a[axis].push(a[axis]);
                    points.b[axis].push(a[axis] + noise[axis]);
                }
            }
            let background = Background::of(&points, 1e-15);
            let known = Model {
                delta: 0.06,
                known_scale: Some(1.0),
                scale_range: None,
                tilt: None,
                background,
                scope: crate::evidence::Scope::All,
            };
            let density =
                989.0 * background.chance(0.06) / (4.0 / 3.0 * std::f64::consts::PI * 0.06_f64.powi(3));
            let inliers: Vec<u32> = (0..11).collect();
            for (some, inliers) in [&inliers[..10], &inliers[..]].into_iter().enumerate() {
                // Sum of squared errors at the corners of a cube.
                let error = |model: Similarity| {
                    let corner =
                        |c: usize| [0, 1, 2].map(|axis: usize| if c >> axis & 1 == 1 { 1.0 } else { -1.0 });
                    (0..8)
                        .map(corner)
                        .flat_map(|c| {
                            let moved = model.apply(c);
                            [0, 1, 2].map(|k: usize| (moved[k] - c[k]).powi(2))
                        })
                        .sum::<f64>()
                };
                plain[some] += error(known.fit(&points, inliers, |_| 1.0).unwrap());
                weighed[some] += error(leave_out(&points, inliers, &known, &[density; 11]).unwrap());
            }
        }
        assert!(weighed[0] < 1.1 * plain[0], "{plain:?} {weighed:?}");
        assert!(weighed[1] - plain[0] < 0.5 * (plain[1] - plain[0]), "{plain:?} {weighed:?}");
    }
}
