//! The header of a `NumPy` array: a Python dictionary such as
//! `{'descr': '<f8', 'fortran_order': False, 'shape': (100, 6), }`.

use std::io::{self, Read};

use super::NpyError;
use crate::error::{Fault, Place, quote};
use crate::files::scalar::{ByteOrder, Scalar};

/// The longest header accepted. `NumPy` itself refuses above 10 000 unless told otherwise; plain arrays
/// need about 120.
const MAX_HEADER: u32 = 1 << 16;

/// Fields of the header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) scalar: Scalar,
    pub(super) order: ByteOrder,
    /// Whether columns, not rows, lie together.
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<u64>,
    /// Bytes before the first element.
    pub(super) length: u64,
}

impl Header {
    /// Reads as far as the first element.
    pub(super) fn read(reader: &mut impl Read) -> Result<Self, Fault> {
        let not_npy = || Fault::whole(NpyError::NotNpy);
        let mut start = [0; 8];
        read_or(reader, &mut start, not_npy)?;
        if start[..6] != *b"\x93NUMPY" {
            return Err(not_npy());
        }
        let broken = |what| Fault::at(Place::Byte(8), NpyError::Header { what });
        let cut = || broken("the file ends inside it");
        let (dict_length, before) = match start[6] {
            1 => {
                let mut length = [0; 2];
                read_or(reader, &mut length, cut)?;
                (u16::from_le_bytes(length).into(), 10)
            }
            2 | 3 => {
                let mut length = [0; 4];
                read_or(reader, &mut length, cut)?;
                (u32::from_le_bytes(length), 12)
            }
            major => return Err(Fault::at(Place::Byte(6), NpyError::Version { major })),
        };
        if dict_length > MAX_HEADER {
            return Err(broken("it is too long"));
        }
        let mut dict = vec![0; dict_length as usize];
        read_or(reader, &mut dict, cut)?;
        // Latin-1 in versions 1 and 2: only names of structured types, which are refused anyway, tell it
        // from UTF-8.
        let dict = String::from_utf8_lossy(&dict);
        let mut header =
            Parser { rest: &dict }.dictionary().map_err(|error| Fault::at(Place::Byte(8), error))?;
        header.length = before + u64::from(dict_length);
        Ok(header)
    }
}

/// Fills `buffer`; the end of the stream inside it is the fault `cut`.
fn read_or(reader: &mut impl Read, buffer: &mut [u8], cut: impl FnOnce() -> Fault) -> Result<(), Fault> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => cut(),
        _ => error.into(),
    })
}

