//! What is in a cloud file.

use std::path::Path;

use super::copied::format;
#[cfg(feature = "e57")]
use super::e57::{self, ScanInfo};
use super::file::{CloudFile, read_cloud_file};
use super::format::Format;
use crate::clean::Cleaned;
use crate::cloud::Attribute;
use crate::error::FileError;
use crate::tree::KdTree;

/// Largest number of points whose nearest neighbour is looked for.
const SAMPLE: usize = 2000;

/// Decimal steps of coordinates that are recognised.
const STEPS: [f64; 10] = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];

/// Largest distance of a coordinate from a multiple of a step, as a fraction of its magnitude: rounding of doubles.
const ROUNDING: f64 = 1e-12;

/// A step of the coordinates above this part of the spacing is coarse.
const COARSE: f64 = 0.1;

/// Format, extent, attributes and peculiarities of a cloud file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CloudInfo {
    /// Name of the format.
    pub format: &'static str,
    /// Number of points, missing ones included.
    pub points: usize,
    /// Number of points with a NaN or infinite coordinate.
    pub missing: usize,
    /// Corners of the box of the points; `None` when all are missing.
    pub bounds: Option<[[f64; 3]; 2]>,
    /// Median distance to the nearest other point.
    pub spacing: Option<f64>,
    /// Step of the coordinates: of a decimal grid, or of single precision.
    pub step: Option<f64>,
    /// Attributes: name, least and largest value. Normals and colours have none.
    pub attributes: Vec<(String, Option<[f64; 2]>)>,
    /// Position of the sensor.
    pub viewpoint: Option<[f64; 3]>,
    /// Coordinate system as WKT.
    pub coordinate_system: Option<String>,
    /// Contents that are no attributes of points, by name.
    pub others: Vec<String>,
    /// Scans of an E57 file.
    #[cfg(feature = "e57")]
    pub scans: Vec<ScanInfo>,
    /// What may be a mistake, in sentences.
    pub warnings: Vec<String>,
}

/// Reads the file at `path` and describes it.
///
/// # Errors
/// As [`read_cloud_file`].
pub fn cloud_info(path: &Path) -> Result<CloudInfo, FileError> {
    let file = read_cloud_file(path)?;
    let format = format(path)?;
    let cloud = &file.cloud;
    let points: Vec<[f64; 3]> =
        cloud.points.iter().copied().filter(|point| point.iter().all(|x| x.is_finite())).collect();
    let bounds = (!points.is_empty()).then(|| bounds(&points));
    let spacing = spacing(&points);
    let step = step(&points);
    let mut info = CloudInfo {
        format: name(format),
        points: cloud.len(),
        missing: cloud.len() - points.len(),
        bounds,
        spacing,
        step: None,
        attributes: attributes(&file),
        viewpoint: cloud.viewpoint,
        coordinate_system: file.coordinate_system.clone(),
        others: file.left_out.clone(),
        #[cfg(feature = "e57")]
        scans: match format {
            Format::E57 => {
                let source = super::Source::open(path)?;
                e57::scans(source.reader).map_err(|fault| fault.in_file(&source.label))?
            }
            _ => Vec::new(),
        },
        warnings: Vec::new(),
    };
    // The poses of scans turn their points, which hides the step.
    #[cfg(feature = "e57")]
    let step = info.scans.iter().filter_map(|scan| scan.step).fold(step, |most, scan| match most {
        Some(most) if most.0 >= scan.0 => Some(most),
        _ => Some(scan),
    });
    info.step = step.map(|(step, _)| step);
    info.warnings = warnings(&info, step, &points);
    Ok(info)
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Ply => "PLY",
        Format::Pcd => "PCD",
        Format::Las => "LAS",
        Format::E57 => "E57",
        Format::Npy => "NumPy",
        Format::Obj => "OBJ",
        Format::Kitti => "KITTI",
        Format::Text(_) => "text",
    }
}

