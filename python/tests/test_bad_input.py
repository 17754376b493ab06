"""Bad input raises an exception with a helpful message; it never causes a panic or a NaN."""

from __future__ import annotations

import itertools
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

import pcr99

GOOD = np.random.default_rng(0).random((30, 3))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD.T, r"`source` is 3×30, one column for each point, expected N×3, one row for each point: pass source\.T"),
        (np.hstack([GOOD, GOOD[:, :1]]), r"`source` is 30×4, expected .* pass source\[:, :3\]"),
        (np.hstack([GOOD, GOOD]), r"`source` is 30×6, expected .* source\[:, 3:\] as the other side"),
        (GOOD.reshape(5, 6, 3), r"an image of points, .*: pass source\.reshape\(-1, 3\)"),
        (GOOD[0], "`source` is a single row of 3 numbers"),
        (GOOD.ravel(), "`source` is 90, expected N×3"),
        (np.float64(3.0), "`source` is a single number"),
        (np.zeros((0, 3)), "0 source points but 30"),
        ([], r"`source` is empty \(0\)"),
        (np.zeros((5, 0)), "`source` is empty"),
        (GOOD.astype(complex), "dtype complex128: convert it to real numbers"),
        (GOOD > 0.5, "dtype bool"),
        (GOOD.astype(str), "dtype <U"),
        (np.where(GOOD > 0.5, GOOD, None), "dtype object"),
        ([[1, 2, 3], [4, 5]], "`source` cannot be converted to an array|dtype object"),
        ([[Decimal(1)] * 3] * 30, "dtype object"),
        ([["a", "b", "c"]] * 30, "dtype <U1"),
        ((row for row in GOOD), "`source` is an iterator: pass a list"),
        (iter(GOOD), "`source` is an iterator"),
        ({"x": 1}, "must be an array, not dict"),
        (None, "must be an array, not None"),
        ("a.ply", "`source` is a path: read it first"),
        (b"a.ply", "`source` is a path: read it first"),
        (np.ma.masked_array(GOOD, mask=GOOD > 0.9), "masked entries"),
        (np.zeros(30, dtype=[("x", float), ("y", float), ("z", float)]), "structured array with the fields x, y, z"),
        (GOOD.view(np.dtype("datetime64[s]")), "dtype datetime64"),
        (object(), "`source` must be an array, not object"),
        (SimpleNamespace(vertices=GOOD), r"not SimpleNamespace: pass np.asarray\(source.vertices\)"),
    ],
)
def test_wrong_arrays(bad, message) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        pcr99.solve(bad, GOOD)
    assert isinstance(caught.value, pcr99.InvalidInput) and isinstance(caught.value, pcr99.Error)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_numbers_are_located(value) -> None:
    broken = GOOD.copy()
    broken[17, 1] = value
    for arrays, side in (((broken, GOOD), "source"), ((GOOD, broken), "target")):
        with pytest.raises(pcr99.InvalidInput, match=f"match 17 .counted from 0. has a {side} coordinate that is not finite"):
            pcr99.solve(*arrays)
    for stage in (
        lambda: pcr99.voxel_down_sample(broken, 0.1),
        lambda: pcr99.estimate_normals(broken, 0.1),
        lambda: pcr99.fpfh(broken, GOOD, 0.1),
        lambda: pcr99.fpfh(GOOD, broken, 0.1),
    ):
        with pytest.raises(pcr99.InvalidInput, match="row 17 .counted from 0."):
            stage()


