//! Preparation of a cloud: cleaned, centred, and with its samples and descriptors kept for each voxel size that was used.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rayon::prelude::*;

use pcr99_base::vector::{cross, distance_sq, dot, minus, norm, plus};

use crate::{
    clean::Faults,
    cloud::Cloud,
    fpfh::Fpfh,
    neighbors::Neighbors,
    normals,
    orient::{self, Orientation},
    refine::finish::{self, Surface},
    register::RegisterError,
    tree::KdTree,
    voxel::{Density, VoxelSample, middle_of, spread_sample},
};

/// Input of a registration: points, and optionally normals and the position of the sensor.
#[derive(Debug, Clone)]
pub struct RawCloud<'a> {
    points: Cow<'a, [[f64; 3]]>,
    viewpoint: Option<[f64; 3]>,
    normals: Option<Cow<'a, [[f64; 3]]>>,
}

impl<'a> RawCloud<'a> {
    /// A cloud of points: a reference, or a list that is then used without a copy. Non-finite and duplicate points are removed by
    /// [`PreparedCloud::new`], which counts them.
    pub fn new(points: impl Into<Cow<'a, [[f64; 3]]>>) -> Self {
        Self { points: points.into(), viewpoint: None, normals: None }
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
        self.with_any_normals(normals.into().map(Cow::Borrowed))
    }

    fn with_any_normals(self, normals: Option<Cow<'a, [[f64; 3]]>>) -> Result<Self, RegisterError> {
        match normals {
            Some(normals) if normals.len() != self.points.len() => {
                Err(RegisterError::NormalCount { normals: normals.len(), points: self.points.len() })
            }
            normals => Ok(Self { normals, ..self }),
        }
    }
}

impl TryFrom<Cloud> for RawCloud<'_> {
    type Error = RegisterError;

    /// The points of a cloud with its normals and viewpoint, without a copy.
    fn try_from(cloud: Cloud) -> Result<Self, RegisterError> {
        Self::new(cloud.points)
            .with_viewpoint(cloud.viewpoint)?
            .with_any_normals(cloud.normals.map(Cow::Owned))
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
/// Number of cell sizes for which a cloud keeps the cells of the last stage. Sizes are rounded, so that a map needs few of them.
const KEPT_SURFACES: usize = 4;
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
    surfaces: Mutex<Vec<(u64, usize, Arc<Surface>)>>,
}

