//! How large the errors of right edges are, and the gate that tells them from wrong ones.

use std::f64::consts::PI;

use pcr99_base::vector::{cross, dot, lower_median};

use super::cycles::{Closing, ROTATIONS, Stated};
use crate::{lie::Matrix3, matrix::gaussian};

/// How many times their stated covariances the errors of right edges have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Noise {
    pub(super) rotation: f64,
    pub(super) translation: f64,
}

impl Noise {
    /// As stated.
    pub(super) const STATED: Self = Self { rotation: 1.0, translation: 1.0 };

    /// What a gate may be widened by where random edges allow it: errors have longer tails than Gaussian ones, and may be as large as stated.
    pub(super) fn slack(self) -> f64 {
        LONGER_TAILS * (1.0 / self.rotation).max(1.0 / self.translation).max(1.0)
    }

    pub(super) fn larger(self, other: Self) -> Self {
        Self {
            rotation: self.rotation.max(other.rotation),
            translation: self.translation.max(other.translation),
        }
    }
}

/// Median of χ² with three degrees of freedom.
const MEDIAN_3: f64 = 2.366;
/// Its lowest tenth.
const TENTH_3: f64 = 0.584;
/// χ² with six degrees of freedom that right edges exceed once in a thousand.
pub(super) const GATE: f64 = 22.46;
/// Factor of the gate where random edges allow it: 6.7 instead of 4.7 standard deviations.
const LONGER_TAILS: f64 = 2.0;
/// Least factor of the stated covariances: graphs without any noise keep a gate of finite width.
const LEAST: f64 = 1e-10;
/// Random edges that may be expected to pass the gate by chance.
const FALSE_ALARMS: f64 = 0.1;

/// The noise of the right edges, estimated from cycles of which an unknown part is wrong, and that part.
///
/// Rotations of wrong cycles are taken as uniform. The fraction of right cycles and their noise are the maximum likelihood of that mixture
/// (expectation maximisation). Translations follow from the cycles with a right rotation.
pub(super) fn of_cycles(cycles: &[Closing]) -> Option<(Noise, f64)> {
    // Logarithm of the ratio at the stated covariance without its exponent, and the square.
    let terms: Vec<(f64, f64)> = (cycles.iter())
        .map(|cycle| {
            let (covariance, error) = cycle.rotation();
            let (log_determinant, square) = gaussian(covariance, &error).unwrap_or((0.0, f64::INFINITY));
            (libm::log(ROTATIONS) - 0.5 * (log_determinant + 3.0 * libm::log(2.0 * PI)), square)
        })
        .collect();
    let mut squares: Vec<f64> = terms.iter().map(|term| term.1).collect();
    squares.sort_unstable_by(f64::total_cmp);
    let mut noise = (squares.get(squares.len() / 10)? / TENTH_3).clamp(LEAST, 1.0 / LEAST);
    let mut right = 0.3;
    let mut posteriors = vec![0.0; cycles.len()];
    for _ in 0..40 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for (posterior, (ratio, square)) in posteriors.iter_mut().zip(&terms) {
            let log_ratio = ratio - 1.5 * libm::log(noise) - 0.5 * square / noise;
            let odds = right / (1.0 - right) * libm::exp(log_ratio.min(500.0));
            *posterior = odds / (1.0 + odds);
            if *posterior > 0.0 {
                sum += *posterior;
                squares += *posterior * square;
            }
        }
        if sum < 1e-6 {
            return None;
        }
        noise = (squares / (3.0 * sum)).max(LEAST);
        right = (sum / cycles.len() as f64).clamp(1e-6, 1.0 - 1e-6);
    }
    let believed = cycles.iter().zip(&posteriors).filter(|(_, posterior)| **posterior > 0.5);
    let believed: Vec<&Closing> = believed.map(|(cycle, _)| cycle).collect();
    let median = |translation: f64| {
        let noise = Noise { rotation: noise, translation };
        let mut squares: Vec<f64> = believed.iter().map(|cycle| cycle.translation_square(noise)).collect();
        lower_median(&mut squares)
    };
    median(1.0)?;
    // The lever adds the noise of the rotations, so that the translation's own part is found by halving.
    let (mut low, mut high) = (libm::log(LEAST), -libm::log(LEAST));
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if median(libm::exp(middle)).unwrap_or(0.0) > MEDIAN_3 { low = middle } else { high = middle }
    }
    Some((Noise { rotation: noise, translation: libm::exp(high) }, right))
}

/// The noise that the residuals of right edges show: squares of rotation and translation in units of the stated covariances.
pub(super) fn of_residuals(residuals: impl Iterator<Item = [f64; 2]>) -> Option<Noise> {
    let (mut rotations, mut translations): (Vec<f64>, Vec<f64>) = residuals.map(|[r, t]| (r, t)).unzip();
    let factor = |squares: &mut [f64]| Some((lower_median(squares)? / MEDIAN_3).clamp(LEAST, 1.0 / LEAST));
    Some(Noise { rotation: factor(&mut rotations)?, translation: factor(&mut translations)? })
}

/// The gate in multiples of the stated covariances.
///
/// It is as wide as the stated covariances say, or as `noise` where that is larger, times `factor`. Where random edges would pass it, it is narrower, but not
/// than the noise. `radius` is the usual length of a wrong edge.
pub(super) fn gate(noise: Noise, factor: f64, edges: &[Stated], radius: f64) -> Noise {
    let narrow = [noise.rotation, noise.translation].map(|x| factor * x);
    let wide = [noise.rotation, noise.translation].map(|x| factor * LONGER_TAILS * x.max(1.0));
    let at = |share: f64| {
        let [rotation, translation] = std::array::from_fn(|k| {
            libm::exp(share * libm::log(wide[k]) + (1.0 - share) * libm::log(narrow[k]))
        });
        Noise { rotation, translation }
    };
    let root = |m: &Matrix3| dot(m[0], cross(m[1], m[2])).max(0.0).sqrt();
    let roots: Vec<[f64; 2]> =
        edges.iter().map(|edge| [root(&edge.rotation), root(&edge.translation)]).collect();
    let passing = |noise: Noise| -> f64 {
        // Volumes of the ellipsoids in which errors pass.
        let [turned, moved] =
            [noise.rotation, noise.translation].map(|x| 4.0 / 3.0 * PI * libm::pow(GATE * x, 1.5));
        let ball = 4.0 / 3.0 * PI * radius * radius * radius;
        roots.iter().map(|[r, t]| (turned * r / ROTATIONS).min(1.0) * (moved * t / ball).min(1.0)).sum()
    };
    let steps = 32;
    let shares = (0..=steps).rev().map(|k| f64::from(k) / f64::from(steps));
    shares.map(at).find(|&noise| passing(noise) <= FALSE_ALARMS).unwrap_or_else(|| at(0.0))
}
