//! Columns of a table and their attributes, and the conversion of rows to a [`Cloud`]: shared by PLY, PCD and
//! text.

use std::io;

use super::scalar::{Place, Records};
use crate::cloud::Cloud;
use crate::error::Fault;

/// What a reader decodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// Positions only: nothing else is decoded.
    Points,
    /// All that a [`Cloud`] holds.
    Everything,
}

/// Names of normals, colours and intensities, in lower case; the first family that is complete is taken.
pub(super) const NORMALS: [[&str; 3]; 3] =
    [["nx", "ny", "nz"], ["normal_x", "normal_y", "normal_z"], ["normalx", "normaly", "normalz"]];
const COLORS: [[&str; 3]; 3] =
    [["red", "green", "blue"], ["r", "g", "b"], ["diffuse_red", "diffuse_green", "diffuse_blue"]];
const PACKED: [&str; 2] = ["rgb", "rgba"];
const INTENSITIES: [&str; 8] = [
    "intensity",
    "scalar_intensity",
    "intensities",
    "reflectance",
    "scalar_reflectance",
    "remission",
    "i",
    "quality",
];

/// Range of the values of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// From 0 to 255, by the type of the column.
    Byte,
    /// Whole numbers: up to 255, or up to 65535 if any is above 255.
    Integer,
    /// Up to 1 if all are, else as for integers.
    Any,
}

/// Columns of a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    /// In three columns.
    Channels([usize; 3], Depth),
    /// In one, as the number `0xRRGGBB`; bits above are ignored.
    Packed(usize),
}

/// Columns of the attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) position: [usize; 3],
    pub(crate) normal: Option<[usize; 3]>,
    pub(crate) color: Option<Color>,
    pub(crate) intensity: Option<usize>,
}

impl Fields {
    /// Positions only.
    pub(crate) fn positions(position: [usize; 3]) -> Self {
        Self { position, normal: None, color: None, intensity: None }
    }

    /// Adds what else has a usual name: `find` gives the column of a name in lower case, `depth` what is known of the
    /// values of a column.
    pub(crate) fn with_names(
        self,
        find: impl Fn(&str) -> Option<usize>,
        depth: impl Fn(usize) -> Depth,
    ) -> Self {
        let triple = |families: &[[&str; 3]]| {
            families.iter().find_map(|&[a, b, c]| Some([find(a)?, find(b)?, find(c)?]))
        };
        let channels = triple(&COLORS).map(|columns| Color::Channels(columns, depth(columns[0])));
        let packed = || PACKED.iter().find_map(|name| find(name)).map(Color::Packed);
        Self {
            position: self.position,
            normal: triple(&NORMALS),
            color: channels.or_else(packed),
            intensity: INTENSITIES.iter().find_map(|name| find(name)),
        }
    }

    /// The columns in the order in which [`Gather::push`] takes their values.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut columns = self.position.to_vec();
        columns.extend(self.normal.iter().flatten());
        match self.color {
            Some(Color::Channels(channels, _)) => columns.extend(channels),
            Some(Color::Packed(column)) => columns.push(column),
            None => {}
        }
        columns.extend(self.intensity);
        columns
    }
}

/// Colours before scaling.
enum Colors {
    None,
    Bytes(Vec<[u8; 3]>),
    Packed(Vec<[u8; 3]>),
    /// To be scaled when all are known.
    Raw(Vec<[f32; 3]>, Depth),
}

/// A cloud that is built row by row.
pub(crate) struct Gather {
    points: Vec<[f64; 3]>,
    normals: Option<Vec<[f64; 3]>>,
    colors: Colors,
    intensities: Option<Vec<f64>>,
}

impl Gather {
    /// An empty cloud with room for `capacity` points, which the caller has checked against the bytes that are there.
    pub(crate) fn new(fields: &Fields, capacity: usize) -> Result<Self, Fault> {
        let colors = match fields.color {
            None => Colors::None,
            Some(Color::Channels(_, Depth::Byte)) => Colors::Bytes(reserved(capacity)?),
            Some(Color::Channels(_, depth)) => Colors::Raw(reserved(capacity)?, depth),
            Some(Color::Packed(_)) => Colors::Packed(reserved(capacity)?),
        };
        Ok(Self {
            points: reserved(capacity)?,
            normals: fields.normal.map(|_| reserved(capacity)).transpose()?,
            colors,
            intensities: fields.intensity.map(|_| reserved(capacity)).transpose()?,
        })
    }

    /// Adds the points in `records`, which have the values of [`Fields::columns`] at `places`.
    pub(crate) fn extend(&mut self, records: Records<'_>, places: &[Place]) {
        let mut rest = places.iter().copied();
        let mut next = || rest.next().expect("a place for each column");
        let mut triple = || [next(), next(), next()];
        records.triples(triple(), |value| value, &mut self.points);
        if let Some(normals) = &mut self.normals {
            records.triples(triple(), |value| value, normals);
        }
        match &mut self.colors {
            Colors::None => {}
            Colors::Bytes(colors) => records.triples(triple(), |value| value as u8, colors),
            Colors::Packed(colors) => {
                let mut packed = Vec::new();
                records.values(next(), &mut packed);
                colors.extend(packed.into_iter().map(unpacked));
            }
            Colors::Raw(colors, _) => records.triples(triple(), |value| value as f32, colors),
        }
        if let Some(intensities) = &mut self.intensities {
            records.values(next(), intensities);
        }
    }

