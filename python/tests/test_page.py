"""Pages of results: the same as the program's, self-contained, and never written in part."""

from __future__ import annotations

import copy
import html
import json
import os
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import pcr99


@pytest.fixture(scope="module")
def solved(problem: pcr99.Problem) -> pcr99.Registration:
    return pcr99.solve(problem.source, problem.target)


def page_of(r: pcr99.Registration, path: Path, **options: object) -> str:
    r.save_page(path, **options)
    return path.read_text(encoding="utf-8")


def data_of(page: str) -> dict:
    data = json.loads(page.split('<script type="application/json">')[1].split("</script>")[0])
    return {**data, **data.pop("rest")}


def fetches(page: str) -> list:
    """Addresses that a browser would load. Scripts are skipped: the embedded library has addresses only in its texts."""
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    return [address for address in re.findall(r'(?:src|href)="([^"]*)"', outside) if not address.startswith("data:")]


def test_matches(solved: pcr99.Registration, problem: pcr99.Problem, tmp_path: Path) -> None:
    page = page_of(solved, tmp_path / "view.html", title='<script>alert("1")</script> & more')
    agree = f"<b>Registered:</b> {len(solved.inliers)} of {len(problem.source)}"
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    assert agree in page.replace("\u202f", "")
    assert fetches(page) == [] and "<script src" not in page and "default-src 'none'" in page
    assert "<script>alert" not in page and "<script>alert(" in html.unescape(page)
    assert f"pcr99 {pcr99.__version__}" in page
    assert "pcr99.solve(source, target).save_page(" in page
    # The page has the numbers of the result.
    copied = np.array([line.split() for line in data_of(page)["poses"][0]["copy"]["matrix"].splitlines()], dtype=float)
    assert np.array_equal(copied, solved.transform)
    assert sorted(os.listdir(tmp_path)) == ["view.html"]
    # Writing again gives the same bytes.
    assert page_of(solved, tmp_path / "view.html", title='<script>alert("1")</script> & more') == page


def test_like_the_program(problem: pcr99.Problem, tmp_path: Path) -> None:
    pcr99.write_matches(tmp_path / "m.txt", problem.source, problem.target)
    assert pcr99._core.main(["pcr99", "-q", "solve", str(tmp_path / "m.txt"), "--page", str(tmp_path / "a.html"), "-o", os.devnull], [sys.executable, "-m", "pcr99"]) == 0
    page = page_of(pcr99.solve(problem.source, problem.target), tmp_path / "b.html")
    assert data_of(page) == data_of((tmp_path / "a.html").read_text(encoding="utf-8"))


def test_indices(problem: pcr99.Problem, tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(len(problem.source))
    pairs = np.stack([np.arange(len(order)), order], axis=1)[: len(order) - 50]
    target = np.empty_like(problem.target)
    target[order] = problem.target
    r = pcr99.solve(problem.source, target, indices=pairs)
    data = data_of(page_of(r, tmp_path / "p.html"))
    assert not data["are_matches"] and len(data["source"]) == 3 * len(problem.source)
    back = pickle.loads(pickle.dumps(r))
    with pytest.raises(pcr99.InvalidInput, match=f"made from {len(pairs)} matches"):
        back.save_page(tmp_path / "q.html", source=problem.source, target=target)
    with pytest.raises(pcr99.InvalidInput, match="`target` is missing"):
        r.save_page(tmp_path / "q.html", source=problem.source)
    assert not (tmp_path / "q.html").exists()
    back.save_page(tmp_path / "q.html", source=problem.source[pairs[:, 0]], target=target[pairs[:, 1]])


def test_clouds(registered: pcr99.CloudRegistration, tmp_path: Path) -> None:
    page = page_of(registered, tmp_path / "view.html")
    assert "<b>Registered:</b>" in page and registered.reason in page and fetches(page) == []
    assert "pcr99.register(" in page
    data = data_of(page)
    assert len(data["index"]) > 0 and data["bins"] is not None
    assert sum(data["poses"][0]["counts"]) == registered.correspondences


def test_paths_and_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(40) * 0.1, np.arange(40) * 0.1))
    hills = np.stack([x, y, np.sin(1.9 * x) * np.cos(1.3 * y + 0.4) + 0.4 * np.sin(3.1 * x - 2.3 * y)], axis=1)
    turned = np.stack([7.0 - hills[:, 1], hills[:, 0], hills[:, 2] - 2.0], axis=1)
    pcr99.write_points(tmp_path / "<b>.ply", turned)
    monkeypatch.chdir(tmp_path)
    r = pcr99.register("<b>.ply", pcr99.PreparedCloud(np.vstack([hills, hills[:5], np.full((2, 3), np.nan)])), voxel=0.15, seed=np.int64(3))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    page = page_of(r, tmp_path / "view.html")
    assert "<b>.ply" not in page and "<b>.ply → target" in html.unescape(page)
    assert "pcr99.register('<b>.ply', target, voxel=0.15, seed=3).save_page(" in html.unescape(page)
    assert np.allclose(np.reshape(data_of(page)["target"], (-1, 3)), hills, atol=1e-4)
    (tmp_path / "<b>.ply").unlink()
    with pytest.raises(pcr99.FileNotFound, match="<b>.ply"):
        r.save_page(tmp_path / "again.html")
    r.save_page(tmp_path / "again.html", source=turned)


