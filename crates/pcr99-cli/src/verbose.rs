//! `-v` and `-vv`: what the library tells about its decisions, on standard error.

use log::{LevelFilter, Log, Metadata, Record};
use pcr99_base::logging;

use crate::say;

/// Prints the lines of this library. Those of others, such as readers of files, are not for users.
struct Listener;

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == logging::TARGET
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            say(&record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Prints what is decided with `verbosity` 1, and also why from 2 on.
pub(crate) fn listen(verbosity: u8) {
    let level = match verbosity {
        0 => LevelFilter::Off,
        1 => LevelFilter::Info,
        _ => LevelFilter::Debug,
    };
    // In a process that has a listener already, such as Python's, that one gets the lines.
    let _ = log::set_logger(&Listener);
    log::set_max_level(level);
}
