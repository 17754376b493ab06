//! A cloud made ready: cleaned, centred, and with its descriptors kept for each voxel size that was asked for.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pcr99_base::vector::{cross, distance_sq, dot, minus};

use crate::{
    clean::Cleaned,
    fpfh::Fpfh,
    neighbors::Neighbors,
    normals,
    orient::{self, Orientation},
    register::RegisterError,
    tree::KdTree,
    voxel::{Density, VoxelSample, centred, middle},
};

/// A cloud as it comes: points, and what else may be known of it.
#[derive(Debug, Clone, Copy)]
pub struct RawCloud<'a> {
    points: &'a [[f64; 3]],
    viewpoint: Option<[f64; 3]>,
    normals: Option<&'a [[f64; 3]]>,
}

impl<'a> RawCloud<'a> {
    /// Only points.
    pub fn new(points: &'a [[f64; 3]]) -> Self {
        Self { points, viewpoint: None, normals: None }
    }

    /// Where the sensor was, in the coordinates of the points; one that is not finite is as good as none.
    #[must_use]
    pub fn with_viewpoint(self, viewpoint: Option<[f64; 3]>) -> Self {
        Self { viewpoint: viewpoint.filter(|v| v.iter().all(|x| x.is_finite())), ..self }
    }

    /// The normals of the points, one for each, oriented; a list of another length is as good as none. Only their sides are used: the
    /// directions are found anew at the voxel size of the registration.
    #[must_use]
    pub fn with_normals(self, normals: Option<&'a [[f64; 3]]>) -> Self {
        Self { normals: normals.filter(|normals| normals.len() == self.points.len()), ..self }
    }
}

/// Normals are of the points within so many voxels, …
const NORMAL_RADIUS: f64 = 2.0;
/// … are made to agree over so many, …
const AGREE_RADIUS: f64 = 2.0;
/// … and a descriptor is of those within so many.
const FEATURE_RADIUS: f64 = 5.0;
/// Voxel sizes for which a cloud keeps what was made: the voxel depends on both clouds of a pair.
const KEPT: usize = 24;
/// Normals that came with a cloud are believed when so many neighbours among them point to the same side: signs that an estimate left
/// to chance do not.
const BELIEVED: f64 = 0.9;
/// Clouds whose size is beyond this, or below its inverse, have squares that single precision cannot hold well.
const EXTREME: f64 = 1e15;

/// A cloud made ready to be registered, once or many times.
///
/// ```
/// use pcr99_cloud::{PreparedCloud, RawCloud};
///
/// let points: Vec<[f64; 3]> = (0..300).map(|k| [f64::from(k % 20), f64::from(k / 20), f64::from(k % 7)]).collect();
/// let cloud = PreparedCloud::new(RawCloud::new(&points))?;
/// assert_eq!(cloud.points().len(), 300);
/// # Ok::<(), pcr99_cloud::RegisterError>(())
/// ```
#[derive(Debug)]
pub struct PreparedCloud {
    given: usize,
    not_finite: usize,
    duplicates: usize,
    center: [f64; 3],
    points: Vec<[f64; 3]>,
    normals: Option<Vec<[f64; 3]>>,
    viewpoint: Option<[f64; 3]>,
    density: Density,
    sampled: Mutex<Vec<(u64, Arc<SampledCloud>)>>,
    features: Mutex<Vec<(u64, Orientation, Arc<Features>)>>,
}

impl PreparedCloud {
    /// Cleans and measures the cloud; descriptors are made when first needed.
    ///
    /// # Errors
    /// When there are fewer than three distinct points, all are on one line, or the size of the cloud is beyond what can be computed with.
    pub fn new(cloud: RawCloud<'_>) -> Result<Self, RegisterError> {
        let Cleaned { points, indices, not_finite, duplicates } = Cleaned::of(cloud.points);
        let given = cloud.points.len();
        if points.len() < 3 {
            return Err(RegisterError::TooFewPoints { given, distinct: points.len() });
        }
        let center = middle(&points);
        let points = centred(&points, center);
        let density = Density::of(&points);
        if !(1.0 / EXTREME..EXTREME).contains(&density.extent()) {
            return Err(match density.extent() {
                // Nine tenths of the points may be within rounding of each other, and yet not equal.
                extent if extent > 0.0 => RegisterError::ExtremeSize { extent },
                _ => RegisterError::ExtremeSize { extent: 0.0 },
            });
        }
        if are_collinear(&points, center) {
            return Err(RegisterError::Collinear { points: points.len() });
        }
        let normals =
            cloud.normals.map(|normals| indices.iter().map(|&i| normals[i as usize]).collect::<Vec<_>>());
        Ok(Self {
            given,
            not_finite,
            duplicates,
            center,
            points,
            normals,
            viewpoint: cloud.viewpoint.map(|v| minus(v, center)),
            density,
            sampled: Mutex::default(),
            features: Mutex::default(),
        })
    }

