//! Watches over a search: the time limit, Ctrl-C, and a line that moves on a terminal when it takes long.

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

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on, Ctrl-C asks to stop; a second one does not wait. Before there is work to stop, it ends the program by itself.
pub(crate) fn listen() {
    // Setting it twice fails, and does no harm.
    let _ = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
}

/// Whether Ctrl-C was pressed since [`listen`].
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// How long a search is left alone before it says that it is at work.
const PATIENCE: Duration = Duration::from_secs(1);

/// One search under watch.
pub(crate) struct Watch {
    start: Instant,
    limit: Option<Duration>,
    line: ProgressBar,
}

impl Watch {
    /// Starts the clock. `limit` is in seconds and positive; `quiet` shows nothing.
    pub(crate) fn start(limit: Option<f64>, quiet: bool) -> Self {
        // Longer than the clock can count is no limit.
        let limit = limit.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        listen();
        let line = if quiet { ProgressBar::hidden() } else { ProgressBar::no_length() };
        Self { start: Instant::now(), limit, line }
    }

    /// What the search asks now and then.
    pub(crate) fn check(&self) -> Option<StopRequest> {
        if interrupted() {
            return Some(StopRequest::Interrupted);
        }
        let elapsed = self.start.elapsed();
        if elapsed >= PATIENCE && !self.line.is_hidden() {
            let limit = self.limit.map_or(String::new(), |limit| format!(" of {:.0} s", limit.as_secs_f64()));
            self.line.set_message(format!(
                "searching {:.0} s{limit}; Ctrl-C gives the best so far",
                elapsed.as_secs_f64()
            ));
            self.line.set_style(indicatif::ProgressStyle::default_spinner());
            self.line.tick();
        }
        self.limit.is_some_and(|limit| elapsed >= limit).then_some(StopRequest::TimeLimit)
    }
}

/// Says what is at work when it takes long, on a terminal: for work that cannot be asked how far it is.
pub(crate) struct Busy {
    /// Dropping it ends the wait.
    end: Option<mpsc::Sender<()>>,
    waiting: Option<thread::JoinHandle<()>>,
}

impl Busy {
    /// From now until it is dropped; `quiet` shows nothing.
    pub(crate) fn start(what: String, quiet: bool) -> Self {
        let line = ProgressBar::no_length();
        if quiet || line.is_hidden() {
            return Self { end: None, waiting: None };
        }
        let (end, ended) = mpsc::channel::<()>();
        let waiting = thread::spawn(move || {
            let start = Instant::now();
            let mut wait = PATIENCE;
            while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                line.set_style(indicatif::ProgressStyle::default_spinner());
                line.set_message(format!("{what}, {:.0} s", start.elapsed().as_secs_f64()));
                line.tick();
                wait = Duration::from_millis(100);
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
            // It can only end.
            let _ = waiting.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
