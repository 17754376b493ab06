"""Fixtures and helpers of the tests."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

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
    """A thousand matches, a hundred of them correct."""
    return pcr99.simulate(outliers=0.9, seed=1)


@pytest.fixture(scope="session")
def clouds() -> tuple[np.ndarray, np.ndarray]:
    """Two samples of one surface; the second is turned and moved."""
    return hills(seed=1), hills(seed=2) @ TURN.T + [7.0, -3.0, 2.0]


@pytest.fixture(scope="session")
def registered(clouds: tuple[np.ndarray, np.ndarray]) -> pcr99.CloudRegistration:
    """The registration of these clouds."""
    return pcr99.register(*clouds)


RESULTS = ("results.csv", "results.jsonl")


def written(directory: Path) -> list[bytes]:
    return [(directory / name).read_bytes() for name in RESULTS]


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with clouds and matches."""
    directory = tmp_path_factory.mktemp("pairs")
    for seed in range(6):
        problem = pcr99.simulate(outliers=0.9, scale=2.0 if seed == 5 else 1.0, seed=seed)
        pcr99.write_matches(directory / f"{seed}.csv", problem.source, problem.target)
    noise = pcr99.simulate(points=60, outliers=1.0, seed=9)
    pcr99.write_matches(directory / "noise.csv", noise.source, noise.target)
    pcr99.write_points(directory / "a.ply", hills(1500, 1))
    pcr99.write_points(directory / "b.ply", hills(1500, 2) + [1.0, 2.0, 3.0])
    (directory / "broken.csv").write_text("1 2 3\n")
    return directory


@pytest.fixture(scope="session")
def rows() -> list[dict[str, Any]]:
    """Pairs of all kinds. Three are not registered."""
    matches = [{"pair_id": f"m{seed}", "pairs": f"{seed}.csv", "seed": seed} for seed in range(5)]
    return [
        *matches,
        {"pair_id": "scaled, “so”", "pairs": "5.csv", "scale": "unknown", "threshold": 0.125},
        {"pair_id": "noise", "pairs": "noise.csv"},
        {"pair_id": "clouds", "source": "a.ply", "target": "b.ply", "voxel": 0.25},
        {"pair_id": "broken", "pairs": "broken.csv"},
        {"pair_id": "nowhere", "source": "a.ply", "target": "nowhere.ply"},
    ]


@pytest.fixture(scope="session")
def manifest(place: Path, rows: list[dict[str, Any]]) -> Path:
    return write_csv(place / "pairs.csv", rows)


@pytest.fixture(scope="session")
def done(manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> pcr99.BatchResult:
    return pcr99.batch(manifest, tmp_path_factory.mktemp("batch") / "out")


def slow_pairs(directory: Path, count: int = 60, points: int = 400) -> Path:
    """A manifest of equal pairs that take long to search."""
    rng = np.random.default_rng(0)
    pcr99.write_matches(directory / "slow.csv", rng.random((points, 3)), rng.random((points, 3)))
    rows = [{"pair_id": str(i), "pairs": "slow.csv"} for i in range(count)]
    return write_csv(directory / "slow_pairs.csv", rows)


def finished(directory: Path) -> int:
    """Number of pairs in part files."""
    return sum(len(part.read_bytes().splitlines()) - 1 for part in directory.glob("parts/part-*.jsonl"))


def wait_for(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timeout"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """A slow manifest and its expected results."""
    directory = tmp_path_factory.mktemp("slow")
    manifest = slow_pairs(directory)
    return manifest, written(pcr99.batch(manifest, directory / "out").output)
