//! Clouds as text (XYZ, TXT, CSV, ASC, PTS): one point per row.
//!
//! Columns go by name when a header, or a comment above the first row, names x, y and z; else the first three are the
//! position and those after it are interpreted by `guess`. A first line with nothing but a whole number is the count
//! that `.pts` files begin with, and is held against the rows.

use std::io::{self, BufRead, Write};

use super::edit::{Edit, Open};
use super::fields::{Depth, Fields, Gather, Want};
use super::file::{Column, ExtraColumns};
use super::guess::{Habit, Unnamed, is_recognised};
use super::scalar::Scalar;
use super::text::{Picks, Rows, TextError, fields_of, number, read_line};
use super::writing::{push_number, write_records};
use crate::cloud::Cloud;
use crate::error::{Fault, Place, quote};
use pcr99::Similarity;

/// Reads the points of a table.
pub(super) fn read(reader: impl BufRead, want: Want, habit: Habit) -> Result<Cloud, Fault> {
    read_with_places(reader, want, habit).map(|(cloud, _)| cloud)
}

/// Where positions and normals are.
struct Places {
    /// Line of the first row, from 1.
    first_line: u64,
    position: [usize; 3],
    normal: Option<[usize; 3]>,
}

fn read_with_places(reader: impl BufRead, want: Want, habit: Habit) -> Result<(Cloud, Places), Fault> {
    let mut rows = Rows::new(reader)?;
    let promised = count(&mut rows)?;
    let first_line = rows.line();
    let mut places = Places { first_line, position: [0, 1, 2], normal: None };
    let cloud = match named_fields(&rows, want)? {
        Some(fields) => {
            (places.position, places.normal) = (fields.position, fields.normal);
            by_fields(&mut rows, &fields)?
        }
        None if rows.width() < 3 => {
            let (found, expected) = (rows.width(), "at least 3 are needed (x y z)");
            return Err(Fault::at(Place::Line(rows.line()), TextError::Columns { found, expected }));
        }
        // A header with other names says that the columns are not those that an unnamed table has.
        None if want == Want::Points || rows.header().is_some() => {
            by_fields(&mut rows, &Fields::positions([0, 1, 2]))?
        }
        None => {
            let cloud;
            (cloud, places.normal) = by_position(&mut rows, habit)?;
            cloud
        }
    };
    let found = cloud.len() as u64;
    match promised {
        Some(promised) if promised != found => {
            Err(Fault::at(Place::Line(rows.line()), TextError::Count { promised, found }))
        }
        _ => Ok((cloud, places)),
    }
}

/// The count that `.pts` files have in their first line, if this is one; it is skipped.
fn count(rows: &mut Rows<impl BufRead>) -> Result<Option<u64>, Fault> {
    if rows.header().is_some() || rows.width() != 1 {
        return Ok(None);
    }
    match rows.peek().text(0).parse() {
        Ok(count) if rows.skip_first()? => Ok(Some(count)),
        _ => Ok(None),
    }
}

/// The columns by name, if x, y and z are named.
fn named_fields(rows: &Rows<impl BufRead>, want: Want) -> Result<Option<Fields>, Fault> {
    let commented = rows.commented_header();
    let Some(header) = rows.header().or(commented.as_ref()) else { return Ok(None) };
    let [Some(x), Some(y), Some(z)] = header.find(["x", "y", "z"])? else { return Ok(None) };
    rows.check_header_width()?;
    let fields = Fields::positions([x, y, z]);
    let find = |name: &str| header.names.iter().position(|n| n == name);
    Ok(Some(match want {
        Want::Points => fields,
        Want::Everything => fields.with_names(find, |_| Depth::Any),
    }))
}

fn by_fields(rows: &mut Rows<impl BufRead>, fields: &Fields) -> Result<Cloud, Fault> {
    let columns = fields.columns();
    let picks = Picks::new(rows.width(), columns.iter().copied());
    let mut values = vec![0.0; columns.len()];
    let mut cloud = Gather::new(fields, 0)?;
    loop {
        rows.take_plain(&picks, &mut values, |values| cloud.push(values))?;
        let Some(row) = rows.next()? else { break };
        for (value, &column) in values.iter_mut().zip(&columns) {
            *value = row.number(column)?;
        }
        cloud.push(&values);
    }
    Ok(cloud.finish())
}

