"""Matches → transform."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import (
    Floats,
    Indices,
    ScaleLike,
    as_indices,
    as_list,
    as_number,
    as_optional_number,
    as_optional_whole,
    as_positive,
    as_rows,
    as_scale,
    as_seed,
    as_transform,
    as_whole,
    frozen,
)
from ._clouds import CloudLike, points_of
from ._errors import InvalidInput, InvalidType
from ._origin import Origin, call_text
from ._registration import Registration


def solve(
    src: CloudLike,
    dst: CloudLike,
    *,
    indices: Optional[npt.ArrayLike] = None,
    weights: Optional[npt.ArrayLike] = None,
    scale: ScaleLike = 1.0,
    threshold: Optional[float] = None,
    method: str = "default",
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    seed: int = 0,
    candidates: Optional[int] = None,
    memory_budget: Optional[int] = None,
    epsilon: Optional[float] = None,
    grid_step: Optional[float] = None,
    batch: Optional[int] = None,
    min_inliers: Optional[int] = None,
    min_inlier_fraction: Optional[float] = None,
    hypothesis_limit: Optional[int] = None,
) -> Registration:
    """Finds the transform ``b = s·R·a + t`` that the right ones among many wrong matches follow.

    Parameters
    ----------
    src, dst
        Points, N×3; row i of one matches row i of the other, unless ``indices`` says otherwise. Of any dtype and order; clouds of
        Open3D too.
    indices
        Pairs of rows that match, K×2, counted from 0; ``Vector2iVector`` of Open3D too.
    weights
        One confidence for each match, higher is better; decides what is looked at first.
    scale
        1 by default; ``None`` when it is unknown, ``(least, greatest)`` when it is known to be between.
    threshold
        How far a right match may be off, in the unit of ``dst``: about five standard deviations of the noise. Found from the data
        by the default method; others need it.
    method
        ``"default"``, ``"paper"`` (PCR-99 as published), ``"paper-random"``, or one of ``pcr99.methods()``.
    threads
        How many threads at most; all cores by default. The result does not depend on it.
    time_limit
        Seconds, after which the best found so far comes back.
    seed
        Of everything random.
    candidates
        How many distinct transforms are returned at most (default method).
    memory_budget
        Mebibytes that tables over pairs of matches may take.
    epsilon, grid_step, batch, min_inliers, min_inlier_fraction, hypothesis_limit
        Parameters of the paper's methods.

    Returns
    -------
    Registration
        Always the best found, true only when it can be trusted. Too few right matches are an outcome, not an exception.

    Examples
    --------
    >>> import pcr99
    >>> problem = pcr99.simulate(outliers=0.99, scale=2.5, seed=3)
    >>> r = pcr99.solve(problem.source, problem.target, scale=None)
    >>> r.status, abs(r.scale - 2.5) < 0.1
    ('registered', True)
    >>> pcr99.solve(problem.source, problem.target[:-1])
    Traceback (most recent call last):
        ...
    pcr99.InvalidInput: 1000 source points but 999 target points: row i of one must match row i of the other
    """
    call = call_text(solve, locals())
    source, target = points_of("src", src), points_of("dst", dst)
    pairs = None if indices is None else as_indices("indices", indices)
    if weights is None:
        confidence = None
    else:
        if pairs is None and len(source) != len(target):
            raise InvalidInput(
                f"{len(source)} source points but {len(target)} target points: row i of one must match row i of the other"
            )
        confidence = as_list("weights", weights, len(source) if pairs is None else len(pairs))
    if not isinstance(method, str):
        raise InvalidType(f"method must be a name, not {type(method).__name__}")
    options = {
        "scale": as_scale(scale),
        "threshold": as_positive("threshold", threshold),
        "method": method,
        "threads": as_optional_whole("threads", threads),
        "time_limit": as_positive("time_limit", time_limit),
        "seed": as_seed(seed),
        "candidates": as_optional_whole("candidates", candidates),
        "memory_budget": as_optional_whole("memory_budget", memory_budget, 0),
        "epsilon": as_optional_number("epsilon", epsilon),
        "grid_step": as_optional_number("grid_step", grid_step),
        "batch": as_optional_whole("batch", batch),
        "min_inliers": as_optional_whole("min_inliers", min_inliers),
        "min_inlier_fraction": as_optional_number("min_inlier_fraction", min_inlier_fraction),
        "hypothesis_limit": as_optional_whole("hypothesis_limit", hypothesis_limit),
    }
    outcome = _core.solve(source, target, pairs, confidence, options)
    return Registration._of(outcome, Origin(src, dst, indices, None, call))


def assess(
    src: CloudLike,
    dst: CloudLike,
    transform: npt.ArrayLike,
    *,
    threshold: float,
    indices: Optional[npt.ArrayLike] = None,
) -> Registration:
    """Judges a transform from elsewhere by the same evidence: which matches follow it, and whether they would by chance.

    ``transform`` is the 4×4 matrix ``[sR t; 0 1]`` and comes back as it is; ``threshold`` is as in ``solve``.

    >>> import numpy as np, pcr99
    >>> problem = pcr99.simulate(outliers=0.9, seed=1)
    >>> pcr99.assess(problem.source, problem.target, problem.transform, threshold=0.05).status
    'registered'
    >>> pcr99.assess(problem.source, problem.target, np.eye(4), threshold=0.05).status
    'not_reliable'
    """
    call = call_text(assess, locals())
    source, target = points_of("src", src), points_of("dst", dst)
    pairs = None if indices is None else as_indices("indices", indices)
    matrix = as_transform("transform", transform)
    outcome = _core.assess(source, target, pairs, matrix, as_number("threshold", threshold))
    return Registration._of(outcome, Origin(src, dst, indices, None, call))


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Matches with known truth."""

    #: The source points, N×3, in the cube from −½ to ½.
    source: Floats
    #: The target points; row i is the match of row i of the source.
    target: Floats
    #: The true 4×4 matrix ``[sR t; 0 1]``.
    transform: Floats
    #: The right matches: indices from 0, ascending.
    inliers: Indices
    #: The whole truth, as ``pcr99 simulate --truth`` writes it.
    truth: dict[str, Any]

    @property
    def scale(self) -> float:
        """The true scale."""
        return float(self.truth["scale"])

    @property
    def inlier_mask(self) -> npt.NDArray[np.bool_]:
        """For each match whether it is right."""
        mask = np.zeros(len(self.source), dtype=np.bool_)
        mask[self.inliers] = True
        return frozen(mask)

    def __repr__(self) -> str:
        return f"<Problem: {len(self.source)} matches, {len(self.inliers)} right, scale {self.scale:g}>"


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
    """Makes a problem with known truth, as in the paper's evaluation.

    ``outliers`` is the share of wrong matches, ``noise`` the standard deviation of a target coordinate, ``scale`` the true scale or
    ``"random"`` (between 1 and 5), ``shape`` one of ``pcr99.shapes()``, a file, or points to draw from. The program makes the same
    problem from the same options.

    >>> import pcr99
    >>> pcr99.simulate(points=200, outliers=0.95, shape="knot", seed=7)
    <Problem: 200 matches, 10 right, scale 1>
    """
    if isinstance(scale, str):
        if scale != "random":
            raise InvalidInput(f'scale={scale!r} is neither a positive number nor "random"')
        true_scale = None
    else:
        true_scale = as_number("scale", scale)
    name: Optional[str] = None
    cloud: Optional[Floats] = None
    if isinstance(shape, (str, os.PathLike)):
        name = os.fsdecode(os.fspath(shape))
        if name not in _core.shapes() and os.path.exists(name):
            cloud = _core.read_points(name)
    elif shape is not None:
        cloud = as_rows("shape", shape)
    if not isinstance(outlier_center, str):
        raise InvalidType(f"outlier_center must be a name, not {type(outlier_center).__name__}")
    source, target, document = _core.simulate(
        as_whole("points", points),
        as_number("outliers", outliers),
        outlier_center,
        as_number("noise", noise),
        true_scale,
        name,
        cloud,
        as_seed(seed),
    )
    truth = json.loads(document)
    transform = np.array(truth["transform"], dtype=np.float64)
    inliers = np.array(truth["inliers"], dtype=np.int64)
    # The points are the caller's to work on, and many libraries take no arrays that cannot be written to.
    return Problem(source, target, frozen(transform), frozen(inliers), truth)


def methods() -> list[str]:
    """The names that ``solve`` takes as ``method``.

    >>> import pcr99
    >>> pcr99.methods()[:3]
    ['default', 'paper', 'paper-random']
    """
    return _core.methods()


def shapes() -> list[str]:
    """The names of the built-in shapes of ``simulate``."""
    return _core.shapes()


Problem.__module__ = "pcr99"
