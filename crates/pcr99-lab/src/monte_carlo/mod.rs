//! The paper's evaluation (Sec. VII): every method on the same random problems.
//!
//! A [`Configuration`] holds the settings. A [`Plan`] is a checked configuration and lists the problems in order. [`run`] solves them. Each
//! solved problem is a [`Record`], which a [`Journal`] stores at once, so that a killed benchmark can be resumed.
//!
//! ```
//! use pcr99_lab::monte_carlo::{self, Configuration, Jobs, Plan, Size};
//! use pcr99_baselines::Method;
//! use pcr99_lab::Shape;
//!
//! let configuration = Configuration {
//!     methods: vec![Method::Default],
//!     sizes: vec![Size { points: 100, outlier_ratio: 0.5 }],
//!     runs: 2,
//!     ..Configuration::quick()
//! };
//! let plan = Plan::new(configuration, Shape::Knot)?;
//! let mut records = Vec::new();
//! monte_carlo::run(&plan, &|_| false, Jobs::One, &|| false, &mut |record| {
//!     records.push(record);
//!     Ok(())
//! })?;
//! // Two problems with known and two with unknown scale, each solved by the method and by the reference.
//! assert_eq!(records.len(), 8);
//! assert!(records.iter().all(|record| record.rotation_deg < Some(5.0)));
//! # Ok::<(), monte_carlo::Error>(())
//! ```

/// Settings of a benchmark.
mod configuration;

/// Estimators that are compared.
mod estimator;

mod error;

/// Directory that stores the records.
mod journal;

/// Machine and program that made the records.
mod machine;

/// Checked configuration and its list of problems.
mod plan;

/// Result of one run.
mod record;

/// Solves the planned problems.
mod runner;

pub use configuration::{Configuration, ScaleMode, Size, TimedFrom};
pub use error::Error;
pub use estimator::Estimator;
pub use journal::{CONFIG_FILE, Header, Journal, RECORDS_FILE, Stored};
pub use machine::{Machine, Session};
pub use plan::{Case, MOST_RUNS, Plan};
pub use record::{Key, Outcome, Record};
pub use runner::{Ended, Jobs, run};
