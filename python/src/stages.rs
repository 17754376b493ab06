//! The stages of the registration of two clouds, one function each.

use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pcr99::Positive;
use pcr99_cloud::{
    clean::Cleaned,
    fpfh::{DIMENSIONS, Descriptor, Fpfh},
    matching::{NearestBothWays, mutual_matches},
    neighbors::Neighbors,
    normals, orient,
    tree::KdTree,
    voxel::{VoxelSample, middle},
};
use pyo3::prelude::*;

use crate::{
    arrays::{array, indices, rows},
    error::Failure,
    work,
};

/// Maximum number of neighbours of all points together. At 12 bytes each, they take 3.6 GB.
const MAX_NEIGHBORS: f64 = 3e8;
/// Number of points whose neighbours are counted to estimate the total. They tell a few dozen neighbours from thousands.
const COUNTED: usize = 256;

/// Removes non-finite and duplicate points. Returns the points, their indices, and the numbers of removed non-finite and duplicate points.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "two arrays and two counts")]
pub(crate) fn clean<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>, usize, usize)> {
    let points: Vec<[f64; 3]> = rows(&points)?;
    let cleaned = work::run(py, move || Ok(Cleaned::of(&points)))?;
    let kept = indices(py, cleaned.indices);
    Ok((array(py, cleaned.points)?, kept, cleaned.not_finite, cleaned.duplicates))
}

/// Centroids of the points in each voxel.
#[pyfunction]
pub(crate) fn voxel_down_sample<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    voxel: f64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let points: Vec<[f64; 3]> = rows(&points)?;
    let sampled = work::run(py, move || {
        let voxel = Positive::new("voxel", voxel)?.get();
        // Relative to the center, so that a large offset (UTM) costs no digits.
        let (center, centred) = centred(points);
        let sample = work::with_threads(threads, || VoxelSample::of(&centred, voxel))?;
        if sample.strays > 0 {
            return Err(Failure::Value(format!(
                "{} points are more than a million voxels of {voxel} from the center of the cloud: use larger voxels, or \
                 remove these points",
                sample.strays
            )));
        }
        let back = |p: [f64; 3]| std::array::from_fn(|axis| p[axis] + center[axis]);
        Ok(sample.points.into_iter().map(back).collect::<Vec<[f64; 3]>>())
    })?;
    array(py, sampled)
}

/// Normals of points. They point towards `viewpoint`, or are oriented consistently between neighbours without it. A normal is zero where
/// the neighbours determine no plane.
#[pyfunction]
pub(crate) fn estimate_normals<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    radius: f64,
    viewpoint: Option<[f64; 3]>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let points: Vec<[f64; 3]> = rows(&points)?;
    let found = work::run(py, move || {
        let radius = Positive::new("radius", radius)?.get();
        let (center, centred) = centred(points);
        work::with_threads(threads, || {
            let tree = KdTree::new(&centred);
            if let Some(place) = viewpoint {
                let mut normals = normals::estimate(&centred, &tree, radius);
                let place = std::array::from_fn(|axis| place[axis] - center[axis]);
                orient::towards(place, &centred, &mut normals);
                return Ok(normals);
            }
            let near = neighbors(&tree, &centred, radius)?;
            let mut normals = normals::estimate(&centred, &tree, radius);
            orient::consistently(&centred, &near, radius, &mut normals);
            Ok(normals)
        })?
    })?;
    array(py, found)
}

/// Descriptors of points with normals: the indices of the points that have one, the signed and the unsigned descriptors.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "three arrays")]
pub(crate) fn fpfh<'py>(
    py: Python<'py>,
    points: PyReadonlyArray2<'py, f64>,
    normals: PyReadonlyArray2<'py, f64>,
    radius: f64,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>)> {
    let (points, normals): (Vec<[f64; 3]>, Vec<[f64; 3]>) = (rows(&points)?, rows(&normals)?);
    let found = work::run(py, move || {
        let radius = Positive::new("radius", radius)?.get();
        if points.len() != normals.len() {
            return Err(Failure::Value(format!(
                "{} normals for {} points: pass one for each point",
                normals.len(),
                points.len()
            )));
        }
        let (_, centred) = centred(points);
        work::with_threads(threads, || {
            let near = neighbors(&KdTree::new(&centred), &centred, radius)?;
            Ok(Fpfh::of(&centred, &normals, &near, radius))
        })?
    })?;
    let kept = indices(py, found.points);
    Ok((kept, array(py, found.signed)?, array(py, found.unsigned)?))
}

/// Index pairs of nearest descriptors.
#[pyfunction]
pub(crate) fn match_features<'py>(
    py: Python<'py>,
    source: PyReadonlyArray2<'py, f32>,
    target: PyReadonlyArray2<'py, f32>,
    mutual: bool,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let source: Vec<Descriptor> = rows::<f32, DIMENSIONS>(&source)?;
    let target: Vec<Descriptor> = rows::<f32, DIMENSIONS>(&target)?;
    let pairs = work::run(py, move || {
        let pairs = work::with_threads(threads, || match mutual {
            true => mutual_matches(&source, &target),
            false => NearestBothWays::between(&source, &target).one_way().collect(),
        })?;
        let mut pairs: Vec<[i64; 2]> = pairs.into_iter().map(|pair| pair.map(i64::from)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Ok(pairs)
    })?;
    array(py, pairs)
}

/// Center of the points, and the points relative to it.
fn centred(mut points: Vec<[f64; 3]>) -> ([f64; 3], Vec<[f64; 3]>) {
    let center = middle(&points);
    points.iter_mut().for_each(|p| *p = std::array::from_fn(|axis| p[axis] - center[axis]));
    (center, points)
}

/// Neighbours of all points within `radius`; an error if they would need too much memory.
fn neighbors(tree: &KdTree, points: &[[f64; 3]], radius: f64) -> Result<Neighbors, Failure> {
    let stride = points.len().div_ceil(COUNTED).max(1);
    let looked_at = points.iter().step_by(stride);
    let (mut count, mut places) = (0_u64, 0_u32);
    for &p in looked_at {
        tree.for_each_within(p, radius, |_| count += 1);
        places += 1;
    }
    let each = count as f64 / f64::from(places.max(1));
    if each * points.len() as f64 > MAX_NEIGHBORS {
        return Err(Failure::Memory(format!(
            "each of the {} points has about {each:.0} neighbours within radius {radius}, too many to keep: use a smaller \
             radius, or voxel_down_sample first",
            points.len()
        )));
    }
    Ok(Neighbors::within(tree, points, radius))
}
