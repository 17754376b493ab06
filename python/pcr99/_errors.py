"""Exceptions. Each is a ``pcr99.Error`` and also the built-in exception that callers expect."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base class of all exceptions that ``pcr99`` raises."""


class InvalidInput(Error, ValueError):
    """An argument has a wrong value. The message names the argument and says what to do."""


class InvalidType(InvalidInput, TypeError):
    """An argument has a type that cannot be used."""


class FileError(Error, OSError):
    """A file cannot be read or written. ``filename`` names it; ``errno`` is the system's code, if there is one."""

    def __str__(self) -> str:
        # OSError would build its own text from `errno`.
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        # `errno` and `filename` are not among the arguments.
        return _restored, (type(self), self.args, self.errno, self.filename)


class FileNotFound(FileError, FileNotFoundError):
    """The file or directory does not exist."""


class FileExists(FileError, FileExistsError):
    """The output directory exists and must not be overwritten."""


class FileFormatError(FileError, ValueError):
    """The content of a file is malformed. The message names the line or byte."""


class MissingPackage(Error, ImportError):
    """An optional package is not installed. The message says how to install it."""


class OutOfMemory(Error, MemoryError):
    """The memory is exhausted, or the memory budget would be exceeded."""


class SystemLimit(Error, OSError):
    """The system provides no more threads, or no Ray cluster."""


class InternalError(Error, RuntimeError):
    """A bug in ``pcr99``. Please report it."""


def _restored(kind: type[FileError], args: tuple[Any, ...], errno: Any, filename: Any) -> FileError:
    error = kind(*args)
    error.errno, error.filename = errno, filename
    return error


for _class in (
    Error,
    InvalidInput,
    InvalidType,
    FileError,
    FileNotFound,
    FileExists,
    FileFormatError,
    MissingPackage,
    OutOfMemory,
    SystemLimit,
    InternalError,
):
    _class.__module__ = "pcr99"
del _class
