"""The stages of the way from two raw clouds to a pose, one by one."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Protocol, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, Indices, as_array, as_finite_rows, as_number, as_optional_whole, as_place, as_rows
from ._clouds import CloudLike, as_cloud
from ._errors import InvalidInput

Descriptors = npt.NDArray[np.float32]


class Cleaned(NamedTuple):
    """Points that can be worked with."""

    #: Finite points, no two equal, in their order.
    points: Floats
    #: For each of them its row in the cloud as given.
    indices: Indices
    #: How many were left out as NaN or infinite.
    not_finite: int
    #: How many were left out as equal to an earlier one.
    duplicates: int


class Features(NamedTuple):
    """Descriptors of a cloud."""

    #: The rows that have one: those with a normal and neighbours with normals. Ascending.
    indices: Indices
    #: FPFH of the normals as they are oriented, 33 columns.
    descriptors: Descriptors
    #: FPFH that does not depend on the sign of any normal.
    unsigned: Descriptors


class HasDescriptors(Protocol):
    """As Open3D's ``Feature``: a column for each point."""

    @property
    def data(self) -> Any:
        """33×N."""


def clean(points: CloudLike) -> Cleaned:
    """Leaves out what is not finite or there twice.

    >>> import pcr99
    >>> pcr99.clean([[1, 2, 3], [float("nan"), 0, 0], [1, 2, 3], [4, 5, 6]]).indices
    array([0, 3])
    """
    return Cleaned(*_core.clean(as_cloud("points", points).points))


def voxel_down_sample(points: CloudLike, voxel: float, *, threads: Optional[int] = None) -> Floats:
    """The centroid of the points in each cubic voxel.

    >>> import numpy as np, pcr99
    >>> pcr99.voxel_down_sample(np.random.default_rng(0).random((1000, 3)), 2.0).shape[0] <= 8
    True
    """
    rows = as_finite_rows("points", as_cloud("points", points).points)
    return _core.voxel_down_sample(rows, as_number("voxel", voxel), as_optional_whole("threads", threads))


def estimate_normals(
    points: CloudLike, radius: float, *, viewpoint: Optional[npt.ArrayLike] = None, threads: Optional[int] = None
) -> Floats:
    """Unit normals from the neighbours within ``radius``; zero where these fix no plane. They point towards ``viewpoint``, or where it is
    not known so that neighbours agree.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(9.0), np.arange(9.0)))
    >>> plane = np.stack([x, y, 0 * x], axis=1)
    >>> np.unique(pcr99.estimate_normals(plane, 2.0, viewpoint=[4, 4, 10]), axis=0) + 0.0
    array([[0., 0., 1.]])
    """
    rows = as_finite_rows("points", as_cloud("points", points).points)
    place = as_place("viewpoint", viewpoint)
    return _core.estimate_normals(rows, as_number("radius", radius), place, as_optional_whole("threads", threads))


def fpfh(points: CloudLike, normals: npt.ArrayLike, radius: float, *, threads: Optional[int] = None) -> Features:
    """Fast point feature histograms: 33 numbers that describe the shape within ``radius`` of a point, whatever the pose.

    ``radius`` is best about five voxels of a sampled cloud; that of its normals two.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(20.0), np.arange(20.0)))
    >>> surface = np.stack([x, y, np.sin(0.4 * x) * np.cos(0.3 * y)], axis=1)
    >>> features = pcr99.fpfh(surface, pcr99.estimate_normals(surface, 2.0), 5.0)
    >>> features.descriptors.shape
    (400, 33)
    """
    rows = as_finite_rows("points", as_cloud("points", points).points)
    directions = as_finite_rows("normals", normals)
    found = _core.fpfh(rows, directions, as_number("radius", radius), as_optional_whole("threads", threads))
    return Features(*found)


def match_features(
    source: Union[Features, HasDescriptors, npt.ArrayLike],
    target: Union[Features, HasDescriptors, npt.ArrayLike],
    *,
    mutual: bool = True,
    threads: Optional[int] = None,
) -> Indices:
    """Pairs of nearest FPFH descriptors, K×2, ascending: rows of the clouds for ``Features`` (ours or Open3D's), rows of the arrays
    otherwise. With ``mutual`` only those that are each other's nearest.

    >>> import numpy as np, pcr99
    >>> features = np.random.default_rng(0).random((5, 33)).astype(np.float32) * 100
    >>> pcr99.match_features(features, features[::-1]).tolist()
    [[0, 4], [1, 3], [2, 2], [3, 1], [4, 0]]
    """
    one, other = _descriptors("source", source), _descriptors("target", target)
    pairs = _core.match_features(one, other, bool(mutual), as_optional_whole("threads", threads))
    if isinstance(source, Features):
        pairs[:, 0] = source.indices[pairs[:, 0]]
    if isinstance(target, Features):
        pairs[:, 1] = target.indices[pairs[:, 1]]
    return pairs


def _descriptors(name: str, value: Any) -> Descriptors:
    if isinstance(value, Features):
        array = as_array(name, value.descriptors)
    elif hasattr(value, "dimension") and hasattr(value, "data"):
        # Open3D's ``Feature`` has a column for each point.
        array = as_array(f"{name}.data", value.data).T
    else:
        array = as_array(name, value)
    if array.ndim == 2 and array.shape[0] == 33 and array.shape[1] != 33:
        raise InvalidInput(f"{name} is 33×{array.shape[1]}, as Open3D has it: N×33 is needed; give {name}.T")
    rows = as_rows(name, array, 33)
    # 200 is the sum of a part of a histogram; a little more for rounding.
    if not bool(((rows >= 0.0) & (rows <= 201.0)).all()):
        raise InvalidInput(f"{name} is not FPFH: all its numbers are from 0 to 200")
    return np.ascontiguousarray(rows, dtype=np.float32)


for _class in (Cleaned, Features):
    _class.__module__ = "pcr99"
del _class
