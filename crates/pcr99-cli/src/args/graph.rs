//! Options of `graph`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// Options of `graph`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The file has lines VERTEX_SE3:QUAT, EDGE_SE3:QUAT and FIX; VERTEX_SIM3:QUAT and EDGE_SIM3:QUAT, with a scale after the \
quaternion, make a graph of similarities. Vertices that no used edge connects are components of their own, and keep their \
distance from each other. One vertex of each component keeps its pose: a fixed one, or the one with most edges.

Exit status: 0 done; 1 the optimisation did not converge; 2 bad usage or bad input.

Examples:
  pcr99 graph in.g2o --output out.g2o
  pcr99 graph in.g2o --output out.g2o --robust --rejected wrong.csv
  pcr99 graph torus3D.g2o --cost chordal --rotation-information radians")]
pub struct Graph {
    /// g2o file to read; `-` reads standard input.
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// g2o file to write: the vertices at their new poses, and the edges that were used.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What to minimise.
    #[arg(long, value_enum, default_value_t = CostOption::Geodesic)]
    pub cost: CostOption,
    /// Find and leave out wrong edges.
    #[arg(long)]
    pub robust: bool,
    /// With --robust: edges that are taken as right.
    #[arg(long, value_enum, default_value_t = TrustOption::Odometry, requires = "robust")]
    pub trust: TrustOption,
    /// With --robust: CSV file of the edges that were left out.
    #[arg(long, value_name = "FILE", requires = "robust")]
    pub rejected: Option<PathBuf>,
    /// What the information of rotations in the file belongs to.
    #[arg(long, value_enum, default_value_t = RotationInformationOption::Quaternion)]
    pub rotation_information: RotationInformationOption,
    /// Start from the poses of the file instead of the edges.
    #[arg(long, conflicts_with = "robust")]
    pub from_poses: bool,
    /// Number of the vertex that keeps its pose [default: the one with most edges].
    #[arg(long, value_name = "ID")]
    pub gauge: Option<u64>,
    /// CSV file of the standard deviations of all poses, relative to the vertices that keep theirs.
    #[arg(long, value_name = "FILE")]
    pub deviations: Option<PathBuf>,
}

/// What `graph` minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostOption {
    /// Half the sum of squares of the logarithms of the errors, weighted by the whole information, as GTSAM does.
    Geodesic,
    /// Squared differences of rotation matrices and translations, with one weight each, as SE-Sync does.
    Chordal,
}

/// Edges that `graph --robust` takes as right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TrustOption {
    /// Those between vertices with successive numbers.
    Odometry,
    /// None.
    Nothing,
}

/// What the information of rotations in a g2o file belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RotationInformationOption {
    /// The vector part of the quaternion, which is half the angle: as g2o defines it, and as `register --format g2o` writes it.
    Quaternion,
    /// The rotation vector in radians: as GTSAM and SE-Sync read it.
    Radians,
}