    /// How many points the cloud had.
    pub fn given(&self) -> usize {
        self.given
    }

    /// How many of them were left out because a coordinate is NaN or infinite.
    pub fn not_finite(&self) -> usize {
        self.not_finite
    }

    /// How many were left out because an earlier one has the same coordinates.
    pub fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// The origin of the coordinates of [`points`](Self::points): the middle of the cloud.
    pub fn center(&self) -> [f64; 3] {
        self.center
    }

    /// The distinct points, relative to [`center`](Self::center).
    pub fn points(&self) -> &[[f64; 3]] {
        &self.points
    }

    /// How densely they lie.
    pub fn density(&self) -> &Density {
        &self.density
    }

    /// About how much memory it takes, in bytes: it grows with the voxel sizes that were asked for.
    pub fn bytes(&self) -> usize {
        let given = size_of_val(&*self.points) + self.normals.as_deref().map_or(0, size_of_val);
        let sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let sampled: usize = sampled.iter().map(|(_, sampled)| sampled.bytes()).sum();
        let features = self.features.lock().unwrap_or_else(PoisonError::into_inner);
        let features: usize = features.iter().map(|(_, _, features)| features.bytes()).sum();
        size_of::<Self>() + self.density.bytes() + given + sampled + features
    }

    /// The ways in which the normals of this cloud can be oriented.
    pub(crate) fn can_be_oriented(&self, orientation: Orientation) -> bool {
        match orientation {
            Orientation::Given => self.normals.is_some(),
            Orientation::Viewpoint => self.viewpoint.is_some(),
            Orientation::Consistent => true,
        }
    }

    /// Where the sensor was, relative to the centre.
    pub(crate) fn viewpoint(&self) -> Option<[f64; 3]> {
        self.viewpoint
    }

    /// The cloud sampled with voxels of this size. Made at the first call, then kept.
    pub fn sampled(&self, voxel: f64) -> Arc<SampledCloud> {
        let kept = || self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, sampled)) = kept().iter().find(|(bits, _)| *bits == voxel.to_bits()) {
            return Arc::clone(sampled);
        }
        // Made without holding the lock: a thread that waits inside a parallel loop takes up other work, which may need the same lock.
        let sampled = Arc::new(SampledCloud::of(&self.points, self.normals.as_deref(), voxel));
        keep(&mut kept(), (voxel.to_bits(), Arc::clone(&sampled)));
        sampled
    }

    /// The descriptors with voxels of this size.
    pub fn features(&self, voxel: f64, orientation: Orientation) -> Arc<Features> {
        let sampled = self.sampled(voxel);
        let features = || self.features.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(bits, how, _): &&(u64, Orientation, Arc<Features>)| {
            *bits == voxel.to_bits() && *how == orientation
        };
        if let Some((_, _, known)) = features().iter().find(is_it) {
            return Arc::clone(known);
        }
        // Not under the lock, as above.
        let new = Arc::new(self.describe(&sampled, orientation));
        keep(&mut features(), (voxel.to_bits(), orientation, Arc::clone(&new)));
        new
    }

    fn describe(&self, sampled: &SampledCloud, orientation: Orientation) -> Features {
        let neighbors = Neighbors::within(&sampled.tree, &sampled.points, FEATURE_RADIUS * sampled.voxel);
        let mut normals = sampled.normals().to_vec();
        let reach = AGREE_RADIUS * sampled.voxel;
        match (orientation, self.viewpoint) {
            (Orientation::Given, _) => {
                orient::along(&sampled.guides, &mut normals);
                if orient::agreement(&neighbors, reach, &normals) < BELIEVED {
                    orient::consistently(&sampled.points, &neighbors, reach, &mut normals);
                }
            }
            (Orientation::Viewpoint, Some(viewpoint)) => {
                orient::towards(viewpoint, &sampled.points, &mut normals)
            }
            _ => orient::consistently(&sampled.points, &neighbors, reach, &mut normals),
        }
        let fpfh = Fpfh::of(&sampled.points, &normals, &neighbors, FEATURE_RADIUS * sampled.voxel);
        Features { normals, fpfh }
    }
}