def test_points_are_a_reference(problem: pcr99.Problem, tmp_path: Path) -> None:
    source, target = problem.source.copy(), problem.target.copy()
    before = sys.getrefcount(source)
    r = pcr99.solve(source, target)
    assert sys.getrefcount(source) == before + 1
    assert r == pcr99.solve(problem.source, problem.target) and copy.copy(r) is r
    page = page_of(r, tmp_path / "view.html")
    source += 1.0
    with pytest.raises(pcr99.InvalidInput, match="changed since"):
        r.save_page(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text(encoding="utf-8") == page


def test_after_pickling(solved: pcr99.Registration, registered: pcr99.CloudRegistration, problem: pcr99.Problem, tmp_path: Path) -> None:
    assert len(pickle.dumps(solved)) < 20_000
    for r in (solved, registered):
        back = pickle.loads(pickle.dumps(r))
        assert back == r and hash(back) == hash(r)
        for only in ({}, {"source": problem.source}, {"target": problem.target}):
            with pytest.raises(pcr99.InvalidInput, match="pass them.*source=source, target=target"):
                back.save_page(tmp_path / "view.html", **only)
    assert os.listdir(tmp_path) == []
    back = pickle.loads(pickle.dumps(solved))
    page = page_of(back, tmp_path / "view.html", source=problem.source, target=problem.target)
    assert data_of(page) == data_of(page_of(solved, tmp_path / "other.html"))
    with pytest.raises(pcr99.InvalidInput, match="not the points of this registration"):
        back.save_page(tmp_path / "view.html", source=problem.target, target=problem.source)


def test_not_registered(tmp_path: Path) -> None:
    noise = np.random.default_rng(5).random((2, 60, 3))
    assert "<b>Not reliable:</b>" in page_of(pcr99.solve(*noise), tmp_path / "not.html")
    none = pcr99.solve([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 2]], [[0, 0, 0], [5, 0, 0], [0, 90, 0], [7, 7, 700]])
    assert none.status == "no_solution"
    assert "<b>No solution:</b>" in page_of(none, tmp_path / "none.html")


def test_bad_paths(solved: pcr99.Registration, tmp_path: Path) -> None:
    with pytest.raises(pcr99.FileError, match="is a directory") as caught:
        solved.save_page(tmp_path)
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(pcr99.FileNotFound, match="missing"):
        solved.save_page(tmp_path / "missing" / "view.html")
    with pytest.raises(pcr99.FileError):
        solved.save_page("/proc/view.html")
    for wrong, error in ((None, pcr99.InvalidType), (3, pcr99.InvalidType), ("a\0b", pcr99.InvalidInput)):
        with pytest.raises(error):
            solved.save_page(wrong)
    with pytest.raises(pcr99.InvalidType, match="title"):
        solved.save_page(tmp_path / "view.html", title=3)
    with pytest.raises(pcr99.InvalidInput, match="source"):
        solved.save_page(tmp_path / "view.html", source=np.zeros((3, 2)), target=np.zeros((3, 2)))
    assert os.listdir(tmp_path) == []
