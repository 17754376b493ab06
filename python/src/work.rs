//! Work outside the interpreter's lock: other Python threads continue, Ctrl-C is noticed, and a panic becomes an exception.

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
use pcr99_plan::Deadline;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::{error::Failure, logging};

/// Time between two checks for Ctrl-C: short for a person, long compared with the check itself (microseconds).
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);
/// Time that interrupted work has to end. After it, the exception is raised and the work ends in the background.
const GRACE_PERIOD: Duration = Duration::from_millis(500);
/// Maximum number of threads. Larger requests are reduced to it, so that a mistyped number does not exhaust the system's threads.
const MAX_THREADS: usize = 256;

/// Stop check of running work: Ctrl-C and the time limit.
#[derive(Debug)]
pub(crate) struct Watch {
    interrupted: AtomicBool,
    deadline: Deadline,
}

impl Watch {
    fn new(deadline: Deadline) -> Self {
        Self { interrupted: AtomicBool::new(false), deadline }
    }

    /// Answer to a search that asks whether to stop.
    pub(crate) fn check(&self) -> Option<StopRequest> {
        self.deadline.check(self.interrupted.load(Ordering::Relaxed))
    }
}

/// Treatment of interrupted work that does not end within the grace period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// It continues in the background, because it has no visible effect.
    Leave,
    /// The caller waits for it, because it writes files.
    Wait,
}

/// Runs a search on this thread while other Python threads continue. The search calls its stop check now and then, which ends it on Ctrl-C
/// and after the time limit.
pub(crate) fn run_here<T: Send>(
    py: Python<'_>,
    deadline: Deadline,
    work: impl FnOnce(StopCheck<'_>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    logging::follow(py);
    let watch = Watch::new(deadline);
    let (result, interrupt) = py.detach(|| {
        let interrupt = RefCell::new(None);
        let last_check = Cell::new(Instant::now());
        let check = || {
            if last_check.get().elapsed() >= SIGNAL_INTERVAL {
                last_check.set(Instant::now());
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

/// Runs `work` on a new thread. This thread waits for it, without the interpreter's lock, and checks for Ctrl-C.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    run_until(py, Deadline::new(None), Interrupted::Leave, move |_| work())
}

/// Runs stoppable `work` on a new thread, as [`run`] does. It ends on Ctrl-C and after the time limit; `interrupted` says what happens if
/// it does not end at once.
pub(crate) fn run_until<T: Send + 'static>(
    py: Python<'_>,
    deadline: Deadline,
    interrupted: Interrupted,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    watched(py, Watch::new(deadline), interrupted, work, |_| Ok(()))
}

/// Runs `work` that writes files on a new thread, to its end even if Ctrl-C is pressed.
pub(crate) fn run_to_end<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    run_until(py, Deadline::new(None), Interrupted::Wait, work)
}

/// Runs stoppable `work` on a new thread, as [`run_until`] does, and calls `report` every few milliseconds on this one. An exception from
/// `report` stops the work.
pub(crate) fn run_with_progress<T: Send + 'static>(
    py: Python<'_>,
    interrupted: Interrupted,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
    report: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    watched(py, Watch::new(Deadline::new(None)), interrupted, work, report)
}

fn watched<T: Send + 'static>(
    py: Python<'_>,
    watch: Watch,
    interrupted: Interrupted,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
    mut report: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    logging::follow(py);
    let watch = Arc::new(watch);
    let (sender, mut receiver) = mpsc::channel();
    let its_watch = Arc::clone(&watch);
    let body = move || {
        let result = panic::catch_unwind(AssertUnwindSafe(|| work(&its_watch)));
        // The receiver is gone if the wait was given up.
        let _ = sender.send(result.unwrap_or_else(|panic| Err(Failure::of_panic(&*panic))));
    };
    let started = thread::Builder::new().name("pcr99".to_owned()).spawn(body);
    started.map_err(|cause| Failure::NoThread(cause).raised(py))?;
    let mut wait = |timeout: Option<Duration>| {
        // A receiver cannot be borrowed without the interpreter's lock, so it is moved there and back.
        let (_, empty) = mpsc::channel();
        let mine = std::mem::replace(&mut receiver, empty);
        let (received, mine) = py.detach(move || match timeout {
            Some(timeout) => (mine.recv_timeout(timeout), mine),
            None => (mine.recv().map_err(|_| RecvTimeoutError::Disconnected), mine),
        });
        receiver = mine;
        received
    };
    loop {
        match wait(Some(SIGNAL_INTERVAL)) {
            Ok(result) => return result.map_err(|failure| failure.raised(py)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Internal("the thread ended without a result".to_owned()).raised(py));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals().and_then(|()| report(py)) {
                    watch.interrupted.store(true, Ordering::Relaxed);
                    let _ = wait((interrupted == Interrupted::Leave).then_some(GRACE_PERIOD));
                    return Err(interrupt);
                }
            }
        }
    }
}

/// Number of threads to use: `asked`, or the number of cores. It is never 0, which would mean the thread pool of the whole process. A child
/// of `fork` does not have its threads and would wait for ever.
pub(crate) fn thread_count(asked: Option<usize>) -> usize {
    // Cached, because the system call takes a tenth of a millisecond.
    static CORES: OnceLock<usize> = OnceLock::new();
    let cores = || *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from));
    asked.unwrap_or_else(cores).clamp(1, MAX_THREADS)
}

/// Runs `work` in a new pool of threads.
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
