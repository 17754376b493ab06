"""Clouds: arrays, files, Open3D's clouds, and prepared clouds."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any, NamedTuple, Optional, Protocol, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, as_array, as_list, as_optional_whole, as_place, as_rows, contiguous, frozen
from ._errors import InvalidInput, InvalidType

PathLike = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True, eq=False)
class Cloud:
    """Points with their attributes, as ``read_cloud`` returns them and ``write_cloud`` takes them."""

    #: Positions, N×3. NaN marks a missing point of an organised scan.
    points: Floats
    #: Unit normals, N×3.
    normals: Optional[Floats] = None
    #: Red, green and blue from 0 to 255, N×3.
    colors: Optional[npt.NDArray[np.uint8]] = None
    #: Intensity of each return, N.
    intensities: Optional[Floats] = None
    #: Position of the sensor, three coordinates.
    viewpoint: Optional[Floats] = None

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        parts = ("normals", "colors", "intensities", "viewpoint")
        there = [name for name in parts if getattr(self, name) is not None]
        return f"<Cloud: {len(self)} points{' with ' if there else ''}{', '.join(there)}>"


class HasPoints(Protocol):
    """Object with ``points`` and optionally ``normals`` and ``colors``, as Open3D's clouds are."""

    @property
    def points(self) -> Any:
        """Positions, N×3, in any form that NumPy converts."""


class HasTensors(Protocol):
    """Object with ``point["positions"]``, as Open3D's tensor clouds are."""

    @property
    def point(self) -> Any:
        """Mapping from attribute names to tensors."""


class PreparedCloud:
    """A cloud that is prepared once and registered many times. Its cleaned points and its descriptors are kept.

    Arguments: ``cloud`` as in ``register``; ``normals`` (N×3, oriented) and ``viewpoint`` (position of the sensor) if they are
    known; ``threads`` as in ``register``.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> target = pcr99.PreparedCloud(hills)
    >>> target
    <PreparedCloud: 3600 points>
    >>> turned = np.stack([7.0 - hills[:, 1], hills[:, 0], hills[:, 2] - 2.0], axis=1)
    >>> bool(pcr99.register(turned, target))
    True
    """

    __slots__ = ("_prepared",)
    _prepared: _core.PreparedCloud

    def __init__(
        self,
        cloud: CloudLike,
        *,
        normals: Optional[npt.ArrayLike] = None,
        viewpoint: Optional[npt.ArrayLike] = None,
        threads: Optional[int] = None,
    ) -> None:
        """Cleans and measures the points."""
        made = as_cloud("cloud", cloud)
        given = made.normals if normals is None else as_rows("normals", normals)
        if given is not None and len(given) != len(made.points):
            raise InvalidInput(f"{len(given)} normals for {len(made.points)} points: pass one for each point, or none")
        place = _known(made.viewpoint) if viewpoint is None else as_place("viewpoint", viewpoint)
        self._prepared = _core.PreparedCloud(made.points, given, place, as_optional_whole("threads", threads))

    @property
    def given(self) -> int:
        """Number of points that were passed."""
        return self._prepared.given

    @property
    def not_finite(self) -> int:
        """Number of removed points that were NaN or infinite."""
        return self._prepared.not_finite

    @property
    def duplicates(self) -> int:
        """Number of removed points that were equal to an earlier one."""
        return self._prepared.duplicates

    @property
    def center(self) -> Floats:
        """Median of the points on each axis, three coordinates."""
        return frozen(self._prepared.center)

    def __len__(self) -> int:
        return self.given - self.not_finite - self.duplicates

    def __repr__(self) -> str:
        return f"<PreparedCloud: {len(self)} points>"

    def __reduce__(self) -> str:
        raise InvalidType("a PreparedCloud cannot be pickled: pickle the points and prepare them again")


#: The type of the numbers that need no conversion.
_DOUBLE = np.dtype(np.float64)

#: A path, an N×3 array, a ``Cloud``, a ``PreparedCloud``, a cloud of Open3D, or any object with ``points``.
CloudLike = Union[PathLike, npt.ArrayLike, Cloud, PreparedCloud, HasPoints, HasTensors]


def prepared(name: str, cloud: CloudLike, threads: Optional[int] = None) -> _core.PreparedCloud:
    """Prepares any kind of cloud; `name` is the argument's name in messages."""
    if isinstance(cloud, PreparedCloud):
        return cloud._prepared
    made = as_cloud(name, cloud)
    if len(made.points) == 0:
        raise InvalidInput(f"`{name}` is empty: at least 3 points are needed")
    try:
        return _core.PreparedCloud(
            made.points, made.normals, _known(made.viewpoint), as_optional_whole("threads", threads)
        )
    except InvalidInput as error:
        raise InvalidInput(f"`{name}`: {error}") from None


