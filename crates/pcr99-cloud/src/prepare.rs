//! Preparation of a cloud: cleaned, centred, and with its samples and descriptors kept for each voxel size that was used.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pcr99_base::vector::{cross, distance_sq, dot, minus};

use crate::{
    clean::Cleaned,
    cloud::Cloud,
    fpfh::Fpfh,
    neighbors::Neighbors,
    normals,
    orient::{self, Orientation},
    register::RegisterError,
    tree::KdTree,
    voxel::{Density, VoxelSample, centred, middle},
};

/// Input of a registration: points, and optionally normals and the position of the sensor.
#[derive(Debug, Clone)]
pub struct RawCloud<'a> {
    points: Cow<'a, [[f64; 3]]>,
    viewpoint: Option<[f64; 3]>,
    normals: Option<Cow<'a, [[f64; 3]]>>,
}

impl<'a> RawCloud<'a> {
    /// A cloud of points. Non-finite and duplicate points are removed by [`PreparedCloud::new`], which counts them.
    pub fn new(points: &'a [[f64; 3]]) -> Self {
        Self { points: Cow::Borrowed(points), viewpoint: None, normals: None }
    }

    /// A cloud of points in single precision.
    pub fn from_f32(points: &[[f32; 3]]) -> Self {
        Self { points: points.iter().map(|p| p.map(f64::from)).collect(), viewpoint: None, normals: None }
    }

    /// The position of the sensor, in the coordinates of the points; `None` when it is unknown.
    ///
    /// ```
    /// use pcr99_cloud::RawCloud;
    ///
    /// let points = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    /// assert!(RawCloud::new(&points).with_viewpoint([0.0, 0.0, 1.5]).is_ok());
    /// assert!(RawCloud::new(&points).with_viewpoint([f64::NAN, 0.0, 0.0]).is_err());
    /// ```
    ///
    /// # Errors
    /// [`RegisterError::ViewpointNotFinite`] when a coordinate is NaN or infinite.
    pub fn with_viewpoint(self, viewpoint: impl Into<Option<[f64; 3]>>) -> Result<Self, RegisterError> {
        let viewpoint = viewpoint.into();
        match viewpoint {
            Some(viewpoint) if !viewpoint.iter().all(|x| x.is_finite()) => {
                Err(RegisterError::ViewpointNotFinite { viewpoint })
            }
            _ => Ok(Self { viewpoint, ..self }),
        }
    }

    /// The oriented normals of the points, one for each; `None` when they are unknown. A normal that is zero or not finite counts as
    /// unknown.
    ///
    /// Only the sides to which they point are used: the directions are estimated at the voxel size of the registration.
    ///
    /// # Errors
    /// [`RegisterError::NormalCount`] when there are more or fewer normals than points.
    pub fn with_normals(self, normals: impl Into<Option<&'a [[f64; 3]]>>) -> Result<Self, RegisterError> {
        let normals = normals.into();
        match normals {
            Some(normals) if normals.len() != self.points.len() => {
                Err(RegisterError::NormalCount { normals: normals.len(), points: self.points.len() })
            }
            _ => Ok(Self { normals: normals.map(Cow::Borrowed), ..self }),
        }
    }
}

impl<'a> TryFrom<&'a Cloud> for RawCloud<'a> {
    type Error = RegisterError;

    /// The points of a cloud with its normals and viewpoint.
    fn try_from(cloud: &'a Cloud) -> Result<Self, RegisterError> {
        Self::new(&cloud.points).with_viewpoint(cloud.viewpoint)?.with_normals(cloud.normals.as_deref())
    }
}

/// Radius of the neighbourhood of a normal, in voxels.
const NORMAL_RADIUS: f64 = 2.0;
/// Radius within which normals are made to point to the same side, in voxels.
const AGREE_RADIUS: f64 = 2.0;
/// Radius of the neighbourhood of a descriptor, in voxels.
const FEATURE_RADIUS: f64 = 5.0;
/// Number of voxel sizes for which a cloud keeps its samples and descriptors: the voxel depends on both clouds of a pair.
const KEPT: usize = 24;
/// Smallest fraction of neighbouring normals that point to the same side for given normals to be used. Signs that an estimate left to
/// chance reach about one half.
const BELIEVED: f64 = 0.9;
/// Largest extent of a cloud, and the inverse of the smallest. Beyond it, single precision cannot hold squared distances well.
const EXTREME: f64 = 1e15;

