use std::{ffi::OsString, path::PathBuf};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

mod batch;

mod graph;

#[cfg(feature = "lab")]
mod lab;

mod register;

mod solve;

mod values;

pub use batch::{Batch, BatchDefaults, BatchPair};
pub use graph::{CostOption, Graph, RotationInformationOption, TrustOption};
#[cfg(feature = "lab")]
pub use lab::{Bench, Demo, OutlierCenterOption, PresetOption, ScaleModeOption, Simulate};
pub use register::{Place, Refine, RefineOption, Register};
pub use solve::{PaperArgs, Solve};

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
    /// Describe the steps and their outcome on standard error.
    #[arg(short, long, global = true, display_order = LAST)]
    pub verbose: bool,
    /// The whole command, as it would be typed again.
    #[arg(skip)]
    pub command_line: String,
    /// Program and first arguments that start this program again.
    #[arg(skip)]
    pub program: Vec<OsString>,
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
    /// Generate matches with a known transform.
    #[cfg(feature = "lab")]
    Simulate(Simulate),
    /// Convert a point cloud to another file format, with its normals, colours and intensities.
    Convert(Convert),
    /// Repeat the paper's evaluation: every method on the same random problems.
    #[cfg(feature = "lab")]
    Bench(Box<Bench>),
    /// Register many pairs, listed in a table.
    Batch(Box<Batch>),
    /// Run one pair of a batch, which arrives on standard input. `batch` starts this command for pairs that may end their process.
    #[command(hide = true)]
    BatchPair(BatchPair),
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
Invalid points (NaN) are kept in PLY, PCD and NPY files and removed from text files. Coordinates are written in double precision \
where single precision would lose digits (PLY) or more than a millionth of the extent (PCD).

Examples:
  pcr99 convert scan.e57 scan.ply
  pcr99 convert tile.laz tile.pcd --force")]
pub struct Convert {
    /// Cloud to read: PLY, PCD, LAS, LAZ, E57, NPY, OBJ, KITTI `.bin`, or text (XYZ, TXT, CSV, ASC, PTS).
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write; the extension selects the format: .ply, .pcd, .xyz, .txt, .asc, .csv or .npy.
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
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
