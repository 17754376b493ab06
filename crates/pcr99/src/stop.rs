//! How a caller ends a search early. The library keeps no clock policy of its own (method decision 13):
//! it asks the caller now and then, and returns the best found so far when told to stop.

use std::time::Duration;

use pcr99_base::clock::Moment;

/// Why the caller wants the search to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// Its time is up.
    TimeLimit,
    /// Somebody asked for it to stop.
    Interrupted,
}

/// Asked every few microseconds to milliseconds during a search; `Some` ends it.
pub type StopCheck<'a> = &'a dyn Fn() -> Option<StopRequest>;

/// Never stops: the search runs to its own end.
pub fn never() -> Option<StopRequest> {
    None
}

/// Stops once `limit` has passed from now. On targets without a clock (`wasm32-unknown-unknown`) no time passes, so that only a limit of zero stops.
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