/// Adds what is new; of more than `KEPT` the oldest goes.
fn keep<T>(kept: &mut Vec<T>, new: T) {
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(new);
}

/// A cloud sampled with voxels of one size.
#[derive(Debug, Clone)]
pub struct SampledCloud {
    /// The edge of a voxel.
    pub voxel: f64,
    /// The centroids, relative to the centre of the cloud, neighbours mostly near each other in the list.
    pub points: Vec<[f64; 3]>,
    /// The tree of the points.
    pub tree: KdTree,
    /// Made when first needed.
    normals: OnceLock<Vec<[f64; 3]>>,
    /// The sums of the normals given with the cloud in each voxel; empty without.
    guides: Vec<[f64; 3]>,
}

impl SampledCloud {
    /// Samples `points`.
    pub fn of(points: &[[f64; 3]], given_normals: Option<&[[f64; 3]]>, voxel: f64) -> Self {
        let sample = VoxelSample::with_normals(points, given_normals, voxel);
        let mut tree = KdTree::new(&sample.points);
        let order = tree.take_order();
        let points: Vec<[f64; 3]> = order.iter().map(|&i| sample.points[i as usize]).collect();
        let guides = match given_normals {
            Some(_) => order.iter().map(|&i| sample.normals[i as usize]).collect(),
            None => Vec::new(),
        };
        Self { voxel, points, tree, normals: OnceLock::new(), guides }
    }

    /// The normals of the points, of either sign; zero where there is none.
    pub fn normals(&self) -> &[[f64; 3]] {
        if self.normals.get().is_none() {
            // Not inside the cell: a thread that waits for others takes up other work, which may want the same. Whoever is first is kept;
            // all would be equal.
            let _ = self.normals.set(normals::estimate(&self.points, &self.tree, NORMAL_RADIUS * self.voxel));
        }
        self.normals.get().map_or(&[], Vec::as_slice)
    }

    fn bytes(&self) -> usize {
        let normals = self.normals.get().map_or(0, |normals| size_of_val(&**normals));
        size_of_val(&*self.points) + self.tree.bytes() + normals + size_of_val(&*self.guides)
    }
}

/// The descriptors of a sampled cloud.
#[derive(Debug, Clone)]
pub struct Features {
    /// The normals of the sampled, oriented.
    pub normals: Vec<[f64; 3]>,
    /// Descriptors of the points that have one.
    pub fpfh: Fpfh,
}

impl Features {
    fn bytes(&self) -> usize {
        let Fpfh { points, signed, unsigned } = &self.fpfh;
        size_of_val(&*self.normals)
            + size_of_val(&**points)
            + size_of_val(&**signed)
            + size_of_val(&**unsigned)
    }
}

/// Whether every point is so near one line that rounding of the coordinates may have moved it off.
fn are_collinear(points: &[[f64; 3]], center: [f64; 3]) -> bool {
    let farthest_from = |origin: [f64; 3]| {
        points
            .iter()
            .copied()
            .fold(origin, |best, p| if distance_sq(p, origin) > distance_sq(best, origin) { p } else { best })
    };
    let far = farthest_from([0.0; 3]);
    let near = farthest_from(far);
    let line = minus(far, near);
    let length = dot(line, line).sqrt();
    let offset = center.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    points.iter().all(|p| {
        let off = cross(minus(*p, near), line);
        let size = p.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        dot(off, off).sqrt() <= 8.0 * f64::EPSILON * (offset + size + length) * length
    })
}
