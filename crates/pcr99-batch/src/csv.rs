//! Reader and writer of comma-separated values (RFC 4180), one record at a time.
//!
//! The separator is the most frequent of comma, semicolon and tab in the header. Spaces around a cell are removed, spaces inside quotes are
//! kept. A cell in quotes may contain separators, line ends and doubled quotes.

use std::io::{self, BufRead};

/// Largest record in bytes. Without a limit, a quote that is never closed would read the whole file into memory.
const LONGEST: usize = 1 << 20;

/// A mistake in a record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CsvError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The text has another encoding.
    #[error("the text is not UTF-8; save the file as CSV in UTF-8")]
    NotUtf8,
    /// A quote is not closed.
    #[error("a quote is opened but not closed; close it, or double quotes that are part of the text")]
    OpenQuote,
    /// Text follows a closing quote, as in `"a"b`.
    #[error("text follows a closing quote; double quotes that are part of the text")]
    AfterQuote,
    /// The record is too long for a row of a manifest.
    #[error("the row is longer than 1 MiB; check that the file is a CSV table")]
    TooLong,
}

/// A mistake with its line.
pub(crate) type Fault = (u64, CsvError);

/// A row of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    /// First line of the row, counted from 1.
    pub(crate) line: u64,
    /// Texts of the cells.
    pub(crate) cells: Vec<String>,
}

/// The rows of a table.
#[derive(Debug)]
pub(crate) struct Records<R> {
    reader: R,
    separator: u8,
    /// Lines read so far.
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Records<R> {
    /// The header, and a reader of the rows; `None` for a file without text.
    pub(crate) fn new(reader: R) -> Result<Option<(Cells, Self)>, Fault> {
        let mut records = Self { reader, separator: b',', line: 0, bytes: Vec::new() };
        if !records.next_line().map_err(|error| (records.line.max(1), error))? {
            return Ok(None);
        }
        let line = records.line;
        if records.bytes.starts_with(b"\xEF\xBB\xBF") {
            records.bytes.drain(..3);
        }
        records.separator = separator_of(&records.bytes);
        let cells = records.split().map_err(|error| (line, error))?;
        Ok(Some((Cells { line, cells }, records)))
    }

    /// The next row that is not blank.
    pub(crate) fn next(&mut self) -> Result<Option<Cells>, Fault> {
        if !self.next_line().map_err(|error| (self.line, error))? {
            return Ok(None);
        }
        let line = self.line;
        Ok(Some(Cells { line, cells: self.split().map_err(|error| (line, error))? }))
    }

    /// Reads a line that is not blank; `false` at the end.
    fn next_line(&mut self) -> Result<bool, CsvError> {
        loop {
            self.bytes.clear();
            if !self.more()? {
                return Ok(false);
            }
            let text = self.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.bytes);
            if !text.iter().all(u8::is_ascii_whitespace) {
                return Ok(true);
            }
        }
    }

    /// Appends a line to the current record; `false` at the end.
    fn more(&mut self) -> Result<bool, CsvError> {
        let before = self.bytes.len();
        let room = (LONGEST - before.min(LONGEST)) as u64 + 1;
        io::Read::take(&mut self.reader, room).read_until(b'\n', &mut self.bytes)?;
        self.line += u64::from(self.bytes.len() > before);
        if self.bytes.len() > LONGEST { Err(CsvError::TooLong) } else { Ok(self.bytes.len() > before) }
    }

    /// Cells of the current record. Reads more lines when a cell spans several.
    fn split(&mut self) -> Result<Vec<String>, CsvError> {
        let mut cells = Vec::new();
        let mut at = 0;
        loop {
            let blank = |byte: u8| byte == b' ' || (byte == b'\t' && self.separator != b'\t');
            while self.bytes.get(at).copied().is_some_and(blank) {
                at += 1;
            }
            let cell;
            (cell, at) =
                if self.bytes.get(at) == Some(&b'"') { self.quoted(at + 1)? } else { self.plain(at) };
            cells.push(String::from_utf8(cell).map_err(|_| CsvError::NotUtf8)?);
            if self.bytes.get(at) != Some(&self.separator) {
                return Ok(cells);
            }
            at += 1;
        }
    }

    /// A cell without quotes that begins at `start`, and its end.
    fn plain(&self, start: usize) -> (Vec<u8>, usize) {
        let rest = &self.bytes[start..];
        let length =
            rest.iter().position(|&byte| byte == self.separator || byte == b'\n').unwrap_or(rest.len());
        (rest[..length].trim_ascii_end().to_vec(), start + length)
    }