impl PreparedCloud {
    /// Cleans and measures a cloud. Samples and descriptors are made when first needed.
    ///
    /// # Errors
    /// When there are fewer than three distinct finite points, when all points are collinear, and when the extent of the cloud is below
    /// 10⁻¹⁵ or above 10¹⁵.
    pub fn new(cloud: RawCloud<'_>) -> Result<Self, RegisterError> {
        let given = cloud.points.len();
        let faults = Faults::of(&cloud.points);
        let keep = |normals: Cow<'_, [[f64; 3]]>| {
            faults.remaining(&cloud.points).map(|i| normals[i as usize]).collect::<Vec<_>>()
        };
        let normals = cloud.normals.map(keep);
        let mut points = faults.remove_from(cloud.points);
        if points.len() < 3 {
            return Err(RegisterError::TooFewPoints { given, distinct: points.len() });
        }
        let mut sample = spread_sample(&points);
        let center = middle_of(&sample);
        shift_to_center(&mut sample, center);
        let reach = shift_to_center(&mut points, center);
        let density = Density::of_sample(sample, points.len());
        if !(1.0 / EXTREME..EXTREME).contains(&density.extent()) {
            return Err(match density.extent() {
                // Nine tenths of the points may be equal up to rounding.
                extent if extent > 0.0 => RegisterError::ExtremeSize { extent },
                _ => RegisterError::ExtremeSize { extent: 0.0 },
            });
        }
        if !are_clearly_spread(&points, center, reach) && are_collinear(&points, center) {
            return Err(RegisterError::Collinear { points: points.len() });
        }
        Ok(Self {
            given,
            not_finite: faults.not_finite,
            duplicates: faults.duplicates.len(),
            center,
            points,
            normals,
            viewpoint: cloud.viewpoint.map(|v| minus(v, center)),
            density,
            sampled: Mutex::default(),
            features: Mutex::default(),
            surfaces: Mutex::default(),
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
        let surfaces = self.surfaces.lock().unwrap_or_else(PoisonError::into_inner);
        let surfaces: usize = surfaces.iter().map(|(_, _, surface)| surface.bytes()).sum();
        size_of::<Self>() + self.density.bytes() + given + sampled + features + surfaces
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
        self.kept_sample(voxel).unwrap_or_else(|| self.keep_sample(&self.voxel_sample(voxel), voxel))
    }

    /// The cloud sampled with voxels of this size, or the number of voxels where that is more than `most`.
    pub(crate) fn sampled_at_most(&self, voxel: f64, most: usize) -> Result<Arc<SampledCloud>, usize> {
        if let Some(sampled) = self.kept_sample(voxel) {
            let count = sampled.points.len();
            return if count <= most { Ok(sampled) } else { Err(count) };
        }
        let sample = self.voxel_sample(voxel);
        let count = sample.points.len();
        if count <= most { Ok(self.keep_sample(&sample, voxel)) } else { Err(count) }
    }

    fn voxel_sample(&self, voxel: f64) -> VoxelSample {
        VoxelSample::with_normals(&self.points, self.normals.as_deref(), voxel)
    }

    fn keep_sample(&self, sample: &VoxelSample, voxel: f64) -> Arc<SampledCloud> {
        // Made without holding the lock: a thread that waits inside a parallel loop takes up other work, which may need the same lock.
        let sampled = Arc::new(SampledCloud::from_sample(sample, voxel));
        let mut kept = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        keep(&mut kept, KEPT, (voxel.to_bits(), Arc::clone(&sampled)));
        sampled
    }

    fn kept_sample(&self, voxel: f64) -> Option<Arc<SampledCloud>> {
        let kept = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(bits, _)| *bits == voxel.to_bits()).map(|(_, sampled)| Arc::clone(sampled))
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
        keep(&mut features(), KEPT, (voxel.to_bits(), orientation, Arc::clone(&new)));
        new
    }

