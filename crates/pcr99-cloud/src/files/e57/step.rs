//! The step of the coordinates of a scan, as they are stored. The pose of a scan turns its points, so that the step cannot be seen in them.

use e57::{CartesianBounds, PointCloud, RecordDataType, RecordName};

/// The largest step of the coordinates of a scan, or of its ranges, and whether it is that of single precision. `None` for double precision, and where the size of
/// the coordinates is not stated.
pub(super) fn step(scan: &PointCloud) -> Option<(f64, bool)> {
    let of = |name: &RecordName| {
        let record = scan.prototype.iter().find(|record| record.name == *name)?;
        match record.data_type {
            RecordDataType::ScaledInteger { scale, .. } => Some((scale.abs(), false)),
            RecordDataType::Integer { .. } => Some((1.0, false)),
            RecordDataType::Single { .. } => Some((single_step(reach(scan)?), true)),
            RecordDataType::Double { .. } => None,
        }
    };
    let names =
        [RecordName::CartesianX, RecordName::CartesianY, RecordName::CartesianZ, RecordName::SphericalRange];
    let steps = names.iter().filter_map(of).filter(|(step, _)| step.is_finite() && *step > 0.0);
    steps.reduce(|most, next| if next.0 > most.0 { next } else { most })
}

/// The largest coordinate or range of a scan, as its head states it.
fn reach(scan: &PointCloud) -> Option<f64> {
    let spherical = scan.spherical_bounds.as_ref().and_then(|bounds| bounds.range_max);
    let cartesian = scan.cartesian_bounds.as_ref().and_then(|bounds| {
        let CartesianBounds { x_min, x_max, y_min, y_max, z_min, z_max } = *bounds;
        [x_min, x_max, y_min, y_max, z_min, z_max]
            .into_iter()
            .try_fold(0.0, |most: f64, x| Some(most.max(x?.abs())))
    });
    cartesian.or(spherical).filter(|reach| reach.is_finite() && *reach > 0.0)
}

/// Distance between two neighbours in single precision at a value.
fn single_step(value: f64) -> f64 {
    let bits = (value.min(f64::from(f32::MAX) / 2.0) as f32).to_bits();
    f64::from(f32::from_bits(bits + 1)) - f64::from(f32::from_bits(bits))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use e57::{E57Reader, E57Writer, Record, RecordValue};

    use super::*;

    /// The scan of a file whose coordinates have this type.
    fn scan(data_type: &RecordDataType, value: impl Fn(f64) -> RecordValue) -> PointCloud {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = E57Writer::new(&mut bytes, "file").expect("a writer");
        let names = [RecordName::CartesianX, RecordName::CartesianY, RecordName::CartesianZ];
        let prototype = names.map(|name| Record { name, data_type: data_type.clone() }).to_vec();
        let mut scan = writer.add_pointcloud("scan", prototype).expect("a scan");
        for point in [[1.0, 2.0, 3.0], [70.0, -3.0, 0.5]] {
            scan.add_point(point.map(&value).to_vec()).expect("a point");
        }
        scan.finalize().expect("a scan");
        writer.finalize().expect("a file");
        drop(writer);
        E57Reader::new(bytes).expect("a file").pointclouds().remove(0)
    }

    #[test]
    fn steps_of_all_types_are_found() {
        let scaled = RecordDataType::ScaledInteger { min: -100_000, max: 100_000, scale: 0.005, offset: 2.0 };
        let integer = |x: f64| RecordValue::ScaledInteger((x / 0.005) as i64);
        assert_eq!(step(&scan(&scaled, integer)), Some((0.005, false)));
        // 2⁻¹⁷ between 64 and 128.
        let single = scan(&RecordDataType::F32, |x| RecordValue::Single(x as f32));
        assert_eq!(step(&single), Some((2f64.powi(-17), true)));
        assert_eq!(step(&scan(&RecordDataType::F64, RecordValue::Double)), None);
    }
}
