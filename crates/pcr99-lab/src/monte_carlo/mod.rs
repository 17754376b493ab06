//! The paper's evaluation (Sec. VII): every method on the same random problems, again and again.
//!
//! A [`Configuration`] says what is to be done, a [`Plan`] is one that was checked and lists the problems in order, [`run`] solves
//! them, and each solved problem is a [`Record`] that a [`Journal`] keeps, so that a run that was killed can go on where it was.
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
//! // Two problems with known and two with unknown scale; each also fitted on its true inliers.
//! assert_eq!(records.len(), 8);
//! assert!(records.iter().all(|record| record.rotation_deg < Some(5.0)));
//! # Ok::<(), monte_carlo::Error>(())
//! ```
//!
//! [`Configuration`]: crate::monte_carlo::Configuration
//! [`Plan`]: crate::monte_carlo::Plan
//! [`run`]: crate::monte_carlo::run
//! [`Record`]: crate::monte_carlo::Record
//! [`Journal`]: crate::monte_carlo::Journal

/// What is to be done.
mod configuration;

/// Who is compared.
mod estimator;

mod error;

/// The directory that keeps records while they are made.
mod journal;

/// Where and with what the records were made.
mod machine;

/// From a configuration to a list of problems.
mod plan;

/// What came out of one run.
mod record;

/// Solves what is planned.
mod runner;

pub use configuration::{Configuration, ScaleMode, Size};
pub use error::Error;
pub use estimator::Estimator;
pub use journal::{CONFIG_FILE, Header, Journal, RECORDS_FILE, Stored};
pub use machine::{Machine, Session};
pub use plan::{Case, MOST_RUNS, Plan};
pub use record::{Key, Outcome, Record};
pub use runner::{Ended, Jobs, run};