/// Reads a table without names; also returns the columns of the normals.
fn by_position(rows: &mut Rows<impl BufRead>, habit: Habit) -> Result<(Cloud, Option<[usize; 3]>), Fault> {
    let width = rows.width();
    let mut unnamed = Unnamed::new(width, habit);
    let (all, position) = (Picks::new(width, 0..width), Picks::new(width, 0..3));
    let mut values = vec![0.0; width];
    let mut points = Vec::new();
    loop {
        let picks = if unnamed.is_open() { &all } else { &position };
        rows.take_plain(picks, &mut values, |values| {
            points.push([values[0], values[1], values[2]]);
            unnamed.push(|column| Some(values[column]));
        })?;
        let Some(row) = rows.next()? else { break };
        points.push([row.number(0)?, row.number(1)?, row.number(2)?]);
        unnamed.push(|column| number(row.text(column)));
    }
    let mut cloud = Cloud::new(points);
    let normal = unnamed.normal_columns();
    unnamed.judge(&mut cloud);
    Ok((cloud, normal))
}

/// Columns that are no part of a [`Cloud`]; `reader` is at the beginning.
pub(super) fn extra_columns(reader: impl BufRead, habit: Habit) -> Result<ExtraColumns, Fault> {
    let mut rows = Rows::new(reader)?;
    count(&mut rows)?;
    let fields = named_fields(&rows, Want::Everything)?;
    let commented = rows.commented_header();
    let names = rows.header().or(commented.as_ref()).map_or(&[][..], |header| &header.names);
    let known = fields.map_or_else(|| vec![0, 1, 2], |fields| fields.columns());
    let mut extra =
        ExtraColumns { usable: known.clone(), columns: Vec::new(), together: 1, left_out: Vec::new() };
    for column in (0..rows.width()).filter(|column| !known.contains(column)) {
        match names.get(column) {
            Some(name) if fields.is_some() => extra.columns.push((column, name.clone(), Scalar::F64)),
            Some(name) => extra.left_out.push(format!("column {}, {}", column + 1, quote(name))),
            // Columns without names may have been recognised by their values.
            None if !is_recognised(rows.width(), habit) => {
                extra.left_out.push(format!("column {}", column + 1))
            }
            None => {}
        }
    }
    Ok(extra)
}

/// Reads three columns of numbers.
pub(super) fn read_columns(reader: impl BufRead, fields: &Fields) -> Result<Cloud, Fault> {
    let mut rows = Rows::new(reader)?;
    count(&mut rows)?;
    by_fields(&mut rows, fields)
}

/// Copies a table with its points moved; all other bytes stay. Returns the number of points.
pub(super) fn copy(
    open: Open<'_>,
    habit: Habit,
    how: &Similarity,
    out: &mut dyn Write,
) -> Result<u64, Fault> {
    let (cloud, places) = read_with_places(open()?.reader, Want::Everything, habit)?;
    let columns = Fields { normal: places.normal, ..Fields::positions(places.position) };
    let edit = Edit::new(cloud, how, &columns, |_| Scalar::F64)?;
    let mut reader = open()?.reader;
    let (mut line, mut edited, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    let (mut number, mut row) = (0, 0);
    while read_line(&mut reader, &mut line)? > 0 {
        number += 1;
        let content = String::from_utf8_lossy(&line);
        let start = content.len() - content.trim_ascii_start().len();
        let text = content.trim_ascii();
        let is_bare = text.bytes().all(|byte| matches!(byte, b',' | b';' | b' ' | b'\t'));
        if number < places.first_line || is_bare || text.starts_with('#') || text.starts_with("//") {
            out.write_all(&line)?;
            continue;
        }
        // The first line may begin with a byte order mark, which is no part of its first field.
        let mark = text.len() - text.trim_start_matches('\u{feff}').len();
        fields_of(&text[mark..], &mut fields);
        let places = fields.iter().map(|&(begin, end)| {
            let field = &text[mark + begin..mark + end];
            let begin = mark + begin + field.len() - field.trim_start().len();
            (start + begin, start + begin + field.trim().len())
        });
        edited.clear();
        edit.push_words(&line, places.enumerate(), row, &mut edited)?;
        out.write_all(&edited)?;
        row += 1;
    }
    Ok(edit.len() as u64)
}

/// How text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Separated by spaces; a comment names the columns when there are more than the position.
    Spaces,
    /// Separated by commas, with a header.
    Commas,
}