def loaded(name: str, cloud: CloudLike) -> Union[Cloud, PreparedCloud]:
    """Reads a cloud if it is a path, and converts any other kind but a ``PreparedCloud`` to a ``Cloud``."""
    return cloud if isinstance(cloud, PreparedCloud) else as_cloud(name, cloud)


def seen_from(name: str, cloud: Union[Cloud, PreparedCloud], viewpoint: Any) -> Union[Cloud, PreparedCloud]:
    """Returns the cloud with another position of the sensor; ``None`` keeps the one that it has."""
    if viewpoint is None:
        return cloud
    place = as_place(f"{name}_viewpoint", viewpoint)
    if isinstance(cloud, PreparedCloud):
        raise InvalidInput(f"`{name}_viewpoint` is given, but `{name}` is a PreparedCloud: pass `viewpoint` when it is made")
    return dataclasses.replace(cloud, viewpoint=np.array(place))


def as_cloud(name: str, value: Any) -> Cloud:
    """Converts any kind of cloud to a ``Cloud``."""
    if isinstance(value, PreparedCloud):
        raise InvalidType(f"`{name}` is a PreparedCloud, which only register, refine, verify and suggest_voxel accept")
    if isinstance(value, bytes):
        value = os.fsdecode(value)
    if isinstance(value, (str, os.PathLike)):
        return read_cloud(value)
    if isinstance(value, Cloud):
        points = as_rows(f"{name}.points", value.points)
        return Cloud(points, _attribute(name, "normals", value.normals, points), None, None, value.viewpoint)
    tensors = getattr(value, "point", None)
    if tensors is not None and not hasattr(value, "points"):
        # Open3D's tensor clouds.
        points = as_rows(f"{name}.point.positions", _tensor(tensors, "positions"))
        return Cloud(points, _attribute(name, "normals", _tensor(tensors, "normals"), points))
    if hasattr(value, "points"):
        points = as_rows(f"{name}.points", value.points)
        return Cloud(points, _attribute(name, "normals", getattr(value, "normals", None), points))
    return Cloud(as_rows(name, value))


def points_of(name: str, value: CloudLike) -> Floats:
    """Returns the points of a cloud that is not a path."""
    if type(value) is np.ndarray and value.dtype is _DOUBLE and value.ndim == 2:
        # The usual case, without the tests for everything else.
        if value.shape[1] == 3 and len(value) > 0 and value.flags.c_contiguous and value.flags.aligned:
            return value
    if isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidType(f"`{name}` is a path: read it first with pcr99.read_points or pcr99.read_matches")
    return as_cloud(name, value).points


def _known(place: Any) -> Optional[tuple[float, float, float]]:
    # Files store NaN for an unknown viewpoint.
    finite = place is not None and bool(np.isfinite(as_array("viewpoint", place)).all())
    return as_place("viewpoint", place) if finite else None


def _tensor(tensors: Any, key: str) -> Any:
    try:
        return tensors[key]
    except (KeyError, IndexError, RuntimeError):
        return None


def _attribute(name: str, kind: str, value: Any, points: Floats) -> Optional[Floats]:
    # Open3D has an empty list for a missing attribute.
    if value is None or len(value) == 0:
        return None
    rows = as_rows(f"{name}.{kind}", value)
    if len(rows) != len(points):
        raise InvalidInput(f"`{name}` has {len(rows)} {kind} for {len(points)} points: pass one for each point, or none")
    return rows


def _path(name: str, path: PathLike) -> str:
    try:
        text = os.fsdecode(os.fspath(path))
    except TypeError:
        raise InvalidType(f"`{name}` must be a path, not {type(path).__name__}") from None
    if "\0" in text:
        raise InvalidInput(f"`{name}` contains a null character, which file names cannot have")
    return text


def read_points(path: PathLike) -> Floats:
    """Reads the points of a cloud, N×3. Formats: PLY, PCD, LAS, LAZ, E57, NPY, OBJ, KITTI ``.bin`` and text.

    >>> import pcr99
    >>> pcr99.read_points("missing.ply")
    Traceback (most recent call last):
        ...
    pcr99.FileNotFound: cannot read `missing.ply`: No such file or directory (os error 2)
    """
    return _core.read_points(_path("path", path))


def read_cloud(path: PathLike) -> Cloud:
    """Reads a cloud with its normals, colours, intensities and viewpoint, as far as the file has them."""
    return Cloud(**_core.read_cloud(_path("path", path)))