/// As much of Python's notation as headers use.
struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// The whole dictionary. The length is filled in by the caller.
    fn dictionary(mut self) -> Result<Header, NpyError> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => descr = Some(self.element_type()?),
                "fortran_order" => fortran_order = Some(self.boolean()?),
                "shape" => shape = Some(self.shape()?),
                _ => return Err(damaged("it has an unknown key")),
            }
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        let (Some((scalar, order)), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
            return Err(damaged("descr, fortran_order or shape is missing"));
        };
        Ok(Header { scalar, order, fortran_order, shape, length: 0 })
    }

    /// Skips `mark`, if it is next after white space.
    fn take(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(mark);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, mark: char) -> Result<(), NpyError> {
        if self.take(mark) { Ok(()) } else { Err(damaged("it is not a Python dictionary")) }
    }

    fn string(&mut self) -> Result<&'a str, NpyError> {
        let mark = if self.take('\'') { '\'' } else { '"' };
        if mark == '"' {
            self.expect(mark)?;
        }
        let (string, rest) = self.rest.split_once(mark).ok_or(damaged("a string in it has no end"))?;
        self.rest = rest;
        Ok(string)
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.rest = self.rest.trim_start();
        for (name, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(name) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(damaged("fortran_order is neither True nor False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        let wrong = || damaged("shape is not a tuple of whole numbers");
        if !self.take('(') {
            return Err(wrong());
        }
        let mut shape = Vec::new();
        while !self.take(')') {
            self.rest = self.rest.trim_start();
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            shape.push(digits.parse().map_err(|_| wrong())?);
            self.rest = rest.strip_prefix('L').unwrap_or(rest); // Python 2 wrote long integers like that
            if !self.take(',') {
                if !self.take(')') {
                    return Err(wrong());
                }
                break;
            }
        }
        Ok(shape)
    }

    /// Type and byte order.
    fn element_type(&mut self) -> Result<(Scalar, ByteOrder), NpyError> {
        self.rest = self.rest.trim_start();
        if self.rest.starts_with('[') {
            return Err(NpyError::Type {
                descr: quote(self.rest),
                what: "structured: several values in each",
            });
        }
        let descr = self.string()?;
        let refuse = |what| Err(NpyError::Type { descr: quote(descr), what });
        let (mark, name) = match descr.chars().next() {
            Some(mark @ ('<' | '>' | '|' | '=')) => (mark, &descr[1..]),
            _ => ('=', descr),
        };
        let big = mark == '>' || (mark == '=' && cfg!(target_endian = "big"));
        let scalar = match name {
            "i1" => Scalar::I8,
            "u1" => Scalar::U8,
            "i2" => Scalar::I16,
            "u2" => Scalar::U16,
            "i4" => Scalar::I32,
            "u4" => Scalar::U32,
            "i8" => Scalar::I64,
            "u8" => Scalar::U64,
            "f2" => Scalar::F16,
            "f4" => Scalar::F32,
            "f8" => Scalar::F64,
            _ => {
                return refuse(match name.chars().next() {
                    Some('i' | 'u' | 'f') => "numbers of an unusual size",
                    Some('b') => "true or false",
                    Some('c') => "complex numbers",
                    Some('O') => "Python objects",
                    Some('S' | 'U' | 'a') => "strings",
                    Some('M' | 'm') => "dates or durations",
                    Some('V') => "raw bytes",
                    _ => "unknown",
                });
            }
        };
        Ok((scalar, if big { ByteOrder::Big } else { ByteOrder::Little }))
    }
}

fn damaged(what: &'static str) -> NpyError {
    NpyError::Header { what }
}

#[cfg(test)]
mod tests {
    use super::super::tests::file;
    use super::*;

    fn read(bytes: &[u8]) -> Result<Header, String> {
        Header::read(&mut &bytes[..]).map_err(|fault| fault.in_file("t").to_string())
    }

    #[test]
    fn the_notation_is_read_loosely() {
        let plain = file("'<f8'", "False", "(100, 6)", &[]);
        let header = read(&plain).expect("plain");
        assert_eq!((header.scalar, header.order), (Scalar::F64, ByteOrder::Little));
        assert_eq!(
            (header.fortran_order, header.shape, header.length),
            (false, vec![100, 6], plain.len() as u64)
        );
        let other = b"\x93NUMPY\x03\x00\x3d\x00\x00\x00{ \"shape\":(3L ,),\"fortran_order\" : True,\n'descr':'>i4'}         \n  ";
        let header = read(other).expect("version 3");
        assert_eq!(
            (header.shape, header.fortran_order, header.scalar, header.order, header.length),
            (vec![3], true, Scalar::I32, ByteOrder::Big, 73)
        );
    }

    #[test]
    fn damage_is_named() {
        let header = |what| {
            format!("t, byte 8: the header of the array is damaged ({what}); write it again with numpy.save")
        };
        let not_npy =
            "t: this is not a NumPy array (it does not begin with \\x93NUMPY); write it with numpy.save";
        for (bytes, message) in [
            (b"".to_vec(), not_npy.to_owned()),
            (b"\x93NUMPX\x01\x00".to_vec(), not_npy.to_owned()),
            (
                b"\x93NUMPY\x09\x00".to_vec(),
                "t, byte 6: version 9 of the .npy format is not known (1 to 3 are); write the array with numpy.save".into(),
            ),
            (b"\x93NUMPY\x01\x00\xff\x00{".to_vec(), header("the file ends inside it")),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), header("it is too long")),
            (b"\x93NUMPY\x01\x00\x02\x00[]".to_vec(), header("it is not a Python dictionary")),
            (b"\x93NUMPY\x01\x00\x02\x00{}".to_vec(), header("descr, fortran_order or shape is missing")),
            (b"\x93NUMPY\x01\x00\x03\x00{'a".to_vec(), header("a string in it has no end")),
            (b"\x93NUMPY\x01\x00\x06\x00{'a':1".to_vec(), header("it has an unknown key")),
            (file("'<f8'", "Maybe", "(1,)", &[]), header("fortran_order is neither True nor False")),
            (file("'<f8'", "True", "(-1, 3)", &[]), header("shape is not a tuple of whole numbers")),
            (file("'<f8'", "True", "(99999999999999999999, 3)", &[]), header("shape is not a tuple of whole numbers")),
        ] {
            assert_eq!(read(&bytes).err(), Some(message), "{bytes:?}");
        }
    }

    #[test]
    fn other_types_are_named() {
        for (descr, what) in [
            ("'|O'", "`|O` (Python objects)"),
            ("'<c16'", "`<c16` (complex numbers)"),
            ("'|b1'", "`|b1` (true or false)"),
            ("'<U5'", "`<U5` (strings)"),
            ("'<M8[ns]'", "`<M8[ns]` (dates or durations)"),
            ("'<f16'", "`<f16` (numbers of an unusual size)"),
            ("'é'", "`é` (unknown)"),
        ] {
            let message =
                format!("t, byte 8: the array has elements of type {what}; save it as an array of floats");
            assert_eq!(read(&file(descr, "False", "(1,)", &[])).err(), Some(message));
        }
        let structured = read(&file("[('x', '<f8')]", "False", "(1,)", &[])).expect_err("structured");
        assert!(structured.contains("(structured: several values in each)"), "{structured}");
    }
}
