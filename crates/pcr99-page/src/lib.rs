//! Self-contained HTML pages: one registration, or a batch of many.
//!
//! [`RegistrationPage`] shows one registration or a few, [`BatchPage`] the outcomes of many pairs.
//! [`frame`] and [`numbers`] are shared with other pages of the project.
//!
//! Every page is one file that loads nothing from elsewhere. The same input gives the same bytes.

/// Page of a batch.
mod batch;

mod error;

/// Filters of the templates.
mod filters;

/// Frame that all pages share: header, style sheet, scripts, footer.
pub mod frame;

/// Numbers formatted for people.
pub mod numbers;

/// Page of one registration.
mod registration;

/// How a status looks on a page.
mod status;

pub use batch::{BatchOutcome, BatchPage, BatchRow};
pub use error::Error;
pub use registration::{RegistrationPage, RegistrationView};
