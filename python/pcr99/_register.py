"""Registration of two clouds: ``register``, ``refine``, ``verify`` and ``suggest_voxel``."""

from __future__ import annotations

from time import perf_counter
from typing import Any, Optional, Union

import numpy.typing as npt

from . import _core
from ._arrays import (
    Floats,
    ScaleLike,
    as_name,
    as_number,
    as_optional_number,
    as_optional_whole,
    as_scale,
    as_seed,
    as_transform,
    as_vertical,
)
from ._clouds import CloudLike, loaded, prepared, seen_from
from ._errors import InvalidType
from ._origin import file_name, origin
from ._parts import Fit
from ._registration import CloudRegistration


def register(
    source: CloudLike,
    target: CloudLike,
    *,
    voxel: Optional[float] = None,
    scale: ScaleLike = 1.0,
    refine: Optional[str] = "point-to-plane",
    initial: Optional[npt.ArrayLike] = None,
    vertical: Union[str, npt.ArrayLike, None] = None,
    tilt: Optional[float] = None,
    source_viewpoint: Optional[npt.ArrayLike] = None,
    target_viewpoint: Optional[npt.ArrayLike] = None,
    candidates: Optional[int] = None,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    seed: int = 0,
) -> CloudRegistration:
    """Finds the transform ``b = s·R·a + t`` that aligns one cloud with another, without given matches.

    Parameters
    ----------
    source, target
        Paths, N×3 arrays, ``Cloud``, ``PreparedCloud`` or clouds of Open3D. Non-finite and duplicate points are removed and counted.
    voxel
        Edge of the voxels with which the clouds are sampled, in target units; by default it is chosen from the data.
    scale
        A number if the scale is known (default 1), ``None`` if it is unknown, ``(minimum, maximum)`` if it is bounded.
    refine
        Refinement of the pose: ``"point-to-plane"``, ``"point-to-point"``, ``"plane-to-plane"`` (GICP), or ``None`` (or ``"none"``) for no
        refinement.
    initial
        A 4×4 matrix ``[sR t; 0 1]``: refine and judge this pose. A search still runs, and a better pose that it finds counts against
        it. Its scale must agree with ``scale``.
    vertical
        Direction that is up in the source and in the target, for example ``((0, 0, 1), (0, 0, 1))``, or one direction for both. The pose
        then only turns about it and moves, which scenes that repeat themselves or overlap little support more clearly.
    tilt
        Largest angle between the vertical of the target and that of the moved source, in degrees (default 0).
    source_viewpoint, target_viewpoint
        Position of the sensor in the coordinates of its cloud. It orients the normals and tells which space the sensor saw to be free; by
        default it is that of the cloud or its file, if it has one. A ``PreparedCloud`` has its own.
    candidates
        Maximum number of candidates that are compared with the clouds (default 8).
    threads
        Maximum number of threads; by default the number of cores. The result does not depend on it.
    time_limit
        Time in seconds for the whole call, reading and preparing included, after which it returns the best pose so far; by default there
        is no limit.
    seed
        Seed of the random numbers.

    Returns
    -------
    CloudRegistration
        The best pose that was found. It is true only if its status is ``"registered"``.

    Examples
    --------
    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> turned = np.stack([7.0 - hills[:, 1], hills[:, 0], hills[:, 2] - 2.0], axis=1)
    >>> r = pcr99.register(turned, hills)
    >>> r.status, r.doubt
    ('registered', None)
    >>> bool(np.abs(r.apply(turned) - hills).max() < 0.05)
    True
    """
    given = locals()
    document, matches = _registered(given, is_local=False)
    return CloudRegistration(document, origin(register, given, matches))


