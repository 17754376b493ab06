use std::{path::PathBuf, str::FromStr};

use clap::{
    Args as ClapArgs, Parser, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use clap_complete::Shell;
use pcr99_lab::Method;

/// Below a command's own options in its help.
const LAST: usize = 900;

/// Registration of two 3-D point sets from matches of which up to 99 % are wrong.
///
/// The transform maps source to target: b = s·R·a + t, as the 4×4 matrix [sR t; 0 1].
///
/// Exit status: 0 registered; 1 ran well, but there is no reliable registration; 2 bad usage or input; 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "pcr99", version, propagate_version = true, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say nothing but the result and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    pub quiet: bool,
    /// Say more about what is done, on standard error.
    #[arg(short, long, global = true, display_order = LAST)]
    pub verbose: bool,
    /// The whole command, as it would be typed again.
    #[arg(skip)]
    pub command_line: String,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve the paper's problem on built-in data: 99 % wrong matches, known and unknown scale.
    Demo(Demo),
    /// Find the transform from matches in a file.
    Solve(Box<Solve>),
    /// Find the transform between two raw clouds.
    Register(Box<Register>),
    /// Write a problem with known truth.
    Simulate(Simulate),
    /// Convert a cloud to another file format, with its normals, colours and intensities.
    Convert(Convert),
    /// Repeat the paper's evaluation: every method on the same random problems.
    Bench(Box<Bench>),
    /// Register many pairs, listed in a table.
    Batch(Box<Batch>),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// `demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Share of wrong matches, from 0 to 1.
    #[arg(long, value_name = "RATIO", default_value_t = 0.99, value_parser = number, allow_hyphen_values = true)]
    pub outliers: f64,
    /// Number of matches.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub points: usize,
    /// Shape: bunny, cube, sphere, knot, or a file with points [default: bunny where built in, else knot].
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Seed of the problem; each gives another.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,
    /// Seconds that each of the two searches may take.
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Write one self-contained page to this file: the verdict, before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// `solve`.
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
    /// Matches: text with 6 columns `sx sy sz tx ty tz` (comma, tab or space; header optional; a 7th column is a weight),
    /// `.npy` (N×6 or N×7) or `.npz` (`src`, `dst`); `-` reads text from standard input.
    #[arg(required_unless_present_any = ["source", "target", "indices"], conflicts_with_all = ["source", "target", "indices"])]
    pub pairs: Option<PathBuf>,
    /// Source cloud, with --target and --indices: any format that `pcr99 convert` reads; a file, never `-`.
    #[arg(long, value_name = "CLOUD", requires_all = ["target", "indices"])]
    pub source: Option<PathBuf>,
    /// Target cloud.
    #[arg(long, value_name = "CLOUD", requires_all = ["source", "indices"])]
    pub target: Option<PathBuf>,
    /// Index pairs (source, target), counted from 0: text with two columns, or N×2 `.npy`.
    #[arg(long, value_name = "FILE", requires_all = ["source", "target"])]
    pub indices: Option<PathBuf>,

    /// Scale s: a positive number when it is known, `unknown`, or a range MIN..MAX that bounds an unknown one.
    #[arg(long, value_name = "unknown|S|MIN..MAX", default_value = "1", allow_hyphen_values = true)]
    pub scale: ScaleOption,
    /// Inlier threshold: how far a right match may be off, in target units; about five standard deviations of the noise
    /// [default: found from the data; other methods need it].
    #[arg(long, value_name = "D", value_parser = positive, allow_hyphen_values = true)]
    pub threshold: Option<f64>,
    /// How to search: ours, PCR-99 as published or with random samples, or one of the methods that it is compared with. All but ours
    /// need --threshold.
    #[arg(long, value_name = "METHOD", default_value_t = Method::Default, value_parser = method())]
    pub method: Method,
    /// Threads to use [default: all cores]; other methods use one.
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>, allow_hyphen_values = true)]
    pub threads: Option<u64>,
    /// Memory that tables over pairs of matches may take, in MiB [default: 1024].
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub memory_budget: Option<u64>,
    /// Stop after this many seconds with the best found so far.
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// Print one JSON document (the same as --format json).
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Summary)]
    pub format: Format,
    /// Write to this file what would go to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write one self-contained page to this file: the verdict, before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,

    /// Parameters of the published method.
    #[command(flatten)]
    pub paper: PaperOptions,
}

