//! Pose graphs: from measurements between pairs of vertices to one pose for each, without a start, robust against wrong measurements.
//!
//! A vertex has an unknown pose: a rigid motion, SE(3), or a similarity, Sim(3), that maps its coordinates to those of the graph. An edge says where one vertex is
//! seen from another, and how certain that is. [`solve`] finds the poses that agree best with all edges.
//!
//! # A ring
//!
//! ```
//! use pcr99_base::Similarity;
//! use pcr99_graph::{Kind, Options, PoseGraph, isotropic, solve};
//!
//! // Six vertices; each sees the next one metre ahead, after a turn by 60° that is measured 0.6° too large.
//! let mut graph = PoseGraph::new(Kind::Rigid);
//! for id in 0..6 {
//!     graph.add_vertex(id, None)?;
//! }
//! let half = 0.5 * 60.6_f64.to_radians();
//! let step = Similarity::from_quaternion(1.0, [half.cos(), 0.0, 0.0, half.sin()], [1.0, 0.0, 0.0]).unwrap();
//! for k in 0..6 {
//!     // Standard deviations: 0.01 rad and 0.05 m.
//!     graph.add_edge(k, (k + 1) % 6, step, isotropic(0.01, 0.05, 1.0))?;
//! }
//! let solution = solve(&graph, &Options::default())?;
//! assert!(solution.has_converged);
//! // The error is spread over the ring, so that opposite vertices are two metres apart.
//! let [a, d] = [0, 3].map(|k| solution.poses[k].translation());
//! let distance = ((a[0] - d[0]).powi(2) + (a[1] - d[1]).powi(2)).sqrt();
//! assert!((distance - 2.0).abs() < 0.01);
//! # Ok::<(), pcr99_graph::Error>(())
//! ```
//!
//! # Tied to the world
//!
//! Control points say where a point of a vertex is in the world, and satellite receivers where a vertex itself is. [`anchor`] moves and bends the solved graph so that it
//! agrees with both its edges and these places, each as far as it is certain. Gross errors are found, named and left out.
//!
//! ```
//! use pcr99_base::Similarity;
//! use pcr99_graph::{Kind, Options, PoseGraph, anchor, isotropic, solve};
//!
//! let mut graph = PoseGraph::new(Kind::Rigid);
//! for id in 0..6 {
//!     graph.add_vertex(id, None)?;
//! }
//! let half = 30_f64.to_radians();
//! let step = Similarity::from_quaternion(1.0, [half.cos(), 0.0, 0.0, half.sin()], [5.0, 0.0, 0.2]).unwrap();
//! (0..5).try_for_each(|k| graph.add_edge(k, k + 1, step, isotropic(0.01, 0.05, 1.0)))?;
//! let solution = solve(&graph, &Options::default())?;
//!
//! // Where each vertex is in the world, to 3 cm; the last number has a slip of the pen.
//! for (k, pose) in solution.poses.clone().iter().enumerate() {
//!     let [x, y, z] = pose.translation();
//!     let slip = if k == 5 { 10.0 } else { 0.0 };
//!     graph.add_position(k, [0.0; 3], [500_000.0 - y, 4_000_000.0 + x + slip, z], [0.03; 3])?;
//! }
//! let anchored = anchor(&graph, &Options::default(), &solution)?;
//! assert_eq!(anchored.is_position_used, [true, true, true, true, true, false]);
//! assert!((anchored.poses[5].translation()[0] - 500_000.0).abs() < 20.0);
//! # Ok::<(), pcr99_graph::Error>(())
//! ```
//!
//! # Where to find what
//!
//! | what | item |
//! |---|---|
//! | vertices, edges, components | [`PoseGraph`], [`Edge`], [`Kind`] |
//! | g2o files | [`PoseGraph::from_g2o`], [`PoseGraph::to_g2o`], [`RotationInformation`] |
//! | what is minimised | [`Cost`] |
//! | poses, cost, used edges | [`solve`], [`Options`], [`Solution`] |
//! | wrong edges | [`Trust`] |
//! | accuracy | [`Solution::covariances`] |
//! | control points and satellite positions | [`PoseGraph::add_position`], [`anchor`], [`Anchored`] |
//!
//! # How
//!
//! Rotations start from a relaxed linear problem (chordal relaxation), translations and scales follow from linear problems, and Gauss–Newton with damping finishes; the
//! chordal cost uses exact second derivatives near its minimum. All systems are solved by a sparse block Cholesky factorisation in an order of approximate minimum degree.
//!
//! Wrong edges are found by cycles. Short cycles give the noise of right edges and a first choice; an edge that is not used is judged by the covariance with
//! which the others predict it, and the gate of used edges is narrowed in rounds. Where no trusted or confirmed edge connects them, vertices stay in components of their own.
//!
//! # Guarantees
//!
//! * **Reproducible.** The same graph gives the same bits on any CPU: no fused multiply-add, no mathematics of the C library, one thread.
//! * **No silent failure.** Invalid files and graphs are an [`Error`] that names the line or the vertex. [`Solution::has_converged`] says whether the last step was small.
//!
//! # Not guaranteed
//!
//! * The minimum that is found may be a local one. On the public graphs that the tests use, it is the global one.
//! * Wrong edges that agree with each other are taken for right ones. Edges in no cycle cannot be checked.
//! * A random edge may look right by chance, where errors are large: one of 1934 in one of twelve runs with a sphere whose rotations are off by 0.2 rad.

mod cost;

mod covariance;

mod error;

mod g2o;

mod graph;

mod lie;

mod matrix;

mod optimize;

mod positions;

mod problem;

mod robust;

mod solve;

mod sparse;

mod start;

pub use cost::Cost;
pub use error::Error;
pub use g2o::RotationInformation;
pub use graph::{Edge, Information, Kind, PoseGraph, Position, isotropic};
pub use positions::{Anchored, Loose, anchor};
pub use robust::Trust;
pub use solve::{Options, Solution, Start, solve};

/// Compiles and runs the examples of the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
