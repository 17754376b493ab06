"""What a result was made from: kept by reference, for the page that shows it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Floats, Indices, as_indices
from ._clouds import PreparedCloud, as_cloud

#: Longer values are not written into a call.
_LONGEST = 200


class Origin(NamedTuple):
    """The user's own objects, not copies of them, and the call."""

    source: Any
    target: Any
    indices: Any
    #: Of two clouds the matches that were searched, K×6.
    matches: Optional[Floats]
    call: str

    def pairs(self) -> Optional[Indices]:
        """Pairs of rows that match."""
        return None if self.indices is None else as_indices("indices", self.indices)


def kept(cloud: Any) -> Any:
    """What stands for a cloud; a path that is good from any directory."""
    is_path = isinstance(cloud, (str, bytes, os.PathLike))
    return os.path.abspath(os.fsdecode(cloud)) if is_path else cloud


def points_shown(name: str, cloud: Any) -> Floats:
    """The points of whatever stands for a cloud."""
    return cloud._prepared.points() if isinstance(cloud, PreparedCloud) else as_cloud(name, cloud).points


def label(name: str, cloud: Any) -> str:
    """The name of its file, or `name`."""
    is_path = isinstance(cloud, (str, bytes, os.PathLike))
    return os.path.basename(os.fsdecode(cloud)) if is_path else name


def call_text(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """A call as one would type it: what is a default is left out, arrays go by their names."""
    parts = []
    for name, default, is_positional in _parameters(function):
        value = given[name]
        text = _text(name, value)
        if is_positional:
            parts.append(text)
        elif not (value is default or (_is_plain(value) and value == default)):
            parts.append(f"{name}={text}")
    return f"pcr99.{function.__name__}({', '.join(parts)})"


_SEEN: dict[Callable[..., Any], tuple[tuple[str, Any, bool], ...]] = {}


def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, Any, bool], ...]:
    if function not in _SEEN:
        parameters = inspect.signature(function).parameters.values()
        _SEEN[function] = tuple((p.name, p.default, p.default is inspect.Parameter.empty) for p in parameters)
    return _SEEN[function]


def _is_plain(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, np.generic, type(None)))


def _text(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    plain = _is_plain(value) or isinstance(value, bytes)
    plain = plain or (isinstance(value, tuple) and all(_is_plain(item) for item in value))
    text = repr(value) if plain else name
    return text if len(text) <= _LONGEST else name
