"""Progress of a batch: a bar on a terminal, lines of text elsewhere, or calls of the user's function."""

from __future__ import annotations

import math
import shutil
import sys
import time
from typing import Callable, NamedTuple, Optional, Union

from ._errors import InvalidType

#: A bar appears after this many seconds, so that short work shows none.
_BAR_DELAY = 1.0
#: Seconds between two updates of the bar.
_BAR_EVERY = 0.1
#: Seconds between two lines of text, without a terminal.
_LINE_EVERY = 5.0


class Progress(NamedTuple):
    """State of a running batch."""

    #: Number of pairs in the manifest.
    pairs: int
    #: Number of pairs that earlier runs finished.
    before: int
    #: Number of pairs that this run has finished.
    made: int
    #: Number of pairs of this run that failed.
    failed: int
    #: Seconds since this run started.
    seconds: float

    @property
    def finished(self) -> int:
        """Number of finished pairs."""
        return self.before + self.made

    @property
    def seconds_left(self) -> Optional[float]:
        """Estimated seconds until the end; ``None`` before the first pair is finished."""
        return self.seconds / self.made * (self.pairs - self.finished) if self.made else None

    def __str__(self) -> str:
        text = f"{self.finished} of {self.pairs} pairs"
        if self.failed:
            text += f", {self.failed} failed"
        if self.seconds_left and self.finished < self.pairs:
            text += f", {_duration(self.seconds_left)} left"
        return text


#: ``None``: a bar on a terminal. ``True``: also lines of text elsewhere. ``False``: nothing. A function: it is called.
ProgressLike = Union[None, bool, Callable[[Progress], object]]


class ProgressReporter:
    """Reports the progress of a batch in the way that the user chose."""

    def __init__(self, wanted: ProgressLike) -> None:
        if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
            raise InvalidType(f"`progress` must be a function, True, False or None, not {type(wanted).__name__}")
        terminal = wanted in (None, True) and sys.stderr is not None and sys.stderr.isatty()
        self._call = wanted if callable(wanted) else None
        self._bar, self._lines = terminal, wanted is True and not terminal
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, pairs: int, before: int, made: int, failed: int) -> None:
        """Reports the current counts."""
        now = time.monotonic()
        progress = Progress(pairs, before, made, failed, now - self._start)
        if self._call is not None:
            self._call(progress)
        elif self._bar and now - self._start >= _BAR_DELAY and now - self._last >= _BAR_EVERY:
            self._last, self._shown = now, True
            _write(f"\r\x1b[2K{_bar(progress)}")
        elif self._lines and now - self._last >= _LINE_EVERY:
            self._last = now
            _write(f"{progress}\n")

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def start(self) -> None:
        """Restarts the clock."""
        self._start = self._last = time.monotonic()

    def close(self) -> None:
        """Removes the bar."""
        if self._shown:
            self._shown = False
            _write("\r\x1b[2K")


def _bar(progress: Progress) -> str:
    text = f" {progress}"
    width = max(shutil.get_terminal_size().columns - len(text) - 3, 0)
    done = width * progress.finished // max(progress.pairs, 1)
    bar = "=" * done + ">" * (done < width)
    return f"[{bar:<{width}}]{text}" if width >= 8 else text.strip()


def _duration(seconds: float) -> str:
    whole = math.ceil(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        # A closed standard error must not end the batch.
        pass


Progress.__module__ = "pcr99"
