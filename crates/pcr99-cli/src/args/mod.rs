use std::{ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use pcr99_page::ReportHead;

use self::values::line;

mod assemble;

mod batch;

mod georeference;

mod given;

mod graph;

#[cfg(feature = "lab")]
mod lab;

mod register;

mod solve;

mod values;

pub use assemble::{Assemble, MergeFormat};
pub use batch::{Batch, BatchDefaults, BatchPair};
pub use georeference::Georeference;
pub use given::{Assess, Verify};
pub use graph::{CostOption, Graph, RotationInformationOption, TrustOption};
#[cfg(feature = "lab")]
pub use lab::{Bench, Demo, OutlierCenterOption, PresetOption, ScaleModeOption, Simulate};
pub use register::{Place, Refine, RefineOption, Register};
pub use solve::{PaperArgs, Solve};
pub(crate) use values::both_sides;

/// Position in the help of options that all commands share: below a command's own options.
const LAST: usize = 900;

/// Robust registration of two 3-D point sets: finds the transform even when 99 % of the matches are outliers.
///
/// The transform maps source to target: b = s·R·a + t, as the 4×4 matrix [sR t; 0 1].
///
/// Exit status: 0 registered; 1 finished without a reliable registration; 2 bad usage or bad input; 130 interrupted.
#[derive(Debug, Parser)]
#[command(
    name = "pcr99",
    version,
    propagate_version = true,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Args {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print only the result and errors.
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = LAST)]
    pub quiet: bool,
    /// Say on standard error what was decided; with -vv, also why.
    #[arg(short, long, global = true, action = ArgAction::Count, display_order = LAST)]
    pub verbose: u8,
    /// How to show progress on standard error: `auto`, a line that changes, on a terminal only, or `plain`, a new line every ten seconds, in log files too.
    // Descriptions of the values would make the help of every command three times as long.
    #[arg(
        long, global = true, value_enum, default_value_t = Progress::Auto, hide_possible_values = true, conflicts_with = "quiet",
        display_order = LAST
    )]
    pub progress: Progress,
    /// The whole command, as it would be typed again.
    #[arg(skip)]
    pub command_line: String,
    /// Program and first arguments that start this program again.
    #[arg(skip)]
    pub program: Vec<OsString>,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Progress {
    /// A line that changes, on a terminal only.
    Auto,
    /// A new line every ten seconds, also where there is no terminal, as in a log file.
    Plain,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Solve a built-in problem with 99 % outliers, with known and with unknown scale.
    #[cfg(feature = "lab")]
    Demo(Demo),
    /// Find the transform from a file of matches.
    Solve(Box<Solve>),
    /// Find the transform between two point clouds.
    Register(Box<Register>),
    /// Refine a given pose between two point clouds, without a search.
    Refine(Box<Refine>),
    /// Judge a transform from elsewhere by a file of matches.
    Assess(Assess),
    /// Judge a transform from elsewhere by two point clouds.
    Verify(Verify),
    /// Generate matches with a known transform.
    #[cfg(feature = "lab")]
    Simulate(Simulate),
    /// Convert a point cloud to another file format, with all attributes that it can hold.
    Convert(Convert),
    /// Describe cloud files: points, extent, spacing, attributes, scans, and what may be a mistake.
    Info(Info),
    /// Move a cloud file by a transform, with everything that is in it.
    Apply(Apply),
    /// Repeat the paper's evaluation: every method on the same random problems.
    #[cfg(feature = "lab")]
    Bench(Box<Bench>),
    /// Register many pairs, listed in a table.
    Batch(Box<Batch>),
    /// Run one pair of a batch, which arrives on standard input. `batch` starts this command for pairs that may end their process.
    #[command(hide = true)]
    BatchPair(BatchPair),
    /// Tie a cloud or a trajectory to the world by control points, or align two trajectories.
    Georeference(Box<Georeference>),
    /// Assemble many unordered scans to one map.
    Assemble(Box<Assemble>),
    /// Find the poses of a pose graph (g2o file).
    Graph(Graph),
    /// Write an HTML page from a saved result.
    Page(Page),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print this help, or the help of a command.
    #[command(display_order = LAST)]
    Help {
        /// The command.
        #[arg(value_name = "COMMAND")]
        topic: Option<String>,
    },
}

/// Options of `convert`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Attributes that the format of OUT has no place for are listed on standard error. Between files of one format (LAS and LAZ are one) \
everything stays, the encoding too. Invalid points (NaN) are kept in PLY, PCD, NPY and E57 files and removed from others. Coordinates are \
written in double precision where single precision would lose digits (PLY) or more than a millionth of the extent (PCD).

Examples:
  pcr99 convert scan.e57 scan.ply
  pcr99 convert tile.laz tile.pcd --force
  pcr99 convert tile.las tile.laz")]
