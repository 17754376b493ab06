//! Verification: how well two clouds fit under a pose.

use pcr99::Similarity;

use pcr99_base::vector::{distance_sq, dot, lower_median, minus};

use crate::{
    grid::{KeyTable, key_of},
    prepare::SampledCloud,
    votes::{Side, Voters},
};

/// Number of points of each cloud that are compared.
const VOTERS: usize = 2000;

/// How well two clouds fit under a pose.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Assessment {
    /// Fraction of the source points with a target point within 1.5 voxels.
    pub overlap_source: f64,
    /// Fraction of the target points with a source point within 1.5 voxels.
    pub overlap_target: f64,
    /// Fraction of the overlapping points whose normals agree within 30°, whatever their signs.
    pub normal_agreement: f64,
    /// Mean distance of the overlapping points from the tangent plane of the other cloud, in voxels.
    pub residual_voxels: f64,
    /// Fraction of the votes against the pose, of all that are not silent. A point votes against when it lies a few voxels above or below
    /// a surface that surrounds the place in the other cloud. Points on large planes weigh less, because floors and walls are everywhere.
    pub conflict_fraction: f64,
    /// Fraction of all points that vote for the pose and lie neither on a large plane nor within three voxels of one.
    pub off_plane_fraction: f64,
}

impl Assessment {
    /// Compares two sampled clouds under a pose; `voxel` is in target units.
    pub fn of(source: &SampledCloud, target: &SampledCloud, pose: &Similarity, voxel: f64) -> Self {
        let (from, to) = (Side::unoriented(source), Side::unoriented(target));
        Voters::of(source, target, VOTERS).votes_on(from, to, pose, voxel).assessment
    }

    /// The fit of clouds that do not overlap.
    pub(crate) const NOTHING: Self = Self {
        overlap_source: 0.0,
        overlap_target: 0.0,
        normal_agreement: 0.0,
        residual_voxels: 0.0,
        conflict_fraction: 0.0,
        off_plane_fraction: 0.0,
    };

    /// The fit with source and target exchanged.
    pub fn inverse(&self) -> Self {
        Self { overlap_source: self.overlap_target, overlap_target: self.overlap_source, ..*self }
    }

    /// What two fits of the same clouds under the same pose say together: this one with the finer voxels, `coarser` with coarser ones.
    ///
    /// It is the mean of both, but for the conflict: coarse voxels blur what does not fit, so the finer ones decide.
    pub(crate) fn with_coarser(&self, coarser: &Self) -> Self {
        let mean = |a: f64, b: f64| 0.5 * (a + b);
        Self {
            overlap_source: mean(self.overlap_source, coarser.overlap_source),
            overlap_target: mean(self.overlap_target, coarser.overlap_target),
            normal_agreement: mean(self.normal_agreement, coarser.normal_agreement),
            residual_voxels: mean(self.residual_voxels, coarser.residual_voxels),
            off_plane_fraction: mean(self.off_plane_fraction, coarser.off_plane_fraction),
            conflict_fraction: self.conflict_fraction,
        }
    }

    /// One number to compare poses of the same clouds by; higher is better.
    ///
    /// The product of both overlaps, the normal agreement and the eighth power of the fraction without conflict, divided by the residual
    /// plus 0.1 voxels.
    pub fn score(&self) -> f64 {
        let square = (1.0 - self.conflict_fraction) * (1.0 - self.conflict_fraction);
        let trust = square * square * square * square;
        self.overlap_source * self.overlap_target * self.normal_agreement * trust
            / (0.1 + self.residual_voxels)
    }
}

/// Fraction of the points of `from`, moved by `pose`, that lie in front of the surface that the sensor of `to` saw in their direction: the
/// sensor saw through them. Points outside of its view do not count. `viewpoint` and `voxel` are in the coordinates of `to`.
///
/// Directions are binned on a cube around the sensor, with bins as wide as two voxels at the median distance. The nearest surface of a bin
/// is the one that was seen there.
pub fn free_space_fraction(
    from: &SampledCloud,
    to: &SampledCloud,
    pose: &Similarity,
    viewpoint: [f64; 3],
    voxel: f64,
) -> f64 {
    let (in_front, in_view) = seen_through(from, to, pose, viewpoint, voxel);
    if in_view == 0 { 0.0 } else { in_front.len() as f64 / in_view as f64 }
}

/// The points that the sensor saw through, and the number of points in its view; see [`free_space_fraction`].
pub(crate) fn seen_through(
    from: &SampledCloud,
    to: &SampledCloud,
    pose: &Similarity,
    viewpoint: [f64; 3],
    voxel: f64,
) -> (Vec<usize>, usize) {
    let mut depths: Vec<f64> = to.points.iter().map(|&p| distance_sq(p, viewpoint).sqrt()).collect();
    let typical = lower_median(&mut depths).unwrap_or(0.0).max(voxel);
    // Two voxels wide, so that no bin on a surface is empty by chance; at most about 15°.
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
    let (mut in_view, mut in_front) = (0_usize, Vec::new());
    let stride = from.points.len().div_ceil(VOTERS).max(1);
    for (i, &p) in from.points.iter().enumerate().step_by(stride) {
        let Some((key, depth)) = direction(minus(pose.apply(p), viewpoint), step) else { continue };
        let bin = table.number(key);
        if bin == seen.len() {
            // Nothing was seen in this direction, which is not evidence of free space.
            seen.push(0.0);
            continue;
        }
        if seen[bin] > 0.0 {
            in_view += 1;
            // A slanted surface spans some depth within one bin.
            if depth + 3.0 * voxel + step * seen[bin] < seen[bin] {
                in_front.push(i);
            }
        }
    }
    (in_front, in_view)
}

/// Bin of a direction, and the distance.
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
    fn hills(seed: u64, low: f64) -> SampledCloud {
        let mut random = Random::new(seed);
        let point = |_| {
            let (x, y) = (low + (3.0 - low) * random.uniform(), 3.0 * random.uniform());
            [x, y, 0.3 * (2.0 * x).sin() * (3.0 * y).cos()]
        };
        SampledCloud::of(&(0..40_000).map(point).collect::<Vec<_>>(), None, 0.05)
    }

    fn shifted(by: [f64; 3]) -> Similarity {
        Similarity::from_translation(by)
    }

    #[test]
    fn a_right_pose_overlaps_as_it_should() {
        let (part, whole) = (hills(1, 1.5), hills(2, 0.0));
        let found = Assessment::of(&part, &whole, &shifted([0.0; 3]), 0.05);
        assert!(found.overlap_source > 0.99 && (0.48..0.55).contains(&found.overlap_target), "{found:?}");
        assert!(found.normal_agreement > 0.98 && found.residual_voxels < 0.15, "{found:?}");
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
        let share = |by| free_space_fraction(&part, &whole, &shifted(by), above, 0.05);
        assert!(share([0.0; 3]) < 0.01);
        assert!(share([0.0, 0.0, 1.5]) > 0.9);
        assert!(share([0.0, 0.0, -1.5]) < 0.01, "behind a surface nothing is known");
        assert_eq!(share([500.0, 0.0, 0.0]), 0.0, "nothing in view");
    }
}
