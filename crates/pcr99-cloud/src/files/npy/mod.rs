//! `NumPy` arrays (`.npy`): a header in the notation of Python, then the numbers.
//!
//! Accepts integer and floating-point types of up to 8 bytes, in either byte order, in row or column order.

mod block;

pub(crate) mod cloud;

mod header;

use std::io::{self, BufRead, Read};

use block::{Block, Layout};
use header::Header;

use super::fields::reserved;
use super::scalar::{Binary, Records, Scalar};
use crate::error::{Fault, Place};

/// Error in a `NumPy` array.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The first bytes are not those of the format.
    #[error("this is not a NumPy array (it does not begin with \\x93NUMPY); write it with numpy.save")]
    NotNpy,
    /// An unknown version of the format.
    #[error("version {major} of the .npy format is not known (1 to 3 are); write the array with numpy.save")]
    Version {
        /// The version found.
        major: u8,
    },
    /// The header cannot be parsed.
    #[error("the header of the array is damaged ({what}); write it again with numpy.save")]
    Header {
        /// The defect.
        what: &'static str,
    },
    /// Elements that are not plain numbers.
    #[error("the array has elements of type {descr} ({what}); save it as an array of floats")]
    Type {
        /// The type as `NumPy` writes it, quoted.
        descr: String,
        /// What that is.
        what: &'static str,
    },
    /// The shape is not the one needed.
    #[error("the array has shape {found}, but {expected} is needed")]
    Shape {
        /// The shape found, such as `5×4`.
        found: String,
        /// The shape needed, and what its columns hold.
        expected: &'static str,
    },
    /// The shape is that of the transpose.
    #[error(
        "the array has shape {found} and looks transposed: {expected} is needed; save its transpose (.T)"
    )]
    Transposed {
        /// The shape found, such as `3×1000`.
        found: String,
        /// The shape needed, and what its columns hold.
        expected: &'static str,
    },
    /// Fewer bytes than the shape needs.
    #[error(
        "the file ends too early: an array of shape {shape} takes {promised} bytes, but {found} are there; it \
         is truncated or its header is wrong"
    )]
    Truncated {
        /// The shape of the header.
        shape: String,
        /// Bytes that the shape needs.
        promised: u128,
        /// Bytes after the header.
        found: u64,
    },
}

/// One element of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// Integer type.
    Integer(i128),
    /// Floating-point type.
    Float(f64),
}

/// Fit of a shape to what is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The needed shape.
    Good,
    /// The transpose of the needed shape.
    Transposed,
    /// Another shape.
    Wrong,
}

/// Number of rows of a block of an array that is stored column by column. They fit the first-level cache.
const BLOCK: usize = 512;

/// An array whose elements are still to be read. All of them are there, so memory may be reserved for them.
pub(crate) struct Array<R> {
    header: Header,
    /// Bytes of all elements.
    promised: usize,
    body: Body<R>,
}

/// The elements as stored.
enum Body<R> {
    /// To be read, from a stream whose size is known.
    Stream(R),
    /// Read already, because the size was not known.
    Bytes(Vec<u8>),
}

