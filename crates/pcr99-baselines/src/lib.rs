//! Published methods for registration from matches with outliers, one file each, and all methods under one name.
//!
//! Each method is written from its publication, with its published parameters and the care that our own method gets: columns, no
//! allocation in inner loops, the same kernels and the same least squares. What they return is judged by the same evidence.
//!
//! [`Method`] names them all, ours included; [`Solvers`] runs them:
//!
//! ```
//! use pcr99::{Correspondences, Positive, Scale, stop};
//! use pcr99_baselines::{Method, Solvers};
//!
//! // The target is the source, moved by (1, 2, 3).
//! let source: Vec<[f64; 3]> =
//!     (0..50).map(|i| [f64::from(i % 5), f64::from(i * i % 7), f64::from(i % 3)]).collect();
//! let target: Vec<[f64; 3]> = source.iter().map(|p| [p[0] + 1.0, p[1] + 2.0, p[2] + 3.0]).collect();
//! let pairs = Correspondences::new(&source, &target)?;
//!
//! let threshold = Positive::new("threshold", 0.05)?;
//! let method: Method = "ransac".parse()?;
//! let found = Solvers::new().solve(method, &pairs, Scale::one(), threshold, 0, &stop::never)?;
//! assert_eq!(found.inliers.len(), 50);
//! # Ok::<(), pcr99_baselines::Error>(())
//! ```
//!
//! | method | file | scale | publication |
//! |---|---|---|---|
//! | RANSIC | `ransic` | known, unknown | Sun 2022 |
//! | ICOS | `icos` | known, unknown | Sun 2021 |
//! | DANIEL | `daniel` | known | Sun 2022 |
//! | TriVoC | `trivoc` | known | Sun, Deng 2022 |
//! | VODRAC | `vodrac` | known | J. King Saud Univ. 2023 |
//! | VOCRA | `vocra` | known | Sun 2022 |
//! | RANSAC | `ransac` | known, unknown | Fischler, Bolles 1981 |
//! | GNC-TLS | `gnc_tls` | known, unknown | Yang, Antonante, Tzoumas, Carlone 2020 |
//! | TEASER | `teaser` | known, unknown | Yang, Shi, Carlone 2021 |
//! | FGR | `fgr` | known | Zhou, Park, Koltun 2016 |

/// What a published method has to provide, and what is done for all of them.
mod baseline;

mod error;

/// What the methods have in common: minimal solver, adaptive trial counts, angles.
mod blocks;

/// Random draws that end, and what RANSIC and ICOS share.
mod draws;

/// Fast global registration.
mod fgr;

/// Graduated non-convexity with truncated least squares.
mod gnc_tls;

/// Compatible structures.
mod icos;

/// Random sample consensus.
mod ransac;

/// Random sampling with invariant compatibility.
mod ransic;

/// Two layers of random samples.
mod daniel;

/// Three levels of voting.
mod trivoc;

/// Random pairs, voting for the third.
mod vodrac;

/// Voting, then rotations that agree.
mod vocra;

/// The mean of rotations of which some are wrong.
mod rotation_mean;

/// Which matches may be right together.
mod graph;

/// Looks at the clock now and then.
mod watch;

/// Every method under its name.
mod solvers;

/// Decoupled scale, clique, rotation and translation.
mod teaser;

#[cfg(test)]
mod problems;

pub use error::Error;
pub use solvers::{Method, Solvers};
