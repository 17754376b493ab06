//! Conversions between [`Similarity`](crate::Similarity) and the types of other crates, each behind a feature.

#[cfg(feature = "glam")]
mod glam;

#[cfg(feature = "nalgebra")]
mod nalgebra;

#[cfg(feature = "serde")]
mod serde;
