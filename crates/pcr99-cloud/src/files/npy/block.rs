//! Rows of an array, decoded column by column.

use std::ops::Range;

use crate::files::scalar::{ByteOrder, Records, Scalar};

/// Successive rows of an array.
pub(crate) struct Block<'a>(pub(super) Layout<'a>, pub(super) Scalar);

/// How rows lie in memory.
pub(super) enum Layout<'a> {
    /// One after the other.
    Rows(Records<'a>),
    /// Spread over the columns of the whole array, which lie one after the other and have `rows` elements each.
    Columns { bytes: &'a [u8], rows: usize, range: Range<usize>, order: ByteOrder },
}

impl Block<'_> {
    /// Adds a column to `list`.
    pub(crate) fn values(&self, column: usize, list: &mut Vec<f64>) {
        let &Self(ref layout, scalar) = self;
        let width = scalar.size();
        match layout {
            Layout::Rows(records) => records.values((column * width, scalar), list),
            Layout::Columns { bytes, rows, range, order } => {
                let bytes = &bytes[(column * rows + range.start) * width..][..range.len() * width];
                Records { bytes, stride: width, order: *order }.values((0, scalar), list);
            }
        }
    }

    /// Adds three columns to `list`.
    pub(crate) fn triples(&self, columns: [usize; 3], list: &mut Vec<[f64; 3]>) {
        let &Self(ref layout, scalar) = self;
        match layout {
            Layout::Rows(records) => {
                records.triples(columns.map(|column| (column * scalar.size(), scalar)), |value| value, list);
            }
            Layout::Columns { range, .. } => {
                let [x, y, z] = columns.map(|column| {
                    let mut values = Vec::with_capacity(range.len());
                    self.values(column, &mut values);
                    values
                });
                list.extend(x.into_iter().zip(y).zip(z).map(|((x, y), z)| [x, y, z]));
            }
        }
    }
}
