//! New values of the columns of positions and normals, put into records or lines that otherwise stay as they are: for copies of files with
//! moved points.

use std::io;

use pcr99::Similarity;

use super::Source;
use super::fields::Fields;
use super::scalar::{ByteOrder, Scalar};
use super::writing::{Real, push_number, push_single};
use crate::cloud::Cloud;
use crate::error::{Fault, Problem};

/// Opens the file that is copied. It is read twice: once to move and measure the points, once to copy everything else.
pub(super) type Open<'a> = &'a dyn Fn() -> Result<Source, Fault>;

/// The moved points and normals of a file, and the columns where they belong.
pub(super) struct Edit {
    columns: Vec<EditedColumn>,
    points: Vec<[f64; 3]>,
    normals: Vec<[f64; 3]>,
}

/// A column with new values.
pub(super) struct EditedColumn {
    pub(super) column: usize,
    /// Type of the new values.
    pub(super) scalar: Scalar,
    axis: usize,
    is_normal: bool,
}

impl Edit {
    /// Moves `cloud`, whose positions and normals are in the columns `fields`; `scalar` is the type of a column. Coordinates become doubles where
    /// single precision would lose digits.
    pub(super) fn new(
        cloud: Cloud,
        transform: &Similarity,
        fields: &Fields,
        scalar: impl Fn(usize) -> Scalar,
    ) -> Result<Self, Fault> {
        let Cloud { points, normals, .. } = moved(cloud, transform).map_err(Fault::whole)?;
        let precision = Real::of_coordinates(&points);
        let is_single =
            precision == Real::Single && fields.position.iter().all(|&c| scalar(c) == Scalar::F32);
        let position = if is_single { Scalar::F32 } else { Scalar::F64 };
        let normal = fields.normal.filter(|_| normals.is_some());
        let mut columns = Vec::new();
        for (axis, &column) in fields.position.iter().enumerate() {
            columns.push(EditedColumn { column, scalar: position, axis, is_normal: false });
        }
        for (axis, &column) in normal.iter().flatten().enumerate() {
            let scalar = if scalar(column) == Scalar::F64 { Scalar::F64 } else { Scalar::F32 };
            columns.push(EditedColumn { column, scalar, axis, is_normal: true });
        }
        Ok(Self { columns, points, normals: normals.unwrap_or_default() })
    }

    /// Number of points.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// What is edited of a column.
    pub(super) fn column(&self, column: usize) -> Option<&EditedColumn> {
        self.columns.iter().find(|edited| edited.column == column)
    }

    /// The new value of a column in a row.
    pub(super) fn value(&self, edited: &EditedColumn, row: usize) -> Result<f64, Fault> {
        let list = if edited.is_normal { &self.normals } else { &self.points };
        list.get(row).map(|triple| triple[edited.axis]).ok_or_else(changed)
    }

    /// Appends a line to `out`, with new words in the places of edited columns; `words` are columns, begins and ends, in the order of the line.
    pub(super) fn push_words(
        &self,
        line: &[u8],
        words: impl Iterator<Item = (usize, (usize, usize))>,
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let mut done = 0;
        for (column, (begin, end)) in words {
            let Some(edited) = self.column(column) else { continue };
            let before = line.get(done..begin).ok_or_else(changed)?;
            out.extend_from_slice(before);
            let value = self.value(edited, row)?;
            match edited.scalar {
                Scalar::F64 => push_number(out, value),
                _ => push_single(out, value as f32),
            }
            done = end;
        }
        out.extend_from_slice(line.get(done..).ok_or_else(changed)?);
        Ok(())
    }

    /// Appends the stored value of a column to `out`: the new one, or `bytes` as they are.
    pub(super) fn push_bytes(
        &self,
        (row, column): (usize, usize),
        bytes: &[u8],
        order: ByteOrder,
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        match self.column(column) {
            Some(edited) => edited.scalar.push(self.value(edited, row)?, order, out),
            None => out.extend_from_slice(bytes),
        }
        Ok(())
    }
}

/// Largest part of the extent by which rounding may move a point.
const EXACT: f64 = 1e-6;

