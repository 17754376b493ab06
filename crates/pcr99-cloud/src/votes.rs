//! Votes of single points on a pose.
//!
//! Sampled points of both clouds vote:
//!
//! | vote | condition |
//! |---|---|
//! | for | the other cloud is within 1.5 voxels, with the same tangent plane |
//! | askew | the other cloud is within 1.5 voxels, with another tangent plane |
//! | against | the other cloud has a surface a few voxels above or below the point, and that surface surrounds the place |
//! | silent | none of these: the other cloud ends there, or is far away |
//!
//! A surface that surrounds the place was seen there, and the point is not on it. Where the other surface ends nothing is known: scans that
//! share only a part differ there. Two surfaces that face opposite ways may be the two sides of a thin object, so these points are silent.

use pcr99::Similarity;
use rayon::prelude::*;

use pcr99_base::{
    kernel::same_plane::{Limits, Surface, count_on_plane},
    vector::{dot, minus, rotate},
};

use crate::{
    grid::{KeyTable, key_of},
    prepare::SampledCloud,
    tree::Neighborhoods,
    verify::Assessment,
};

/// Largest distance at which points overlap, in voxels.
pub(crate) const NEAR: f64 = 1.5;
/// Largest distance from which a surface contradicts a point, in voxels. What is farther may be another object.
const FAR: f64 = 5.0;
/// Cosine of 30°: normals agree within this angle, whatever their signs.
const AGREE: f64 = 0.866;
/// Cosine of 37°: a point is above or below another when the line between them is within this angle of the normal.
const ABOVE: f64 = 0.8;
/// Radius of the neighbourhood that tells whether a surface surrounds a place, in voxels.
const SURROUNDING_RADIUS: f64 = 3.0;
/// Largest distance of the neighbours' mean from the point, as a fraction of the radius. The mean of a half disc is 0.42 away.
const OFF_CENTER: f64 = 0.25;
/// Smallest number of neighbours, the point itself included, of a surface that surrounds a place.
const FEWEST_NEIGHBORS: usize = 6;
/// Number of points of a cloud that measure how much of it lies on one plane.
const PLANE_SAMPLE: usize = 256;
/// Cosine of 15°: points within a voxel of a tangent plane are on it when their normals are within this angle.
const SAME_PLANE: f64 = 0.966;
/// Edge of a patch, in voxels. Residuals of neighbours are alike within about this distance.
const PATCH: f64 = 6.0;
/// A point fits better under one of two poses when it is nearer to the surface by more than this, in voxels: the scatter of centroids.
const NEARER: f32 = 0.15;
/// Number of points of one task.
const CHUNK: usize = 256;
/// Total weight of a plane relative to a cloud without planes, however large the plane is.
const PLANE_WEIGHT: f64 = 0.02;
/// A plane is large from this fraction of its cloud on.
const LARGE_PLANE: f64 = 0.06;
/// Points within this many voxels of a large plane do not count as off it: edges of planes are no more distinctive than planes.
const BESIDE_PLANE: f64 = 3.0;
/// Smallest agreement, from 0 to 1, of the points that vote for a pose on whether normals face the same or opposite ways. Below it, the
/// orientation of normals is not used.
const CLEAR_SIDES: f64 = 0.6;

/// The vote of one point on a pose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vote {
    /// The same surface is there.
    For,
    /// Another surface is there, at an angle.
    Askew,
    /// The place was seen, and the surface is beside it.
    Against,
    /// The other cloud tells nothing about the place.
    Silent,
}

impl Vote {
    /// All values.
    pub const ALL: [Self; 4] = [Self::For, Self::Askew, Self::Against, Self::Silent];

    /// The word for people and pages: `for`, `askew`, `against` or `silent`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::For => "for",
            Self::Askew => "askew",
            Self::Against => "against",
            Self::Silent => "silent",
        }
    }
}

/// The points of both clouds that vote, and their weights.
#[derive(Debug, Clone)]
pub(crate) struct Voters {
    picked: [Vec<usize>; 2],
    /// Weights of the source's points, then of the target's.
    weights: Vec<f64>,
    /// Whether each point is neither on nor beside a large plane.
    off_plane: Vec<bool>,
    /// The part of its patch that each point is: one divided by the number of voters in the patch.
    shares: Vec<f64>,
}

