//! Self-contained HTML pages: one registration, or a batch of many.
//!
//! [`RegistrationPage`] shows one registration or a few, [`BatchPage`] the outcomes of many pairs.
//! [`frame`] and [`numbers`] are shared with other pages of the project.
//!
//! Every page is one file that loads nothing from elsewhere. The same input gives the same bytes.

mod batch;

mod error;

mod filters;

pub mod frame;

pub mod numbers;

mod registration;

mod status;

pub use batch::{BatchOutcome, BatchPage, BatchRow};
pub use error::Error;
pub use registration::{RegistrationPage, RegistrationView};
