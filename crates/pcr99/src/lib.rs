//! Registration of two 3-D point sets from matches of which up to 99 % are wrong, with known or unknown scale.
//!
//! Given matches `a_i ↔ b_i`, find the similarity of Eq. (1), `b = s·R·a + t`, that most of the *right* matches follow:
//!
//! ```
//! use pcr99::{Correspondences, Params, Scale};
//!
//! // Two thirds of these matches are wrong; the rest follow b = 2a + (0, 0, 5).
//! let source: Vec<[f64; 3]> = (0..60).map(|i| { let x = f64::from(i); [x, x * x % 61.0, x * x * x % 61.0] }).collect();
//! let target: Vec<[f64; 3]> = (0..60)
//!     .map(|i| if i % 3 == 0 { source[i] } else { source[(i * 31 + 7) % 60] })
//!     .map(|p| [2.0 * p[0], 2.0 * p[1], 2.0 * p[2] + 5.0])
//!     .collect();
//!
//! let pairs = Correspondences::new(&source, &target)?;
//! let registration = pcr99::solve(&pairs, Scale::Unknown, &Params::new())?;
//! assert!(registration.is_registered());
//! let target_from_source = registration.target_from_source.expect("registered");
//! assert!((target_from_source.scale() - 2.0).abs() < 1e-9);
//! # Ok::<(), pcr99::Error>(())
//! ```
//!
//! # The way through
//!
//! | step | where |
//! |---|---|
//! | two point lists → checked, centred matches | [`Correspondences`] |
//! | what is known of the scale | [`Scale`] |
//! | the default method: search pairs, judge by evidence | [`solve`], [`Solver`], [`Params`] |
//! | the published method, PCR-99 (Lee, Civera, Vandewalle), stage by stage | [`paper`] |
//! | a transform from elsewhere → the same verdict | [`assess`] |
//! | what comes back: transform, inliers, evidence, status, counters, seconds | [`Registration`] |
//! | ending a search early | [`stop`] |
//!
//! # Promises
//!
//! * Same input, same bits, on any x86-64 CPU and any number of threads. Nothing depends on fused multiply-add or on the C library's mathematics.
//! * Units do not matter: coordinates are centred and scaled by a power of two first.
//! * No NaN and no identity stands for failure: bad input is an [`Error`], too few inliers an outcome with the best found.

/// The stages one by one, for benchmarks only.
#[doc(hidden)]
pub mod bench;

mod assess;

mod correspondences;

mod doubt;

mod error;

mod evidence;

/// The published method.
pub mod paper;

mod params;

mod registration;

mod search;

/// Ending a search early.
pub mod stop;

pub use assess::assess;
pub use correspondences::{Correspondences, Normalized};
pub use doubt::Doubt;
pub use error::{Error, Side};
pub use evidence::Evidence;
pub use params::{Positive, Scale};
pub use pcr99_base::{Similarity, SimilarityError, clock::Seconds, random};
pub use registration::{Candidate, Counters, Registration, Rival, Status, StopReason};
pub use search::{Params, Solver, solve};

/// The example of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
