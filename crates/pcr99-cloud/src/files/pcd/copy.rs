//! A copy of a PCD file with moved points. All other fields, comments, the grid and the encoding stay; the pose of the sensor moves along.

use std::io::{self, BufRead, Read, Write};

use pcr99::Similarity;

use super::header::{Data, Field, Header};
use super::{lzf, read_fields};
use crate::error::Fault;
use crate::files::Source;
use crate::files::edit::{Edit, Open, changed, words};
use crate::files::fields::{Fields, Want};
use crate::files::scalar::{ByteOrder, Scalar};
use crate::files::writing::push_number;

/// Copies the file to `out`; returns the number of points.
pub(in crate::files) fn copy(open: Open<'_>, how: &Similarity, out: &mut dyn Write) -> Result<u64, Fault> {
    let Source { mut reader, size, .. } = open()?;
    let header = Header::read(&mut reader)?;
    let fields = Fields { color: None, intensity: None, ..header.cloud_fields(Want::Everything)? };
    let cloud = read_fields(reader, &header, &fields, size)?;
    let edit = Edit::new(cloud, how, &fields, |column| header.fields[column].scalar)?;

    let mut reader = open()?.reader;
    copy_header(&mut reader, &header, how, &edit, out)?;
    match header.data {
        Data::Ascii => copy_lines(&mut reader, &header, &edit, out)?,
        Data::Binary => {
            let mut record = Vec::new();
            for row in 0..edit.len() {
                record.clear();
                for (column, field) in header.fields.iter().enumerate() {
                    push_field(&mut reader, field, (row, column), &edit, &mut record)?;
                }
                out.write_all(&record)?;
            }
        }
        Data::Compressed => copy_compressed(&mut reader, &header, &edit, out)?,
    }
    io::copy(&mut reader, out)?;
    Ok(edit.len() as u64)
}

/// Reads a field of one point and appends it, edited, to `out`.
fn push_field(
    reader: &mut impl Read,
    field: &Field,
    place: (usize, usize),
    edit: &Edit,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let size = field.scalar.size() * field.count as usize; // a header with more than a mebibyte was refused
    let start = out.len();
    out.resize(start + size, 0);
    reader.read_exact(&mut out[start..])?;
    if edit.column(place.1).is_some() {
        out.truncate(start);
        edit.push_bytes(place, &[], ByteOrder::Little, out)?;
    }
    Ok(())
}

/// Copies the header, with the new types of edited fields and the new pose of the sensor.
fn copy_header(
    reader: &mut impl BufRead,
    header: &Header,
    how: &Similarity,
    edit: &Edit,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let mut line = Vec::new();
    for _ in 0..header.lines {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        let parts = words(&line);
        let keyword = parts.first().map(|&(begin, end)| line[begin..end].to_vec()).unwrap_or_default();
        // From the last word to the first, so that the places of the others stay.
        let mut replace = |word: usize, new: &[u8]| {
            let (begin, end) = parts[word];
            line.splice(begin..end, new.iter().copied());
        };
        for (column, field) in header.fields.iter().enumerate().rev() {
            let Some(edited) = edit.column(column).filter(|edited| edited.scalar != field.scalar) else {
                continue;
            };
            match keyword.as_slice() {
                b"SIZE" => replace(column + 1, edited.scalar.size().to_string().as_bytes()),
                b"TYPE" => replace(column + 1, b"F"),
                _ => {}
            }
        }
        if keyword == b"VIEWPOINT" && header.viewpoint.is_some() {
            for (k, number) in
                moved_pose(&line, &parts, how).ok_or_else(changed)?.into_iter().enumerate().rev()
            {
                let mut text = Vec::new();
                push_number(&mut text, number);
                let (begin, end) = parts[k + 1];
                line.splice(begin..end, text);
            }
        }
        out.write_all(&line)?;
    }
    Ok(())
}

/// Place and quaternion of the sensor, moved.
fn moved_pose(line: &[u8], parts: &[(usize, usize)], how: &Similarity) -> Option<[f64; 7]> {
    let number = |k: usize| {
        let &(begin, end) = parts.get(k + 1)?;
        std::str::from_utf8(&line[begin..end]).ok()?.parse::<f64>().ok()
    };
    let place = how.apply([number(0)?, number(1)?, number(2)?]);
    let turn = [number(3)?, number(4)?, number(5)?, number(6)?];
    // A quaternion that is none stays as it is.
    let turned = Similarity::from_quaternion(1.0, turn, [0.0; 3]).map_or(turn, |turn| {
        turn.then(&Similarity::new_unchecked(1.0, how.rotation(), [0.0; 3])).quaternion()
    });
    Some([place[0], place[1], place[2], turned[0], turned[1], turned[2], turned[3]])
}

fn copy_lines(
    reader: &mut impl BufRead,
    header: &Header,
    edit: &Edit,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    // The field of each word; words after the first of a field with several stand for no column.
    let columns: Vec<usize> = (0..)
        .zip(&header.fields)
        .flat_map(|(column, field)| (0..field.count).map(move |k| if k == 0 { column } else { usize::MAX }))
        .collect();
    let (mut line, mut edited, mut row) = (Vec::new(), Vec::new(), 0);
    while row < edit.len() {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Err(changed());
        }
        let text = line.trim_ascii();
        if text.is_empty() || text.starts_with(b"#") {
            out.write_all(&line)?;
            continue;
        }
        edited.clear();
        edit.push_words(&line, columns.iter().copied().zip(words(&line)), row, &mut edited)?;
        out.write_all(&edited)?;
        row += 1;
    }
    Ok(())
}

/// Copies compressed points: field by field, each field for all points.
fn copy_compressed(
    reader: &mut impl Read,
    header: &Header,
    edit: &Edit,
    out: &mut dyn Write,
) -> Result<(), Fault> {
    let mut sizes = [0; 8];
    reader.read_exact(&mut sizes)?;
    let size = |at: usize| Scalar::U32.decode(&sizes[at..], ByteOrder::Little) as usize;
    let mut block = Vec::new();
    reader.by_ref().take(size(0) as u64).read_to_end(&mut block)?;
    let values = lzf::decompress(&block, size(4)).map_err(|_| changed())?;
    let (mut values, mut edited) = (values.as_slice(), Vec::new());
    for (column, field) in header.fields.iter().enumerate() {
        for row in 0..edit.len() {
            push_field(&mut values, field, (row, column), edit, &mut edited)?;
        }
    }
    let packed = lzf::compress(&edited);
    let too_large = |_| io::Error::other("compressed PCD files hold at most 4 GiB; write another format");
    out.write_all(&u32::try_from(packed.len()).map_err(too_large)?.to_le_bytes())?;
    out.write_all(&u32::try_from(edited.len()).map_err(too_large)?.to_le_bytes())?;
    out.write_all(&packed)?;
    Ok(())
}
