//! The common ground of the `pcr99` crates: matched points, similarity transforms, least squares, hot loops, and a few tools.
//!
//! Applications use the crate `pcr99`, which re-exports what they need. This crate is for implementers of registration methods: every method that
//! is compared with another should use the same loops.
//!
//! | what | where |
//! |---|---|
//! | matched points, one array per coordinate | [`Soa`] |
//! | similarity transforms `b = s·R·a + t` | [`Similarity`] |
//! | the transform that fits many matches best | [`least_squares`] |
//! | hot loops, compiled for the baseline and for AVX2 | [`kernel`] |
//! | small vectors and linear systems | [`vector`] |
//! | eigenvalues of symmetric matrices | [`eigen`] |
//! | seeded random numbers | [`random`] |
//! | wall-clock time, stage by stage | [`clock`] |
//! | files that are complete or not there (feature `files`) | `output_file` |
//!
//! # Guarantees
//!
//! * Same input, same bits, on every CPU: no fused multiply-add, and no mathematical function of the C library.
//! * All public functions are safe. This is the only crate of the workspace that contains `unsafe` code; each block states why it is sound.
//! * Versions before 1.0 may change anything here between minor releases.

/// Wall-clock time of the stages of a computation.
pub mod clock;

mod convert;

mod dispatch;

/// Eigenvalues of small symmetric matrices.
pub mod eigen;

/// Hot loops, each compiled for the baseline of the platform and for AVX2.
pub mod kernel;

/// The similarity transform that fits many matches best.
pub mod least_squares;

/// Output files that are complete or not there.
#[cfg(feature = "files")]
pub mod output_file;

mod points;

/// Random numbers that are the same on every machine.
pub mod random;

mod similarity;

/// Random matches for tests.
#[cfg(any(test, feature = "testing"))]
pub mod test_points;

/// Vectors of three numbers, 3×3 matrices and small linear systems.
pub mod vector;

pub use points::{Soa, squared_distances};
pub use similarity::{ORTHONORMAL_TOLERANCE, Similarity, SimilarityError, rotation_of};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