def _registered(given: dict[str, Any], is_local: bool) -> tuple[_core.Document, Optional[Floats]]:
    """Registers with the arguments of ``register``; ``is_local`` only refines. Also returns the matches."""
    source, target, threads, initial = given["source"], given["target"], given["threads"], given["initial"]
    options = {
        "voxel": as_optional_number("voxel", given["voxel"]),
        "scale": as_scale(given["scale"]),
        "refine": as_name("refine", given["refine"], none="none"),
        "vertical": None if given["vertical"] is None else as_vertical("vertical", given["vertical"]),
        "tilt": as_optional_number("tilt", given["tilt"]),
        "candidates": as_optional_whole("candidates", given["candidates"]),
        "threads": as_optional_whole("threads", threads),
        "time_limit": as_optional_number("time_limit", given["time_limit"]),
        "seed": as_seed(given["seed"]),
        "is_local": is_local,
    }
    start = None if initial is None else as_transform("initial", initial)
    # Wrong options are found before the clouds are read.
    plan = _core.RegisterPlan(start, options)
    # The time limit holds for reading and preparing, too.
    deadline = plan.deadline()
    begin = perf_counter()
    read = [
        seen_from(name, loaded(name, cloud), given.get(f"{name}_viewpoint")) for name, cloud in (("source", source), ("target", target))
    ]
    reading = perf_counter() - begin
    clouds = prepared("source", read[0], threads), prepared("target", read[1], threads)
    preparing = perf_counter() - begin - reading
    files = file_name(source), file_name(target)
    if files == (None, None):
        reading, preparing = 0.0, reading + preparing
    return plan.run(*clouds, *files, reading, preparing, deadline)


def refine(
    source: CloudLike,
    target: CloudLike,
    initial: npt.ArrayLike,
    *,
    method: str = "point-to-plane",
    voxel: Optional[float] = None,
    scale: ScaleLike = 1.0,
    vertical: Union[str, npt.ArrayLike, None] = None,
    tilt: Optional[float] = None,
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
) -> CloudRegistration:
    """Refines a given pose, a 4×4 matrix, without a search: local registration.

    The pose must be right to about three voxels. The result is ``"registered"`` when the refinement converged, the clouds overlap and
    fit, and no motion is free. Whether another pose fits better is not asked; ``register`` with ``initial`` asks. The other arguments are
    as in ``register``. A ``PreparedCloud`` as target is prepared once for many scans.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> r = pcr99.refine(hills + [0.04, -0.03, 0.05], hills, np.eye(4))
    >>> np.round(r.translation, 2) + 0.0
    array([-0.04,  0.03, -0.05])
    """
    given = locals()
    if initial is None:
        raise InvalidType("initial: expected a 4×4 matrix, got None; `register` searches without one")
    document, matches = _registered({**given, "refine": method, "candidates": None, "seed": 0}, is_local=True)
    return CloudRegistration(document, origin(refine, given, matches))


def verify(
    source: CloudLike,
    target: CloudLike,
    transform: npt.ArrayLike,
    *,
    voxel: Optional[float] = None,
    threads: Optional[int] = None,
) -> Fit:
    """Measures how well two clouds fit under a given transform, a 4×4 matrix ``[sR t; 0 1]``.

    ``voxel`` is the edge of the voxels in target units; by default it is chosen from the data.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> pcr99.verify(hills[:1800], hills, np.eye(4)).overlap_source
    1.0
    """
    matrix, edge = as_transform("transform", transform), as_optional_number("voxel", voxel)
    count = as_optional_whole("threads", threads, 1)
    clouds = prepared("source", source, threads), prepared("target", target, threads)
    return Fit(*_core.verify(*clouds, matrix, edge, count))


def suggest_voxel(source: CloudLike, target: Optional[CloudLike] = None, *, scale: float = 1.0) -> float:
    """Returns the voxel edge that ``register`` uses by default for a pair of clouds, or for one cloud, in target units.

    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(60) * 0.1, np.arange(60) * 0.1))
    >>> 0.1 < pcr99.suggest_voxel(np.stack([x, y, np.sin(x)], axis=1)) < 0.2
    True
    """
    one = prepared("source", source)
    other = one if target is None else prepared("target", target)
    return _core.suggest_voxel(one, other, as_number("scale", scale))
