//! Watches over long work: the time limit, Ctrl-C, and a progress line on a terminal.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use pcr99::stop::StopRequest;
use pcr99_plan::Deadline;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Exit status of an interrupted program, by convention 128 + SIGINT.
const INTERRUPTED_STATUS: i32 = 130;

/// Makes Ctrl-C ask the work to stop; a second Ctrl-C ends the program at once. Before this call, Ctrl-C ends the program.
pub(crate) fn listen() {
    // A second call fails, because the handler is set already.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED_STATUS);
        }
    });
}

/// Whether Ctrl-C was pressed since [`listen`].
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Time before a progress line appears. Shorter work ends before anyone wonders.
pub(crate) const PROGRESS_DELAY: Duration = Duration::from_secs(1);

/// Interval between two updates of a progress line: fast enough to look alive.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// One search under watch.
pub(crate) struct Watch {
    deadline: Deadline,
    line: ProgressBar,
}

impl Watch {
    /// Watches over a search until the deadline; `quiet` shows no progress line.
    pub(crate) fn start(deadline: Deadline, quiet: bool) -> Self {
        listen();
        Self { deadline, line: if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() } }
    }

    /// The answer to a search that asks whether to stop.
    pub(crate) fn check(&self) -> Option<StopRequest> {
        let elapsed = self.deadline.elapsed();
        if elapsed >= PROGRESS_DELAY && !self.line.is_hidden() {
            let limit = self
                .deadline
                .limit()
                .map_or(String::new(), |limit| format!(" of {:.0} s", limit.as_secs_f64()));
            self.line.set_message(format!(
                "searching for {:.0} s{limit}; Ctrl-C stops and prints the best result so far",
                elapsed.as_secs_f64()
            ));
            self.line.set_style(indicatif::ProgressStyle::default_spinner());
            self.line.tick();
        }
        self.deadline.check(interrupted())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// A progress line for work that cannot report its progress.
pub(crate) struct Busy {
    /// Dropping it ends the thread.
    end: Option<mpsc::Sender<()>>,
    waiting: Option<thread::JoinHandle<()>>,
}

impl Busy {
    /// Shows `what` and the elapsed time until it is dropped; `quiet` shows nothing.
    pub(crate) fn start(what: String, quiet: bool) -> Self {
        let line = ProgressBar::no_length();
        if quiet || line.is_hidden() {
            return Self { end: None, waiting: None };
        }
        let (end, ended) = mpsc::channel::<()>();
        let waiting = thread::spawn(move || {
            let start = Instant::now();
            let mut wait = PROGRESS_DELAY;
            while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                line.set_style(indicatif::ProgressStyle::default_spinner());
                line.set_message(format!("{what}, {:.0} s", start.elapsed().as_secs_f64()));
                line.tick();
                wait = PROGRESS_INTERVAL;
            }
            line.finish_and_clear();
        });
        Self { end: Some(end), waiting: Some(waiting) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(waiting) = self.waiting.take() {
            // The thread ends as soon as the sender is gone.
            let _ = waiting.join();
        }
    }
}
