//! What each point says of a pose: it is explained by the other cloud, contradicted by it, or has nothing to say.
//!
//! A point speaks *for* a pose when the other cloud is near it with the same tangent plane. It speaks *against* it when the other cloud has
//! a surface a few voxels above or below it, and that surface goes on all round: the place was seen, and something else was there. Where
//! the other surface ends, or is far away, nothing is known: scans that share only a part differ there, and rightly so. Nor is it held
//! against a pose when the two surfaces face opposite ways: they may be the two sides of something thin.

use pcr99::Similarity;
use rayon::prelude::*;

use crate::{
    prepare::Level,
    vector::{dot, minus, rotate},
    verify::Assessment,
};

/// Points count as overlapping when one of the other cloud is within so many voxels.
pub(crate) const NEAR: f64 = 1.5;
/// Farther than so many voxels from a surface nothing is concluded from it.
const FAR: f64 = 5.0;
/// Normals agree within 30°, whatever their signs.
const AGREE: f64 = 0.866;
/// A point is above or below another when the way there is within so much (cosine; 37°) of the normal.
const ABOVE: f64 = 0.8;
/// A surface goes on all round a point when its neighbours within so many voxels …
const ROUND: f64 = 3.0;
/// … have their middle within this share of that (the middle of a half disc is 0.42 away), …
const OFF_MIDDLE: f64 = 0.25;
/// … and, with the point itself, are no fewer than this.
const FEW: usize = 6;
/// Points of a cloud that tell how much of it is on one plane.
const SAMPLE: usize = 256;
/// Points with normals within so much (cosine; 15°) and within a voxel of the tangent plane are on the same plane.
const SAME_PLANE: f64 = 0.966;
/// A plane counts about as much as this share of a cloud without planes, however large it is.
const PLANE_SHARE: f64 = 0.02;

/// A plane with this share of a cloud is a large one, …
const LARGE_PLANE: f64 = 0.06;
/// … and points within so many voxels of it are beside it.
const BESIDE: f64 = 3.0;
/// Which way normals point is believed when the points that speak for a pose agree on it by this much, from 0 to 1.
const SIDES_CLEAR: f64 = 0.6;

/// What one point says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Witness {
    /// The same surface is there.
    For,
    /// Something is there, at another slant.
    Askew,
    /// The place was seen, and something else is there.
    Against,
    /// The other cloud knows nothing of the place.
    Silent,
}

/// The points that are asked, of both clouds, and how much each counts.
#[derive(Debug, Clone)]
pub(crate) struct Jury {
    picked: [Vec<usize>; 2],
    /// Of the source's points, then the target's.
    weights: Vec<f64>,
    /// Whether a point is neither on nor beside a large plane.
    distinct: Vec<bool>,
}

/// What all that were asked said of one pose, in the order of the jury.
#[derive(Debug, Clone)]
pub(crate) struct Testimony {
    said: Vec<Witness>,
    /// How far each is from the tangent plane of the other cloud, in voxels.
    off: Vec<f32>,
    pub(crate) assessment: Assessment,
    /// The weight of those that speak for the pose.
    pub(crate) explained: f64,
}

impl Jury {
    /// No more than about `points` of each cloud.
    pub(crate) fn of(source: &Level, target: &Level, points: usize) -> Self {
        let picked = [source, target].map(|level| pick(level, points));
        let mut weights = weights_of(source, &picked[0]);
        weights.extend(weights_of(target, &picked[1]));
        let (of_source, of_target) = weights.split_at(picked[0].len());
        let mut distinct = are_distinct(source, &picked[0], of_source);
        distinct.extend(are_distinct(target, &picked[1], of_target));
        Self { picked, weights, distinct }
    }

