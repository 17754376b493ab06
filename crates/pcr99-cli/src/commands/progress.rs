//! Progress of pairs.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};
use pcr99_batch::Progress;

use crate::{
    args::Args,
    watch::{self, Lines, PROGRESS_DELAY},
};

/// A progress bar with the remaining time on a terminal; lines with `--progress plain` and with `--verbose`.
pub(super) struct Bar {
    bar: ProgressBar,
    lines: Lines,
    start: Instant,
}

impl Bar {
    pub(super) fn new(all: usize, args: &Args) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all as u64), watch::target(args.quiet));
        if let Ok(style) = ProgressStyle::with_template("[{wide_bar}] {pos} of {len} pairs{msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let lines = Lines::new(!args.quiet && (watch::is_plain() || (args.verbose > 0)));
        Self { lines, bar, start: Instant::now() }
    }

    pub(super) fn update(&mut self, progress: &Progress) {
        let finished = progress.before + progress.made;
        let mut more = String::new();
        if progress.failed > 0 {
            more += &format!(", {} failed", progress.failed);
        }
        if progress.made > 0 && finished < progress.all {
            let each = self.start.elapsed().as_secs_f64() / progress.made as f64;
            let left = Duration::try_from_secs_f64(each * (progress.all - finished) as f64);
            more += &format!(", {} left", HumanDuration(left.unwrap_or(Duration::MAX)));
        }
        self.lines.say(|| format!("{finished} of {} pairs{more}", progress.all));
        if self.start.elapsed() >= PROGRESS_DELAY {
            self.bar.set_message(more);
            self.bar.set_position(finished as u64);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
