//! Wall-clock time of the stages of a computation.

use std::time::Duration;

/// Wall-clock seconds, in total and by stage.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Seconds {
    /// Time from call to return.
    pub total: f64,
    /// Name and time of each stage, in the order in which they first ran.
    pub stages: Vec<(&'static str, f64)>,
}

impl Seconds {
    /// Stage in which files are read.
    pub const READING: &str = "reading";

    /// Stage in which the input is checked and converted: arrays of points become matches or clouds that a method can use.
    pub const PREPARING: &str = "preparing";

    /// A total time with the times of its stages.
    pub const fn new(total: f64, stages: Vec<(&'static str, f64)>) -> Self {
        Self { total, stages }
    }

    /// The times of two computations, one after the other: the stages of `earlier` come first.
    ///
    /// ```
    /// use pcr99_base::clock::Seconds;
    ///
    /// let search = Seconds::new(0.25, vec![("search", 0.25)]);
    /// let input = Seconds::new(0.5, vec![(Seconds::READING, 0.375), (Seconds::PREPARING, 0.125)]);
    /// let all = search.preceded_by(&input);
    /// assert_eq!((all.total, all.stages[0].0, all.stages[2].0), (0.75, "reading", "search"));
    /// ```
    #[must_use]
    pub fn preceded_by(mut self, earlier: &Self) -> Self {
        self.total += earlier.total;
        self.stages.splice(0..0, earlier.stages.iter().copied());
        self
    }
}

/// A moment in time. On targets without a clock (`wasm32-unknown-unknown`) no time ever passes.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    instant: std::time::Instant,
}

impl Moment {
    /// The present.
    #[inline]
    pub fn now() -> Self {
        Self {
            #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
            instant: std::time::Instant::now(),
        }
    }

    /// The time from `earlier` to this moment; zero on targets without a clock.
    #[inline]
    pub fn since(self, earlier: Self) -> Duration {
        #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
        let passed = self.instant.duration_since(earlier.instant);
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        let (passed, _) = (Duration::ZERO, earlier);
        passed
    }

    /// The time from this moment to the present; zero on targets without a clock.
    #[inline]
    pub fn elapsed(self) -> Duration {
        Self::now().since(self)
    }
}

/// A clock that measures one stage after the other. A stage that runs several times is counted as one.
///
/// ```
/// let mut clock = pcr99_base::clock::Clock::start();
/// clock.lap("search");
/// clock.lap("refine");
/// clock.lap("search");
/// let seconds = clock.stop();
/// assert_eq!(seconds.stages.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["search", "refine"]);
/// ```
#[derive(Debug)]
pub struct Clock {
    start: Moment,
    lap: Moment,
    stages: Vec<(&'static str, f64)>,
}

impl Clock {
    /// Begins the first stage.
    pub fn start() -> Self {
        let now = Moment::now();
        Self { start: now, lap: now, stages: Vec::with_capacity(8) }
    }

    /// Ends a stage, gives it its name, and begins the next one.
    pub fn lap(&mut self, stage: &'static str) {
        let now = Moment::now();
        let seconds = now.since(self.lap).as_secs_f64();
        match self.stages.iter_mut().find(|(name, _)| *name == stage) {
            Some((_, sum)) => *sum += seconds,
            None => self.stages.push((stage, seconds)),
        }
        self.lap = now;
    }

    /// Ends the measurement.
    pub fn stop(self) -> Seconds {
        Seconds { total: self.start.elapsed().as_secs_f64(), stages: self.stages }
    }
}