    /// What all say of a pose; `voxel` in target units.
    pub(crate) fn hear(
        &self,
        source: Side<'_>,
        target: Side<'_>,
        pose: &Similarity,
        voxel: f64,
    ) -> Testimony {
        let ask_all = |from: Side<'_>, to: Side<'_>, pose: &Similarity, voxel: f64, picked: &[usize]| {
            picked.par_iter().map(|&i| ask(from, to, pose, voxel, i)).collect::<Vec<_>>()
        };
        let back = pose.inverse();
        let mut heard = ask_all(source, target, pose, voxel, &self.picked[0]);
        heard.extend(ask_all(target, source, &back, voxel * back.scale(), &self.picked[1]));
        self.excuse_thin_things(&mut heard);
        self.sum(&heard)
    }

    /// Two surfaces that face opposite ways may be the two sides of one thing.
    fn excuse_thin_things(&self, heard: &mut [Heard]) {
        let (mut same, mut all) = (0.0, 0.0);
        for (heard, weight) in heard.iter().zip(&self.weights).filter(|(h, _)| h.witness == Witness::For) {
            same += if heard.facing > 0.0 { *weight } else { -weight };
            all += weight;
        }
        if same.abs() < SIDES_CLEAR * all {
            return;
        }
        // The normals of one cloud may all be on the other side.
        for heard in heard.iter_mut().filter(|heard| heard.witness == Witness::Against) {
            if heard.facing * same.signum() < -AGREE {
                heard.witness = Witness::Silent;
            }
        }
    }

    fn sum(&self, heard: &[Heard]) -> Testimony {
        let sources = self.picked[0].len();
        // Of each cloud by itself, so that exchanging them changes no bit.
        let mut sums = [Sums::default(); 2];
        for (k, (Heard { witness, off, .. }, weight)) in heard.iter().zip(&self.weights).enumerate() {
            let sum = &mut sums[usize::from(k >= sources)];
            match witness {
                Witness::Silent => continue,
                Witness::Against => sum.against += weight,
                Witness::For | Witness::Askew => {
                    sum.near += 1;
                    sum.residual += off;
                }
            }
            if *witness == Witness::For {
                sum.agreeing += 1;
                sum.distinct += usize::from(self.distinct[k]);
                sum.explained += weight;
            }
            sum.speaking += weight;
        }
        let [a, b] = sums;
        let share = |part: usize, whole: usize| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let (near, speaking) = (a.near + b.near, a.speaking + b.speaking);
        let assessment = Assessment {
            overlap_source: share(a.near, sources),
            overlap_target: share(b.near, heard.len() - sources),
            agreement: share(a.agreeing + b.agreeing, near),
            residual: if near > 0 { (a.residual + b.residual) / near as f64 } else { NEAR },
            distinct: share(a.distinct + b.distinct, heard.len()),
            contradiction: if speaking > 0.0 { (a.against + b.against) / speaking } else { 0.0 },
        };
        let said = heard.iter().map(|heard| heard.witness).collect();
        let off = heard.iter().map(|heard| heard.off as f32).collect();
        Testimony { said, off, assessment, explained: a.explained + b.explained }
    }

    /// Holds two poses against each other, point by point.
    pub(crate) fn compare(&self, one: &Testimony, other: &Testimony) -> Comparison {
        let (mut told, mut askew, mut apart, mut both) = ([0.0; 2], [0.0; 2], [0.0; 2], 0.0);
        for (k, weight) in self.weights.iter().enumerate() {
            match (one.said[k], other.said[k]) {
                (Witness::For, Witness::Against) => told[0] += weight,
                (Witness::Against, Witness::For) => told[1] += weight,
                (Witness::For, Witness::Askew) => askew[0] += weight,
                (Witness::Askew, Witness::For) => askew[1] += weight,
                (Witness::For, Witness::For) => {
                    apart[0] += weight * f64::from(one.off[k]);
                    apart[1] += weight * f64::from(other.off[k]);
                    both += weight;
                }
                _ => {}
            }
        }
        let residual = if both > 0.0 { apart.map(|sum| sum / both) } else { [0.0; 2] };
        Comparison { told, askew, residual }
    }
}

