//! Registration of two raw point clouds, and files of clouds and matches.
//!
//! [`register()`] finds the similarity `b = s·R·a + t` that maps the source onto the target, without an initial pose, and tells whether the
//! answer can be relied on.
//!
//! ```
//! use pcr99_cloud::{PreparedCloud, RawCloud, RegisterParams, register};
//!
//! # fn clouds() -> (Vec<[f64; 3]>, Vec<[f64; 3]>) {
//! #     let hills = |k: u32| { let (x, y) = (f64::from(k % 60) * 0.1, f64::from(k / 60) * 0.1);
//! #         [x, y, (x * 1.3).sin() * (y * 0.9 + 0.4).cos() + 0.4 * (2.1 * x - 1.7 * y).sin()] };
//! #     let target: Vec<[f64; 3]> = (0..3600).map(hills).collect();
//! #     (target.iter().map(|p| [-p[1] + 7.0, p[0], p[2] - 2.0]).collect(), target)
//! # }
//! let (source_points, target_points) = clouds(); // or `read_points`
//! let source = PreparedCloud::new(RawCloud::new(&source_points))?;
//! let target = PreparedCloud::new(RawCloud::new(&target_points))?;
//! let found = register(&source, &target, &RegisterParams::new())?;
//! assert!(found.is_registered(), "{}", found.reason());
//! let moved = found.target_from_source.expect("registered").apply(source_points[9]);
//! assert!((0..3).all(|axis| (moved[axis] - target_points[9][axis]).abs() < 0.05));
//! # Ok::<(), pcr99_cloud::RegisterError>(())
//! ```
//!
//! Every result has a status, a doubt (a code with its numbers) when it is not registered, and a reason (one sentence).
//! [`register`](mod@register) lists the stages; each is a public module that can be used alone. A [`PreparedCloud`] keeps its samples and
//! descriptors, for a cloud that is registered many times.
//!
//! # Files
//!
//! | content | function | formats |
//! |---|---|---|
//! | a cloud with its attributes | [`read_cloud`] | see below |
//! | only the points of a cloud | [`read_points`] | see below |
//! | matches, one per row | [`read_matches`], [`read_matches_text`] | text, `.npy` (N×6, N×7), `.npz` |
//! | index pairs between two clouds | [`read_indices`] | text, `.npy` (N×2) |
//! | a transform | [`read_transform`] | text, 4×4 |
//!
//! [`MemoryFile`] does the same without a disk. [`write_cloud`] writes clouds, [`read_cloud_file`] reads one with all further attributes, [`copy_cloud`] copies a file with moved points and everything else
//! as it is, [`cloud_info`] describes a file, [`write_matches`] writes matches as text, and [`OutputFile`] writes any file completely or not at all.
//!
//! | cloud format | read | normals | colours | intensity | viewpoint | written |
//! |---|---|---|---|---|---|---|
//! | `.ply` | ASCII, both binary orders | yes | yes | yes | | binary |
//! | `.pcd` | ASCII, binary, compressed | yes | yes | yes | yes | binary |
//! | `.las`, `.laz` (feature `las`) | 1.0 to 1.4 | | yes | yes | | 1.4 |
//! | `.e57` (feature `e57`) | all scans, posed, or one | yes | yes | yes | of a single scan | one scan |
//! | `.xyz`, `.txt`, `.asc`, `.csv`, `.pts` and others | text | yes | yes | yes | | all but `.pts` |
//! | `.npy` | N×3 or wider | yes | yes | yes | | doubles |
//! | `.obj` | vertices | yes | yes | | | |
//! | `.bin` | KITTI | | | yes | | |
//!
//! Guarantees of every reader:
//!
//! * **Files are not trusted.** No size is believed from a header alone: memory grows with the bytes that are in the file. Compressed data may
//!   grow: `.npz` and compressed PCD by a factor of up to about a thousand, `.laz` to at most 1000 points per byte. A point takes up to 41 bytes
//!   of memory, and up to three times as much while lists grow. Scans have about one point for 2 to 10 bytes.
//! * **Errors are not skipped.** A row that is too short, a field that is not a number and a file that ends early are a [`FileError`],
//!   never a shorter or shifted result.
//! * **Digits are kept.** Numbers become `f64`, exactly for all stored types except 64-bit integers above 2⁵³, so coordinates far from
//!   the origin (UTM) keep every digit.
//!
//! Not guaranteed: damage is detected only where it breaks the format or a checksum.
//!
//! # Features
//!
//! `las` and `e57` are on by default and pull in the decoders of these formats. Without them, their files are an error that names the
//! feature.

mod cloud;

mod error;

pub mod files;

pub mod clean;

mod grid;

pub mod voxel;

pub mod tree;

pub mod neighbors;

pub mod normals;

pub mod orient;

pub mod fpfh;

mod descriptor_index;

pub mod matching;

pub mod prepare;

pub mod verify;

mod votes;

pub mod refine;

pub mod register;

pub use cloud::{Attribute, Cloud, UnequalLengths};
pub use error::{FileError, Place, Problem};
pub use files::{
    CloudFile, CloudFormat, CloudInfo, Column, Copied, Matches, MemoryFile, OutputError, OutputFile, Written,
    cloud_info, copy_cloud, is_copy, points_unit_hint, read_cloud, read_cloud_file, read_indices,
    read_matches, read_matches_text, read_points, read_transform, unit_hint, write_cloud, write_matches,
};
pub use prepare::{PreparedCloud, RawCloud};
pub use refine::Refinement;
pub use register::{
    CloudRegistration, Doubt, PoseCandidate, PoseRival, RegisterError, RegisterParams, register,
    register_until,
};

/// The example of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
