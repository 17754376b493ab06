//! Splits lines into rows of fields with the same number of columns, below an optional header.

use std::io::BufRead;

use super::{Hint, Lines, Picks, Separator, TextError, number};
use crate::error::{Fault, Place, quote};

impl Separator {
    /// The strongest separator in `line` wins: where there are semicolons, a comma can only be a decimal
    /// mark; where there are commas, spaces only pad.
    fn of(line: &str) -> Self {
        match line.as_bytes() {
            bytes if bytes.contains(&b';') => Self::Byte(b';'),
            bytes if bytes.contains(&b',') => Self::Byte(b','),
            _ => Self::Space,
        }
    }
}

/// The rows of a table, below its header if it has one.
pub(crate) struct Rows<R> {
    lines: Lines<R>,
    header: Option<Header>,
    /// Begin and end of each field of the current line; memory is used again for the next.
    fields: Vec<(usize, usize)>,
    separator: Separator,
    /// Columns of the first row, and so of each.
    width: usize,
    /// Whether the current line is the first row, split already but not handed out yet.
    waiting: bool,
}

/// The header of a table.
pub(crate) struct Header {
    /// Its line, from 1.
    pub(crate) line: u64,
    /// Names in lower case, without surrounding quotation marks.
    pub(crate) names: Vec<String>,
}

impl Header {
    /// Column of each of the `wanted` names, if present; a repeated name is an error.
    pub(crate) fn find<const N: usize>(
        &self,
        wanted: [&'static str; N],
    ) -> Result<[Option<usize>; N], Fault> {
        let mut found = [None; N];
        for (name, place) in wanted.into_iter().zip(&mut found) {
            let mut columns =
                self.names.iter().enumerate().filter(|(_, n)| *n == name).map(|(column, _)| column);
            *place = columns.next();
            if columns.next().is_some() {
                return Err(Fault::at(Place::Line(self.line), TextError::DuplicateName { name }));
            }
        }
        Ok(found)
    }
}

impl<R: BufRead> Rows<R> {
    /// Reads as far as the first row. The first line is a header when none of its fields is a number; when
    /// only some are, it is a row with a mistake, since headers do not name columns `1.5`.
    pub(crate) fn new(reader: R) -> Result<Self, Fault> {
        let mut rows = Self {
            lines: Lines::new(reader),
            header: None,
            fields: Vec::new(),
            separator: Separator::Space,
            width: 0,
            waiting: true,
        };
        if !rows.load()? {
            return Err(Fault::whole(TextError::Empty));
        }
        let row = rows.row();
        if !(0..row.fields.len()).any(|column| is_meant_as_number(row.text(column))) {
            let name = |column| row.text(column).trim_matches(['"', '\'']).trim().to_ascii_lowercase();
            let names = (0..row.fields.len()).map(name).collect();
            rows.header = Some(Header { line: row.line, names });
            if !rows.load()? {
                return Err(Fault::whole(TextError::HeaderOnly));
            }
        }
        rows.width = rows.fields.len();
        Ok(rows)
    }

    /// Drops the first row; `false` when no other follows.
    pub(crate) fn skip_first(&mut self) -> Result<bool, Fault> {
        let more = self.load()?;
        self.width = self.fields.len();
        Ok(more)
    }

    /// A comment above the first row that has as many names as there are columns, as some programs write their header.
    pub(crate) fn commented_header(&self) -> Option<Header> {
        let (line, text) = self.lines.comment()?;
        let mut fields = Vec::new();
        split(text, Separator::of(text), &mut fields);
        let names: Vec<String> =
            fields.iter().map(|&(begin, end)| text[begin..end].trim().to_ascii_lowercase()).collect();
        (names.len() == self.width).then_some(Header { line, names })
    }

    /// The first row, before it is handed out.
    pub(crate) fn peek(&self) -> Row<'_> {
        self.row()
    }

    /// The header, if there is one.
    pub(crate) fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Columns of each row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Number of the current line, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Checks that each column has a name, for readers that go by name.
    pub(crate) fn check_header_width(&self) -> Result<(), Fault> {
        match &self.header {
            Some(header) if header.names.len() != self.width => {
                let problem = TextError::HeaderWidth { header: header.names.len(), row: self.width };
                Err(Fault::at(Place::Line(header.line), problem))
            }
            _ => Ok(()),
        }
    }

    /// Reads further rows into `values`, one after the other, as long as they are plain numbers, and hands each to `each`. The row after them, if there
    /// is one, is to be read by [`next`](Self::next).
    pub(crate) fn take_plain(
        &mut self,
        picks: &Picks,
        values: &mut [f64],
        each: impl FnMut(&[f64]),
    ) -> Result<(), Fault> {
        if self.waiting {
            return Ok(());
        }
        // The separator may change from line to line. A line with another one is not plain.
        self.lines.take_plain(picks, self.separator, values, each)
    }