/// Two poses held against each other. Only points of which both know something count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Comparison {
    /// The weight of the points that one pose explains and the other contradicts: for the first, and for the second.
    pub(crate) told: [f64; 2],
    /// The weight of the points that one pose explains and that have another slant than the surface beside them under the other.
    pub(crate) askew: [f64; 2],
    /// The mean distance of the points that both explain from the other surface, under the first and under the second, in voxels.
    pub(crate) residual: [f64; 2],
}

/// Which of the points are neither on nor beside a large plane, the edges of which are planes' work, too.
fn are_distinct(level: &Level, picked: &[usize], weights: &[f64]) -> Vec<bool> {
    let mut is_plain = vec![false; level.points.len()];
    for (&i, &weight) in picked.iter().zip(weights) {
        is_plain[i] = weight < PLANE_SHARE / (LARGE_PLANE + PLANE_SHARE);
    }
    let is_distinct = |&i: &usize| {
        let mut beside = is_plain[i];
        level
            .tree
            .for_each_within(level.points[i], BESIDE * level.voxel, |near| beside |= is_plain[near.index]);
        !beside
    };
    picked.par_iter().map(is_distinct).collect()
}

fn pick(level: &Level, points: usize) -> Vec<usize> {
    let stride = level.points.len().div_ceil(points).max(1);
    (0..level.points.len()).step_by(stride).collect()
}

/// The less of its cloud is on the plane of a point, the more the point counts: two rooms both have a floor and walls, and what stands in
/// them tells them apart.
fn weights_of(level: &Level, picked: &[usize]) -> Vec<f64> {
    let sample = pick(level, SAMPLE);
    let normals = level.normals();
    let weight = |&i: &usize| {
        let (p, n) = (level.points[i], normals[i]);
        let is_on = |&&j: &&usize| {
            dot(normals[j], n).abs() > SAME_PLANE && dot(n, minus(level.points[j], p)).abs() < level.voxel
        };
        let share = sample.iter().filter(is_on).count() as f64 / sample.len() as f64;
        PLANE_SHARE / (share + PLANE_SHARE)
    };
    picked.par_iter().map(weight).collect()
}

/// What the points of one cloud said, summed up.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    near: usize,
    agreeing: usize,
    distinct: usize,
    residual: f64,
    explained: f64,
    against: f64,
    speaking: f64,
}

/// A cloud, and its normals, oriented where that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) level: &'a Level,
    pub(crate) normals: &'a [[f64; 3]],
}

impl<'a> Side<'a> {
    /// Normals of either sign.
    pub(crate) fn unoriented(level: &'a Level) -> Self {
        Self { level, normals: level.normals() }
    }
}

/// What one point said.
#[derive(Debug, Clone, Copy)]
struct Heard {
    witness: Witness,
    /// The distance from the other's tangent plane, in voxels.
    off: f64,
    /// The cosine between the two normals.
    facing: f64,
}

/// What point `i` of `from` says; `voxel` in units of `to`.
fn ask(from: Side<'_>, to: Side<'_>, pose: &Similarity, voxel: f64, i: usize) -> Heard {
    let moved = pose.apply(from.level.points[i]);
    let Some(near) = to.level.tree.nearest(moved, FAR * voxel) else {
        return Heard { witness: Witness::Silent, off: 0.0, facing: 0.0 };
    };
    let normal = to.normals[near.index];
    let off = dot(normal, minus(moved, to.level.points[near.index]));
    let facing = dot(rotate(&pose.rotation(), from.normals[i]), normal);
    let witness = if near.distance_sq <= NEAR * NEAR * voxel * voxel {
        if facing.abs() >= AGREE { Witness::For } else { Witness::Askew }
    } else if off * off >= ABOVE * ABOVE * near.distance_sq && goes_on(to.level, near.index, ROUND * voxel) {
        Witness::Against
    } else {
        Witness::Silent
    };
    Heard { witness, off: off.abs() / voxel, facing }
}

