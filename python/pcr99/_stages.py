"""The stages of ``register``, one function each."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Protocol, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, Indices, as_array, as_finite_rows, as_number, as_optional_whole, as_place, as_rows, contiguous
from ._clouds import CloudLike, as_cloud
from ._errors import InvalidInput

Descriptors = npt.NDArray[np.float32]


class Cleaned(NamedTuple):
    """Finite points without duplicates."""

    #: The points that are kept, in their original order.
    points: Floats
    #: For each of them, its row in the original cloud.
    indices: Indices
    #: Number of removed points that were NaN or infinite.
    not_finite: int
    #: Number of removed points that were equal to an earlier one.
    duplicates: int


class Features(NamedTuple):
    """Descriptors of a cloud."""

    #: Rows of the points that have a descriptor, ascending. They have a normal and neighbours with normals.
    indices: Indices
    #: FPFH from oriented normals, one row of 33 numbers for each of `indices`.
    descriptors: Descriptors
    #: FPFH that does not depend on the signs of the normals, in the same layout.
    unsigned: Descriptors


class HasDescriptors(Protocol):
    """Object with ``data``, one column for each point, as Open3D's ``Feature`` is."""

    @property
    def data(self) -> Any:
        """Descriptors, 33×N."""


def clean(points: CloudLike) -> Cleaned:
    """Removes non-finite and duplicate points.

    >>> import pcr99
    >>> pcr99.clean([[1, 2, 3], [float("nan"), 0, 0], [1, 2, 3], [4, 5, 6]]).indices
    array([0, 3])
    """
    return Cleaned(*_core.clean(as_cloud("points", points).points))


def voxel_down_sample(points: CloudLike, voxel: float, *, threads: Optional[int] = None) -> Floats:
    """Samples a cloud: returns the centroid of the points in each cubic voxel with edge ``voxel``.

    >>> import numpy as np, pcr99
    >>> pcr99.voxel_down_sample(np.random.default_rng(0).random((1000, 3)), 2.0).shape[0] <= 8
    True
    """
    rows = as_finite_rows("points", as_cloud("points", points).points)
    return _core.voxel_down_sample(rows, as_number("voxel", voxel), as_optional_whole("threads", threads))


def estimate_normals(
    points: CloudLike, radius: float, *, viewpoint: Optional[npt.ArrayLike] = None, threads: Optional[int] = None
) -> Floats:
    """Estimates unit normals from the neighbours within ``radius``; a normal is zero where the neighbours determine no plane.

    Normals point towards ``viewpoint``. Without it, they are oriented consistently between neighbours.

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
    """Computes fast point feature histograms: 33 numbers for the shape within ``radius`` of a point, independent of the pose.

    For a cloud sampled with ``voxel_down_sample``, use a radius of five voxels, and two voxels for its normals.

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
    """Matches FPFH descriptors by nearest neighbours; returns pairs of rows, K×2, ascending.

    For ``Features`` the pairs are rows of the clouds, otherwise rows of the arrays. With ``mutual``, only pairs that are each
    other's nearest neighbour are returned.

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
        # Open3D's ``Feature`` has one column for each point.
        array = as_array(f"{name}.data", value.data).T
    else:
        array = as_array(name, value)
    if array.ndim == 2 and array.shape[0] == 33 and array.shape[1] != 33:
        raise InvalidInput(f"`{name}` is 33×{array.shape[1]}, Open3D's layout, expected N×33: pass {name}.T")
    rows = as_rows(name, array, 33)
    # Each of the three histograms sums to 200; 201 allows for rounding.
    if not bool(((rows >= 0.0) & (rows <= 201.0)).all()):
        raise InvalidInput(f"`{name}` is not FPFH: its numbers must be from 0 to 200")
    return contiguous(rows, np.float32)


for _class in (Cleaned, Features):
    _class.__module__ = "pcr99"
del _class
