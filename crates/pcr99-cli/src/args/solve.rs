//! Options of `solve`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pcr99_plan::{GivenScale, GivenVertical, Method, PaperOptions, SolveOptions};

use super::{
    PageHead, PrintedResult,
    values::{both_sides, method, number, vertical, whole},
};

/// Options of `solve`.
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "\
pcr99 solve [OPTIONS] <PAIRS>
       pcr99 solve [OPTIONS] --source <CLOUD> --target <CLOUD> --indices <FILE>",
    after_help = "\
Examples:
  pcr99 solve matches.csv
  pcr99 solve matches.npy --threshold 0.05 --scale unknown --json
  pcr99 solve --source a.ply --target b.ply --indices pairs.txt
  pcr99 simulate --outliers 0.99 | pcr99 solve -"
)]
pub struct Solve {
    /// File of matches: text with 6 columns `sx sy sz tx ty tz` (separated by commas, tabs or spaces; optional header; optional 7th
    /// column: weight), `.npy` (N×6 or N×7) or `.npz` (`src`, `dst`). A column `sigma`, named in the header, holds the standard deviation of
    /// each match. `-` reads text from standard input.
    #[arg(required_unless_present_any = ["source", "target", "indices"], conflicts_with_all = ["source", "target", "indices"])]
    pub pairs: Option<PathBuf>,
    /// Source cloud, with --target and --indices. Any format that `pcr99 convert` reads.
    #[arg(long, value_name = "CLOUD", requires_all = ["target", "indices"])]
    pub source: Option<PathBuf>,
    /// Target cloud, with --source and --indices.
    #[arg(long, value_name = "CLOUD", requires_all = ["source", "indices"])]
    pub target: Option<PathBuf>,
    /// Index pairs (source, target), counted from 0: text with two columns, or N×2 `.npy`.
    #[arg(long, value_name = "FILE", requires_all = ["source", "target"])]
    pub indices: Option<PathBuf>,

    /// Scale s: a positive number if it is known, `unknown` to estimate it, or MIN..MAX to estimate it within bounds.
    #[arg(long, value_name = "unknown|S|MIN..MAX", default_value = "1", allow_hyphen_values = true)]
    pub scale: GivenScale,
    /// Inlier threshold: the largest residual of a correct match, in target units. About five standard deviations of the noise
    /// [default: estimated from the data; methods other than `default` need it].
    #[arg(long, value_name = "D", value_parser = number, allow_hyphen_values = true)]
    pub threshold: Option<f64>,
    /// Largest standard deviation of the noise of a coordinate, in target units: instead of --threshold, which is five times as large.
    #[arg(long, value_name = "SIGMA", value_parser = number, allow_hyphen_values = true)]
    pub noise_bound: Option<f64>,
    /// Distance between targets up to which neighbouring wrong matches are wrong in the same way, in target units, for instance the radius of the
    /// descriptors; 0 if all matches are independent [default: measured].
    #[arg(long, value_name = "LENGTH", value_parser = number, allow_hyphen_values = true)]
    pub correlation_length: Option<f64>,
    /// Direction that is up on each side, for instance `source=0,0,1 target=0,0,1`: the transform only turns about it and moves [default: unknown].
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], value_parser = vertical)]
    pub vertical: Vec<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees [default: 0].
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_hyphen_values = true)]
    pub tilt: Option<f64>,
    /// Search method: `default`, PCR-99 as published (`paper`) or with random samples (`paper-random`), or another published method
    /// for comparison. All except `default` need --threshold.
    #[arg(long, value_name = "METHOD", default_value_t = Method::Default, value_parser = method())]
    pub method: Method,
    /// Number of threads [default: all cores]. Methods other than `default` use one.
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Largest size of the tables over pairs of matches, in MiB [default: 1024]. Larger problems are searched in random subsets.
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub memory_budget: Option<u64>,
    /// Stop after this many seconds, reading and preparing included, and return the best transform found so far.
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// The printed result.
    #[command(flatten)]
    pub printed: PrintedResult,
    /// Write a self-contained HTML page to this file: the verdict, both point sets before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// The head of the page.
    #[command(flatten)]
    pub head: PageHead,

    /// Parameters of the default method.
    #[command(flatten)]
    pub default_method: DefaultMethodArgs,

    /// Parameters of the published method.
    #[command(flatten)]
    pub paper: PaperArgs,
}

/// Parameters of the default method.
#[derive(Debug, Clone, Copy, ClapArgs)]
#[command(next_help_heading = "Parameters of the default method")]
pub struct DefaultMethodArgs {
    /// Largest number of candidates to return [default: 5].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub candidates: Option<usize>,
    /// Largest number of pairs of matches to try in each round of the search [default: 100000]. The time needed to find that there is no
    /// consensus grows with it.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub effort: Option<u64>,
    /// Stop when the probability of having missed a larger consensus is below this value, at most 0.5 [default: 1e-6].
    #[arg(long, value_name = "P", value_parser = number, allow_hyphen_values = true)]
    pub miss_probability: Option<f64>,
}

/// Parameters of the published method.
#[derive(Debug, Clone, Copy, ClapArgs)]
#[command(next_help_heading = "Parameters of the paper's methods")]
pub struct PaperArgs {
    /// ε of the score and of the prescreening test [default: 0.1].
    #[arg(long, value_name = "E", value_parser = number, allow_hyphen_values = true)]
    pub epsilon: Option<f64>,
    /// Grid step over the logarithm of an unknown scale [default: 0.1].
    #[arg(long, value_name = "STEP", value_parser = number, allow_hyphen_values = true)]
    pub grid_step: Option<f64>,
    /// Number of hypotheses between two checks of the inlier count [default: 1000].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub batch: Option<u64>,
    /// Stop at this many inliers, if --min-inlier-fraction is reached as well [default: 9].
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub min_inliers: Option<usize>,
    /// Stop at this fraction of inliers, if --min-inliers is reached as well [default: 0.009].
    #[arg(long, value_name = "RATIO", value_parser = number, allow_hyphen_values = true)]
    pub min_inlier_fraction: Option<f64>,
    /// Stop after this many hypotheses [default: no limit].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub hypothesis_limit: Option<u64>,
}

impl Solve {
    /// The options of the search.
    pub(crate) fn options(&self) -> SolveOptions {
        let DefaultMethodArgs { candidates, effort, miss_probability } = self.default_method;
        let PaperArgs { epsilon, grid_step, batch, min_inliers, min_inlier_fraction, hypothesis_limit } =
            self.paper;
        SolveOptions {
            scale: Some(self.scale),
            threshold: self.threshold,
            noise_bound: self.noise_bound,
            method: Some(self.method),
            threads: self.threads,
            memory_budget_mib: self.memory_budget,
            time_limit: self.time_limit,
            seed: Some(self.seed),
            candidates,
            effort,
            miss_probability,
            correlation_length: self.correlation_length,
            vertical: both_sides(&self.vertical),
            tilt: self.tilt,
            paper: PaperOptions {
                epsilon,
                grid_step,
                batch,
                min_inliers,
                min_inlier_fraction,
                hypothesis_limit,
            },
        }
    }
}
