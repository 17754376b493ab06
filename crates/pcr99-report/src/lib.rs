//! Reports of benchmarks: a summary, tables, figures, and one interactive page.
//!
//! [`Report::new`] takes the records that [`pcr99_lab::monte_carlo::Stored`] read from a directory. [`Report::write`] writes the files
//! of the report. Their kind depends on the records:
//!
//! | records | report |
//! |---|---|
//! | one number of matches | the paper's Tables I and II and Figures 2 and 3, and a table of times |
//! | several numbers of matches | success and time by number of matches and by outlier ratio |
//!
//! The same records give the same bytes. Times are CPU times, or wall-clock times where no CPU time was measured.

mod error;

pub mod evidence_limit;

mod figures;

mod page;

mod palette;

pub mod published;

mod report;

pub mod statistics;

pub mod summary;

pub mod tables;

pub use error::Error;
pub use report::Report;
pub use summary::{Cell, Summary};

/// Median times of all methods by outlier ratio, as SVG. `csv` is the content of the file `times.csv` of a report; `None` when it is something
/// else.
pub fn time_picture(csv: &str) -> Option<String> {
    figures::times::picture(csv)
}
