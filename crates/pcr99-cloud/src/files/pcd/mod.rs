//! PCD files: a header of text that lists fields, then the values as text, in binary, or in binary compressed by LZF.
//!
//! Written by hand, as PLY is: files are read as a stream, sizes in the header are checked before anything is
//! allocated, and errors name the line or the byte. Fields of any order, size and type are read; those with several
//! values per point (histograms, padding) are skipped. Only compressed files are held in memory as a whole, since
//! they store one field after the other.

mod ascii;

mod binary;

mod copy;

mod header;

mod lzf;

mod write;

use std::io::BufRead;

pub(super) use copy::copy;
use header::{Data, Header};
pub(super) use write::write;

use super::fields::{Color, Depth, Fields, Gather, Want};
use super::file::ExtraColumns;
use super::scalar::Scalar;
use crate::cloud::Cloud;
use crate::error::{Fault, quote, quote_all};

/// Error in a PCD file.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PcdError {
    /// A line of the header cannot be parsed.
    #[error("{line} is not a line of a PCD header ({what}); export the file again")]
    HeaderLine {
        /// The line, quoted and shortened.
        line: String,
        /// The defect.
        what: &'static str,
    },
    /// The file, or the part of it that a header may have, ends without `DATA`.
    #[error("the header has no line `DATA`; the file is truncated or no PCD file")]
    NoData,
    /// A line that every header needs is missing.
    #[error("the header has no line `{name}`; export the file again")]
    MissingLine {
        /// Its first word.
        name: &'static str,
    },
    /// A line that lists something for each field has more or fewer entries.
    #[error(
        "the header lists {fields} fields but has {found} entries in its line `{name}`; export the file again"
    )]
    Entries {
        /// The first word of the line.
        name: &'static str,
        /// Number of fields.
        fields: usize,
        /// Number of entries of the line.
        found: usize,
    },
    /// The number of points does not agree with the size of the grid.
    #[error("the header has {points} points but a grid of {width} × {height}; export the file again")]
    Grid {
        /// By the line `POINTS`.
        points: u64,
        /// By the line `WIDTH`.
        width: u64,
        /// By the line `HEIGHT`.
        height: u64,
    },
    /// A field is missing that each point needs.
    #[error("points have no field `{name}`; the fields found are {found}; export the file with x, y and z")]
    MissingField {
        /// The name.
        name: &'static str,
        /// Names of the fields, quoted.
        found: String,
    },
    /// A field that must be one number has several.
    #[error("the field `{name}` has {count} values per point, not one; export the file again")]
    CountOfField {
        /// The name.
        name: &'static str,
        /// Number of values.
        count: u64,
    },
    /// The file ends before its last point.
    #[error("the file ends after {found} of {promised} points; it is truncated or its header is wrong")]
    Truncated {
        /// Number of points that the header declares.
        promised: u64,
        /// Number of complete ones in the file.
        found: u64,
    },
    /// The compressed block is damaged.
    #[error("the compressed points are damaged ({what}); copy or export the file again")]
    Compressed {
        /// The defect.
        what: &'static str,
    },
    /// A line of text has more or fewer values than the header lists.
    #[error(
        "the line has too {} values for the fields {fields} of a point; put one point on each line",
        if *.many { "many" } else { "few" }
    )]
    Values {
        /// Whether there are too many, not too few.
        many: bool,
        /// Names of the fields, quoted.
        fields: String,
    },
    /// A value that is not a number.
    #[error("{value} is not a number; correct the value or export the file again")]
    NotANumber {
        /// The value, quoted and shortened.
        value: String,
    },
    /// A line of text is longer than any point takes.
    #[error("the line is too long for a point; put one point on each line")]
    LineTooLong,
}

/// Reads the points; `size` is that of the whole stream, if known.
pub(super) fn read(mut reader: impl BufRead, size: Option<u64>, want: Want) -> Result<Cloud, Fault> {
    let header = Header::read(&mut reader)?;
    let fields = header.cloud_fields(want)?;
    read_fields(reader, &header, &fields, size)
}

