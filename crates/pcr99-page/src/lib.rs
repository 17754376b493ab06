//! Self-contained HTML pages: one registration, a batch of many, or an assembly of many scans.
//!
//! [`RegistrationPage`] shows one registration or a few, [`BatchPage`] the outcomes of many pairs,
//! [`AssemblyPage`] the maps of many scans.
//! [`frame`] and [`numbers`] are shared with other pages of the project.
//!
//! Without the feature `pages`, which is on by default and contains the drawing library, there are only the [`sections`] of registrations.
//!
//! Every page is one file that loads nothing from elsewhere. The same input gives the same bytes.

#[cfg(feature = "pages")]
mod assembly;

#[cfg(feature = "pages")]
mod batch;

mod error;

mod filters;

pub mod frame;

pub mod numbers;

mod registration;

mod status;

#[cfg(feature = "pages")]
pub use assembly::{AssemblyPage, ScanPoints};
#[cfg(feature = "pages")]
pub use batch::{BatchOutcome, BatchPage, BatchRow};
pub use error::Error;
#[cfg(feature = "pages")]
pub use registration::RegistrationPage;
pub use registration::{RegistrationView, ReportHead, SCRIPT, sections};
