//! A time limit and an interruption as one stop check.

use std::time::Duration;

use pcr99::{Moment, Positive, stop::StopRequest};

use crate::PlanError;

/// A clock with an optional limit, started when it is made. On targets without a clock the limit is never reached.
///
/// ```
/// use std::time::Duration;
/// use pcr99::stop::StopRequest;
/// use pcr99_plan::Deadline;
///
/// let unlimited = Deadline::new(None);
/// assert_eq!(unlimited.check(false), None);
/// assert_eq!(unlimited.check(true), Some(StopRequest::Interrupted));
/// assert_eq!(Deadline::new(Some(Duration::ZERO)).check(false), Some(StopRequest::TimeLimit));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    start: Moment,
    limit: Option<Duration>,
}

impl Deadline {
    /// Starts the clock. `None` is no limit.
    pub fn new(limit: Option<Duration>) -> Self {
        Self { start: Moment::now(), limit }
    }

    /// The limit.
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// The time since the clock was started.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The answer to a search that asks whether to stop: an interruption comes before the time limit.
    pub fn check(&self, is_interrupted: bool) -> Option<StopRequest> {
        if is_interrupted {
            return Some(StopRequest::Interrupted);
        }
        self.limit.filter(|limit| self.elapsed() >= *limit).map(|_| StopRequest::TimeLimit)
    }
}

/// A time limit in seconds as a duration. Limits beyond the range of the clock (5·10¹¹ years) become its largest value.
pub(crate) fn time_limit(seconds: Option<f64>) -> Result<Option<Duration>, PlanError> {
    let checked = |seconds| {
        let seconds = Positive::new("time_limit", seconds)?.get();
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    };
    seconds.map(checked).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_checked() {
        assert_eq!(time_limit(None), Ok(None));
        assert_eq!(time_limit(Some(1.5)), Ok(Some(Duration::from_millis(1500))));
        assert_eq!(time_limit(Some(1e300)), Ok(Some(Duration::MAX)));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = time_limit(Some(wrong)).unwrap_err().to_string();
            assert!(message.starts_with("`time_limit` must be"), "{message}");
        }
    }
}
