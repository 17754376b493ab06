//! Vertices of Wavefront OBJ files: lines `v x y z`, with a colour after the position in some; normals (`vn`) when there
//! is one for each vertex and faces, if there are any, use each with its own vertex only. All other lines are skipped.

use std::io::BufRead;

use super::fields::{Depth, Want, scaled};
use super::text::{MAX_LINE, number, read_line};
use crate::cloud::Cloud;
use crate::error::{Fault, Place, quote};

/// Error in an OBJ file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjError {
    /// A vertex or normal has fewer than three numbers.
    #[error("a line `{keyword}` needs at least three numbers; correct the line or export the file again")]
    Numbers {
        /// `v` or `vn`.
        keyword: &'static str,
    },
    /// A value that is not a number.
    #[error("{value} is not a number; correct the value or export the file again")]
    NotANumber {
        /// The value, quoted and shortened.
        value: String,
    },
    /// A line longer than any vertex.
    #[error("the line is too long for an OBJ file; export the file again")]
    LineTooLong,
}

/// State of the reader.
#[derive(Default)]
struct Vertices {
    points: Vec<[f64; 3]>,
    /// One for each point; none as soon as one point lacks a colour.
    colors: Option<Vec<[f32; 3]>>,
    normals: Vec<[f64; 3]>,
    /// Whether a face uses a normal with a vertex of another number.
    mixed: bool,
}

/// Reads the vertices.
pub(super) fn read(mut reader: impl BufRead, want: Want) -> Result<Cloud, Fault> {
    let mut found = Vertices { colors: Some(Vec::new()), ..Vertices::default() };
    let (mut line, mut buffer) = (0, Vec::new());
    while read_line(&mut reader, &mut buffer)? > 0 {
        line += 1;
        let wrong = |problem| Fault::at(Place::Line(line), problem);
        if buffer.len() > MAX_LINE {
            return Err(wrong(ObjError::LineTooLong));
        }
        // Names and comments may be in any encoding; lines of numbers are ASCII.
        let text = String::from_utf8_lossy(&buffer);
        let mut words = text.split_ascii_whitespace();
        match (words.next(), want) {
            (Some("v"), _) => found.vertex(words).map_err(wrong)?,
            (Some("vn"), Want::Everything) => found.normals.push(triple("vn", words).map_err(wrong)?),
            (Some("f"), Want::Everything) => words.for_each(|corner| found.corner(corner)),
            _ => {}
        }
    }
    let normals = (!found.mixed && found.normals.len() == found.points.len()).then_some(found.normals);
    let colors = found.colors.filter(|_| want == Want::Everything);
    Ok(Cloud {
        normals: normals.filter(|_| want == Want::Everything),
        colors: colors.and_then(|colors| scaled(&colors, Depth::Any)),
        ..Cloud::new(found.points)
    })
}

impl Vertices {
    fn vertex<'a>(&mut self, words: impl Iterator<Item = &'a str> + Clone) -> Result<(), ObjError> {
        self.points.push(triple("v", words.clone())?);
        // x y z, x y z w, x y z r g b; the format knows the last only by habit.
        if let Some(colors) = &mut self.colors {
            match triple("v", words.skip(3)) {
                Ok(color) => colors.push(color.map(|value| value as f32)),
                Err(_) => self.colors = None,
            }
        }
        Ok(())
    }

    /// A corner of a face: `vertex/texture/normal`, counted from 1, or backwards from −1 for the latest.
    fn corner(&mut self, corner: &str) {
        let mut numbers = corner.split('/');
        let (vertex, normal) = (numbers.next(), numbers.nth(1));
        let index = |text: Option<&str>, count: usize| {
            let number: i64 = text?.parse().ok()?;
            Some(if number < 0 { number.saturating_add(count as i64).saturating_add(1) } else { number })
        };
        if let Some(normal) = index(normal, self.normals.len()) {
            self.mixed |= index(vertex, self.points.len()) != Some(normal);
        }
    }
}

/// The first three of `words` as numbers.
fn triple<'a>(keyword: &'static str, mut words: impl Iterator<Item = &'a str>) -> Result<[f64; 3], ObjError> {
    let mut values = [0.0; 3];
    for value in &mut values {
        let word = words.next().ok_or(ObjError::Numbers { keyword })?;
        *value = number(word).ok_or_else(|| ObjError::NotANumber { value: quote(word) })?;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloud::Attribute::{Colors, Normals};

    fn read(text: &str) -> Result<Cloud, String> {
        super::read(text.as_bytes(), Want::Everything).map_err(|fault| fault.in_file("t").to_string())
    }

    #[test]
    fn vertices_with_and_without_colours() {
        let cloud = read("# c\r\no thing\r\nv 1 2 3\r\nv 4 5 6 1.0\r\nvt 0 0\r\nf 1 2 1\r\n").expect("two");
        assert_eq!(cloud, Cloud::new(vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]));
        let colored = read("v 1 2 3 1 0.5 0\nv 4 5 6 0 0 0\n").expect("two");
        assert_eq!(colored.colors, Some(vec![[255, 128, 0], [0, 0, 0]]));
        assert_eq!(read("v 1 2 3 1 0.5 0\nv 4 5 6\n").expect("two").attributes(), []);
        let points = super::super::obj::read(&b"v 1 2 3 1 0 0\nvn x\n"[..], Want::Points).expect("one");
        assert_eq!(points, Cloud::new(vec![[1.0, 2.0, 3.0]]));
    }

    #[test]
    fn normals_must_belong_to_vertices_one_to_one() {
        let two = "v 1 2 3\nvn 0 0 1\nv 4 5 6\nvn 0 1 0\n";
        assert_eq!(read(two).expect("two").normals, Some(vec![[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]));
        for (faces, attributes) in [
            ("f 1//1 2//2 1/7/1\n", &[Normals][..]),
            ("f -1//-1 -2//2\n", &[]),
            ("f -1//-1 -2//1\n", &[Normals]),
            ("f 1//2 2//2\n", &[]),
            ("f 1 2 2\n", &[Normals]),
            ("vn 1 0 0\n", &[]),
        ] {
            assert_eq!(read(&format!("{two}{faces}")).expect("two").attributes(), attributes, "{faces}");
        }
        let both = read("v 1 2 3 9 8 7\nvn 0 0 1\n").expect("one");
        assert_eq!((both.attributes(), both.colors), (vec![Normals, Colors], Some(vec![[9, 8, 7]])));
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let numbers = "a line `v` needs at least three numbers; correct the line or export the file again";
        assert_eq!(read("\nv 1 2\n"), Err(format!("t, line 2: {numbers}")));
        let value = "`z` is not a number; correct the value or export the file again";
        assert_eq!(read("v 1 2 z\n"), Err(format!("t, line 1: {value}")));
        assert!(read(&"f 1".repeat(1 << 20)).is_err_and(|error| error.contains("too long")));
    }
}
