//! What each point says of a pose: it is explained by the other cloud, contradicted by it, or has nothing to say.
//!
//! A point *speaks for* a pose when the other cloud is near it with the same tangent plane. It speaks *against* it when the other cloud has a
//! surface a few voxels above or below it, and that surface goes on all round: the place was seen, and something else was there. Where the
//! other surface ends, or is far away, nothing is known: scans that share only a part differ there, and rightly so.

use pcr99::Similarity;
use rayon::prelude::*;

use crate::{
    prepare::Level,
    vector::{dot, minus, rotate},
};

/// Points count as overlapping when one of the other cloud is within so many voxels.
pub(crate) const NEAR: f64 = 1.5;
/// Farther than so many voxels from a surface nothing is concluded from it.
const FAR: f64 = 5.0;
/// Normals agree within 30°, whatever their signs.
pub(crate) const AGREE: f64 = 0.866;
/// A point is above or below another when the way there is within so much (cosine; 37°) of the normal.
const ABOVE: f64 = 0.8;
/// A surface goes on all round when the neighbours within so many voxels …
const ROUND: f64 = 3.0;
/// … have their middle within this share of that; of a half disc it is 0.42 away.
const OFF_MIDDLE: f64 = 0.25;
/// … and are no fewer.
const FEW: usize = 6;
/// Points of a cloud that tell how much of it is on one plane.
const SAMPLE: usize = 256;
/// Points with normals within so much (cosine; 15°) and within a voxel of the tangent plane are on the same plane.
const SAME_PLANE: f64 = 0.966;
/// A plane counts about as much as this share of the cloud, however large it is.
const SHARE: f64 = 0.02;

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
    pub(crate) weights: Vec<f64>,
}

impl Jury {
    /// No more than about `points` of each cloud.
    pub(crate) fn of(source: &Level, target: &Level, points: usize) -> Self {
        let picked = [source, target].map(|level| pick(level, points));
        let mut weights = weights_of(source, &picked[0]);
        weights.extend(weights_of(target, &picked[1]));
        Self { picked, weights }
    }

    /// What all say of a pose; `voxel` in target units.
    pub(crate) fn hear(&self, source: &Level, target: &Level, pose: &Similarity, voxel: f64) -> Vec<Witness> {
        let ask = |from: &Level, to: &Level, pose: &Similarity, voxel: f64, picked: &[usize]| {
            picked.par_iter().map(|&i| witness(from, to, pose, voxel, i)).collect::<Vec<_>>()
        };
        let mut heard = ask(source, target, pose, voxel, &self.picked[0]);
        let back = pose.inverse();
        heard.extend(ask(target, source, &back, voxel * back.scale(), &self.picked[1]));
        heard
    }

    /// The weight of those that speak for and against, as shares of all that speak.
    pub(crate) fn contradiction(&self, heard: &[Witness], weighted: bool) -> f64 {
        let (mut against, mut all) = (0.0, 0.0);
        for (witness, weight) in heard.iter().zip(&self.weights) {
            let weight = if weighted { *weight } else { 1.0 };
            match witness {
                Witness::Silent => continue,
                Witness::Against => against += weight,
                _ => {}
            }
            all += weight;
        }
        if all > 0.0 { against / all } else { 0.0 }
    }
}

fn pick(level: &Level, points: usize) -> Vec<usize> {
    let stride = level.points.len().div_ceil(points).max(1);
    (0..level.points.len()).step_by(stride).collect()
}

/// The less of its cloud is on the plane of a point, the more the point counts: two rooms share floor and walls, what stands in them tells
/// them apart.
fn weights_of(level: &Level, picked: &[usize]) -> Vec<f64> {
    let sample = pick(level, SAMPLE);
    let normals = level.normals();
    let weight = |&i: &usize| {
        let (p, n) = (level.points[i], normals[i]);
        let on = |&&j: &&usize| {
            dot(normals[j], n).abs() > SAME_PLANE && dot(n, minus(level.points[j], p)).abs() < level.voxel
        };
        let share = sample.iter().filter(on).count() as f64 / sample.len() as f64;
        SHARE / (share + SHARE)
    };
    picked.par_iter().map(weight).collect()
}

/// What point `i` of `from` says; `voxel` in units of `to`.
fn witness(from: &Level, to: &Level, pose: &Similarity, voxel: f64, i: usize) -> Witness {
    let moved = pose.apply(from.points[i]);
    let Some(near) = to.tree.nearest(moved, FAR * voxel) else { return Witness::Silent };
    let (foot, normal) = (to.points[near.index], to.normals()[near.index]);
    if near.distance_sq <= NEAR * NEAR * voxel * voxel {
        let agrees = dot(rotate(&pose.rotation(), from.normals()[i]), normal).abs() >= AGREE;
        return if agrees { Witness::For } else { Witness::Askew };
    }
    let off = dot(normal, minus(moved, foot));
    let is_above = off * off >= ABOVE * ABOVE * near.distance_sq;
    if is_above && goes_on(to, near.index, voxel) { Witness::Against } else { Witness::Silent }
}

/// Whether the surface goes on all round a point.
fn goes_on(level: &Level, i: usize, voxel: f64) -> bool {
    let (p, n) = (level.points[i], level.normals()[i]);
    let radius = ROUND * voxel;
    let (mut count, mut sum) = (0, [0.0; 3]);
    level.tree.for_each_within(p, radius, |near| {
        let v = minus(level.points[near.index], p);
        count += 1;
        sum.iter_mut().zip(v).for_each(|(sum, x)| *sum += x);
    });
    let middle = sum.map(|x| x / count as f64);
    let up = dot(middle, n);
    let aside_sq = dot(middle, middle) - up * up;
    count >= FEW && aside_sq < OFF_MIDDLE * OFF_MIDDLE * radius * radius
}