/// All votes on one pose, in the order of the voters.
#[derive(Debug, Clone)]
pub(crate) struct Votes {
    votes: Vec<Vote>,
    /// Distance of each point from the tangent plane of the other cloud, in voxels.
    distances: Vec<f32>,
    pub(crate) assessment: Assessment,
    /// Total weight of the points that vote for the pose.
    pub(crate) explained: f64,
}

impl Voters {
    /// Picks about `points` points of each cloud at most.
    pub(crate) fn of(source: &SampledCloud, target: &SampledCloud, points: usize) -> Self {
        let picked = [source, target].map(|cloud| pick(cloud, points));
        let mut weights = weights_of(source, &picked[0]);
        weights.extend(weights_of(target, &picked[1]));
        let (of_source, of_target) = weights.split_at(picked[0].len());
        let mut off_plane = are_off_plane(source, &picked[0], of_source);
        off_plane.extend(are_off_plane(target, &picked[1], of_target));
        let mut shares = patch_shares(source, &picked[0]);
        shares.extend(patch_shares(target, &picked[1]));
        Self { picked, weights, off_plane, shares }
    }

    /// Collects the votes on a pose; `voxel` is in target units.
    pub(crate) fn votes_on(
        &self,
        source: Side<'_>,
        target: Side<'_>,
        pose: &Similarity,
        voxel: f64,
    ) -> Votes {
        let collect = |from: Side<'_>, to: Side<'_>, pose: &Similarity, voxel: f64, picked: &[usize]| {
            picked.par_iter().map(|&i| PointVote::of(from, to, pose, voxel, i)).collect::<Vec<_>>()
        };
        let back = pose.inverse();
        let mut votes = collect(source, target, pose, voxel, &self.picked[0]);
        votes.extend(collect(target, source, &back, voxel * back.scale(), &self.picked[1]));
        self.silence_opposite_sides(&mut votes);
        self.sum(&votes)
    }

    /// Silences votes against the pose of surfaces that face opposite ways: they may be the two sides of a thin object.
    fn silence_opposite_sides(&self, votes: &mut [PointVote]) {
        let (mut same, mut all) = (0.0, 0.0);
        for (vote, weight) in votes.iter().zip(&self.weights).filter(|(v, _)| v.vote == Vote::For) {
            same += if vote.facing > 0.0 { *weight } else { -weight };
            all += weight;
        }
        if same.abs() < CLEAR_SIDES * all {
            return;
        }
        // `same` is negative when the normals of one cloud are all reversed.
        for vote in votes.iter_mut().filter(|vote| vote.vote == Vote::Against) {
            if vote.facing * same.signum() < -AGREE {
                vote.vote = Vote::Silent;
            }
        }
    }

    fn sum(&self, votes: &[PointVote]) -> Votes {
        let sources = self.picked[0].len();
        // One sum for each cloud, so that exchanging the clouds changes no bit.
        let mut sums = [Sums::default(); 2];
        for (k, (PointVote { vote, distance, .. }, weight)) in votes.iter().zip(&self.weights).enumerate() {
            let sum = &mut sums[usize::from(k >= sources)];
            match vote {
                Vote::Silent => continue,
                Vote::Against => sum.against += weight,
                Vote::For | Vote::Askew => {
                    sum.near += 1;
                    sum.distance += distance;
                }
            }
            if *vote == Vote::For {
                sum.agreeing += 1;
                sum.off_plane += usize::from(self.off_plane[k]);
                sum.explained += weight;
            }
            sum.voting += weight;
        }
        let [a, b] = sums;
        let fraction = |part: usize, whole: usize| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let (near, voting) = (a.near + b.near, a.voting + b.voting);
        let assessment = Assessment {
            overlap_source: fraction(a.near, sources),
            overlap_target: fraction(b.near, votes.len() - sources),
            normal_agreement: fraction(a.agreeing + b.agreeing, near),
            residual_voxels: if near > 0 { (a.distance + b.distance) / near as f64 } else { NEAR },
            off_plane_fraction: fraction(a.off_plane + b.off_plane, votes.len()),
            conflict_fraction: if voting > 0.0 { (a.against + b.against) / voting } else { 0.0 },
        };
        let distances = votes.iter().map(|vote| vote.distance as f32).collect();
        let votes = votes.iter().map(|vote| vote.vote).collect();
        Votes { votes, distances, assessment, explained: a.explained + b.explained }
    }

