//! Failures: a code for each call, and a message for the last one of a thread.

use std::{
    any::Any,
    cell::RefCell,
    ffi::{CString, c_char},
    panic::{self, AssertUnwindSafe},
};

use pcr99_plan::{PlanError, RunError};

/// What a call returns. Everything but `PCR99_CODE_OK` is a failure, whose message `pcr99_last_error` returns. Outputs are untouched then.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum pcr99_code {
    /// Success. A transform that cannot be relied on is a success, too: see `pcr99_summary.status`.
    Ok = 0,
    /// An argument is wrong: a null pointer, an option outside of its range, points that cannot be registered.
    InvalidArgument = 1,
    /// A handle was freed before, was never made, or is of another kind.
    InvalidHandle = 2,
    /// The buffer is too small. The needed size was returned.
    BufferTooSmall = 3,
    /// The result does not have what was asked for.
    NotAvailable = 4,
    /// The memory or the memory budget is exhausted.
    OutOfMemory = 5,
    /// A bug in pcr99.
    Internal = 6,
}

/// A failure on its way to the caller.
#[derive(Debug)]
pub(crate) struct Failure {
    code: pcr99_code,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: pcr99_code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::new(pcr99_code::InvalidArgument, message)
    }

    /// A null pointer in the argument `name`.
    pub(crate) fn null(name: &str) -> Self {
        Self::argument(format!("`{name}` is a null pointer"))
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("no message");
        Self::new(pcr99_code::Internal, format!("this is a bug in pcr99, please report it: {text}"))
    }
}

impl From<pcr99::Error> for Failure {
    fn from(error: pcr99::Error) -> Self {
        Self::argument(error.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::argument(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let code = match error {
            RunError::MemoryBudget { .. } | RunError::OutOfMemory { .. } => pcr99_code::OutOfMemory,
            _ => pcr99_code::InvalidArgument,
        };
        Self::new(code, error.to_string())
    }
}

impl From<::pcr99_cloud::RegisterError> for Failure {
    fn from(error: ::pcr99_cloud::RegisterError) -> Self {
        Self::argument(error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a function. Errors and panics become a code and a message.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> pcr99_code {
    let outcome = panic::catch_unwind(AssertUnwindSafe(body));
    match outcome.unwrap_or_else(|panic| Err(Failure::of_panic(&*panic))) {
        Ok(()) => pcr99_code::Ok,
        Err(failure) => {
            let text = CString::new(failure.message.replace('\0', "")).unwrap_or_default();
            LAST.with(|last| last.replace(text));
            failure.code
        }
    }
}

/// Message of the last failure on this thread: one sentence, UTF-8; empty before the first. It is valid until the next call on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn pcr99_last_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}