/// The moved cloud.
///
/// # Errors
/// When rounding moves its points by more than a millionth of their extent, unless they were as coarse before.
pub(super) fn moved(cloud: Cloud, transform: &Similarity) -> Result<Cloud, Problem> {
    let [old, before] = size(&cloud.points);
    let extent = transform.scale() * before;
    let cloud = cloud.moved(transform);
    let [coordinate, _] = size(&cloud.points);
    let spacing = f64::EPSILON * coordinate;
    // One place has no extent to lose.
    let is_place = extent == 0.0 && coordinate.is_finite();
    let was_coarse = spacing <= 2.0 * transform.scale() * f64::EPSILON * old;
    if is_place || was_coarse || spacing <= EXACT * extent {
        Ok(cloud)
    } else {
        Err(Problem::Far { coordinate, spacing, extent })
    }
}

/// Largest absolute coordinate, and largest extent along an axis. Missing points do not count.
fn size(points: &[[f64; 3]]) -> [f64; 2] {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for point in points.iter().filter(|point| !point.iter().any(|x| x.is_nan())) {
        low = [0, 1, 2].map(|k| low[k].min(point[k]));
        high = [0, 1, 2].map(|k| high[k].max(point[k]));
    }
    let most = (0..3).map(|k| high[k].abs().max(low[k].abs())).fold(0.0, f64::max);
    let extent = (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    if low[0] > high[0] { [0.0; 2] } else { [most, extent] }
}

/// The error of a file that has other rows when it is read again.
pub(super) fn changed() -> Fault {
    io::Error::other("the file has changed while it was read").into()
}

/// Begin and end of the words of a line.
pub(super) fn words(line: &[u8]) -> Vec<(usize, usize)> {
    let mut words = Vec::new();
    let mut begin = None;
    for (at, byte) in line.iter().enumerate() {
        match (begin, byte.is_ascii_whitespace()) {
            (None, false) => begin = Some(at),
            (Some(first), true) => {
                words.push((first, at));
                begin = None;
            }
            _ => {}
        }
    }
    words.extend(begin.map(|first| (first, line.len())));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_and_all_else_stays() {
        let pose = Similarity::from_translation([1.0, 0.0, 4_000_000.0]);
        let fields = Fields::positions([2, 0, 1]);
        let edit = Edit::new(Cloud::new(vec![[0.1, 0.5, 2.0], [7.0; 3]]), &pose, &fields, |_| Scalar::F32)
            .expect("near");
        let line = b"  5e-1 02.0\t.1  label \r\n";
        let mut out = Vec::new();
        edit.push_words(line, words(line).into_iter().enumerate(), 0, &mut out).expect("a row");
        assert_eq!(String::from_utf8_lossy(&out), "  0.5 4000002\t1.1  label \r\n");
        assert!(edit.push_words(line, words(line).into_iter().enumerate(), 2, &mut out).is_err());
    }

    #[test]
    fn places_where_points_would_fall_together_are_refused() {
        let cloud = || Cloud::new(vec![[448_000.0, 0.0, 0.0], [f64::NAN; 3], [448_010.0, 3.0, 1.0]]);
        let to = |x: f64| Similarity::from_translation([x, 0.0, 0.0]);
        for near in [0.0, 5e6, -1e9] {
            assert!(moved(cloud(), &to(near)).is_ok(), "{near}");
        }
        for far in [1e13, -1e300] {
            let error = moved(cloud(), &to(far)).expect_err("far").to_string();
            assert!(error.contains("nearer to the origin"), "{error}");
        }
        let scaled = Similarity::new(1e306, Similarity::IDENTITY.rotation(), [0.0; 3]).expect("a similarity");
        assert!(moved(cloud(), &scaled).is_err());
        // What was as coarse before may be moved back, and one point has no extent to lose.
        let coarse = Cloud::new(vec![[1e15, 0.0, 0.0], [1e15 + 8.0, 1.0, 2.0]]);
        assert!(moved(coarse.clone(), &to(-1e15)).is_ok() && moved(coarse, &to(3.0)).is_ok());
        for place in [f64::NAN, 2.0] {
            assert!(moved(Cloud::new(vec![[place; 3]; 2]), &to(1e300)).is_ok());
        }
    }
}
