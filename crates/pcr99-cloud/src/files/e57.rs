//! E57 files, read by the crate `e57`: all scans, each moved by its pose.
//!
//! The crate checks the checksums of the pages that it reads. What it does not doubt is how many points a scan has; a
//! scan is refused here when it has more than the bits of the file.

use std::fs::File;
use std::io::BufReader;

use e57::{CartesianCoordinate, E57Reader, PointCloud, SphericalCoordinate, Transform};

use super::fields::{Depth, Want, scaled};
use crate::cloud::Cloud;
use crate::error::{Fault, quote};

/// What is wrong with an E57 file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum E57Error {
    /// The stream is a pipe or a device.
    #[error("an E57 file can only be read from a disk, not from a pipe; save it first")]
    Pipe,
    /// The library that decodes the file refused it before the first point.
    #[error("the file is no E57 file, or damaged ({cause}); copy or export it again")]
    File {
        /// What the library said, quoted and shortened.
        cause: String,
    },
    /// A scan cannot be read.
    #[error(
        "scan {scan} (counted from 0) is damaged after {found} of {promised} points ({cause}); copy or export the file again"
    )]
    Scan {
        /// The scan, from 0.
        scan: usize,
        /// How many points it promises.
        promised: u64,
        /// How many were decoded before.
        found: u64,
        /// What the library said, quoted and shortened.
        cause: String,
    },
    /// A scan has neither kind of coordinates.
    #[error(
        "scan {scan} (counted from 0) has neither cartesian nor spherical coordinates; export the file with its points"
    )]
    NoCoordinates {
        /// The scan, from 0.
        scan: usize,
    },
    /// A scan promises more points than the file has bits.
    #[error(
        "scan {scan} (counted from 0) promises {promised} points, more than a file of {size} bytes can hold; it is damaged"
    )]
    TooMany {
        /// The scan, from 0.
        scan: usize,
        /// How many points it promises.
        promised: u64,
        /// The size of the file.
        size: u64,
    },
}

/// What has been read so far.
#[derive(Default)]
struct Scans {
    points: Vec<[f64; 3]>,
    /// Black where a point has none; `None` as soon as a scan has none.
    colors: Option<Vec<[f32; 3]>>,
    /// NaN where a point has none; `None` as soon as a scan has none.
    intensities: Option<Vec<f64>>,
}

/// Reads all scans; `size` is that of the file.
pub(super) fn read(reader: BufReader<File>, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let size = size.ok_or_else(|| Fault::whole(E57Error::Pipe))?;
    let refused = |cause: e57::Error| Fault::whole(E57Error::File { cause: quote(&cause.to_string()) });
    let mut file = E57Reader::new(reader).map_err(refused)?;
    let scans = file.pointclouds();
    let all = |has: fn(&PointCloud) -> bool| want == Want::Everything && scans.iter().all(has);
    let mut found = Scans {
        points: Vec::new(),
        colors: all(PointCloud::has_color).then(Vec::new),
        intensities: all(PointCloud::has_intensity).then(Vec::new),
    };
    for (number, scan) in scans.iter().enumerate() {
        found.read(&mut file, number, scan, size)?;
    }
    // A sensor has one place only if there is one scan.
    let viewpoint = match scans.as_slice() {
        [scan] => scan.transform.as_ref().map(|pose| {
            let place = &pose.translation;
            [place.x, place.y, place.z]
        }),
        _ => None,
    };
    Ok(Cloud {
        points: found.points,
        normals: None,
        colors: found.colors.and_then(|colors| scaled(&colors, Depth::Any)),
        intensities: found.intensities,
        viewpoint: viewpoint.filter(|place| place.iter().all(|x| x.is_finite())),
    })
}

impl Scans {
    /// Adds the points of one scan.
    fn read(
        &mut self,
        file: &mut E57Reader<BufReader<File>>,
        number: usize,
        scan: &PointCloud,
        size: u64,
    ) -> Result<(), Fault> {
        let promised = scan.records;
        if !scan.has_cartesian() && !scan.has_spherical() {
            return Err(Fault::whole(E57Error::NoCoordinates { scan: number }));
        }
        if promised > size.saturating_mul(8) {
            return Err(Fault::whole(E57Error::TooMany { scan: number, promised, size }));
        }
        let damaged = |found: u64, cause: e57::Error| {
            let cause = quote(&cause.to_string());
            Fault::whole(E57Error::Scan { scan: number, promised, found, cause })
        };
        let mut points = file.pointcloud_simple(scan).map_err(|cause| damaged(0, cause))?;
        // Angles are converted here, by functions that give the same bits on every machine; and a colour made of the
        // intensity is none.
        points.spherical_to_cartesian(false);
        points.intensity_to_color(false);
        points.normalize_intensity(false);
        points.apply_pose(false);
        for (found, point) in points.enumerate() {
            let point = point.map_err(|cause| damaged(found as u64, cause))?;
            let place = match (point.cartesian, point.spherical) {
                (CartesianCoordinate::Valid { x, y, z }, _) => [x, y, z],
                (_, SphericalCoordinate::Valid { range, azimuth, elevation }) => {
                    cartesian(range, azimuth, elevation)
                }
                _ => [f64::NAN; 3],
            };
            self.points.push(scan.transform.as_ref().map_or(place, |pose| moved(pose, place)));
            if let Some(colors) = &mut self.colors {
                colors.push(point.color.map_or([0.0; 3], |color| [color.red, color.green, color.blue]));
            }
            if let Some(intensities) = &mut self.intensities {
                intensities.push(point.intensity.map_or(f64::NAN, f64::from));
            }
        }
        Ok(())
    }
}

/// The place of a point given by its distance and two angles in radians, the second upwards from the xy plane.
fn cartesian(range: f64, azimuth: f64, elevation: f64) -> [f64; 3] {
    let ((sin_a, cos_a), (sin_e, cos_e)) = (libm::sincos(azimuth), libm::sincos(elevation));
    [range * cos_e * cos_a, range * cos_e * sin_a, range * sin_e]
}

/// `point` turned by the unit quaternion of `pose` and shifted: `p + 2w(v×p) + 2v×(v×p) + t`.
fn moved(pose: &Transform, point: [f64; 3]) -> [f64; 3] {
    let (turn, shift) = (&pose.rotation, &pose.translation);
    let axis = [turn.x, turn.y, turn.z];
    let once = cross(axis, point);
    let twice = cross(axis, once);
    let shift = [shift.x, shift.y, shift.z];
    std::array::from_fn(|k| point[k] + 2.0 * (turn.w * once[k] + twice[k]) + shift[k])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