    /// The next row; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Fault> {
        if !std::mem::take(&mut self.waiting) {
            if !self.load()? {
                return Ok(None);
            }
            if self.fields.len() != self.width {
                let problem = TextError::Ragged { found: self.fields.len(), expected: self.width };
                return Err(Fault::at(Place::Line(self.line()), problem));
            }
        }
        Ok(Some(self.row()))
    }

    /// Reads the next line and splits it.
    fn load(&mut self) -> Result<bool, Fault> {
        if !self.lines.advance()? {
            return Ok(false);
        }
        let line = self.lines.text();
        self.separator = Separator::of(line);
        split(line, self.separator, &mut self.fields);
        Ok(true)
    }

    fn row(&self) -> Row<'_> {
        let (line, text) = (self.lines.number(), self.lines.text());
        Row { line, content: text, fields: &self.fields, separator: self.separator }
    }
}

/// Whether `field` is a number, or would be one with a decimal point: a row of decimal commas must not be
/// taken for a header and lost.
fn is_meant_as_number(field: &str) -> bool {
    field.parse::<f64>().is_ok() || (field.contains(',') && field.replace(',', ".").parse::<f64>().is_ok())
}

/// Begin and end of the fields of a row, which neither begins nor ends with white space.
pub(crate) fn fields_of(line: &str, fields: &mut Vec<(usize, usize)>) {
    split(line, Separator::of(line), fields);
}

/// Begin and end of the fields of `line`, which neither begins nor ends with white space.
fn split(line: &str, separator: Separator, fields: &mut Vec<(usize, usize)>) {
    fields.clear();
    let bytes = line.as_bytes();
    let mut begin = 0;
    match separator {
        Separator::Space => {
            for (at, byte) in bytes.iter().enumerate() {
                if byte.is_ascii_whitespace() {
                    if begin < at {
                        fields.push((begin, at));
                    }
                    begin = at + 1;
                }
            }
        }
        Separator::Byte(mark) => {
            for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == mark) {
                fields.push((begin, at));
                begin = at + 1;
            }
        }
    }
    if begin < bytes.len() {
        fields.push((begin, bytes.len())); // nothing after the last separator is no field
    }
}

/// One row of a table.
pub(crate) struct Row<'a> {
    line: u64,
    content: &'a str,
    fields: &'a [(usize, usize)],
    separator: Separator,
}

impl<'a> Row<'a> {
    /// The place of a field, for messages.
    pub(crate) fn place(&self, column: usize) -> Place {
        Place::Field { line: self.line, column: column + 1 }
    }

