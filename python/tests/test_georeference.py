"""The transform of control points."""

from __future__ import annotations

import numpy as np
import pytest

import pcr99


def points(seed: int = 0, count: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    local = rng.uniform(0, 20, (count, 3))
    world = np.stack([500_000 - local[:, 1], 4_000_000 + local[:, 0], 100 + local[:, 2]], axis=1)
    return local, world + rng.normal(0, 0.005, world.shape)


@pytest.mark.parametrize("sigma", [None, 0.005, [0.005] * 8])
def test_gross_errors_are_named(sigma: object) -> None:
    local, world = points()
    world[2] += [0.3, 0.0, 0.0]
    found = pcr99.georeference(local, world, sigma=sigma)  # type: ignore[arg-type]
    assert found and found.gross_errors == ("2",) and found.is_used.sum() == 7
    assert np.linalg.norm(found.transform[:3, :3] - [[0, -1, 0], [1, 0, 0], [0, 0, 1]]) < 0.002
    assert np.abs(found.residuals[2] - [0.3, 0.0, 0.0]).max() < 0.03
    assert found.rmse < 0.02 and found.redundancy == 15 and found.covariance.shape == (6, 6)
    assert "±" in found.accuracy and "would be found" in found.check
    assert repr(found).startswith("<Georeference: 7 of 8 points agree, without 2; rmse 0.0")


def test_scale_and_vertical() -> None:
    local, world = points(seed=1)
    scaled = pcr99.georeference(2.0 * local, world, scale=None)
    assert abs(scaled.scale - 0.5) < 0.001 and scaled.covariance.shape == (7, 7)
    upright = pcr99.georeference(local[:2], world[:2], vertical=(0, 0, 1), sigma=0.01)
    assert upright and upright.transform[2, 2] == 1.0 and "nothing checks them" in upright.check


def test_mistakes() -> None:
    local, world = points()
    with pytest.raises(pcr99.InvalidInput, match="2 control points, but 3 are needed"):
        pcr99.georeference(local[:2], world[:2])
    with pytest.raises(pcr99.InvalidInput, match="lie on one line"):
        pcr99.georeference([[0, 0, 0], [1, 0, 0], [2, 0, 0]], world[:3])
    with pytest.raises(pcr99.InvalidInput, match="row i of one must match"):
        pcr99.georeference(local[:3], world[:4])
    with pytest.raises(pcr99.InvalidInput, match="one for each"):
        pcr99.georeference(local, world, names=["a"])
    with pytest.raises(pcr99.InvalidInput, match="both named `a`"):
        pcr99.georeference(local, world, names=["a"] * 8)
    with pytest.raises(pcr99.InvalidInput, match="standard deviation"):
        pcr99.georeference(local, world, sigma=-1.0)
