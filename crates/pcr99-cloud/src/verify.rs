//! Verification: what the clouds themselves say of a pose.

use pcr99::Similarity;

use crate::{
    grid::{KeyTable, key_of},
    prepare::Level,
    vector::{distance_sq, dot, lower_median, minus},
    witness::{Jury, Side},
};

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
    /// Share of the points with something to say that are a few voxels above or below a surface which the other cloud saw all round
    /// there. Points on large planes count less: floors and walls are everywhere.
    pub contradiction: f64,
    /// Share of all points that overlap and agree, and are neither on a large plane nor at its edge.
    pub distinct: f64,
}

impl Assessment {
    /// Of the pose of two sampled clouds; `voxel` in target units.
    pub fn of(source: &Level, target: &Level, pose: &Similarity, voxel: f64) -> Self {
        let (from, to) = (Side::unoriented(source), Side::unoriented(target));
        Jury::of(source, target, LOOKED_AT).hear(from, to, pose, voxel).assessment
    }

    /// Nothing overlaps.
    pub(crate) const NOTHING: Self = Self {
        overlap_source: 0.0,
        overlap_target: 0.0,
        agreement: 0.0,
        residual: 0.0,
        contradiction: 0.0,
        distinct: 0.0,
    };

    /// The same pose seen from the other cloud.
    pub fn inverse(&self) -> Self {
        Self { overlap_source: self.overlap_target, overlap_target: self.overlap_source, ..*self }
    }

    /// How well it fits, to compare poses of the same clouds: overlap both ways, times the share of agreeing normals, over the residual, times
    /// the eighth power of the share of points that are not contradicted.
    pub fn score(&self) -> f64 {
        let square = (1.0 - self.contradiction) * (1.0 - self.contradiction);
        let trust = square * square * square * square;
        self.overlap_source * self.overlap_target * self.agreement * trust / (0.1 + self.residual)
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
