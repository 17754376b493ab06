//! Options of `georeference`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use pcr99_plan::{GivenScale, GivenVertical};

use super::{
    PrintedResult,
    values::{number, vertical},
};

/// Options of `georeference`.
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "\
pcr99 georeference [OPTIONS] <POINTS>
       pcr99 georeference [OPTIONS] --trajectory <FILE> --reference <FILE>",
    after_help = "\
Control points with gross errors are found, named and left out. Three points off a line determine the transform, or two with a known vertical, but nothing \
checks them then. Poses of two trajectories are paired by time, and all pairs are used.

Exit status: 0 done; 1 no more than half of the points agree; 2 bad usage or bad input.

Examples:
  pcr99 georeference points.csv
  pcr99 georeference points.csv --cloud scan.laz --write-moved world.laz --vertical source=0,0,1 target=0,0,1
  pcr99 georeference --trajectory estimate.txt --reference truth.txt --scale unknown"
)]
pub struct Georeference {
    /// Control points: text with the columns `name x y z X Y Z`, local and then world coordinates, and optionally the standard deviation of a coordinate. Columns are separated by commas,
    /// semicolons, tabs or spaces; a header and lines that begin with `#` are skipped.
    #[arg(required_unless_present_any = ["trajectory", "reference"], conflicts_with_all = ["trajectory", "reference"])]
    pub points: Option<PathBuf>,
    /// Trajectory to align (TUM: `timestamp x y z qx qy qz qw`), with --reference.
    #[arg(long, value_name = "FILE", requires = "reference")]
    pub trajectory: Option<PathBuf>,
    /// Trajectory in the world (TUM).
    #[arg(long, value_name = "FILE", requires = "trajectory")]
    pub reference: Option<PathBuf>,
    /// Largest difference in time of two poses that belong together, in seconds [default: 0.01].
    #[arg(long, value_name = "SECONDS", value_parser = number, requires = "trajectory", allow_hyphen_values = true)]
    pub time_tolerance: Option<f64>,

    /// Scale s: a positive number if it is known, `unknown` to estimate it, or MIN..MAX to estimate it within bounds.
    #[arg(long, value_name = "unknown|S|MIN..MAX", default_value = "1", allow_hyphen_values = true)]
    pub scale: GivenScale,
    /// Direction that is up on each side, for instance `source=0,0,1 target=0,0,1`: the transform only turns about it and moves [default: unknown].
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], value_parser = vertical)]
    pub vertical: Vec<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees [default: 0].
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_hyphen_values = true)]
    pub tilt: Option<f64>,

    /// Cloud to move with the transform, in any format that `pcr99 convert` reads.
    #[arg(long, value_name = "FILE", requires = "write_moved", conflicts_with = "trajectory")]
    pub cloud: Option<PathBuf>,
    /// Write the moved cloud or trajectory to this file.
    #[arg(long, value_name = "FILE")]
    pub write_moved: Option<PathBuf>,
    /// Replace the moved cloud if it exists, and write it even if no more than half of the points agree.
    #[arg(long, requires = "write_moved")]
    pub force: bool,
    /// Write the residual of each point to this CSV file.
    #[arg(long, value_name = "FILE")]
    pub residuals: Option<PathBuf>,

    /// The printed result.
    #[command(flatten)]
    pub printed: PrintedResult,
}
