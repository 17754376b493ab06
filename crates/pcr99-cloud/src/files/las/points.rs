//! Point records: coordinates as integers with a scale and an offset, intensity and colour as 16-bit integers.

use super::super::fields::{Want, reserved};
use super::super::scalar::{Records, Scalar};
use crate::cloud::Cloud;
use crate::error::Fault;

/// Offset of the intensity in a record, in bytes.
const INTENSITY: usize = 12;

/// Points read so far.
pub(super) struct Points {
    transforms: las::Vector<las::Transform>,
    points: Vec<[f64; 3]>,
    intensities: Option<Vec<f64>>,
    /// Offset of the colour in a record, in bytes, and the colours.
    colors: Option<(usize, Vec<[u16; 3]>)>,
}

impl Points {
    /// No points of a file with this header, with room for `capacity`.
    pub(super) fn new(header: &las::Header, capacity: usize, want: Want) -> Result<Self, Fault> {
        let format = header.point_format();
        // Formats from 6 on have 30 bytes before the colour. Those before have 20, or 28 with the time.
        let color = match (format.is_extended, format.has_gps_time) {
            (true, _) => 30,
            (false, true) => 28,
            (false, false) => 20,
        };
        let all = want == Want::Everything;
        Ok(Self {
            transforms: *header.transforms(),
            points: reserved(capacity)?,
            intensities: all.then(|| reserved(capacity)).transpose()?,
            colors: (all && format.has_color)
                .then(|| reserved(capacity).map(|colors| (color, colors)))
                .transpose()?,
        })
    }

    /// Adds the points in `records`.
    pub(super) fn extend(&mut self, records: Records<'_>) {
        let las::Vector { x, y, z } = self.transforms;
        let point = |[a, b, c]: [i32; 3]| [x.direct(a), y.direct(b), z.direct(c)];
        let each = || records.bytes.chunks_exact(records.stride);
        let integer = |record: &[u8], at: usize| {
            i32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        self.points.extend(each().map(|record| point([0, 4, 8].map(|at| integer(record, at)))));
        if let Some(intensities) = &mut self.intensities {
            records.values((INTENSITY, Scalar::U16), intensities);
        }
        if let Some((at, colors)) = &mut self.colors {
            let places = [*at, *at + 2, *at + 4];
            let channel = |record: &[u8], at: usize| u16::from_le_bytes([record[at], record[at + 1]]);
            colors.extend(each().map(|record| places.map(|at| channel(record, at))));
        }
    }

    /// The cloud. Every record has a place for an intensity, and for a colour in some formats; writers leave zeros when there is none.
    pub(super) fn finish(self) -> Cloud {
        let colors = self.colors.map(|(_, colors)| colors).unwrap_or_default();
        let brightest = colors.as_flattened().iter().copied().max().unwrap_or(0);
        // Some writers use 8 of the 16 bits.
        let byte = |value: u16| if brightest <= 255 { value as u8 } else { (value >> 8) as u8 };
        Cloud {
            colors: (brightest > 0).then(|| colors.iter().map(|color| color.map(byte)).collect()),
            intensities: self.intensities.filter(|values| values.iter().any(|&value| value > 0.0)),
            ..Cloud::new(self.points)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::scalar::ByteOrder;

    fn read(format: u8, color: usize, channels: [u16; 3]) -> Cloud {
        let mut builder = las::Builder::from((1, 4));
        builder.point_format = las::point::Format::new(format).expect("a format");
        let header = builder.into_header().expect("a header");
        let stride = usize::from(header.point_format().len());
        let mut bytes = vec![0; 2 * stride];
        bytes[stride + 12..][..2].copy_from_slice(&[0x34, 0x12]);
        bytes[stride + color..][..6].copy_from_slice(&channels.map(u16::to_le_bytes).concat());
        let mut points = Points::new(&header, 0, Want::Everything).expect("no memory");
        points.extend(Records { bytes: &bytes, stride, order: ByteOrder::Little });
        points.finish()
    }

    #[test]
    fn colours_have_eight_or_sixteen_bits_or_are_absent() {
        for (format, at) in [(2, 20), (3, 28), (7, 30), (8, 30)] {
            let colors = |channels| read(format, at, channels).colors;
            assert_eq!(colors([255, 7, 0]), Some(vec![[0; 3], [255, 7, 0]]), "{format}");
            assert_eq!(colors([256, 511, 65535]), Some(vec![[0; 3], [1, 1, 255]]), "{format}");
            assert_eq!(colors([0; 3]), None, "{format}");
        }
        assert_eq!(read(2, 20, [0; 3]).intensities, Some(vec![0.0, f64::from(0x1234)]));
    }
}
