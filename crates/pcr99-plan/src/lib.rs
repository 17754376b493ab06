//! Options of a registration, checked once, for every front end.
//!
//! | step | where |
//! |---|---|
//! | raw values as the user gave them; `None` means the default | [`SolveOptions`], [`RegisterOptions`], [`GivenScale`], [`GivenVertical`] |
//! | text to values and back, for command lines and tables | [`text`], [`GivenScale`], [`GivenVertical`] |
//! | all rules, checked in one place | [`SolvePlan::new`], [`RegisterPlan::new`], [`PlanError`] |
//! | a time limit and an interruption as a stop check | [`Deadline`] |
//! | the work itself | [`SolvePlan::run`], [`RegisterPlan::run`] |
//! | transforms from elsewhere | [`AssessPlan`], [`VerifyPlan`] |
//!
//! ```
//! use pcr99::Correspondences;
//! use pcr99_plan::{SolveOptions, SolvePlan, Solvers};
//!
//! let source: Vec<[f64; 3]> = (0..60).map(|i| { let x = f64::from(i); [x, x * x % 61.0, x * x * x % 61.0] }).collect();
//! let target: Vec<[f64; 3]> = source.iter().map(|p| p.map(|x| 2.0 * x)).collect();
//! let pairs = Correspondences::new(&source, &target)?;
//!
//! let options = SolveOptions { scale: Some("unknown".parse()?), time_limit: Some(10.0), ..SolveOptions::default() };
//! let plan = SolvePlan::new(&options)?;
//! let deadline = plan.deadline();
//! let found = plan.run(&pairs, &mut Solvers::new(), &|| deadline.check(false))?;
//! assert!(found.is_registered());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod deadline;

mod error;

mod given;

mod options;

mod register;

mod scale;

mod solve;

mod vertical;

/// Text to values and back.
pub mod text;

pub use deadline::Deadline;
pub use error::{MOST_THREADS, PlanError, RunError, check_threads};
pub use given::{AssessPlan, Assessed, Verified, VerifyPlan};
pub use options::{AssessOptions, PaperOptions, RegisterOptions, SolveOptions, VerifyOptions};
pub use pcr99_baselines::{Method, Solvers};
pub use register::RegisterPlan;
pub use scale::GivenScale;
pub use solve::SolvePlan;
pub use text::Expected;
pub use vertical::GivenVertical;

/// The example of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
