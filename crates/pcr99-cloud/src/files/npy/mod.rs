//! `NumPy` arrays (`.npy`): a header in the notation of Python, then the numbers.
//!
//! Accepts integer and floating-point types of up to 8 bytes, in either byte order, in row or column order.

pub(crate) mod cloud;

mod header;

use std::io::{self, Read};

use header::{Header, Kind};

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

/// An array of numbers.
pub(crate) struct Array {
    header: Header,
    /// The elements as stored.
    bytes: Vec<u8>,
}

impl Array {
    /// Reads an array; `size` is that of the whole stream if it is known, so that a header which promises
    /// more can be refused before anything is read.
    pub(crate) fn read(mut reader: impl Read, size: Option<u64>) -> Result<Self, Fault> {
        let header = Header::read(&mut reader)?;
        // 128 bits: the shape is not believed yet, and its product may exceed 64.
        let promised = header.shape.iter().try_fold(header.width as u128, |n, &d| n.checked_mul(d.into()));
        let promised = promised.unwrap_or(u128::MAX);
        let truncated = |found| {
            let problem = NpyError::Truncated { shape: shown(&header.shape), promised, found };
            Fault::at(Place::Byte(header.length + found), problem)
        };
        let available = size.map(|size| size.saturating_sub(header.length));
        if let Some(found) = available.filter(|&found| u128::from(found) < promised) {
            return Err(truncated(found));
        }
        let mut bytes = Vec::new();
        if available.is_some() {
            // These bytes are there, so reserving memory for them is safe.
            bytes.try_reserve_exact(usize::try_from(promised).unwrap_or(0)).map_err(io::Error::from)?;
        }
        let limit = u64::try_from(promised).unwrap_or(u64::MAX);
        let found = reader.take(limit).read_to_end(&mut bytes)? as u64;
        if u128::from(found) < promised {
            return Err(truncated(found));
        }
        Ok(Self { header, bytes })
    }

    /// Rows and columns of a two-dimensional array, if `fit` of them finds it [`Fit::Good`]; messages for
    /// others name the shape `expected`.
    pub(crate) fn table(
        &self,
        expected: &'static str,
        fit: impl Fn(usize, usize) -> Fit,
    ) -> Result<[usize; 2], Fault> {
        let found = shown(&self.header.shape);
        if let [rows, columns] = *self.shape().as_slice() {
            match fit(rows, columns) {
                Fit::Good => return Ok([rows, columns]),
                Fit::Transposed => return Err(Fault::whole(NpyError::Transposed { found, expected })),
                Fit::Wrong => {}
            }
        }
        Err(Fault::whole(NpyError::Shape { found, expected }))
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

    /// An element of a two-dimensional array.
    pub(crate) fn value(&self, row: usize, column: usize) -> Value {
        let dimension = |axis| self.header.shape.get(axis).map_or(1, |&d| d as usize);
        let position =
            if self.header.fortran_order { column * dimension(0) + row } else { row * dimension(1) + column };
        self.at(position)
    }

    /// An element of a two-dimensional array as a float.
    pub(crate) fn number(&self, row: usize, column: usize) -> f64 {
        self.value(row, column).into()
    }

    /// The element at `position` in memory.
    pub(crate) fn at(&self, position: usize) -> Value {
        let width = self.header.width;
        let stored = &self.bytes[position * width..][..width];
        // Most arrays are of doubles as they are in memory.
        if let (Kind::Float, false, Ok(double)) =
            (self.header.kind, self.header.big_endian, stored.try_into())
        {
            return Value::Float(f64::from_le_bytes(double));
        }
        let mut little = [0; 8];
        for (i, byte) in little[..width].iter_mut().enumerate() {
            *byte = stored[if self.header.big_endian { width - 1 - i } else { i }];
        }
        let bits = u64::from_le_bytes(little);
        match self.header.kind {
            Kind::Unsigned => Value::Integer(bits.into()),
            Kind::Signed => {
                let unused = 64 - 8 * width as u32;
                Value::Integer(((bits << unused) as i64 >> unused).into()) // extends the sign
            }
            Kind::Float => Value::Float(match width {
                2 => from_half(bits as u16),
                4 => f32::from_bits(bits as u32).into(),
                _ => f64::from_bits(bits),
            }),
        }
    }
}

impl From<Value> for f64 {
    fn from(value: Value) -> Self {
        match value {
            Value::Integer(value) => value as f64,
            Value::Float(value) => value,
        }
    }
}

/// A 16-bit float (IEEE 754 binary16): one bit of sign, five of exponent, ten of fraction.
fn from_half(bits: u16) -> f64 {
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let magnitude = match (bits >> 10) & 0x1f {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        exponent => (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
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

    fn read(bytes: &[u8]) -> Result<Array, String> {
        let sized =
            Array::read(bytes, Some(bytes.len() as u64)).map_err(|fault| fault.in_file("t").to_string());
        let unsized_ = Array::read(bytes, None).map_err(|fault| fault.in_file("t").to_string());
        assert_eq!(sized.as_ref().err(), unsized_.as_ref().err(), "with and without a known size");
        sized
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
            let array = read(&file(descr, "False", "(1, 2)", data)).expect(descr);
            assert_eq!([array.number(0, 0), array.number(0, 1)], expected, "{descr}");
        }
        let large = read(&file("'<u8'", "False", "(1, 1)", &[0xff; 8])).expect("u8");
        assert_eq!(large.value(0, 0), Value::Integer(u64::MAX.into()));
    }

    #[test]
    fn half_floats_at_their_edges() {
        for (bits, value) in [
            (0x0001, 2f64.powi(-24)),
            (0x0400, 2f64.powi(-14)),
            (0x7bff, 65504.0),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(from_half(bits), value);
        }
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn rows_and_columns_in_either_order() {
        let rows = read(&file("'|u1'", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6])).expect("C");
        let columns = read(&file("'|u1'", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6])).expect("Fortran");
        for array in [rows, columns] {
            assert_eq!(
                [0, 1].map(|r| [0, 1, 2].map(|c| array.number(r, c))),
                [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
            );
        }
    }

    #[test]
    fn shapes_are_checked() {
        let shape = |shape: &str, data: &[u8]| {
            let array = read(&file("'|u1'", "False", shape, data)).expect("array");
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
        let error = read(&file("'<f8'", "False", "(2, 3)", &[0; 47])).err().expect("one byte short");
        assert!(
            error.ends_with(
                "the file ends too early: an array of shape 2×3 takes 48 bytes, but 47 are there; it is truncated or \
                 its header is wrong"
            ),
            "{error}"
        );
        for shape in ["(9999999999999, 6)", "(18446744073709551615, 18446744073709551615, 9)"] {
            let error = read(&file("'<f8'", "False", shape, &[0; 48])).err().expect(shape);
            assert!(error.contains("but 48 are there"), "{error}");
        }
    }
}
