"""Many pairs, on this machine."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from . import _core
from ._arrays import as_optional_whole
from ._clouds import PathLike, _path
from ._manifest import Defaults, ManifestLike, manifest_of
from ._progress import ProgressLike, Teller

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclasses.dataclass(frozen=True)
class BatchResult:
    """What became of many pairs: true when all are registered. Iterating over it gives the lines of ``results.jsonl``."""

    #: The directory with the results.
    output: Path
    #: How many pairs there are.
    pairs: int
    #: With a transform that can be trusted.
    registered: int
    #: With one that cannot.
    not_reliable: int
    #: Those by what speaks against them.
    doubts: Mapping[str, int] = dataclasses.field(hash=False)
    #: Without a transform.
    no_solution: int
    #: That could not be run; their rows say why.
    failed: int
    #: Pairs that were finished before this run.
    finished_before: int = dataclasses.field(compare=False)
    #: Seconds that this run took.
    seconds: float = dataclasses.field(compare=False)
    #: The numbers as ``pcr99 batch`` prints them.
    text: str = dataclasses.field(compare=False, repr=False)

    @property
    def results_csv(self) -> Path:
        """The table: a line for each pair, in the order of the manifest."""
        return self.output / "results.csv"

    @property
    def results_jsonl(self) -> Path:
        """All that is known of each pair, a document on each line."""
        return self.output / "results.jsonl"

    @property
    def times_csv(self) -> Path:
        """How long each pair took."""
        return self.output / "times.csv"

    @property
    def summary_json(self) -> Path:
        """The counts as a document."""
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
        """All of it as plain values, as ``pcr99 batch --json`` prints it."""
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
    retry_failed: bool = False,
    retry_changed: bool = False,
    chunk: Optional[int] = None,
    cache: Optional[int] = None,
    progress: ProgressLike = None,
    **defaults: Unpack[Defaults],
) -> BatchResult:
    """Registers many pairs on this machine; killed at any moment, it goes on where it was.

    Parameters
    ----------
    manifest
        The path of a CSV or Parquet file, rows (dictionaries), or a table (pandas, Polars, pyarrow, a dictionary of columns). Columns are
        ``pair_id``, ``source`` and ``target`` (two clouds) or ``pairs`` (a file of matches), and any of the options below. Relative paths
        are relative to the file, or else to the current directory. A cell that is empty, ``None`` or NaN takes the option below.
    output
        A directory that is new or empty, unless ``resume`` is true.
    threads
        How many threads at most; all cores by default.
    resume
        Go on with the batch in ``output``; finished pairs are not run again.
    retry_failed
        Run those again that failed; with ``resume``.
    retry_changed
        Run finished ones again whose files have changed since (size, or time of the last change); with ``resume``. Otherwise there is a
        warning.
    chunk
        After so many pairs (100) results are brought to the disk, and every ten seconds.
    cache
        Mebibytes of clouds (1024) that are kept for further pairs.
    progress
        ``None`` shows a bar on a terminal, ``True`` elsewhere a line now and then, ``False`` nothing; a function is called with a
        ``Progress``, and ends the batch when it raises an exception.
    **defaults
        Options for cells that are empty: ``scale``, ``time_limit``, ``seed``; for matches ``threshold``, ``method``, ``memory_budget``;
        for clouds ``voxel``, ``refine``, ``initial`` (a file). As in ``solve`` and ``register``.

    Returns
    -------
    BatchResult
        Counts, paths, and the results of all pairs. A pair that fails is a row with its error, not an exception. Nothing but a time limit
        that is reached makes ``results.csv`` and ``results.jsonl`` differ by a byte from one run to the next.

    Ctrl-C keeps what is finished; ``resume=True`` goes on.

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
    threads = as_optional_whole("threads", threads)
    chunk, cache = as_optional_whole("chunk", chunk), as_optional_whole("cache", cache, 0)
    teller = Teller(progress)
    pairs = manifest_of(manifest, defaults)
    place = _path("output", output)
    work = _core.Batch(place, pairs, bool(resume), bool(retry_failed), bool(retry_changed))
    try:
        warn_of_changes(work)
        before = work.finished
        teller.start()
        work.run(threads, chunk, cache, teller)
        return result(work, place, before, teller)
    finally:
        teller.close()
        work.close()


def warn_of_changes(work: _core.Batch) -> None:
    """Says that results are from files as they were; to be called by what a user calls."""
    if work.changed is not None:
        warnings.warn(f"{work.changed}; results are kept, retry_changed=True runs these again", stacklevel=3)


def result(work: _core.Batch, output: str, before: int, teller: Teller) -> BatchResult:
    """Puts the results of all pairs together."""
    document, text = work.merge()
    return BatchResult(
        output=Path(os.path.abspath(output)),
        finished_before=before,
        seconds=teller.seconds,
        text=text,
        **json.loads(document),
    )


BatchResult.__module__ = "pcr99"
