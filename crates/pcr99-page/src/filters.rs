//! Filters of the templates. Their results are escaped like any other text.

#![allow(unreachable_pub, reason = "the attribute of a filter makes public items")]

use std::fmt::Display;
#[cfg(feature = "pages")]
use std::fmt::Write as _;

use askama::{Result, Values};

/// Keeps a number and its percent sign on one line.
#[askama::filter_fn]
pub(crate) fn tied(text: impl Display, _: &dyn Values) -> Result<String> {
    Ok(text.to_string().replace(" %", "\u{a0}%"))
}

/// A relative file name as an address: a name that looks like another scheme must not become one.
#[cfg(feature = "pages")]
#[askama::filter_fn]
pub(crate) fn address(name: impl Display, _: &dyn Values) -> Result<String> {
    let mut link = String::from("./");
    for byte in name.to_string().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                link.push(char::from(byte));
            }
            other => write!(link, "%{other:02X}")?,
        }
    }
    Ok(link)
}
