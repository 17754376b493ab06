//! Reports of benchmarks: a summary, the paper's tables and figures, and one interactive page.
//!
//! [`Report::new`] takes what [`pcr99_lab::monte_carlo::Stored`] read from a directory, [`Report::write`] puts the documents beside
//! the records. Which ones depends on the records: of one number of matches the paper's Tables I and II and Figures 2 and 3, of
//! several how success and time depend on that number, and on the share of wrong matches.
//!
//! The same records give the same bytes. Times are CPU times, where the records have them.

mod error;

/// How many right matches can be told from chance.
pub mod evidence_limit;

/// Drawings, the same for a file and for the page.
mod figures;

/// Interactive page of a benchmark.
mod page;

/// Colours and fills that can be told apart.
mod palette;

/// The numbers of the paper.
pub mod published;

mod report;

/// Quantiles.
pub mod statistics;

/// What the records of one method on one kind of problem come to.
pub mod summary;

/// Tables as Markdown, CSV and HTML.
pub mod tables;

pub use error::Error;
pub use report::Report;
pub use summary::{Cell, Summary};

/// Median times of all methods against the share of wrong matches, as SVG, from the table `times.csv` that a report writes; `None`
/// when the text is not such a table.
pub fn time_picture(csv: &str) -> Option<String> {
    figures::times::picture(csv)
}
