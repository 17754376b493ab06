//! Header of a PCD file: its fields in the order of their values, the number of points and the encoding.

use std::io::{BufRead, Read};

use super::PcdError;
use crate::error::{Fault, Place, quote};
use crate::files::scalar::Scalar;

/// The longest header accepted; usual ones have a few hundred bytes.
const MAX_HEADER: u64 = 1 << 20;

/// The most bytes a point may have; the longest descriptors in use have about ten thousand.
const MAX_POINT: u64 = 1 << 20;

/// Encoding of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    Ascii,
    Binary,
    Compressed,
}

/// One field of a point.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) scalar: Scalar,
    /// Values per point.
    pub(super) count: u64,
    /// Bytes of a point before this field.
    pub(super) offset: u64,
}

/// The header of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) fields: Vec<Field>,
    /// Number that the header declares.
    pub(super) points: u64,
    /// Bytes of a point.
    pub(super) stride: u64,
    pub(super) viewpoint: Option<[f64; 3]>,
    pub(super) data: Data,
    /// Number of lines of the header, for the line numbers below it.
    pub(super) lines: u64,
    /// Number of bytes of the header, for the offsets below it.
    pub(super) bytes: u64,
}

/// The lines of a header as far as they are read, as words.
#[derive(Default)]
struct Lines {
    fields: Option<Vec<String>>,
    size: Option<Vec<u64>>,
    kind: Option<Vec<char>>,
    count: Option<Vec<u64>>,
    width: Option<u64>,
    height: Option<u64>,
    points: Option<u64>,
    viewpoint: Option<[f64; 3]>,
    data: Option<Data>,
}

impl Header {
    /// Reads as far as the first value.
    pub(super) fn read(reader: &mut impl BufRead) -> Result<Self, Fault> {
        let mut found = Lines::default();
        let (mut lines, mut bytes, mut buffer) = (0, 0, Vec::new());
        while found.data.is_none() {
            buffer.clear();
            let length = reader.by_ref().take(MAX_HEADER - bytes).read_until(b'\n', &mut buffer)?;
            lines += 1;
            bytes += length as u64;
            let text = String::from_utf8_lossy(&buffer);
            let line = text.trim_ascii();
            found.read(line).map_err(|what| {
                Fault::at(Place::Line(lines), PcdError::HeaderLine { line: quote(line), what })
            })?;
            if found.data.is_none() && buffer.last() != Some(&b'\n') {
                return Err(Fault::at(Place::Byte(bytes), PcdError::NoData));
            }
        }
        found.complete(lines, bytes).map_err(Fault::whole)
    }
}

impl Lines {
    /// Parses one line; the error is its defect.
    fn read(&mut self, line: &str) -> Result<(), &'static str> {
        let mut words = line.split_ascii_whitespace();
        let Some(keyword) = words.next() else { return Ok(()) };
        let rest: Vec<&str> = words.collect();
        let wholes = |words: &[&str]| words.iter().map(|word| whole(word)).collect::<Result<Vec<u64>, _>>();
        let one = |words: &[&str]| match words {
            [word] => whole(word).map(Some),
            _ => Err("one number is needed"),
        };
        match keyword {
            comment if comment.starts_with('#') => {}
            "VERSION" => {}
            "FIELDS" | "COLUMNS" => self.fields = Some(rest.iter().map(|name| (*name).to_owned()).collect()),
            "SIZE" => self.size = Some(wholes(&rest)?),
            "TYPE" => {
                let letter = |word: &&str| word.parse().map_err(|_| "a type is one of F, I and U");
                self.kind = Some(rest.iter().map(letter).collect::<Result<_, _>>()?);
            }
            "COUNT" => self.count = Some(wholes(&rest)?),
            "WIDTH" => self.width = one(&rest)?,
            "HEIGHT" => self.height = one(&rest)?,
            "POINTS" => self.points = one(&rest)?,
            "VIEWPOINT" => self.viewpoint = viewpoint(&rest)?,
            "DATA" => {
                self.data = Some(match rest.as_slice() {
                    ["ascii"] => Data::Ascii,
                    ["binary"] => Data::Binary,
                    ["binary_compressed"] => Data::Compressed,
                    _ => return Err("data are `ascii`, `binary` or `binary_compressed`"),
                });
            }
            _ => return Err("unknown keyword"),
        }
        Ok(())
    }

    /// Checks that the lines belong together.
    fn complete(self, lines: u64, bytes: u64) -> Result<Header, PcdError> {
        let missing = |name| PcdError::MissingLine { name };
        let names = self.fields.ok_or(missing("FIELDS"))?;
        let size = self.size.ok_or(missing("SIZE"))?;
        let kind = self.kind.ok_or(missing("TYPE"))?;
        let count = self.count.unwrap_or_else(|| vec![1; names.len()]);
        let data = self.data.ok_or(missing("DATA"))?;
        for (name, found) in [("SIZE", size.len()), ("TYPE", kind.len()), ("COUNT", count.len())] {
            if found != names.len() {
                return Err(PcdError::Entries { name, fields: names.len(), found });
            }
        }
        let mut fields = Vec::with_capacity(names.len());
        let mut stride = 0u64;
        for (((name, size), kind), count) in names.into_iter().zip(size).zip(kind).zip(count) {
            let wrong =
                |what| PcdError::HeaderLine { line: format!("SIZE {size} TYPE {kind} COUNT {count}"), what };
            let scalar = scalar(kind, size).ok_or(wrong("no such type of values"))?;
            let after = size.checked_mul(count).and_then(|bytes| stride.checked_add(bytes));
            let after = after.filter(|&stride| stride <= MAX_POINT).ok_or(wrong("too many values"))?;
            fields.push(Field { name, scalar, count, offset: stride });
            stride = after;
        }
        let height = self.height.unwrap_or(1);
        let points = match (self.points, self.width) {
            (Some(points), None) => points,
            (Some(points), Some(width)) if width.checked_mul(height) == Some(points) => points,
            (None, Some(width)) => width.saturating_mul(height),
            (Some(points), Some(width)) => return Err(PcdError::Grid { points, width, height }),
            (None, None) => return Err(missing("POINTS")),
        };
        Ok(Header { fields, points, stride, viewpoint: self.viewpoint, data, lines, bytes })
    }
}

fn whole(word: &str) -> Result<u64, &'static str> {
    word.parse().map_err(|_| "a whole number is needed")
}

/// Position of the sensor; `None` for the default pose, which writers give when they know nothing, and when it is not
/// finite.
fn viewpoint(words: &[&str]) -> Result<Option<[f64; 3]>, &'static str> {
    let numbers: Option<Vec<f64>> = words.iter().map(|word| word.parse().ok()).collect();
    match numbers.as_deref() {
        Some([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) => Ok(None),
        Some(&[x, y, z, ..]) if words.len() == 7 => {
            Ok(Some([x, y, z]).filter(|place| place.iter().all(|value| value.is_finite())))
        }
        _ => Err("seven numbers are needed: place and quaternion"),
    }
}

fn scalar(kind: char, size: u64) -> Option<Scalar> {
    Some(match (kind, size) {
        ('I', 1) => Scalar::I8,
        ('U', 1) => Scalar::U8,
        ('I', 2) => Scalar::I16,
        ('U', 2) => Scalar::U16,
        ('I', 4) => Scalar::I32,
        ('U', 4) => Scalar::U32,
        ('I', 8) => Scalar::I64,
        ('U', 8) => Scalar::U64,
        ('F', 4) => Scalar::F32,
        ('F', 8) => Scalar::F64,
        _ => return None,
    })
}
