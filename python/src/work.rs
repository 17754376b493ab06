//! Work beside Python: other Python threads run on, Ctrl-C is seen, a panic becomes an exception.

use std::{
    cell::{Cell, RefCell},
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use pcr99::stop::{StopCheck, StopRequest};
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::error::Failure;

/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How long an interrupted search may take to end; what takes longer ends by itself, unseen.
const PATIENCE: Duration = Duration::from_millis(500);
/// More threads than this help nobody.
const MOST_THREADS: usize = 256;

/// Says when to stop.
#[derive(Debug)]
pub(crate) struct Watch {
    interrupted: AtomicBool,
    start: Instant,
    limit: Option<Duration>,
}

impl Watch {
    /// Starts the clock; `limit` is in seconds.
    fn new(limit: Option<f64>) -> Self {
        // Longer than the clock can count is no limit.
        let limit = limit.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        Self { interrupted: AtomicBool::new(false), start: Instant::now(), limit }
    }

    /// What a search asks now and then.
    pub(crate) fn check(&self) -> Option<StopRequest> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Some(StopRequest::Interrupted);
        }
        self.limit.filter(|limit| self.start.elapsed() >= *limit).map(|_| StopRequest::TimeLimit)
    }
}

/// Whether work may be left to itself when Ctrl-C is pressed and it does not end soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// Nobody will see what it does.
    Leave,
    /// It writes something that must be complete when the caller goes on.
    Wait,
}

/// Runs a search that asks now and then whether to stop, on this thread, while other Python threads run. It stops on Ctrl-C and after
/// `limit` seconds.
pub(crate) fn run_here<T: Send>(
    py: Python<'_>,
    limit: Option<f64>,
    work: impl FnOnce(StopCheck<'_>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let watch = Watch::new(limit);
    let (result, interrupt) = py.detach(|| {
        let interrupt = RefCell::new(None);
        let looked = Cell::new(watch.start);
        let check = || {
            if looked.get().elapsed() >= LOOK {
                looked.set(Instant::now());
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    watch.interrupted.store(true, Ordering::Relaxed);
                    interrupt.replace(Some(error));
                }
            }
            watch.check()
        };
        let result = panic::catch_unwind(AssertUnwindSafe(|| work(&check)));
        (result.unwrap_or_else(|panic| Err(Failure::of_panic(&*panic))), interrupt.into_inner())
    });
    match interrupt {
        Some(interrupt) => Err(interrupt),
        None => result.map_err(|failure| failure.raised(py)),
    }
}

/// Runs `work` on a thread of its own, while this one waits for it, lets other Python threads run and looks for Ctrl-C.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    run_until(py, None, Interrupted::Leave, move |_| work())
}

/// The same for work that can be stopped, after `limit` seconds too; `interrupted` says what then becomes of it.
pub(crate) fn run_until<T: Send + 'static>(
    py: Python<'_>,
    limit: Option<f64>,
    interrupted: Interrupted,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    watched(py, Watch::new(limit), interrupted, work, |_| Ok(()))
}

/// The same, while `tell` is called now and then, on this thread; an exception from it stops the work.
pub(crate) fn run_told<T: Send + 'static>(
    py: Python<'_>,
    interrupted: Interrupted,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
    tell: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    watched(py, Watch::new(None), interrupted, work, tell)
}

fn watched<T: Send + 'static>(
    py: Python<'_>,
    watch: Watch,
    interrupted: Interrupted,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
    mut tell: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let watch = Arc::new(watch);
    let (sender, mut receiver) = mpsc::channel();
    let its_watch = Arc::clone(&watch);
    let body = move || {
        let result = panic::catch_unwind(AssertUnwindSafe(|| work(&its_watch)));
        // Whoever waited may be gone.
        let _ = sender.send(result.unwrap_or_else(|panic| Err(Failure::of_panic(&*panic))));
    };
    let started = thread::Builder::new().name("pcr99".to_owned()).spawn(body);
    started.map_err(|cause| Failure::NoThread(cause).raised(py))?;
    let mut wait = |patience: Option<Duration>| {
        // A receiver cannot be shared, but moved there and back.
        let (_, empty) = mpsc::channel();
        let mine = std::mem::replace(&mut receiver, empty);
        let (received, mine) = py.detach(move || match patience {
            Some(patience) => (mine.recv_timeout(patience), mine),
            None => (mine.recv().map_err(|_| RecvTimeoutError::Disconnected), mine),
        });
        receiver = mine;
        received
    };
    loop {
        match wait(Some(LOOK)) {
            Ok(result) => return result.map_err(|failure| failure.raised(py)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Internal("the work ended without a result".to_owned()).raised(py));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals().and_then(|()| tell(py)) {
                    watch.interrupted.store(true, Ordering::Relaxed);
                    let _ = wait((interrupted == Interrupted::Leave).then_some(PATIENCE));
                    return Err(interrupt);
                }
            }
        }
    }
}

/// How many threads to use: those asked for, or all cores. Never 0, which would mean threads that all of the process share: a child of
/// `fork` does not have them, and would wait for ever.
pub(crate) fn thread_count(asked: Option<usize>) -> usize {
    // Asked once: the system answers in a tenth of a millisecond.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from));
    asked.unwrap_or_else(cores).clamp(1, MOST_THREADS)
}

/// Runs `work` in threads of its own.
pub(crate) fn with_threads<T: Send>(
    asked: Option<usize>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(thread_count(asked)).build();
    match pool {
        Ok(pool) => Ok(pool.install(work)),
        Err(cause) => Err(Failure::NoThread(std::io::Error::other(cause))),
    }
}