    /// A cell in quotes whose text begins at `at`, and its end.
    fn quoted(&mut self, mut at: usize) -> Result<(Vec<u8>, usize), CsvError> {
        let mut cell = Vec::new();
        loop {
            match (self.bytes.get(at), self.bytes.get(at + 1)) {
                (Some(b'"'), Some(b'"')) => {
                    cell.push(b'"');
                    at += 2;
                }
                (Some(b'"'), _) => break,
                (Some(&byte), _) => {
                    cell.push(byte);
                    at += 1;
                }
                (None, _) => match self.more() {
                    Ok(true) => {}
                    Ok(false) | Err(CsvError::TooLong) => return Err(CsvError::OpenQuote),
                    Err(error) => return Err(error),
                },
            }
        }
        let (after, end) = self.plain(at + 1);
        if after.trim_ascii().is_empty() { Ok((cell, end)) } else { Err(CsvError::AfterQuote) }
    }
}

/// Separator of the header.
fn separator_of(header: &[u8]) -> u8 {
    let count = |separator: u8| header.iter().filter(|&&byte| byte == separator).count();
    let [commas, semicolons, tabs] = [b',', b';', b'\t'].map(count);
    if commas >= semicolons && commas >= tabs {
        b','
    } else if semicolons >= tabs {
        b';'
    } else {
        b'\t'
    }
}

/// A record as a line; cells are in quotes where needed.
pub(crate) fn line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for (column, cell) in cells.into_iter().enumerate() {
        if column > 0 {
            line.push(',');
        }
        let needs_quotes = cell.contains([',', ';', '\t', '"', '\n', '\r']) || cell.trim() != cell;
        if needs_quotes {
            line.push('"');
            line.push_str(&cell.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(cell);
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn table(bytes: &[u8]) -> Result<Vec<Cells>, String> {
        let told = |(line, error): Fault| format!("line {line}: {error}");
        let Some((header, mut records)) = Records::new(bytes).map_err(told)? else { return Ok(Vec::new()) };
        let mut all = vec![header];
        while let Some(row) = records.next().map_err(told)? {
            all.push(row);
        }
        Ok(all)
    }

    fn cells(text: &str) -> Vec<Vec<String>> {
        table(text.as_bytes()).expect("a table").into_iter().map(|row| row.cells).collect()
    }

    #[test]
    fn what_programs_write_is_read() {
        let expected = vec![vec!["a", "b"], vec!["1, x", "say \"hi\""], vec!["", "two\nlines"]];
        for text in [
            "a,b\n\"1, x\",\"say \"\"hi\"\"\"\n,\"two\nlines\"\n",
            "\u{feff}a,b\r\n\"1, x\",\"say \"\"hi\"\"\"\r\n\r\n,\"two\nlines\"\r\n",
            "a;b\n1, x;\"say \"\"hi\"\"\"\n;\"two\nlines\"",
            "a\tb\n1, x\tsay \"hi\"\n\t\"two\nlines\"",
            "\n  \na , b\n \"1, x\" , \"say \"\"hi\"\"\" \n  , \"two\nlines\"\n\n",
        ] {
            assert_eq!(cells(text), expected, "{text:?}");
        }
        assert_eq!(table(b"").expect("nothing").len(), 0);
        assert_eq!(table("\u{feff}\n \n".as_bytes()).expect("nothing").len(), 0);
        assert_eq!(cells("id\n\" kept \"\n"), [["id"], [" kept "]]);
    }

    #[test]
    fn lines_are_those_of_an_editor() {
        let lines: Vec<u64> =
            table(b"\na,b\n1,\"x\ny\nz\"\n\n2,w\n").expect("a table").iter().map(|row| row.line).collect();
        assert_eq!(lines, [2, 3, 7]);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let endless = format!("a,b\n1,2\n3,\"{}", "x\n".repeat(LONGEST));
        let long = format!("a,b\n1,{}\n", "x".repeat(LONGEST));
        for (bytes, message) in [
            (&b"a,b\n1,\"x\n2,y\n"[..], "line 2: a quote is opened but not closed"),
            (endless.as_bytes(), "line 3: a quote is opened but not closed"),
            (long.as_bytes(), "line 2: the row is longer than"),
            (b"a,b\n\"1\"2,3\n", "line 2: text follows a closing quote"),
            (b"a,b\n1,caf\xe9\n", "line 2: the text is not UTF-8"),
            (b"\xff\xfea\0,\0b\0\n\0", "line 1: the text is not UTF-8"),
        ] {
            let error = table(bytes).expect_err(message);
            assert!(error.starts_with(message), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(rows in vec(vec(any::<String>(), 3), 1..8)) {
            let mut text = line(["a", "b", "c"]);
            for row in &rows {
                text += &line(row.iter().map(String::as_str));
            }
            let read = cells(&text);
            // White space of other kinds than blanks is kept too: only what is at the ends, outside of quotes, would go.
            prop_assert_eq!(&read[1..], &rows[..]);
        }

        #[test]
        fn nothing_makes_it_panic(bytes in vec(any::<u8>(), 0..200)) {
            let _ = table(&bytes);
        }
    }
}
