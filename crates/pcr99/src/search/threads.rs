//! How many threads the loops over all matches may use. Nothing depends on it but the time.

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Below this, starting threads costs more than they save.
pub(super) const WORTH_IT: usize = 2048;

/// Threads that are kept from one problem to the next.
#[derive(Debug, Default)]
pub(super) struct Threads {
    wanted: usize,
    pool: Option<ThreadPool>,
}

impl Threads {
    /// `wanted` threads, 0 for all cores, for a problem of `n` matches.
    pub(super) fn set(&mut self, wanted: usize, n: usize) {
        if self.wanted != wanted {
            (self.wanted, self.pool) = (wanted, None);
        }
        if wanted != 0 && n >= WORTH_IT && self.pool.is_none() {
            // Where no threads can be had, the shared ones do.
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
