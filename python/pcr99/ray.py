"""Many pairs on a Ray cluster, or on this machine by Ray: ``pip install 'pcr99[ray]'``.

``pcr99.ray.batch`` is ``pcr99.batch`` on other processes: the same manifest, the same directory, the same bytes. It can be killed and gone on
with by either. ``python -m pcr99.ray MANIFEST --output DIR`` is the same as a program.

All machines need ``pcr99`` in the same version, and the output directory and the files of the manifest under the same paths, on a file system that
they share.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _core
from ._arrays import as_optional_whole
from ._batch import BatchResult, result, warn_of_changes
from ._clouds import PathLike, _path
from ._errors import Error, FileError, FileNotFound, InternalError, InvalidType, MissingPackage, SystemLimit
from ._manifest import Defaults, ManifestLike, manifest_of
from ._progress import ProgressLike, Teller
from ._worker import Receipt, run_chunk

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["batch", "main"]

#: Chunks in flight for each core: one in work, one that waits for it.
_AHEAD = 2
#: A short batch is cut into so many chunks for each core.
_CHUNKS_PER_CPU = 8
#: How often a pair may be lost with its worker before it is said to have failed.
_ATTEMPTS = 3
#: Seconds after the death of a worker in which Ray may still send to it.
_MOURNING = 1.0
#: How often chunks may be lost with their machines, in a row.
_NODE_DEATHS = 100
#: Seconds until a file that another machine wrote must be seen here.
_SEEN_WITHIN = 60.0
#: Seconds that workers have to write what they have, after Ctrl-C.
_LAST_WORDS = 15.0
#: Seconds after which one looks again how many cores there are.
_COUNT_EVERY = 10.0
#: Bytes of shared memory of a Ray of our own: nothing but receipts passes through it.
_OBJECT_STORE = 100 << 20
#: For a Ray of our own: it is quiet, tells nobody that it is used, and may take its time on a busy machine.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_raylet_start_wait_time_s": "240",
}


def batch(
    manifest: ManifestLike,
    output: PathLike,
    *,
    address: Optional[str] = None,
    num_cpus: Optional[int] = None,
    chunk: Optional[int] = None,
    resume: bool = False,
    retry_failed: bool = False,
    retry_changed: bool = False,
    cache: Optional[int] = None,
    progress: ProgressLike = None,
    **defaults: Unpack[Defaults],
) -> BatchResult:
    """Registers many pairs on a Ray cluster: ``pcr99.batch`` on other processes, with the same results to the byte.

    Parameters
    ----------
    manifest, output, resume, retry_failed, retry_changed, progress, **defaults
        As in ``pcr99.batch``. All machines must see ``output`` and the files of the manifest under the same paths.
    address
        Of a cluster, as ``ray.init`` takes it (``"auto"``, ``"ray://head:10001"``). By default the one that this process is connected to
        already, or that ``RAY_ADDRESS`` names, or else Ray is started on this machine, and ended with the batch.
    num_cpus
        How many cores to use at most; all by default. A pair has one core.
    chunk
        Pairs that are sent together: up to 100, fewer when there are few for each core.
    cache
        Mebibytes of clouds (1024) that each worker process keeps for further pairs.

    Only small receipts pass through Ray; workers write results to ``output``, each file whole. What is lost with a worker or a machine is sent
    again. A pair whose worker dies each of three times is a row with that error. Ctrl-C keeps what is finished.

    Examples
    --------
    >>> import pcr99.ray
    >>> done = pcr99.ray.batch("pairs.csv", "out", address="auto")   # doctest: +SKIP
    >>> done.registered, done.results_csv                            # doctest: +SKIP
    (98211, PosixPath('/shared/out/results.csv'))
    """
    num_cpus, chunk = as_optional_whole("num_cpus", num_cpus), as_optional_whole("chunk", chunk)
    cache = as_optional_whole("cache", cache, 0)
    if address is not None and not isinstance(address, str):
        raise InvalidType(f"address must be a text, not {type(address).__name__}")
    teller = Teller(progress)
    _ray()
    pairs = manifest_of(manifest, defaults)
    # Workers have another current directory.
    place = os.path.abspath(_path("output", output))
    work = _core.Batch(place, pairs, bool(resume), bool(retry_failed), bool(retry_changed))
    try:
        warn_of_changes(work)
        before = work.finished
        if before < len(pairs):
            with _cluster(address, num_cpus) as (ray, limit):
                teller.start()
                _Run(ray, work, place, limit, cache, teller, len(pairs), before).all(chunk)
        work.update()
        return result(work, place, before, teller)
    finally:
        teller.close()
        work.close()


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingPackage("this needs Ray: pip install 'pcr99[ray]', or call pcr99.batch, which needs nothing") from error


@contextlib.contextmanager
def _cluster(address: Optional[str], num_cpus: Optional[int]) -> Iterator[tuple[Any, Optional[int]]]:
    """Ray, and how many chunks may be in flight, if that is bounded. What was begun here is ended here."""
    ray = _ray()
    if ray.is_initialized():
        yield ray, num_cpus
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address == "local":
        options.update(num_cpus=num_cpus, include_dashboard=False, object_store_memory=_OBJECT_STORE)
    changed = [name for name in _ENVIRONMENT if address == "local" and name not in os.environ]
    os.environ.update({name: _ENVIRONMENT[name] for name in changed})
    try:
        try:
            _start(ray, address, options)
        finally:
            for name in changed:
                os.environ.pop(name, None)
        yield ray, None if address == "local" else num_cpus
    finally:
        ray.shutdown()


def _start(ray: Any, address: str, options: dict[str, Any]) -> None:
    for last in (False, True):
        try:
            ray.init(address, **options)
            return
        except Exception as error:
            # Half of it may be running.
            ray.shutdown()
            if last or isinstance(error, (ValueError, TypeError)):
                what = "Ray does not start on this machine" if address == "local" else f"no connection to Ray at {address!r}"
                raise SystemLimit(f"{what}: {error}") from error
            time.sleep(2.0)


class _Sent(NamedTuple):
    """A chunk on its way."""

    chunk: str
    size: int
    #: How often it was lost with its worker.
    lost: int = 0


class _Run:
    """One batch on one cluster."""

    def __init__(
        self,
        ray: Any,
        work: _core.Batch,
        output: str,
        limit: Optional[int],
        cache: Optional[int],
        teller: Teller,
        pairs: int,
        before: int,
    ) -> None:
        self._ray, self._work, self._output, self._limit, self._cache = ray, work, output, limit, cache
        self._teller, self._pairs, self._before, self._made, self._failed = teller, pairs, before, 0, 0
        # Not retried by Ray: only what is missing is sent again.
        self._remote = ray.remote(num_cpus=1, max_retries=0)(run_chunk)
        self._waiting: deque[_Sent] = deque()
        # Pairs that were lost with their worker: each runs alone, so that no other can be to blame.
        self._suspects: deque[_Sent] = deque()
        self._flying: dict[Any, _Sent] = {}
        self._node_deaths = 0
        self._counted = -float("inf")
        self._cpus = 1

    def all(self, chunk: Optional[int]) -> None:
        """Runs all that is missing."""
        missing = self._pairs - self._before
        size = chunk or min(_core.CHUNK, -(-missing // (_CHUNKS_PER_CPU * self._cores())))
        self._waiting.extend(_Sent(text, _rows(text)) for text in self._work.chunks(size))
        try:
            self._tell()
            while self._waiting or self._flying or self._suspects:
                self._send()
                ready, _ = self._ray.wait(list(self._flying), num_returns=1, timeout=0.2)
                for reference in ready:
                    self._take(reference, self._flying.pop(reference))
                self._tell()
        except BaseException:
            self._stop()
            raise

    def _cores(self) -> int:
        if time.monotonic() - self._counted > _COUNT_EVERY:
            # Machines come and go.
            self._cpus = max(int(self._ray.cluster_resources().get("CPU", 1)), 1)
            self._counted = time.monotonic()
        return min(self._cpus, self._limit or self._cpus)

    def _tell(self) -> None:
        self._teller(self._pairs, self._before, self._made, self._failed)

    def _send(self) -> None:
        most = self._limit or _AHEAD * self._cores()
        while self._waiting and len(self._flying) < most:
            sent = self._waiting.popleft()
            self._flying[self._submit(sent.chunk)] = sent
        if self._suspects and not self._flying:
            # Ray must have noticed that the last worker is dead.
            time.sleep(_MOURNING)
            sent = self._suspects.popleft()
            self._flying[self._submit(sent.chunk)] = sent

    def _submit(self, chunk: str) -> Any:
        return self._remote.remote(_core.__version__, self._output, chunk, self._cache)

    def _take(self, reference: Any, sent: _Sent) -> None:
        errors = self._ray.exceptions
        try:
            receipt = self._received(reference)
        except (errors.WorkerCrashedError, errors.OutOfMemoryError) as error:
            self._again(sent, str(error), blame=True)
        except (errors.NodeDiedError, errors.ObjectLostError, errors.TaskCancelledError) as error:
            self._node_deaths += 1
            if self._node_deaths > _NODE_DEATHS:
                raise SystemLimit(f"machines of the Ray cluster are lost again and again: {_first_line(error)}") from error
            self._again(sent, str(error), blame=False)
        else:
            self._node_deaths = 0
            self._made += receipt.made
            self._failed += receipt.failed
            if receipt.made < sent.size:
                self._again(sent._replace(size=sent.size - receipt.made), "interrupted", blame=False)

    def _received(self, reference: Any) -> Receipt:
        """What a worker has to say, when its part files are seen here."""
        errors = self._ray.exceptions
        try:
            receipt: Receipt = self._ray.get(reference)
        except errors.RayTaskError as error:
            if isinstance(error.cause, ImportError):
                raise MissingPackage(
                    f"the machines of the Ray cluster need pcr99 {_core.__version__} too: {_first_line(error.cause)}"
                ) from error
            raise InternalError(f"this is a mistake in pcr99, please report it: {error}") from error
        except (errors.LocalRayletDiedError, errors.RaySystemError, ConnectionError) as error:
            raise SystemLimit(f"Ray has ended: {_first_line(error)}; go on with resume=True") from error
        if receipt.error is not None:
            there = receipt.error
            told = type(there)(f"on {receipt.node}: {there}")
            if isinstance(told, FileError) and isinstance(there, FileError):
                told.filename, told.errno = there.filename, there.errno
            raise told
        for part in receipt.parts:
            _see(part, receipt.node)
        return receipt

    def _again(self, sent: _Sent, why: str, blame: bool) -> None:
        """What is missing of a chunk that was lost goes out once more, in halves, so that one pair alone is to blame in the end."""
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
        # Not the pair's fault where workers die of nothing at all.
        nothing = json.dumps({**json.loads(chunk), "rows": []})
        try:
            self._received(self._submit(nothing))
        except self._ray.exceptions.RayError as error:
            raise SystemLimit(f"Ray's workers die before they do anything: {_first_line(error)}") from error
        self._work.give_up(chunk, f"the process that ran it died {times} times: {_first_line(why)}")
        self._made += 1
        self._failed += 1

    def _stop(self) -> None:
        """Ends what is in flight; workers write what they have done."""
        with contextlib.suppress(Exception):
            for reference in self._flying:
                self._ray.cancel(reference, force=False, recursive=False)
            if self._flying:
                self._ray.wait(list(self._flying), num_returns=len(self._flying), timeout=_LAST_WORDS)


def _rows(chunk: str) -> int:
    return len(json.loads(chunk)["rows"])


def _first_line(error: object) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _see(part: str, node: str) -> None:
    """Waits until a file is seen here: some file systems take their time."""
    end = time.monotonic() + _SEEN_WITHIN
    while not os.path.exists(part):
        if time.monotonic() > end:
            raise FileNotFound(
                f"`{part}`, which {node} has written, is not there: all machines must share the file system of the output directory"
            )
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            # Asks the server again.
            os.listdir(os.path.dirname(part))


def main(arguments: Optional[list[str]] = None) -> int:
    """The program ``python -m pcr99.ray``; returns its exit status, which is that of ``pcr99 batch``."""
    options = vars(_parser().parse_args(arguments))
    quiet, as_json = options.pop("quiet"), options.pop("json")
    try:
        # Standard output is for the result; Ray writes there when a worker dies.
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.showwarning = _note
            done = batch(progress=not quiet, **{name: value for name, value in options.items() if value is not None})
    except KeyboardInterrupt:
        print("interrupted; what is finished is kept: go on with the same command and --resume", file=sys.stderr)
        return 130
    except Error as error:
        print(f"error: {str(error).replace('resume=True', '--resume')}", file=sys.stderr)
        return 2
    print(json.dumps(done.to_dict(), indent=2) if as_json else str(done), end="\n" if as_json else "")
    if not quiet:
        made = done.pairs - done.finished_before
        pairs = "pair" if made == 1 else "pairs"
        print(f"written to `{done.output}`; {made} {pairs} in {done.seconds:.1f} s", file=sys.stderr)
    return 0 if done else 1


def _note(message: Union[Warning, str], *_: object, **__: object) -> None:
    print(f"note: {str(message).replace('retry_changed=True', '--retry-changed')}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pcr99.ray",
        description="Registers many pairs on a Ray cluster; killed at any moment, it goes on where it was.",
        epilog="Exit status: 0 all are registered, 1 finished, but some are not, 2 bad usage or input, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("manifest", metavar="MANIFEST", help="pairs, as CSV or Parquet")
    parser.add_argument("--output", metavar="DIR", required=True, help="directory for the results, which all machines share")
    parser.add_argument("--address", help="of the cluster; by default RAY_ADDRESS, or else Ray is started on this machine")
    parser.add_argument("--num-cpus", metavar="N", type=int, help="cores to use at most (default: all)")
    parser.add_argument("--chunk", metavar="N", type=int, help="pairs that are sent together (default: up to 100)")
    parser.add_argument("--cache", metavar="MIB", type=int, help="clouds that each worker keeps (default: 1024)")
    parser.add_argument("--resume", action="store_true", help="go on with the batch in DIR")
    parser.add_argument("--retry-failed", action="store_true", help="run those again that failed")
    parser.add_argument("--retry-changed", action="store_true", help="run those again whose files have changed")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print the counts and errors only")
    pairs = parser.add_argument_group("for pairs whose cells are empty")
    pairs.add_argument("--scale", metavar="unknown|S|MIN..MAX", help="what is known of the scale (default: 1)")
    for name, metavar in _METAVARS.items():
        pairs.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=f"as the column {name}")
    return parser


_METAVARS = {
    "threshold": "D",
    "method": "NAME",
    "memory_budget": "MIB",
    "voxel": "V",
    "refine": "NAME",
    "initial": "FILE",
    "time_limit": "SECONDS",
    "seed": "N",
}


if __name__ == "__main__":
    # Not as `__main__`: workers look for what they run in the module of this name.
    sys.exit(importlib.import_module("pcr99.ray").main())
