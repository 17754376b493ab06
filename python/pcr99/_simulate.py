"""Simulated problems with known truth."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, Indices, as_name, as_number, as_rows, as_seed, as_whole, frozen
from ._errors import InvalidInput


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Matches with known truth."""

    #: Source points, N×3, in the cube from −½ to ½.
    source: Floats
    #: Target points, N×3; row i matches row i of the source.
    target: Floats
    #: The true 4×4 matrix ``[sR t; 0 1]``.
    transform: Floats
    #: Indices of the correct matches, from 0, ascending.
    inliers: Indices
    #: The document that ``pcr99 simulate --truth`` writes.
    truth: dict[str, Any]

    @property
    def scale(self) -> float:
        """The true scale."""
        return float(self.truth["scale"])

    @property
    def inlier_mask(self) -> npt.NDArray[np.bool_]:
        """Boolean array, N: true for correct matches."""
        mask = np.zeros(len(self.source), dtype=np.bool_)
        mask[self.inliers] = True
        return frozen(mask)

    def __repr__(self) -> str:
        return f"<Problem: {len(self.source)} matches, {len(self.inliers)} correct, scale {self.scale:g}>"


def simulate(
    *,
    points: int = 1000,
    outliers: float = 0.99,
    outlier_center: str = "centred",
    noise: float = 0.01,
    scale: Union[float, str] = 1.0,
    shape: Union[str, os.PathLike[str], npt.ArrayLike, None] = None,
    seed: int = 0,
) -> Problem:
    """Generates matches with known truth, as in the paper's evaluation. The program generates the same for the same options.

    Parameters
    ----------
    points
        Number of matches.
    outliers
        Fraction of wrong matches, from 0 to 1.
    outlier_center
        ``"centred"`` or ``"offset"``: position of the sphere from which wrong target points are drawn.
    noise
        Standard deviation of each target coordinate of a correct match.
    scale
        The true scale, or ``"random"`` (uniform from 1 to 5).
    shape
        One of ``pcr99.shapes()``, the path of a cloud, or points to draw from.
    seed
        Seed of the random numbers.

    Examples
    --------
    >>> import pcr99
    >>> pcr99.simulate(points=200, outliers=0.95, shape="knot", seed=7)
    <Problem: 200 matches, 10 correct, scale 1>
    """
    if isinstance(scale, str):
        if scale != "random":
            raise InvalidInput(f'`scale` must be a positive number or "random", got {scale!r}')
        true_scale = None
    else:
        true_scale = as_number("scale", scale)
    name, cloud = _shape(shape)
    source, target, document = _core.simulate(
        as_whole("points", points),
        as_number("outliers", outliers),
        as_name("outlier_center", outlier_center),
        as_number("noise", noise),
        true_scale,
        name,
        cloud,
        as_seed(seed),
    )
    truth = json.loads(document)
    transform = np.array(truth["transform"], dtype=np.float64)
    inliers = np.array(truth["inliers"], dtype=np.int64)
    # The points stay writable: they are the caller's, and many libraries refuse read-only arrays.
    return Problem(source, target, frozen(transform), frozen(inliers), truth)


def _shape(shape: Any) -> tuple[Optional[str], Optional[Floats]]:
    """Returns the name of a shape, and its points if they are not built in."""
    if shape is None:
        return None, None
    if not isinstance(shape, (str, os.PathLike)):
        return None, as_rows("shape", shape)
    name = os.fsdecode(os.fspath(shape))
    is_file = name not in _core.shapes() and os.path.exists(name)
    return name, _core.read_points(name) if is_file else None


def shapes() -> list[str]:
    """Returns the names of the built-in shapes of ``simulate``."""
    return _core.shapes()


Problem.__module__ = "pcr99"
