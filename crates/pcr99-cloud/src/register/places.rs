//! Places: where the votes that decided are.

use pcr99::Similarity;
use pcr99_base::vector::distance_sq;

use super::{
    Doubt,
    search::{Candidate, Pair, SampledPair},
};
use crate::{verify::seen_through, votes::Vote};

/// Radius of a place, in voxels: that of a patch of neighbours that see the same surface.
pub(super) const RADIUS: f64 = 6.0;
/// Smallest number of points that make a place. Fewer are strays.
const FEWEST: usize = 3;

/// A point that voted on the answer.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct VotedPoint {
    /// Whether it is a point of the source; otherwise of the target.
    pub is_source: bool,
    /// The point, a voxel centroid, in the coordinates of its cloud as given.
    pub point: [f64; 3],
    /// Its vote.
    pub vote: Vote,
}

/// Where most of the votes that decided are.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct DecisivePlace {
    /// The place, in target coordinates.
    pub at: [f64; 3],
    /// Its radius, in target units.
    pub radius: f64,
    /// Fraction of those votes that are there.
    pub share: f64,
}

/// Votes of both clouds on a candidate: the index of each point, its vote and its weight.
pub(super) fn votes_on(sampled: &SampledPair, candidate: &Candidate) -> [Vec<(usize, Vote, f64)>; 2] {
    sampled.voters().located(&candidate.votes)
}

/// The largest patch of the points that raised a doubt, in fixed coordinates: their place, and the fraction of them, by weight, that is there.
///
/// `None` for doubts that no points raise.
pub(super) fn decisive(
    pair: &Pair<'_>,
    sampled: &SampledPair,
    candidate: &Candidate,
    doubt: &Doubt,
) -> Option<([f64; 3], f64)> {
    let pose = &candidate.pose;
    let points: Vec<([f64; 3], f64)> = match doubt {
        Doubt::Conflict { .. } => voted(sampled, candidate, &[Vote::Against]),
        Doubt::PoorFit { .. } => voted(sampled, candidate, &[Vote::Against, Vote::Askew]),
        Doubt::FreeSpace { .. } => in_free_space(pair, sampled, pose),
        _ => return None,
    };
    densest(&points, RADIUS * sampled.voxel(pose.scale()))
}

/// Places and weights of the points with one of these votes, in fixed coordinates.
fn voted(sampled: &SampledPair, candidate: &Candidate, votes: &[Vote]) -> Vec<([f64; 3], f64)> {
    let [of_moving, of_fixed] = votes_on(sampled, candidate);
    let moved = of_moving
        .iter()
        .map(|&(i, vote, weight)| (candidate.pose.apply(sampled.moving.points[i]), vote, weight));
    let fixed = of_fixed.iter().map(|&(i, vote, weight)| (sampled.fixed.points[i], vote, weight));
    let decisive = moved.chain(fixed).filter(|(_, vote, _)| votes.contains(vote));
    decisive.map(|(place, _, weight)| (place, weight)).collect()
}

/// Places of the points that the other sensor saw through, in fixed coordinates.
fn in_free_space(pair: &Pair<'_>, sampled: &SampledPair, pose: &Similarity) -> Vec<([f64; 3], f64)> {
    let voxel = sampled.voxel(pose.scale());
    let back = pose.inverse();
    let (moving, fixed) = (&sampled.moving, &sampled.fixed);
    let there = pair.fixed.viewpoint().map(|at| seen_through(moving, fixed, pose, at, voxel).0);
    let here =
        pair.moving.viewpoint().map(|at| seen_through(fixed, moving, &back, at, voxel * back.scale()).0);
    let moved = there.into_iter().flatten().map(|i| pose.apply(moving.points[i]));
    moved.chain(here.into_iter().flatten().map(|i| fixed.points[i])).map(|place| (place, 1.0)).collect()
}

/// The point within whose neighbourhood most weight lies, and its share of all; the first of equal ones.
fn densest(points: &[([f64; 3], f64)], radius: f64) -> Option<([f64; 3], f64)> {
    let all: f64 = points.iter().map(|(_, weight)| weight).sum();
    let near = |p: [f64; 3]| points.iter().filter(move |(q, _)| distance_sq(p, *q) <= radius * radius);
    let mut best: Option<(f64, [f64; 3])> = None;
    for (p, _) in points {
        let (count, weight) = near(*p).fold((0, 0.0), |(count, sum), (_, weight)| (count + 1, sum + weight));
        if count >= FEWEST && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, *p));
        }
    }
    let (weight, middle) = best?;
    Some((middle, weight / all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_patch_is_the_place() {
        let mut points: Vec<([f64; 3], f64)> = (0..20).map(|k| ([f64::from(k), 0.0, 0.0], 1.0)).collect();
        points.extend([-0.2, 0.0, 0.2].map(|y| ([40.0, y, 1.0], 2.0)));
        let (place, share) = densest(&points, 1.1).expect("a place");
        assert_eq!(place, [40.0, -0.2, 1.0]);
        assert!((share - 6.0 / 26.0).abs() < 1e-12);
        assert_eq!(densest(&points[..2], 1.1), None);
        assert_eq!(densest(&[], 1.0), None);
    }
}
