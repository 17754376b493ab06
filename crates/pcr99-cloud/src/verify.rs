//! Verification: what the clouds themselves say of a pose.

use pcr99::Similarity;
use rayon::prelude::*;

use crate::{
    grid::{KeyTable, key_of},
    prepare::Level,
    vector::{distance_sq, dot, lower_median, minus, rotate},
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
        Self::with_points(source, target, pose, voxel, LOOKED_AT)
    }

    /// The same, looking at no more than about `points` points of each cloud.
    pub fn with_points(source: &Level, target: &Level, pose: &Similarity, voxel: f64, points: usize) -> Self {
        let reach = NEAR * voxel;
        let back = pose.inverse();
        let there = Tally::of(source, target, pose, reach, points);
        let here = Tally::of(target, source, &back, reach / pose.scale(), points);
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

    /// The same pose seen from the other cloud.
    pub fn inverse(&self) -> Self {
        Self { overlap_source: self.overlap_target, overlap_target: self.overlap_source, ..*self }
    }

    /// How well it fits, to compare poses of the same clouds: overlap both ways, times the share of agreeing normals, over the residual.
    pub fn score(&self) -> f64 {
        self.overlap_source * self.overlap_target * self.agreement / (0.1 + self.residual)
    }
}

/// Share of the points of `from`, moved by `pose`, that are in front of what the sensor of `to` saw in their direction: it saw through
/// them. Of those in its view; `viewpoint` and `voxel` are in the coordinates of `to`.
///
/// Directions are binned on a cube around the sensor, as finely as voxels appear at the middle distance; the nearest surface of a bin is
/// what was seen there.
pub fn free_space_share(from: &Level, to: &Level, pose: &Similarity, viewpoint: [f64; 3], voxel: f64) -> f64 {
    let mut depths: Vec<f64> = to.points.iter().map(|&p| distance_sq(p, viewpoint).sqrt()).collect();
    let typical = lower_median(&mut depths).unwrap_or(0.0).max(voxel);
    // Two voxels wide, so that no bin on a surface is empty by chance; never coarser than about 15°.
    let step = (2.0 * voxel / typical).min(0.25);
    let mut table = KeyTable::new();
    let mut seen: Vec<f64> = Vec::new();
    for &p in &to.points {
        let Some((key, depth)) = direction(minus(p, viewpoint), step) else { continue };
        let bin = table.number(key);
        if bin == seen.len() {
            seen.push(depth);
        }
        seen[bin] = seen[bin].min(depth);
    }
    let (mut in_view, mut in_front) = (0_usize, 0_usize);
    let stride = from.points.len().div_ceil(LOOKED_AT).max(1);
    for &p in from.points.iter().step_by(stride) {
        let Some((key, depth)) = direction(minus(pose.apply(p), viewpoint), step) else { continue };
        let bin = table.number(key);
        if bin == seen.len() {
            // Nothing was seen there: no return is no free space.
            seen.push(0.0);
            continue;
        }
        if seen[bin] > 0.0 {
            in_view += 1;
            // A surface at a slant spans some depth within one bin.
            in_front += usize::from(depth + 3.0 * voxel + step * seen[bin] < seen[bin]);
        }
    }
    if in_view == 0 { 0.0 } else { in_front as f64 / in_view as f64 }
}

/// The bin of a direction, and the distance.
fn direction(v: [f64; 3], step: f64) -> Option<(u64, f64)> {
    let widest = (1..3).fold(0, |best, axis| if v[axis].abs() > v[best].abs() { axis } else { best });
    let depth = dot(v, v).sqrt();
    if depth == 0.0 {
        return None;
    }
    let [u, w] = [(widest + 1) % 3, (widest + 2) % 3].map(|axis| v[axis] / v[widest].abs());
    // The face of the cube is the third coordinate.
    let face = (2 * widest + usize::from(v[widest] < 0.0)) as f64 + 0.5;
    key_of([u / step, w / step, face], 1.0).map(|key| (key, depth))
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    all: usize,
    near: usize,
    agreeing: usize,
    residual: f64,
}

impl Tally {
    fn of(from: &Level, to: &Level, pose: &Similarity, reach: f64, points: usize) -> Self {
        let stride = from.points.len().div_ceil(points).max(1);
        let look = |i: usize| {
            let moved = pose.apply(from.points[i]);
            let near = to.tree.nearest(moved, reach)?;
            let normal = to.normals()[near.index];
            let off = dot(normal, minus(moved, to.points[near.index])).abs();
            let agrees = dot(rotate(&pose.rotation(), from.normals()[i]), normal).abs() >= AGREE;
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

#[cfg(test)]
mod tests {
    use super::*;
    use pcr99::random::Random;

    /// Hills over the square from `low` to 3.
    fn hills(seed: u64, low: f64) -> Level {
        let mut random = Random::new(seed);
        let point = |_| {
            let (x, y) = (low + (3.0 - low) * random.uniform(), 3.0 * random.uniform());
            [x, y, 0.3 * (2.0 * x).sin() * (3.0 * y).cos()]
        };
        Level::of(&(0..40_000).map(point).collect::<Vec<_>>(), None, 0.05)
    }

    fn shifted(by: [f64; 3]) -> Similarity {
        Similarity::from_quaternion(1.0, [1.0, 0.0, 0.0, 0.0], by)
    }

    #[test]
    fn a_right_pose_overlaps_as_it_should() {
        let (part, whole) = (hills(1, 1.5), hills(2, 0.0));
        let found = Assessment::of(&part, &whole, &shifted([0.0; 3]), 0.05);
        assert!(found.overlap_source > 0.99 && (0.48..0.55).contains(&found.overlap_target), "{found:?}");
        assert!(found.agreement > 0.98 && found.residual < 0.15, "{found:?}");
        let back = Assessment::of(&whole, &part, &shifted([0.0; 3]), 0.05);
        assert_eq!(back, found.inverse());
        let wrong = Assessment::of(&part, &whole, &shifted([0.0, 0.5, 0.0]), 0.05);
        assert!(wrong.score() < 0.5 * found.score());
        let nowhere = Assessment::of(&part, &whole, &shifted([0.0, 50.0, 0.0]), 0.05);
        assert_eq!((nowhere.overlap_source, nowhere.score()), (0.0, 0.0));
    }

    #[test]
    fn what_floats_in_front_was_seen_through() {
        let (part, whole) = (hills(1, 1.5), hills(2, 0.0));
        let above = [1.5, 1.5, 6.0];
        let share = |by| free_space_share(&part, &whole, &shifted(by), above, 0.05);
        assert!(share([0.0; 3]) < 0.01);
        assert!(share([0.0, 0.0, 1.5]) > 0.9);
        assert!(share([0.0, 0.0, -1.5]) < 0.01, "behind a surface nothing is known");
        assert_eq!(share([500.0, 0.0, 0.0]), 0.0, "nothing in view");
    }
}
