//! Errors of an assembly as a whole. Errors of a scan or of a pair are in its row.

use std::{
    io,
    path::{Path, PathBuf},
};

/// An assembly cannot begin, continue or end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are too few scans.
    #[error("{found} {}: an assembly needs at least two, in different files", if *.found == 1 { "scan" } else { "scans" })]
    FewScans {
        /// Number of scans.
        found: usize,
    },
    /// The directory is not empty and not that of a project.
    #[error("`{}` is not empty and not the directory of a project: name a new directory", .directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory contains a project.
    #[error("`{}` already contains a project: continue it or add scans to it (--resume), or name another directory", .directory.display())]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// The project is of another version.
    #[error(
        "the project in `{}` is from {found}, but this is {}, whose results may differ: continue it with that version, or assemble the scans again in a new directory",
        .directory.display(),
        pcr99_document::PROGRAM
    )]
    OtherVersion {
        /// The directory.
        directory: PathBuf,
        /// Program that wrote it.
        found: String,
    },
    /// The options of the project are others.
    #[error("the project in `{}` was begun with {then}, and is now continued with {now}: use the same options, or a new directory", .directory.display())]
    OtherOptions {
        /// The directory.
        directory: PathBuf,
        /// Options of the project.
        then: String,
        /// Options given.
        now: String,
    },
    /// Another process is writing to the directory.
    #[error("another process is writing to `{}`: wait for it or name another directory", .directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// A file of the project is damaged.
    #[error("`{}`: {cause}: restore the file, or assemble the scans again in a new directory", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// A scan has a path that is not Unicode.
    #[error("`{}`: the path is not Unicode: rename the file", .path.display())]
    NotUnicode {
        /// The path.
        path: PathBuf,
    },
    /// The scale is known, but is not one.
    #[error(
        "`scale` is {scale}: scans with a known scale have the same units, so that it is 1; use `unknown` or a range where their units differ"
    )]
    Scale {
        /// The scale.
        scale: f64,
    },
    /// A scan does not match the pattern of a rig.
    #[error("`same-rig`: {0}")]
    Rig(String),
    /// Control points or positions are invalid.
    #[error("known places: {0}")]
    Control(String),
    /// An option of the pairs is invalid.
    #[error(transparent)]
    Plan(#[from] pcr99_plan::PlanError),
    /// The registrations of the pairs cannot begin, continue or end.
    #[error(transparent)]
    Batch(#[from] pcr99_batch::Error),
    /// The pose graph cannot be solved.
    #[error("the pose graph of the scans: {0}")]
    Graph(#[source] pcr99_graph::Error),
    /// A page cannot be written.
    #[error(transparent)]
    Page(pcr99_page::Error),
    /// A cloud cannot be read or written.
    #[error(transparent)]
    File(#[from] pcr99_cloud::FileError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] pcr99_base::output_file::OutputError),
    /// A file or directory cannot be read or written.
    #[error("cannot {action} `{}`: {cause}", .path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { action, path: path.as_ref().to_path_buf(), cause }
    }
}
