"""Views of results: in notebooks, and in other libraries where they are installed."""

from __future__ import annotations

import importlib.util
import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest
from conftest import TURN, hills

import pcr99
import pcr99.viz


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def dots(text: str) -> int:
    return text.count("h0")


def test_notebooks_show_a_picture(registered: pcr99.CloudRegistration, problem: pcr99.Problem) -> None:
    text = registered._repr_html_()
    assert text.count("<svg") == 1 and "<script" not in text and "nan" not in text
    # Two views of two clouds, each thinned to 1500 points; the few at the very edge may be cut off.
    assert 5900 <= dots(text) <= 6000
    assert len(text) < 150_000
    matches = pcr99.solve(problem.source, problem.target)
    # Only the inliers are drawn.
    assert 2 * len(matches.inliers) < dots(matches._repr_html_()) <= 4 * len(matches.inliers)


def test_a_picture_needs_the_points(registered: pcr99.CloudRegistration) -> None:
    copy = pickle.loads(pickle.dumps(registered))
    text = copy._repr_html_()
    assert "<svg" not in text and "registered" in text


def test_the_moved_source_lies_on_the_target(clouds: tuple[np.ndarray, np.ndarray], registered: pcr99.CloudRegistration) -> None:
    moved, fixed = registered._points_in_target(None, None)
    assert np.abs(moved.mean(axis=0) - fixed.mean(axis=0)).max() < 0.2
    assert np.abs(moved - registered.apply(clouds[0])).max() < 1e-12
    assert fixed is clouds[1]


def test_viewers_that_are_missing_or_unknown(registered: pcr99.CloudRegistration, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pcr99.InvalidInput, match="`viewer` must be one of 'matplotlib', 'open3d', got 'paraview'"):
        pcr99.viz.show(registered, viewer="paraview")
    with pytest.raises(pcr99.InvalidType, match="`result` must be a result"):
        pcr99.viz.show(hills())  # type: ignore[arg-type]
    with pytest.raises(pcr99.InvalidInput, match="`points` must be at least 1"):
        pcr99.viz.show(registered, points=0)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(pcr99.MissingPackage, match="pip install matplotlib"):
        pcr99.viz.show(registered)


class _Axes:
    def __init__(self) -> None:
        self.drawn: list[int] = []

    def scatter(self, x: Any, y: Any, z: Any, **_: Any) -> None:
        assert len(x) == len(y) == len(z) and np.isfinite([x, y, z]).all()
        self.drawn.append(len(x))

    def set_aspect(self, name: str) -> None:
        assert name == "equal"

    def set_title(self, title: str) -> None:
        assert title == "registered"

    def legend(self, **_: Any) -> None:
        assert len(self.drawn) == 2


def test_matplotlib_gets_both_clouds(registered: pcr99.CloudRegistration, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = _Axes()
    figure = types.SimpleNamespace(add_subplot=lambda projection: axes if projection == "3d" else None)
    pyplot = types.ModuleType("matplotlib.pyplot")
    pyplot.figure = lambda figsize: figure  # type: ignore[attr-defined]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name == "matplotlib" else None)
    monkeypatch.setitem(sys.modules, "matplotlib", types.ModuleType("matplotlib"))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    assert pcr99.viz.show(registered, points=500, block=False) is figure
    assert axes.drawn == [500, 500]


@pytest.mark.skipif(not has("matplotlib"), reason="Matplotlib is not installed")
def test_the_real_matplotlib(registered: pcr99.CloudRegistration) -> None:
    import matplotlib

    matplotlib.use("Agg")
    figure = pcr99.viz.show(registered, viewer="matplotlib", block=False)
    figure.canvas.draw()
    assert len(figure.axes[0].collections) == 2


@pytest.mark.skipif(not has("open3d"), reason="Open3D is not installed")
def test_the_real_open3d(registered: pcr99.CloudRegistration, problem: pcr99.Problem) -> None:
    result = registered.to_open3d()
    assert np.array_equal(result.transformation, registered.transform)
    assert (result.fitness, result.inlier_rmse) == (registered.fitness, registered.rmse)
    r = pcr99.solve(problem.source, problem.target)
    assert np.array_equal(np.asarray(r.to_open3d().correspondence_set), np.stack([r.inliers, r.inliers], axis=1))
    shown = pcr99.viz.show(registered, viewer="open3d", block=False)
    assert [len(cloud.points) for cloud in shown] == [3600, 3600]


def test_open3d_gets_registered_results_only(registered: pcr99.CloudRegistration, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    noise = pcr99.solve(rng.normal(size=(50, 3)), rng.normal(size=(50, 3)))
    with pytest.raises(pcr99.InvalidInput, match="not registered, so it has no transform for Open3D"):
        noise.to_open3d()
    monkeypatch.setitem(sys.modules, "open3d", None)
    monkeypatch.setitem(sys.modules, "open3d.pipelines.registration", None)
    with pytest.raises(pcr99.MissingPackage, match="pip install open3d"):
        registered.to_open3d()


def test_inlier_pairs_follow_the_indices(problem: pcr99.Problem) -> None:
    order = np.random.default_rng(2).permutation(len(problem.source))
    indices = np.stack([np.arange(len(order)), np.argsort(order)], axis=1)
    r = pcr99.solve(problem.source, problem.target[order], indices=indices)
    assert r and np.array_equal(r._inlier_pairs(), indices[r.inliers])


def test_viewpoints_of_clouds() -> None:
    source, target = hills(seed=1), hills(seed=2) @ TURN.T
    plain = pcr99.register(source, target)
    above = {"source_viewpoint": [3.0, 3.0, 10.0], "target_viewpoint": np.array([-3.0, 3.0, 10.0])}
    seen = pcr99.register(source, target, **above)
    prepared = pcr99.PreparedCloud(source, viewpoint=[3.0, 3.0, 10.0]), pcr99.PreparedCloud(target, viewpoint=[-3.0, 3.0, 10.0])
    assert seen and plain and seen == pcr99.register(*prepared)
    with pytest.raises(pcr99.InvalidInput, match="`source_viewpoint` must be three finite numbers"):
        pcr99.register(source, target, source_viewpoint=[1.0, 2.0])
    with pytest.raises(pcr99.InvalidInput, match="`target` is a PreparedCloud: pass `viewpoint` when it is made"):
        pcr99.register(source, prepared[1], target_viewpoint=[0.0, 0.0, 1.0])


def test_the_noise_bound_is_a_fifth_of_the_threshold(problem: pcr99.Problem) -> None:
    r = pcr99.solve(problem.source, problem.target, noise_bound=0.01)
    assert r == pcr99.solve(problem.source, problem.target, threshold=0.05)
