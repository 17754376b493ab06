"""Registration of many pairs on this machine."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from . import _core
from ._arrays import as_optional_whole
from ._clouds import PathLike, _path
from ._manifest import Defaults, ManifestLike, manifest_of
from ._progress import ProgressLike, ProgressReporter

if TYPE_CHECKING:
    from typing_extensions import Unpack


#: Command that starts the program ``pcr99``, for pairs that may end their process.
PROGRAM = [sys.executable, "-m", "pcr99"]


@dataclasses.dataclass(frozen=True)
class BatchResult:
    """Result of a batch. It is true if all pairs are registered. Iteration yields the lines of ``results.jsonl`` as dictionaries."""

    #: Directory with the results.
    output: Path
    #: Number of pairs in the manifest.
    pairs: int
    #: Number of pairs with status ``registered``.
    registered: int
    #: Number of pairs with status ``not_reliable``.
    not_reliable: int
    #: Number of pairs that are not reliable, by doubt code.
    doubts: Mapping[str, int] = dataclasses.field(hash=False)
    #: Number of pairs with status ``no_solution``.
    no_solution: int
    #: Number of pairs with status ``failed``; ``error`` in their rows gives the cause.
    failed: int
    #: Number of pairs that earlier runs finished.
    finished_before: int = dataclasses.field(compare=False)
    #: Duration of this run in seconds.
    seconds: float = dataclasses.field(compare=False)
    #: The summary as ``pcr99 batch`` prints it.
    text: str = dataclasses.field(compare=False, repr=False)

    @property
    def results_csv(self) -> Path:
        """Table with one line for each pair, in the order of the manifest."""
        return self.output / "results.csv"

    @property
    def results_jsonl(self) -> Path:
        """Result documents, one line for each pair."""
        return self.output / "results.jsonl"

    @property
    def times_csv(self) -> Path:
        """Table with the duration of each pair."""
        return self.output / "times.csv"

    @property
    def summary_json(self) -> Path:
        """The counts as a JSON document."""
        return self.output / "summary.json"

    def __bool__(self) -> bool:
        return self.registered == self.pairs

    def __len__(self) -> int:
        return self.pairs

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with open(self.results_jsonl, encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        others = {"not reliable": self.not_reliable, "without solution": self.no_solution, "failed": self.failed}
        parts = [f"{self.registered} of {self.pairs} pairs registered"]
        parts += [f"{count} {what}" for what, count in others.items() if count]
        return f"<BatchResult: {', '.join(parts)}; in {str(self.output)!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Returns the summary as ``pcr99 batch --json`` prints it."""
        return {
            "output": str(self.output),
            "pairs": self.pairs,
            "registered": self.registered,
            "not_reliable": self.not_reliable,
            "doubts": dict(self.doubts),
            "no_solution": self.no_solution,
            "failed": self.failed,
            "finished_before": self.finished_before,
            "seconds": {"total": self.seconds},
        }


