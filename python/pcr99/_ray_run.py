"""One batch on a Ray cluster: chunks of pairs are submitted, lost pairs are sent again."""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
from collections import deque
from typing import Any, NamedTuple, Optional

from . import _core
from ._errors import FileError, FileNotFound, InternalError, MissingPackage, SystemLimit
from ._progress import ProgressReporter
from ._worker import Receipt, run_chunk

#: Submitted chunks per core: one that runs and one that waits.
_AHEAD = 2
#: Minimum number of chunks per core into which a short batch is divided.
_CHUNKS_PER_CPU = 8
#: A pair fails after its worker has died this many times.
_ATTEMPTS = 3
#: Seconds to wait after the death of a worker. Within them, Ray may still submit work to it.
_GRACE_PERIOD = 1.0
#: Maximum number of consecutive chunks that are lost because their machine died.
_MAX_NODE_DEATHS = 100
#: Seconds within which a file written by another machine must become visible here.
_VISIBLE_WITHIN = 60.0
#: Seconds that workers have to write their results after Ctrl-C.
_STOP_TIMEOUT = 15.0
#: Start of the name of a file that tells workers to stop.
_STOP_PREFIX = ".stop-"
#: Seconds between two queries of the number of cores.
_COUNT_EVERY = 10.0


class _Sent(NamedTuple):
    """A chunk of pairs that a worker is to run."""

    chunk: str
    size: int
    #: Number of workers that died with it.
    lost: int = 0