    /// The cells of the last stage of a refinement, with this edge, for the moving (0) or the fixed (1) cloud. Made at the first call, then kept.
    pub(crate) fn surface(&self, side: usize, size: f64) -> Arc<Surface> {
        let surfaces = || self.surfaces.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(bits, of, _): &&(u64, usize, Arc<Surface>)| *bits == size.to_bits() && *of == side;
        if let Some((_, _, known)) = surfaces().iter().find(is_it) {
            return Arc::clone(known);
        }
        // Made without holding the lock, as above.
        let new = Arc::new(finish::surface(&self.points, side, size));
        keep(&mut surfaces(), KEPT_SURFACES, (size.to_bits(), side, Arc::clone(&new)));
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

/// Adds `new`, and drops the oldest of more than `most`.
fn keep<T>(kept: &mut Vec<T>, most: usize, new: T) {
    if kept.len() == most {
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
    /// All normals; made when first needed.
    normals: OnceLock<Vec<[f64; 3]>>,
    /// Normals of single points; each made when first needed, and empty until the first of them is.
    single_normals: OnceLock<Vec<OnceLock<[f64; 3]>>>,
    /// Sum of the given normals in each voxel; empty without given normals.
    guides: Vec<[f64; 3]>,
}

impl SampledCloud {
    /// Samples `points`; there is one of `given_normals` for each, if any.
    pub fn of(points: &[[f64; 3]], given_normals: Option<&[[f64; 3]]>, voxel: f64) -> Self {
        Self::from_sample(&VoxelSample::with_normals(points, given_normals, voxel), voxel)
    }

    fn from_sample(sample: &VoxelSample, voxel: f64) -> Self {
        let mut tree = KdTree::new(&sample.points);
        let order = tree.take_order();
        let points: Vec<[f64; 3]> = order.iter().map(|&i| sample.points[i as usize]).collect();
        let guides = match sample.normals.is_empty() {
            false => order.iter().map(|&i| sample.normals[i as usize]).collect(),
            true => Vec::new(),
        };
        let (normals, single_normals) = (OnceLock::new(), OnceLock::new());
        Self { voxel, points, tree, normals, single_normals, guides }
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

    /// Normal of point `i`, as in [`normals`](Self::normals). Where only some are needed, this is cheaper.
    pub(crate) fn normal(&self, i: usize) -> [f64; 3] {
        if let Some(normals) = self.normals.get() {
            return normals[i];
        }
        let single = self.single_normals.get_or_init(|| vec![OnceLock::new(); self.points.len()]);
        *single[i].get_or_init(|| normals::estimate_one(&self.tree, i, NORMAL_RADIUS * self.voxel))
    }

    /// The mirror image in the plane through `at` across `axis`, a unit vector. The points keep their order.
    pub(crate) fn mirrored(&self, at: [f64; 3], axis: [f64; 3]) -> Self {
        let image = |v: [f64; 3]| {
            let twice = 2.0 * dot(v, axis);
            std::array::from_fn(|k| v[k] - twice * axis[k])
        };
        let points: Vec<[f64; 3]> = self.points.iter().map(|&p| plus(at, image(minus(p, at)))).collect();
        let normals: Vec<[f64; 3]> = self.normals().iter().map(|&n| image(n)).collect();
        let (tree, voxel) = (KdTree::new(&points), self.voxel);
        let (normals, single_normals) = (OnceLock::from(normals), OnceLock::new());
        Self { voxel, points, tree, normals, single_normals, guides: Vec::new() }
    }

    fn bytes(&self) -> usize {
        let normals = self.normals.get().map_or(0, |normals| size_of_val(&**normals));
        let single = self.single_normals.get().map_or(0, |normals| size_of_val(&**normals));
        size_of_val(&*self.points) + self.tree.bytes() + normals + single + size_of_val(&*self.guides)
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

/// Makes points relative to `center`. Returns their largest coordinate.
fn shift_to_center(points: &mut [[f64; 3]], center: [f64; 3]) -> f64 {
    let shift = |chunk: &mut [[f64; 3]]| {
        let mut reach = [0.0; 3];
        for point in chunk {
            *point = minus(*point, center);
            reach = std::array::from_fn(|axis| f64::max(reach[axis], point[axis].abs()));
        }
        reach.into_iter().fold(0.0, f64::max)
    };
    points.par_chunks_mut(CHUNK).map(shift).reduce(|| 0.0, f64::max)
}

/// Number of points of one task.
const CHUNK: usize = 1 << 14;
/// Number of points that show that a cloud is spread.
const FEW: usize = 1024;
/// Rounding error of a coordinate, as a fraction of it, with a margin.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Whether a few points show that [`are_collinear`] is false; `reach` is the largest coordinate.
///
/// Three points at the corners of a triangle are not near any line: one of them is at least half of its smallest height away.
fn are_clearly_spread(points: &[[f64; 3]], center: [f64; 3], reach: f64) -> bool {
    let few = points.iter().step_by(points.len().div_ceil(FEW)).copied();
    let (near, line) = line_of(few.clone());
    let height = few.map(|p| norm(cross(minus(p, near), line))).fold(0.0, f64::max) / norm(line);
    // Twice the largest tolerance of the other test: two points are at most 4·reach apart. NaN, of a single place, is not greater.
    height / 2.0 > 2.0 * ROUNDING * (largest(center) + 5.0 * reach)
}

/// Whether all points are collinear up to the rounding of their coordinates.
fn are_collinear(points: &[[f64; 3]], center: [f64; 3]) -> bool {
    let (near, line) = line_of(points.iter().copied());
    let length = norm(line);
    let is_on_line = |p: &[f64; 3]| {
        let off = norm(cross(minus(*p, near), line));
        off <= ROUNDING * (largest(center) + largest(*p) + length) * length
    };
    points.iter().all(is_on_line)
}

fn largest(v: [f64; 3]) -> f64 {
    v.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// The line through the point that is farthest from the origin and the one that is farthest from that: the second point, and the vector from it to the
/// first.
fn line_of(points: impl Iterator<Item = [f64; 3]> + Clone) -> ([f64; 3], [f64; 3]) {
    let farthest_from = |origin: [f64; 3]| {
        let farther = |best, p| if distance_sq(p, origin) > distance_sq(best, origin) { p } else { best };
        points.clone().fold(origin, farther)
    };
    let far = farthest_from([0.0; 3]);
    let near = farthest_from(far);
    (near, minus(far, near))
}
