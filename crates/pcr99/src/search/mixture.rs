//! A mixture of two motions, and whether it explains matches better than one motion does.
//!
//! Each match follows one of two motions with Gaussian noise, or is wrong. Weights and fits are iterated (expectation maximisation). The result is
//! compared with one broad cluster along the lines from one motion to the other: noise that differs between directions or grows outwards, or a scene that
//! is bent. Two motions must explain the matches much better, and fewer matches must lie half-way than at either end.

use super::{candidate::Model, polish::Gaussian};
use pcr99_base::{
    Soa,
    kernel::consensus::{Affine, squared_residual},
    vector::{dot, minus, times},
};

use crate::Similarity;

/// Two modes of a consensus, the larger first.
#[derive(Debug)]
pub(super) struct Modes {
    pub(super) models: [Similarity; 2],
    /// Number of matches that follow the second, divided by the number that follow the first.
    pub(super) ratio: f64,
    /// Standard deviation of a coordinate's noise.
    pub(super) sigma: f64,
}

/// Smallest number of matches that follow a motion.
const FEWEST: f64 = 6.0;
/// Smallest distance of the modes, in standard deviations of a coordinate, at the matches that tell whether there are two.
const LEAST_DISTANCE: f64 = 2.0;
/// Smallest distance of two modes, in standard deviations of a coordinate, between which fewer matches lie than at both.
const GAP_DISTANCE: f64 = 3.5;
/// Half-width of the bands at both modes and half-way between them, relative to their distance.
const BAND: f64 = 0.15;
/// Logarithm of the ratio of the likelihoods of two modes and one, beyond the smallest, from which matches half-way between the modes count as at one of them by chance; and the smallest
/// number of matches at each.
const FAR_BETTER: f64 = 4.0;
const FEWEST_AT_MODE: f64 = 2.0;
/// Iterations of the fit of two motions.
const ITERATIONS: usize = 15;
/// Smallest size of the second mode, relative to the first.
const LEAST_SHARE: f64 = 0.1;

/// Fits a mixture of two motions to the matches, and returns both when it explains them better than one broad cluster.
pub(super) fn separate(
    points: &Soa,
    pool: &[u32],
    known: &Model,
    sigma: f64,
    models: [Similarity; 2],
    density_of_wrong: f64,
) -> Option<Modes> {
    let finest_sq = known.background.finest().powi(2);
    let mut models = models;
    let mut gaussians = [Gaussian::new(0.5 * pool.len() as f64, sigma * sigma); 2];
    let mut weights = [vec![0.0; pool.len()], vec![0.0; pool.len()]];
    for _ in 0..ITERATIONS {
        let affine = models.each_ref().map(Affine::from);
        let mut sums = [[0.0; 2]; 2];
        for (k, &i) in pool.iter().enumerate() {
            let squares = affine.each_ref().map(|affine| squared_residual(points, affine, i as usize));
            let densities = [gaussians[0].density(squares[0]), gaussians[1].density(squares[1])];
            let all = densities[0] + densities[1] + density_of_wrong;
            for mode in 0..2 {
                let weight = densities[mode] / all.max(f64::MIN_POSITIVE);
                weights[mode][k] = weight;
                sums[mode][0] += weight;
                sums[mode][1] += weight * squares[mode];
            }
        }
        for mode in 0..2 {
            let [count, squares] = sums[mode];
            if count < FEWEST {
                return None;
            }
            models[mode] = known.fit(points, pool, |k| weights[mode][k])?;
            let variance = squares / (3.0 * count - known.parameters());
            gaussians[mode] = Gaussian::new(count, variance.max(finest_sq));
        }
    }
    let counts = weights.each_ref().map(|weights| weights.iter().sum::<f64>());
    let order = if counts[0] < counts[1] { [1, 0] } else { [0, 1] };
    let ratio = counts[order[1]] / counts[order[0]];
    let variance = gaussians[0].variance.max(gaussians[1].variance);
    let along = along(points, pool, &models, variance);
    (ratio >= LEAST_SHARE && is_two(&along, variance, known.parameters())).then(|| Modes {
        models: order.map(|mode| models[mode]),
        ratio,
        sigma: gaussians[order[0]].variance.sqrt(),
    })
}

/// Where each match lies along the line from where the first mode moves its source to where the second does: that distance, and the length of the line.
/// Matches far from the line are left out.
fn along(points: &Soa, pool: &[u32], models: &[Similarity; 2], variance: f64) -> Vec<(f64, f64)> {
    let place = |&i: &u32| {
        let a = points.source(i as usize);
        let [first, second] = models.each_ref().map(|model| model.apply(a));
        // Relative to the noise of the match.
        let factor = points.precision_of(i as usize).sqrt();
        let line = times(factor, minus(second, first));
        let off = times(factor, minus(points.target(i as usize), first));
        let length = dot(line, line).sqrt();
        if length * length < LEAST_DISTANCE * LEAST_DISTANCE * variance {
            return None;
        }
        let along = dot(off, line) / length;
        let across_sq = dot(off, off) - along * along;
        let outside = (along - along.clamp(0.0, length)).powi(2) + across_sq;
        (outside <= 25.0 * variance).then_some((along, length))
    };
    pool.iter().filter_map(place).collect()
}