def test_too_few_equal_collinear() -> None:
    for bad, message in (
        (GOOD[:2], "2 matches: at least 3"),
        (np.ones((9, 3)), "all source points are equal"),
        (np.outer(np.arange(9.0), [1, 2, 3]), "on one line"),
        (GOOD * 1e300 * 1e7, "other units"),
    ):
        with pytest.raises(pcr99.InvalidInput, match=message):
            pcr99.solve(bad, bad)
    with pytest.raises(pcr99.InvalidInput, match="30 source points but 29 target points"):
        pcr99.solve(GOOD, GOOD[1:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0}, "`scale` must be finite and positive"),
        ({"scale": -1.0}, "`scale`"),
        ({"scale": float("nan")}, "`scale`"),
        ({"scale": "unknown"}, "`scale` must not be a string, got 'unknown': pass None"),
        ({"scale": (1, 2, 3)}, r"`scale` must be \(minimum, maximum\), got 3 numbers"),
        ({"scale": (5, 1)}, "is empty"),
        ({"scale": (0, 1)}, "`scale` must be finite and positive, got 0"),
        ({"scale": True}, "`scale` must be a number"),
        ({"scale": 10**400}, "`scale` must be a number"),
        ({"threshold": 0.0}, "`threshold` must be finite and positive"),
        ({"threshold": float("inf")}, "`threshold` must be finite"),
        ({"threshold": "0.05"}, "`threshold` must be a number, not str"),
        ({"method": "magic"}, "`method` is `magic`: expected one of default, paper, "),
        ({"method": None}, "`method` must be a string, not NoneType"),
        ({"method": "paper"}, "method `paper` needs a `threshold`"),
        ({"method": "ransac"}, "method `ransac` needs a `threshold`"),
        ({"method": "paper", "threshold": 1, "scale": (1, 2)}, "takes no range of scales"),
        ({"method": "daniel", "threshold": 1, "scale": None}, "method `daniel` cannot estimate the scale"),
        ({"epsilon": 0.1}, "`epsilon` is a parameter of the paper's methods"),
        ({"method": "paper", "threshold": 1, "epsilon": 99}, "epsilon"),
        ({"method": "paper", "threshold": 1, "candidates": 3}, "`candidates` is a parameter of the default method"),
        ({"method": "paper", "threshold": 1, "effort": 3}, "`effort` is a parameter of the default method"),
        ({"effort": 0}, "`effort`"),
        ({"effort": 1.5}, "`effort` must be an integer"),
        ({"miss_probability": 0.0}, "`miss_probability`"),
        ({"miss_probability": 1.5}, "`miss_probability`"),
        ({"correlation_length": -0.5}, "`correlation_length`"),
        ({"correlation_length": float("nan")}, "`correlation_length`"),
        ({"correlation_length": "short"}, "`correlation_length` must be a number"),
        ({"miss_probability": "small"}, "`miss_probability` must be a number"),
        ({"threads": 0}, "`threads` must be at least 1"),
        ({"threads": 1.5}, "`threads` must be an integer"),
        ({"threads": True}, "`threads` must be an integer"),
        ({"threads": 2**70}, "`threads` must be at most"),
        ({"time_limit": 0}, "`time_limit` must be finite and positive"),
        ({"time_limit": "soon"}, "`time_limit` must be a number"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"seed": None}, "`seed` must be an integer"),
        ({"candidates": 0}, "candidates"),
        ({"indices": GOOD}, r"convert it to integers, for example with .astype\(int\)"),
        ({"indices": [[0, 0], [1, 1], [2, 30]]}, "index pair 2 .* names target point 30, but there are only 30"),
        ({"indices": [[0, 0], [1, 1], [-1, 2]]}, r"negative index in row 2 .*\(-1, 2\)"),
        ({"indices": np.zeros((2, 9), int)}, r"`indices` is 2×9, .* pass indices\.T"),
        ({"indices": np.zeros((9, 3), int)}, "`indices` is 9×3"),
        ({"indices": []}, "`indices` is empty"),
        ({"indices": np.full((9, 2), 2**64 - 1, np.uint64)}, "too large for an index"),
        ({"weights": np.ones(29)}, "29 numbers for 30 matches"),
        ({"weights": np.ones((30, 1))}, r"weights.ravel\(\)"),
        ({"weights": np.full(30, np.nan)}, "weight 0"),
        ({"standard_deviations": np.ones(29)}, "29 numbers for 30 matches"),
        ({"standard_deviations": np.full(30, np.nan)}, "the standard deviation of match 0"),
        ({"standard_deviations": np.arange(30.0)}, "the standard deviation of match 0"),
        ({"standard_deviations": np.arange(1.0, 31.0), "method": "paper", "threshold": 1.0}, "equally precise"),
        ({"standard_deviations": np.arange(1.0, 31.0), "method": "ransac", "threshold": 1.0}, "equally precise"),
    ],
)
def test_wrong_options(options, message) -> None:
    with pytest.raises(pcr99.InvalidInput, match=message):
        pcr99.solve(GOOD, GOOD, **options)


