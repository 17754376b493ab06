"""The transform of control points: ``georeference``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, ScaleLike, as_list, as_name, as_number, as_optional_number, as_rows, as_scale, as_vertical, frozen
from ._errors import InvalidInput


@dataclasses.dataclass(frozen=True, eq=False)
class Georeference:
    """Transform of control points. It is true if more than half of the points agree."""

    #: The transform from local coordinates to the world, 4×4.
    transform: Floats
    #: Its scale.
    scale: float
    #: How accurate it is, in one sentence.
    accuracy: str
    #: Covariance of rotation vector and translation, 6×6, and with the scale where it is unknown, 7×7, about ``covariance_center``.
    covariance: Floats
    #: The point in the world about which the covariance is.
    covariance_center: Floats
    #: Names of the points.
    names: tuple[str, ...]
    #: Place of each point in the world less where the transform puts it, N×3.
    residuals: Floats
    #: Whether each point was used, N. The others are gross errors.
    is_used: npt.NDArray[np.bool_]
    #: Root mean square residual of the used points.
    rmse: float
    #: Number of coordinates that are left over after the unknowns are determined.
    redundancy: int
    #: What the points can show about errors among them, in one sentence.
    check: str
    _is_supported: bool = dataclasses.field(repr=False)

    @property
    def gross_errors(self) -> tuple[str, ...]:
        """Names of the points that were left out."""
        return tuple(name for name, used in zip(self.names, self.is_used) if not used)

    def apply(self, points: npt.ArrayLike) -> Floats:
        """Moves points, N×3, to the world."""
        return as_rows("points", points) @ self.transform[:3, :3].T + self.transform[:3, 3]

    def __bool__(self) -> bool:
        return self._is_supported

    def __repr__(self) -> str:
        wrong = f", without {', '.join(self.gross_errors)}" if self.gross_errors else ""
        return f"<Georeference: {int(self.is_used.sum())} of {len(self.names)} points agree{wrong}; rmse {self.rmse:.3g}>"


def georeference(
    local: npt.ArrayLike,
    world: npt.ArrayLike,
    *,
    names: Optional[Iterable[str]] = None,
    sigma: Union[float, npt.ArrayLike, None] = None,
    scale: ScaleLike = 1.0,
    vertical: Union[str, npt.ArrayLike, None] = None,
    tilt: Optional[float] = None,
) -> Georeference:
    """Finds the transform that maps control points to their places in the world. Gross errors are found, named and left out.

    Parameters
    ----------
    local, world
        Coordinates of the points in the cloud, and their places in the world, N×3.
    names
        Names of the points; by default their places in the list, from 0.
    sigma
        Standard deviation of a coordinate, of both sides together, in world units: one for all points, or one for each. By default the
        noise is measured from the points that agree.
    scale
        A number if the scale is known (default 1), ``None`` if it is unknown, ``(minimum, maximum)`` if it is bounded.
    vertical, tilt
        As in ``register``. With a vertical, two points determine the transform.

    Examples
    --------
    >>> import numpy as np, pcr99
    >>> local = np.array([[0, 0, 0], [10, 0, 1], [10, 8, 0], [0, 8, 2], [5, 4, 6], [2, 7, 3]], dtype=float)
    >>> world = np.stack([500_000 - local[:, 1], 4_000_000 + local[:, 0], 100 + local[:, 2]], axis=1)
    >>> world[4, 1] += 1.0                                       # a slip of the pen
    >>> found = pcr99.georeference(local, world, names=["P1", "P2", "P3", "P4", "P5", "P6"], sigma=0.01)
    >>> found.gross_errors
    ('P5',)
    >>> bool(np.abs(found.apply(local) - world)[found.is_used].max() < 1e-6)
    True
    """
    points, places = as_rows("local", local), as_rows("world", world)
    if len(points) != len(places):
        raise InvalidInput(f"{len(points)} local points but {len(places)} places in the world: row i of one must match row i of the other")
    called = [str(place) for place in range(len(points))] if names is None else [as_name("names", name) for name in names]
    if len(called) != len(points):
        raise InvalidInput(f"`names` has {len(called)} names for {len(points)} points: pass one for each")
    deviations = None
    if sigma is not None:
        one = np.full(len(points), as_number("sigma", sigma)) if np.ndim(sigma) == 0 else sigma
        deviations = as_list("sigma", one, len(points), "points")
    up = None if vertical is None else as_vertical("vertical", vertical)
    found = _core.georeference(called, points, places, deviations, as_scale(scale), up, as_optional_number("tilt", tilt))
    arrays = ("transform", "covariance", "residuals", "is_used", "covariance_center")
    found.update({name: frozen(np.array(found[name])) for name in arrays})
    return Georeference(names=tuple(called), _is_supported=found.pop("is_supported"), **found)


Georeference.__module__ = "pcr99"
