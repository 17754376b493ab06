"""Registration of matches."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import pcr99


def errors(r: pcr99.Registration, truth: np.ndarray) -> float:
    assert r.transform is not None
    return float(np.abs(r.transform - truth).max())


def test_the_truth_is_found(problem: pcr99.Problem) -> None:
    r = pcr99.solve(problem.source, problem.target)
    assert r and r.status == "registered" and r.method == "default"
    assert errors(r, problem.transform) < 0.02
    assert set(problem.inliers) >= set(r.inliers.tolist()) and len(r.inliers) > 95
    assert r.inlier_mask.sum() == len(r.inliers) and r.inlier_mask.shape == (1000,)
    assert r.evidence is not None and r.evidence.log10_nfa < -50
    assert r.threshold is not None and 0.02 < r.threshold < 0.1
    assert r.inlier_rmse is not None and r.inlier_rmse < r.threshold
    assert r.candidates[0].inlier_count >= len(r.inliers) * 0.9
    assert r.counters is not None and r.counters.pairs > 0
    assert list(r.seconds) == ["total", "preparing", "search", "evidence"] and min(r.seconds.values()) > 0.0
    assert sum(r.seconds.values()) < 2.001 * r.seconds["total"]
    assert r.stopped_because in {"confident", "exhausted"}


def test_ninety_nine_percent(problem: pcr99.Problem) -> None:
    hard = pcr99.simulate(outliers=0.99, seed=2)
    assert errors(pcr99.solve(hard.source, hard.target), hard.transform) < 0.05


def misaligned(array: np.ndarray, dtype: object) -> np.ndarray:
    """The same numbers, beginning one byte after an address that the processor can read."""
    values = np.asarray(array).astype(dtype)
    buffer = bytearray(values.nbytes + 1)
    view = np.frombuffer(buffer, dtype=values.dtype, offset=1).reshape(values.shape)
    assert not view.flags.aligned
    view[...] = values
    return view


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a.astype(np.float32).astype(np.float64),
        lambda a: a.tolist(),
        lambda a: np.asfortranarray(a),
        lambda a: np.repeat(a, 2, axis=0)[::2],
        lambda a: np.hstack([a, a])[:, :3],
        lambda a: a[::-1].copy()[::-1],
        lambda a: a.astype(np.longdouble),
        lambda a: a.astype(">f8"),
        lambda a: tuple(map(tuple, a)),
        lambda a: np.ma.masked_array(a),
        lambda a: memoryview(np.ascontiguousarray(a)),
        lambda a: misaligned(a, np.float64),
        lambda a: misaligned(a, ">f8"),
        lambda a: misaligned(a, np.float32),
    ],
)
def test_any_layout_gives_the_same(problem: pcr99.Problem, change) -> None:
    expected = pcr99.solve(problem.source, problem.target)
    found = pcr99.solve(change(problem.source), change(problem.target))
    if np.array_equal(np.asarray(change(problem.source), dtype=float), problem.source):
        assert found == expected
    else:
        assert found and errors(found, problem.transform) < 0.02


def test_misaligned_indices_weights_and_features(problem: pcr99.Problem) -> None:
    weights = np.linspace(1.0, 2.0, len(problem.source))
    rows = np.stack([np.arange(len(problem.source))] * 2, axis=1)
    expected = pcr99.solve(problem.source, problem.target, indices=rows, weights=weights)
    found = pcr99.solve(
        problem.source, problem.target, indices=misaligned(rows, np.int64), weights=misaligned(weights, np.float64)
    )
    assert found == expected
    features = (np.arange(33 * 20, dtype=np.float32) / 4).reshape(20, 33)
    expected_pairs = pcr99.match_features(features, features)
    assert np.array_equal(pcr99.match_features(misaligned(features, np.float32), features), expected_pairs)


def test_single_precision_and_whole_numbers(problem: pcr99.Problem) -> None:
    assert pcr99.solve(problem.source.astype(np.float32), problem.target.astype(np.float32))
    assert pcr99.solve(problem.source.astype(np.float16), problem.target.astype(np.float16))
    whole = [(1e4 * side).astype(np.int32) for side in (problem.source, problem.target)]
    assert pcr99.solve(*whole)
    positive = [(1e3 * (side + 10)).astype(np.uint16) for side in (problem.source, problem.target)]
    assert pcr99.solve(*positive)


def test_input_is_left_alone(problem: pcr99.Problem) -> None:
    source, target = problem.source.copy(), problem.target.copy()
    pcr99.solve(source, target)
    assert np.array_equal(source, problem.source) and np.array_equal(target, problem.target)


def test_indices_and_weights(problem: pcr99.Problem) -> None:
    order = np.random.default_rng(0).permutation(1000)
    pairs = np.stack([np.arange(1000), np.argsort(order)], axis=1)
    expected = pcr99.solve(problem.source, problem.target)
    for given in (pairs, pairs.astype(np.int32), pairs.astype(np.uint64), pairs.tolist()):
        assert pcr99.solve(problem.source, problem.target[order], indices=given) == expected
    weighted = pcr99.solve(problem.source, problem.target, weights=problem.inlier_mask.astype(np.float32))
    assert weighted and np.array_equal(weighted.inliers, expected.inliers)


def test_standard_deviations(problem: pcr99.Problem) -> None:
    expected = pcr99.solve(problem.source, problem.target)
    assert pcr99.solve(problem.source, problem.target, standard_deviations=np.full(1000, 0.1)) == expected
    noise = np.where(np.arange(1000) % 2, 10.0, 1.0)
    target = problem.target + 0.01 * noise[:, None] * np.random.default_rng(1).normal(size=(1000, 3))
    r = pcr99.solve(problem.source, target, standard_deviations=noise)
    assert r and errors(r, problem.transform) < 0.02
    assert len(r.inliers) > 1.5 * len(pcr99.solve(problem.source, target).inliers)
    assert r == pcr99.solve(problem.source, target, standard_deviations=8 * noise)
    judged = pcr99.assess(problem.source, target, r.transform, threshold=r.threshold, standard_deviations=noise)
    assert judged and np.array_equal(judged.inliers, r.inliers)
    with pytest.raises(pcr99.InvalidInput, match="the standard deviation of match 3 "):
        pcr99.solve(problem.source, target, standard_deviations=np.where(np.arange(1000) == 3, 0.0, noise))


def test_correlation_length(problem: pcr99.Problem) -> None:
    free = pcr99.solve(problem.source, problem.target, correlation_length=0)
    assert free and np.array_equal(free.inliers, pcr99.solve(problem.source, problem.target).inliers)
    coarse = pcr99.solve(problem.source, problem.target, correlation_length=100.0)
    assert not coarse and coarse.evidence.log10_nfa > free.evidence.log10_nfa
    judged = pcr99.assess(problem.source, problem.target, free.transform, threshold=free.threshold, correlation_length=100.0)
    assert not judged


@pytest.mark.parametrize("scale", [None, (1, 5), [1.0, 5.0], np.array([1, 5])])
def test_unknown_scale(scale) -> None:
    problem = pcr99.simulate(outliers=0.9, scale="random", seed=4)
    r = pcr99.solve(problem.source, problem.target, scale=scale)
    assert r and r.scale is not None and abs(r.scale / problem.scale - 1) < 0.05
    assert np.allclose(r.transform[:3, :3], r.scale * r.rotation, rtol=1e-12)
    assert not pcr99.solve(problem.source, problem.target, scale=1.0)


def test_methods(problem: pcr99.Problem) -> None:
    assert pcr99.methods()[0] == "default" and len(pcr99.methods()) == 13
    for method in pcr99.methods():
        r = pcr99.solve(problem.source, problem.target, threshold=0.05, method=method, time_limit=20.0)
        assert r.method == method
        if method in {"default", "paper", "paper-random", "ransac"}:
            assert r and errors(r, problem.transform) < 0.02, method


def test_options_of_the_paper(problem: pcr99.Problem) -> None:
    given = {"threshold": 0.05, "method": "paper"}
    r = pcr99.solve(
        problem.source, problem.target, epsilon=0.1, grid_step=0.1, batch=1000, min_inliers=9, min_inlier_fraction=0.009, **given
    )
    assert r == pcr99.solve(problem.source, problem.target, **given)
    limited = pcr99.solve(problem.source, problem.target, hypothesis_limit=1, min_inliers=900, **given)
    assert limited.stopped_because == "hypothesis_limit" and limited.counters.hypotheses == 1


def test_threads_and_seed_do_not_matter(problem: pcr99.Problem) -> None:
    large = pcr99.simulate(points=5000, outliers=0.98, shape="knot", seed=3)
    one = pcr99.solve(large.source, large.target, threads=1)
    assert one == pcr99.solve(large.source, large.target, threads=2) == pcr99.solve(large.source, large.target)
    assert pcr99.solve(large.source, large.target, threads=10**9) == one
    assert pcr99.solve(problem.source, problem.target, seed=2**64 - 1)


def test_no_consensus_is_an_outcome() -> None:
    rng = np.random.default_rng(0)
    r = pcr99.solve(rng.random((200, 3)), rng.random((200, 3)))
    assert not r and r.status in {"not_reliable", "no_solution"}
    assert r.doubt and r.reason and repr(r).startswith("<Registration no") and r.reason in repr(r)
    plane = rng.random((50, 3)) * [1, 1, 0]
    assert pcr99.solve(plane, plane).status in {"registered", "not_reliable"}


def test_time_limit() -> None:
    rng = np.random.default_rng(0)
    r = pcr99.solve(rng.random((20000, 3)), rng.random((20000, 3)), scale=None, time_limit=0.05)
    assert r.stopped_because == "time_limit" and r.seconds["total"] < 5.0


def test_assess(problem: pcr99.Problem) -> None:
    r = pcr99.assess(problem.source, problem.target, problem.transform, threshold=0.05)
    assert r and r.method == "assess" and np.array_equal(r.transform, problem.transform)
    assert set(r.inliers.tolist()) >= set(problem.inliers.tolist())
    assert not pcr99.assess(problem.source, problem.target, np.eye(4), threshold=0.05)
    for wrong in (np.eye(3), np.ones((4, 4)), -np.eye(4), np.full((4, 4), np.nan), problem.transform.T, np.zeros((4, 4))):
        with pytest.raises(pcr99.InvalidInput, match="transform"):
            pcr99.assess(problem.source, problem.target, wrong, threshold=0.05)
    with pytest.raises(pcr99.InvalidInput, match="threshold"):
        pcr99.assess(problem.source, problem.target, np.eye(4), threshold=0.0)


def test_simulate() -> None:
    one = pcr99.simulate(points=100, outliers=0.5, noise=0.0, shape="sphere", seed=9)
    again = pcr99.simulate(points=100, outliers=0.5, noise=0.0, shape="sphere", seed=9)
    assert np.array_equal(one.source, again.source) and np.array_equal(one.target, again.target)
    assert len(one.inliers) == 50 and one.inlier_mask.sum() == 50 and one.truth["seed"] == 9
    moved = one.source @ one.transform[:3, :3].T + one.transform[:3, 3]
    assert np.allclose(moved[one.inliers], one.target[one.inliers], atol=1e-12)
    assert one.source.flags.writeable and not one.transform.flags.writeable and "knot" in pcr99.shapes()
    cloud = np.random.default_rng(0).random((500, 3))
    assert pcr99.simulate(points=50, shape=cloud).truth["points"] == 50
    for bad in (
        {"points": 2},
        {"points": -1},
        {"points": 1.5},
        {"outliers": 1.5},
        {"outliers": float("nan")},
        {"noise": -1},
        {"scale": 0},
        {"scale": "large"},
        {"shape": "teapot"},
        {"shape": cloud[:2]},
        {"shape": np.full((9, 3), np.nan)},
        {"outlier_center": "left"},
        {"outlier_center": 3},
        {"seed": -1},
        {"seed": 2**64},
    ):
        with pytest.raises(pcr99.InvalidInput):
            pcr99.simulate(**bad)


def test_known_vertical(problem: pcr99.Problem) -> None:
    """The directions that the truth maps onto each other are kept exactly, and wrong input has a message."""
    up = np.array([0.3, -0.5, 0.8])
    above = problem.transform[:3, :3] @ up
    r = pcr99.solve(problem.source, problem.target, vertical=(up, above))
    assert r
    assert r.rotation is not None and r.evidence is not None
    moved = r.rotation @ up / np.linalg.norm(up)
    assert np.allclose(moved, above / np.linalg.norm(above), atol=1e-12)
    free = pcr99.solve(problem.source, problem.target)
    assert free.evidence is not None and r.evidence.log10_nfa < free.evidence.log10_nfa
    assert pcr99.solve(problem.source, problem.target, vertical=(up, above), tilt=1.0)
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"vertical": (0, 0)}, "`vertical` must be two directions"),
        ({"vertical": (0, 0, 0)}, "the vertical of the source is 0,0,0"),
        ({"vertical": "source=0,0,1"}, "lacks the direction that is up in the target"),
        ({"vertical": (0, 0, 1), "tilt": 90.0}, "the tilt must be at least 0 and below 90"),
        ({"tilt": 1.0}, "`tilt` needs `vertical`"),
        ({"vertical": (0, 0, 1), "method": "paper", "threshold": 0.1}, "`vertical` is a parameter of the default method"),
    ]
    for given, message in mistakes:
        with pytest.raises(pcr99.InvalidInput, match=re.escape(message)):
            pcr99.solve(problem.source, problem.target, **given)
