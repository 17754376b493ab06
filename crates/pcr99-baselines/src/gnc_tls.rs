//! GNC-TLS: H. Yang, P. Antonante, V. Tzoumas, L. Carlone, "Graduated non-convexity for robust spatial perception: from
//! non-minimal solvers to global outlier rejection", IEEE Robotics and Automation Letters 5 (2020).
//!
//! Truncated least squares by iterated weighted least squares. The weights minimize a surrogate that is convex at first and approaches the truncated
//! cost step by step. The method starts from the fit of all matches, uses no random numbers, and works up to about 80 % outliers.

use pcr99::{Similarity, StopReason, random::Random, stop::StopCheck};
use pcr99_base::{
    Soa,
    kernel::{consensus::Affine, residuals::squared_residuals},
    least_squares,
};

use crate::baseline::{Baseline, EitherScale, Found, Matches};

/// Largest residual of an inlier, in σ.
const BOUND: f64 = 5.0;
/// Factor of the control parameter from round to round, as published.
const GROWTH: f64 = 1.4;
/// Change of the cost below which the iteration ends, in σ²: the published 10⁻⁶ at σ = 0.01.
pub(super) const TOLERANCE: f64 = 0.01;
/// Largest number of rounds. With residuals of 10⁶⁰, the control parameter needs 850.
const MOST_ROUNDS: u64 = 1000;

/// Graduated non-convexity; keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct GncTls {
    annealing: Annealing,
}

impl Baseline for GncTls {
    type Scale = EitherScale;

    fn find(
        &mut self,
        matches: &Matches<'_>,
        scale: EitherScale,
        _: &mut Random,
        stop: StopCheck<'_>,
    ) -> Found {
        let Matches { points, sigma } = *matches;
        let limits =
            Limits { bound: BOUND * sigma, tolerance: TOLERANCE * sigma * sigma, most_rounds: MOST_ROUNDS };
        let (model, stopped_because) = self.annealing.run(points, scale.known(), &limits, stop);
        let rounds = self.annealing.rounds;
        Found { model, samples: rounds, hypotheses: rounds, stopped_because }
    }
}

/// Conditions for the end of the iteration.
pub(super) struct Limits {
    /// Largest residual of an inlier.
    pub(super) bound: f64,
    /// Change of the cost below which the iteration ends.
    pub(super) tolerance: f64,
    /// Largest number of rounds.
    pub(super) most_rounds: u64,
}

/// Iterated weighted least squares with weights that become 0 or 1.
#[derive(Debug, Default)]
pub(super) struct Annealing {
    weights: Vec<f64>,
    squared_residuals: Vec<f64>,
    /// Matches with a weight above zero, and their weights.
    some: Vec<u32>,
    some_weights: Vec<f64>,
    /// Number of fits.
    pub(super) rounds: u64,
}

impl Annealing {
    /// Transform of the matches with a weight of 1 in the end; `None` when they do not determine one.
    pub(super) fn run(
        &mut self,
        points: &Soa,
        known_scale: Option<f64>,
        limits: &Limits,
        stop: StopCheck<'_>,
    ) -> (Option<Similarity>, StopReason) {
        let n = points.len();
        self.weights.clear();
        self.weights.resize(n, 1.0);
        self.squared_residuals.resize(n, 0.0);
        self.rounds = 0;
        let bound_sq = limits.bound * limits.bound;
        let (mut control, mut last_cost) = (None, f64::INFINITY);
        let stopped_because = loop {
            if let Some(request) = stop() {
                break request.into();
            }
            let Some(model) = self.fit(points, known_scale, |weight| weight > 0.0) else {
                break StopReason::Exhausted;
            };
            self.rounds += 1;
            squared_residuals(points, &Affine::from(&model), &mut self.squared_residuals);
            let mu = match control {
                Some(mu) => mu,
                None => match initial_control(&self.squared_residuals, bound_sq) {
                    Some(mu) => mu,
                    None => break StopReason::Confident,
                },
            };
            let (cost, decided) = reweigh(&mut self.weights, &self.squared_residuals, mu, bound_sq);
            control = Some(GROWTH * mu);
            if decided || (cost - last_cost).abs() < limits.tolerance {
                break StopReason::Confident;
            }
            if self.rounds >= limits.most_rounds {
                break StopReason::Exhausted;
            }
            last_cost = cost;
        };
        (self.fit(points, known_scale, |weight| weight >= 0.5), stopped_because)
    }

