//! The threads of the loops over all matches. Their number does not affect the result.
//!
//! Without the feature `rayon` there is one thread. The work is divided into the same parts and put together in the same order, so the result
//! has the same bits.

use std::ops::Range;

#[cfg(feature = "rayon")]
use rayon::prelude::*;

/// Smallest number of matches for which starting threads pays off.
pub(super) const WORTH_IT: usize = 2048;

/// A thread pool that is kept from one problem to the next.
#[derive(Debug, Default)]
pub(super) struct Threads {
    #[cfg(feature = "rayon")]
    wanted: usize,
    #[cfg(feature = "rayon")]
    pool: Option<rayon::ThreadPool>,
}

#[cfg(feature = "rayon")]
impl Threads {
    /// Prepares `wanted` threads, 0 for all cores, for a problem of `n` matches.
    pub(super) fn set(&mut self, wanted: usize, n: usize) {
        if self.wanted != wanted {
            (self.wanted, self.pool) = (wanted, None);
        }
        if wanted != 0 && n >= WORTH_IT && self.pool.is_none() {
            // If the pool cannot be created, the shared one is used.
            self.pool = rayon::ThreadPoolBuilder::new().num_threads(wanted).build().ok();
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

#[cfg(not(feature = "rayon"))]
impl Threads {
    /// Does nothing: this build has one thread.
    pub(super) fn set(&mut self, _wanted: usize, _n: usize) {}

    /// Runs `work`.
    pub(super) fn run(&self, work: impl FnOnce()) {
        work();
    }
}

/// Calls `work` with each of the `parts` of `n` matches, in parallel when `n` is at least [`WORTH_IT`].
pub(super) fn for_each<T: Send>(parts: impl Iterator<Item = T>, n: usize, work: impl Fn(T) + Sync + Send) {
    #[cfg(feature = "rayon")]
    if n >= WORTH_IT {
        parts.collect::<Vec<T>>().into_par_iter().for_each(work);
        return;
    }
    let _ = n;
    parts.for_each(work);
}

/// Results of `work` for each of the `parts`, in their order; in parallel. Every thread has a `W` of its own.
pub(super) fn map<W: Default, R: Send>(
    parts: Range<usize>,
    work: impl Fn(&mut W, usize) -> R + Sync + Send,
) -> Vec<R> {
    #[cfg(feature = "rayon")]
    let results = parts.into_par_iter().map_init(W::default, work).collect();
    #[cfg(not(feature = "rayon"))]
    let results = {
        let mut own = W::default();
        parts.map(|part| work(&mut own, part)).collect()
    };
    results
}
