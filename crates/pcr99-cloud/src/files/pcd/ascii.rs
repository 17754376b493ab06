//! Values as text: one line for each point.

use std::io::BufRead;

use super::header::Header;
use super::{PcdError, is_packed};
use crate::error::{Fault, Place, quote};
use crate::files::fields::Fields;
use crate::files::scalar::Scalar;
use crate::files::text::{MAX_LINE, Picks, Separator, number, read_line};

/// How the words of one field are read.
enum Step {
    /// Skip that many words.
    Skip(u64),
    /// One number, for that place of the row.
    Number(usize),
    /// The bits of one number, for that place of the row.
    Bits(usize, Scalar),
}

/// Hands the values of `fields` of each point to `row`.
pub(super) fn read(
    mut reader: impl BufRead,
    header: &Header,
    fields: &Fields,
    mut row: impl FnMut(&[f64]),
) -> Result<(), Fault> {
    let columns = fields.columns();
    let steps = steps(header, fields, &columns);
    let mut values = vec![0.0; columns.len()];
    let (mut line, mut byte, mut buffer, mut found) = (header.lines, header.bytes, Vec::new(), 0);
    let picks = picks(header, fields, &columns);
    while found < header.points {
        if let Some(picks) = &picks {
            let most = header.points - found;
            let taken = picks.lines(&mut reader, Separator::Space, most, &mut values, &mut row)?;
            (line, byte, found) = (line + taken.lines, byte + taken.bytes, found + taken.lines);
            if found == header.points {
                break;
            }
        }
        let length = read_line(&mut reader, &mut buffer)?;
        if length == 0 {
            let problem = PcdError::Truncated { promised: header.points, found };
            return Err(Fault::at(Place::Byte(byte), problem));
        }
        line += 1;
        byte += length as u64;
        let wrong = |problem| Fault::at(Place::Line(line), problem);
        if length > MAX_LINE {
            return Err(wrong(PcdError::LineTooLong));
        }
        let content = buffer.trim_ascii();
        if content.is_empty() || content.starts_with(b"#") {
            continue;
        }
        let text = std::str::from_utf8(content)
            .map_err(|_| wrong(PcdError::NotANumber { value: quote(&String::from_utf8_lossy(content)) }))?;
        pick(text, &steps, &mut values).map_err(|problem| {
            wrong(problem.unwrap_or_else(|many| PcdError::Values { many, fields: header.field_names() }))
        })?;
        row(&values);
        found += 1;
    }
    Ok(())
}

/// The words of a line that are the values of `columns`; `None` for packed colours, which are not read as numbers, and for very long lines.
fn picks(header: &Header, fields: &Fields, columns: &[usize]) -> Option<Picks> {
    /// Far above the number of values that points have.
    const MOST: u64 = 1000;
    let mut width = 0u64;
    let mut first = Vec::with_capacity(header.fields.len());
    for field in &header.fields {
        first.push(width as usize);
        width = width.saturating_add(field.count);
    }
    let usual = width <= MOST && !columns.iter().any(|&column| is_packed(fields, column));
    usual.then(|| Picks::new(width as usize, columns.iter().map(|&column| first[column])))
}

fn steps(header: &Header, fields: &Fields, columns: &[usize]) -> Vec<Step> {
    let step =
        |(at, field): (usize, &super::header::Field)| match columns.iter().position(|&column| column == at) {
            None => Step::Skip(field.count),
            Some(place) if is_packed(fields, at) => Step::Bits(place, field.scalar),
            Some(place) => Step::Number(place),
        };
    header.fields.iter().enumerate().map(step).collect()
}

/// Reads the values of one line; the error is the problem, or else whether there are too many values.
fn pick(line: &str, steps: &[Step], values: &mut [f64]) -> Result<(), Result<PcdError, bool>> {
    let mut words = line.split_ascii_whitespace();
    for step in steps {
        let mut next = || words.next().ok_or(Err(false));
        let wrong = |word| Ok(PcdError::NotANumber { value: quote(word) });
        match *step {
            Step::Skip(0) => {}
            Step::Skip(count) => {
                // Bounded by the words of a line, which is of bounded length.
                words.nth(usize::try_from(count - 1).unwrap_or(usize::MAX)).ok_or(Err(false))?;
            }
            Step::Number(place) => {
                let word = next()?;
                values[place] = number(word).ok_or_else(|| wrong(word))?;
            }
            Step::Bits(place, scalar) => {
                let word = next()?;
                values[place] = bits(word, scalar).ok_or_else(|| wrong(word))?;
            }
        }
    }
    if words.next().is_some() { Err(Err(true)) } else { Ok(()) }
}

/// The four bytes of a packed colour as a number. Text under a type `F` is either that float or, from some programs,
/// the whole number itself.
fn bits(word: &str, scalar: Scalar) -> Option<f64> {
    let is_whole = scalar != Scalar::F32 || word.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && let Ok(whole) = word.parse::<i64>() {
        return Some(f64::from(whole as u32));
    }
    let value = number(word)? as f32;
    Some(if value.is_nan() { 0.0 } else { f64::from(value.to_bits()) })
}
