//! Errors of a batch as a whole. Errors of a pair are in its row.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    directory::BATCH_FILE,
    manifest::{At, ManifestError},
    parts::BATCH_SCHEMA,
};

/// A batch cannot begin, continue or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The manifest is invalid.
    #[error("{file}{at}: {cause}")]
    Manifest {
        /// Name of the manifest in messages.
        file: String,
        /// Place of the mistake.
        at: At,
        /// The mistake. Boxed to keep results small.
        cause: Box<ManifestError>,
    },
    /// The directory is not empty and not that of a batch.
    #[error("`{}` is not empty and not the directory of a batch: name a new directory", .directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory contains a batch.
    #[error("`{}` already contains a batch: continue it (--resume) or name another directory", .directory.display())]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// Another process is writing to the directory.
    #[error("another process is writing to `{}`: wait for it or name another directory", .directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// The files of the batch have another schema.
    #[error(
        "the batch in `{}` has schema {found}; this version reads {BATCH_SCHEMA}, whose records have checksums: run it again in a new directory",
        .directory.display()
    )]
    OtherSchema {
        /// The directory.
        directory: PathBuf,
        /// Schema of its files.
        found: u32,
    },
    /// The finished pairs are from another version of the program.
    #[error(
        "the batch in `{}` is from {found}, but this is {}, whose results may differ: continue it with that version, or run it again in a new \
         directory",
        .directory.display(), pcr99_document::PROGRAM
    )]
    OtherVersion {
        /// The directory.
        directory: PathBuf,
        /// Program that wrote it.
        found: String,
    },
    /// Rows of finished pairs have changed.
    #[error("the manifest has changed since the batch in `{}` began: {change}; restore it or name another directory", .directory.display())]
    Changed {
        /// The directory.
        directory: PathBuf,
        /// The first change.
        change: String,
    },
    /// A file of the directory is damaged.
    #[error("`{}`{} is damaged: {cause}; --resume --repair drops what is damaged and runs its pairs again", .file.display(), in_line(*.line))]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Line, counted from 1; 0 for the whole file.
        line: usize,
        /// The damage.
        cause: String,
    },
    /// The directory was removed while a batch was running in it.
    #[error("`{}` was removed while the batch was running, with the finished pairs in it: run the batch again", .directory.display())]
    Gone {
        /// The directory.
        directory: PathBuf,
    },
    /// A worker does not see the directory of its batch.
    #[error("there is no batch in `{}` on this machine: all workers must share its file system", .directory.display())]
    NotShared {
        /// The directory.
        directory: PathBuf,
    },
    /// Some pairs are not finished.
    #[error("{missing} of {all} pairs are not finished")]
    Unfinished {
        /// Number of unfinished pairs.
        missing: usize,
        /// Number of all pairs.
        all: usize,
    },
    /// The operating system refused.
    #[error("cannot {action} `{}`: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Message of the operating system.
        source: io::Error,
    },
}

impl Error {
    /// An error of the operating system, for `map_err`.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// `error`, or [`Error::Gone`] if the directory of the batch no longer exists.
    pub(crate) fn in_batch(directory: &Path, error: Self) -> Self {
        if directory.join(BATCH_FILE).exists() { error } else { Self::Gone { directory: directory.into() } }
    }
}

/// Place of a line in a message.
fn in_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!(", line {line},") }
}
