//! What the library tells about its decisions, through the crate [`log`].
//!
//! Without a listener nothing is formatted: a line costs one comparison. All lines have the target [`TARGET`].
//!
//! | level | what | of the program |
//! |---|---|---|
//! | info | what was decided, in a few lines | `-v` |
//! | debug | why: candidates, rounds, doubts, one line each | `-vv` |
//!
//! Lines are told only by code that runs once, in one order: between parallel loops, never inside of them. So the same input gives the same lines in the
//! same order on any number of threads. Work that is a step of other work is [`nested`]: what it decides is detail there. Work of which several pieces run
//! at the same time is [`silent`].

use std::{cell::Cell, fmt};

pub use log::Level;

/// Target of all lines.
pub const TARGET: &str = "pcr99";

/// What the work of a thread belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Work that the caller asked for.
    Whole,
    /// A step of other work. Its decisions are told as detail.
    Step,
    /// One of several pieces of work that run at the same time. It tells nothing.
    Silent,
}

thread_local! {
    static SCOPE: Cell<Scope> = const { Cell::new(Scope::Whole) };
}

/// Scope of the work on this thread.
pub fn scope() -> Scope {
    SCOPE.get()
}

/// Runs `work` in this scope.
pub fn within<R>(scope: Scope, work: impl FnOnce() -> R) -> R {
    /// Restores the scope, after a panic, too.
    struct Before(Scope);
    impl Drop for Before {
        fn drop(&mut self) {
            SCOPE.set(self.0);
        }
    }
    let _before = Before(SCOPE.replace(scope));
    work()
}

/// Runs `work` as a step of other work.
pub fn nested<R>(work: impl FnOnce() -> R) -> R {
    within(if scope() == Scope::Silent { Scope::Silent } else { Scope::Step }, work)
}

/// Runs `work` without telling anything.
pub fn silent<R>(work: impl FnOnce() -> R) -> R {
    within(Scope::Silent, work)
}

/// Level at which a line of this level is told here; `None` when nobody listens.
#[inline]
pub fn heard(level: Level) -> Option<Level> {
    if level <= log::max_level() { heard_in_scope(level) } else { None }
}

#[cold]
fn heard_in_scope(level: Level) -> Option<Level> {
    let level = match scope() {
        Scope::Whole => level,
        Scope::Step => level.max(Level::Debug),
        Scope::Silent => return None,
    };
    (level <= log::max_level()).then_some(level)
}

/// Whether somebody listens to detail. It guards what is computed for a line only.
#[inline]
pub fn is_detailed() -> bool {
    heard(Level::Debug).is_some()
}

/// Hands a line to the listener. The macros [`info`](crate::info) and [`debug`](crate::debug) call it.
#[cold]
pub fn tell(level: Level, line: fmt::Arguments<'_>) {
    log::logger().log(&log::Record::builder().level(level).target(TARGET).args(line).build());
}

/// Tells what was decided, as `format!` writes it.
#[macro_export]
macro_rules! info {
    ($($line:tt)+) => {
        if let Some(level) = $crate::logging::heard($crate::logging::Level::Info) {
            $crate::logging::tell(level, format_args!($($line)+));
        }
    };
}

/// Tells why it was decided, as `format!` writes it.
#[macro_export]
macro_rules! debug {
    ($($line:tt)+) => {
        if let Some(level) = $crate::logging::heard($crate::logging::Level::Debug) {
            $crate::logging::tell(level, format_args!($($line)+));
        }
    };
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use log::{LevelFilter, Log, Metadata, Record};

    use super::*;

    struct Listener(Mutex<Vec<String>>);

    impl Log for Listener {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &Record<'_>) {
            let line = format!("{} {}: {}", record.target(), record.level(), record.args());
            self.0.lock().expect("lines").push(line);
        }

        fn flush(&self) {}
    }

    static LISTENER: Listener = Listener(Mutex::new(Vec::new()));

    fn heard_lines(filter: LevelFilter, work: impl FnOnce()) -> Vec<String> {
        log::set_max_level(filter);
        work();
        log::set_max_level(LevelFilter::Off);
        std::mem::take(&mut *LISTENER.0.lock().expect("lines"))
    }

    #[test]
    fn scopes_decide_what_is_told() {
        log::set_logger(&LISTENER).expect("the only listener of these tests");
        let both = || {
            info!("decided {}", 1);
            debug!("because {}", 2);
        };
        let decided = "pcr99 INFO: decided 1";
        let (as_detail, because) = ("pcr99 DEBUG: decided 1", "pcr99 DEBUG: because 2");
        assert_eq!(heard_lines(LevelFilter::Debug, both), [decided, because]);
        assert_eq!(heard_lines(LevelFilter::Info, both), [decided]);
        assert!(heard_lines(LevelFilter::Warn, both).is_empty());
        assert_eq!(heard_lines(LevelFilter::Debug, || nested(both)), [as_detail, because]);
        assert!(heard_lines(LevelFilter::Info, || nested(both)).is_empty());
        assert!(heard_lines(LevelFilter::Debug, || silent(|| nested(both))).is_empty());

        // A listener that is not heard costs no formatting, and a panic leaves the scope as it was.
        assert!(heard_lines(LevelFilter::Info, || debug!("{}", unreachable_text())).is_empty());
        let panicked = std::panic::catch_unwind(|| silent(|| std::panic::panic_any(())));
        assert!(panicked.is_err() && scope() == Scope::Whole);
    }

    fn unreachable_text() -> &'static str {
        unreachable!("nobody listens to detail")
    }
}