    /// Each vote, with the index of its point in the source or in the target, and the weight of the point.
    pub(crate) fn located<'a>(&'a self, votes: &'a Votes) -> [Vec<(usize, Vote, f64)>; 2] {
        let sources = self.picked[0].len();
        let of = |first: usize, picked: &[usize]| {
            let vote = |(k, &i): (usize, &usize)| (i, votes.votes[first + k], self.weights[first + k]);
            picked.iter().enumerate().map(vote).collect()
        };
        [of(0, &self.picked[0]), of(sources, &self.picked[1])]
    }

    /// Compares the votes on two poses, point by point.
    pub(crate) fn compare(&self, one: &Votes, other: &Votes) -> Comparison {
        let (mut contradicted, mut askew) = ([0.0; 2], [0.0; 2]);
        let (mut distances, mut both) = ([0.0; 2], 0.0);
        let mut better = [0.0; 2];
        for (k, weight) in self.weights.iter().enumerate() {
            let share = self.shares[k] * if self.off_plane[k] { 1.0 } else { *weight };
            match (one.votes[k], other.votes[k]) {
                (Vote::For, Vote::Against | Vote::Askew) => better[0] += share,
                (Vote::Against | Vote::Askew, Vote::For) => better[1] += share,
                (Vote::For, Vote::For) => {
                    let nearer = other.distances[k] - one.distances[k];
                    better[0] += if nearer > NEARER { share } else { 0.0 };
                    better[1] += if nearer < -NEARER { share } else { 0.0 };
                }
                _ => {}
            }
            match (one.votes[k], other.votes[k]) {
                (Vote::For, Vote::Against) => contradicted[0] += weight,
                (Vote::Against, Vote::For) => contradicted[1] += weight,
                (Vote::For, Vote::Askew) => askew[0] += weight,
                (Vote::Askew, Vote::For) => askew[1] += weight,
                (Vote::For, Vote::For) => {
                    distances[0] += weight * f64::from(one.distances[k]);
                    distances[1] += weight * f64::from(other.distances[k]);
                    both += weight;
                }
                _ => {}
            }
        }
        let residual = if both > 0.0 { distances.map(|sum| sum / both) } else { [0.0; 2] };
        Comparison { contradicted, askew, residual, better }
    }
}

/// The differences between the votes on two poses. Only points that vote on both count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Comparison {
    /// Weight of the points that vote for one pose and against the other: for the first pose, and for the second.
    pub(crate) contradicted: [f64; 2],
    /// Weight of the points that vote for one pose and are askew under the other: for the first pose, and for the second.
    pub(crate) askew: [f64; 2],
    /// Mean distance, under the first and under the second pose, of the points that vote for both, in voxels.
    pub(crate) residual: [f64; 2],
    /// Patches that fit better under one pose than under the other: under the first, and under the second. Those on large planes weigh less.
    pub(crate) better: [f64; 2],
}

impl Comparison {
    /// How clearly the first pose fits better, in standard deviations of the difference between two equal poses (McNemar's test).
    pub(crate) fn clearness(&self) -> f64 {
        let [one, other] = self.better;
        (one - other) / (one + other + 1.0).sqrt()
    }
}

/// The part of its patch that each picked point is.
fn patch_shares(cloud: &SampledCloud, picked: &[usize]) -> Vec<f64> {
    let mut table = KeyTable::new();
    let patch =
        |&i: &usize| key_of(cloud.points[i], 1.0 / (PATCH * cloud.voxel)).map(|key| table.number(key));
    let patches: Vec<Option<usize>> = picked.iter().map(patch).collect();
    let mut sizes = vec![0.0_f64; table.keys().len()];
    patches.iter().flatten().for_each(|&patch| sizes[patch] += 1.0);
    patches.iter().map(|patch| patch.map_or(0.0, |patch| 1.0 / sizes[patch])).collect()
}