/// Writes all of `cloud` but its viewpoint; every number reads back to the same bits.
pub(super) fn write(
    out: &mut dyn Write,
    cloud: &Cloud,
    columns: &[Column],
    layout: Layout,
) -> io::Result<()> {
    let mut names = vec!["x", "y", "z"];
    let attributes: [(bool, &[&str]); 3] = [
        (cloud.normals.is_some(), &["nx", "ny", "nz"]),
        (cloud.colors.is_some(), &["red", "green", "blue"]),
        (cloud.intensities.is_some(), &["intensity"]),
    ];
    attributes.iter().filter(|(known, _)| *known).for_each(|(_, more)| names.extend(*more));
    let words: Vec<String> = columns.iter().map(Column::word).collect();
    names.extend(words.iter().map(String::as_str));
    let separator = match layout {
        Layout::Commas => {
            writeln!(out, "{}", names.join(","))?;
            b','
        }
        Layout::Spaces => {
            if names.len() > 3 {
                writeln!(out, "# {}", names.join(" "))?;
            }
            b' '
        }
    };
    write_records(out, cloud.len(), |i, row| {
        let start = row.len();
        let mut push = |value: f64| {
            if row.len() > start {
                row.push(separator);
            }
            push_number(row, value);
        };
        cloud.points[i].iter().for_each(|&value| push(value));
        cloud.normals.iter().for_each(|normals| normals[i].iter().for_each(|&value| push(value)));
        cloud.colors.iter().for_each(|colors| colors[i].iter().for_each(|&value| push(value.into())));
        cloud.intensities.iter().for_each(|intensities| push(intensities[i]));
        columns.iter().for_each(|column| push(column.values[i]));
        row.push(b'\n');
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Attribute::{Colors, Intensities, Normals};

    fn read(text: &str) -> Result<Cloud, String> {
        let read = |want| super::read(text.as_bytes(), want, Habit::Usual);
        let all = read(Want::Everything).map_err(|fault| fault.in_file("t").to_string());
        if let Ok(cloud) = &all {
            let points = read(Want::Points).expect("fewer columns are needed").points;
            assert_eq!(format!("{points:?}"), format!("{:?}", cloud.points));
        }
        all
    }

    fn points(text: &str) -> Result<Vec<[f64; 3]>, String> {
        read(text).map(|cloud| cloud.points)
    }

    #[test]
    fn columns_go_by_position_or_by_name() {
        assert_eq!(points("1 2 3 red\n4 5 6 blue\n"), Ok(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
        assert_eq!(points("//X Y Z\n1 2 3\n"), Ok(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(points("id,Z,Y,X\na,3,2,1\n"), Ok(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(points("east north height\n1 2 3\n"), Ok(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(points("# z y x\n3 2 1\n"), Ok(vec![[1.0, 2.0, 3.0]]));
        assert_eq!(points("# a note on x y z\n3 2 1\n"), Ok(vec![[3.0, 2.0, 1.0]]));
    }

    #[test]
    fn attributes_go_by_name_or_by_value() {
        let named =
            read("nx,ny,nz,X,Y,Z,R,G,B,label,Intensity\n0,0,1,1,2,3,9,8,7,house,-4\n").expect("a table");
        assert_eq!(named.normals, Some(vec![[0.0, 0.0, 1.0]]));
        assert_eq!((named.colors, named.intensities), (Some(vec![[9, 8, 7]]), Some(vec![-4.0])));
        let commented = read("//X,Y,Z,R,G,B\n1,2,3,0.5,0,1\n").expect("a table");
        assert_eq!(commented.colors, Some(vec![[128, 0, 255]]));
        assert_eq!(read("1 2 3 0.5\n").expect("a table").attributes(), [Intensities]);
        assert_eq!(read("1 2 3 0 1 0\n").expect("a table").attributes(), [Normals]);
        assert_eq!(read("1 2 3 10 20 30\n").expect("a table").attributes(), [Colors]);
        assert_eq!(read("x y z time\n1 2 3 0.5\n").expect("a table").attributes(), []);
        assert_eq!(read("a b c d\n1 2 3 0.5\n").expect("a table").attributes(), []);
        assert_eq!(
            read("x y z intensity\n1 2 3 low\n"),
            Err("t, line 2, column 4: `low` is not a number; correct or remove this row".into())
        );
    }

    #[test]
    fn a_count_in_the_first_line_is_held_against_the_rows() {
        assert_eq!(points("2\n1 2 3\n4 5 6\n"), Ok(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
        assert_eq!(
            points("3\n1 2 3\n4 5 6\n"),
            Err("t, line 3: the first line promises 3 points, but 2 follow; the file is truncated or its first line is \
                 wrong"
                .into())
        );
        assert_eq!(points("3\n"), Err("t, line 1: 1 column(s), but at least 3 are needed (x y z)".into()));
    }

    #[test]
    fn points_without_a_place_keep_theirs_in_the_list() {
        let points = points("nan nan nan\n1 2 3\ninf 0 0\n-nan(ind) 1.#QNAN 0\n").expect("four points");
        assert!(points[0][0].is_nan() && points[3][1].is_nan());
        assert_eq!(points[1..3], [[1.0, 2.0, 3.0], [f64::INFINITY, 0.0, 0.0]]);
    }

    #[test]
    fn too_few_columns_are_an_error() {
        assert_eq!(
            points("1 2\n"),
            Err("t, line 1: 2 column(s), but at least 3 are needed (x y z)".to_owned())
        );
    }
}
