//! Wall-clock time of one stage after the other; a stage may come several times.

use std::time::Instant;

use pcr99::Seconds;

#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    lap: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Clock {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self { start: now, lap: now, stages: Vec::with_capacity(8) }
    }

    /// Ends a stage.
    pub(super) fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        let seconds = now.duration_since(self.lap).as_secs_f64();
        match self.stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, sum)) => *sum += seconds,
            None => self.stages.push((stage, seconds)),
        }
        self.lap = now;
    }

    pub(super) fn stop(self) -> Seconds {
        Seconds::new(self.start.elapsed().as_secs_f64(), self.stages)
    }
}