def batch(
    manifest: ManifestLike,
    output: PathLike,
    *,
    threads: Optional[int] = None,
    resume: bool = False,
    repair: bool = False,
    retry_failed: bool = False,
    retry_changed: bool = False,
    chunk: Optional[int] = None,
    cache: Optional[int] = None,
    progress: ProgressLike = None,
    **defaults: Unpack[Defaults],
) -> BatchResult:
    """Registers many pairs on this machine. An interrupted batch can be resumed.

    Parameters
    ----------
    manifest
        Path of a CSV or Parquet file, rows (dictionaries), or a table (pandas, Polars, pyarrow, a dictionary of columns). The columns
        are ``pair_id``, ``source`` and ``target`` (two clouds) or ``pairs`` (a file of matches), and any of the options below. Relative
        paths are relative to the file, or to the current directory if there is none. An empty cell, ``None`` or NaN takes the default
        below. Columns whose names begin with ``_`` are ignored.
    output
        Directory for the results. It must be new or empty, unless ``resume`` is true.
    threads
        Maximum number of threads; by default the number of cores.
    resume
        Continue the batch in ``output``. Finished pairs are not run again. A pair that ended an earlier process runs in a process of its
        own first; if it ends that one, too, it fails.
    repair
        Drop damaged records, whose pairs run again; needs ``resume``. Without it, damage is an error that names the file and line.
    retry_failed
        Run failed pairs again; needs ``resume``.
    retry_changed
        Run finished pairs again whose files have another size or modification time; needs ``resume``. Without it, a warning names
        them.
    chunk
        Number of pairs (default 100) after which results are written to disk. They are also written every ten seconds.
    cache
        Memory for clouds that are kept for later pairs, in mebibytes (default 1024).
    progress
        ``None`` shows a bar on a terminal. ``True`` also prints lines where there is no terminal. ``False`` shows nothing. A function
        is called with a ``Progress``; an exception that it raises ends the batch.
    **defaults
        Options for pairs whose cells are empty, as in ``solve`` and ``register``. For all pairs: ``scale``, ``candidates``,
        ``time_limit`` (of one pair), ``seed``. For matches: ``threshold``, ``method``, ``memory_budget``, ``effort``, ``miss_probability``,
        ``correlation_length``. For clouds: ``voxel``, ``refine``, ``initial`` (a file with a 4×4 matrix).

    Returns
    -------
    BatchResult
        Counts, paths and the results of all pairs. A pair that fails is a row with its error, not an exception. The files
        ``results.csv`` and ``results.jsonl`` are the same to the byte in every run, unless a time limit is reached.

    Ctrl-C keeps the finished pairs; ``resume=True`` continues.

    Examples
    --------
    >>> import pathlib, tempfile, pcr99
    >>> place = pathlib.Path(tempfile.mkdtemp())
    >>> rows = [{"pair_id": "none", "pairs": place / "none.csv"}]
    >>> for seed in range(3):
    ...     problem = pcr99.simulate(outliers=0.9, seed=seed)
    ...     pcr99.write_matches(place / f"{seed}.csv", problem.source, problem.target)
    ...     rows.append({"pair_id": seed, "pairs": place / f"{seed}.csv"})
    >>> done = pcr99.batch(rows, place / "out")
    >>> done.registered, done.failed, bool(done)
    (3, 1, False)
    >>> [(row["pair_id"], row["status"]) for row in done]
    [('none', 'failed'), ('0', 'registered'), ('1', 'registered'), ('2', 'registered')]
    >>> pcr99.batch(rows, place / "out", resume=True).finished_before
    4
    """
    threads = as_optional_whole("threads", threads, 1)
    chunk, cache = as_optional_whole("chunk", chunk, 1), as_optional_whole("cache", cache, 0)
    reporter = ProgressReporter(progress)
    pairs = manifest_of(manifest, defaults)
    place = _path("output", output)
    work = _core.Batch(place, pairs, bool(resume), bool(repair), bool(retry_failed), bool(retry_changed))
    try:
        warn_of_changes(work)
        before = work.finished
        reporter.start()
        work.run(threads, chunk, cache, PROGRAM, reporter)
        return result(work, place, before, reporter)
    finally:
        reporter.close()
        work.close()


def warn_of_changes(work: _core.Batch) -> None:
    """Warns that input files of finished pairs have changed. Must be called directly by the function that the user calls."""
    if work.changed is not None:
        warnings.warn(f"{work.changed}; their results are kept, retry_changed=True runs these pairs again", stacklevel=3)


def result(work: _core.Batch, output: str, before: int, reporter: ProgressReporter) -> BatchResult:
    """Merges the results of all pairs."""
    document, text = work.merge()
    return BatchResult(
        output=Path(os.path.abspath(output)),
        finished_before=before,
        seconds=reporter.seconds,
        text=text,
        **json.loads(document),
    )


BatchResult.__module__ = "pcr99"
