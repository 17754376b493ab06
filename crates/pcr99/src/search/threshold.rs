//! Finding the threshold from the data.
//!
//! The search needs a bound on the noise. Without one it is run on a ladder of thresholds relative to the extent of the targets, with
//! limited effort each, until one gives a significant consensus. The consensus then tells its own noise: with `σ` the root mean
//! square residual of a coordinate, right matches are within `5σ` but for one in sixty thousand. A last search with that threshold
//! makes sure that nothing larger was missed.

use super::candidate::{Candidate, Model, Refiner};
use crate::{evidence::Judge, kernel::Soa};

/// Thresholds to try, relative to the widest half-axis of the targets, the likeliest first.
pub(super) const LADDER: [f64; 5] = [0.06, 0.02, 0.007, 0.0025, 0.18];

/// How often the threshold is adapted to the inliers, and the inliers to the threshold.
const ROUNDS: usize = 12;
/// Right matches are within this many standard deviations of a coordinate.
const DEVIATIONS: f64 = 5.0;

/// The candidate with the threshold that its own inliers suggest, at most `3` times the one it was found with; `None` when it falls
/// apart on the way.
pub(super) fn settle(
    points: &Soa,
    candidate: &Candidate,
    model: &Model,
    refiner: &mut Refiner,
    judge: &mut Judge,
) -> Option<(Candidate, f64)> {
    let most = 3.0 * model.delta;
    let mut settled = candidate.clone();
    let mut delta = model.delta;
    for _ in 0..ROUNDS {
        // A fit of few points has smaller residuals than the noise: seven parameters are spent.
        let coordinates = 3.0 * settled.inliers.len() as f64;
        let spent = coordinates / (coordinates - 7.0).max(1.0);
        let sigma = settled.rmse * (spent / 3.0).sqrt();
        let next = (DEVIATIONS * sigma).max(4.0 * model.background.finest()).min(most);
        let found = refiner.refine(points, settled.model, &Model { delta: next, ..*model }, judge)?;
        let done = found.inliers == settled.inliers;
        (settled, delta) = (found, next);
        if done {
            break;
        }
    }
    Some((settled, delta))
}
