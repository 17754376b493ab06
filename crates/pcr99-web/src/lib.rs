//! pcr99 in the browser and in Node.js, compiled for `wasm32-unknown-unknown`.
//!
//! | step | where |
//! |---|---|
//! | JavaScript fills buffers and calls | `exports`, on WebAssembly only |
//! | the first buffer is a request as JSON, the others are files or arrays | [`request`] |
//! | files are read, clouds and matches are registered, files are moved | [`answer()`] |
//! | the page and the npm package are made of the compiled module | [`bundle`], not on WebAssembly |
//!
//! Nothing is decided here: options are checked by `pcr99-plan`, results are documents of `pcr99-document`, and `pcr99-page` draws them. So the
//! results are those of the program to the bit, except for the times.

mod answer;

#[cfg(not(target_family = "wasm"))]
pub mod bundle;

mod error;

#[cfg(target_family = "wasm")]
mod exports;

mod inputs;

pub mod request;

#[cfg(not(target_family = "wasm"))]
mod types;

pub use answer::{Answer, Host, answer};
pub use error::Error;
