//! Options of `assess` and `verify`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pcr99_plan::{AssessOptions, VerifyOptions};

use super::{
    PageHead, Place, VerdictPrinted,
    values::{number, place, whole},
};

/// Options of `assess`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The transform is not changed. Without --threshold, a search with the scale of the transform finds one, and a transform that it registers \
is named when the given one is wrong.

Exit status: 0 the transform is confirmed; 1 it is not, and the reason says why; 2 bad usage or bad input; 130 interrupted.

Examples:
  pcr99 assess matches.csv pose.txt
  pcr99 assess matches.csv pose.txt --threshold 0.05 --json")]
pub struct Assess {
    /// File of matches, as for `solve`; `-` reads text from standard input.
    pub pairs: PathBuf,
    /// Text file with a 4×4 matrix, or document of `solve`, `register` or `refine` (JSON).
    pub transform: PathBuf,

    /// Inlier threshold: the largest residual of a correct match, in target units [default: estimated from the data].
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    pub threshold: Option<f64>,
    /// Distance between targets up to which neighbouring wrong matches are wrong in the same way, in target units [default: measured].
    #[arg(long, value_name = "LENGTH", value_parser = number, allow_hyphen_values = true)]
    pub correlation_length: Option<f64>,
    /// Number of threads [default: all cores].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Stop the search for a threshold after this many seconds, reading and preparing included.
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// The printed verdict.
    #[command(flatten)]
    pub printed: VerdictPrinted,
    /// Write a self-contained HTML page to this file: the verdict, both point sets before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// The head of the page.
    #[command(flatten)]
    pub head: PageHead,
}

impl Assess {
    pub(crate) fn options(&self) -> AssessOptions {
        AssessOptions {
            threshold: self.threshold,
            correlation_length: self.correlation_length,
            threads: self.threads,
            time_limit: self.time_limit,
            seed: Some(self.seed),
        }
    }
}

/// Options of `verify`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The transform is not changed. It is judged as `register` judges its answer: a search runs, and a pose that it finds and that fits as well \
counts against the given one. The scale of the transform is taken as known. A note says by how much `pcr99 refine` would move the points, if that is more than the \
accuracy of the refined pose.

Exit status: 0 the transform is confirmed; 1 it is not, and the reason says why; 2 bad usage or bad input; 130 interrupted.

Examples:
  pcr99 verify a.laz b.laz pose.txt
  pcr99 verify a.e57#2 b.e57 result.json --json")]
pub struct Verify {
    /// Source cloud, which the transform moves. Any format that `pcr99 convert` reads.
    pub source: PathBuf,
    /// Target cloud, which stays in place.
    pub target: PathBuf,
    /// Text file with a 4×4 matrix, or document of `solve`, `register` or `refine` (JSON).
    pub transform: PathBuf,

    /// Voxel edge for downsampling, in target units [default: from the density and extent of both clouds].
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// Sensor position in the source's coordinates [default: from the file, if it has one].
    #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
    pub source_viewpoint: Option<Place>,
    /// Sensor position in the target's coordinates [default: from the file, if it has one].
    #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
    pub target_viewpoint: Option<Place>,
    /// Largest number of candidate poses to compare with the clouds in each round of the search [default: 8].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub candidates: Option<usize>,
    /// Number of threads [default: all cores]. The result does not depend on it.
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Stop after this many seconds, reading and preparing included.
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// The printed verdict.
    #[command(flatten)]
    pub printed: VerdictPrinted,
    /// Write a self-contained HTML page to this file: the verdict, both clouds before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// The head of the page.
    #[command(flatten)]
    pub head: PageHead,
}

impl Verify {
    pub(crate) fn options(&self) -> VerifyOptions {
        VerifyOptions {
            voxel: self.voxel,
            candidates: self.candidates,
            threads: self.threads,
            time_limit: self.time_limit,
            seed: Some(self.seed),
        }
    }
}
