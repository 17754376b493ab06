//! Options of `assemble`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use pcr99_assemble::Merge;
use pcr99_plan::GivenScale;

use super::{
    Place,
    values::{at_least_one, number, place, threads, whole},
};

/// Options of `assemble`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Output directory:
  poses.json  .csv .tum .g2o   scans with status, reason, pose and accuracy; the pose graph
  edges.csv                    one row per pair: verdict, reason, evidence, difference from the map
  merged.ply                   the merged cloud; merged-0.ply, merged-1.ply, … when there are several maps
  index.html                   the map in 3-D, the graph of the pairs, tables
  pairs/                       the batch of all pairs

Scans that do not belong together end in separate maps, which are never bridged by a guess. Results depend only on the scans and \
options, not on threads or interruptions.

Exit status: 0 all scans are in one map; 1 finished, but some scans are in other maps or in none, or known places tie no map; 2 bad usage or bad input; \
130 interrupted.

Examples:
  pcr99 assemble scans/*.e57 --output project
  pcr99 assemble new/*.e57 --output project --resume
  pcr99 assemble photos/*.ply --output project --scale unknown")]
pub struct Assemble {
    /// Scans, in any order, in any format that `pcr99 convert` reads. With --resume: scans to add, possibly none.
    #[arg(value_name = "SCANS")]
    pub scans: Vec<PathBuf>,
    /// Directory of the project. It must be new or empty, except with --resume.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Continue an interrupted project, or add scans to a finished one. Finished pairs are not repeated.
    #[arg(long)]
    pub resume: bool,
    /// Scale between scans: 1 if all have the same units, `unknown` to estimate it, or MIN..MAX to estimate it within bounds [default: 1].
    #[arg(long, value_name = "unknown|MIN..MAX", allow_hyphen_values = true)]
    pub scale: Option<GivenScale>,
    /// Scans whose sensors are mounted together, so that the pose between two sensors is the same in all scenes: a pattern of the end of their file names with the
    /// places {scene} and {sensor}, such as `{scene}/{sensor}.pcd`. Their pairs are judged together.
    #[arg(long, value_name = "PATTERN")]
    pub same_rig: Option<String>,
    /// Voxel edge for downsampling scans [default: from the density and extent of both scans of a pair].
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// Direction that is up in all scans, for instance 0,0,1: poses between scans only turn about it and move [default: unknown].
    #[arg(long, value_name = "X,Y,Z", value_parser = place, allow_hyphen_values = true)]
    pub vertical: Option<Place>,
    /// Largest angle between the verticals of two scans, in degrees [default: 0].
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_hyphen_values = true)]
    pub tilt: Option<f64>,
    /// Control points that tie the map to the world: text with the columns `name scan x y z X Y Z sigma` and optionally `sigma_z`. x, y and z are coordinates of the scan, or of the
    /// map where the scan is `map`; sigma is the standard deviation of a coordinate. Gross errors are found and named.
    #[arg(long, value_name = "FILE")]
    pub control: Option<PathBuf>,
    /// Positions of scans in the world, for instance of a satellite receiver or a trajectory: text with the columns `scan X Y Z sigma` and optionally `sigma_z`. The position of a
    /// scan is the place of the origin of its coordinates.
    #[arg(long, value_name = "FILE")]
    pub positions: Option<PathBuf>,
    /// What the merged cloud has: one point per voxel with the spacing that the registrations suggest (`auto`), or with the edge V; `all` points; or `none`.
    #[arg(long, value_name = "auto|V|all|none", default_value = "auto", allow_hyphen_values = true)]
    pub merge: Merge,
    /// Format of the merged cloud.
    #[arg(long, value_enum, default_value_t = MergeFormat::Ply)]
    pub merge_format: MergeFormat,
    /// Write pages of up to this many pairs to `pages` in the output directory, pairs in conflict first. index.html links to them.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub pair_pages: usize,
    /// Number of threads [default: all cores]. The results do not depend on it.
    #[arg(long, value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Save results after this many pairs, at most ten times a second and at least every ten seconds [default: 100].
    #[arg(long, value_name = "N", value_parser = at_least_one::<usize>, allow_hyphen_values = true)]
    pub chunk: Option<usize>,
    /// Memory for scans that further pairs may use, in MiB [default: 2048].
    #[arg(long, value_name = "MIB", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub cache: Option<u64>,
    /// Seed of the random numbers [default: 0].
    #[arg(long, value_name = "N", value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Print the document, which is also in poses.json, instead of the summary.
    #[arg(long)]
    pub json: bool,
}

/// Format of merged clouds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MergeFormat {
    /// PLY, binary.
    Ply,
    /// PCD, binary.
    Pcd,
    /// LAS.
    Las,
    /// LAZ.
    Laz,
    /// E57.
    E57,
}

impl MergeFormat {
    /// Extension of the files.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Ply => "ply",
            Self::Pcd => "pcd",
            Self::Las => "las",
            Self::Laz => "laz",
            Self::E57 => "e57",
        }
    }
}
