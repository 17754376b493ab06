//! Plain rows: numbers without any of the freedoms that tables of text may take. Nearly all rows are plain, so they are read where they lie in
//! the reader's buffer, in one pass. All other rows, and all mistakes, are left to [`Rows`](super::Rows), which decides what they mean.

use std::io::{self, BufRead};

use super::{MAX_LINE, decimal};

/// Separator of the fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Separator {
    /// One such byte, with any white space around it; two in a row enclose an empty field.
    Byte(u8),
    /// Any run of spaces and tabs.
    Space,
}

/// Columns of a table whose numbers are wanted.
pub(crate) struct Picks {
    /// For each column, the place of its number in the list of values, if it is wanted.
    places: Vec<Option<usize>>,
}

/// What was read.
pub(crate) struct Taken {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

impl Picks {
    /// The `columns` of a table of `width` columns, all different, in the order of the list of values.
    pub(crate) fn new(width: usize, columns: impl IntoIterator<Item = usize>) -> Self {
        let mut places = vec![None; width];
        for (place, column) in columns.into_iter().enumerate() {
            debug_assert!(places[column].is_none(), "column {column} is wanted twice");
            places[column] = Some(place);
        }
        Self { places }
    }

    /// Reads up to `most` plain lines into `values`, one after the other, as long as they lie whole in the buffer of `reader`, and hands each to
    /// `each`.
    pub(crate) fn lines(
        &self,
        reader: &mut impl BufRead,
        separator: Separator,
        most: u64,
        values: &mut [f64],
        mut each: impl FnMut(&[f64]),
    ) -> io::Result<Taken> {
        let mut taken = Taken { lines: 0, bytes: 0 };
        while taken.lines < most {
            let buffer = match reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut at = 0;
            while taken.lines < most {
                let rest = &buffer[at..];
                let Some(length) = self.line(&rest[..rest.len().min(MAX_LINE)], separator, values) else {
                    break;
                };
                each(values);
                at += length;
                taken.lines += 1;
            }
            let is_whole = at == buffer.len();
            reader.consume(at);
            taken.bytes += at as u64;
            if at == 0 || !is_whole {
                break;
            }
        }
        Ok(taken)
    }

    /// Reads the line at the beginning of `bytes` into `values`, if it ends there and is plain; returns its length with its end.
    ///
    /// Wanted fields are decimal numbers. Others are any letters, digits and marks except separators, but the first one begins like a
    /// number, so that no comment is taken for a row.
    fn line(&self, bytes: &[u8], separator: Separator, values: &mut [f64]) -> Option<usize> {
        let mut at = after_blanks(bytes, 0);
        for (column, place) in self.places.iter().enumerate() {
            if column > 0 {
                at = match (after_blanks(bytes, at), separator) {
                    (next, Separator::Space) if next > at => next,
                    (next, Separator::Byte(mark)) if bytes.get(next) == Some(&mark) => {
                        after_blanks(bytes, next + 1)
                    }
                    _ => return None,
                };
            }
            let rest = &bytes[at..];
            at += match place {
                Some(place) => {
                    let length;
                    (values[*place], length) = decimal::leading(rest)?;
                    length
                }
                None if column == 0 && !matches!(rest.first()?, b'0'..=b'9' | b'+' | b'-' | b'.') => {
                    return None;
                }
                None => match rest
                    .iter()
                    .position(|byte| !byte.is_ascii_graphic() || matches!(byte, b',' | b';'))?
                {
                    0 => return None,
                    length => length,
                },
            };
        }
        at = after_blanks(bytes, at);
        at += usize::from(bytes.get(at) == Some(&b'\r'));
        (bytes.get(at) == Some(&b'\n')).then_some(at + 1)
    }
}

/// The place of the first byte from `at` on that is neither space nor tab.
fn after_blanks(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}
