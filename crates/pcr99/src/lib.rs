//! Registration of two 3-D point sets from matches of which up to 99 % are wrong, with known or unknown scale.
//!
//! Given matches `a_i ↔ b_i`, the crate estimates the similarity `b = s·R·a + t` (Eq. 1) that the *right* matches follow, and says how far the
//! evidence confirms it.
//!
//! # A first registration
//!
//! ```
//! use pcr99::{Correspondences, Params, Scale};
//!
//! // Row i of `source` matches row i of `target`. Two thirds of these matches are wrong; the rest follow b = 2a + (0, 0, 5).
//! let source: Vec<[f64; 3]> = (0..60).map(|i| { let x = f64::from(i); [x, x * x % 61.0, x * x * x % 61.0] }).collect();
//! let target: Vec<[f64; 3]> = (0..60)
//!     .map(|i| if i % 3 == 0 { source[i] } else { source[(i * 31 + 7) % 60] })
//!     .map(|p| [2.0 * p[0], 2.0 * p[1], 2.0 * p[2] + 5.0])
//!     .collect();
//!
//! let pairs = Correspondences::new(&source, &target)?;
//! let found = pcr99::solve(&pairs, Scale::Unknown, &Params::new())?;
//! assert!(found.is_registered());
//! let target_from_source = found.target_from_source.expect("registered");
//! assert!((target_from_source.scale() - 2.0).abs() < 1e-9);
//! # Ok::<(), pcr99::Error>(())
//! ```
//!
//! # Reading the result
//!
//! A [`Registration`] always holds the best transform found and a [`Status`]. Only [`Status::Registered`] should be used without a further
//! check. Otherwise [`Registration::doubt`] says why, as a code for programs and a sentence for people:
//!
//! ```
//! use pcr99::{Correspondences, Params, Scale, Status};
//!
//! // Any three matches fit some transform, so three matches confirm nothing.
//! let triangle = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
//! let pairs = Correspondences::new(&triangle, &triangle)?;
//! let found = pcr99::solve(&pairs, Scale::one(), &Params::new().with_threshold(0.1)?)?;
//! assert_eq!(found.status, Status::NotReliable);
//! assert_eq!(found.doubt.expect("not registered").code(), "chance");
//! assert!(found.reason().starts_with("3 of 3 matches agree, but as many are expected to agree by chance"));
//! # Ok::<(), pcr99::Error>(())
//! ```
//!
//! [`Evidence`] holds the numbers behind the status, [`Registration::candidates`] the other transforms that matches support, and
//! [`Registration::rival`] the one that contradicts the answer, if any.
//!
//! # Where to find what
//!
//! | step | item |
//! |---|---|
//! | two lists of points → checked, centred matches | [`Correspondences`] |
//! | what is known of the scale | [`Scale`] |
//! | the default method | [`solve`], [`Solver`], [`Params`] |
//! | the published method, PCR-99 (Lee, Civera, Vandewalle), stage by stage | [`paper`] |
//! | a transform from elsewhere, judged by the same evidence | [`assess`] |
//! | the result: status, transform, inliers, evidence, candidates, rival, counters, seconds | [`Registration`] |
//! | a time limit or an interruption | [`stop`] |
//!
//! # Guarantees
//!
//! * **Reproducible.** The same input gives the same bits on any x86-64 CPU and any number of threads. Nothing depends on fused
//!   multiply-add or on the mathematics of the C library.
//! * **Free of units.** Coordinates are centred and scaled by a power of two first, so large offsets and extreme units cost no precision.
//! * **No silent failure.** Invalid input is an [`Error`]. A search without a result returns [`Status::NoSolution`], never NaN or the
//!   identity.
//!
//! # Not guaranteed
//!
//! * A registered answer can be wrong: the evidence bounds chance, not systematic errors. Where a scene repeats itself, wrong matches agree
//!   for a reason; [`Doubt::FewPlaces`] and [`Doubt::Ambiguous`] catch most of these cases.
//! * The modules marked as hidden may change at any time.

#[doc(hidden)]
pub mod bench;

mod assess;

mod correspondences;

mod control;

mod covariance;

mod doubt;

mod error;

mod evidence;

pub mod paper;

mod params;

mod registration;

mod search;

pub mod stop;

mod told;

mod vertical;

pub use assess::assess;
pub use control::{
    Check, ControlError, ControlPoint, ControlResidual, Georeference, fit_points, georeference,
};
pub use correspondences::{Correspondences, Normalized};
pub use covariance::{Accuracy, Covariance, FreeDirection, covariance};
pub use doubt::Doubt;
pub use error::{Error, Side};
pub use evidence::Evidence;
pub use params::{Positive, Scale};
pub use pcr99_base::{
    Similarity, SimilarityError,
    clock::{Clock, Moment, Seconds},
    random,
};
pub use registration::{Candidate, Counters, Registration, Rival, Status, StopReason};
pub use search::{Params, Solver, solve};
pub use vertical::Vertical;

/// Compiles and runs the examples of the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the example of the README of the repository.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct RepositoryReadme;

/// Runs the example of the page on logs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/see-why.md")]
struct LogPage;

/// Compiles the example of the page on control points.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/georeference.md")]
struct GeoreferencePage;

/// Results and solvers can be sent to and shared between threads.
const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Correspondences>();
    is_send_and_sync::<Registration>();
    is_send_and_sync::<Solver>();
    is_send_and_sync::<paper::Solver>();
    is_send_and_sync::<Error>();
};
