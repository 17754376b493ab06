//! Why a request has no result.

use pcr99_cloud::{FileError, RegisterError};
use pcr99_plan::{Expected, PlanError, RunError};

/// Why a request has no result. The texts are those of the program.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is not JSON, or has a field that is not known or of another type.
    #[error("{0}")]
    Request(#[from] serde_json::Error),
    /// A buffer is missing, or its length does not fit.
    #[error("{0}")]
    Input(String),
    /// A text is not one of the values of an option.
    #[error("`{name}` is `{text}`: {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// The text.
        text: String,
        /// What was expected.
        expected: Expected,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A cloud cannot be used.
    #[error("`{name}`: {cause}")]
    Cloud {
        /// Name of the file, or `source` or `target`.
        name: String,
        /// The reason.
        #[source]
        cause: RegisterError,
    },
    /// Two clouds cannot be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// Matches cannot be used.
    #[error("{name}{cause}")]
    Matches {
        /// Name of the file with a colon; empty for arrays.
        name: String,
        /// The reason.
        #[source]
        cause: pcr99::Error,
    },
    /// An option is out of its range.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A search cannot run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A matrix is not a similarity.
    #[error("`{name}`: {cause}")]
    Transform {
        /// The option.
        name: &'static str,
        /// The reason.
        #[source]
        cause: pcr99::SimilarityError,
    },
}
