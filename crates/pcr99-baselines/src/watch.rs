//! Stop checks at regular intervals.

use pcr99::{StopReason, stop::StopCheck};

/// Work between two stop checks, in units of about a nanosecond.
const BETWEEN_CHECKS: usize = 100_000;

/// Calls a stop check after every fixed amount of work.
pub(crate) struct Watch<'a> {
    stop: StopCheck<'a>,
    done: usize,
}

impl<'a> Watch<'a> {
    /// The first call of [`work`](Self::work) checks at once.
    pub(crate) fn new(stop: StopCheck<'a>) -> Self {
        Self { stop, done: BETWEEN_CHECKS }
    }

    /// Counts work, in operations such as the comparison of a pair of points.
    ///
    /// # Errors
    /// When the caller stops the search.
    pub(crate) fn work(&mut self, amount: usize) -> Result<(), StopReason> {
        self.done = self.done.saturating_add(amount);
        if self.done >= BETWEEN_CHECKS {
            self.done = 0;
            if let Some(request) = (self.stop)() {
                return Err(request.into());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn asks_at_once_and_then_now_and_then() {
        let asked = Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            None
        };
        let mut watch = Watch::new(&stop);
        for _ in 0..BETWEEN_CHECKS {
            watch.work(10).unwrap();
        }
        assert_eq!(asked.get(), 10);
        watch.work(usize::MAX).unwrap();
        assert_eq!(asked.get(), 11);
    }
}
