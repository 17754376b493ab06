"""What the tests share."""

from __future__ import annotations

import numpy as np
import pytest

import pcr99


def hills(count: int = 3600, seed: int = 0) -> np.ndarray:
    """A surface without symmetry."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0, 6, count), rng.uniform(0, 6, count)
    z = np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)
    return np.stack([x, y, z], axis=1)


TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.fixture(scope="session")
def problem() -> pcr99.Problem:
    """A hundred right matches among a thousand."""
    return pcr99.simulate(outliers=0.9, seed=1)


@pytest.fixture(scope="session")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    """A cloud and the same turned and moved, sampled anew."""
    return hills(seed=1), hills(seed=2) @ TURN.T + [7.0, -3.0, 2.0]


@pytest.fixture(scope="session")
def registered(clouds: tuple[np.ndarray, np.ndarray]) -> pcr99.CloudRegistration:
    """Their registration."""
    return pcr99.register(*clouds)
