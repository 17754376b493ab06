//! Failures, raised as the exceptions of `pcr99._errors`.

use std::{any::Any, io, path::PathBuf};

use pcr99_assemble::Error as AssemblyError;
use pcr99_batch::{Error as BatchError, ManifestError};
use pcr99_cloud::{FileError, OutputError, RegisterError};
use pcr99_document::Error as DocumentError;
use pcr99_plan::{PlanError, RunError};
use pyo3::{exceptions::PyRuntimeError, intern, prelude::*};

/// Failure of an operation.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An argument has a wrong value.
    Value(String),
    /// A file cannot be read or written.
    File(FileError, PathBuf),
    /// A batch failed. The path is the file or directory that caused it.
    Batch(Box<pcr99_batch::Error>, Option<PathBuf>),
    /// An assembly failed. The path is the file or directory that caused it.
    Assembly(Box<AssemblyError>, Option<PathBuf>),
    /// The memory or the memory budget is exhausted.
    Memory(String),
    /// The system started no thread.
    NoThread(io::Error),
    /// A bug in this project.
    Internal(String),
}

impl Failure {
    /// Wraps an error of the file at `path`.
    pub(crate) fn file<E: Into<FileError>>(path: &std::path::Path) -> impl FnOnce(E) -> Self {
        let path = path.to_path_buf();
        |error| Self::File(error.into(), path)
    }

    /// Wraps an error of a manifest; `path` is its file, if there is one.
    pub(crate) fn manifest(error: pcr99_batch::Error, path: Option<&std::path::Path>) -> Self {
        Self::Batch(Box::new(error), path.map(Into::into))
    }

    /// Error of the operating system behind the failure.
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
            Self::Assembly(error, _) => match &**error {
                AssemblyError::Io { cause, .. } => Some(cause),
                _ => None,
            },
            _ => None,
        }
    }

    /// Wraps a panic, which is always a bug.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Internal(text.unwrap_or("no message").to_owned())
    }

    /// Name of the exception class.
    fn class(&self) -> &'static str {
        match self {
            Self::Value(_) => "InvalidInput",
            Self::Memory(_) => "OutOfMemory",
            Self::NoThread(_) => "SystemLimit",
            Self::Internal(_) => "InternalError",
            Self::File(..) | Self::Batch(..) | Self::Assembly(..)
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
            Self::Assembly(error, path) => match (&**error, path) {
                (AssemblyError::Exists { .. } | AssemblyError::Foreign { .. }, _) => "FileExists",
                (AssemblyError::File(FileError::UnknownFormat { .. }), _) => "FileFormatError",
                (AssemblyError::File(_) | AssemblyError::Output(_) | AssemblyError::Page(_), _)
                | (_, Some(_)) => "FileError",
                (_, None) => "InvalidInput",
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
            Self::Assembly(error, _) => assembly_message(error),
            Self::NoThread(cause) => format!("cannot start a thread: {cause}"),
            Self::Internal(text) => format!("this is a bug in pcr99, please report it: {text}"),
        }
    }

    /// Converts to an exception.
    pub(crate) fn raised(self, py: Python<'_>) -> PyErr {
        self.exception(py).unwrap_or_else(|error| {
            // Only if this module is imported without its package.
            PyRuntimeError::new_err(format!("{} ({error})", self.message()))
        })
    }

    fn exception(&self, py: Python<'_>) -> PyResult<PyErr> {
        let class = py.import(intern!(py, "pcr99._errors"))?.getattr(self.class())?;
        let exception = class.call1((self.message(),))?;
        if let Self::File(_, path) | Self::Batch(_, Some(path)) | Self::Assembly(_, Some(path)) = self
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

/// Message of a batch error, with the names of Python's options.
fn batch_message(error: &BatchError) -> String {
    match error {
        BatchError::Exists { directory } => format!(
            "`{}` already holds a batch: continue it with resume=True, or choose another directory",
            directory.display()
        ),
        BatchError::Damaged { file, line, cause } => format!(
            "`{}`{} is damaged: {cause}; resume=True with repair=True drops what is damaged and runs its pairs again",
            file.display(),
            if *line == 0 { String::new() } else { format!(", line {line},") }
        ),
        _ => error.to_string(),
    }
}

/// Message of an assembly error, with the names of Python's options.
fn assembly_message(error: &AssemblyError) -> String {
    match error {
        AssemblyError::Exists { directory } => format!(
            "`{}` already holds a project: continue it or add scans to it with resume=True, or choose another directory",
            directory.display()
        ),
        _ => error.to_string(),
    }
}

impl From<AssemblyError> for Failure {
    fn from(error: AssemblyError) -> Self {
        let path = match error {
            AssemblyError::Batch(error) => return error.into(),
            AssemblyError::Plan(error) => return error.into(),
            AssemblyError::Foreign { ref directory }
            | AssemblyError::Exists { ref directory }
            | AssemblyError::Busy { ref directory }
            | AssemblyError::OtherVersion { ref directory, .. }
            | AssemblyError::OtherOptions { ref directory, .. } => Some(directory.clone()),
            AssemblyError::Damaged { ref file, .. } => Some(file.clone()),
            AssemblyError::NotUnicode { ref path } | AssemblyError::Io { ref path, .. } => Some(path.clone()),
            _ => None,
        };
        Self::Assembly(Box::new(error), path)
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
            | BatchError::Gone { directory }
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
        Self::Value(error.to_string())
    }
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let text = error.to_string();
        match error {
            RunError::MemoryBudget { .. }
            | RunError::OutOfMemory { .. }
            | RunError::Method(pcr99_baselines::Error::TooManyMatches { .. }) => Self::Memory(text),
            _ => Self::Value(text),
        }
    }
}

impl From<pcr99_lab::Error> for Failure {
    fn from(error: pcr99_lab::Error) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Self {
        Self::Value(error.to_string())
    }
}
