//! Header of a PLY file: its encoding, and its elements with their properties in the order of the values.

use std::io::{BufRead, Read};

use super::PlyError;
use crate::error::{Fault, Place, quote};
use crate::files::scalar::{ByteOrder, Scalar};

/// The longest header accepted; usual ones have less than a thousand bytes.
const MAX_HEADER: u64 = 1 << 20;

/// Encoding of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Ascii,
    Binary(ByteOrder),
}

/// Type of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// One value.
    Scalar(Scalar),
    /// A list of values after their number.
    List { length: Scalar, item: Scalar },
}

/// One property of an element.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// An element of the file, such as vertices or faces.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) name: String,
    /// Number that the header declares.
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
}

impl Element {
    /// Bytes of one element in binary when all lists are empty.
    pub(super) fn least_bytes(&self) -> u64 {
        let least = |property: &Property| match property.kind {
            Kind::Scalar(scalar) => scalar.size() as u64,
            Kind::List { length, .. } => length.size() as u64,
        };
        self.properties.iter().map(least).sum()
    }

    /// Whether all elements have the same number of bytes in binary.
    pub(super) fn is_fixed(&self) -> bool {
        self.properties.iter().all(|property| matches!(property.kind, Kind::Scalar(_)))
    }
}

/// The header of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) encoding: Encoding,
    /// In the order of their values.
    pub(super) elements: Vec<Element>,
    /// Number of lines of the header, for the line numbers below it.
    pub(super) lines: u64,
    /// Number of bytes of the header, for the offsets below it.
    pub(super) bytes: u64,
}

impl Header {
    /// Reads as far as the first value.
    pub(super) fn read(reader: &mut impl BufRead) -> Result<Self, Fault> {
        let (mut encoding, mut elements) = (None, Vec::new());
        let (mut lines, mut bytes, mut buffer) = (0, 0, Vec::new());
        loop {
            buffer.clear();
            let length = reader.by_ref().take(MAX_HEADER - bytes).read_until(b'\n', &mut buffer)?;
            lines += 1;
            bytes += length as u64;
            let ended = buffer.last() != Some(&b'\n');
            // Comments may be in any encoding; nothing else of a header is beyond ASCII.
            let text = String::from_utf8_lossy(&buffer);
            let line = text.trim_ascii();
            if lines == 1 && line != "ply" {
                return Err(Fault::whole(PlyError::NotPly));
            }
            if line == "end_header" {
                break;
            }
            if ended {
                return Err(Fault::at(Place::Byte(bytes), PlyError::NoEnd));
            }
            if lines > 1 {
                read_line(line, &mut encoding, &mut elements).map_err(|what| {
                    Fault::at(Place::Line(lines), PlyError::HeaderLine { line: quote(line), what })
                })?;
            }
        }
        let encoding = encoding.ok_or_else(|| Fault::whole(PlyError::NoFormat))?;
        Ok(Self { encoding, elements, lines, bytes })
    }
}

/// Parses one line; the error is its defect.
fn read_line(
    line: &str,
    encoding: &mut Option<Encoding>,
    elements: &mut Vec<Element>,
) -> Result<(), &'static str> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    match words.as_slice() {
        [] | ["comment" | "obj_info", ..] => {}
        ["format", name, _version] => {
            *encoding = Some(match *name {
                "ascii" => Encoding::Ascii,
                "binary_little_endian" => Encoding::Binary(ByteOrder::Little),
                "binary_big_endian" => Encoding::Binary(ByteOrder::Big),
                _ => return Err("unknown format"),
            });
        }
        ["element", name, count] => {
            let count = count.parse().map_err(|_| "the count is not a whole number")?;
            elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() });
        }
        ["property", rest @ ..] => {
            let scalar = |name: &str| Scalar::named(name).ok_or("unknown type");
            let (kind, name) = match rest {
                ["list", length, item, name] => {
                    let (length, item) = (scalar(length)?, scalar(item)?);
                    if !length.is_integer() {
                        return Err("the length of a list is not of an integer type");
                    }
                    (Kind::List { length, item }, name)
                }
                [kind, name] => (Kind::Scalar(scalar(kind)?), name),
                _ => return Err("a property is a type and a name"),
            };
            let element = elements.last_mut().ok_or("a property before any element")?;
            element.properties.push(Property { name: (*name).to_owned(), kind });
        }
        _ => return Err("unknown keyword"),
    }
    Ok(())
}
