//! Splits bytes into lines with content, one at a time in one reused buffer.

use std::io::{self, BufRead, Read};
use std::ops::Range;

use super::{Picks, Separator, TextError};
use crate::error::{Fault, Place};

/// The longest line accepted, in bytes. Far above any table, and it bounds the memory that a binary file
/// without line ends can take.
pub(crate) const MAX_LINE: usize = 1 << 20;

/// The longest comment that may be a header, in bytes.
const LONGEST_HEADER: usize = 4096;

/// First bytes of files that are often given by mistake, with their name and a remedy.
const SIGNATURES: [(&[u8], &str, &str); 12] = [
    (b"\x93NUMPY", "a NumPy array", "name it `.npy`"),
    (b"PK\x03\x04", "a ZIP or NumPy archive", "name it `.npz` if it holds matches, or unpack it"),
    (b"ply\n", "a PLY file", "such clouds are named `.ply`, and given where a cloud is expected"),
    (b"ply\r\n", "a PLY file", "such clouds are named `.ply`, and given where a cloud is expected"),
    (b"\xff\xfe", "UTF-16 text", "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "save it as UTF-8"),
    (b"\x1f\x8b", "a gzip file", "unpack it"),
    (b"\x89PNG", "a PNG picture", "give a table of numbers"),
    (b"%PDF", "a PDF document", "give a table of numbers"),
    (b"LASF", "a LAS file", "such clouds are named `.las`, and given where a cloud is expected"),
    (b"ASTM-E57", "an E57 file", "such clouds are named `.e57`, and given where a cloud is expected"),
    (b"# .PCD", "a PCD file", "such clouds are named `.pcd`, and given where a cloud is expected"),
];

/// Reads one line with its end into `buffer`; `0` at the end of the stream. More than [`MAX_LINE`] bytes
/// come back only when the line is longer than that, and then not all of it.
pub(crate) fn read_line(reader: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.clear();
    reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', buffer)
}

/// The lines of a text that are neither blank nor comments.
pub(crate) struct Lines<R> {
    reader: R,
    /// The current line; the buffer is reused.
    text: String,
    /// The part of `text` without surrounding white space.
    content: Range<usize>,
    /// Number of the current line, from 1.
    number: u64,
    /// Bytes read so far.
    read: u64,
    /// The last comment above the first line with content, without its marks: it may be a header.
    comment: Option<(u64, String)>,
    /// Whether a line with content has been found.
    begun: bool,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `reader`.
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, text: String::new(), content: 0..0, number: 0, read: 0, comment: None, begun: false }
    }

    /// Goes to the next line with content; `false` at the end.
    pub(crate) fn advance(&mut self) -> Result<bool, Fault> {
        while self.load()? {
            let line = self.text.trim_ascii();
            let only_separators = line.bytes().all(|byte| matches!(byte, b',' | b';' | b' ' | b'\t'));
            // Spreadsheets end their tables with rows of bare separators, which count as blank.
            if only_separators || line.starts_with('#') || line.starts_with("//") {
                if !self.begun && !only_separators && line.len() <= LONGEST_HEADER {
                    self.comment = Some((self.number, line.trim_start_matches(['#', '/']).trim().to_owned()));
                }
                continue;
            }
            self.begun = true;
            if line.contains('\r') {
                return Err(Fault::at(Place::Line(self.number), TextError::CarriageReturn));
            }
            let start = self.text.len() - self.text.trim_ascii_start().len();
            self.content = start..start + line.len();
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads plain lines, see [`Picks::lines`]. The next line to read is then not plain, or not whole in the buffer, or there is none.
    pub(crate) fn take_plain(
        &mut self,
        picks: &Picks,
        separator: Separator,
        values: &mut [f64],
        each: impl FnMut(&[f64]),
    ) -> Result<(), Fault> {
        let taken = picks.lines(&mut self.reader, separator, u64::MAX, values, each)?;
        self.number += taken.lines;
        self.read += taken.bytes;
        Ok(())
    }

    /// The current line without surrounding white space.
    pub(crate) fn text(&self) -> &str {
        &self.text[self.content.clone()]
    }

    /// The last comment above the first line with content, and its line.
    pub(crate) fn comment(&self) -> Option<(u64, &str)> {
        self.comment.as_ref().map(|(line, text)| (*line, text.as_str()))
    }

    /// Number of the current line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line, whatever it holds, and checks that it is text.
    fn load(&mut self) -> Result<bool, Fault> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        let length = read_line(&mut self.reader, &mut bytes)?;
        if length == 0 {
            return Ok(false);
        }
        let start = self.read;
        self.read += length as u64;
        self.number += 1;
        if self.number == 1 {
            if let Some((_, what, remedy)) = SIGNATURES.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
                return Err(Fault::whole(TextError::Foreign { what, remedy }));
            }
            if bytes.starts_with(b"\xef\xbb\xbf") {
                bytes[..3].fill(b' '); // a byte order mark: white space from here on, offsets stay right
            }
        }
        let not_text =
            |at: usize, what| Fault::at(Place::Byte(start + at as u64), TextError::NotText { what });
        // `contains` searches many bytes at a time, `position` one by one: only once it is known to be there.
        if bytes.contains(&0) {
            let at = bytes.iter().position(|&byte| byte == 0).unwrap_or_default();
            return Err(not_text(at, "a zero byte"));
        }
        let too_long = bytes.len() > MAX_LINE;
        self.text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // A line that was cut may end inside a character: that is not the fault to report.
            Err(error) if too_long && error.utf8_error().error_len().is_none() => String::new(),
            Err(error) => return Err(not_text(error.utf8_error().valid_up_to(), "bytes that are not UTF-8")),
        };
        if too_long {
            return Err(Fault::at(Place::Line(self.number), TextError::LineTooLong));
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Result<Vec<(u64, String)>, String> {
        let mut lines = Lines::new(bytes);
        let mut found = Vec::new();
        loop {
            match lines.advance() {
                Ok(true) => found.push((lines.number(), lines.text().to_owned())),
                Ok(false) => return Ok(found),
                Err(fault) => return Err(fault.in_file("t").to_string()),
            }
        }
    }

    #[test]
    fn blanks_comments_and_marks_are_passed_over() {
        let text = b"\xef\xbb\xbf 1 2 \r\n\r\n# c\n  // d\n,;, \n3,4\t";
        assert_eq!(all(text), Ok(vec![(1, "1 2".into()), (6, "3,4".into())]));
        assert_eq!(all(b""), Ok(vec![]));
    }

    #[test]
    fn what_is_not_text_is_named_with_its_place() {
        let not_text = |what| format!("this is not text ({what}); give a table of numbers, saved as UTF-8");
        assert_eq!(all(b"1 2\n3\x004"), Err(format!("t, byte 5: {}", not_text("a zero byte"))));
        assert_eq!(
            all(b"1 2\n3 \xff\n"),
            Err(format!("t, byte 6: {}", not_text("bytes that are not UTF-8")))
        );
        let png = all(b"\x89PNG\r\n\x1a\n");
        assert_eq!(
            png,
            Err("t: this is not a table of text but a PNG picture; give a table of numbers".into())
        );
        assert!(all(b"\x93NUMPY\x01\0").is_err_and(|e| e.ends_with("a NumPy array; name it `.npy`")));
        let message = "the line has a carriage return inside it; save the file with line ends \\n or \\r\\n";
        assert_eq!(all(b"1 2 3\r4 5 6\r"), Err(format!("t, line 1: {message}")));
        assert!(all(b"ply\nformat ascii 1.0\n").is_err_and(|e| e.contains("a PLY file")));
    }

    /// An endless line must be refused after about a mebibyte, not collected.
    #[test]
    fn a_line_without_end_is_refused() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'7')));
        let message = lines.advance().expect_err("no end").in_file("t").to_string();
        assert_eq!(
            message,
            "t, line 1: the line is longer than 1024 KiB, so this is no table of numbers; put one row on each line"
        );
        let mut cut = vec![b'a'; MAX_LINE];
        cut.extend("é".as_bytes());
        assert!(all(&cut).is_err_and(|e| e.contains("longer than")));
    }
}
