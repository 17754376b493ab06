use std::{io, path::PathBuf};

/// Why an evaluation cannot be planned, run, or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to choose from.
    #[error("no {what} given: name at least one")]
    None {
        /// Of what.
        what: &'static str,
    },
    /// The same twice.
    #[error("{what} {value} is given twice: name each once")]
    Twice {
        /// What.
        what: &'static str,
        /// Which.
        value: String,
    },
    /// No problem would be solved.
    #[error("there must be at least one run, got 0")]
    NoRuns,
    /// More than anybody can wait for.
    #[error("there may be at most {most} runs, got {runs}: ask for fewer", most = super::MOST_RUNS)]
    TooManyRuns {
        /// Number asked for.
        runs: u64,
    },
    /// Nobody can register matches that are all wrong.
    #[error("an outlier ratio must be at least 0 and below 1, got {value}: write 99 % as 0.99")]
    Ratio {
        /// What was given.
        value: f64,
    },
    /// The thresholds of the methods are multiples of the noise.
    #[error("the noise must be finite and above 0, got {value}: every threshold is a multiple of it")]
    Noise {
        /// What was given.
        value: f64,
    },
    /// A limit that is none.
    #[error("the time limit must be a positive number of seconds, got {value}")]
    TimeLimit {
        /// What was given.
        value: f64,
    },
    /// All methods asked for need a known scale, and only unknown scales are asked for.
    #[error(
        "none of the methods can find an unknown scale: add one that can (default, paper, …), or use a known scale"
    )]
    NobodyFindsScale,
    /// The directory holds something else.
    #[error("`{}` is not empty, and not from a benchmark: name a new directory", .directory.display())]
    Foreign {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory holds a benchmark already.
    #[error(
        "`{}` holds a benchmark already: go on with it (--resume), draw it anew (--from), or name another directory",
        .directory.display()
    )]
    Exists {
        /// The directory.
        directory: PathBuf,
    },
    /// There is no benchmark in the directory.
    #[error("`{}` holds no benchmark: there is no file `{}` in it", .directory.display(), super::CONFIG_FILE)]
    Missing {
        /// The directory.
        directory: PathBuf,
    },
    /// The records were made with other settings.
    #[error(
        "`{}` is from another configuration: its `{setting}` is {there}, not {here}; use the same settings, or name another \
         directory", .directory.display()
    )]
    OtherConfiguration {
        /// The directory.
        directory: PathBuf,
        /// The first setting that differs.
        setting: String,
        /// Its value in the directory.
        there: String,
        /// Its value now.
        here: String,
    },
    /// A file of the directory is broken.
    #[error("`{}`, line {line}: {cause}", .file.display())]
    Broken {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what to do.
        cause: String,
    },
    /// Another process is writing there.
    #[error("another benchmark is writing to `{}`: wait for it, or name another directory", .directory.display())]
    Busy {
        /// The directory.
        directory: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} `{}`", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A problem could not be made.
    #[error(transparent)]
    Lab(#[from] crate::Error),
    /// A method could not be asked.
    #[error(transparent)]
    Method(#[from] pcr99_baselines::Error),
    /// The core refused.
    #[error(transparent)]
    Core(#[from] pcr99::Error),
}
