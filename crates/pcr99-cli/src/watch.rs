//! Watches over long work: the time limit, Ctrl-C, and progress: a line on a terminal, or with `--progress plain` a line every ten seconds.

use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget};
use pcr99::stop::StopRequest;
use pcr99_plan::Deadline;

use crate::{args::Progress, say};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether progress is printed as plain lines.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// Whether there is no line that changes, because other lines would break it.
static STILL: AtomicBool = AtomicBool::new(false);

/// Chooses how progress is shown from now on; `is_verbose` says that other lines are printed meanwhile.
pub(crate) fn show(progress: Progress, is_verbose: bool) {
    STILL.store(is_verbose, Ordering::Relaxed);
    PLAIN.store(progress == Progress::Plain, Ordering::Relaxed);
}

/// Whether progress is printed as plain lines.
pub(crate) fn is_plain() -> bool {
    PLAIN.load(Ordering::Relaxed)
}

/// Where a progress bar is drawn: nowhere when `quiet`, and nowhere when lines take its place.
pub(crate) fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet || is_plain() || STILL.load(Ordering::Relaxed) {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    }
}

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Plain lines about progress, one every ten seconds.
pub(crate) struct Lines {
    /// Time of the last line; `None` where no lines are printed.
    last: Option<Instant>,
}

impl Lines {
    /// Lines if `is_wanted`.
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self { last: is_wanted.then(Instant::now) }
    }

    /// Prints `line` if it is time.
    pub(crate) fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(last) = self.last.filter(|last| last.elapsed() >= LINE_EVERY) {
            // Late lines do not delay the next ones.
            let late = last.elapsed().as_nanos() % LINE_EVERY.as_nanos();
            self.last = Instant::now().checked_sub(Duration::from_nanos(late as u64)).or(self.last);
            say(&line());
        }
    }
}

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
    /// Prints plain lines.
    _lines: Busy,
}

impl Watch {
    /// Watches over a search until the deadline; `quiet` shows no progress line.
    pub(crate) fn start(deadline: Deadline, quiet: bool) -> Self {
        listen();
        let line = ProgressBar::with_draw_target(None, target(quiet));
        Self { deadline, line, _lines: Busy::start("searching".to_owned(), quiet || !is_plain()) }
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
        let line = ProgressBar::with_draw_target(None, target(quiet));
        let lines = is_plain() && !quiet;
        if line.is_hidden() && !lines {
            return Self { end: None, waiting: None };
        }
        let (end, ended) = mpsc::channel::<()>();
        let show = move || {
            let start = Instant::now();
            let [mut wait, interval] =
                if lines { [LINE_EVERY; 2] } else { [PROGRESS_DELAY, PROGRESS_INTERVAL] };
            while ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Timeout) {
                let message = format!("{what}, {:.0} s", start.elapsed().as_secs_f64());
                if lines {
                    say(&message);
                } else {
                    line.set_style(indicatif::ProgressStyle::default_spinner());
                    line.set_message(message);
                    line.tick();
                }
                wait = interval;
            }
            line.finish_and_clear();
        };
        // Without a thread there is no progress, and the work goes on.
        let waiting = thread::Builder::new().spawn(show).ok();
        Self { end: Some(end), waiting }
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