/// Whether each picked point is neither on nor beside a large plane.
fn are_off_plane(cloud: &SampledCloud, picked: &[usize], weights: &[f64]) -> Vec<bool> {
    let mut is_on_plane = vec![false; cloud.points.len()];
    for (&i, &weight) in picked.iter().zip(weights) {
        is_on_plane[i] = weight < PLANE_WEIGHT / (LARGE_PLANE + PLANE_WEIGHT);
    }
    if !is_on_plane.contains(&true) {
        return vec![true; picked.len()];
    }
    let search = |picked: &[usize]| {
        let mut are_off_plane = Vec::with_capacity(picked.len());
        let mut neighborhoods = Neighborhoods::new(&cloud.tree);
        neighborhoods.for_each(picked, BESIDE_PLANE * cloud.voxel, |i, near, _| {
            are_off_plane.push(!is_on_plane[i] && !near.iter().any(|&near| is_on_plane[near as usize]));
        });
        are_off_plane
    };
    picked.par_chunks(CHUNK).flat_map_iter(search).collect()
}

fn pick(cloud: &SampledCloud, points: usize) -> Vec<usize> {
    let stride = cloud.points.len().div_ceil(points).max(1);
    (0..cloud.points.len()).step_by(stride).collect()
}

/// Weights of the picked points. The less of its cloud lies on the plane of a point, the more the point weighs: two rooms both have a floor
/// and walls, and what stands in them tells them apart.
fn weights_of(cloud: &SampledCloud, picked: &[usize]) -> Vec<f64> {
    let normals = cloud.normals();
    let sample = Surface::of(pick(cloud, PLANE_SAMPLE).into_iter().map(|i| (cloud.points[i], normals[i])));
    let limits = Limits { cosine: SAME_PLANE, distance: cloud.voxel };
    let weight = |&i: &usize| {
        let count = count_on_plane(&sample, cloud.points[i], normals[i], limits);
        PLANE_WEIGHT / (count as f64 / sample.len() as f64 + PLANE_WEIGHT)
    };
    picked.par_iter().map(weight).collect()
}

/// Sums over the votes of one cloud.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    near: usize,
    agreeing: usize,
    off_plane: usize,
    distance: f64,
    explained: f64,
    against: f64,
    /// Weight of all points that are not silent.
    voting: f64,
}

/// A sampled cloud with its normals, oriented where that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) cloud: &'a SampledCloud,
    pub(crate) normals: &'a [[f64; 3]],
}

impl<'a> Side<'a> {
    /// The cloud with normals of either sign.
    pub(crate) fn unoriented(cloud: &'a SampledCloud) -> Self {
        Self { cloud, normals: cloud.normals() }
    }
}

/// The vote of one point, with what it rests on.
#[derive(Debug, Clone, Copy)]
struct PointVote {
    vote: Vote,
    /// Distance from the other cloud's tangent plane, in voxels.
    distance: f64,
    /// Cosine between the two normals.
    facing: f64,
}

impl PointVote {
    /// The vote of point `i` of `from`; `voxel` is in units of `to`.
    fn of(from: Side<'_>, to: Side<'_>, pose: &Similarity, voxel: f64, i: usize) -> Self {
        let moved = pose.apply(from.cloud.points[i]);
        let Some(near) = to.cloud.tree.nearest(moved, FAR * voxel) else {
            return Self { vote: Vote::Silent, distance: 0.0, facing: 0.0 };
        };
        let normal = to.normals[near.index];
        let height = dot(normal, minus(moved, to.cloud.points[near.index]));
        let facing = dot(rotate(&pose.rotation(), from.normals[i]), normal);
        let vote = if near.distance_sq <= NEAR * NEAR * voxel * voxel {
            if facing.abs() >= AGREE { Vote::For } else { Vote::Askew }
        } else if height * height >= ABOVE * ABOVE * near.distance_sq
            && is_surrounded(to.cloud, near.index, SURROUNDING_RADIUS * voxel)
        {
            Vote::Against
        } else {
            Vote::Silent
        };
        Self { vote, distance: height.abs() / voxel, facing }
    }
}