/// Whether the surface goes on all round a point.
fn goes_on(level: &Level, i: usize, radius: f64) -> bool {
    let (p, n) = (level.points[i], level.normals()[i]);
    let (mut count, mut sum) = (0, [0.0; 3]);
    level.tree.for_each_within(p, radius, |near| {
        count += 1;
        let v = minus(level.points[near.index], p);
        sum.iter_mut().zip(v).for_each(|(sum, x)| *sum += x);
    });
    let middle = sum.map(|x| x / count as f64);
    let up = dot(middle, n);
    let aside_sq = dot(middle, middle) - up * up;
    count >= FEW && aside_sq < OFF_MIDDLE * OFF_MIDDLE * radius * radius
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;

    /// The floor from `low` to `high` with a step of this height at `x > edge`.
    fn floor(seed: u64, low: f64, high: f64, edge: f64, height: f64) -> Level {
        let mut random = Random::new(seed);
        let point = |_| {
            let (x, y) = (low + (high - low) * random.uniform(), 3.0 * random.uniform());
            [x, y, if x > edge { height } else { 0.0 }]
        };
        Level::of(&(0..30_000).map(point).collect::<Vec<_>>(), None, 0.05)
    }

    fn here() -> Similarity {
        Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 0.0], [0.0; 3])
    }

    fn heard(a: &Level, b: &Level) -> Testimony {
        Jury::of(a, b, 1000).hear(Side::unoriented(a), Side::unoriented(b), &here(), 0.05)
    }

    #[test]
    fn what_was_not_seen_is_not_held_against_a_pose() {
        let (left, right) = (floor(1, 0.0, 2.0, 9.0, 0.0), floor(2, 1.0, 3.0, 9.0, 0.0));
        let found = heard(&left, &right).assessment;
        assert!((0.45..0.55).contains(&found.overlap_source), "{found:?}");
        assert_eq!(found.contradiction, 0.0);
    }

    #[test]
    fn a_surface_where_another_was_seen_is_held_against_it() {
        let (flat, stepped) = (floor(1, 0.0, 3.0, 9.0, 0.0), floor(2, 0.0, 3.0, 2.0, 0.15));
        let found = heard(&flat, &stepped).assessment;
        // A third of the floor is three voxels lower; the step itself counts as much as the rest, which is one plane each.
        assert!((0.25..0.55).contains(&found.contradiction), "{found:?}");
        let far = floor(3, 0.0, 3.0, 2.0, 0.5);
        assert_eq!(heard(&flat, &far).assessment.contradiction, 0.0, "ten voxels above, it may be a table");
    }

    #[test]
    fn poses_are_compared_where_they_differ() {
        let (a, b) = (floor(1, 0.0, 3.0, 2.0, 0.15), floor(2, 0.0, 3.0, 2.0, 0.15));
        let jury = Jury::of(&a, &b, 1000);
        let shifted = Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 0.0], [-0.7, 0.0, 0.0]);
        let hear = |pose: &Similarity| jury.hear(Side::unoriented(&a), Side::unoriented(&b), pose, 0.05);
        let (right, wrong) = (hear(&here()), hear(&shifted));
        let found = jury.compare(&right, &wrong);
        assert!(found.told[0] > 10.0 && found.told[1] == 0.0, "{found:?}");
        let back = jury.compare(&wrong, &right);
        assert_eq!((back.told[0], back.askew[0]), (found.told[1], found.askew[1]));
        assert_eq!(back.residual, [found.residual[1], found.residual[0]]);
        // A tenth of a voxel higher, the floor is explained all the same, but less well.
        let lifted = hear(&Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.005]));
        let [low, high] = jury.compare(&right, &lifted).residual;
        assert!(low < 0.05 && (0.05..0.15).contains(&high), "{low} {high}");
        assert!(right.explained > wrong.explained);
    }
}