class Run:
    """State of one batch on one cluster."""

    def __init__(
        self,
        ray: Any,
        work: _core.Batch,
        output: str,
        limit: Optional[int],
        cache: Optional[int],
        reporter: ProgressReporter,
        pairs: int,
        before: int,
    ) -> None:
        self._ray, self._work, self._output, self._limit, self._cache = ray, work, output, limit, cache
        self._reporter, self._pairs, self._before, self._made, self._failed = reporter, pairs, before, 0, 0
        # Ray must not retry a chunk: only its missing pairs are sent again.
        self._remote = ray.remote(num_cpus=1, max_retries=0)(run_chunk)
        self._waiting: deque[_Sent] = deque()
        # Pairs that were lost with their worker: each runs alone, so that no other can be to blame.
        self._suspects: deque[_Sent] = deque()
        self._submitted: dict[Any, _Sent] = {}
        self._node_deaths = 0
        self._counted = -float("inf")
        # Workers stop when this file appears. Ray's own `cancel` may abort this process when a cancelled chunk comes back.
        self._stop_file = os.path.join(output, f"{_STOP_PREFIX}{uuid.uuid4().hex}")
        self._cpus = 1

    def all(self, chunk: Optional[int]) -> None:
        """Runs all missing pairs."""
        missing = self._pairs - self._before
        size = chunk or min(_core.CHUNK, -(-missing // (_CHUNKS_PER_CPU * self._cores())))
        self._waiting.extend(_Sent(text, _rows(text)) for text in self._work.chunks(size))
        try:
            self._report()
            while self._waiting or self._submitted or self._suspects:
                self._send()
                ready, _ = self._ray.wait(list(self._submitted), num_returns=1, timeout=0.2)
                for reference in ready:
                    self._take(reference, self._submitted.pop(reference))
                self._report()
        except BaseException:
            self._stop()
            raise
        self._forget_stops()

    def _cores(self) -> int:
        if time.monotonic() - self._counted > _COUNT_EVERY:
            # Machines may join or leave the cluster.
            self._cpus = max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
            self._counted = time.monotonic()
        return min(self._cpus, self._limit or self._cpus)

    def _report(self) -> None:
        self._reporter(self._pairs, self._before, self._made, self._failed)

    def _send(self) -> None:
        most = self._limit or _AHEAD * self._cores()
        while self._waiting and len(self._submitted) < most:
            sent = self._waiting.popleft()
            self._submitted[self._submit(sent.chunk)] = sent
        if self._suspects and not self._submitted:
            # Ray needs this time to notice that the last worker died.
            time.sleep(_GRACE_PERIOD)
            sent = self._suspects.popleft()
            self._submitted[self._submit(sent.chunk)] = sent

    def _submit(self, chunk: str) -> Any:
        return self._remote.remote(_core.__version__, self._output, chunk, self._cache, self._stop_file)

    def _take(self, reference: Any, sent: _Sent) -> None:
        errors = self._ray.exceptions
        try:
            receipt = self._received(reference)
        except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
            self._send_again(sent, str(error), blame=True)
        except (errors.NodeDiedError, errors.ObjectLostError, errors.TaskCancelledError) as error:
            self._node_deaths += 1
            if self._node_deaths > _MAX_NODE_DEATHS:
                raise SystemLimit(f"{self._node_deaths} chunks in a row were lost with their machines: {_first_line(error)}") from error
            self._send_again(sent, str(error), blame=False)
        else:
            self._node_deaths = 0
            self._made += receipt.made
            self._failed += receipt.failed
            if receipt.made < sent.size:
                self._send_again(sent._replace(size=sent.size - receipt.made), "interrupted", blame=False)

    def _received(self, reference: Any) -> Receipt:
        """Returns the answer of a worker, once its part files are visible here."""
        errors = self._ray.exceptions
        try:
            receipt: Receipt = self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise MissingPackage(
                    f"a machine of the Ray cluster cannot import pcr99, install {_core.__version__} there: {_first_line(error.cause)}"
                ) from error
            raise InternalError(f"this is a bug in pcr99, please report it: {error}") from error
        except (errors.LocalRayletDiedError, errors.RaySystemError, ConnectionError) as error:
            raise SystemLimit(f"Ray has stopped: {_first_line(error)}; continue with resume=True") from error
        if receipt.error is not None:
            cause = receipt.error
            located = type(cause)(f"on {receipt.node}: {cause}")
            if isinstance(located, FileError) and isinstance(cause, FileError):
                located.filename, located.errno = cause.filename, cause.errno
            raise located
        for part in receipt.parts:
            wait_for_file(part, receipt.node)
        return receipt

    def _send_again(self, sent: _Sent, why: str, blame: bool) -> None:
        """Queues the missing pairs of a lost chunk. With `blame`, the chunk is halved, until a single pair is known to kill its worker."""
        half = max(-(-sent.size // 2), 1) if blame else sent.size
        chunks = self._work.missing(sent.chunk, half)
        self._made += sent.size - sum(map(_rows, chunks))
        for chunk in chunks:
            lost = sent.lost + blame if sent.size == 1 else 0
            if lost >= _ATTEMPTS:
                self._give_up(chunk, lost, why)
            else:
                (self._suspects if lost else self._waiting).append(_Sent(chunk, _rows(chunk), lost))

    def _give_up(self, chunk: str, times: int, why: str) -> None:
        # If a worker also dies of an empty chunk, the pair is not the cause.
        nothing = json.dumps({**json.loads(chunk), "rows": []})
        try:
            self._received(self._submit(nothing))
        except self._ray.exceptions.RayError as error:
            raise SystemLimit(f"Ray's workers die even without work: {_first_line(error)}") from error
        self._work.give_up(chunk, f"the worker process died {times} times: {_first_line(why)}")
        self._made += 1
        self._failed += 1

    def _stop(self) -> None:
        """Tells the workers to stop, and gives them time to write their results."""
        with contextlib.suppress(Exception):
            if not self._submitted:
                return
            with open(self._stop_file, "x"):
                pass
            _, running = self._ray.wait(list(self._submitted), num_returns=len(self._submitted), timeout=_STOP_TIMEOUT)
            if not running:
                os.remove(self._stop_file)

    def _forget_stops(self) -> None:
        """Removes the stop files of earlier runs whose workers did not answer in time."""
        for name in os.listdir(self._output):
            if name.startswith(_STOP_PREFIX):
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(self._output, name))


def _rows(chunk: str) -> int:
    return len(json.loads(chunk)["rows"])


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def wait_for_file(part: str, node: str) -> None:
    """Waits until a file of another machine is visible here; network file systems may take seconds."""
    end = time.monotonic() + _VISIBLE_WITHIN
    while not os.path.exists(part):
        if time.monotonic() > end:
            raise FileNotFound(
                f"`{part}`, written by {node}, is not visible here: all machines must share the file system of the output directory"
            )
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            # Listing the directory refreshes the cache of a network file system.
            os.listdir(os.path.dirname(part))
