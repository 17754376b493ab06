//! Estimates the inlier threshold from the data.
//!
//! 1. The search runs with a series of thresholds relative to the extent of the targets, with limited effort each, until one gives a
//!    registered consensus.
//! 2. Each consensus finds its own threshold. The number of false alarms is smallest at a radius that holds the core of the residuals. The
//!    core determines the noise: residuals within the radius are compared with those of a Gaussian cut off there. With `σ` the standard
//!    deviation of a coordinate, the threshold is `5σ`; one right match in sixty thousand lies outside.
//! 3. A last search with the threshold found makes sure that no larger consensus was missed.

use super::candidate::{Candidate, Model, Refiner};
use pcr99_base::Soa;

use crate::evidence::Judge;

/// Thresholds to try, relative to the longest half-axis of the targets, the most common first.
pub(super) const LADDER: [f64; 5] = [0.06, 0.02, 0.007, 0.0025, 0.18];

/// Largest number of times that threshold and inliers are adapted to each other.
const ITERATIONS: usize = 12;
/// The threshold in standard deviations of a coordinate's noise.
pub(super) const DEVIATIONS: f64 = 5.0;
/// Radius up to which residuals are looked at, relative to the present threshold.
const LOOK_AHEAD: f64 = 3.0;
/// Largest radius of the core, relative to the longest half-axis of the targets.
const WIDEST_CORE: f64 = 0.5;
/// Largest threshold, relative to the longest half-axis of the targets.
const WIDEST: f64 = 1.0;
/// Smallest radius of the core, in standard deviations. A core cut off closer to its centre looks like an even distribution, whatever the noise.
const NEAREST_CUT: f64 = 1.5;
/// Largest radius of the core, in standard deviations. Beyond it, next to nothing is cut off.
const FARTHEST_CUT: f64 = 5.0;

/// Median length of a Gaussian vector in space with standard deviation 1 of each coordinate.
pub(super) const MEDIAN_RESIDUAL: f64 = 1.538_172;
/// Largest standard deviation relative to that of a Gaussian with the same median, for many residuals and in addition for few. It is 1.1 for noise that is three times
/// larger along one axis. A few wrong matches far out would give any number: where targets are points of the same cloud as the right ones, they agree as often
/// within a small radius as within a larger one, and the number of false alarms does not tell them apart.
const LONGER_TAILS: f64 = 1.5;
const MEDIAN_NOISE: f64 = 2.0;

/// The candidate with the threshold that its own residuals up to `farthest` suggest; `None` when it loses its inliers on the way.
pub(super) fn settle(
    points: &Soa,
    candidate: &Candidate,
    farthest: f64,
    model: &Model,
    refiner: &mut Refiner,
    judge: &mut Judge,
) -> Option<Candidate> {
    let extent = model.background.extent();
    let at = |delta: f64| Model { delta, ..*model };
    let (mut transform, mut delta) = (candidate.model, candidate.delta);
    let mut inliers = candidate.mask.clone();
    for _ in 0..ITERATIONS {
        let reach = (LOOK_AHEAD * delta).min(WIDEST_CORE * extent).min(farthest);
        // Too few inliers say nothing about the noise.
        let Some((radius, residuals)) = refiner.core(points, &transform, &at(reach), judge) else {
            break;
        };
        let sigma = core_deviation(radius, residuals, points.len(), model);
        delta = (DEVIATIONS * sigma).max(4.0 * model.background.finest()).min(WIDEST * extent).min(farthest);
        transform = refiner.converge(points, transform, &at(delta))?;
        if refiner.swap_mask(&mut inliers) {
            break;
        }
    }
    refiner.judge(points, transform, &at(delta), judge)
}

/// Standard deviation of a coordinate, from the squared residuals within the radius at which the consensus is clearest among `n` matches.
fn core_deviation(radius: f64, residuals: &[f64], n: usize, model: &Model) -> f64 {
    let (count, radius_sq) = (residuals.len() as f64, radius * radius);
    let sum: f64 = residuals.iter().sum();
    // Wrong matches within the radius are spread evenly: their mean square is 3/5 of its square.
    let wrong = ((n as f64 - count) * model.background.chance(radius)).min(0.5 * count);
    let right = count - wrong;
    let mean_sq = ((sum - 0.6 * wrong * radius_sq) / right).max(0.01 * radius_sq);
    // A fit of few points has smaller residuals than the noise, because it spends degrees of freedom.
    let spent = 3.0 * right / (3.0 * right - model.parameters()).max(1.0);
    let cut = cut_of((mean_sq / radius_sq).min(1.0));
    let deviation = radius / cut;
    // Wrong matches are few near the centre, so half of the right ones lie within the median of as many as there are right.
    let mut sorted = residuals.to_vec();
    let place = ((0.5 * right) as usize).min(sorted.len().saturating_sub(1));
    let median = sorted.select_nth_unstable_by(place, f64::total_cmp).1.sqrt() / MEDIAN_RESIDUAL;
    let most = (LONGER_TAILS + MEDIAN_NOISE / right.sqrt()) * median;
    deviation.min(most) * spent.sqrt()
}

/// Mean square of a whole Gaussian in space relative to that of its part within a radius, from the mean square of that part relative to the square of the radius.
pub(crate) fn untruncated_ratio(mean_sq: f64) -> f64 {
    let cut = cut_of(mean_sq.min(1.0));
    if cut >= 0.999 * FARTHEST_CUT { 1.0 } else { 1.0 / (mean_square_within(cut) * cut * cut / 3.0) }
}

/// The radius, in standard deviations, at which a Gaussian in space has to be cut off so that the mean square of the remaining residuals is this
/// part of the square of the radius.
fn cut_of(mean_sq: f64) -> f64 {
    let (mut low, mut high) = (NEAREST_CUT, FARTHEST_CUT);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        (low, high) = if mean_square_within(middle) > mean_sq { (middle, high) } else { (low, middle) };
    }
    low
}

/// Mean square of a Gaussian vector in space that is at most `cut` standard deviations long, relative to `cut²`.
fn mean_square_within(cut: f64) -> f64 {
    let density = (2.0 / std::f64::consts::PI).sqrt() * cut * libm::exp(-0.5 * cut * cut);
    let within = libm::erf(cut * std::f64::consts::FRAC_1_SQRT_2) - density;
    3.0 * (within - density * cut * cut / 3.0) / (within * cut * cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_gaussian_is_recognised_wherever_it_is_cut_off() {
        let mut random = Random::new(5);
        let squares: Vec<f64> =
            (0..200_000).map(|_| (0..3).map(|_| random.gaussian().powi(2)).sum::<f64>()).collect();
        for cut in [1.6, 2.0, 2.5, 3.0, 4.0] {
            let within: Vec<f64> = squares.iter().copied().filter(|sq| *sq <= cut * cut).collect();
            let mean = within.iter().sum::<f64>() / within.len() as f64;
            let found = cut_of(mean / (cut * cut));
            assert!((found / cut - 1.0).abs() < 0.03, "{cut} {found}");
        }
    }
}
