//! PLY files: a header of text that lists elements and their properties, then the values as text or in
//! binary.
//!
//! Written by hand: files are read as a stream in one pass, sizes in the header are checked before anything is
//! allocated, and errors name the line or the byte; the libraries at hand do not do all three. Of a vertex its position,
//! normal, colour and intensity are read, whatever their types and order; lists and other elements are skipped.

mod ascii;

mod binary;

mod copy;

mod header;

mod write;

use std::io::BufRead;

pub(super) use copy::copy;
use header::{Element, Encoding, Header, Kind};
pub(super) use write::write;

use super::fields::{Depth, Fields, Gather, Want};
use super::file::ExtraColumns;
use super::scalar::Scalar;
use crate::cloud::Cloud;
use crate::error::{Fault, quote, quote_all};

/// The element that holds the points.
const VERTEX: &str = "vertex";

/// The properties that make a position.
const POSITION: [&str; 3] = ["x", "y", "z"];

/// Error in a PLY file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlyError {
    /// The first line is not `ply`.
    #[error("this is not a PLY file (its first line is not `ply`); give it the extension of its format")]
    NotPly,
    /// The file, or the part of it that a header may have, ends without `end_header`.
    #[error("the header has no `end_header`; the file is truncated or no PLY file")]
    NoEnd,
    /// A line of the header cannot be parsed.
    #[error("{line} is not a line of a PLY header ({what}); export the file again")]
    HeaderLine {
        /// The line, quoted and shortened.
        line: String,
        /// The defect.
        what: &'static str,
    },
    /// There is no line `format`.
    #[error("the header does not say its `format`; export the file again")]
    NoFormat,
    /// There are no vertices.
    #[error("there is no element `vertex`; the elements found are {found}; export the file with its points")]
    NoVertex {
        /// Names of the elements, quoted.
        found: String,
    },
    /// A property is missing that each vertex needs.
    #[error(
        "vertices have no property `{name}`; the properties found are {found}; export the file with x, y and z"
    )]
    MissingProperty {
        /// The name.
        name: &'static str,
        /// Names of the properties, quoted.
        found: String,
    },
    /// A property that must be one number is a list.
    #[error("the property `{name}` of vertices is a list, not a number; export the file again")]
    ListProperty {
        /// The name.
        name: &'static str,
    },
    /// The file ends before its last value.
    #[error(
        "the file ends after {found} of {promised} elements {element}; it is truncated or its header is wrong"
    )]
    Truncated {
        /// Name of the element, quoted.
        element: String,
        /// Number of points that the header declares.
        promised: u64,
        /// Number of complete ones in the file.
        found: u64,
    },
    /// The length of a list is negative.
    #[error("a list of the element {element} has {length} entries; the file is damaged")]
    ListLength {
        /// Name of the element, quoted.
        element: String,
        /// The length found.
        length: f64,
    },
    /// A line of text has more or fewer values than the header lists.
    #[error(
        "the line has too {} values for the properties {properties} of a vertex; put one vertex on each line",
        if *.many { "many" } else { "few" }
    )]
    Values {
        /// Whether there are too many, not too few.
        many: bool,
        /// Names of the properties, quoted.
        properties: String,
    },
    /// A value that is not a number.
    #[error("{value} is not a number; correct the value or export the file again")]
    NotANumber {
        /// The value, quoted and shortened.
        value: String,
    },
    /// A line of text is longer than any vertex takes.
    #[error("the line is too long for a vertex; put one vertex on each line")]
    LineTooLong,
}

/// Reads the vertices; `size` is that of the whole stream, if known.
pub(super) fn read(mut reader: impl BufRead, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let header = Header::read(&mut reader)?;
    let vertex = header.vertex()?;
    let fields = vertex.fields(want)?;
    read_fields(reader, &header, &fields, capacity(&header, vertex, size))
}

/// Reads these columns of the vertices; `reader` is behind the header.
fn read_fields(
    reader: impl BufRead,
    header: &Header,
    fields: &Fields,
    capacity: usize,
) -> Result<Cloud, Fault> {
    let mut cloud = Gather::new(fields, capacity)?;
    let columns = fields.columns();
    match header.encoding {
        Encoding::Ascii => ascii::read_vertices(reader, header, &columns, |row| cloud.push(row))?,
        Encoding::Binary(order) => binary::read_vertices(reader, order, header, &columns, &mut cloud)?,
    }
    Ok(cloud.finish())
}