    /// Weighted least squares on the matches with a weight that matters.
    fn fit(
        &mut self,
        points: &Soa,
        known_scale: Option<f64>,
        passes: impl Fn(f64) -> bool,
    ) -> Option<Similarity> {
        self.some.clear();
        self.some_weights.clear();
        for (i, &weight) in self.weights.iter().enumerate() {
            if passes(weight) {
                self.some.push(i as u32);
                self.some_weights.push(weight);
            }
        }
        least_squares::fit_weighted(points, &self.some, known_scale, |k| self.some_weights[k])
    }
}

/// `μ = 1/(2·max r²/c² − 1)`, for which the surrogate is convex; `None` when all matches are inliers already.
fn initial_control(squared_residuals: &[f64], bound_sq: f64) -> Option<f64> {
    let largest = squared_residuals.iter().fold(0.0, |m: f64, &r| m.max(r));
    let mu = 1.0 / (2.0 * largest / bound_sq - 1.0);
    (mu > 0.0 && mu.is_finite()).then_some(mu)
}

/// Weights that minimize the surrogate: 1 up to `μ/(μ+1)·c²`, 0 from `(μ+1)/μ·c²` on, `c/r·√(μ(μ+1)) − μ` between. Returns
/// the cost `Σ w·r²` and whether all weights are 0 or 1.
fn reweigh(weights: &mut [f64], squared_residuals: &[f64], mu: f64, bound_sq: f64) -> (f64, bool) {
    let (inside, outside) = (mu / (mu + 1.0) * bound_sq, (mu + 1.0) / mu * bound_sq);
    let between = bound_sq * mu * (mu + 1.0);
    let (mut cost, mut decided) = (0.0, true);
    for (weight, &r_sq) in weights.iter_mut().zip(squared_residuals) {
        *weight = if r_sq >= outside {
            0.0
        } else if r_sq <= inside {
            1.0
        } else {
            decided = false;
            ((between / r_sq).sqrt() - mu).clamp(0.0, 1.0)
        };
        cost += *weight * r_sq;
    }
    (cost, decided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, problems::largest_error};
    use proptest::prelude::*;

    #[test]
    fn solves_what_it_can() {
        for (scale, ratio) in [(None, 0.0), (Some(2.5), 0.0), (None, 0.7), (Some(2.5), 0.7)] {
            let worst = largest_error(Method::GncTls, scale, ratio, 5);
            assert!(worst < 1.0, "{scale:?} {ratio}: {worst}");
        }
    }

    /// The method is local: with nearly only outliers, it fails.
    #[test]
    fn fails_where_it_must() {
        assert!(largest_error(Method::GncTls, Some(1.0), 0.99, 5) > 10.0);
    }

    proptest! {
        /// The weights minimize the surrogate `w·r² + μ(1 − w)/(μ + w)·c²` over [0, 1].
        #[test]
        fn weights_minimise_the_surrogate(r_sq in 0.0..100.0_f64, mu in 1e-3..100.0_f64, bound_sq in 0.1..10.0_f64) {
            let mut weight = [0.0];
            reweigh(&mut weight, &[r_sq], mu, bound_sq);
            let cost = |w: f64| w * r_sq + mu * (1.0 - w) / (mu + w) * bound_sq;
            let least = (0..=1000).map(|k| cost(f64::from(k) / 1000.0)).fold(f64::INFINITY, f64::min);
            prop_assert!((0.0..=1.0).contains(&weight[0]));
            prop_assert!(cost(weight[0]) <= least + 1e-9 * least.abs().max(1.0), "{weight:?}");
        }
    }

    #[test]
    fn weights_at_the_ends() {
        let mut weights = [0.5; 4];
        // μ = 1: 1 up to c²/2, 0 from 2c² on, c/r·√2 − 1 between.
        let (cost, decided) = reweigh(&mut weights, &[2.0, 8.0, 4.0, 0.0], 1.0, 4.0);
        assert!((weights[2] - (2.0_f64.sqrt() - 1.0)).abs() < 1e-15);
        assert_eq!((weights[0], weights[1], weights[3], decided), (1.0, 0.0, 1.0, false));
        assert!((cost - 2.0 - 4.0 * weights[2]).abs() < 1e-12);
        assert!(reweigh(&mut weights, &[0.0, 100.0, 1.0, 50.0], 1.0, 4.0).1);
    }

    #[test]
    fn control_starts_convex_or_not_at_all() {
        assert_eq!(initial_control(&[8.0, 2.0], 4.0), Some(1.0 / 3.0));
        assert_eq!(initial_control(&[1.9, 0.0], 4.0), None);
        assert_eq!(initial_control(&[2.0], 4.0), None); // infinite
        assert_eq!(initial_control(&[], 4.0), None);
    }
}
