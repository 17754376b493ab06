"""Registration of matches: ``solve`` and ``assess``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional, Union

import numpy.typing as npt

from . import _core
from ._arrays import (
    Floats,
    Indices,
    ScaleLike,
    as_indices,
    as_list,
    as_name,
    as_number,
    as_optional_number,
    as_scale,
    as_seed,
    as_transform,
    as_vertical,
    as_whole,
)
from ._clouds import CloudLike, points_of
from ._errors import InvalidInput
from ._origin import origin
from ._registration import Registration
from ._renamed import renamed_arguments


@renamed_arguments(src="source", dst="target")
def solve(
    source: CloudLike,
    target: CloudLike,
    *,
    indices: Optional[npt.ArrayLike] = None,
    weights: Optional[npt.ArrayLike] = None,
    standard_deviations: Optional[npt.ArrayLike] = None,
    correlation_length: Optional[float] = None,
    vertical: Union[str, npt.ArrayLike, None] = None,
    tilt: Optional[float] = None,
    scale: ScaleLike = 1.0,
    threshold: Optional[float] = None,
    noise_bound: Optional[float] = None,
    method: str = "default",
    threads: Optional[int] = None,
    time_limit: Optional[float] = None,
    seed: int = 0,
    candidates: Optional[int] = None,
    effort: Optional[int] = None,
    miss_probability: Optional[float] = None,
    memory_budget: Optional[int] = None,
    epsilon: Optional[float] = None,
    grid_step: Optional[float] = None,
    batch: Optional[int] = None,
    min_inliers: Optional[int] = None,
    min_inlier_fraction: Optional[float] = None,
    hypothesis_limit: Optional[int] = None,
) -> Registration:
    """Finds the transform ``b = s·R·a + t`` from source to target, given matches of which most may be wrong.

    Parameters
    ----------
    source, target
        Points, N×3, of any dtype and memory order, or clouds of Open3D. Row i of one matches row i of the other, unless ``indices``
        is given. The old names ``src`` and ``dst`` are accepted with a ``DeprecationWarning``.
    indices
        Pairs of rows that match, K×2, counted from 0; for example Open3D's ``Vector2iVector``.
    weights
        Confidence of each match; higher is better. The search examines confident matches first.
    standard_deviations
        Noise of each match, in any unit, where right matches differ in noise (default method). Only the ratios are used. ``threshold`` is
        that of a match of median noise.
    correlation_length
        Distance between targets up to which neighbouring wrong matches are wrong in the same way, in target units; for example the
        radius of the descriptors, or 0 if all matches are independent. By default it is measured from the matches.
    vertical
        Direction that is up in the source and in the target (default method), for example ``((0, 0, 1), (0, 0, 1))``, or one direction for both. The transform
        then only turns about it and moves, which fewer right matches support.
    tilt
        Largest angle between the vertical of the target and that of the moved source, in degrees (default 0).
    scale
        A number if the scale is known (default 1), ``None`` if it is unknown, ``(minimum, maximum)`` if it is bounded.
    threshold
        Inlier threshold: maximum distance of a correct match after the transform, in target units. Five standard deviations of the
        noise is a good value. The default method finds it from the data; the other methods need it.
    noise_bound
        Largest standard deviation of the noise of a coordinate of a correct match, in target units. It is another way to give
        ``threshold``, which is five times as large.
    method
        ``"default"``, ``"paper"`` (PCR-99 as published), ``"paper-random"``, or another of ``pcr99.methods()``.
    threads
        Maximum number of threads; by default the number of cores. The result does not depend on it.
    time_limit
        Time in seconds after which the search stops and returns the best transform so far; by default there is no limit.
    seed
        Seed of the random numbers.
    candidates
        Maximum number of distinct transforms in ``Registration.candidates`` (default method; default 5).
    effort
        Maximum number of pairs of matches that each round of the search examines (default method; default 100 000). A larger number
        finds smaller consensus sets and takes longer.
    miss_probability
        Accepted probability that a larger consensus was missed (default method; default 1e-6).
    memory_budget
        Maximum size of the tables over pairs of matches, in mebibytes (default 1024).
    epsilon, grid_step, batch, min_inliers, min_inlier_fraction, hypothesis_limit
        Parameters of the methods ``"paper"`` and ``"paper-random"``, named as in the paper.

    Returns
    -------
    Registration
        The best transform that was found. It is true only if its status is ``"registered"``. Too few correct matches are a status and
        a ``doubt``, not an exception.

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
    given = locals()
    matches = _matches(source, target, indices, weights, standard_deviations)
    document = _core.solve(*matches, _options(given))
    return Registration(document, origin(solve, given))