fn bounds(points: &[[f64; 3]]) -> [[f64; 3]; 2] {
    let (mut low, mut high) = (points[0], points[0]);
    for point in points {
        low = [0, 1, 2].map(|k| f64::min(low[k], point[k]));
        high = [0, 1, 2].map(|k| f64::max(high[k], point[k]));
    }
    [low, high]
}

/// Median distance of a sample of points to the nearest other point.
fn spacing(points: &[[f64; 3]]) -> Option<f64> {
    let points = Cleaned::of(points).points;
    if points.len() < 2 {
        return None;
    }
    let [low, high] = bounds(&points);
    let local: Vec<[f64; 3]> = points.iter().map(|p| [0, 1, 2].map(|k| p[k] - low[k])).collect();
    let extent = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let tree = KdTree::new(&local);
    let nearest = |i: usize| {
        // From a radius that holds few points: it grows until another point is inside.
        let mut radius = extent / (local.len() as f64).max(8.0);
        loop {
            let mut least = f64::INFINITY;
            tree.for_each_within(local[i], radius, |other| {
                if other.index != i {
                    least = least.min(other.distance_sq);
                }
            });
            if least.is_finite() || radius > 4.0 * extent {
                break least.sqrt();
            }
            radius *= 2.0;
        }
    };
    let mut distances: Vec<f64> =
        (0..local.len()).step_by(local.len().div_ceil(SAMPLE)).map(nearest).collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().filter(|distance| distance.is_finite())
}

/// Step of the coordinates, and whether it is that of single precision.
fn step(points: &[[f64; 3]]) -> Option<(f64, bool)> {
    let all = points.as_flattened();
    let is_off = |x: f64, step: f64| ((x / step).round() * step - x).abs() > ROUNDING * x.abs().max(step);
    let decimal = STEPS.into_iter().find(|&step| !all.iter().any(|&x| is_off(x, step)));
    let largest = all.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let is_single = largest > 0.0 && all.iter().all(|&x| f64::from(x as f32) == x);
    let single = || {
        let bits = (largest as f32).to_bits();
        f64::from(f32::from_bits(bits + 1)) - f64::from(f32::from_bits(bits))
    };
    match decimal {
        Some(step) => Some((step, false)),
        None => is_single.then(|| (single(), true)),
    }
}

fn attributes(file: &CloudFile) -> Vec<(String, Option<[f64; 2]>)> {
    let range = |values: &[f64]| {
        let finite = || values.iter().copied().filter(|x| x.is_finite());
        let low = finite().reduce(f64::min)?;
        Some([low, finite().fold(low, f64::max)])
    };
    let known = file.cloud.attributes().into_iter().filter(|&a| a != Attribute::Viewpoint);
    let known = known.map(|attribute| {
        let values = match attribute {
            Attribute::Intensities => file.cloud.intensities.as_deref().and_then(range),
            _ => None,
        };
        (attribute.to_string(), values)
    });
    let columns = file.columns.iter().map(|column| (column.name.clone(), range(&column.values)));
    known.chain(columns).collect()
}

fn warnings(info: &CloudInfo, step: Option<(f64, bool)>, points: &[[f64; 3]]) -> Vec<String> {
    let mut warnings = Vec::new();
    if let (Some((step, is_single)), Some(spacing)) = (step, info.spacing)
        && step > COARSE * spacing
    {
        let kind =
            if is_single { "have single precision, with a step of" } else { "are rounded to multiples of" };
        let remedy =
            if is_single { "in double precision, or nearer to the origin" } else { "with more digits" };
        warnings.push(format!(
            "the coordinates {kind} {step:.1e}, which is coarse beside the spacing of {spacing:.1e}; export the cloud {remedy}"
        ));
    }
    if let Some([low, high]) = info.bounds {
        let extent = [0, 1, 2].map(|k| high[k] - low[k]);
        let largest = extent.into_iter().fold(0.0, f64::max);
        if extent.contains(&0.0) {
            warnings.push("all points lie in one plane along the axes, or on one line".to_owned());
        }
        // A tenth of a percent of strays: their box is not that of the scene.
        let inner = (0..3).map(|k| {
            let mut values: Vec<f64> = points.iter().map(|p| p[k]).collect();
            values.sort_by(f64::total_cmp);
            values[(values.len() - 1) * 999 / 1000] - values[(values.len() - 1) / 1000]
        });
        let inner = inner.fold(0.0, f64::max);
        if inner > 0.0 && largest > 10.0 * inner {
            warnings.push(format!(
                "a few points lie far from all others: the box is {largest:.3e} long, that of 99.8 % of the points {inner:.3e}"
            ));
        }
    }
    let shared = info.points - info.missing;
    let distinct = Cleaned::of(points).points.len();
    if distinct < shared {
        warnings
            .push(format!("{} of {shared} points have the coordinates of another point", shared - distinct));
    }
    warnings
}

