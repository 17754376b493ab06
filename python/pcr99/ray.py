"""Registration of many pairs on a Ray cluster. Install it with ``pip install 'pcr99[ray]'``.

``pcr99.ray.batch`` takes the same manifest and writes the same bytes as ``pcr99.batch``. Either can resume a batch of the other.
``python -m pcr99.ray MANIFEST --output DIR`` is the same as a program. ``pcr99.ray.assemble`` does the same for ``pcr99.assemble``.

All machines need the same version of ``pcr99``. The output directory and the files of the manifest must be on a shared file system, under
the same paths on all machines.
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
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _core
from ._arrays import as_optional_whole
from ._assemble import DEFAULTS, AssembleOptions, ScansLike, assembled
from ._assembly import Assembly
from ._batch import BatchResult, result, warn_of_changes
from ._clouds import PathLike, _path
from ._errors import Error, InvalidType, MissingPackage, SystemLimit
from ._manifest import Defaults, ManifestLike, manifest_of
from ._progress import ProgressLike, ProgressReporter
from ._ray_run import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["assemble", "batch", "main"]

#: Bytes of shared memory for a local Ray. Only small receipts pass through it.
_OBJECT_STORE = 100 << 20
#: Environment of a local Ray: no usage statistics, no warnings, and a long timeout for its start on a busy machine.
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
    repair: bool = False,
    retry_failed: bool = False,
    retry_changed: bool = False,
    cache: Optional[int] = None,
    progress: ProgressLike = None,
    **defaults: Unpack[Defaults],
) -> BatchResult:
    """Registers many pairs on a Ray cluster, with the same results to the byte as ``pcr99.batch``.

    Parameters
    ----------
    manifest, output, resume, repair, retry_failed, retry_changed, progress, **defaults
        As in ``pcr99.batch``. All machines must see ``output`` and the files of the manifest under the same paths.
    address
        Address of the cluster, as in ``ray.init`` (``"auto"``, ``"ray://head:10001"``). By default the cluster that this process is
        connected to, or the one that ``RAY_ADDRESS`` names. Without either, Ray is started on this machine and stopped after the batch.
    num_cpus
        Maximum number of cores; all by default. Each pair uses one core.
    chunk
        Number of pairs that are sent together; by default up to 100, and fewer if there are few pairs per core.
    cache
        Memory for clouds that each worker process keeps for later pairs, in mebibytes (default 1024).

    Workers write results to ``output``, each file complete or not at all; only small receipts pass through Ray. Pairs that are lost with a
    worker or a machine are sent again. A pair whose worker dies three times fails with that error. Ctrl-C keeps the finished pairs.

    Examples
    --------
    >>> import pcr99.ray
    >>> done = pcr99.ray.batch("pairs.csv", "out", address="auto")   # doctest: +SKIP
    >>> done.registered, done.results_csv                            # doctest: +SKIP
    (98211, PosixPath('/shared/out/results.csv'))
    """
    num_cpus, chunk = as_optional_whole("num_cpus", num_cpus, 1), as_optional_whole("chunk", chunk, 1)
    cache = as_optional_whole("cache", cache, 0)
    if address is not None and not isinstance(address, str):
        raise InvalidType(f"`address` must be a string, not {type(address).__name__}")
    reporter = ProgressReporter(progress)
    _ray()
    pairs = manifest_of(manifest, defaults)
    # Workers have other current directories.
    place = os.path.abspath(_path("output", output))
    work = _core.Batch(place, pairs, bool(resume), bool(repair), bool(retry_failed), bool(retry_changed))
    try:
        warn_of_changes(work)
        before = work.finished
        if before < len(pairs):
            with _cluster(address, num_cpus) as (ray, limit):
                reporter.start()
                Run(ray, work, place, limit, cache, reporter, len(pairs), before).all(chunk)
        work.update()
        return result(work, place, before, reporter)
    finally:
        reporter.close()
        work.close()


def assemble(
    scans: ScansLike,
    output: PathLike,
    *,
    address: Optional[str] = None,
    num_cpus: Optional[int] = None,
    chunk: Optional[int] = None,
    cache: Optional[int] = None,
    progress: ProgressLike = None,
    **options: Unpack[AssembleOptions],
) -> Assembly:
    """Assembles many scans with pairs registered on a Ray cluster, with the same results to the byte as ``pcr99.assemble``.

    Parameters
    ----------
    scans, output, progress, **options
        As in ``pcr99.assemble``: ``scale``, ``voxel``, ``vertical``, ``tilt``, ``same_rig``, ``control``, ``positions``, ``resume``, ``merge``, ``merge_format``,
        ``pair_pages``, ``seed``. All machines must see ``output`` and the files of the scans under the same paths.
    address, num_cpus, chunk, cache
        As in ``pcr99.ray.batch``.

    Pairs are the unit of work. Scans are read and poses are found where this function is called. Ctrl-C keeps the finished pairs.

    Examples
    --------
    >>> import pcr99.ray
    >>> found = pcr99.ray.assemble(scans, "project", address="auto")   # doctest: +SKIP
    >>> found.components[0].members                                    # doctest: +SKIP
    (0, 1, 2)
    """
    num_cpus, chunk = as_optional_whole("num_cpus", num_cpus, 1), as_optional_whole("chunk", chunk, 1)
    cache = as_optional_whole("cache", cache, 0)
    if address is not None and not isinstance(address, str):
        raise InvalidType(f"`address` must be a string, not {type(address).__name__}")
    unknown = sorted(set(options) - set(AssembleOptions.__annotations__))
    if unknown:
        raise InvalidType(f"assemble has no option `{unknown[0]}`; the options are {', '.join(sorted(AssembleOptions.__annotations__))}")
    _path("output", output)
    reporter = ProgressReporter(progress)
    _ray()
    with contextlib.ExitStack() as stack:
        cluster: list[tuple[Any, Optional[int]]] = []

        def register(batch: _core.Batch, reporter: ProgressReporter) -> None:
            before = batch.finished
            if before == batch.pairs:
                return
            if not cluster:
                # Several rounds use one cluster.
                cluster.append(stack.enter_context(_cluster(address, num_cpus)))
                reporter.start()
            ray, limit = cluster[0]
            Run(ray, batch, str(batch.path), limit, cache, reporter, batch.pairs, before).all(chunk)

        given = {**DEFAULTS, **options, "scans": scans, "output": output, "cache": None}
        return assembled(given, register, reporter)


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise MissingPackage("pcr99.ray needs Ray: pip install 'pcr99[ray]', or call pcr99.batch, which does not need it") from error


@contextlib.contextmanager
def _cluster(address: Optional[str], num_cpus: Optional[int]) -> Iterator[tuple[Any, Optional[int]]]:
    """Connects to Ray; yields it and the maximum number of submitted chunks, if there is one. Stops what it started."""
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
            # It may be running in part.
            ray.shutdown()
            if last or isinstance(error, (ValueError, TypeError)):
                what = "cannot start Ray on this machine" if address == "local" else f"cannot connect to Ray at {address!r}"
                raise SystemLimit(f"{what}: {error}") from error
            time.sleep(2.0)


def main(arguments: Optional[list[str]] = None) -> int:
    """Runs the program ``python -m pcr99.ray`` and returns its exit status, which is that of ``pcr99 batch``."""
    options = vars(_parser().parse_args(arguments))
    quiet, as_json = options.pop("quiet"), options.pop("json")
    try:
        # Ray writes to standard output when a worker dies, but standard output is for the result.
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.showwarning = _note
            done = batch(progress=not quiet, **{name: value for name, value in options.items() if value is not None})
    except KeyboardInterrupt:
        print("interrupted; finished pairs are kept: continue with the same command and --resume", file=sys.stderr)
        return 130
    except Error as error:
        print(f"error: {str(error).replace('resume=True with repair=True', '--resume --repair').replace('resume=True', '--resume')}", file=sys.stderr)
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
        description="Registers many pairs on a Ray cluster. An interrupted batch can be resumed.",
        epilog="Exit status: 0 all pairs are registered, 1 some pairs are not, 2 bad usage or input, 130 interrupted.",
        allow_abbrev=False,
    )
    parser.add_argument("manifest", metavar="MANIFEST", help="list of pairs, CSV or Parquet")
    parser.add_argument("--output", metavar="DIR", required=True, help="directory for the results, shared by all machines")
    parser.add_argument("--address", help="address of the cluster (default: RAY_ADDRESS, or Ray is started on this machine)")
    parser.add_argument("--num-cpus", metavar="N", type=int, help="maximum number of cores (default: all)")
    parser.add_argument("--chunk", metavar="N", type=int, help="number of pairs that are sent together (default: up to 100)")
    parser.add_argument("--cache", metavar="MIB", type=int, help="memory for the clouds that each worker keeps (default: 1024)")
    parser.add_argument("--resume", action="store_true", help="continue the batch in DIR")
    parser.add_argument("--repair", action="store_true", help="drop damaged records and run their pairs again")
    parser.add_argument("--retry-failed", action="store_true", help="run failed pairs again")
    parser.add_argument("--retry-changed", action="store_true", help="run pairs again whose files have changed")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="print only the counts and errors")
    pairs = parser.add_argument_group("defaults for empty cells")
    pairs.add_argument("--scale", metavar="unknown|S|MIN..MAX", help="scale (default: 1)")
    for name, metavar in _METAVARS.items():
        pairs.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=f"default of column {name}")
    return parser


_METAVARS = {
    "threshold": "D",
    "method": "NAME",
    "memory_budget": "MIB",
    "voxel": "V",
    "refine": "NAME",
    "initial": "FILE",
    "candidates": "N",
    "time_limit": "SECONDS",
    "seed": "N",
    "effort": "N",
    "miss_probability": "P",
    "correlation_length": "LENGTH",
    "vertical": "'source=X,Y,Z target=X,Y,Z'",
    "tilt": "DEGREES",
}


if __name__ == "__main__":
    # Workers import what they run from `pcr99.ray`, so it must not be defined in `__main__`.
    sys.exit(importlib.import_module("pcr99.ray").main())
