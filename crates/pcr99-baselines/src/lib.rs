//! Published methods for registration from matches with outliers, one file each, and all methods under one name.
//!
//! Each method is written from its publication, with the published parameters. All methods use the same input layout, inner loops and least
//! squares as our own method, allocate nothing in inner loops, and their answers are judged by the same evidence.
//!
//! [`Method`] names all methods, those of `pcr99` included. [`Solvers`] runs them:
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

mod baseline;

mod error;

mod blocks;

mod draws;

mod fgr;

mod gnc_tls;

mod icos;

mod ransac;

mod ransic;

mod daniel;

mod trivoc;

mod vodrac;

mod vocra;

mod rotation_mean;

mod graph;

mod watch;

mod solvers;

mod teaser;

#[cfg(test)]
mod problems;

pub use error::Error;
pub use solvers::{Method, Solvers};
