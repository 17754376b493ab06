//! Typed JSON documents of registrations.
//!
//! A [`Document`] is the result of one registration as the program, batches, pages and Python exchange it. It is read back to
//! the bit. [`PairResult`] is the result of one pair of a batch. [`json_schema`] describes both for other programs.
//!
//! ```
//! use pcr99_document::Document;
//!
//! let source: Vec<[f64; 3]> = (0..60).map(|i| { let x = f64::from(i); [x, x * x % 61.0, x * x * x % 61.0] }).collect();
//! let pairs = pcr99::Correspondences::new(&source, &source)?;
//! let found = pcr99::solve(&pairs, pcr99::Scale::one(), &pcr99::Params::new())?;
//! let document = Document::of_matches("default", &found);
//! assert_eq!(document.status(), pcr99::Status::Registered);
//! assert_eq!(Document::from_json(&document.to_json())?, document);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;

mod convert;

mod document;

mod doubt;

mod error;

mod formats;

mod local;

mod log10;

mod pair;

mod parts;

mod read;

mod schema;

mod seconds;

#[cfg(test)]
mod tests;

pub use assembly::{
    ASSEMBLY_SCHEMA, AssembledScan, AssemblyDocument, AssemblyEdge, Component, EdgeVerdict, KnownPlaceResult,
    LoopErrors, PoseAccuracy, ScanStatus, WorldTie,
};
pub use document::{CloudDocument, Document, MatchDocument};
pub use doubt::DoubtCode;
pub use error::Error;
pub use formats::{FormatError, g2o_edge, kitti_line, tum_line};
pub use local::LocalTransform;
pub use pair::PairResult;
pub use parts::{
    Accuracy, CloudCandidate, CloudCounts, CloudRival, Clouds, Counters, EquivalentPose, Evidence, Fit,
    FreeMotion, Inputs, Kind, MatchCandidate, MatchRival, Matrix, NotRefuted, Place, Relation,
};
pub use schema::json_schema;
pub use seconds::Seconds;

use serde::{Deserialize, Deserializer};

/// Version of the documents, their field `schema`.
pub const SCHEMA: u32 = 2;

/// Name and version of this program, field `program` of documents.
pub const PROGRAM: &str = concat!("pcr99 ", env!("CARGO_PKG_VERSION"));

/// Reads a value that may be null but must be present. Without it, serde takes a missing field for null.
fn required<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// The example of the README, kept true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