/// Unit conversions that are often forgotten: metres and millimetres, metres and feet, feet and inches, inches and millimetres.
const UNITS: [(f64, &str); 6] = [
    (1000.0, "metres and millimetres"),
    (100.0, "metres and centimetres"),
    (3.280_84, "metres and feet"),
    (12.0, "feet and inches"),
    (25.4, "inches and millimetres"),
    (304.8, "feet and millimetres"),
];

/// Largest relative difference of two extents, after a conversion of units, that makes the conversion likely.
const ALIKE: f64 = 0.05;

/// A sentence about two clouds whose extents differ by a conversion of units; `None` when they are similar or differ otherwise.
pub fn unit_hint(a: [[f64; 3]; 2], b: [[f64; 3]; 2]) -> Option<String> {
    let extent = |[low, high]: [[f64; 3]; 2]| {
        (0..3).map(|k| (high[k] - low[k]) * (high[k] - low[k])).sum::<f64>().sqrt()
    };
    let (a, b) = (extent(a), extent(b));
    let ratio = a.max(b) / a.min(b);
    let is_near = |factor: f64| (ratio / factor - 1.0).abs() < ALIKE;
    let (factor, units) = UNITS.into_iter().find(|&(factor, _)| is_near(factor))?;
    Some(format!(
        "one cloud is {ratio:.4} times as long as the other, nearly {factor}: their units may be {units}; scale one of them, or use --scale unknown"
    ))
}

/// As [`unit_hint`], for the points of two clouds. Points that are not finite do not count.
pub fn points_unit_hint(a: &[[f64; 3]], b: &[[f64; 3]]) -> Option<String> {
    let finite_bounds = |points: &[[f64; 3]]| {
        let finite = |p: &&[f64; 3]| p.iter().all(|x| x.is_finite());
        let first = *points.iter().find(finite)?;
        Some(points.iter().filter(finite).fold([first, first], |[low, high], p| {
            [[0, 1, 2].map(|k| f64::min(low[k], p[k])), [0, 1, 2].map(|k| f64::max(high[k], p[k]))]
        }))
    };
    unit_hint(finite_bounds(a)?, finite_bounds(b)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_units_are_recognised() {
        let points = [[448_000.12, 3.5, 0.01], [1.0, 2.0, 3.0]];
        assert_eq!(step(&points), Some((0.01, false)));
        let single = [[f64::from(448_000.1f32), 0.25, f64::from(1.0f32 / 3.0)]];
        assert_eq!(step(&single), Some((0.03125, true)));
        assert_eq!(step(&[[1.0 / 3.0; 3]]), None);
        let cube = |size: f64| [[1.0; 3], [1.0 + size; 3]];
        assert!(unit_hint(cube(2.0), cube(1990.0)).is_some_and(|hint| hint.contains("millimetres")));
        assert!(unit_hint(cube(6.5), cube(2.0)).is_some_and(|hint| hint.contains("feet")));
        assert_eq!(unit_hint(cube(2.0), cube(2.1)), None);
        assert_eq!(unit_hint(cube(0.0), cube(0.0)), None);
        let corners = |size: f64| [[0.0; 3], [f64::NAN; 3], [size; 3]];
        assert!(points_unit_hint(&corners(2.0), &corners(6.56)).is_some_and(|hint| hint.contains("feet")));
        assert_eq!(points_unit_hint(&corners(2.0), &[[f64::NAN; 3]]), None);
    }
}
