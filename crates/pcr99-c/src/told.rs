//! A callback of the caller that gets a line for each decision.

use std::{
    cell::Cell,
    ffi::{CString, c_char, c_void},
    sync::{Mutex, PoisonError},
};

use log::{Level, LevelFilter, Log, Metadata, Record};
use pcr99_base::logging;

use crate::failure::{Failure, guarded, pcr99_code};

/// Level of `pcr99_set_log`: no lines.
pub const PCR99_LOG_OFF: u32 = 0;
/// Level of `pcr99_set_log`: what was decided.
pub const PCR99_LOG_INFO: u32 = 1;
/// Level of `pcr99_set_log`: also why, with candidates, rounds of the search and doubts.
pub const PCR99_LOG_DEBUG: u32 = 2;

/// Function that gets a line, with its level and the pointer `user` of the caller. The line is UTF-8 without a line feed, and lives as long as the call. The function is
/// never called by two threads at once, but not always by the thread of the caller. It must not throw. Calls of this library that it makes itself tell nothing.
pub type pcr99_log_line = Option<unsafe extern "C" fn(level: u32, line: *const c_char, user: *mut c_void)>;

/// The callback and its pointer.
struct Callback {
    line: unsafe extern "C" fn(u32, *const c_char, *mut c_void),
    user: *mut c_void,
}

// SAFETY: the pointer is only passed to the callback, under the lock, and the header says that any thread may do so.
unsafe impl Send for Callback {}

static CALLBACK: Mutex<Option<Callback>> = Mutex::new(None);

thread_local! {
    /// Whether this thread is within the callback.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

struct Listener;

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == logging::TARGET
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) || IS_INSIDE.get() {
            return;
        }
        let level = if record.level() <= Level::Info { PCR99_LOG_INFO } else { PCR99_LOG_DEBUG };
        let Ok(text) = CString::new(record.args().to_string()) else { return };
        let callback = CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Callback { line, user }) = &*callback {
            IS_INSIDE.set(true);
            // SAFETY: function and pointer belong together, as the caller promised, and the text ends with a zero.
            unsafe { line(level, text.as_ptr(), *user) };
            IS_INSIDE.set(false);
        }
    }

    fn flush(&self) {}
}

/// Calls `line` from now on with each line up to `level`, which is one of `PCR99_LOG_…`. It holds for all threads. With null or with `PCR99_LOG_OFF`, no function
/// is called any more once this call has returned. Results do not depend on it.
///
/// # Safety
/// `line` is null or a function that may be called with `user` until the next call of `pcr99_set_log` has returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcr99_set_log(line: pcr99_log_line, level: u32, user: *mut c_void) -> pcr99_code {
    guarded(|| {
        let filter = match level {
            _ if line.is_none() => LevelFilter::Off,
            PCR99_LOG_OFF => LevelFilter::Off,
            PCR99_LOG_INFO => LevelFilter::Info,
            PCR99_LOG_DEBUG => LevelFilter::Debug,
            _ => return Err(Failure::argument(format!("`level` is {level}: it must be one of PCR99_LOG_…"))),
        };
        if IS_INSIDE.get() {
            return Err(Failure::argument("the function that gets the lines cannot be changed by itself"));
        }
        let line = line.filter(|_| filter != LevelFilter::Off);
        let mut callback = CALLBACK.lock().unwrap_or_else(PoisonError::into_inner);
        *callback = line.map(|line| Callback { line, user });
        // Only this crate sets a listener, and it is the same one each time.
        let _ = log::set_logger(&Listener);
        log::set_max_level(filter);
        Ok(())
    })
}
