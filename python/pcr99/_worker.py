"""The function that runs in the worker processes of a Ray cluster."""

from __future__ import annotations

import platform
from typing import NamedTuple, Optional

from . import _core
from ._errors import Error, InvalidInput


class Receipt(NamedTuple):
    """Answer of a worker. It is small: the results themselves are in the part files."""

    #: Name of the machine.
    node: str
    #: Part files that the worker wrote.
    parts: tuple[str, ...] = ()
    #: Number of pairs in them.
    made: int = 0
    #: Number of these pairs that failed.
    failed: int = 0
    #: The error that kept the worker from writing results.
    error: Optional[Error] = None


#: Workers by cache size. They live as long as the process, so the next chunk finds their cached clouds.
_workers: dict[Optional[int], _core.Worker] = {}


def run_chunk(version: str, output: str, chunk: str, cache: Optional[int], stop: Optional[str] = None) -> Receipt:
    """Registers the pairs of a chunk and writes their results to `output`. It ends early once the file `stop` exists."""
    node = platform.node()
    try:
        if version != _core.__version__:
            raise InvalidInput(f"the worker has pcr99 {_core.__version__}, the caller {version}: install the same version on all machines")
        if cache not in _workers:
            _workers[cache] = _core.Worker(1, cache)
        parts, made, failed = _workers[cache].run_chunk(output, chunk, stop)
    except Error as error:
        return Receipt(node, error=error)
    return Receipt(node, tuple(map(str, parts)), made, failed)
