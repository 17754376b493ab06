"""How far a batch is: a bar on a terminal, lines elsewhere, or a function of one's own."""

from __future__ import annotations

import math
import shutil
import sys
import time
from typing import Callable, NamedTuple, Optional, Union

from ._errors import InvalidType

#: Work that is done sooner shows no bar, in seconds.
_PATIENCE = 1.0
#: Between two looks of a bar.
_BAR_EVERY = 0.1
#: Between two lines where there is no terminal.
_LINE_EVERY = 5.0


class Progress(NamedTuple):
    """How far a batch is."""

    #: Pairs of the manifest.
    pairs: int
    #: Pairs that were finished before this run.
    before: int
    #: Pairs that this run has finished.
    made: int
    #: Of those, failed.
    failed: int
    #: Seconds that this run has taken so far.
    seconds: float

    @property
    def finished(self) -> int:
        """Pairs that are finished."""
        return self.before + self.made

    @property
    def seconds_left(self) -> Optional[float]:
        """Seconds that it will take at this pace; ``None`` before the first pair."""
        return self.seconds / self.made * (self.pairs - self.finished) if self.made else None

    def __str__(self) -> str:
        text = f"{self.finished} of {self.pairs} pairs"
        if self.failed:
            text += f", {self.failed} failed"
        if self.seconds_left and self.finished < self.pairs:
            text += f", {_duration(self.seconds_left)} left"
        return text


#: ``None``: a bar where there is a terminal; ``True``: elsewhere, a line now and then; ``False``: nothing; or what is called.
ProgressLike = Union[None, bool, Callable[[Progress], object]]


class Teller:
    """Tells whoever wants to know."""

    def __init__(self, wanted: ProgressLike) -> None:
        if not (wanted is None or isinstance(wanted, bool) or callable(wanted)):
            raise InvalidType(f"progress must be a function, True, False or None, not {type(wanted).__name__}")
        terminal = wanted in (None, True) and sys.stderr is not None and sys.stderr.isatty()
        self._call = wanted if callable(wanted) else None
        self._bar, self._lines = terminal, wanted is True and not terminal
        self._start = self._last = time.monotonic()
        self._shown = False

    def __call__(self, pairs: int, before: int, made: int, failed: int) -> None:
        """Takes the numbers as they are now."""
        now = time.monotonic()
        progress = Progress(pairs, before, made, failed, now - self._start)
        if self._call is not None:
            self._call(progress)
        elif self._bar and now - self._start >= _PATIENCE and now - self._last >= _BAR_EVERY:
            self._last, self._shown = now, True
            _write(f"\r\x1b[2K{_bar(progress)}")
        elif self._lines and now - self._last >= _LINE_EVERY:
            self._last = now
            _write(f"{progress}\n")

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._start

    def start(self) -> None:
        """Begins to count the time anew."""
        self._start = self._last = time.monotonic()

    def close(self) -> None:
        """Takes the bar away."""
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
        # Nobody is there to see it; that is no reason to stop.
        pass


Progress.__module__ = "pcr99"