def test_too_much_memory() -> None:
    many = np.random.default_rng(0).random((3000, 3))
    with pytest.raises(MemoryError, match="set `memory_budget` to") as caught:
        pcr99.solve(many, many, scale=None, method="paper", threshold=0.1, memory_budget=1)
    assert isinstance(caught.value, pcr99.OutOfMemory)


EXTREMES = [0.0, -0.0, 1.0, -1.0, 1e-320, 1e-160, 1e-30, 1e30, 1e160, 1.7e308]


def test_extreme_numbers_give_a_result_or_a_message() -> None:
    rng = np.random.default_rng(1)
    for a, b in itertools.product(EXTREMES, EXTREMES):
        source, target = rng.random((12, 3)) * a, rng.random((12, 3)) * b
        for scale in (1.0, None):
            try:
                r = pcr99.solve(source, target, scale=scale)
            except pcr99.InvalidInput:
                continue
            assert r.transform is None or np.isfinite(r.transform).all()
            assert "NaN" not in r.to_json()


@pytest.mark.parametrize(
    "points",
    [np.zeros((0, 3)), GOOD[:2], np.ones((50, 3)), np.full((50, 3), np.nan), np.outer(np.arange(50.0), [1, 1, 0]), GOOD * 1e300],
)
def test_clouds_that_cannot_be_registered(points) -> None:
    for side in ("source", "target"):
        clouds = {"source": GOOD, "target": GOOD, side: points}
        with pytest.raises(pcr99.InvalidInput, match=f"^`{side}`"):
            pcr99.register(**clouds)
    with pytest.raises(pcr99.InvalidInput):
        pcr99.PreparedCloud(points)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voxel": 0}, "`voxel` must be finite and positive"),
        ({"voxel": float("nan")}, "voxel"),
        ({"refine": "fast"}, "`refine` is `fast`: expected one of point-to-plane, point-to-point, plane-to-plane, none"),
        ({"refine": 3}, "`refine` must be a string or None"),
        ({"initial": np.eye(3)}, "`initial` is 3×3"),
        ({"initial": np.ones((4, 4))}, "`initial`: the last row of a transform must be 0 0 0 1"),
        ({"initial": np.diag([2.0, 2.0, 2.0, 1.0])}, "`initial` has scale 2, but `scale` is 1"),
        ({"scale": "unknown"}, "pass None"),
        ({"candidates": 0}, "candidates"),
    ],
)
def test_wrong_options_of_register(options, message) -> None:
    with pytest.raises(pcr99.InvalidInput, match=message):
        pcr99.register(GOOD, GOOD, **options)


def test_hostile_objects() -> None:
    class Points:
        points = property(lambda self: 1 / 0)

    class Array:
        def __array__(self, *args, **kwargs):
            raise RuntimeError("no")

    class Lying:
        points = GOOD
        normals = GOOD[:3]

    with pytest.raises(ZeroDivisionError):
        pcr99.register(Points(), GOOD)
    with pytest.raises(pcr99.InvalidInput, match="cannot be converted to an array"):
        pcr99.solve(Array(), GOOD)
    with pytest.raises(pcr99.InvalidInput, match="3 normals for 30 points"):
        pcr99.register(Lying(), GOOD)


def test_random_garbage_never_panics() -> None:
    rng = np.random.default_rng(2)
    for _ in range(150):
        shape = tuple(rng.integers(0, 7, rng.integers(0, 4)))
        array = rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300)
        for call in (
            lambda: pcr99.solve(array, array),
            lambda: pcr99.register(array, array),
            lambda: pcr99.voxel_down_sample(array, abs(float(rng.normal())) + 1e-300),
            lambda: pcr99.estimate_normals(array, 1.0),
            lambda: pcr99.clean(array),
            lambda: pcr99.match_features(array, array),
        ):
            try:
                call()
            except pcr99.InvalidInput as error:
                assert str(error) and "\n" not in str(error)
