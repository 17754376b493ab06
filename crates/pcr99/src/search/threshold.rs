//! Estimates the inlier threshold from the data.
//!
//! 1. The search runs with a series of thresholds relative to the extent of the targets, with limited effort each, until one gives a
//!    registered consensus.
//! 2. The residuals of the consensus determine its noise. With `σ` the root mean square residual of a coordinate, the threshold is
//!    `5σ`; one right match in sixty thousand lies outside.
//! 3. If twice that threshold gives clearly more evidence, the consensus was only the best part of a noisier one, and the larger
//!    threshold is taken.
//! 4. A last search with the threshold found makes sure that no larger consensus was missed.

use super::{
    WIDEST,
    candidate::{Candidate, Model, Refiner},
};
use pcr99_base::Soa;

use crate::evidence::Judge;

/// Thresholds to try, relative to the longest half-axis of the targets, the most common first.
pub(super) const LADDER: [f64; 5] = [0.06, 0.02, 0.007, 0.0025, 0.18];

/// Largest number of times that threshold and inliers are adapted to each other.
const ITERATIONS: usize = 12;
/// The threshold in standard deviations of a coordinate's noise.
const DEVIATIONS: f64 = 5.0;

/// Factor on `log10_nfa` that counts as clearly more evidence.
const CLEARLY_MORE: f64 = 1.03;
/// Factor on `log10_nfa` that counts as nearly as much evidence.
const NEARLY_AS_MUCH: f64 = 0.98;
/// Largest number of times that the threshold is doubled.
const DOUBLINGS: usize = 8;

/// The candidate with the threshold that its own inliers suggest; `None` when it loses its inliers on the way.
pub(super) fn settle(
    points: &Soa,
    candidate: &Candidate,
    model: &Model,
    refiner: &mut Refiner,
    judge: &mut Judge,
) -> Option<(Candidate, f64)> {
    let mut settled = adapt(points, candidate.clone(), model, 3.0 * model.delta, refiner, judge)?;
    for _ in 0..DOUBLINGS {
        let (candidate, delta) = &settled;
        if *delta > WIDEST * model.background.extent() {
            break;
        }
        let wider = Model { delta: 2.0 * delta, ..*model };
        let Some(found) = refiner.refine(points, candidate.model, &wider, judge) else { break };
        let before = candidate.evidence.log10_nfa.min(-1.0);
        let clearly_more = found.evidence.log10_nfa <= CLEARLY_MORE * before;
        let most = 2.0 * wider.delta;
        let Some(next) = adapt(points, found, &wider, most, refiner, judge) else { break };
        // Or nearly as much evidence, with residuals that end below the bound.
        let as_much = next.0.evidence.log10_nfa <= NEARLY_AS_MUCH * before && next.1 < 0.99 * most;
        if next.1 <= *delta || !(clearly_more || as_much) {
            break;
        }
        settled = next;
    }
    Some(settled)
}

/// Adapts threshold and inliers to each other until the inliers no longer change. `most` bounds the threshold.
fn adapt(
    points: &Soa,
    candidate: Candidate,
    model: &Model,
    most: f64,
    refiner: &mut Refiner,
    judge: &mut Judge,
) -> Option<(Candidate, f64)> {
    let (mut settled, mut delta) = (candidate, model.delta);
    for _ in 0..ITERATIONS {
        // A fit of few points has smaller residuals than the noise, because it spends degrees of freedom.
        let coordinates = 3.0 * settled.inliers.len() as f64;
        let spent = coordinates / (coordinates - model.parameters()).max(1.0);
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
