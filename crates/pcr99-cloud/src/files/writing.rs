//! Helpers of the writers.

use std::io::{self, Write};

/// Largest rounding error of a coordinate, as a fraction of the extent of the cloud.
const PRECISION: f64 = 1e-6;

/// Storage of a real number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Real {
    /// Four bytes, about seven digits.
    Single,
    /// Eight bytes, about sixteen digits.
    Double,
}

impl Real {
    /// Single precision if it holds all of `values` exactly, otherwise double.
    pub(crate) fn exact(values: &[f64]) -> Self {
        let holds = |&value: &f64| value.is_nan() || f64::from(value as f32) == value;
        if values.iter().all(holds) { Self::Single } else { Self::Double }
    }

    /// The type of coordinates: single precision, which is all that the point types of PCL read, unless it would move a point
    /// by more than a millionth of the extent of the cloud, as it does with coordinates far from the origin (UTM).
    pub(crate) fn of_coordinates(points: &[[f64; 3]]) -> Self {
        let (mut low, mut high, mut error) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3], 0.0f64);
        for point in points.iter().filter(|point| point.iter().all(|x| x.is_finite())) {
            for axis in 0..3 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
                error = error.max((f64::from(point[axis] as f32) - point[axis]).abs());
            }
        }
        let extent = (0..3).map(|axis| high[axis] - low[axis]).fold(0.0, f64::max);
        if error <= PRECISION * extent { Self::Single } else { Self::Double }
    }

    /// Bytes of a value.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// Appends three values to `out`, low byte first.
pub(crate) fn push_triple(out: &mut Vec<u8>, values: &[f64; 3], real: Real) {
    match real {
        Real::Single => {
            out.extend_from_slice(values.map(|value| (value as f32).to_le_bytes()).as_flattened())
        }
        Real::Double => out.extend_from_slice(values.map(f64::to_le_bytes).as_flattened()),
    }
}

/// Appends a value to `out`, low byte first.
pub(crate) fn push_real(out: &mut Vec<u8>, value: f64, real: Real) {
    match real {
        Real::Single => out.extend_from_slice(&(value as f32).to_le_bytes()),
        Real::Double => out.extend_from_slice(&value.to_le_bytes()),
    }
}

/// Appends a number as text with the fewest digits that read back to the same bits, without an exponent.
pub(crate) fn push_number(out: &mut Vec<u8>, value: f64) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value);
    if text.contains('e') || !value.is_finite() {
        // Very large and very small numbers: without an exponent.
        out.extend_from_slice(value.to_string().as_bytes());
    } else {
        out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
    }
}

/// Appends a number in single precision, as [`push_number`] does.
pub(crate) fn push_single(out: &mut Vec<u8>, value: f32) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format(value);
    if text.contains('e') || !value.is_finite() {
        out.extend_from_slice(value.to_string().as_bytes());
    } else {
        out.extend_from_slice(text.strip_suffix(".0").unwrap_or(text).as_bytes());
    }
}

/// Writes `count` records, each of which `push` appends to a buffer.
pub(crate) fn write_records(
    out: &mut dyn Write,
    count: usize,
    mut push: impl FnMut(usize, &mut Vec<u8>),
) -> io::Result<()> {
    /// Bytes that are written at a time; as many as output files have in their own buffer, which is then not needed.
    const BLOCK: usize = 128 * 1024;
    let mut buffer = Vec::with_capacity(BLOCK + BLOCK / 8);
    for i in 0..count {
        push(i, &mut buffer);
        if buffer.len() >= BLOCK {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn single_precision_only_where_nothing_is_lost() {
        assert_eq!(Real::exact(&[0.5, f64::from(0.1f32), f64::NAN, f64::INFINITY, -0.0]), Real::Single);
        assert_eq!(Real::exact(&[0.1]), Real::Double);
        assert_eq!(Real::exact(&[4_500_000.125]), Real::Double);
        assert_eq!(Real::exact(&[1e300]), Real::Double);
    }

    #[test]
    fn double_precision_only_far_from_the_origin() {
        let near = [[0.1, 0.2, 0.3], [1.0 / 3.0, 7.7, -1.1], [f64::NAN; 3]];
        assert_eq!(Real::of_coordinates(&near), Real::Single);
        let far = near.map(|[x, y, z]| [x + 448_262.0, y + 5_411_932.0, z + 300.0]);
        assert_eq!(Real::of_coordinates(&far), Real::Double);
        assert_eq!(Real::of_coordinates(&[[0.1; 3]]), Real::Double);
        assert_eq!(Real::of_coordinates(&[[f64::NAN; 3]]), Real::Single);
        assert_eq!(Real::of_coordinates(&[]), Real::Single);
    }
    #[test]
    fn records_are_written_in_order() {
        let mut out = Vec::new();
        let count = 100_000;
        write_records(&mut out, count, |i, buffer| buffer.extend_from_slice(&(i as u32).to_le_bytes()))
            .expect("a vector");
        let expected: Vec<u8> = (0..count as u32).flat_map(u32::to_le_bytes).collect();
        assert_eq!(out, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn numbers_are_as_short_as_those_of_the_standard_library(
            any in any::<f64>(), small in -1e4..1e4f64, places in 0..8i32,
        ) {
            let rounded = (small * 10f64.powi(places)).round() / 10f64.powi(places);
            for value in [any, small, rounded, rounded.round(), f64::from(small as f32), 1.0 / small] {
                let mut out = Vec::new();
                push_number(&mut out, value);
                let (text, usual) = (String::from_utf8_lossy(&out), value.to_string());
                let read: f64 = text.parse().expect("a number");
                prop_assert!(read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan(), "{}", text);
                prop_assert!(text.len() == usual.len() && !text.contains('e'), "{} {}", text, usual);
            }
        }
    }
}
