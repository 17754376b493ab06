use std::{io, path::PathBuf};

/// Error of a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A list is empty.
    #[error("no {what} given: name at least one")]
    None {
        /// Name of the list.
        what: &'static str,
    },
    /// A value is listed twice.
    #[error("{what} {value} is given twice: name each once")]
    Twice {
        /// Kind of value.
        what: &'static str,
        /// The value.
        value: String,
    },
    /// The number of runs is 0.
    #[error("there must be at least one run, got 0")]
    NoRuns,
    /// The number of runs is too large.
    #[error("there may be at most {most} runs, got {runs}: ask for fewer", most = super::MOST_RUNS)]
    TooManyRuns {
        /// Requested number.
        runs: u64,
    },
    /// The outlier ratio is out of range. Without inliers there is nothing to register.
    #[error("an outlier ratio must be at least 0 and below 1, got {value}: write 99 % as 0.99")]
    Ratio {
        /// Given value.
        value: f64,
    },
    /// The noise is not positive, but thresholds are multiples of it.
    #[error("the noise must be finite and above 0, got {value}: every threshold is a multiple of it")]
    Noise {
        /// Given value.
        value: f64,
    },
    /// The time limit is not positive.
    #[error("the time limit must be a positive number of seconds, got {value}")]
    TimeLimit {
        /// Given value.
        value: f64,
    },
    /// All methods need a known scale, but all problems have an unknown scale.
    #[error(
        "none of the methods can find an unknown scale: add one that can (default, paper, …), or use a known scale"
    )]
    NoMethodFindsScale,
    /// The directory contains other files.
    #[error("`{}` is not empty and contains no benchmark: name a new directory", .directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory already contains a benchmark.
    #[error(
        "`{}` already contains a benchmark: resume it (--resume), draw it again (--from), or name another directory",
        .directory.display()
    )]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no benchmark in the directory.
    #[error("`{}` contains no benchmark: the file `{}` is missing", .directory.display(), super::CONFIG_FILE)]
    Missing {
        /// The directory.
        directory: PathBuf,
    },
    /// The records have other settings.
    #[error(
        "the benchmark in `{}` has other settings: its `{setting}` is {there}, not {here}; use the same settings, or name \
         another directory", .directory.display()
    )]
    OtherConfiguration {
        /// The directory.
        directory: PathBuf,
        /// First setting that differs.
        setting: String,
        /// Its value in the directory.
        there: String,
        /// Its value now.
        here: String,
    },
    /// A file of the directory is damaged.
    #[error("`{}`, line {line}: {cause}", .file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// Cause and remedy.
        cause: String,
    },
    /// A file of the directory has a version that is not known.
    #[error("`{}`: {cause}", .file.display())]
    OtherSchema {
        /// The file.
        file: PathBuf,
        /// Cause and remedy.
        cause: String,
    },
    /// The records were written before records had checksums.
    #[error(
        "the benchmark in `{}` is from an earlier version and has no checksums: draw it (--from), or run it again in another directory",
        .directory.display()
    )]
    NoChecksums {
        /// The directory.
        directory: PathBuf,
    },
    /// The file of records was removed or changed by another program.
    #[error("`{}` was removed or changed while the benchmark was running: run it again in a new directory", .file.display())]
    Gone {
        /// The file.
        file: PathBuf,
    },
    /// Another process writes to the directory.
    #[error("another benchmark is writing to `{}`: wait for it, or name another directory", .directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// Error of the operating system.
    #[error("cannot {action} `{}`", .path.display())]
    Io {
        /// Attempted action.
        action: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Output(#[from] pcr99_base::output_file::OutputError),
    /// A problem could not be generated.
    #[error(transparent)]
    Lab(#[from] crate::Error),
    /// Error of a method.
    #[error(transparent)]
    Method(#[from] pcr99_baselines::Error),
    /// Error of the core.
    #[error(transparent)]
    Core(#[from] pcr99::Error),
}