/// Whether matches cluster at both ends of their lines: a mixture of two Gaussians explains them much better than one broad cluster, and fewer
/// lie half-way than at the smaller mode. Where the mixture explains them far better, as many may lie half-way as chance puts there.
fn is_two(along: &[(f64, f64)], variance: f64, parameters: f64) -> bool {
    let [first, between, second] = gap(along, variance).map(|count| count as f64);
    let fewer = first.min(second);
    let log_ratio = log_ratio(along);
    // A second motion has a share and parameters of its own, and each raises the logarithm by about one even if there is none (Akaike, 1974).
    let least = parameters + 1.0;
    between < fewer && log_ratio > least
        || fewer >= FEWEST_AT_MODE && between <= fewer + fewer.sqrt() && log_ratio > least + FAR_BETTER
}

/// Number of matches at the first mode, half-way and at the second.
fn gap(along: &[(f64, f64)], variance: f64) -> [usize; 3] {
    let is_long = |length: f64| length * length >= GAP_DISTANCE * GAP_DISTANCE * variance;
    [0.0, 0.5, 1.0].map(|at| {
        along.iter().filter(|(y, length)| is_long(*length) && (y / length - at).abs() <= BAND).count()
    })
}

/// Logarithm of the ratio of two likelihoods: that of two Gaussians, at the ends of the lines, to that of one whose mean and spread may grow with the
/// length of the line. The latter is what uneven noise or a bent scene would give.
fn log_ratio(along: &[(f64, f64)]) -> f64 {
    two_gaussians(along) - one_gaussian(along)
}

fn log_normal(off: f64, variance: f64) -> f64 {
    -0.5 * (off * off / variance + libm::log(2.0 * std::f64::consts::PI * variance))
}

/// Log likelihood of one Gaussian with mean `m·length` and variance `s² + c²·length²`, fitted.
fn one_gaussian(along: &[(f64, f64)]) -> f64 {
    let count = along.len() as f64;
    let mean_sq = along.iter().map(|(y, _)| y * y).sum::<f64>() / count;
    let (mut m, mut s, mut c) = (0.5, mean_sq, 0.0);
    for _ in 0..ITERATIONS {
        let (mut yy, mut ll) = (0.0, 0.0);
        for (y, length) in along {
            let weight = 1.0 / (s + c * length * length);
            yy += weight * y * length;
            ll += weight * length * length;
        }
        m = yy / ll;
        // The squared deviations are regressed on the squared length.
        let mut sums = [0.0; 5];
        for (y, length) in along {
            let l = length * length;
            let weight = (s + c * l).powi(-2);
            let square = (y - m * length).powi(2);
            for (sum, term) in sums.iter_mut().zip([1.0, l, l * l, square, l * square]) {
                *sum += weight * term;
            }
        }
        let [one, l, ll, square, l_square] = sums;
        let determinant = one * ll - l * l;
        let slope =
            if determinant > 1e-9 * one * ll { (one * l_square - l * square) / determinant } else { 0.0 };
        let start = (square - slope * l) / one;
        (s, c) = if slope < 0.0 {
            (square / one, 0.0)
        } else if start < 0.01 * mean_sq {
            let s = 0.01 * mean_sq;
            (s, ((l_square - s * l) / ll).max(0.0))
        } else {
            (start, slope)
        };
    }
    along.iter().map(|(y, length)| log_normal(y - m * length, s + c * length * length)).sum()
}

/// Log likelihood of two Gaussians, at 0 and at the end of the line, fitted.
fn two_gaussians(along: &[(f64, f64)]) -> f64 {
    let count = along.len() as f64;
    let nearest = |(y, length): &(f64, f64)| y.abs().min((y - length).abs()).powi(2);
    let variance = along.iter().map(nearest).sum::<f64>() / count;
    let (mut shares, mut variances) = ([0.5, 0.5], [variance; 2]);
    let mut sum = 0.0;
    for _ in 0..ITERATIONS {
        sum = 0.0;
        let mut sums = [[0.0; 2]; 2];
        for (y, length) in along {
            let offs = [*y, y - length];
            let densities: [f64; 2] =
                std::array::from_fn(|k| shares[k] * libm::exp(log_normal(offs[k], variances[k])));
            let all = (densities[0] + densities[1]).max(f64::MIN_POSITIVE);
            sum += libm::log(all);
            for k in 0..2 {
                sums[k][0] += densities[k] / all;
                sums[k][1] += densities[k] / all * offs[k] * offs[k];
            }
        }
        for k in 0..2 {
            shares[k] = sums[k][0] / count;
            variances[k] = (sums[k][1] / sums[k][0].max(1.0)).max(0.01 * variance);
        }
    }
    sum
}
