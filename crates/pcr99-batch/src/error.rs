//! Why a batch cannot begin, go on or end. What is wrong with a pair is not among these: that is its row.

use std::{io, path::PathBuf};

use crate::manifest::{At, ManifestError};

/// Why a batch cannot begin, go on or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The manifest is not in order.
    #[error("{file}{at}: {cause}")]
    Manifest {
        /// What messages call it.
        file: String,
        /// Where in it.
        at: At,
        /// What is wrong. Boxed to keep results small.
        cause: Box<ManifestError>,
    },
    /// The directory holds something else.
    #[error("`{}` is not empty, and not from a batch: name a new directory", .directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory holds a batch already.
    #[error("`{}` holds a batch already: go on with it (--resume), or name another directory", .directory.display())]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// Another process is writing there.
    #[error("another batch is writing to `{}`: wait for it, or name another directory", .directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// Finished pairs are from another version of the program.
    #[error(
        "`{}` is from {there}, this is {here}, whose results may differ: go on with that version, or name another directory",
        .directory.display()
    )]
    OtherVersion {
        /// The directory.
        directory: PathBuf,
        /// The program that wrote it.
        there: String,
        /// This program.
        here: String,
    },
    /// The manifest is not the one whose pairs are finished.
    #[error("the manifest has changed since `{}` was begun: {change}; use it as it was, or name another directory", .directory.display())]
    Changed {
        /// The directory.
        directory: PathBuf,
        /// The first change.
        change: String,
    },
    /// A file of the directory is broken.
    #[error("`{}` is damaged ({cause}): delete it, and go on with --resume; its pairs are run again", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// A worker does not see the batch that it should write to.
    #[error("there is no batch in `{}` as seen from here: all workers must share the file system that it is on", .directory.display())]
    NotShared {
        /// The directory.
        directory: PathBuf,
    },
    /// The batch has not come to its end.
    #[error("{missing} of {all} pairs are not finished")]
    Unfinished {
        /// How many are missing.
        missing: usize,
        /// Of how many.
        all: usize,
    },
    /// The system refused.
    #[error("cannot {action} `{}`: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