    /// Adds a point: the values of [`Fields::columns`].
    pub(crate) fn push(&mut self, row: &[f64]) {
        let (position, mut rest) = triple(row);
        self.points.push(position);
        if let Some(normals) = &mut self.normals {
            let normal;
            (normal, rest) = triple(rest);
            normals.push(normal);
        }
        match &mut self.colors {
            Colors::None => {}
            Colors::Bytes(colors) => {
                let color;
                (color, rest) = triple(rest);
                colors.push(color.map(|value| value as u8));
            }
            Colors::Packed(colors) => {
                colors.push(unpacked(rest[0]));
                rest = &rest[1..];
            }
            Colors::Raw(colors, _) => {
                let color;
                (color, rest) = triple(rest);
                colors.push(color.map(|value| value as f32));
            }
        }
        if let Some(intensities) = &mut self.intensities {
            intensities.push(rest[0]);
        }
    }

    /// The cloud.
    pub(crate) fn finish(self) -> Cloud {
        Cloud {
            points: self.points,
            normals: self.normals,
            colors: match self.colors {
                Colors::None => None,
                Colors::Bytes(colors) | Colors::Packed(colors) => Some(colors),
                Colors::Raw(colors, depth) => scaled(&colors, depth),
            },
            intensities: self.intensities,
            viewpoint: None,
        }
    }
}

/// The colour in the number `0xRRGGBB`.
fn unpacked(number: f64) -> [u8; 3] {
    let [_, red, green, blue] = (number as u32).to_be_bytes();
    [red, green, blue]
}

/// The first three of `row`, and the rest.
fn triple(row: &[f64]) -> ([f64; 3], &[f64]) {
    ([row[0], row[1], row[2]], &row[3..])
}

/// An empty list with room for `capacity` entries.
pub(crate) fn reserved<T>(capacity: usize) -> Result<Vec<T>, Fault> {
    let mut list = Vec::new();
    list.try_reserve_exact(capacity).map_err(io::Error::from)?;
    Ok(list)
}

/// Colours of eight bits; `None` when the values are none that colours have. NaN, as beside missing points, is black.
pub(crate) fn scaled(colors: &[[f32; 3]], depth: Depth) -> Option<Vec<[u8; 3]>> {
    let all = colors.as_flattened();
    let largest = all.iter().fold(0.0, |most: f32, &value| most.max(value));
    if largest > 65535.0 || all.iter().any(|&value| value < 0.0) {
        return None;
    }
    let scale = |value: f32| match largest {
        _ if depth == Depth::Any && largest <= 1.0 => (value * 255.0).round() as u8,
        0.0..=255.0 => value.round() as u8,
        _ => (value / 256.0) as u8,
    };
    Some(colors.iter().map(|color| color.map(scale)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_columns() {
        let names =
            ["x", "y", "z", "rgba", "i", "quality", "r", "g", "b", "normal_x", "normal_y", "normal_z"];
        let find = |name: &str| names.iter().position(|n| *n == name);
        let fields = Fields::positions([0, 1, 2]).with_names(find, |_| Depth::Byte);
        assert_eq!(fields.normal, Some([9, 10, 11]));
        assert_eq!(fields.color, Some(Color::Channels([6, 7, 8], Depth::Byte)));
        assert_eq!(fields.intensity, Some(4));
        assert_eq!(fields.columns(), [0, 1, 2, 9, 10, 11, 6, 7, 8, 4]);
        let packed =
            Fields::positions([0, 1, 2]).with_names(|name| (name == "rgb").then_some(7), |_| Depth::Any);
        assert_eq!(packed.columns(), [0, 1, 2, 7]);
    }

    #[test]
    fn colours_are_scaled_by_the_largest() {
        let of = |values: [f32; 3], depth| scaled(&[values], depth).map(|colors| colors[0]);
        assert_eq!(of([0.0, 0.5, 1.0], Depth::Any), Some([0, 128, 255]));
        assert_eq!(of([0.0, 1.0, 1.0], Depth::Integer), Some([0, 1, 1]));
        assert_eq!(of([0.0, 17.0, 255.0], Depth::Any), Some([0, 17, 255]));
        assert_eq!(of([0.0, 256.0, 65535.0], Depth::Integer), Some([0, 1, 255]));
        assert_eq!(of([f32::NAN, 3.0, 1.0], Depth::Any), Some([0, 3, 1]));
        assert_eq!(of([-1.0, 3.0, 1.0], Depth::Any), None);
        assert_eq!(of([65536.0, 3.0, 1.0], Depth::Any), None);
        // 8-bit values that were spread over 16 bits come back exactly.
        for byte in 0..=255u16 {
            assert_eq!(of([f32::from(byte * 257), 0.0, 65535.0], Depth::Integer), Some([byte as u8, 0, 255]));
        }
    }
}
