//! Point clouds and matches in files.
//!
//! The method itself (crate `pcr99`) knows nothing of files: it takes two lists of points. This crate
//! brings files to that form, and says what is wrong, where, and what to do when they are not in order.
//!
//! | to read | call | formats |
//! |---|---|---|
//! | matches, one per row | [`read_matches`], [`read_matches_text`] | text, `.npy` (N×6, N×7), `.npz` |
//! | a cloud | [`read_points`] | `.ply`, `.npy` (N×3 or wider), text |
//! | index pairs between two clouds | [`read_indices`] | text, `.npy` (N×2) |
//!
//! [`write_matches`] writes the text form of matches.
//!
//! What holds for every reader:
//!
//! * A file is input to be doubted. No size is believed from a header alone: memory grows with the bytes
//!   that are really there. The one exception is compressed data, which may grow by the factor that
//!   deflate permits (about a thousand).
//! * Nothing is guessed past an error. A row that is too short, a field that is no number or a file that
//!   ends early is a [`FileError`], never a shorter or shifted result.
//! * Numbers become `f64`, exactly for all stored types except 64-bit integers above 2⁵³.
//!
//! Not promised: whether the matches suffice for a registration (three are needed, not collinear) is
//! for the method to judge.

/// Why a file could not be used, in one line.
mod error;

/// One file per format, and the public readers on top of them.
pub mod files;

/// Finite points, each once.
pub mod clean;

/// Cubic cells.
mod grid;

/// Centroids of voxels, and how large a voxel should be.
pub mod voxel;

/// A k-d tree.
pub mod tree;

/// Who is near whom.
pub mod neighbors;

/// Normals.
pub mod normals;

/// Which way normals point.
pub mod orient;

/// Descriptors.
pub mod fpfh;

/// Nearest descriptors.
pub mod matching;

/// A cloud made ready.
pub mod prepare;

/// Poses held against the clouds.
pub mod verify;

/// Iterated closest points.
pub mod refine;

/// Two raw clouds → their pose.
pub mod register;

/// Hot loops.
mod kernel;

/// Small vectors and matrices.
mod vector;

pub use error::{FileError, Place, Problem};
pub use files::{Matches, read_indices, read_matches, read_matches_text, read_points, write_matches};
pub use prepare::{PreparedCloud, RawCloud};
pub use refine::Refinement;
pub use register::{CloudRegistration, RegisterError, RegisterParams, register, register_until};