/// A cloud prepared for registration, once or many times.
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
    /// Cleans and measures a cloud. Samples and descriptors are made when first needed.
    ///
    /// # Errors
    /// When there are fewer than three distinct finite points, when all points are collinear, and when the extent of the cloud is below
    /// 10⁻¹⁵ or above 10¹⁵.
    pub fn new(cloud: RawCloud<'_>) -> Result<Self, RegisterError> {
        let Cleaned { points, indices, not_finite, duplicates } = Cleaned::of(&cloud.points);
        let given = cloud.points.len();
        if points.len() < 3 {
            return Err(RegisterError::TooFewPoints { given, distinct: points.len() });
        }
        let center = middle(&points);
        let points = centred(&points, center);
        let density = Density::of(&points);
        if !(1.0 / EXTREME..EXTREME).contains(&density.extent()) {
            return Err(match density.extent() {
                // Nine tenths of the points may be equal up to rounding.
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

    /// Number of points of the cloud as given.
    pub fn given(&self) -> usize {
        self.given
    }

    /// Number of removed points with a NaN or infinite coordinate.
    pub fn not_finite(&self) -> usize {
        self.not_finite
    }

    /// Number of removed points with the coordinates of an earlier point.
    pub fn duplicates(&self) -> usize {
        self.duplicates
    }

    /// Origin of the coordinates of [`points`](Self::points), near the middle of the cloud.
    pub fn center(&self) -> [f64; 3] {
        self.center
    }

    /// The distinct points, relative to [`center`](Self::center).
    pub fn points(&self) -> &[[f64; 3]] {
        &self.points
    }

    /// Density and extent of the points.
    pub fn density(&self) -> &Density {
        &self.density
    }

    /// Approximate memory use, in bytes. It grows with each new voxel size, up to 24 of them.
    pub fn bytes(&self) -> usize {
        let given = size_of_val(&*self.points) + self.normals.as_deref().map_or(0, size_of_val);
        let sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        let sampled: usize = sampled.iter().map(|(_, sampled)| sampled.bytes()).sum();
        let features = self.features.lock().unwrap_or_else(PoisonError::into_inner);
        let features: usize = features.iter().map(|(_, _, features)| features.bytes()).sum();
        size_of::<Self>() + self.density.bytes() + given + sampled + features
    }

    /// Whether the normals of this cloud can be oriented in this way.
    pub(crate) fn can_be_oriented(&self, orientation: Orientation) -> bool {
        match orientation {
            Orientation::Given => self.normals.is_some(),
            Orientation::Viewpoint => self.viewpoint.is_some(),
            Orientation::Consistent => true,
        }
    }

    /// Position of the sensor, relative to the centre.
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

    /// The descriptors of the cloud sampled with voxels of this size. Made at the first call, then kept.
    pub fn features(&self, voxel: f64, orientation: Orientation) -> Arc<Features> {
        let sampled = self.sampled(voxel);
        let features = || self.features.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(bits, how, _): &&(u64, Orientation, Arc<Features>)| {
            *bits == voxel.to_bits() && *how == orientation
        };
        if let Some((_, _, known)) = features().iter().find(is_it) {
            return Arc::clone(known);
        }
        // Made without holding the lock, as above.
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

/// Adds `new`, and drops the oldest of more than `KEPT`.
fn keep<T>(kept: &mut Vec<T>, new: T) {
    if kept.len() == KEPT {
        kept.remove(0);
    }
    kept.push(new);
}

/// A cloud sampled with voxels of one size.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SampledCloud {
    /// Edge of a voxel.
    pub voxel: f64,
    /// Centroids of the voxels, relative to the centre of the cloud. Neighbours in space are mostly neighbours in the list.
    pub points: Vec<[f64; 3]>,
    /// k-d tree of the points.
    pub tree: KdTree,
    /// Made when first needed.
    normals: OnceLock<Vec<[f64; 3]>>,
    /// Sum of the given normals in each voxel; empty without given normals.
    guides: Vec<[f64; 3]>,
}

impl SampledCloud {
    /// Samples `points`; there is one of `given_normals` for each, if any.
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

    /// Normals of the points, of either sign; zero where the neighbours do not determine a plane.
    pub fn normals(&self) -> &[[f64; 3]] {
        if self.normals.get().is_none() {
            // Made outside of the cell: a thread that waits inside a parallel loop takes up other work, which may need the same cell. The
            // first result is kept; all are equal.
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
#[non_exhaustive]
pub struct Features {
    /// Oriented normals of the sampled points.
    pub normals: Vec<[f64; 3]>,
    /// Descriptors, of the points that have one.
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

/// Whether all points are collinear up to the rounding of their coordinates.
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
