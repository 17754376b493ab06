"""Exceptions: all are ``pcr99.Error``, and each also is the built-in exception that one would expect."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Anything that ``pcr99`` raises by itself."""


class InvalidInput(Error, ValueError):
    """A value is not as it should be; the message says what was meant and what to do."""


class InvalidType(InvalidInput, TypeError):
    """A value of a type that cannot be used at all."""


class FileError(Error, OSError):
    """A file cannot be read or written. ``filename`` says which; ``errno`` why, if the system said so."""

    def __str__(self) -> str:
        # Not the system's words, which follow from ``errno``, but ours.
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        # These two are not among the arguments.
        return _restored, (type(self), self.args, self.errno, self.filename)


class FileNotFound(FileError, FileNotFoundError):
    """There is no such file or directory."""


class FileExists(FileError, FileExistsError):
    """What would be written to is there already."""


class FileFormatError(FileError, ValueError):
    """The content of a file is not what it should be; the message names the place in it."""


class MissingPackage(Error, ImportError):
    """A package that is not installed is needed; the message says how to install it."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory, or it would be more than the budget."""


class SystemLimit(Error, OSError):
    """What is needed of the system cannot be had: threads, or a Ray cluster."""


class InternalError(Error, RuntimeError):
    """A mistake in ``pcr99`` itself: please report it."""


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
