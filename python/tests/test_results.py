"""Results: read-only, comparable, picklable, and equal to the program's document."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

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


def test_accuracy_and_formats_of_pose_graphs() -> None:
    problem = pcr99.simulate(outliers=0.9, seed=1)
    r = pcr99.solve(problem.source, problem.target)
    assert r.accuracy is not None and str(r.accuracy) == r.to_dict()["accuracy"]["sentence"]
    assert r.accuracy.scale is None and r.accuracy.undetermined == ()
    covariance, information, center = r.covariance, r.information, r.information_center
    assert covariance is not None and information is not None and center is not None
    assert np.allclose(covariance @ information, np.eye(6), atol=1e-9)
    assert r.accuracy.translation == pytest.approx(1.96 * np.sqrt(np.linalg.eigvalsh(covariance[3:, 3:])[-1]))
    # Another point, and back: its translation is that of the motion there.
    there = r.covariance_about(center + [1.0, 2.0, 3.0])
    assert there is not None and there[3, 3] > covariance[3, 3] and np.allclose(there[:3, :3], covariance[:3, :3])
    for wrong in ([1.0, 2.0], "here", [np.nan, 0.0, 0.0]):
        with pytest.raises(pcr99.InvalidInput):
            r.covariance_about(wrong)
    assert len(r.to_tum(3.5).split()) == 8 and r.to_tum(3.5).startswith("3.5 ")
    assert r.transform is not None
    assert np.array_equal(np.array(r.to_kitti().split(), dtype=float), r.transform[:3].ravel())
    assert r.to_g2o(7, 9).startswith("EDGE_SE3:QUAT 7 9 ") and len(r.to_g2o().split()) == 3 + 7 + 21
    scaled = pcr99.solve(problem.source, 2.0 * problem.target, scale=None)
    assert scaled.covariance is not None and scaled.covariance.shape == (7, 7)
    for write in (scaled.to_tum, scaled.to_kitti, scaled.to_g2o, scaled.to_gtsam):
        with pytest.raises(pcr99.InvalidInput, match="rigid motions only"):
            write()


def test_gtsam_gets_the_covariance_of_its_own_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}

    class Gaussian:
        @staticmethod
        def Covariance(matrix: Any) -> str:  # noqa: N802
            made["covariance"] = matrix
            return "noise"

    stub = types.SimpleNamespace(Pose3=lambda matrix: ("pose", matrix), noiseModel=types.SimpleNamespace(Gaussian=Gaussian))
    problem = pcr99.simulate(outliers=0.5, seed=2)
    r = pcr99.solve(problem.source, problem.target)
    monkeypatch.setitem(sys.modules, "gtsam", None)
    with pytest.raises(pcr99.MissingPackage, match="pip install gtsam"):
        r.to_gtsam()
    monkeypatch.setitem(sys.modules, "gtsam", stub)
    pose, noise = r.to_gtsam()
    assert noise == "noise" and np.array_equal(pose[1], r.transform)
    # Rotations on the right have the covariance of those on the left, turned back.
    assert r.transform is not None and r.covariance is not None
    back = r.transform[:3, :3].T
    assert np.allclose(made["covariance"][:3, :3], back @ r.covariance[:3, :3] @ back.T)
    about = r.covariance_about(r.transform[:3, 3])
    assert about is not None
    assert np.allclose(made["covariance"][3:, 3:], back @ about[3:, 3:] @ back.T)
