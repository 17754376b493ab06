//! Lines of JSON with a checksum: damage is found when they are read back.
//!
//! The checksum is the last field of the object, so the line remains JSON that any program reads. It covers all bytes before it, and a text
//! that both sides know, the context: a line of another context is as good as damaged.

use std::fmt;

/// Text before the checksum.
const BEFORE: &str = ",\"checksum\":\"";
/// Text after the checksum, at the end of the line.
const AFTER: &str = "\"}";
/// Digits of the checksum, hexadecimal.
const DIGITS: usize = 16;

/// What is wrong with a line. Its text is a sentence without a full stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The line ends without a checksum.
    NoChecksum,
    /// The checksum is that of another text.
    OtherChecksum,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoChecksum => "it does not end with a checksum",
            Self::OtherChecksum => "its text does not have its checksum",
        })
    }
}

/// Adds a checksum to an object in JSON, which has at least one field and ends with its brace.
///
/// ```
/// use pcr99_base::sealed::{Damage, check, seal};
///
/// let line = seal(r#"{"angle":0.31}"#.into(), "");
/// assert_eq!(check(line.as_bytes(), ""), Ok(()));
/// assert_eq!(check(line.replace("0.31", "0.81").as_bytes(), ""), Err(Damage::OtherChecksum));
/// ```
pub fn seal(mut object: String, context: &str) -> String {
    debug_assert!(object.len() > 2 && object.ends_with('}'), "{object}");
    let checksum = checksum(&object, context);
    object.pop();
    object + BEFORE + &checksum + AFTER
}

/// Checksum that [`seal`] adds to an object.
pub fn checksum(object: &str, context: &str) -> String {
    hashed(context.as_bytes(), object.strip_suffix('}').unwrap_or(object).as_bytes())
}

/// Checks a line, with or without its end.
///
/// # Errors
/// When the line is not as [`seal`] returned it with this context.
pub fn check(line: &[u8], context: &str) -> Result<(), Damage> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let end = line.strip_suffix(AFTER.as_bytes()).ok_or(Damage::NoChecksum)?;
    let (start, digits) = end.split_at_checked(end.len().wrapping_sub(DIGITS)).ok_or(Damage::NoChecksum)?;
    let object = start.strip_suffix(BEFORE.as_bytes()).ok_or(Damage::NoChecksum)?;
    let expected = hashed(context.as_bytes(), object);
    if digits == expected.as_bytes() { Ok(()) } else { Err(Damage::OtherChecksum) }
}

/// 64-bit FNV-1a hash (Fowler, Noll, Vo) as hexadecimal digits. It finds every change of a single byte, and misses other damage with a
/// probability of about 10⁻¹⁹.
fn hashed(context: &[u8], object: &[u8]) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = |start: u64, bytes: &[u8]| {
        bytes.iter().fold(start, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
    };
    format!("{:016x}", hash(hash(OFFSET, context), object))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_check_value() {
        assert_eq!(hashed(b"", b""), "cbf29ce484222325");
        assert_eq!(hashed(b"", b"foobar"), "85944171f73967e8");
        assert_eq!(hashed(b"foo", b"bar"), "85944171f73967e8");
    }

    #[test]
    fn every_change_of_a_line_is_found() {
        let object = r#"{"method":"default","run":3,"rotation":-0.31,"names":["a","b"]}"#;
        let line = seal(object.into(), "context");
        assert_eq!(check(line.as_bytes(), "context"), Ok(()));
        assert_eq!(check(format!("{line}\n").as_bytes(), "context"), Ok(()));
        assert_eq!(check(line.as_bytes(), "other"), Err(Damage::OtherChecksum));
        assert_eq!(check(object.as_bytes(), "context"), Err(Damage::NoChecksum));
        for place in 0..line.len() {
            for bit in 0..8 {
                let mut damaged = line.clone().into_bytes();
                damaged[place] ^= 1 << bit;
                assert!(check(&damaged, "context").is_err(), "bit {bit} of byte {place}");
            }
            assert!(check(&line.as_bytes()[..place], "context").is_err(), "cut at {place}");
            assert!(check(&line.as_bytes()[place + 1..], "context").is_err(), "without the first {place}");
        }
        for short in ["", "}", "\"}", ",\"checksum\":\"\"}"] {
            assert!(check(short.as_bytes(), "context").is_err(), "{short}");
        }
    }
}