/// Parameters of the published method that have a default.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Parameters of the paper's methods")]
pub struct PaperOptions {
    /// ε of the score and of the prescreening test [default: 0.1].
    #[arg(long, value_name = "E", value_parser = positive, allow_hyphen_values = true)]
    pub epsilon: Option<f64>,
    /// Step between candidates for the logarithm of an unknown scale [default: 0.1].
    #[arg(long, value_name = "STEP", value_parser = positive, allow_hyphen_values = true)]
    pub grid_step: Option<f64>,
    /// After how many hypotheses the number of inliers is looked at [default: 1000].
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>, allow_hyphen_values = true)]
    pub batch: Option<u64>,
    /// Enough inliers: at least this many [default: 9] …
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, allow_hyphen_values = true)]
    pub min_inliers: Option<usize>,
    /// … and this share of all matches [default: 0.009].
    #[arg(long, value_name = "RATIO", value_parser = number, allow_hyphen_values = true)]
    pub min_inlier_fraction: Option<f64>,
    /// Stop after this many hypotheses [default: no limit].
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>, allow_hyphen_values = true)]
    pub hypothesis_limit: Option<u64>,
}

/// `register`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pcr99 register a.ply b.ply
  pcr99 register a.ply b.ply --json --write-aligned aligned.ply
  pcr99 register model.ply photos.ply --scale unknown
  pcr99 register a.ply b.ply --initial pose.txt --refine point-to-point")]
pub struct Register {
    /// The cloud to move.
    pub source: PathBuf,
    /// The cloud to move it onto.
    pub target: PathBuf,

    /// Edge of the voxels that the clouds are sampled with, in target units [default: from the density and extent of both].
    #[arg(long, value_name = "V", value_parser = positive, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// Scale s: a positive number when it is known, `unknown`, or a range MIN..MAX that bounds an unknown one.
    #[arg(long, value_name = "unknown|S|MIN..MAX", default_value = "1", allow_hyphen_values = true)]
    pub scale: ScaleOption,
    /// How the pose is refined.
    #[arg(long, value_enum, default_value_t = RefineOption::PointToPlane)]
    pub refine: RefineOption,
    /// Refine and judge the 4×4 matrix in this text file; what a search finds beside it counts against it.
    #[arg(long, value_name = "FILE")]
    pub initial: Option<PathBuf>,
    /// Where the sensor of the source was, in its coordinates: orients normals, and tells what it saw to be free [default: what the
    /// file says].
    #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
    pub source_viewpoint: Option<Place>,
    /// The same for the target.
    #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
    pub target_viewpoint: Option<Place>,
    /// Threads to use [default: all cores]; the result does not depend on it.
    #[arg(long, value_name = "N", value_parser = at_least_one::<u64>, allow_hyphen_values = true)]
    pub threads: Option<u64>,
    /// Stop after this many seconds with the best found so far.
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of everything random.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// Print one JSON document (the same as --format json).
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Summary)]
    pub format: Format,
    /// Write to this file what would go to standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the source, moved onto the target, to this file; only when it is registered.
    #[arg(long, value_name = "FILE")]
    pub write_aligned: Option<PathBuf>,
    /// Write the aligned cloud even when the pose is not reliable.
    #[arg(long, requires = "write_aligned")]
    pub force: bool,
    /// Write one self-contained page to this file: the verdict, before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// A place in the coordinates of a cloud.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place(pub [f64; 3]);

/// How a pose is refined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RefineOption {
    /// To the tangent planes of the target.
    PointToPlane,
    /// To the points of the target.
    PointToPoint,
    /// Not at all.
    None,
}

/// `simulate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The problem is that of the paper's evaluation: points of a shape in the unit cube, a random similarity, Gaussian \
noise, and a share of the targets replaced by random points in a ball of diameter √3·s.

Examples:
  pcr99 simulate --outliers 0.99 --output matches.csv --truth truth.json
  pcr99 simulate --outliers 0.9 --scale random | pcr99 solve - --threshold 0.05 --scale unknown")]
pub struct Simulate {
    /// Number of matches.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub points: usize,
    /// Share of wrong matches, from 0 to 1.
    #[arg(long, value_name = "RATIO", default_value_t = 0.99, value_parser = number, allow_hyphen_values = true)]
    pub outliers: f64,
    /// Where the wrong targets lie: around the true place, or off it.
    #[arg(long, value_name = "CENTER", value_enum, default_value_t = OutlierCenterOption::Centred)]
    pub outlier_center: OutlierCenterOption,
    /// Standard deviation of the noise of a target coordinate.
    #[arg(long, value_name = "SIGMA", default_value_t = 0.01, value_parser = number, allow_hyphen_values = true)]
    pub noise: f64,
    /// True scale: a positive number, or `random` for one between 1 and 5.
    #[arg(long, value_name = "S|random", default_value = "1", allow_hyphen_values = true)]
    pub scale: String,
    /// Shape: bunny, cube, sphere, knot, or a file with points [default: bunny where built in, else knot].
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Seed; each gives another problem.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,
    /// Where the matches go [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Where the truth goes, as JSON.
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
}

