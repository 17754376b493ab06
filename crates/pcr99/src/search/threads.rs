//! The threads of the loops over all matches. Their number does not affect the result.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Smallest number of matches for which starting threads pays off.
pub(super) const WORTH_IT: usize = 2048;

/// A thread pool that is kept from one problem to the next.
#[derive(Debug, Default)]
pub(super) struct Threads {
    wanted: usize,
    pool: Option<ThreadPool>,
}

impl Threads {
    /// Prepares `wanted` threads, 0 for all cores, for a problem of `n` matches.
    pub(super) fn set(&mut self, wanted: usize, n: usize) {
        if self.wanted != wanted {
            (self.wanted, self.pool) = (wanted, None);
        }
        if wanted != 0 && n >= WORTH_IT && self.pool.is_none() {
            // If the pool cannot be created, the shared one is used.
            self.pool = ThreadPoolBuilder::new().num_threads(wanted).build().ok();
        }
    }

    /// Runs `work` with these threads.
    pub(super) fn run(&self, work: impl FnOnce() + Send) {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }
}
