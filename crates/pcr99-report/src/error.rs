use std::{io, path::PathBuf};

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to report on.
    #[error("there are no records yet: nothing to draw")]
    NoRecords,
    /// A document is not that of a registration.
    #[error("this is not the document of a registration: `{field}` is missing, or not as it should be")]
    Document {
        /// What is wrong with it.
        field: &'static str,
    },
    /// A registration was made from other points than those that are to be shown.
    #[error("these are not the points of this registration: {why}")]
    OtherPoints {
        /// How this is known.
        why: String,
    },
    /// A page could not be written.
    #[error(transparent)]
    Page(#[from] pcr99_cloud::FileError),
    /// A file could not be written.
    #[error("cannot write `{}`", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