def write_points(path: PathLike, points: npt.ArrayLike) -> None:
    """Writes points. The extension selects the format: ``.ply``, ``.pcd``, ``.las``, ``.laz``, ``.e57``, ``.xyz``, ``.txt``,
    ``.asc``, ``.csv`` or ``.npy``.

    >>> import os, tempfile
    >>> import numpy as np, pcr99
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "three.ply")
    ...     pcr99.write_points(path, np.eye(3))
    ...     pcr99.read_points(path)
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    write_cloud(path, Cloud(as_rows("points", points)))


def write_cloud(path: PathLike, cloud: CloudLike) -> None:
    """Writes a cloud with its attributes.

    The file appears complete or not at all. A warning names the attributes that the format cannot store.
    """
    file = _path("path", path)
    made = as_full_cloud("cloud", cloud)
    dropped, lost = _core.write_cloud(file, made.points, made.normals, made.colors, made.intensities, _known(made.viewpoint))
    if dropped:
        warnings.warn(f"`{file}`: removed {dropped} non-finite points", stacklevel=2)
    if lost:
        warnings.warn(f"`{file}`: the format cannot store {', '.join(lost)}", stacklevel=2)


def as_full_cloud(name: str, cloud: CloudLike) -> Cloud:
    """Converts any kind of cloud but a ``PreparedCloud`` to a ``Cloud`` with all attributes."""
    made = cloud if isinstance(cloud, Cloud) else as_cloud(name, cloud)
    points = as_rows(f"{name}.points", made.points)
    colors = _colors(name, made.colors if isinstance(cloud, Cloud) else getattr(cloud, "colors", None), len(points))
    intensities = None if made.intensities is None else as_list(f"{name}.intensities", made.intensities, len(points), "points")
    return Cloud(points, _attribute(name, "normals", made.normals, points), colors, intensities, made.viewpoint)


def _colors(name: str, value: Any, points: int) -> Optional[npt.NDArray[np.uint8]]:
    if value is None or len(value) == 0:
        return None
    colors = as_array(f"{name}.colors", value)
    if colors.shape != (points, 3):
        raise InvalidInput(f"`{name}.colors` is {'×'.join(map(str, colors.shape))} for {points} points, expected {points}×3")
    if colors.dtype.kind == "f":
        # Open3D's colours are fractions from 0 to 1.
        if not bool(((colors >= 0.0) & (colors <= 1.0)).all()):
            raise InvalidInput(f"`{name}.colors` must be fractions from 0 to 1, or integers from 0 to 255, for example with .astype(np.uint8)")
        return contiguous(np.rint(colors * 255.0), np.uint8)
    if bool(((colors < 0) | (colors > 255)).any()):
        raise InvalidInput(f"`{name}.colors` must be integers from 0 to 255")
    return contiguous(colors, np.uint8)


class Matches(NamedTuple):
    """Matches from a file: row i of the source matches row i of the target."""

    #: Source points, N×3.
    source: Floats
    #: Target points, N×3.
    target: Floats
    #: One confidence for each match, if the file has them.
    weights: Optional[Floats] = None
    #: Standard deviation of the noise of each match, if the file has them.
    standard_deviations: Optional[Floats] = None


def read_matches(path: PathLike) -> Matches:
    """Reads matches from text with six columns, ``.npy`` (N×6 or N×7) or ``.npz`` (arrays ``src`` and ``dst``).

    A seventh column holds the weights. A column ``sigma``, or an array of that name, holds the standard deviations.

    >>> import os, tempfile
    >>> import pcr99
    >>> problem = pcr99.simulate(outliers=0.9)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = os.path.join(directory, "matches.csv")
    ...     pcr99.write_matches(path, problem.source, problem.target)
    ...     matches = pcr99.read_matches(path)
    >>> pcr99.solve(matches.source, matches.target, weights=matches.weights).status
    'registered'
    """
    return Matches(*_core.read_matches(_path("path", path)))


def write_matches(
    path: PathLike,
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    weights: Optional[npt.ArrayLike] = None,
    standard_deviations: Optional[npt.ArrayLike] = None,
) -> None:
    """Writes matches as text that ``pcr99 solve`` reads."""
    a, b = as_rows("source", source), as_rows("target", target)
    if len(a) != len(b):
        raise InvalidInput(f"{len(a)} source points but {len(b)} target points: row i of one must match row i of the other")
    confidence = None if weights is None else as_list("weights", weights, len(a))
    deviations = None
    if standard_deviations is not None:
        deviations = as_list("standard_deviations", standard_deviations, len(a))
    _core.write_matches(_path("path", path), a, b, confidence, deviations)


for _class in (Cloud, PreparedCloud, Matches):
    _class.__module__ = "pcr99"
del _class
