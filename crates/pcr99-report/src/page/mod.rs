//! Interactive page of a benchmark.

pub(crate) mod bench;

mod plots;

mod table_view;

/// A text for the page, with each percent sign on the line of its number.
fn tied(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}
