//! Writing: binary, point by point.

use std::io::{self, Write};

use crate::cloud::Cloud;
use crate::files::writing::{Real, push_real, push_triple, write_records};

/// Largest rounding error of a coordinate, as a fraction of the extent of the cloud.
const PRECISION: f64 = 1e-6;

/// The type of coordinates: single precision, which is all that the point types of PCL read, unless it would move a point
/// by more than a millionth of the extent of the cloud, as it does with coordinates far from the origin (UTM).
fn precision(points: &[[f64; 3]]) -> Real {
    let (mut low, mut high, mut error) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3], 0.0f64);
    for point in points.iter().filter(|point| point.iter().all(|x| x.is_finite())) {
        for axis in 0..3 {
            low[axis] = low[axis].min(point[axis]);
            high[axis] = high[axis].max(point[axis]);
            error = error.max((f64::from(point[axis] as f32) - point[axis]).abs());
        }
    }
    let extent = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, f64::max);
    if error <= PRECISION * extent { Real::Single } else { Real::Double }
}

/// Writes all of `cloud`.
pub(crate) fn write(out: &mut dyn Write, cloud: &Cloud) -> io::Result<()> {
    let position = precision(&cloud.points);
    // Names and bytes of each field; all are of type F, the packed colour too.
    let mut fields = ["x", "y", "z"].map(|name| (name, position.size())).to_vec();
    if cloud.normals.is_some() {
        fields.extend(["normal_x", "normal_y", "normal_z"].map(|name| (name, 4)));
    }
    fields.extend(cloud.colors.iter().map(|_| ("rgb", 4)));
    fields.extend(cloud.intensities.iter().map(|_| ("intensity", 4)));
    let line = |entry: fn(&(&str, usize)) -> String| fields.iter().map(entry).collect::<Vec<_>>().join(" ");
    let (names, sizes) = (line(|field| field.0.to_owned()), line(|field| field.1.to_string()));
    let (kinds, ones, count) = (line(|_| "F".to_owned()), line(|_| "1".to_owned()), cloud.len());
    let [x, y, z] = cloud.viewpoint.unwrap_or([0.0; 3]);
    write!(
        out,
        "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS {names}\nSIZE {sizes}\nTYPE {kinds}\nCOUNT {ones}\n\
         WIDTH {count}\nHEIGHT 1\nVIEWPOINT {x} {y} {z} 1 0 0 0\nPOINTS {count}\nDATA binary\n",
    )?;
    write_records(out, count, |i, record| {
        push_triple(record, &cloud.points[i], position);
        if let Some(normals) = &cloud.normals {
            push_triple(record, &normals[i], Real::Single);
        }
        if let Some(colors) = &cloud.colors {
            let [red, green, blue] = colors[i];
            record.extend_from_slice(&[blue, green, red, 0]); // 0x00RRGGBB, low byte first, as PCL has it in a float
        }
        if let Some(intensities) = &cloud.intensities {
            push_real(record, intensities[i], Real::Single);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_precision_only_far_from_the_origin() {
        let near = [[0.1, 0.2, 0.3], [1.0 / 3.0, 7.7, -1.1], [f64::NAN; 3]];
        assert_eq!(precision(&near), Real::Single);
        let far = near.map(|[x, y, z]| [x + 448_262.0, y + 5_411_932.0, z + 300.0]);
        assert_eq!(precision(&far), Real::Double);
        assert_eq!(precision(&[[0.1; 3]]), Real::Double);
        assert_eq!(precision(&[[f64::NAN; 3]]), Real::Single);
        assert_eq!(precision(&[]), Real::Single);
    }
}
