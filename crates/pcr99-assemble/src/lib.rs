//! Many scans to one map: unordered scans in, poses, components and verdicts out.
//!
//! | step | where |
//! |---|---|
//! | read each scan once; what is needed of it later is kept | `prepare` |
//! | choose pairs: all, or by a descriptor of each scan and by the map so far | `propose`, `words` |
//! | register pairs, as a batch that can be killed and resumed | [`pcr99_batch`] |
//! | candidates of all pairs, with their evidence | [`candidate`] |
//! | sensors that are mounted together are chosen together | [`rig`] |
//! | joint choice: cycles admit and throw out | [`choose`] |
//! | pose graph, with covariances that allow for bent scans | [`map`] |
//! | pairs that overlap in the map are refined and judged again | `rejudge` |
//! | known places tie maps to the world | [`control`] |
//! | document, tables, merged clouds, pages | `report`, [`outputs`], [`merged`], [`pages`] |
//!
//! [`assemble()`] does all of this in the directory of a project, and [`Assembler`] in steps, for callers that register the pairs elsewhere. [`assembled`] is the engine without files: results of pairs in, maps out.
//!
//! # Guarantees
//!
//! * Components are connected by admitted edges only, never by a guess.
//! * Results are the same to the byte on any number of threads, and broken off and resumed any number of times.
//! * An error of a scan or of a pair is in its row, and the rest goes on.
//!
//! # Not guaranteed
//!
//! * Wrong edges that agree with each other, as of two places that look the same, are taken for right ones where nothing contradicts them.

mod assemble;

pub mod candidate;

pub mod choose;

pub mod control;

pub mod engine;

mod error;

pub mod map;

pub mod merged;

mod network;

pub mod outputs;

pub mod pages;

mod prepare;

mod project;

mod propose;

mod rejudge;

mod report;

pub mod rig;

pub mod scan;

mod steps;

pub mod uncertain;

mod words;

pub use assemble::{AssembleOptions, Assembly, Stage, assemble};
pub use control::{KnownPlace, read_control, read_positions};
pub use engine::{Assembled, Tried, assembled, sketched};
pub use error::Error;
pub use merged::Merge;
pub use steps::{Assembler, GivenScan, Round, Step};

/// The example of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