/// Properties that are no part of a [`Cloud`]; `reader` is at the beginning.
pub(super) fn extra_columns(mut reader: impl BufRead) -> Result<ExtraColumns, Fault> {
    let header = Header::read(&mut reader)?;
    let vertex = header.vertex()?;
    let known = vertex.fields(Want::Everything)?.columns();
    let mut extra =
        ExtraColumns { usable: Vec::new(), columns: Vec::new(), together: 3, left_out: Vec::new() };
    for (column, property) in vertex.properties.iter().enumerate() {
        match vertex.scalar(column) {
            Some(scalar) if !known.contains(&column) => {
                extra.columns.push((column, property.name.clone(), scalar));
            }
            None => extra.left_out.push(format!("the list {}", quote(&property.name))),
            Some(_) => {}
        }
    }
    extra.usable = (0..vertex.properties.len()).filter(|&column| vertex.scalar(column).is_some()).collect();
    let others = header.elements.iter().filter(|element| !element.is_vertex() && element.count > 0);
    extra.left_out.extend(others.map(|element| format!("the element {}", quote(&element.name))));
    Ok(extra)
}

/// Reads three columns, which are no lists.
pub(super) fn read_columns(
    mut reader: impl BufRead,
    size: Option<u64>,
    fields: &Fields,
) -> Result<Cloud, Fault> {
    let header = Header::read(&mut reader)?;
    read_fields(reader, &header, fields, capacity(&header, header.vertex()?, size))
}

/// Number of vertices for which memory may be reserved: at most those that fit the bytes after the header, whatever
/// the header promises.
fn capacity(header: &Header, vertex: &Element, size: Option<u64>) -> usize {
    let least = match header.encoding {
        Encoding::Ascii => 2 * vertex.properties.len() as u64, // a digit and a separator each
        Encoding::Binary(_) => vertex.least_bytes(),
    };
    let available = size.unwrap_or(0).saturating_sub(header.bytes);
    let fitting = available.checked_div(least).unwrap_or(0);
    usize::try_from(vertex.count.min(fitting)).unwrap_or(0)
}

impl Header {
    /// The element that holds the points.
    fn vertex(&self) -> Result<&Element, Fault> {
        self.elements.iter().find(|element| element.is_vertex()).ok_or_else(|| {
            let found = quote_all(self.elements.iter().map(|element| element.name.as_str()));
            Fault::whole(PlyError::NoVertex { found })
        })
    }
}

impl Element {
    fn is_vertex(&self) -> bool {
        self.name.eq_ignore_ascii_case(VERTEX)
    }

    /// Names of the properties, for messages.
    fn property_names(&self) -> String {
        quote_all(self.properties.iter().map(|property| property.name.as_str()))
    }

    /// Columns of the attributes of a cloud. Positions are required.
    fn fields(&self, want: Want) -> Result<Fields, Fault> {
        let position = |name: &str| self.properties.iter().position(|p| p.name.eq_ignore_ascii_case(name));
        let mut columns = [0; 3];
        for (column, name) in columns.iter_mut().zip(POSITION) {
            *column = position(name).ok_or_else(|| {
                Fault::whole(PlyError::MissingProperty { name, found: self.property_names() })
            })?;
            if self.scalar(*column).is_none() {
                return Err(Fault::whole(PlyError::ListProperty { name }));
            }
        }
        let fields = Fields::positions(columns);
        if want == Want::Points {
            return Ok(fields);
        }
        let depth = |column| match self.scalar(column) {
            Some(Scalar::U8) => Depth::Byte,
            Some(Scalar::F32 | Scalar::F64) | None => Depth::Any,
            Some(_) => Depth::Integer,
        };
        // Packed colours occur in PCD files only.
        let find =
            |name: &str| position(name).filter(|&at| self.scalar(at).is_some() && !name.starts_with("rgb"));
        Ok(fields.with_names(find, depth))
    }

    /// The type of the property at `column`; `None` for a list.
    fn scalar(&self, column: usize) -> Option<Scalar> {
        match self.properties[column].kind {
            Kind::Scalar(scalar) => Some(scalar),
            Kind::List { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
