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
//! | the transform of a few control points, some of them wrong | [`control`] |
//! | hot loops, compiled for the baseline and for AVX2 | [`kernel`] |
//! | rotations that keep an axis upright | [`upright`] |
//! | small vectors and linear systems | [`vector`] |
//! | eigenvalues of symmetric matrices | [`eigen`] |
//! | seeded random numbers | [`random`] |
//! | wall-clock time, stage by stage | [`clock`] |
//! | files that are complete or not there (feature `files`) | `output_file` |
//! | lines of JSON with a checksum | [`sealed`] |
//! | what is told about decisions, through the crate `log` | [`logging`] |
//! | numbers in text, and characters that change its direction | [`text`] |
//!
//! # Guarantees
//!
//! * Same input, same bits, on every CPU: no fused multiply-add, and no mathematical function of the C library.
//! * All public functions are safe. This is the only crate of the workspace that contains `unsafe` code; each block states why it is sound.
//! * Versions before 1.0 may change anything here between minor releases.

pub mod clock;

pub mod control;

mod convert;

mod dispatch;

pub mod eigen;

pub mod kernel;

pub mod least_squares;

pub mod logging;

#[cfg(feature = "files")]
pub mod output_file;

mod points;

pub mod random;

pub mod sealed;

mod similarity;

#[cfg(any(test, feature = "testing"))]
pub mod test_points;

pub mod text;

pub mod upright;

pub mod vector;

pub use points::{Soa, squared_distances};
pub use similarity::{ORTHONORMAL_TOLERANCE, Similarity, SimilarityError, rotation_of};

/// The example of the README, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