/// `convert`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Points that are missing (NaN) are kept in PLY, PCD and NPY, and left out of text. Coordinates keep their precision: double \
where single would lose any of it (PLY), or a millionth of the extent (PCD).

Examples:
  pcr99 convert scan.e57 scan.ply
  pcr99 convert tile.laz tile.pcd --force")]
pub struct Convert {
    /// Cloud to read: PLY, PCD, LAS, LAZ, E57, NPY, OBJ, KITTI `.bin`, or text (XYZ, TXT, CSV, ASC, PTS).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; its extension chooses the format: .ply, .pcd, .xyz, .txt, .asc, .csv or .npy.
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Replace OUT if it exists.
    #[arg(long)]
    pub force: bool,
}

/// `bench`.
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "\
pcr99 bench [OPTIONS] --output <DIR>
       pcr99 bench --from <DIR>",
    after_help = "\
The directory gets the records (`records.jsonl`, with `config.json`), the paper's tables (`table1`, `table2`), its figures \
(`figure2.svg`, `figure3.svg`) and one interactive page (`figures.html`). Every search uses one thread.

Examples:
  pcr99 bench --output quick
  pcr99 bench --preset paper --output paper
  pcr99 bench --preset paper --output paper --resume
  pcr99 bench --methods default,paper --ratios 0.98,0.99 --runs 50 --output two
  pcr99 bench --from paper"
)]
pub struct Bench {
    /// Directory for records, tables and figures; new or empty.
    #[arg(short, long, value_name = "DIR", required_unless_present = "from")]
    pub output: Option<PathBuf>,
    /// Draw tables and figures of this directory anew, and run nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = [
        "output", "resume", "preset", "methods", "scale", "ratios", "runs", "points", "noise", "shape", "outlier_center", "seed",
        "time_limit", "jobs",
    ])]
    pub from: Option<PathBuf>,
    /// Go on with the same options in a directory where another process ended.
    #[arg(long)]
    pub resume: bool,
    /// What to start from; the options below change it.
    #[arg(long, value_enum, default_value_t = PresetOption::Quick)]
    pub preset: PresetOption,
    /// Methods, with commas between [default: all; ours for `limits`].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub methods: Vec<Method>,
    /// Whether the methods are told the scale; those that need it take part only where they are [default: both].
    #[arg(long, value_enum)]
    pub scale: Option<ScaleModeOption>,
    /// Shares of wrong matches, below 1, with commas between.
    #[arg(long, value_name = "RATIOS", value_delimiter = ',', value_parser = number, allow_hyphen_values = true)]
    pub ratios: Vec<f64>,
    /// Problems of each kind.
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub runs: Option<u64>,
    /// Number of matches, or several with commas between [default: 1000].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub points: Vec<usize>,
    /// Standard deviation of the noise of a target coordinate; the threshold is five times that [default: 0.01].
    #[arg(long, value_name = "SIGMA", value_parser = number, allow_hyphen_values = true)]
    pub noise: Option<f64>,
    /// Shape: bunny, cube, sphere, knot, or a file with points [default: bunny where built in, else knot].
    #[arg(long, value_name = "SHAPE")]
    pub shape: Option<String>,
    /// Where the wrong targets lie: around the true place, or off it [default: centred].
    #[arg(long, value_name = "CENTER", value_enum)]
    pub outlier_center: Option<OutlierCenterOption>,
    /// Seed of all problems [default: 0].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Seconds of CPU time that one search may take [default: 100 for `paper`, else 10].
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Searches side by side; more than one disturbs the times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one::<usize>, allow_hyphen_values = true)]
    pub jobs: usize,
    /// Write the interactive page to this file too.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// `batch`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The directory gets one line for each pair in `results.csv` and, with all that `solve --json` and `register --json` say, in `results.jsonl`; \
`times.csv`; and `summary.json`. The first two depend on the manifest and its options only.

Exit status: 0 all pairs are registered; 1 finished, but some failed or are not reliable; 2 bad usage or input; 130 interrupted.

Examples:
  pcr99 batch pairs.csv --output out
  pcr99 batch pairs.csv --output out --resume
  pcr99 batch pairs.csv --output out --scale unknown --threads 8")]