impl<R: BufRead> Array<R> {
    /// Reads the header of an array; `size` is that of the whole stream if it is known, so that a header which promises
    /// more can be refused before anything is read.
    pub(crate) fn open(mut reader: R, size: Option<u64>) -> Result<Self, Fault> {
        let header = Header::read(&mut reader)?;
        // 128 bits: the shape is not believed yet, and its product may exceed 64.
        let width = header.scalar.size() as u128;
        let promised =
            header.shape.iter().try_fold(width, |n, &d| n.checked_mul(d.into())).unwrap_or(u128::MAX);
        let (body, available) = match size {
            Some(size) => (Body::Stream(reader), size.saturating_sub(header.length)),
            None => {
                let mut bytes = Vec::new();
                let limit = u64::try_from(promised).unwrap_or(u64::MAX);
                let found = reader.take(limit).read_to_end(&mut bytes)? as u64;
                (Body::Bytes(bytes), found)
            }
        };
        if u128::from(available) < promised {
            return Err(header.truncated(promised, available));
        }
        let promised = usize::try_from(promised).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { header, promised, body })
    }

    /// Type of the elements.
    pub(crate) fn scalar(&self) -> Scalar {
        self.header.scalar
    }

    /// Whether columns, not rows, lie together.
    pub(crate) fn is_by_columns(&self) -> bool {
        self.header.fortran_order
    }

    /// Rows and columns of a two-dimensional array, if `fit` of them finds it [`Fit::Good`]; messages for
    /// others name the shape `expected`.
    pub(crate) fn table(
        &self,
        expected: &'static str,
        fit: impl Fn(usize, usize) -> Fit,
    ) -> Result<[usize; 2], Fault> {
        if let [rows, columns] = *self.shape().as_slice() {
            match fit(rows, columns) {
                Fit::Good => return Ok([rows, columns]),
                Fit::Transposed => return Err(self.transposed(expected)),
                Fit::Wrong => {}
            }
        }
        Err(Fault::whole(NpyError::Shape { found: shown(&self.header.shape), expected }))
    }

    /// The error of an array that looks like the transpose of what is `expected`.
    pub(crate) fn transposed(&self, expected: &'static str) -> Fault {
        Fault::whole(NpyError::Transposed { found: shown(&self.header.shape), expected })
    }

    /// Length of an array that is a list: N, N×1 or 1×N, which are the same in memory.
    pub(crate) fn list(&self, expected: &'static str) -> Result<usize, Fault> {
        match *self.shape().as_slice() {
            [length] | [length, 1] | [1, length] => Ok(length),
            _ => Err(Fault::whole(NpyError::Shape { found: shown(&self.header.shape), expected })),
        }
    }

    /// The shape. A dimension above `usize` is possible only beside a 0, so that saturating loses nothing.
    fn shape(&self) -> Vec<usize> {
        self.header.shape.iter().map(|&d| usize::try_from(d).unwrap_or(usize::MAX)).collect()
    }

    /// Reads an array of `columns` columns, or a list as one column, and hands it to `each` block by block, in the order of the rows.
    pub(crate) fn blocks(
        self,
        columns: usize,
        mut each: impl FnMut(Block<'_>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        if self.promised == 0 {
            return Ok(()); // the other dimension may then be of any size
        }
        let Header { scalar, order, .. } = self.header;
        let stride = columns * scalar.size();
        if self.header.fortran_order && columns > 1 {
            let elements = self.load()?;
            let rows = elements.bytes.len() / stride;
            for first in (0..rows).step_by(BLOCK) {
                let range = first..rows.min(first + BLOCK);
                each(Block(Layout::Columns { bytes: &elements.bytes, rows, range, order }, scalar))?;
            }
            return Ok(());
        }
        let mut result = Ok(());
        let mut hand = |records: Records<'_>| {
            if result.is_ok() {
                result = each(Block(Layout::Rows(records), scalar));
            }
        };
        match self.body {
            Body::Bytes(bytes) => hand(Records { bytes: &bytes, stride, order }),
            Body::Stream(reader) => {
                let mut body = Binary::new(reader, 0, order);
                let count = (self.promised / stride) as u64;
                if body.records(count, stride, hand)? < count {
                    return Err(self.header.truncated(self.promised as u128, body.byte));
                }
            }
        }
        result
    }

    /// Reads all elements.
    pub(crate) fn load(self) -> Result<Elements, Fault> {
        let bytes = match self.body {
            Body::Bytes(bytes) => bytes,
            Body::Stream(reader) => {
                let mut bytes = reserved(self.promised)?;
                let found = reader.take(self.promised as u64).read_to_end(&mut bytes)?;
                if found < self.promised {
                    return Err(self.header.truncated(self.promised as u128, found as u64));
                }
                bytes
            }
        };
        Ok(Elements { header: self.header, bytes })
    }
}