    /// A field without surrounding white space.
    pub(crate) fn text(&self, column: usize) -> &'a str {
        let (begin, end) = self.fields[column];
        self.content[begin..end].trim_ascii()
    }

    /// A field as a number, which may be NaN or infinite.
    pub(crate) fn number(&self, column: usize) -> Result<f64, Fault> {
        let field = self.text(column);
        number(field).ok_or_else(|| Fault::at(self.place(column), self.not_a_number(field)))
    }

    fn not_a_number(&self, field: &str) -> TextError {
        let hint = match self.separator {
            _ if field.is_empty() => return TextError::EmptyField,
            Separator::Byte(b';') if field.contains(',') => Hint::DecimalComma,
            Separator::Byte(b',') if field.contains([' ', '\t']) => Hint::MixedSeparators,
            _ => Hint::None,
        };
        TextError::NotANumber { field: quote(field), hint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*, sample::select};

    type Table = (Option<Vec<String>>, Vec<Vec<f64>>);

    fn table(text: &str) -> Result<Table, String> {
        let read = || {
            let mut rows = Rows::new(text.as_bytes())?;
            let header = rows.header().map(|header| header.names.clone());
            let (width, mut numbers) = (rows.width(), Vec::new());
            while let Some(row) = rows.next()? {
                numbers.push((0..width).map(|c| row.number(c)).collect::<Result<_, _>>()?);
            }
            Ok((header, numbers))
        };
        read().map_err(|fault: Fault| fault.in_file("t").to_string())
    }

    #[test]
    fn every_separator_gives_the_same_table() {
        let expected = (None, vec![vec![1.0, -2.5, 3e4], vec![4.0, 5.0, 6.0]]);
        for text in [
            "1,-2.5,3e4\n4,5,6\n",
            "1 -2.5   3e4\r\n4\t5 \t6",
            "1;-2.5;3e4\n4 ; 5 ; 6;\n",
            " 1 , -2.5,3e4 ,\n#\n\n4, 5, 6,\n",
            "1,-2.5,3e4\n4 5 6\n",
        ] {
            assert_eq!(table(text), Ok(expected.clone()), "{text:?}");
        }
    }

    #[test]
    fn a_header_is_a_line_without_numbers() {
        let named = (Some(vec!["x".to_owned(), "point id".to_owned()]), vec![vec![1.0, 2.0]]);
        assert_eq!(table("\"X\", Point ID\n1,2\n"), Ok(named));
        let nan = table("nan inf\n1 2\n").expect("numbers in the sense of f64");
        assert_eq!((nan.0, nan.1.len()), (None, 2));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        for (text, message) in [
            ("", "t: the file is empty; it needs rows of numbers"),
            ("# x\n\n", "t: the file is empty; it needs rows of numbers"),
            ("x y\n", "t: there are no rows of numbers below the header"),
            ("x 1\n", "t, line 1, column 1: `x` is not a number; correct or remove this row"),
            ("1 2\n\n3 4x\n", "t, line 3, column 2: `4x` is not a number; correct or remove this row"),
            ("1,,2\n", "t, line 1, column 2: the field is empty; complete or remove this row"),
            ("1 2\n3\n", "t, line 2: 1 column(s), but the rows above have 2; complete or remove this row"),
            (
                "1,5;2,0\n",
                "t, line 1, column 1: `1,5` is not a number; write decimals with a point, not a comma",
            ),
            (
                "1,5 2,5\n",
                "t, line 1, column 2: `5 2` is not a number; the line mixes commas and spaces: separate columns by \
                 one of them, and write decimals with a point",
            ),
        ] {
            assert_eq!(table(text), Err(message.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn names_must_be_unique_and_complete() {
        let rows = Rows::new(&b"a b a\n1 2\n"[..]).expect("rows");
        let header = rows.header().expect("header");
        assert_eq!(header.find(["b", "c"]).expect("unique"), [Some(1), None]);
        let twice = header.find(["a"]).expect_err("twice").in_file("t").to_string();
        assert_eq!(twice, "t, line 1: the header names two columns `a`; rename or remove one");
        let width = rows.check_header_width().expect_err("3 names, 2 columns").in_file("t").to_string();
        assert_eq!(
            width,
            "t, line 1: the header names 3 column(s), but the first row below it has 2; give each column one name"
        );
    }

    /// All rows of `text` as bits, the columns of the first row in reverse and without `left_out`; plain rows by the short
    /// cut if `short`.
    fn bits(text: &str, left_out: usize, short: bool, buffer: usize) -> Result<Vec<Vec<u64>>, String> {
        let read = || {
            let mut rows = Rows::new(std::io::BufReader::with_capacity(buffer, text.as_bytes()))?;
            let width = rows.width();
            let columns: Vec<usize> = (0..width).rev().filter(|&column| column != left_out).collect();
            let picks = Picks::new(width, columns.iter().copied());
            let (mut values, mut all) = (vec![0.0; columns.len()], Vec::new());
            let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
            loop {
                if short {
                    rows.take_plain(&picks, &mut values, |values| all.push(bits(values)))?;
                }
                let Some(row) = rows.next()? else { return Ok(all) };
                for (value, &column) in values.iter_mut().zip(&columns) {
                    *value = row.number(column)?;
                }
                all.push(bits(&values));
            }
        };
        read().map_err(|fault: Fault| fault.in_file("t").to_string())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The short cut changes nothing: neither values nor messages, whatever the text and the reader's buffer.
        #[test]
        fn plain_rows_are_rows(
            fields in vec(prop_oneof![
                9 => select(vec!["1", "-2.5", "3e4", "+.5", "0.1234567890123456789", "4."]),
                1 => select(vec!["nan", "inf", "1e999", "x", "a b", "#", "# c", "//", "", "1,5", "é", "\0", "1\r2", "1\n", "1-2", "1e", "-"]),
            ], 1..40),
            width in 1..5usize,
            separator in select(vec![" ", ",", ";", "\t", " , ", "  ", ", "]),
            other in select(vec![" ", ",", ";", ",,"]), odd in 0..20usize,
            end in select(vec!["\n", "\r\n", " \n", ",\n", "\n\n", "\n# c\n"]),
            left_out in 0..6usize, buffer in select(vec![1usize, 7, 30, 10_000]),
        ) {
            let mut text = String::new();
            for (i, field) in fields.iter().enumerate() {
                text += field;
                text += if i % width == width - 1 { end } else if i == odd { other } else { separator };
            }
            prop_assert_eq!(bits(&text, left_out, true, buffer), bits(&text, left_out, false, 10_000), "{:?}", text);
        }
    }

    /// Otherwise the test above would compare a thing with itself.
    #[test]
    fn usual_tables_take_the_short_cut() {
        for text in
            ["1 2 3\n4 5 6\n", "1,2,3\r\n4,5,6\r\n", "1; 2; 3\n 4;\t5 ;6e-1 \n", "x y z\n1 a 3\n4 b 6\n"]
        {
            let mut rows = Rows::new(text.as_bytes()).expect("a table");
            let picks = Picks::new(3, [2, 0]);
            let mut plain = 0;
            rows.take_plain(&picks, &mut [0.0; 2], |_| plain += 1).expect("text");
            assert_eq!(plain, 0, "the first row is split already");
            rows.next().expect("a row");
            rows.take_plain(&picks, &mut [0.0; 2], |_| plain += 1).expect("text");
            assert_eq!(plain, 1, "{text:?}");
            assert!(rows.next().expect("the end").is_none());
        }
    }
}
