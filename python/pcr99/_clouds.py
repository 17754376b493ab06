"""Clouds: arrays, files, Open3D's, and ours made ready."""

from __future__ import annotations

import dataclasses
import os
import warnings
from typing import Any, NamedTuple, Optional, Protocol, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, as_array, as_list, as_optional_whole, as_place, as_rows, frozen
from ._errors import InvalidInput, InvalidType

PathLike = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True, eq=False)
class Cloud:
    """Points, and what is known of each: what ``read_cloud`` returns and ``write_cloud`` takes."""

    #: Positions, N×3; may be NaN where a scan saw nothing.
    points: Floats
    #: Normals, N×3.
    normals: Optional[Floats] = None
    #: Red, green and blue, N×3, from 0 to 255.
    colors: Optional[npt.NDArray[np.uint8]] = None
    #: Strength of the return, N.
    intensities: Optional[Floats] = None
    #: Where the sensor was.
    viewpoint: Optional[Floats] = None

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        parts = ("normals", "colors", "intensities", "viewpoint")
        there = [name for name in parts if getattr(self, name) is not None]
        return f"<Cloud: {len(self)} points{' with ' if there else ''}{', '.join(there)}>"


class HasPoints(Protocol):
    """As Open3D's clouds: ``points``, and if they like ``normals`` and ``colors``."""

    @property
    def points(self) -> Any:
        """N×3, or what NumPy takes for it."""


class HasTensors(Protocol):
    """As Open3D's tensor clouds: ``point["positions"]``."""

    @property
    def point(self) -> Any:
        """A mapping of names to tensors."""


class PreparedCloud:
    """A cloud made ready to be registered many times: cleaned, measured, and with its descriptors kept.

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
        """Takes points, and oriented normals and the place of the sensor where they are known."""
        made = as_cloud("cloud", cloud)
        given = made.normals if normals is None else as_rows("normals", normals)
        if given is not None and len(given) != len(made.points):
            raise InvalidInput(f"{len(given)} normals for {len(made.points)} points: give one for each point, or none")
        place = _known(made.viewpoint) if viewpoint is None else as_place("viewpoint", viewpoint)
        self._prepared = _core.PreparedCloud(made.points, given, place, as_optional_whole("threads", threads))

    @property
    def given(self) -> int:
        """Points as they were given."""
        return self._prepared.given

    @property
    def not_finite(self) -> int:
        """Points left out: NaN or infinite."""
        return self._prepared.not_finite

    @property
    def duplicates(self) -> int:
        """Points left out: equal to an earlier one."""
        return self._prepared.duplicates

    @property
    def center(self) -> Floats:
        """The middle of the cloud."""
        return frozen(self._prepared.center)

    def __len__(self) -> int:
        return self.given - self.not_finite - self.duplicates

    def __repr__(self) -> str:
        return f"<PreparedCloud: {len(self)} points>"

    def __reduce__(self) -> str:
        raise InvalidType("a PreparedCloud cannot be pickled: pickle its points, and prepare them again")


#: A path, an N×3 array, a cloud of ours or of Open3D, or any object with ``points``.
CloudLike = Union[PathLike, npt.ArrayLike, Cloud, PreparedCloud, HasPoints, HasTensors]


def prepared(name: str, cloud: CloudLike, threads: Optional[int] = None) -> _core.PreparedCloud:
    """Whatever stands for a cloud, made ready."""
    if isinstance(cloud, PreparedCloud):
        return cloud._prepared
    made = as_cloud(name, cloud)
    if len(made.points) == 0:
        raise InvalidInput(f"{name} is empty: at least 3 points are needed")
    try:
        return _core.PreparedCloud(
            made.points, made.normals, _known(made.viewpoint), as_optional_whole("threads", threads)
        )
    except InvalidInput as error:
        raise InvalidInput(f"{name}: {error}") from None


def as_cloud(name: str, value: Any) -> Cloud:
    """Whatever stands for a cloud, as one of ours."""
    if isinstance(value, PreparedCloud):
        raise InvalidType(f"{name} is a PreparedCloud, which only register, refine, verify and suggest_voxel take")
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
    """Only the points of it, of an array mostly."""
    if isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidType(f"{name} is a path: read it first, with pcr99.read_points or pcr99.read_matches")
    return as_cloud(name, value).points


def _known(place: Any) -> Optional[tuple[float, float, float]]:
    # Files may have NaN where nothing is known.
    finite = place is not None and bool(np.isfinite(as_array("viewpoint", place)).all())
    return as_place("viewpoint", place) if finite else None


def _tensor(tensors: Any, key: str) -> Any:
    try:
        return tensors[key]
    except (KeyError, IndexError, RuntimeError):
        return None


def _attribute(name: str, kind: str, value: Any, points: Floats) -> Optional[Floats]:
    # Open3D has an empty list where nothing is known.
    if value is None or len(value) == 0:
        return None
    rows = as_rows(f"{name}.{kind}", value)
    if len(rows) != len(points):
        raise InvalidInput(f"{name} has {len(rows)} {kind} for {len(points)} points: give one for each point, or none")
    return rows


def _path(name: str, path: PathLike) -> str:
    try:
        text = os.fsdecode(os.fspath(path))
    except TypeError:
        raise InvalidType(f"{name} must be a path, not {type(path).__name__}") from None
    if "\0" in text:
        raise InvalidInput(f"{name} has a null character in it, which no file has")
    return text


def read_points(path: PathLike) -> Floats:
    """The points of a cloud in a file, N×3: PLY, PCD, LAS, LAZ, E57, NPY, OBJ, KITTI ``.bin``, or text.

    >>> import pcr99
    >>> pcr99.read_points("missing.ply")
    Traceback (most recent call last):
        ...
    pcr99.FileNotFound: cannot read `missing.ply`: No such file or directory (os error 2)
    """
    return _core.read_points(_path("path", path))


def read_cloud(path: PathLike) -> Cloud:
    """A cloud in a file, with the normals, colours, intensities and viewpoint that it has."""
    return Cloud(**_core.read_cloud(_path("path", path)))


def write_points(path: PathLike, points: npt.ArrayLike) -> None:
    """Writes points; the extension says how: ``.ply``, ``.pcd``, ``.xyz``, ``.txt``, ``.asc``, ``.csv`` or ``.npy``.

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
    """Writes a cloud with all that is known of it; the file appears whole or not at all. What the format has no place for is lost, with a
    warning."""
    file = _path("path", path)
    made = cloud if isinstance(cloud, Cloud) else as_cloud("cloud", cloud)
    points = as_rows("cloud.points", made.points)
    colors = _colors(made.colors if isinstance(cloud, Cloud) else getattr(cloud, "colors", None), len(points))
    intensities = None if made.intensities is None else as_list("cloud.intensities", made.intensities, len(points), "point")
    normals = _attribute("cloud", "normals", made.normals, points)
    dropped, lost = _core.write_cloud(file, points, normals, colors, intensities, _known(made.viewpoint))
    if dropped:
        warnings.warn(f"{file}: {dropped} points that are not finite were left out", stacklevel=2)
    if lost:
        warnings.warn(f"{file}: the format has no place for {', '.join(lost)}", stacklevel=2)


