"""Two raw clouds → transform."""

from __future__ import annotations

from typing import NamedTuple, Optional

import numpy.typing as npt

from . import _core
from ._arrays import (
    ScaleLike,
    as_number,
    as_optional_whole,
    as_positive,
    as_scale,
    as_seed,
    as_transform,
)
from ._clouds import CloudLike, prepared
from ._errors import InvalidType
from ._origin import Origin, call_text, kept
from ._registration import CloudRegistration


def register(
    source: CloudLike,
    target: CloudLike,
    *,
    voxel: Optional[float] = None,
    scale: ScaleLike = 1.0,
    refine: Optional[str] = "point-to-plane",
    initial: Optional[npt.ArrayLike] = None,
    candidates: Optional[int] = None,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    seed: int = 0,
) -> CloudRegistration:
    """Finds the transform that puts one raw cloud onto another, without matches.

    Parameters
    ----------
    source, target
        Paths, N×3 arrays, clouds of ours (``Cloud``, ``PreparedCloud``) or of Open3D. Points that are NaN are left out and counted.
    voxel
        The edge of the voxels that the clouds are sampled with, in target units; from the data by default.
    scale
        1 by default; ``None`` when it is unknown, ``(least, greatest)`` when it is known to be between.
    refine
        ``"point-to-plane"``, ``"point-to-point"`` or ``None``.
    initial
        A 4×4 matrix to start from instead of searching.
    candidates
        How many poses are held against the clouds at most.
    threads, time_limit, seed
        As in ``solve``.

    Examples
    --------
    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> turned = np.stack([7.0 - hills[:, 1], hills[:, 0], hills[:, 2] - 2.0], axis=1)
    >>> r = pcr99.register(turned, hills)
    >>> r
    <CloudRegistration registered: matches, overlap and normals agree, and no other pose fits nearly as well>
    >>> bool(np.abs(r.apply(turned) - hills).max() < 0.05)
    True
    """
    call = call_text(register, locals())
    if refine is not None and not isinstance(refine, str):
        raise InvalidType(f"refine must be a name or None, not {type(refine).__name__}")
    options = {
        "voxel": as_positive("voxel", voxel),
        "scale": as_scale(scale),
        "refine": refine,
        "candidates": as_optional_whole("candidates", candidates),
        "threads": as_optional_whole("threads", threads),
        "time_limit": as_positive("time_limit", time_limit),
        "seed": as_seed(seed),
    }
    start = None if initial is None else as_transform("initial", initial)
    clouds = prepared("source", source, threads), prepared("target", target, threads)
    outcome, matches = _core.register(*clouds, start, options)
    return CloudRegistration._of(outcome, Origin(kept(source), kept(target), None, matches, call))


def refine(
    source: CloudLike,
    target: CloudLike,
    initial: npt.ArrayLike,
    *,
    method: str = "point-to-plane",
    voxel: Optional[float] = None,
    scale: ScaleLike = 1.0,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
) -> CloudRegistration:
    """Refines a pose by iterated closest points, and judges it: ``register`` with ``initial``.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> r = pcr99.refine(hills + [0.04, -0.03, 0.05], hills, np.eye(4))
    >>> np.round(r.translation, 3) + 0.0
    array([-0.04,  0.03, -0.05])
    """
    return register(
        source,
        target,
        initial=initial,
        refine=method,
        voxel=voxel,
        scale=scale,
        threads=threads,
        time_limit=time_limit,
    )


class Assessment(NamedTuple):
    """What two clouds say of a pose."""

    #: Share of the source that has target near it.
    overlap_source: float
    #: Share of the target that has source near it.
    overlap_target: float
    #: Share of the overlapping points whose normals agree.
    normal_agreement: float
    #: Mean distance of overlapping points from the tangent plane of the other, in voxels.
    residual_voxels: float
    #: Share of the points that are just above or below a surface which the other cloud saw all round there; large planes count less.
    contradiction: float
    #: Share of all points that fit and are neither on a large plane nor at its edge.
    distinct: float


def verify(
    source: CloudLike,
    target: CloudLike,
    transform: npt.ArrayLike,
    *,
    voxel: Optional[float] = None,
    threads: Optional[int] = None,
) -> Assessment:
    """Holds a pose against the clouds: how much overlaps, and how well. ``voxel`` is in target units; from the data by default.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> pcr99.verify(hills[:1800], hills, np.eye(4)).overlap_source
    1.0
    """
    matrix = as_transform("transform", transform)
    given = as_positive("voxel", voxel)
    clouds = prepared("source", source, threads), prepared("target", target, threads)
    scale = float(abs(matrix[0, :3] @ matrix[0, :3]) ** 0.5)
    edge = _core.suggest_voxel(*clouds, scale) if given is None else given
    return Assessment(*_core.verify(*clouds, matrix, edge, as_optional_whole("threads", threads)))


def suggest_voxel(source: CloudLike, target: Optional[CloudLike] = None, *, scale: float = 1.0) -> float:
    """The edge of a voxel that suits a cloud, or a pair of clouds, in target units: what ``register`` takes by default.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> 0.1 < pcr99.suggest_voxel(np.stack([x, y, np.sin(x)], axis=1)) < 0.2
    True
    """
    one = prepared("source", source)
    other = one if target is None else prepared("target", target)
    return _core.suggest_voxel(one, other, as_number("scale", scale))


Assessment.__module__ = "pcr99"
