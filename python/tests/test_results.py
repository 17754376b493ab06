"""Results: read-only, comparable, picklable, and equal to the program's document."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pcr99


@pytest.fixture(scope="module")
def solved(problem: pcr99.Problem) -> pcr99.Registration:
    return pcr99.solve(problem.source, problem.target)


def without_times(document: dict) -> dict:
    """The fields that do not depend on times or on the names of files."""
    return {name: value for name, value in document.items() if name not in ("seconds", "inputs")}


def test_frozen(solved: pcr99.Registration, registered: pcr99.CloudRegistration) -> None:
    for r in (solved, registered):
        for array in (r.transform, r.rotation, r.translation, r.inliers, r.inlier_mask, r.candidates[0].transform):
            with pytest.raises(ValueError):
                array[...] = 0
        with pytest.raises(AttributeError):
            r.status = "registered"
        with pytest.raises(AttributeError):
            del r.status
        with pytest.raises(AttributeError):
            r.other = 1
        with pytest.raises(AttributeError):
            r.candidates[0].inlier_count = 3
        with pytest.raises(AttributeError):
            del r.candidates[0].inlier_count
        with pytest.raises(TypeError):
            r.seconds["total"] = 0.0
        r.to_dict()["transform"][0][0] = 99.0
        assert r.to_dict()["transform"][0][0] != 99.0


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(solved: pcr99.Registration, registered: pcr99.CloudRegistration, protocol: int) -> None:
    for r in (solved, registered, solved.candidates[0], registered.candidates[0], solved.evidence, solved.counters, registered.fit):
        back = pickle.loads(pickle.dumps(r, protocol))
        assert back == r and type(back) is type(r) and hash(back) == hash(r)
    back = pickle.loads(pickle.dumps(solved, protocol))
    assert back.to_json() == solved.to_json() and not back.inliers.flags.writeable
    assert copy.deepcopy(solved) == solved == copy.copy(solved)


def test_compare(problem: pcr99.Problem, solved: pcr99.Registration) -> None:
    again = pcr99.solve(problem.source, problem.target, threads=1)
    assert again == solved and hash(again) == hash(solved) and len({again, solved}) == 1
    other = pcr99.solve(problem.source, problem.target, threshold=0.04)
    assert other != solved and solved != "registered" and solved != None  # noqa: E711


def test_pickled_exceptions() -> None:
    for error in (pcr99.InvalidInput("a"), pcr99.FileNotFound("b"), pcr99.FileFormatError("c"), pcr99.InternalError("d")):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error) and str(back) == str(error)
    try:
        pcr99.read_points("none.ply")
    except pcr99.FileNotFound as error:
        back = pickle.loads(pickle.dumps(error))
        assert (str(back), back.errno, back.filename) == (str(error), 2, "none.ply")
    assert issubclass(pcr99.InvalidInput, ValueError) and issubclass(pcr99.FileError, OSError)
    assert issubclass(pcr99.FileNotFound, FileNotFoundError) and issubclass(pcr99.OutOfMemory, MemoryError)
    assert issubclass(pcr99.FileFormatError, (ValueError,)) and issubclass(pcr99.InvalidType, TypeError)


def run(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "pcr99", *arguments], capture_output=True, text=True, check=False)


def test_the_program_prints_the_same_document(
    problem: pcr99.Problem, solved: pcr99.Registration, clouds, registered: pcr99.CloudRegistration, tmp_path: Path
) -> None:
    pcr99.write_matches(tmp_path / "matches.csv", problem.source, problem.target)
    printed = run("solve", str(tmp_path / "matches.csv"), "--json")
    assert printed.returncode == 0 and without_times(json.loads(printed.stdout)) == without_times(solved.to_dict())
    assert list(json.loads(printed.stdout)) == list(solved.to_dict())
    assert solved.to_json().splitlines()[:4] == printed.stdout.splitlines()[:4]
    for name, cloud in zip(("a.npy", "b.npy"), clouds):
        pcr99.write_points(tmp_path / name, cloud)
    printed = run("register", str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), "--json")
    assert printed.returncode == 0 and without_times(json.loads(printed.stdout)) == without_times(registered.to_dict())
    assert list(json.loads(printed.stdout)) == list(registered.to_dict())
    assert json.loads(registered.to_json()) == registered.to_dict()


def test_repr(solved: pcr99.Registration, registered: pcr99.CloudRegistration) -> None:
    for r in (solved, registered, solved.candidates[0]):
        assert "\n" not in repr(r) and repr(r).startswith("<") and len(repr(r)) < 200
    page = solved._repr_html_()
    assert page.count("<tr>") >= 8 and "registered" in page and "transform, source to target" in page
    nothing = pcr99.solve(np.random.default_rng(0).random((4, 3)), np.random.default_rng(1).random((4, 3)))
    assert nothing._repr_html_() and repr(nothing)
    if nothing.transform is None:
        with pytest.raises(pcr99.InvalidInput, match="no transform"):
            nothing.apply([[0, 0, 0]])


def test_apply(problem: pcr99.Problem, solved: pcr99.Registration) -> None:
    moved = solved.apply(problem.source)
    assert np.allclose(moved, problem.source @ solved.transform[:3, :3].T + solved.translation)
    with pytest.raises(pcr99.InvalidInput):
        solved.apply(problem.source.T)