#: Options that are left out when they are ``None``, with their conversion.
_OPTIONAL: dict[str, Callable[[str, Any], Any]] = {
    "threshold": as_number,
    "noise_bound": as_number,
    "time_limit": as_number,
    "miss_probability": as_number,
    "correlation_length": as_number,
    "vertical": as_vertical,
    "tilt": as_number,
    "epsilon": as_number,
    "grid_step": as_number,
    "min_inlier_fraction": as_number,
    "threads": as_whole,
    "candidates": as_whole,
    "effort": as_whole,
    "memory_budget": as_whole,
    "batch": as_whole,
    "min_inliers": as_whole,
    "hypothesis_limit": as_whole,
}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Checks the types of the options of ``solve``. Their values are checked in Rust."""
    options: dict[str, Any] = {
        "scale": as_scale(given["scale"]),
        "method": as_name("method", given["method"]),
        "seed": as_seed(given["seed"]),
    }
    for name, convert in _OPTIONAL.items():
        value = given[name]
        if value is not None:
            options[name] = convert(name, value)
    return options


def _matches(
    source: CloudLike, target: CloudLike, indices: Any, weights: Any = None, standard_deviations: Any = None
) -> tuple[Floats, Floats, Optional[Indices], Optional[Floats], Optional[Floats]]:
    """Converts both sides of the matches, their indices, weights and standard deviations to arrays."""
    a, b = points_of("source", source), points_of("target", target)
    pairs = None if indices is None else as_indices("indices", indices)
    if weights is None and standard_deviations is None:
        return a, b, pairs, None, None
    if pairs is None and len(a) != len(b):
        # Otherwise the message would blame the weights or the standard deviations.
        raise InvalidInput(f"{len(a)} source points but {len(b)} target points: row i of one must match row i of the other")
    count = len(a) if pairs is None else len(pairs)

    def numbers(name: str, given: Any) -> Optional[Floats]:
        return None if given is None else as_list(name, given, count)

    return a, b, pairs, numbers("weights", weights), numbers("standard_deviations", standard_deviations)


@renamed_arguments(src="source", dst="target")
def assess(
    source: CloudLike,
    target: CloudLike,
    transform: npt.ArrayLike,
    *,
    threshold: float,
    indices: Optional[npt.ArrayLike] = None,
    standard_deviations: Optional[npt.ArrayLike] = None,
    correlation_length: Optional[float] = None,
) -> Registration:
    """Judges a given transform: counts the matches that agree with it and tests whether chance explains them.

    Parameters
    ----------
    source, target, indices, standard_deviations, correlation_length, threshold
        As in ``solve``; ``threshold`` is required.
    transform
        The 4×4 matrix ``[sR t; 0 1]`` from source to target. The result has it unchanged.

    Returns
    -------
    Registration
        The verdict, with ``method`` ``"assess"``.

    Examples
    --------
    >>> import numpy as np, pcr99
    >>> problem = pcr99.simulate(outliers=0.9, seed=1)
    >>> pcr99.assess(problem.source, problem.target, problem.transform, threshold=0.05).status
    'registered'
    >>> pcr99.assess(problem.source, problem.target, np.eye(4), threshold=0.05).status
    'not_reliable'
    """
    given = locals()
    a, b, pairs, _, deviations = _matches(source, target, indices, None, standard_deviations)
    matrix = as_transform("transform", transform)
    options = {
        "threshold": as_number("threshold", threshold),
        "correlation_length": as_optional_number("correlation_length", correlation_length),
    }
    document = _core.assess(a, b, pairs, deviations, matrix, options)
    return Registration(document, origin(assess, given))


def methods() -> list[str]:
    """Returns the names that ``solve`` accepts as ``method``.

    >>> import pcr99
    >>> pcr99.methods()[:3]
    ['default', 'paper', 'paper-random']
    """
    return _core.methods()
