//! Options of the commands that generate problems: `demo`, `simulate` and `bench`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use pcr99_lab::OutlierCenter;
use pcr99_plan::Method;

use super::values::{number, positive, threads, whole};

/// Options of `demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Fraction of outliers among the matches, from 0 to 1.
    #[arg(long, value_name = "RATIO", default_value_t = 0.99, value_parser = number, allow_hyphen_values = true)]
    pub outliers: f64,
    /// Number of matches.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub points: usize,
    /// Shape: bunny, cube, sphere, knot, or a cloud file [default: bunny if built in, otherwise knot].
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Seed of the problem.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,
    /// Stop each of the two searches after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Write a self-contained HTML page to this file: the verdict, both point sets before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// Options of `simulate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The problem follows the paper's evaluation: points of a shape in the unit cube, a random similarity transform, Gaussian noise, and a \
fraction of the targets replaced by random points in a ball of diameter √3·s.

Examples:
  pcr99 simulate --outliers 0.99 --output matches.csv --truth truth.json
  pcr99 simulate --outliers 0.9 --scale random | pcr99 solve - --threshold 0.05 --scale unknown")]
pub struct Simulate {
    /// Number of matches.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub points: usize,
    /// Fraction of outliers among the matches, from 0 to 1.
    #[arg(long, value_name = "RATIO", default_value_t = 0.99, value_parser = number, allow_hyphen_values = true)]
    pub outliers: f64,
    /// Centre of the ball that outlier targets are drawn from.
    #[arg(long, value_name = "CENTER", value_enum, default_value_t = OutlierCenterOption::Centred)]
    pub outlier_center: OutlierCenterOption,
    /// Standard deviation of the noise of each target coordinate.
    #[arg(long, value_name = "SIGMA", default_value_t = 0.01, value_parser = number, allow_hyphen_values = true)]
    pub noise: f64,
    /// True scale: a positive number, or `random` for a number between 1 and 5.
    #[arg(long, value_name = "S|random", default_value = "1", allow_hyphen_values = true)]
    pub scale: String,
    /// Shape: bunny, cube, sphere, knot, or a cloud file [default: bunny if built in, otherwise knot].
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Seed of the problem.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,
    /// Write the matches to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the true transform and the correct matches to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
}

/// Options of `bench`.
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "\
pcr99 bench [OPTIONS] --output <DIR>
       pcr99 bench --from <DIR>",
    after_help = "\
Output directory:
  records.jsonl, config.json    every run, and what was run
  table1, table2                the paper's tables
  figure2.svg, figure3.svg      the paper's figures
  figures.html                  interactive page

Every search uses one thread.

Examples:
  pcr99 bench --output quick
  pcr99 bench --preset paper --output paper
  pcr99 bench --preset paper --output paper --resume
  pcr99 bench --methods default,paper --ratios 0.98,0.99 --runs 50 --output two
  pcr99 bench --from paper"
)]
pub struct Bench {
    /// Directory for records, tables and figures. It must be new or empty, except with --resume.
    #[arg(short, long, value_name = "DIR", required_unless_present = "from")]
    pub output: Option<PathBuf>,
    /// Redraw the tables and figures of this directory without running anything.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "output", "resume", "repair", "preset", "methods", "scale", "ratios", "runs", "points", "noise", "shape", "outlier_center", "seed",
        "time_limit", "jobs",
    ])]
    pub from: Option<PathBuf>,
    /// Continue an interrupted benchmark in its directory, with the same options.
    #[arg(long)]
    pub resume: bool,
    /// With --resume: drop damaged records, whose runs are repeated. Without it, damage is an error.
    #[arg(long, requires = "resume")]
    pub repair: bool,
    /// Configuration to start from. The options below change it.
    #[arg(long, value_enum, default_value_t = PresetOption::Quick)]
    pub preset: PresetOption,
    /// Methods, separated by commas [default: all; only `default` for `limits`].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub methods: Vec<Method>,
    /// Whether the methods know the scale. Methods that cannot estimate it run only with known scale [default: both].
    #[arg(long, value_enum)]
    pub scale: Option<ScaleModeOption>,
    /// Outlier fractions below 1, separated by commas.
    #[arg(long, value_name = "RATIOS", value_delimiter = ',', value_parser = number, allow_hyphen_values = true)]
    pub ratios: Vec<f64>,
    /// Number of problems for each outlier fraction, number of matches and scale mode.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub runs: Option<u64>,
    /// Number of matches; several numbers are separated by commas [default: 1000].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub points: Vec<usize>,
    /// Standard deviation of the noise of each target coordinate. The threshold is five times as large [default: 0.01].
    #[arg(long, value_name = "SIGMA", value_parser = number, allow_hyphen_values = true)]
    pub noise: Option<f64>,
    /// Shape: bunny, cube, sphere, knot, or a cloud file [default: bunny if built in, otherwise knot].
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Centre of the ball that outlier targets are drawn from [default: centred].
    #[arg(long, value_name = "CENTER", value_enum)]
    pub outlier_center: Option<OutlierCenterOption>,
    /// Seed of all problems [default: 0].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// CPU time limit of one search, in seconds [default: 100 for `paper`, otherwise 10].
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Number of searches to run in parallel. More than one makes the times less accurate.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads, allow_hyphen_values = true)]
    pub jobs: usize,
    /// Write the interactive page to this file as well.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// Configuration that a benchmark starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetOption {
    /// A few minutes: 25 runs, 7 outlier fractions.
    Quick,
    /// The paper's protocol: 500 runs, 11 outlier fractions.
    Paper,
    /// Limits of the default method: 100 to 1 000 000 matches, 99 to 99.9 % outliers.
    Limits,
}

/// Whether the methods know the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleModeOption {
    /// The scale is 1, and the methods know it.
    Known,
    /// The scale is between 1 and 5, and the methods estimate it.
    Unknown,
    /// One after the other.
    Both,
}

/// Centre of the ball that outlier targets are drawn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutlierCenterOption {
    /// Centre of the moved shape, as in the paper.
    Centred,
    /// Half the diameter away from it, in a random direction.
    Offset,
}

impl From<OutlierCenterOption> for OutlierCenter {
    fn from(option: OutlierCenterOption) -> Self {
        match option {
            OutlierCenterOption::Centred => Self::Centred,
            OutlierCenterOption::Offset => Self::Offset,
        }
    }
}