pub struct Convert {
    /// Cloud to read: PLY, PCD, LAS, LAZ, E57, NPY, OBJ, KITTI `.bin`, or text (XYZ, TXT, CSV, ASC, PTS).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; the extension selects the format: .ply, .pcd, .las, .laz, .e57, .xyz, .txt, .asc, .csv or .npy.
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Replace OUT if it exists.
    #[arg(long)]
    pub force: bool,
}

/// Options of `info`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Warnings name coordinates that are coarse beside the spacing of the points, strays far from all others, duplicates, and files whose \
extents differ as if their units did (metres and millimetres, metres and feet).

Examples:
  pcr99 info scan.e57
  pcr99 info a.laz b.laz --json")]
pub struct Info {
    /// Clouds, in any format that `pcr99 convert` reads.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Write the description to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `apply`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
OUT has everything that IN has, if both have one format: attributes of any name, records, the coordinate system. Only positions \
change, and normals and poses of sensors with them. The coordinates of LAS and LAZ files get a step of a tenth of the old one or finer, so that the \
inverse transform restores them; these files are moved in little memory, whatever their size. Scans of E57 files get another pose. \
Into another format, everything is written that it can hold, and the rest is listed.

Examples:
  pcr99 register a.laz b.laz --format matrix --output pose.txt
  pcr99 apply pose.txt a.laz aligned.laz
  pcr99 apply result.json b.e57 b-in-a.e57 --inverse")]
pub struct Apply {
    /// Text file with a 4×4 matrix, or document of `solve`, `register` or `refine` (JSON).
    #[arg(value_name = "TRANSFORM")]
    pub transform: PathBuf,
    /// Cloud to read, in any format that `pcr99 convert` reads.
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write, in any format that `pcr99 convert` writes.
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Apply the inverse: from target to source.
    #[arg(long)]
    pub inverse: bool,
    /// Replace OUT if it exists.
    #[arg(long)]
    pub force: bool,
}

/// Options of `page`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The page draws the points of the files that the document names. Relative paths are tried in the current directory, then in the \
directory of the document. The points must be those of the document: a file that has changed is an error. Matches between clouds are \
not part of a document, so this page does not draw them.

Examples:
  pcr99 register a.ply b.ply --json --output result.json
  pcr99 page result.json --output view.html")]
pub struct Page {
    /// Document that `solve --json` or `register --json` wrote; `-` reads standard input.
    pub document: PathBuf,
    /// HTML file to write.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Source cloud, instead of the file that the document names.
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Target cloud, instead of the file that the document names.
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Matches or index pairs, instead of the file that the document names.
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,
    /// Write the numbers only; no points are read or drawn.
    #[arg(long, conflicts_with_all = ["source", "target", "pairs"])]
    pub no_points: bool,
    /// The head of the page.
    #[command(flatten)]
    pub head: PageHead,
}

/// What `solve`, `register` and `refine` print, and where.
#[derive(Debug, Clone, ClapArgs)]
pub struct PrintedResult {
    /// Print the result as one JSON document (same as --format json).
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// What to print.
    #[arg(long, value_enum, default_value_t = Format::Summary)]
    format: Format,
    /// Write the result to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl PrintedResult {
    /// What to print.
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Whether a summary goes to standard output.
    pub(crate) fn is_summary_on_screen(&self) -> bool {
        self.format() == Format::Summary && self.output.is_none()
    }
}

/// What `assess` and `verify` print, and where.
#[derive(Debug, Clone, ClapArgs)]
pub struct VerdictPrinted {
    /// Print the verdict as one JSON document.
    #[arg(long)]
    pub json: bool,
    /// Write the verdict to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What the head of a page says.
#[derive(Debug, Clone, Default, ClapArgs)]
#[command(next_help_heading = "Head of the page")]
pub struct PageHead {
    /// Title of the page [default: made from the names of the files].
    #[arg(long, value_name = "TEXT", value_parser = line)]
    pub title: Option<String>,
    /// Project that the registration belongs to.
    #[arg(long, value_name = "TEXT", value_parser = line)]
    pub project: Option<String>,
    /// Author of the report.
    #[arg(long, value_name = "TEXT", value_parser = line)]
    pub author: Option<String>,
    /// Date of the report, as text. Without it the page has no date, so that the same input gives the same page.
    #[arg(long, value_name = "TEXT", value_parser = line)]
    pub date: Option<String>,
}

impl PageHead {
    /// The head, for the page.
    pub(crate) fn head(&self) -> ReportHead {
        let Self { title, project, author, date } = self.clone();
        ReportHead { title, project, author, date }
    }
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A short summary for people.
    Summary,
    /// The result as one JSON document.
    Json,
    /// The 4×4 matrix as plain text, as CloudCompare and Open3D read it.
    Matrix,
    /// One line of a TUM trajectory: timestamp (0), position and quaternion.
    Tum,
    /// One line of a KITTI trajectory: the first three rows of the matrix.
    Kitti,
    /// An edge of a pose graph, from vertex 0 (target) to vertex 1 (source), with its information.
    G2o,
}
