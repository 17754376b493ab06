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
    """The caller's clouds (not copies), and the call."""

    source: Any
    target: Any
    indices: Any
    #: The matches between two clouds that were searched, K×6.
    matches: Optional[Floats]
    #: The function that was called.
    function: Callable[..., Any]
    #: Its other arguments by name, and paths of clouds as the caller wrote them.
    arguments: Mapping[str, Any]

    def call(self) -> str:
        """Returns the text of the call."""
        clouds = {"source": self.source, "target": self.target, "indices": self.indices}
        return call_text(self.function, {**clouds, **self.arguments})

    def pairs(self) -> Optional[Indices]:
        """Index pairs of the matches, if the caller passed any."""
        return None if self.indices is None else as_indices("indices", self.indices)


class _Shown(str):
    """The text of an argument that is not kept."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def origin(function: Callable[..., Any], given: dict[str, Any], matches: Optional[Floats] = None) -> Origin:
    """Keeps the arguments `given` to a function: each cloud once, and of other arrays only their names. `given` is used up."""
    names = ("weights", "standard_deviations", "transform", "initial", "vertical", "source_viewpoint", "target_viewpoint")
    for name in names:
        if given.get(name) is not None:
            given[name] = _Shown(_text(name, given[name]))
    return Origin(
        _kept("source", given), _kept("target", given), given.pop("indices", None), matches, function, given
    )


def _kept(name: str, given: dict[str, Any]) -> Any:
    """Takes a cloud out of `given`. A path stays there; it is returned absolute, so that it stays valid in another directory."""
    cloud = given[name]
    path = None if type(cloud) is np.ndarray else file_name(cloud)
    if path is not None:
        return os.path.abspath(path)
    del given[name]
    return cloud


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
        if is_positional:
            parts.append(_text(name, value))
        elif not (value is default or (_is_plain(value) and value == default)):
            parts.append(f"{name}={_text(name, value)}")
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
    if type(value) is np.ndarray:
        return name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    plain = _is_plain(value) or isinstance(value, bytes)
    plain = plain or (isinstance(value, tuple) and all(_is_plain(item) for item in value))
    text = repr(value) if plain else name
    return text if len(text) <= _MAX_ARGUMENT_LENGTH else name
