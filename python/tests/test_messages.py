"""The program and the package give the same message for the same mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import hills

import pcr99

#: Mistakes in the options of ``solve``: arguments of the program, and options of the package.
SOLVE: list[tuple[list[str], dict[str, Any]]] = [
    (["--threshold", "0"], {"threshold": 0.0}),
    (["--threshold", "1", "--noise-bound", "0.2"], {"threshold": 1.0, "noise_bound": 0.2}),
    (["--noise-bound", "-1"], {"noise_bound": -1.0}),
    (["--scale", "0"], {"scale": 0.0}),
    (["--scale", "5..1"], {"scale": (5, 1)}),
    (["--time-limit", "-1"], {"time_limit": -1.0}),
    (["--method", "paper"], {"method": "paper"}),
    (["--method", "ransac", "--threshold", "1", "--candidates", "3"], {"method": "ransac", "threshold": 1.0, "candidates": 3}),
    (["--epsilon", "0.1"], {"epsilon": 0.1}),
    (["--method", "paper", "--threshold", "1", "--scale", "1..2"], {"method": "paper", "threshold": 1.0, "scale": (1, 2)}),
    (["--method", "daniel", "--threshold", "1", "--scale", "unknown"], {"method": "daniel", "threshold": 1.0, "scale": None}),
    (["--effort", "0"], {"effort": 0}),
    (["--miss-probability", "2"], {"miss_probability": 2.0}),
    (["--correlation-length", "-1"], {"correlation_length": -1.0}),
    (["--vertical", "source=0,0,0", "target=0,0,1"], {"vertical": ((0, 0, 0), (0, 0, 1))}),
    (["--vertical", "source=0,0,1", "source=0,0,1"], {"vertical": "source=0,0,1"}),
    (["--tilt", "2"], {"tilt": 2.0}),
    (["--threads", "0"], {"threads": 0}),
]

#: Mistakes in the options of ``register``.
REGISTER: list[tuple[list[str], dict[str, Any]]] = [
    (["--voxel", "-1"], {"voxel": -1.0}),
    (["--initial", "double.txt"], {"initial": np.diag([2.0, 2.0, 2.0, 1.0])}),
    (["--initial", "double.txt", "--scale", "3..4"], {"initial": np.diag([2.0, 2.0, 2.0, 1.0]), "scale": (3, 4)}),
    (["--vertical", "source=0,0,1", "target=0,0,1", "--tilt", "90"], {"vertical": (0, 0, 1), "tilt": 90.0}),
    (["--time-limit", "0"], {"time_limit": 0.0}),
]


def program(directory: Path, *arguments: str) -> str:
    """Message of the program, without `error: `."""
    command = [sys.executable, "-m", "pcr99", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.startswith("error: "), done.stderr
    return done.stderr.removeprefix("error: ").strip()


@pytest.fixture(scope="module")
def directory(problem: pcr99.Problem, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("messages")
    pcr99.write_matches(directory / "matches.csv", problem.source, problem.target)
    pcr99.write_points(directory / "a.npy", hills(300, 1))
    pcr99.write_points(directory / "b.npy", hills(300, 2))
    np.savetxt(directory / "double.txt", np.diag([2.0, 2.0, 2.0, 1.0]))
    return directory


@pytest.mark.parametrize(("arguments", "options"), SOLVE, ids=[" ".join(arguments) for arguments, _ in SOLVE])
def test_solve(directory: Path, problem: pcr99.Problem, arguments: list[str], options: dict[str, Any]) -> None:
    with pytest.raises(pcr99.InvalidInput) as caught:
        pcr99.solve(problem.source, problem.target, **options)
    assert str(caught.value) in program(directory, "solve", "matches.csv", *arguments)


@pytest.mark.parametrize(("arguments", "options"), REGISTER, ids=[" ".join(arguments) for arguments, _ in REGISTER])
def test_register(directory: Path, arguments: list[str], options: dict[str, Any]) -> None:
    with pytest.raises(pcr99.InvalidInput) as caught:
        pcr99.register(hills(300, 1), hills(300, 2), **options)
    assert str(caught.value) in program(directory, "register", "a.npy", "b.npy", *arguments)


def test_batch(directory: Path, tmp_path: Path) -> None:
    row = {"pair_id": "a", "pairs": str(directory / "matches.csv"), "method": "paper"}
    with pytest.raises(pcr99.InvalidInput) as in_rows:
        pcr99.batch([row], tmp_path / "out")
    with pytest.raises(pcr99.InvalidInput) as alone:
        matches = pcr99.read_matches(row["pairs"])
        pcr99.solve(matches.source, matches.target, method="paper")
    assert str(in_rows.value).endswith(str(alone.value))
