"""The inputs of a result, kept by reference so that ``save_page`` can show them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Floats, Indices, as_indices
from ._clouds import PreparedCloud, as_cloud

#: Arguments whose text is longer than this many characters appear by name in the text of a call.
_MAX_ARGUMENT_LENGTH = 200


class Origin(NamedTuple):
    """The caller's objects (not copies) and the text of the call."""

    source: Any
    target: Any
    indices: Any
    #: The matches between two clouds that were searched, K×6.
    matches: Optional[Floats]
    call: str

    def pairs(self) -> Optional[Indices]:
        """Index pairs of the matches, if the caller passed any."""
        return None if self.indices is None else as_indices("indices", self.indices)


def kept(cloud: Any) -> Any:
    """Returns a reference to a cloud; a relative path becomes absolute, so that it stays valid in another directory."""
    name = file_name(cloud)
    return cloud if name is None else os.path.abspath(name)


def file_name(cloud: Any) -> Optional[str]:
    """Returns the path of a cloud as the caller wrote it; ``None`` if the cloud is not a file."""
    return os.fsdecode(cloud) if isinstance(cloud, (str, bytes, os.PathLike)) else None


def points_shown(name: str, cloud: Any) -> Floats:
    """Returns the points of any kind of cloud."""
    return cloud._prepared.points() if isinstance(cloud, PreparedCloud) else as_cloud(name, cloud).points


def label(name: str, cloud: Any) -> str:
    """Returns the file name of a cloud, or `name` if it is not a file."""
    file = file_name(cloud)
    return name if file is None else os.path.basename(file)


def call_text(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Returns the text of a call, without default values; arrays appear by the names of their arguments."""
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
    return text if len(text) <= _MAX_ARGUMENT_LENGTH else name
