//! Options of `batch`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pcr99_plan::{GivenScale, GivenVertical, Method};

use super::{
    RefineOption,
    values::{at_least_one, method, number, threads, vertical, whole},
};

/// Options of `batch`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Output directory:
  results.csv     one row per pair: status, doubt, transform, evidence
  results.jsonl   one line per pair: the document that `solve --json` or `register --json` prints, without times
  times.csv       seconds of each pair
  summary.json    number of pairs by status and doubt

results.csv and results.jsonl depend only on the manifest and its options, not on threads or interruptions.

Exit status: 0 all pairs are registered; 1 finished, but some pairs failed or are not reliable; 2 bad usage or bad input; \
130 interrupted.

Examples:
  pcr99 batch pairs.csv --output out
  pcr99 batch pairs.csv --output out --resume
  pcr99 batch pairs.csv --output out --scale unknown --threads 8
  pcr99 batch pairs.csv --output out --write-aligned aligned --page out/index.html")]
pub struct Batch {
    /// CSV table of the pairs. Columns: `pair_id`; `source` and `target` (clouds) or `pairs` (matches); optionally any of the options
    /// for pairs below, such as `time_limit`. Relative paths are relative to this file.
    pub manifest: PathBuf,
    /// Directory for the results. It must be new or empty, except with --resume.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Continue an interrupted batch in its directory. Rows may have been added to the manifest.
    #[arg(long)]
    pub resume: bool,
    /// With --resume: drop damaged records of finished pairs, which then run again. Without it, damage is an error.
    #[arg(long, requires = "resume")]
    pub repair: bool,
    /// With --resume: run failed pairs again.
    #[arg(long, requires = "resume")]
    pub retry_failed: bool,
    /// With --resume: run finished pairs again if their files have changed (size or modification time).
    #[arg(long, requires = "resume")]
    pub retry_changed: bool,
    /// Number of threads [default: all cores]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Save results after this many pairs, at most ten times a second and at least every ten seconds [default: 100].
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, allow_hyphen_values = true)]
    pub chunk: Option<usize>,
    /// Memory for clouds that further pairs may use, in MiB [default: 1024].
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub cache: Option<u64>,
    /// Print the summary as one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Write a self-contained HTML page to this file: counts by status and doubt, and a table to sort and search. For a finished batch,
    /// use it with --resume.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Write pages of up to this many pairs to `pages` in the output directory, unregistered pairs first. The page of --page links to them.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub pair_pages: usize,

    /// Write the source cloud of each registered pair, moved onto its target, to this directory. Files have the names of the pairs and the formats of the
    /// sources (PLY where that cannot be written). With --resume, missing files are written.
    #[arg(long, value_name = "DIR")]
    pub write_aligned: Option<PathBuf>,

    /// Options of pairs whose cell is empty.
    #[command(flatten)]
    pub defaults: BatchDefaults,
}

/// Options of `batch-pair`.
#[derive(Debug, ClapArgs)]
pub struct BatchPair {
    /// Number of threads.
    #[arg(long, value_parser = threads)]
    pub threads: usize,
    /// Directory of the batch.
    pub output: PathBuf,
}

/// Options of pairs whose cell is empty.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Options for pairs whose cell is empty")]
pub struct BatchDefaults {
    /// Scale s: a positive number if it is known, `unknown` to estimate it, or MIN..MAX to estimate it within bounds [default: 1].
    #[arg(long, value_name = "unknown|S|MIN..MAX", allow_hyphen_values = true)]
    pub scale: Option<GivenScale>,
    /// Inlier threshold of matches, in target units [default: estimated from the data; methods other than `default` need it].
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    pub threshold: Option<f64>,
    /// Search method for matches [default: default].
    #[arg(long, value_name = "METHOD", value_parser = method())]
    pub method: Option<Method>,
    /// Largest size of the tables over pairs of matches, in MiB, for each thread [default: 1024].
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub memory_budget: Option<u64>,
    /// Largest number of pairs of matches to try in each round of the search [default: 100000].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub effort: Option<u64>,
    /// Accepted probability of having missed a larger consensus, at most 0.5 [default: 1e-6].
    #[arg(long, value_name = "P", value_parser = number, allow_hyphen_values = true)]
    pub miss_probability: Option<f64>,
    /// Distance between targets up to which neighbouring wrong matches are wrong in the same way, in target units [default: measured].
    #[arg(long, value_name = "LENGTH", value_parser = number, allow_hyphen_values = true)]
    pub correlation_length: Option<f64>,
    /// Direction that is up on each side, for instance `source=0,0,1 target=0,0,1`: the transform only turns about it and moves [default: unknown].
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], value_parser = vertical)]
    pub vertical: Vec<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees [default: 0].
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_hyphen_values = true)]
    pub tilt: Option<f64>,
    /// Voxel edge for downsampling clouds, in target units [default: from the density and extent of both].
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// Refinement of the pose of clouds [default: point-to-plane].
    #[arg(long, value_enum)]
    pub refine: Option<RefineOption>,
    /// Refine and judge the pose in this text file (4×4 matrix). A search still runs, and a better pose that it finds counts against it.
    #[arg(long, value_name = "FILE")]
    pub initial: Option<PathBuf>,
    /// Largest number of candidates [default: 5 for matches, 8 for clouds].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub candidates: Option<usize>,
    /// Time limit of one pair in seconds, reading and preparing included [default: none].
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of the random numbers [default: 0].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: Option<u64>,
}
