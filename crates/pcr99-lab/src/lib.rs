//! Registration problems with known truth, and the errors of an estimate against it.
//!
//! Robustness to 99 % outliers can only be measured when the correct transform is known. This crate generates such problems as in the
//! evaluation of the paper (Sec. VII):
//!
//! 1. a [`Shape`] gives `n` source points `a_i`, fitted into the unit cube ([`Shape::sample`]);
//! 2. a random [`Similarity`](pcr99::Similarity) and Gaussian noise give the targets
//!    `b_i = s·R·a_i + t + e_i` (Eq. 1);
//! 3. a random subset of the targets, the outliers, is replaced by points in a ball of diameter `√3·s`.
//!
//! A [`Recipe`] holds the choices, [`Recipe::generate`] returns a [`Problem`] with its truth, and [`Errors`] are the errors of an
//! estimate:
//!
//! ```
//! use pcr99_lab::{Errors, Recipe, ScaleChoice, Shape};
//!
//! let problem = Recipe::default()
//!     .with_shape(Shape::Knot)?
//!     .with_points(1000)?
//!     .with_outlier_ratio(0.99)?
//!     .with_scale(ScaleChoice::Random)?
//!     .with_seed(7)
//!     .generate()?;
//! assert_eq!(problem.source.len(), 1000);
//! assert_eq!(problem.inliers().len(), 10);
//!
//! // The true transform moves an inlier onto its target, up to the noise.
//! let i = problem.inliers()[0];
//! let moved = problem.truth.apply(problem.source[i]);
//! assert!((moved[0] - problem.target[i][0]).abs() < 5.0 * problem.noise);
//!
//! // The perfect estimate has no error.
//! let errors = Errors::between(&problem.truth, &problem.truth);
//! assert_eq!((errors.rotation_deg, errors.translation, errors.scale), (0.0, 0.0, 0.0));
//!
//! // The truth can be saved with the matches and read back, equal to the last bit.
//! let truth = problem.truth_document();
//! assert_eq!(pcr99_lab::Truth::from_json(&truth.to_json())?, truth);
//! # Ok::<(), pcr99_lab::Error>(())
//! ```
//!
//! The module [`trust`] has problems of another purpose: cases in which a wrong answer looks right.
//!
//! # What is guaranteed
//!
//! The same recipe gives the same bits on every machine: all random numbers come from [`pcr99::random::Random`], all transcendental
//! functions from `libm`. Each part of a problem has its own random stream, so recipes that differ in one choice differ in nothing
//! else; see [`Recipe`].
//!
//! What is *not* guaranteed: that a replaced target is far from its original place. With `s = 1` and `σ = 0.01`, about one in five
//! thousand lands within `5σ` of it by chance. It still counts as an outlier.
//!
//! # Features
//!
//! `bunny` adds `Shape::Bunny`, the Stanford Bunny of the paper, and makes it the default shape. The feature is off by default and works
//! only in the repository: the scan must not be used in commercial products without permission, so it is not in the published package;
//! see `data/NOTICE`.

mod draw;

mod error;

/// Errors of an estimate against the truth.
pub mod metrics;

pub mod monte_carlo;

/// Problems with known truth (Sec. VII).
pub mod problem;

/// Shapes that source points are drawn from.
pub mod shape;

/// Truth of a problem as a JSON document.
pub mod truth;

pub mod trust;

pub use error::Error;
pub use metrics::Errors;
pub use problem::{OutlierCenter, Problem, Recipe, ScaleChoice};
pub use shape::Shape;
pub use truth::Truth;
