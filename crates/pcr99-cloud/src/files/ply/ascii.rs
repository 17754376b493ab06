//! Values as text: one line for each element.
//!
//! The format leaves open whether line ends matter. They do here: a value lost in one line would
//! otherwise shift all that follow, and the cloud would be silently wrong.

use std::io::BufRead;

use super::PlyError;
use super::header::{Element, Header, Kind};
use crate::error::{Fault, Place, quote};
use crate::files::text::{MAX_LINE, Picks, Separator, number, read_line};

/// Hands the values of `columns` of each vertex to `row`.
pub(super) fn read_vertices(
    reader: impl BufRead,
    header: &Header,
    columns: &[usize],
    mut row: impl FnMut(&[f64]),
) -> Result<(), Fault> {
    let mut lines = Lines { reader, line: header.lines, byte: header.bytes, buffer: Vec::new() };
    let mut values = vec![0.0; columns.len()];
    for element in &header.elements {
        let wanted = element.is_vertex();
        let picks = (wanted && element.is_fixed())
            .then(|| Picks::new(element.properties.len(), columns.iter().copied()));
        if element.properties.is_empty() {
            continue; // nothing is written for it
        }
        let mut found = 0;
        while found < element.count {
            if let Some(picks) = &picks {
                let most = element.count - found;
                found += lines.take_plain(picks, most, &mut values, &mut row)?;
                if found == element.count {
                    break;
                }
            }
            if !lines.advance()? {
                let (element, promised) = (quote(&element.name), element.count);
                return Err(Fault::at(
                    Place::Byte(lines.byte),
                    PlyError::Truncated { element, promised, found },
                ));
            }
            if wanted {
                let text = lines.text()?;
                pick(text, element, columns, &mut values).map_err(|error| lines.wrong(error))?;
                row(&values);
            }
            found += 1;
        }
        if wanted {
            break; // what comes after the vertices does not matter
        }
    }
    Ok(())
}

/// Reads the values of `columns` from the line of one vertex.
fn pick(line: &str, vertex: &Element, columns: &[usize], values: &mut [f64]) -> Result<(), PlyError> {
    let wrong = |many| PlyError::Values { many, properties: vertex.property_names() };
    let mut words = line.split_ascii_whitespace();
    for (position, property) in vertex.properties.iter().enumerate() {
        let word = words.next().ok_or_else(|| wrong(false))?;
        match property.kind {
            Kind::Scalar(_) => {
                for (value, _) in values.iter_mut().zip(columns).filter(|(_, column)| **column == position) {
                    *value = number(word).ok_or_else(|| PlyError::NotANumber { value: quote(word) })?;
                }
            }
            Kind::List { .. } => {
                let length: usize = word.parse().map_err(|_| PlyError::NotANumber { value: quote(word) })?;
                if length > 0 {
                    words.nth(length - 1).ok_or_else(|| wrong(false))?;
                }
            }
        }
    }
    if words.next().is_some() { Err(wrong(true)) } else { Ok(()) }
}

/// The lines below the header, one at a time.
struct Lines<R> {
    reader: R,
    /// Number of the current line, from 1.
    line: u64,
    /// Bytes read so far.
    byte: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads up to `most` plain lines, see [`Picks::lines`]; returns their number.
    fn take_plain(
        &mut self,
        picks: &Picks,
        most: u64,
        values: &mut [f64],
        each: impl FnMut(&[f64]),
    ) -> Result<u64, Fault> {
        let taken = picks.lines(&mut self.reader, Separator::Space, most, values, each)?;
        self.line += taken.lines;
        self.byte += taken.bytes;
        Ok(taken.lines)
    }

    /// Goes to the next line that is neither blank nor a comment; `false` at the end.
    fn advance(&mut self) -> Result<bool, Fault> {
        loop {
            let length = read_line(&mut self.reader, &mut self.buffer)?;
            if length == 0 {
                return Ok(false);
            }
            self.byte += length as u64;
            self.line += 1;
            if length > MAX_LINE && self.buffer.last() != Some(&b'\n') {
                // Lists in elements that are skipped may be of any length: the rest is not kept.
                self.byte += self.reader.skip_until(b'\n')? as u64;
            }
            let content = self.buffer.trim_ascii();
            if !content.is_empty() && !content.starts_with(b"comment") && !content.starts_with(b"obj_info") {
                return Ok(true);
            }
        }
    }

    /// The current line, which must be of a length that vertices have.
    fn text(&self) -> Result<&str, Fault> {
        if self.buffer.len() > MAX_LINE {
            return Err(self.wrong(PlyError::LineTooLong));
        }
        std::str::from_utf8(&self.buffer).map_err(|_| {
            let value = quote(String::from_utf8_lossy(&self.buffer).trim());
            self.wrong(PlyError::NotANumber { value })
        })
    }

    fn wrong(&self, error: PlyError) -> Fault {
        Fault::at(Place::Line(self.line), error)
    }
}
