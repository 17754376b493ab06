//! What went wrong, as the exceptions of `pcr99._errors`.

use std::{any::Any, io, path::PathBuf};

use pcr99_cloud::{FileError, RegisterError};
use pyo3::{exceptions::PyRuntimeError, intern, prelude::*};

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A value is not as it should be.
    Value(String),
    /// A file cannot be read or written.
    File(FileError, PathBuf),
    /// There is not enough memory.
    Memory(String),
    /// The system gives no thread.
    NoThread(io::Error),
    /// Our own mistake.
    Internal(String),
}

impl Failure {
    /// Of a file at `path`.
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(FileError) -> Self {
        let path = path.to_path_buf();
        |error| Self::File(error, path)
    }

    /// Of a panic, which is always our own mistake.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Internal(text.unwrap_or("no message").to_owned())
    }

    /// The name of the exception.
    fn class(&self) -> &'static str {
        match self {
            Self::Value(_) => "InvalidInput",
            Self::Memory(_) => "OutOfMemory",
            Self::NoThread(_) => "SystemLimit",
            Self::Internal(_) => "InternalError",
            Self::File(error, _) => match error {
                FileError::Malformed { .. } | FileError::UnknownFormat { .. } => "FileFormatError",
                FileError::Unequal { .. } => "InvalidInput",
                FileError::NoDirectory { .. } => "FileNotFound",
                FileError::Io { cause, .. } | FileError::Write { cause, .. }
                    if cause.kind() == io::ErrorKind::NotFound =>
                {
                    "FileNotFound"
                }
                _ => "FileError",
            },
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Value(text) | Self::Memory(text) => text.clone(),
            Self::File(error, _) => error.to_string(),
            Self::NoThread(cause) => format!("the system gives no more threads: {cause}"),
            Self::Internal(text) => format!("this is a mistake in pcr99, please report it: {text}"),
        }
    }

    /// As an exception.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        self.exception(py).unwrap_or_else(|error| {
            // Only without the package around this module.
            PyRuntimeError::new_err(format!("{} ({error})", self.message()))
        })
    }

    fn exception(&self, py: Python<'_>) -> PyResult<PyErr> {
        let class = py.import(intern!(py, "pcr99._errors"))?.getattr(self.class())?;
        let exception = class.call1((self.message(),))?;
        if let Self::File(error, path) = self {
            exception.setattr(intern!(py, "filename"), path.as_os_str())?;
            if let FileError::Io { cause, .. } | FileError::Write { cause, .. } = error {
                exception.setattr(intern!(py, "errno"), cause.raw_os_error())?;
            }
        }
        Ok(PyErr::from_value(exception))
    }
}

impl From<pcr99::Error> for Failure {
    fn from(error: pcr99::Error) -> Self {
        let text = error.to_string();
        match error {
            pcr99::Error::OutOfMemory { .. } => {
                Self::Memory(format!("{text} (method=\"paper-random\" keeps no tables)"))
            }
            pcr99::Error::TooMuchMemory { needed_mib, .. } => Self::Memory(format!(
                "{text} (memory_budget={needed_mib}, or method=\"paper-random\", which keeps no tables)"
            )),
            _ => Self::Value(text),
        }
    }
}

impl From<pcr99_lab::Error> for Failure {
    fn from(error: pcr99_lab::Error) -> Self {
        match error {
            pcr99_lab::Error::Core(error) => error.into(),
            pcr99_lab::Error::TooManyMatches { .. } => Self::Memory(error.to_string()),
            _ => Self::Value(error.to_string()),
        }
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        Self::Value(error.to_string())
    }
}
