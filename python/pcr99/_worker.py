"""What runs in the processes of a Ray cluster."""

from __future__ import annotations

import platform
from typing import NamedTuple, Optional

from . import _core
from ._errors import Error, InvalidInput


class Receipt(NamedTuple):
    """What comes back from a worker: little, whatever the results are. These are in the part files."""

    #: The machine.
    node: str
    #: The part files that were written.
    parts: tuple[str, ...] = ()
    #: How many pairs are in them.
    made: int = 0
    #: Of those, failed.
    failed: int = 0
    #: Why results could not be written.
    error: Optional[Error] = None


#: Clouds that were read stay for the next chunk, as long as the process lives.
_workers: dict[Optional[int], _core.Worker] = {}


def run_chunk(version: str, output: str, chunk: str, cache: Optional[int]) -> Receipt:
    """Runs the pairs of a chunk and writes their results."""
    node = platform.node()
    try:
        if version != _core.__version__:
            raise InvalidInput(f"pcr99 is {_core.__version__} there and {version} here: install the same version")
        if cache not in _workers:
            _workers[cache] = _core.Worker(1, cache)
        parts, made, failed = _workers[cache].run_chunk(output, chunk)
    except Error as error:
        return Receipt(node, error=error)
    return Receipt(node, tuple(map(str, parts)), made, failed)
