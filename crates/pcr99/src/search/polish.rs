//! The last touch: a fit that knows that some of the inliers are not.
//!
//! Among many wrong matches some lie within the threshold by chance, up to its very edge, and pull at a least-squares fit. How many is
//! known: `(n − k)·α(δ)`. So each inlier gets the probability that it is right as its weight: a Gaussian of the noise found against an even
//! spread of wrong matches. A few rounds settle weights, noise and fit.

use super::candidate::{Candidate, Model};
use crate::{
    Similarity,
    kernel::{Soa, consensus::Affine, consensus::squared_residual},
};

/// Fewer wrong matches than this share of the inliers do no harm.
const HARMLESS: f64 = 0.002;
/// Rounds of weights and fits.
const ROUNDS: usize = 6;

/// The transform of a candidate fitted again with weights; `None` where that is not needed or not possible.
pub(super) fn polish(points: &Soa, candidate: &Candidate, known: &Model) -> Option<Similarity> {
    let inliers = &candidate.inliers;
    let (n, k) = (points.len() as f64, inliers.len() as f64);
    let wrong = (n - k) * known.background.chance(known.delta);
    if wrong < HARMLESS * k || wrong > 0.5 * k {
        return None;
    }
    let ball = 4.0 / 3.0 * std::f64::consts::PI * known.delta.powi(3);
    let density_of_wrong = wrong / ball;
    let mut model = candidate.model;
    let mut weights = vec![1.0; inliers.len()];
    let mut residuals = vec![0.0; inliers.len()];
    for round in 0..=ROUNDS {
        let affine = Affine::from(&model);
        for (residual, &i) in residuals.iter_mut().zip(inliers) {
            *residual = squared_residual(points, &affine, i as usize);
        }
        let (sum, total) =
            weights.iter().zip(&residuals).fold((0.0, 0.0), |(s, t), (w, r)| (s + w * r, t + w));
        // Seven parameters are spent.
        let variance = sum / (3.0 * total - 7.0).max(1.0);
        if round == ROUNDS || variance <= known.background.finest().powi(2) {
            break;
        }
        let peak = (k - wrong) / libm::pow(2.0 * std::f64::consts::PI * variance, 1.5);
        for (weight, residual) in weights.iter_mut().zip(&residuals) {
            let right = peak * libm::exp(-0.5 * residual / variance);
            *weight = right / (right + density_of_wrong);
        }
        model = known.fit(points, inliers, |k| weights[k])?;
    }
    Some(model)
}
