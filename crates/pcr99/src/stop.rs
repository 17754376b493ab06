//! Ending a search early.
//!
//! The library has no time limit of its own (decision 13). It calls a [`StopCheck`] at short intervals and returns the best result so far
//! when that says so.

use std::time::Duration;

use pcr99_base::clock::Moment;

/// Why the caller ends a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// A time limit has been reached.
    TimeLimit,
    /// The user, or another part of the program, asked for it.
    Interrupted,
}

/// A function that a search calls every few microseconds to milliseconds; `Some` ends the search.
pub type StopCheck<'a> = &'a dyn Fn() -> Option<StopRequest>;

/// A stop check that never stops, so that the search runs to its own end.
pub fn never() -> Option<StopRequest> {
    None
}

/// A stop check that stops once `limit` has passed from now. On targets without a clock (`wasm32-unknown-unknown`) no time passes, so only
/// a limit of zero stops.
///
/// ```
/// use std::time::Duration;
/// use pcr99::stop::{self, StopRequest};
/// assert_eq!(stop::after(Duration::ZERO)(), Some(StopRequest::TimeLimit));
/// ```
pub fn after(limit: Duration) -> impl Fn() -> Option<StopRequest> {
    let start = Moment::now();
    move || (start.elapsed() >= limit).then_some(StopRequest::TimeLimit)
}