/// Reads these fields; `reader` is behind the header.
fn read_fields(
    reader: impl BufRead,
    header: &Header,
    fields: &Fields,
    size: Option<u64>,
) -> Result<Cloud, Fault> {
    let available = size.map(|size| size.saturating_sub(header.bytes));
    let mut cloud = Gather::new(fields, header.capacity(available))?;
    match header.data {
        Data::Ascii => ascii::read(reader, header, fields, |row| cloud.push(row))?,
        Data::Binary => binary::read(reader, header, fields, &mut cloud)?,
        Data::Compressed => {
            binary::read_compressed(reader, header, fields, available, |row| cloud.push(row))?
        }
    }
    let mut cloud = cloud.finish();
    cloud.viewpoint = header.viewpoint;
    Ok(cloud)
}

/// Fields that are no part of a [`Cloud`]; `reader` is at the beginning.
pub(super) fn extra_columns(mut reader: impl BufRead) -> Result<ExtraColumns, Fault> {
    let header = Header::read(&mut reader)?;
    let known = header.cloud_fields(Want::Everything)?.columns();
    let mut extra =
        ExtraColumns { usable: Vec::new(), columns: Vec::new(), together: 3, left_out: Vec::new() };
    for (column, field) in header.fields.iter().enumerate() {
        if field.count == 1 {
            extra.usable.push(column);
        }
        match field.count {
            _ if known.contains(&column) || field.name == "_" => {}
            1 => extra.columns.push((column, field.name.clone(), field.scalar)),
            _ => extra.left_out.push(format!("the field {} of several values", quote(&field.name))),
        }
    }
    Ok(extra)
}

/// Reads three fields of one value.
pub(super) fn read_columns(
    mut reader: impl BufRead,
    size: Option<u64>,
    fields: &Fields,
) -> Result<Cloud, Fault> {
    let header = Header::read(&mut reader)?;
    read_fields(reader, &header, fields, size)
}

impl Header {
    /// Columns of the attributes of a cloud. Positions are required.
    fn cloud_fields(&self, want: Want) -> Result<Fields, Fault> {
        let position = |name: &str| self.fields.iter().position(|f| f.name.eq_ignore_ascii_case(name));
        let mut columns = [0; 3];
        for (column, name) in columns.iter_mut().zip(["x", "y", "z"]) {
            *column = position(name)
                .ok_or_else(|| Fault::whole(PcdError::MissingField { name, found: self.field_names() }))?;
            let count = self.fields[*column].count;
            if count != 1 {
                return Err(Fault::whole(PcdError::CountOfField { name, count }));
            }
        }
        let fields = Fields::positions(columns);
        if want == Want::Points {
            return Ok(fields);
        }
        let depth = |column: usize| match self.fields[column].scalar {
            Scalar::U8 => Depth::Byte,
            Scalar::F32 | Scalar::F64 => Depth::Any,
            _ => Depth::Integer,
        };
        let find = |name: &str| {
            let at = position(name)?;
            let field = &self.fields[at];
            (field.count == 1 && (!name.starts_with("rgb") || field.scalar.size() == 4)).then_some(at)
        };
        Ok(fields.with_names(find, depth))
    }

    /// Number of points for which memory may be reserved: at most those that fit the bytes after the header.
    fn capacity(&self, available: Option<u64>) -> usize {
        let fitting = match self.data {
            Data::Ascii => available.unwrap_or(0).checked_div(2 * self.fields.len() as u64),
            Data::Binary => available.unwrap_or(0).checked_div(self.stride),
            Data::Compressed => available.unwrap_or(0).saturating_mul(lzf::GROWTH).checked_div(self.stride),
        };
        usize::try_from(self.points.min(fitting.unwrap_or(0))).unwrap_or(0)
    }

    /// Names of the fields, for messages.
    fn field_names(&self) -> String {
        quote_all(self.fields.iter().map(|field| field.name.as_str()))
    }
}

/// Whether `column` holds three bytes of colour in the bits of one number, and must be read by its bits.
fn is_packed(fields: &Fields, column: usize) -> bool {
    fields.color == Some(Color::Packed(column))
}

#[cfg(test)]
mod tests;
