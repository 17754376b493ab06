//! What went wrong, as the exceptions of `pcr99._errors`.

use std::{any::Any, io, path::PathBuf};

use pcr99_batch::{Error as BatchError, ManifestError};
use pcr99_cloud::{FileError, OutputError, RegisterError};
use pyo3::{exceptions::PyRuntimeError, intern, prelude::*};

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A value is not as it should be.
    Value(String),
    /// A file cannot be read or written.
    File(FileError, PathBuf),
    /// A batch cannot begin, go on or end; with the file that is to blame.
    Batch(Box<pcr99_batch::Error>, Option<PathBuf>),
    /// There is not enough memory.
    Memory(String),
    /// The system gives no thread.
    NoThread(io::Error),
    /// Our own mistake.
    Internal(String),
}

impl Failure {
    /// Of a file at `path`.
    pub(crate) fn file<E: Into<FileError>>(path: &std::path::Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        |error| Self::File(error.into(), path)
    }

    /// Of a manifest, which may be a file.
    pub(crate) fn manifest(error: pcr99_batch::Error, path: Option<&std::path::Path>) -> Self {
        Self::Batch(Box::new(error), path.map(Into::into))
    }

    /// What the system said.
    fn cause(&self) -> Option<&io::Error> {
        match self {
            Self::File(FileError::Io { cause, .. }, _)
            | Self::File(FileError::Output(OutputError::Write { cause, .. }), _) => Some(cause),
            Self::Batch(error, _) => match &**error {
                BatchError::Io { source, .. } => Some(source),
                BatchError::Manifest { cause, .. } => match &**cause {
                    ManifestError::Io(cause) => Some(cause),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
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
            Self::File(..) | Self::Batch(..)
                if self.cause().is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound) =>
            {
                "FileNotFound"
            }
            Self::Batch(error, path) => match &**error {
                BatchError::Manifest { cause, .. } => match (&**cause, path) {
                    (ManifestError::Io(_), _) => "FileError",
                    (ManifestError::UselessDefault { .. }, _) | (_, None) => "InvalidInput",
                    _ => "FileFormatError",
                },
                BatchError::Exists { .. } | BatchError::Foreign { .. } => "FileExists",
                _ => "FileError",
            },
            Self::File(error, _) => match error {
                FileError::Malformed { .. } | FileError::UnknownFormat { .. } => "FileFormatError",
                FileError::Unequal { .. } => "InvalidInput",
                FileError::Output(OutputError::NoDirectory { .. }) => "FileNotFound",
                _ => "FileError",
            },
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Value(text) | Self::Memory(text) => text.clone(),
            Self::File(error, _) => error.to_string(),
            Self::Batch(error, _) => batch_message(error),
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
        if let Self::File(_, path) | Self::Batch(_, Some(path)) = self
            && self.class().starts_with("File")
        {
            exception.setattr(intern!(py, "filename"), path.as_os_str())?;
            if let Some(cause) = self.cause() {
                exception.setattr(intern!(py, "errno"), cause.raw_os_error())?;
            }
        }
        Ok(PyErr::from_value(exception))
    }
}

/// With the options as they are called in Python.
fn batch_message(error: &BatchError) -> String {
    match error {
        BatchError::Exists { directory } => format!(
            "`{}` holds a batch already: go on with it (resume=True), or name another directory",
            directory.display()
        ),
        BatchError::Damaged { file, cause } => format!(
            "`{}` is damaged ({cause}): delete it, and go on with resume=True; its pairs are run again",
            file.display()
        ),
        _ => error.to_string(),
    }
}

impl From<BatchError> for Failure {
    fn from(error: BatchError) -> Self {
        let path = match &error {
            BatchError::Foreign { directory }
            | BatchError::Exists { directory }
            | BatchError::Busy { directory }
            | BatchError::OtherVersion { directory, .. }
            | BatchError::Changed { directory, .. }
            | BatchError::NotShared { directory } => Some(directory.clone()),
            BatchError::Damaged { file, .. } => Some(file.clone()),
            BatchError::Io { path, .. } => Some(path.clone()),
            _ => None,
        };
        Self::Batch(Box::new(error), path)
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
            _ => Self::Value(error.to_string()),
        }
    }
}

impl From<pcr99_baselines::Error> for Failure {
    fn from(error: pcr99_baselines::Error) -> Self {
        match error {
            pcr99_baselines::Error::Core(error) => error.into(),
            pcr99_baselines::Error::TooManyMatches { .. } => Self::Memory(error.to_string()),
            _ => Self::Value(error.to_string()),
        }
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        Self::Value(error.to_string())
    }
}
