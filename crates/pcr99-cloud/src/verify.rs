//! Verification: what the clouds themselves say of a pose.

use pcr99::Similarity;
use rayon::prelude::*;

use crate::{
    prepare::Level,
    vector::{dot, minus, rotate},
};

/// Points count as overlapping when one of the other cloud is within so many voxels.
const NEAR: f64 = 1.5;
/// Normals agree within 30°, whatever their signs.
const AGREE: f64 = 0.866;
/// Points of each cloud that are looked at.
const LOOKED_AT: usize = 2000;

/// What the clouds say of a pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assessment {
    /// Share of the source that has target near it.
    pub overlap_source: f64,
    /// Share of the target that has source near it.
    pub overlap_target: f64,
    /// Share of the overlapping points whose normals agree.
    pub agreement: f64,
    /// Mean distance of overlapping points from the tangent plane of the other, in voxels.
    pub residual: f64,
}

impl Assessment {
    /// Of the pose of two sampled clouds; `voxel` in target units.
    pub fn of(source: &Level, target: &Level, pose: &Similarity, voxel: f64) -> Self {
        let reach = NEAR * voxel;
        let back = pose.inverse();
        let there = Tally::of(source, target, pose, reach);
        let here = Tally::of(target, source, &back, reach / pose.scale());
        let (near, agreeing) = (there.near + here.near, there.agreeing + here.agreeing);
        let residual = there.residual / voxel + here.residual / (voxel / pose.scale());
        let share = |part: usize, whole: usize| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        Self {
            overlap_source: share(there.near, there.all),
            overlap_target: share(here.near, here.all),
            agreement: share(agreeing, near),
            residual: if near > 0 { residual / near as f64 } else { NEAR },
        }
    }

    /// How well it fits, to compare poses of the same clouds: overlap both ways, times the share of agreeing normals, over the residual.
    pub fn score(&self) -> f64 {
        self.overlap_source * self.overlap_target * self.agreement / (0.1 + self.residual)
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    all: usize,
    near: usize,
    agreeing: usize,
    residual: f64,
}

impl Tally {
    fn of(from: &Level, to: &Level, pose: &Similarity, reach: f64) -> Self {
        let stride = from.points.len().div_ceil(LOOKED_AT).max(1);
        let look = |i: usize| {
            let moved = pose.apply(from.points[i]);
            let near = to.tree.nearest(moved, reach)?;
            let normal = to.normals[near.index];
            let off = dot(normal, minus(moved, to.points[near.index])).abs();
            let agrees = dot(rotate(&pose.rotation(), from.normals[i]), normal).abs() >= AGREE;
            Some((off, agrees))
        };
        let picked: Vec<usize> = (0..from.points.len()).step_by(stride).collect();
        let found: Vec<Option<(f64, bool)>> = picked.par_iter().map(|&i| look(i)).collect();
        let mut tally = Self { all: picked.len(), ..Self::default() };
        for (off, agrees) in found.into_iter().flatten() {
            tally.near += 1;
            tally.agreeing += usize::from(agrees);
            tally.residual += off;
        }
        tally
    }
}
