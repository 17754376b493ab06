//! Options of `register`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use pcr99::Similarity;
use pcr99_cloud::Refinement;
use pcr99_plan::{GivenScale, GivenVertical, RegisterOptions};

use super::{
    PageHead, PrintedResult,
    values::{both_sides, number, place, vertical, whole},
};

/// Options of `register`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  pcr99 register a.ply b.ply
  pcr99 register a.ply b.ply --json --write-aligned aligned.ply
  pcr99 register model.ply photos.ply --scale unknown
  pcr99 register a.ply b.ply --initial pose.txt --refine point-to-point")]
pub struct Register {
    /// Source cloud, which is moved. Any format that `pcr99 convert` reads.
    pub source: PathBuf,
    /// Target cloud, which stays in place.
    pub target: PathBuf,

    /// Voxel edge for downsampling, in target units [default: from the density and extent of both clouds].
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// Scale s: a positive number if it is known, `unknown` to estimate it, or MIN..MAX to estimate it within bounds.
    #[arg(long, value_name = "unknown|S|MIN..MAX", default_value = "1", allow_hyphen_values = true)]
    pub scale: GivenScale,
    /// Direction that is up on each side, for instance `source=0,0,1 target=0,0,1`: the transform only turns about it and moves [default: unknown].
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], value_parser = vertical)]
    pub vertical: Vec<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees [default: 0].
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_hyphen_values = true)]
    pub tilt: Option<f64>,
    /// Refinement of the pose.
    #[arg(long, value_enum, default_value_t = RefineOption::PointToPlane)]
    pub refine: RefineOption,
    /// Refine and judge the pose in this text file (4×4 matrix). A search still runs, and a better pose that it finds counts against it.
    #[arg(long, value_name = "FILE")]
    pub initial: Option<PathBuf>,
    /// Whether the initial pose is only refined.
    #[arg(skip)]
    pub is_local: bool,
    /// Sensor position in the source's coordinates. It orients the normals and tells which space the sensor saw to be free
    /// [default: from the file, if it has one].
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
    /// Stop after this many seconds, reading and preparing included, and return the best pose found so far.
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<u64>, allow_hyphen_values = true)]
    pub seed: u64,

    /// The printed result.
    #[command(flatten)]
    pub printed: PrintedResult,
    /// Write the source cloud, moved onto the target, to this file. Only a registered cloud is written.
    #[arg(long, value_name = "FILE")]
    pub write_aligned: Option<PathBuf>,
    /// Write the aligned cloud even if the pose is not reliable.
    #[arg(long, requires = "write_aligned")]
    pub force: bool,
    /// Write a self-contained HTML page to this file: the verdict, both clouds before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// The head of the page.
    #[command(flatten)]
    pub head: PageHead,
}

/// A place in the coordinates of a cloud.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place(pub [f64; 3]);

/// Refinement of a pose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RefineOption {
    /// Minimise distances to the tangent planes of the target.
    PointToPlane,
    /// Minimise distances to the points of the target.
    PointToPoint,
    /// Minimise distances between the tangent planes of both clouds (GICP).
    PlaneToPlane,
    /// Keep the pose that the matches give.
    None,
}

impl From<RefineOption> for Refinement {
    fn from(option: RefineOption) -> Self {
        match option {
            RefineOption::PointToPlane => Self::PointToPlane,
            RefineOption::PointToPoint => Self::PointToPoint,
            RefineOption::PlaneToPlane => Self::PlaneToPlane,
            RefineOption::None => Self::None,
        }
    }
}

impl Register {
    /// The options of the registration, with the pose that was read from the file `initial`.
    pub(crate) fn options(&self, initial: Option<Similarity>) -> RegisterOptions {
        RegisterOptions {
            scale: Some(self.scale),
            voxel: self.voxel,
            refine: Some(self.refine.into()),
            initial,
            is_local: self.is_local,
            vertical: both_sides(&self.vertical),
            tilt: self.tilt,
            candidates: self.candidates,
            threads: self.threads,
            time_limit: self.time_limit,
            seed: Some(self.seed),
        }
    }
}

/// Options of `refine`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The initial pose must be right to about three voxels. Whether another pose fits better is not asked: `register` searches.

Examples:
  pcr99 refine a.ply b.ply --initial pose.txt
  pcr99 refine a.ply b.ply --initial pose.txt --refine plane-to-plane --json")]
pub struct Refine {
    /// Source cloud, which is moved. Any format that `pcr99 convert` reads.
    pub source: PathBuf,
    /// Target cloud, which stays in place.
    pub target: PathBuf,
    /// Text file with the pose to refine (4×4 matrix).
    #[arg(long, value_name = "FILE", required = true)]
    pub initial: PathBuf,

    /// Voxel edge for downsampling, in target units [default: from the density and extent of both clouds].
    #[arg(long, value_name = "V", value_parser = number, allow_hyphen_values = true)]
    pub voxel: Option<f64>,
    /// Scale s: a positive number if it is known, `unknown` to estimate it, or MIN..MAX to estimate it within bounds.
    #[arg(long, value_name = "unknown|S|MIN..MAX", default_value = "1", allow_hyphen_values = true)]
    pub scale: GivenScale,
    /// Direction that is up on each side, for instance `source=0,0,1 target=0,0,1`: the transform only turns about it and moves [default: unknown].
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], value_parser = vertical)]
    pub vertical: Vec<GivenVertical>,
    /// Largest angle between the vertical of the target and that of the moved source, in degrees [default: 0].
    #[arg(long, value_name = "DEGREES", value_parser = number, allow_hyphen_values = true)]
    pub tilt: Option<f64>,
    /// Refinement of the pose.
    #[arg(long, value_enum, default_value_t = RefineOption::PointToPlane)]
    pub refine: RefineOption,
    /// Number of threads [default: all cores]. The result does not depend on it.
    #[arg(long, value_name = "N", value_parser = whole::<usize>, allow_hyphen_values = true)]
    pub threads: Option<usize>,
    /// Stop after this many seconds, reading and preparing included. A pose that was not refined by then is not returned.
    #[arg(long, value_name = "SECONDS", value_parser = number, allow_hyphen_values = true)]
    pub time_limit: Option<f64>,

    /// The printed result.
    #[command(flatten)]
    pub printed: PrintedResult,
    /// Write the source cloud, moved onto the target, to this file. Only a registered cloud is written.
    #[arg(long, value_name = "FILE")]
    pub write_aligned: Option<PathBuf>,
    /// Write the aligned cloud even if the pose is not reliable.
    #[arg(long, requires = "write_aligned")]
    pub force: bool,
    /// Write a self-contained HTML page to this file: the verdict, both clouds before and after in 3-D, residuals, the transform.
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// The head of the page.
    #[command(flatten)]
    pub head: PageHead,
}

impl Refine {
    /// Converts these options to those of `register`, with the search switched off.
    pub(crate) fn registration(&self) -> Register {
        Register {
            source: self.source.clone(),
            target: self.target.clone(),
            voxel: self.voxel,
            scale: self.scale,
            vertical: self.vertical.clone(),
            tilt: self.tilt,
            refine: self.refine,
            initial: Some(self.initial.clone()),
            is_local: true,
            source_viewpoint: None,
            target_viewpoint: None,
            candidates: None,
            threads: self.threads,
            time_limit: self.time_limit,
            seed: 0,
            printed: self.printed.clone(),
            write_aligned: self.write_aligned.clone(),
            force: self.force,
            page: self.page.clone(),
            head: self.head.clone(),
        }
    }
}