/// Whether the surface continues on all sides of point `i`.
pub(crate) fn is_surrounded(cloud: &SampledCloud, i: usize, radius: f64) -> bool {
    let (p, n) = (cloud.points[i], cloud.normals()[i]);
    let (mut count, mut sum) = (0, [0.0; 3]);
    cloud.tree.for_each_within(p, radius, |near| {
        count += 1;
        let v = minus(cloud.points[near.index], p);
        sum.iter_mut().zip(v).for_each(|(sum, x)| *sum += x);
    });
    let mean = sum.map(|x| x / count as f64);
    let height = dot(mean, n);
    let aside_sq = dot(mean, mean) - height * height;
    count >= FEWEST_NEIGHBORS && aside_sq < OFF_CENTER * OFF_CENTER * radius * radius
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;

    /// The floor from `low` to `high` with a step of this height at `x > edge`.
    fn floor(seed: u64, low: f64, high: f64, edge: f64, height: f64) -> SampledCloud {
        let mut random = Random::new(seed);
        let point = |_| {
            let (x, y) = (low + (high - low) * random.uniform(), 3.0 * random.uniform());
            [x, y, if x > edge { height } else { 0.0 }]
        };
        SampledCloud::of(&(0..30_000).map(point).collect::<Vec<_>>(), None, 0.05)
    }

    fn identity() -> Similarity {
        Similarity::IDENTITY
    }

    fn votes(a: &SampledCloud, b: &SampledCloud) -> Votes {
        Voters::of(a, b, 1000).votes_on(Side::unoriented(a), Side::unoriented(b), &identity(), 0.05)
    }

    #[test]
    fn places_that_were_not_seen_do_not_conflict() {
        let (left, right) = (floor(1, 0.0, 2.0, 9.0, 0.0), floor(2, 1.0, 3.0, 9.0, 0.0));
        let found = votes(&left, &right).assessment;
        assert!((0.45..0.55).contains(&found.overlap_source), "{found:?}");
        assert_eq!(found.conflict_fraction, 0.0);
    }

    #[test]
    fn a_surface_beside_another_conflicts() {
        let (flat, stepped) = (floor(1, 0.0, 3.0, 9.0, 0.0), floor(2, 0.0, 3.0, 2.0, 0.15));
        let found = votes(&flat, &stepped).assessment;
        // A third of the floor is three voxels lower; the step itself weighs as much as the rest, which is one plane each.
        assert!((0.25..0.55).contains(&found.conflict_fraction), "{found:?}");
        let far = floor(3, 0.0, 3.0, 2.0, 0.5);
        let found = votes(&flat, &far).assessment;
        assert_eq!(found.conflict_fraction, 0.0, "a surface ten voxels above may be a table");
    }

    #[test]
    fn poses_are_compared_where_they_differ() {
        let (a, b) = (floor(1, 0.0, 3.0, 2.0, 0.15), floor(2, 0.0, 3.0, 2.0, 0.15));
        let voters = Voters::of(&a, &b, 1000);
        let shifted = Similarity::from_translation([-0.7, 0.0, 0.0]);
        let on = |pose: &Similarity| voters.votes_on(Side::unoriented(&a), Side::unoriented(&b), pose, 0.05);
        let (right, wrong) = (on(&identity()), on(&shifted));
        let found = voters.compare(&right, &wrong);
        assert!(found.contradicted[0] > 10.0 && found.contradicted[1] == 0.0, "{found:?}");
        let back = voters.compare(&wrong, &right);
        assert_eq!((back.contradicted[0], back.askew[0]), (found.contradicted[1], found.askew[1]));
        assert_eq!(back.residual, [found.residual[1], found.residual[0]]);
        // A floor that is a tenth of a voxel higher is still explained, but less well.
        let lifted = on(&Similarity::from_translation([0.0, 0.0, 0.005]));
        let [low, high] = voters.compare(&right, &lifted).residual;
        assert!(low < 0.05 && (0.05..0.15).contains(&high), "{low} {high}");
        assert!(right.explained > wrong.explained);
    }
}
