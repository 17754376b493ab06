//! A callback of the caller that ends a search.

use std::{
    ffi::{c_int, c_void},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use pcr99::stop::StopRequest;
use pcr99_plan::Deadline;

/// Function that a search calls now and then, with the pointer `user` of the caller. A value other than 0 ends the search, which then returns the best result
/// so far. It is never called by two threads at once, but not always by the thread of the caller. It must not throw.
pub type pcr99_stop_check = Option<unsafe extern "C" fn(user: *mut c_void) -> c_int>;

/// The callback of a call and its time limit.
pub(crate) struct Stop {
    check: pcr99_stop_check,
    user: Mutex<*mut c_void>,
    is_ended: AtomicBool,
    deadline: Deadline,
}

// SAFETY: the pointer is only passed to the callback, under the lock, and the header says that any thread may do so.
unsafe impl Sync for Stop {}

impl Stop {
    pub(crate) fn new(check: pcr99_stop_check, user: *mut c_void, deadline: Deadline) -> Self {
        Self { check, user: Mutex::new(user), is_ended: AtomicBool::new(false), deadline }
    }

    pub(crate) fn ask(&self) -> Option<StopRequest> {
        if let Some(check) = self.check
            && !self.is_ended.load(Ordering::Relaxed)
        {
            let user = self.user.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: function and pointer belong together, as the caller promised.
            if unsafe { check(*user) } != 0 {
                self.is_ended.store(true, Ordering::Relaxed);
            }
        }
        self.deadline.check(self.is_ended.load(Ordering::Relaxed))
    }
}
