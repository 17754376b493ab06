//! Telling parts: small parts of both clouds that lie on each other under one pose, and where the other cloud saw another surface under another.
//!
//! A mark on a regular prism or the handle of a mug is a few patches among hundreds, too few for a test that counts patches. But sampling and noise never move all
//! points of a patch off the surface together. So one such patch in each cloud tells two poses apart, where hardly any stands out under the better one. Where
//! things moved between the scans, some stand out under every pose, and what is left of them may fit anywhere: then they refute no rival.

use pcr99::Similarity;
use pcr99_base::vector::{dot, minus, rotate};
use rayon::prelude::*;

use super::search::SampledPair;
use crate::{
    grid::{KeyTable, key_of},
    prepare::SampledCloud,
    votes::{NEAR, is_surrounded},
};

/// Largest number of points of each cloud that are looked at, about.
const POINTS: usize = 8000;
/// Cosine of 30°: the largest angle between the normals of points on the same surface.
const AGREE: f64 = 0.866;
/// A point is off the surface from this distance on, in voxels.
const OFF: f64 = 2.5;
/// Largest distance at which a point stands out of a surface, in voxels.
const FAR: f64 = 40.0;
/// Cosine of 45°: a point is above or below another when the line between them is within this angle of the normal.
const ABOVE: f64 = 0.707;
/// Radius of the neighbourhood that tells whether a surface surrounds a place, in voxels.
const SURROUNDING_RADIUS: f64 = 3.0;
/// Edge of a patch, in voxels.
const PATCH: f64 = 6.0;
/// Smallest number of points of a telling patch.
const FEWEST: usize = 4;
/// This many times as many points of a patch, and patches of both clouds, must speak for a pose as stand out under it.
const CLEARLY: usize = 4;

/// Whether parts of both clouds fit under the first pose and not under the second, while hardly any stands out under the first.
pub(super) fn tells_apart(sampled: &SampledPair, first: &Similarity, second: &Similarity) -> bool {
    let parts = Parts::of(sampled);
    parts.tell_surely(&parts.places(first), &parts.places(second))
}

/// The patches of both clouds.
pub(super) struct Parts<'a> {
    sampled: &'a SampledPair,
    /// Indices of the points that are looked at, and their patches, for the moving and the fixed cloud.
    points: [Vec<(usize, usize)>; 2],
    /// Number of patches of each cloud.
    patches: [usize; 2],
}

/// Where the points of both clouds are under a pose.
pub(super) struct Places([Vec<Place>; 2]);

impl<'a> Parts<'a> {
    pub(super) fn of(sampled: &'a SampledPair) -> Self {
        let [(moving, of_moving), (fixed, of_fixed)] =
            [&sampled.moving, &sampled.fixed].map(|cloud| patches(cloud));
        Self { sampled, points: [moving, fixed], patches: [of_moving, of_fixed] }
    }

    /// Where the points are under a pose.
    pub(super) fn places(&self, pose: &Similarity) -> Places {
        let (moving, fixed) = (&self.sampled.moving, &self.sampled.fixed);
        let (voxel, back) = (self.sampled.voxel(pose.scale()), pose.inverse());
        let of = |from: &SampledCloud,
                  to: &SampledCloud,
                  pose: &Similarity,
                  voxel: f64,
                  points: &[(usize, usize)]| {
            let normals = from.normals();
            let turned = |i: usize| rotate(&pose.rotation(), normals[i]);
            points
                .par_iter()
                .map(|&(i, _)| Place::of(to, pose.apply(from.points[i]), turned(i), voxel))
                .collect()
        };
        let there = of(moving, fixed, pose, voxel, &self.points[0]);
        Places([there, of(fixed, moving, &back, voxel * back.scale(), &self.points[1])])
    }

    /// Whether parts of both clouds fit in the first places and not in the second, and hardly any the other way round.
    pub(super) fn tell_apart(&self, first: &Places, second: &Places) -> bool {
        let [there, here] = [0, 1].map(|cloud| self.telling(cloud, &first.0[cloud], &second.0[cloud]));
        there.telling > 0
            && here.telling > 0
            && there.telling + here.telling >= CLEARLY * (there.opposite + here.opposite)
    }

    /// As [`tell_apart`](Self::tell_apart), while hardly any part stands out in the first places.
    fn tell_surely(&self, first: &Places, second: &Places) -> bool {
        let [there, here] = [0, 1].map(|cloud| self.telling(cloud, &first.0[cloud], &second.0[cloud]));
        there.telling > 0
            && here.telling > 0
            && there.telling + here.telling >= CLEARLY * (there.off + here.off)
    }

    /// Counts the patches of a cloud that tell two poses apart.
    fn telling(&self, cloud: usize, first: &[Place], second: &[Place]) -> Counts {
        // Of each patch: points that tell for the first and for the second pose, and points that are off the other cloud in the first places.
        let mut patches = vec![[0_usize; 3]; self.patches[cloud]];
        for (k, &(_, patch)) in self.points[cloud].iter().enumerate() {
            patches[patch][0] += usize::from(first[k] == Place::On && second[k] == Place::Off);
            patches[patch][1] += usize::from(first[k] == Place::Off && second[k] == Place::On);
            patches[patch][2] += usize::from(first[k] == Place::Off);
        }
        let count = |is_it: &dyn Fn(&[usize; 3]) -> bool| patches.iter().filter(|patch| is_it(patch)).count();
        let tells = |one: usize, other: usize| one >= FEWEST && one >= CLEARLY * other;
        Counts {
            telling: count(&|patch| tells(patch[0], patch[1])),
            opposite: count(&|patch| tells(patch[1], patch[0])),
            off: count(&|patch| patch[2] >= FEWEST),
        }
    }
}

/// Numbers of patches of a cloud.
struct Counts {
    /// On the other cloud in the first places and off it in the second.
    telling: usize,
    /// The other way round.
    opposite: usize,
    /// Off the other cloud in the first places.
    off: usize,
}

/// The points of a cloud that are looked at with their patches, and the number of patches.
fn patches(cloud: &SampledCloud) -> (Vec<(usize, usize)>, usize) {
    let stride = cloud.points.len().div_ceil(POINTS).max(1);
    let mut table = KeyTable::new();
    let patch = |i: usize| Some((i, table.number(key_of(cloud.points[i], 1.0 / (PATCH * cloud.voxel))?)));
    let points = (0..cloud.points.len()).step_by(stride).filter_map(patch).collect();
    (points, table.keys().len())
}

/// Where a moved point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On the surface of the other cloud.
    On,
    /// Above or below a surface that goes on around the place.
    Off,
    /// Anywhere else.
    Elsewhere,
}

impl Place {
    fn of(to: &SampledCloud, moved: [f64; 3], normal: [f64; 3], voxel: f64) -> Self {
        let Some(near) = to.tree.nearest(moved, FAR * voxel) else { return Self::Elsewhere };
        let other = to.normals()[near.index];
        if near.distance_sq <= NEAR * NEAR * voxel * voxel {
            return if dot(normal, other).abs() >= AGREE { Self::On } else { Self::Elsewhere };
        }
        let height = dot(other, minus(moved, to.points[near.index]));
        let is_above = height * height >= ABOVE * ABOVE * near.distance_sq;
        let is_off = near.distance_sq >= OFF * OFF * voxel * voxel && is_above;
        if is_off && is_surrounded(to, near.index, SURROUNDING_RADIUS * voxel) {
            Self::Off
        } else {
            Self::Elsewhere
        }
    }
}
