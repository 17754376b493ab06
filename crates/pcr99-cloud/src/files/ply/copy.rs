//! A copy of a PLY file with moved vertices. All other properties and elements, comments and the encoding stay.

use std::io::{self, BufRead, Read, Write};

use pcr99::Similarity;

use super::header::{Element, Encoding, Header, Kind};
use super::{capacity, read_fields};
use crate::error::Fault;
use crate::files::Source;
use crate::files::edit::{Edit, Open, changed, words};
use crate::files::fields::{Fields, Want};
use crate::files::scalar::{ByteOrder, Scalar};

/// Copies the file to `out`; returns the number of vertices.
pub(in crate::files) fn copy(open: Open<'_>, how: &Similarity, out: &mut dyn Write) -> Result<u64, Fault> {
    let Source { mut reader, size, .. } = open()?;
    let header = Header::read(&mut reader)?;
    let vertex = header.vertex()?;
    let fields = Fields { color: None, intensity: None, ..vertex.fields(Want::Everything)? };
    let cloud = read_fields(reader, &header, &fields, capacity(&header, vertex, size))?;
    let edit = Edit::new(cloud, how, &fields, |column| vertex.scalar(column).unwrap_or(Scalar::F64))?;

    let mut reader = open()?.reader;
    copy_header(&mut reader, &header, &edit, out)?;
    for element in &header.elements {
        match header.encoding {
            Encoding::Ascii => copy_lines(&mut reader, element, &edit, out)?,
            Encoding::Binary(order) => copy_values(&mut reader, order, element, &edit, out)?,
        }
        if element.is_vertex() {
            break;
        }
    }
    io::copy(&mut reader, out)?;
    Ok(edit.len() as u64)
}

/// Copies the header, with the new types of edited properties.
fn copy_header(
    reader: &mut impl BufRead,
    header: &Header,
    edit: &Edit,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let (mut is_vertex, mut column, mut line) = (false, 0, Vec::new());
    for _ in 0..header.lines {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        let parts = words(&line);
        let word = |k: usize| parts.get(k).map_or(&b""[..], |&(begin, end)| &line[begin..end]);
        match word(0) {
            b"element" => (is_vertex, column) = (word(1).eq_ignore_ascii_case(b"vertex"), 0),
            b"property" if is_vertex => {
                let (begin, end) = *parts.get(1).ok_or_else(changed)?;
                let old = Scalar::named(&String::from_utf8_lossy(&line[begin..end]));
                if let Some(edited) = edit.column(column).filter(|edited| Some(edited.scalar) != old) {
                    let name = if edited.scalar == Scalar::F64 { "double" } else { "float" };
                    line.splice(begin..end, name.bytes());
                }
                column += 1;
            }
            _ => {}
        }
        out.write_all(&line)?;
    }
    Ok(())
}

/// Copies the lines of one element.
fn copy_lines(
    reader: &mut impl BufRead,
    element: &Element,
    edit: &Edit,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let (mut line, mut edited) = (Vec::new(), Vec::new());
    let mut row = 0;
    while row < element.count && !element.properties.is_empty() {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Err(changed());
        }
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"comment") || text.starts_with(b"obj_info") {
            out.write_all(&line)?;
            continue;
        }
        if element.is_vertex() {
            edited.clear();
            edit.push_words(&line, columns(&line, element).into_iter(), row as usize, &mut edited)?;
            out.write_all(&edited)?;
        } else {
            out.write_all(&line)?;
        }
        row += 1;
    }
    Ok(())
}

/// The column, begin and end of the words of a line that are no part of a list.
fn columns(line: &[u8], element: &Element) -> Vec<(usize, (usize, usize))> {
    let mut places = words(line).into_iter();
    let mut columns = Vec::with_capacity(element.properties.len());
    for (column, property) in element.properties.iter().enumerate() {
        let Some((begin, end)) = places.next() else { break };
        match property.kind {
            Kind::Scalar(_) => columns.push((column, (begin, end))),
            Kind::List { .. } => {
                let length = String::from_utf8_lossy(&line[begin..end]).parse::<usize>().unwrap_or(0);
                if length > 0 {
                    places.nth(length - 1);
                }
            }
        }
    }
    columns
}

/// Copies the values of one element.
fn copy_values(
    reader: &mut impl BufRead,
    order: ByteOrder,
    element: &Element,
    edit: &Edit,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let (mut value, mut edited) = ([0; 8], Vec::new());
    for row in 0..element.count {
        for (column, property) in element.properties.iter().enumerate() {
            let (Kind::Scalar(scalar) | Kind::List { length: scalar, .. }) = property.kind;
            let value = &mut value[..scalar.size()];
            reader.read_exact(value)?;
            match property.kind {
                Kind::Scalar(_) if element.is_vertex() => {
                    edit.push_bytes((row as usize, column), value, order, &mut edited)?;
                }
                Kind::Scalar(_) => edited.extend_from_slice(value),
                Kind::List { length, item } => {
                    edited.extend_from_slice(value);
                    out.write_all(&edited)?;
                    edited.clear();
                    let bytes = length.decode(value, order) as u64 * item.size() as u64;
                    io::copy(&mut reader.by_ref().take(bytes), out)?;
                }
            }
        }
        out.write_all(&edited)?;
        edited.clear();
    }
    Ok(())
}
