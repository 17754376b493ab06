//! draft

/// Random numbers that are the same on every machine.
pub mod random;

mod similarity;

pub use similarity::Similarity;