pub struct Batch {
    /// The pairs, as CSV: columns `pair_id`, and `source` and `target` (clouds) or `pairs` (matches); any of the options for pairs as further columns,
    /// such as `time_limit`. Relative paths are relative to this file.
    pub manifest: PathBuf,
    /// Directory for the results; new or empty.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Go on with the same manifest in a directory where another process ended; rows may have been added.
    #[arg(long)]
    pub resume: bool,
    /// With --resume: run the pairs that failed again.
    #[arg(long, requires = "resume")]
    pub retry_failed: bool,
    /// With --resume: run the finished pairs again whose files have changed since (size, or time of the last change).
    #[arg(long, requires = "resume")]
    pub retry_changed: bool,
    /// Threads to use [default: all cores]; no result depends on it.
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Results are written after so many pairs, and at least every ten seconds [default: 100].
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, allow_hyphen_values = true)]
    pub chunk: Option<usize>,
    /// Memory for clouds that are kept for further pairs, in MiB [default: 1024].
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub cache: Option<u64>,
    /// Print the summary as one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Write one self-contained page to this file: how many pairs registered, by reason, and a table to sort and search. With --resume and all pairs
    /// finished, nothing but the page is made.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Write pages of so many single pairs to `pages` in the directory of the results, those that are not registered first; --page links to them.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub pair_pages: usize,

    /// For pairs whose cell is empty.
    #[command(flatten)]
    pub defaults: BatchDefaults,
}

/// Options for pairs whose cell is empty.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Options for pairs whose cell is empty")]
pub struct BatchDefaults {
    /// Scale s: a positive number when it is known, `unknown`, or a range MIN..MAX that bounds an unknown one [default: 1].
    #[arg(long, value_name = "unknown|S|MIN..MAX", allow_hyphen_values = true)]
    pub scale: Option<ScaleOption>,
    /// Inlier threshold of matches, in target units [default: found from the data; other methods need it].
    #[arg(long, value_name = "D", value_parser = positive, allow_hyphen_values = true)]
    pub threshold: Option<f64>,
    /// How to search among matches [default: default].
    #[arg(long, value_name = "METHOD", value_parser = method())]
    pub method: Option<Method>,
    /// Memory that tables over pairs of matches may take, in MiB, for each thread [default: 1024].
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub memory_budget: Option<u64>,
    /// Edge of the voxels of clouds, in target units [default: from the density and extent of both].
    #[arg(long, value_name = "V", value_parser = positive, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// How the pose of clouds is refined [default: point-to-plane].
    #[arg(long, value_enum)]
    pub refine: Option<RefineOption>,
    /// Start clouds from the 4×4 matrix in this text file instead of searching.
    #[arg(long, value_name = "FILE")]
    pub initial: Option<PathBuf>,
    /// Seconds that the search for one pair may take, without reading [default: no limit].
    #[arg(long, value_name = "SECONDS", value_parser = positive, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of everything random [default: 0].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: Option<u64>,
}

/// What a benchmark starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresetOption {
    /// Minutes: 25 runs, seven outlier ratios.
    Quick,
    /// The paper's protocol: 500 runs, eleven outlier ratios.
    Paper,
    /// How far ours reaches: 100 to a million matches, and 99 to 99.9 % wrong ones.
    Limits,
}

/// Whether the methods are told the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScaleModeOption {
    /// They are; it is 1.
    Known,
    /// They have to find it; it is between 1 and 5.
    Unknown,
    /// One after the other.
    Both,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A few lines to read.
    Summary,
    /// One JSON document.
    Json,
    /// The 4×4 matrix as plain text, as CloudCompare and Open3D read it.
    Matrix,
}

/// Where the wrong targets lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutlierCenterOption {
    /// Around the true place, as in the paper.
    Centred,
    /// Off the true place.
    Offset,
}

/// `--scale` of `solve` and `register`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScaleOption(pub pcr99::Scale);

impl FromStr for ScaleOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unknown" {
            return Ok(Self(pcr99::Scale::Unknown));
        }
        let positive = |text: &str| {
            positive(text)
                .map_err(|_| "expected `unknown`, a positive number, or two of them as MIN..MAX".to_owned())
        };
        let scale = match text.split_once("..") {
            None => pcr99::Scale::known(positive(text)?),
            Some((low, high)) => pcr99::Scale::between(positive(low)?, positive(high)?),
        };
        scale.map(Self).map_err(|error| error.to_string())
    }
}

/// A method by name.
fn method() -> impl TypedValueParser<Value = Method> {
    let names = PossibleValuesParser::new(Method::ALL.map(Method::name));
    names.try_map(|name| name.parse::<Method>())
}

fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "expected a number".to_owned())
}

/// A finite number above zero.
fn place(text: &str) -> Result<Place, String> {
    let numbers: Result<Vec<f64>, String> = text.split(',').map(|part| number(part.trim())).collect();
    let place = numbers.ok().and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
    place
        .filter(|place| place.iter().all(|x| x.is_finite()))
        .map(Place)
        .ok_or_else(|| "expected three numbers with commas between them, such as 0,0,1.7".to_owned())
}

fn positive(text: &str) -> Result<f64, String> {
    let number = number(text).ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a positive number".to_owned())
}

fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number, not negative".to_owned())
}

/// A count that cannot be zero.
fn at_least_one<T: FromStr + From<u8> + PartialOrd>(text: &str) -> Result<T, String> {
    let number = whole(text).ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "expected a whole number of at least 1".to_owned())
}