def _colors(value: Any, points: int) -> Optional[npt.NDArray[np.uint8]]:
    if value is None or len(value) == 0:
        return None
    colors = as_array("cloud.colors", value)
    if colors.shape != (points, 3):
        raise InvalidInput(f"cloud.colors is {'×'.join(map(str, colors.shape))} for {points} points: {points}×3 is needed")
    if colors.dtype.kind == "f":
        # Open3D's, from 0 to 1.
        if not bool(((colors >= 0.0) & (colors <= 1.0)).all()):
            raise InvalidInput("cloud.colors: fractions are from 0 to 1; colours from 0 to 255 are whole numbers, .astype(np.uint8)")
        return np.ascontiguousarray(np.rint(colors * 255.0), dtype=np.uint8)
    if bool(((colors < 0) | (colors > 255)).any()):
        raise InvalidInput("cloud.colors: whole numbers are from 0 to 255")
    return np.ascontiguousarray(colors, dtype=np.uint8)


class Matches(NamedTuple):
    """Matches in a file: row i of the source belongs to row i of the target."""

    source: Floats
    target: Floats
    weights: Optional[Floats] = None


def read_matches(path: PathLike) -> Matches:
    """Matches in a file: text with six columns (a seventh is a weight), ``.npy`` (N×6, N×7) or ``.npz`` (``src``, ``dst``).

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
    path: PathLike, source: npt.ArrayLike, target: npt.ArrayLike, weights: Optional[npt.ArrayLike] = None
) -> None:
    """Writes matches as text, as ``pcr99 solve`` reads it."""
    a, b = as_rows("source", source), as_rows("target", target)
    if len(a) != len(b):
        raise InvalidInput(f"{len(a)} source points but {len(b)} target points: row i of one must match row i of the other")
    confidence = None if weights is None else as_list("weights", weights, len(a))
    _core.write_matches(_path("path", path), a, b, confidence)


for _class in (Cloud, PreparedCloud, Matches):
    _class.__module__ = "pcr99"
del _class