impl Header {
    /// The error of a file with only `found` bytes after the header.
    fn truncated(&self, promised: u128, found: u64) -> Fault {
        let problem = NpyError::Truncated { shape: shown(&self.shape), promised, found };
        Fault::at(Place::Byte(self.length + found), problem)
    }
}

/// All elements of an array.
pub(crate) struct Elements {
    header: Header,
    /// The elements as stored.
    bytes: Vec<u8>,
}

impl Elements {
    /// An element of a two-dimensional array.
    pub(crate) fn value(&self, row: usize, column: usize) -> Value {
        let dimension = |axis| self.header.shape.get(axis).map_or(1, |&d| d as usize);
        let position =
            if self.header.fortran_order { column * dimension(0) + row } else { row * dimension(1) + column };
        let (scalar, order) = (self.header.scalar, self.header.order);
        let stored = &self.bytes[position * scalar.size()..];
        match scalar.integer(stored, order) {
            Some(integer) => Value::Integer(integer),
            None => Value::Float(scalar.decode(stored, order)),
        }
    }
}

/// A shape as messages write it.
fn shown(shape: &[u64]) -> String {
    match shape {
        [] => "() (a single number)".to_owned(),
        [length] => format!("({length},)"),
        _ => shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The bytes of a file of version 1 with this type, order and shape.
    pub(crate) fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let dict = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let length = u16::try_from(dict.len()).expect("short");
        [b"\x93NUMPY\x01\x00", length.to_le_bytes().as_slice(), dict.as_bytes(), data].concat()
    }

    fn open(bytes: &[u8]) -> Result<Array<&[u8]>, String> {
        let message = |fault: Fault| fault.in_file("t").to_string();
        let sized = Array::open(bytes, Some(bytes.len() as u64)).map_err(message);
        let unsized_ = Array::open(bytes, None).map_err(message);
        assert_eq!(sized.as_ref().err(), unsized_.as_ref().err(), "with and without a known size");
        if let (Ok(_), Ok(same)) = (&sized, unsized_) {
            assert_eq!(
                rows(same),
                rows(Array::open(bytes, Some(bytes.len() as u64)).map_err(message).expect("above"))
            );
        }
        sized
    }

    /// All rows, by column and by threes.
    fn rows(array: Array<&[u8]>) -> Vec<Vec<f64>> {
        let columns = array.shape().get(1).copied().unwrap_or(1);
        if columns == 0 || array.promised == 0 {
            return Vec::new();
        }
        let mut found = vec![Vec::new(); columns];
        let mut triples = Vec::new();
        let read = array.blocks(columns, |block| {
            found.iter_mut().enumerate().for_each(|(column, list)| block.values(column, list));
            block.triples([columns - 1, 0, columns / 2], &mut triples);
            Ok(())
        });
        read.expect("all elements");
        let row = |i: usize| found.iter().map(|column| column[i]).collect::<Vec<f64>>();
        let rows: Vec<Vec<f64>> = (0..found[0].len()).map(row).collect();
        let picked: Vec<[f64; 3]> =
            rows.iter().map(|row| [row[columns - 1], row[0], row[columns / 2]]).collect();
        assert_eq!(format!("{triples:?}"), format!("{picked:?}"));
        rows
    }

    #[test]
    fn every_type_and_byte_order() {
        for (descr, data, expected) in [
            ("'|i1'", &[0xfe, 3][..], [-2.0, 3.0]),
            ("'|u1'", &[0xfe, 3], [254.0, 3.0]),
            ("'<i2'", &[0xfe, 0xff, 3, 0], [-2.0, 3.0]),
            ("'>u2'", &[0xff, 0xfe, 0, 3], [65534.0, 3.0]),
            ("'<i4'", &[0xfe, 0xff, 0xff, 0xff, 3, 0, 0, 0], [-2.0, 3.0]),
            ("'>i8'", &[255, 255, 255, 255, 255, 255, 255, 254, 0, 0, 0, 0, 0, 0, 0, 3], [-2.0, 3.0]),
            ("'<f2'", &[0x00, 0xc0, 0x00, 0x3e], [-2.0, 1.5]),
            ("'>f4'", &[0xc0, 0, 0, 0, 0x3f, 0xc0, 0, 0], [-2.0, 1.5]),
            ("'<f8'", &[0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f], [-2.0, 1.5]),
        ] {
            let bytes = file(descr, "False", "(1, 2)", data);
            assert_eq!(rows(open(&bytes).expect(descr)), [expected], "{descr}");
        }
        for (descr, value) in [("'<u8'", u64::MAX.into()), ("'<i8'", -1), ("'|i1'", -1), ("'>u2'", 65535)] {
            let bytes = file(descr, "False", "(1, 1)", &[0xff; 8]);
            let elements = open(&bytes).expect(descr).load().expect("eight bytes");
            assert_eq!(elements.value(0, 0), Value::Integer(value), "{descr}");
        }
    }

    #[test]
    fn rows_and_columns_in_either_order() {
        let by_rows = file("'|u1'", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
        let by_columns = file("'|u1'", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6]);
        for bytes in [by_rows, by_columns] {
            assert_eq!(rows(open(&bytes).expect("an array")), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
            let elements = open(&bytes).expect("an array").load().expect("six bytes");
            assert_eq!([elements.value(0, 2), elements.value(1, 0)], [3, 4].map(Value::Integer));
        }
        // Several blocks of the columns.
        let count = 2 * BLOCK + 7;
        let shape = format!("({count}, 4)");
        let data: Vec<u8> = (0..4 * count).map(|i| (i / count + i % count % 60) as u8).collect();
        let all = rows(open(&file("'|u1'", "True", &shape, &data)).expect("an array"));
        let expected = |i: usize| [0, 1, 2, 3].map(|column| (column + i % 60) as f64);
        assert!(all.len() == count && all.iter().enumerate().all(|(i, row)| *row == expected(i)));
    }

    #[test]
    fn shapes_are_checked() {
        let shape = |shape: &str, data: &[u8]| {
            let bytes = file("'|u1'", "False", shape, data);
            let array = open(&bytes).expect("array");
            let fit = |rows, columns| match (rows, columns) {
                (_, 2) => Fit::Good,
                (2, _) => Fit::Transposed,
                _ => Fit::Wrong,
            };
            array.table("N×2", fit).map_err(|fault| fault.in_file("t").to_string())
        };
        assert_eq!(shape("(3, 2)", &[0; 6]), Ok([3, 2]));
        assert_eq!(shape("(2, 2)", &[0; 6]), Ok([2, 2]));
        assert_eq!(
            shape("(2, 3)", &[0; 6]),
            Err("t: the array has shape 2×3 and looks transposed: N×2 is needed; save its transpose (.T)"
                .into())
        );
        assert_eq!(shape("(1, 6)", &[0; 6]), Err("t: the array has shape 1×6, but N×2 is needed".into()));
        assert_eq!(shape("(6,)", &[0; 6]), Err("t: the array has shape (6,), but N×2 is needed".into()));
        assert_eq!(
            shape("(3, 1, 2)", &[0; 6]),
            Err("t: the array has shape 3×1×2, but N×2 is needed".into())
        );
        assert!(shape("()", &[0; 6]).is_err_and(|e| e.contains("shape () (a single number)")));
    }

    #[test]
    fn truncated_and_absurd_sizes_are_refused() {
        let error = open(&file("'<f8'", "False", "(2, 3)", &[0; 47])).err().expect("one byte short");
        assert!(
            error.ends_with(
                "the file ends too early: an array of shape 2×3 takes 48 bytes, but 47 are there; it is truncated or \
                 its header is wrong"
            ),
            "{error}"
        );
        for shape in ["(9999999999999, 6)", "(18446744073709551615, 18446744073709551615, 9)"] {
            let error = open(&file("'<f8'", "False", shape, &[0; 48])).err().expect(shape);
            assert!(error.contains("but 48 are there"), "{error}");
        }
    }
}
