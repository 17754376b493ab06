//! Interactive page of a benchmark.

/// Page of a benchmark.
pub(crate) mod bench;

/// Figures in Plotly's form.
mod plots;

/// Tables in the form of the template.
mod table_view;

/// A text for the page, with each percent sign on the line of its number.
fn tied(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}
