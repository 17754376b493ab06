"""Assembly of many scans to one map."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TURN, hills

import pcr99

RESULTS = ("poses.json", "poses.csv", "poses.tum", "poses.g2o", "edges.csv")

#: Motion of each scan from the common coordinates: a turn by so many quarters about z, and a shift.
MOTIONS = [(0, [0.0, 0.0, 0.0]), (1, [7.0, -3.0, 2.0]), (2, [-4.0, 5.0, 0.5])]


def moved(points: np.ndarray, scan: int) -> np.ndarray:
    quarters, shift = MOTIONS[scan]
    return points @ np.linalg.matrix_power(TURN, quarters).T + shift


@pytest.fixture(scope="module")
def scans() -> list[np.ndarray]:
    """Three scans of one surface, each with half of the next one, in coordinates of their own."""
    parts = []
    for scan in range(3):
        points = hills(9000, seed=10 + scan)
        inside = (points[:, 0] >= scan) & (points[:, 0] <= scan + 4)
        parts.append(moved(points[inside], scan))
    return parts


@pytest.fixture(scope="module")
def files(scans: list[np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("scans")
    paths = [place / f"{scan}.ply" for scan in range(3)]
    for path, points in zip(paths, scans):
        pcr99.write_points(path, points)
    return paths


@pytest.fixture(scope="module")
def found(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> pcr99.Assembly:
    return pcr99.assemble(files, tmp_path_factory.mktemp("project"), threads=2)


def written(output: Any) -> list[bytes]:
    return [(Path(output) / name).read_bytes() for name in RESULTS]


def largest_error(found: pcr99.Assembly) -> float:
    """Largest distance between the places of one point of the surface, as the scans have it."""
    point = np.array([[3.0, 2.0, 0.1]])
    places = []
    for scan, pose in enumerate(found.poses):
        assert pose is not None
        places.append(moved(point, scan)[0] @ pose[:3, :3].T + pose[:3, 3])
    return max(float(np.linalg.norm(a - b)) for a in places for b in places)


def test_what_comes_back(found: pcr99.Assembly, files: list[Path]) -> None:
    assert found and len(found) == 3 and found.new_pairs == 3 and found.seconds > 0
    assert largest_error(found) < 0.02
    assert [scan.name for scan in found] == [str(path) for path in files]
    assert {scan.status for scan in found} == {"placed"} and all(found.scans)
    assert found.components[0].members == (0, 1, 2) and found.components[0].edges == 3
    held = [scan.name for scan in found if scan.accuracy is None]
    assert held == [found.components[0].held]
    told = [scan.accuracy for scan in found if scan.accuracy is not None]
    assert all(0 < accuracy.translation < 0.2 and accuracy.scale is None for accuracy in told)
    assert [(edge.target, edge.source) for edge in found.edges] == [(0, 1), (0, 2), (1, 2)]
    assert all(edge.verdict in ("registered", "supported", "found") for edge in found.edges if edge)
    assert sum(map(bool, found.edges)) == 3
    assert found.merged == (found.output / "merged.ply",) and found.merged[0].exists()  # type: ignore[operator]
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_json() == (found.output / "poses.json").read_text(encoding="utf-8")  # type: ignore[operator]
    assert repr(found).startswith("<Assembly: 3 of 3 scans placed in 1 map; in ")
    again = pickle.loads(pickle.dumps(found))
    assert again.to_json() == found.to_json() and np.array_equal(again.poses[1], found.poses[1])
    with pytest.raises(ValueError, match="read-only"):
        found.poses[0][0, 0] = 2.0  # type: ignore[index]


def test_the_program_writes_the_same(found: pcr99.Assembly, files: list[Path], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pcr99", "assemble", *files, "--output", tmp_path / "out", "--threads", "1"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert written(tmp_path / "out") == written(found.output)
    # Either continues a project of the other.
    again = pcr99.assemble([], tmp_path / "out", resume=True)
    assert again.new_pairs == 0 and again.to_json() == found.to_json()


def test_scans_in_memory(found: pcr99.Assembly, scans: list[np.ndarray], tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "array": scans[0],
        "cloud/a": pcr99.Cloud(scans[1]),
        "prepared": pcr99.PreparedCloud(scans[2]),
    }
    nothing_kept = pcr99.assemble(given)
    assert [scan.name for scan in nothing_kept] == list(given) and nothing_kept.output is None and nothing_kept.merged == ()
    for pose, other in zip(nothing_kept.poses, found.poses):
        assert pose is not None and other is not None and np.abs(pose - other).max() < 1e-9
    first = pcr99.assemble(scans[:2], tmp_path / "out", merge=None)
    assert [scan.name for scan in first] == ["scan 0", "scan 1"] and first.new_pairs == 1
    # The same points are the same scans, also in another process.
    more = pcr99.assemble(scans, tmp_path / "out", resume=True, merge=None)
    assert more.new_pairs == 2 and len(more) == 3
    assert np.array_equal(more.poses[1], nothing_kept.poses[1])  # type: ignore[arg-type]


def test_scans_that_fail_are_rows(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("x,y,z\n")
    out = pcr99.assemble([*files[:2], tmp_path / "empty.csv", tmp_path / "nowhere.ply", files[0]], merge="all", progress=False)
    assert not out and [scan.status for scan in out] == ["placed", "placed", "failed", "failed"]
    assert out.poses[2] is None and "nowhere.ply" in out.scans[3].reason


def test_options(found: pcr99.Assembly, files: list[Path], tmp_path: Path) -> None:
    upright = pcr99.assemble(files, vertical=(0, 0, 1), tilt=0.5)
    assert upright and all(abs(pose[2, 2] - 1.0) < 1e-4 for pose in upright.poses if pose is not None)
    half = tmp_path / "half.ply"
    pcr99.write_points(half, 0.5 * pcr99.read_points(files[1]))
    scaled = pcr99.assemble([files[0], half], tmp_path / "out", scale=None, merge=0.5, merge_format="pcd", pair_pages=1)
    ratio = scaled.scans[1].scale / scaled.scans[0].scale  # type: ignore[operator]
    assert scaled and abs(ratio - 2.0) < 0.02
    assert [path.name for path in scaled.merged] == ["merged.pcd"] and (tmp_path / "out/pages/0-1.html").exists()
    seen: list[pcr99.Progress] = []
    pcr99.assemble(files[:2], progress=seen.append, chunk=1, cache=0, seed=3)
    assert seen[-1].finished == 1


def test_mistakes(found: pcr99.Assembly, files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(pcr99.InvalidInput, match="1 scan: an assembly needs at least two"):
        pcr99.assemble(files[:1])
    with pytest.raises(pcr99.InvalidType, match="put a single path into a list"):
        pcr99.assemble(str(files[0]))
    with pytest.raises(pcr99.InvalidType, match="names of scans"):
        pcr99.assemble({1: files[0]})  # type: ignore[dict-item]
    with pytest.raises(pcr99.InvalidInput, match=r"scans\['scan 1'\]"):
        pcr99.assemble([files[0], np.zeros((4, 2))])
    with pytest.raises(pcr99.InvalidInput, match="`resume` needs `output`"):
        pcr99.assemble(files, resume=True)
    with pytest.raises(pcr99.InvalidInput, match="same units"):
        pcr99.assemble(files, out, scale=2.0)
    with pytest.raises(pcr99.InvalidInput, match="`merge` is `some`"):
        pcr99.assemble(files, out, merge="some")
    with pytest.raises(pcr99.FileFormatError, match="merged.doc"):
        pcr99.assemble(files, out, merge_format="doc")
    with pytest.raises(pcr99.InvalidInput, match="`tilt` needs `vertical`"):
        pcr99.assemble(files, out, tilt=1.0)
    with pytest.raises(pcr99.InvalidInput, match="scene"):
        pcr99.assemble(files, out, same_rig="{scene}")
    assert found.output is not None
    with pytest.raises(pcr99.FileExists, match="resume=True"):
        pcr99.assemble(files, found.output)
    with pytest.raises(pcr99.FileError, match="same options"):
        pcr99.assemble(files, found.output, resume=True, scale=None)
    with pytest.raises(pcr99.FileExists, match="not the directory of a project"):
        pcr99.assemble(files, files[0].parent)


def test_on_ray(found: pcr99.Assembly, files: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    import pcr99.ray

    on_ray = pcr99.ray.assemble(files[:2], tmp_path / "out", num_cpus=1)
    assert on_ray.new_pairs == 1
    more = pcr99.ray.assemble(files, tmp_path / "out", num_cpus=1, resume=True, chunk=1)
    assert more.new_pairs == 2 and more.to_json() == found.to_json() and written(more.output) == written(found.output)
    with pytest.raises(pcr99.InvalidType, match="no option `threads`"):
        pcr99.ray.assemble(files, tmp_path / "other", threads=2)  # type: ignore[call-arg]


def test_known_places(files: list[Path], tmp_path: Path) -> None:
    world = np.array([500_000.0, 4_000_000.0, 100.0])
    surface = hills(6, seed=40)
    control = []
    for place, point in enumerate(surface):
        scan = place % 3
        slip = [1.0, 0.0, 0.0] if place == 4 else [0.0, 0.0, 0.0]
        control.append((f"P{place}", f"{scan}.ply", moved(point[None], scan)[0], world + point + slip, 0.01))
    tied = pcr99.assemble(files, tmp_path / "out", control=control)
    assert [place.is_used for place in tied.known_places] == [True, True, True, True, False, True]
    tie = tied.components[0].world
    assert tie is not None and tie.is_tied and (tie.places, tie.used) == (6, 5) and tie.rmse is not None and tie.rmse < 0.03
    point = np.array([[3.0, 2.0, 0.1]])
    for scan, pose in enumerate(tied.poses):
        assert pose is not None
        assert np.linalg.norm(moved(point, scan)[0] @ pose[:3, :3].T + pose[:3, 3] - world - point[0]) < 0.03
    # The file of the program does the same.
    rows = [",".join(map(str, (name, scan, *local, *there, sigma))) for name, scan, local, there, sigma in control]
    (tmp_path / "control.csv").write_text("name,scan,x,y,z,X,Y,Z,sigma\n" + "\n".join(rows) + "\n")
    again = pcr99.assemble([], tmp_path / "out", resume=True, control=tmp_path / "control.csv")
    assert again.new_pairs == 0 and again.to_json() == tied.to_json()
    origins = {f"{scan}.ply": (*(world + np.linalg.matrix_power(TURN, -MOTIONS[scan][0]) @ -np.array(MOTIONS[scan][1])), 0.02) for scan in range(3)}
    by_positions = pcr99.assemble([], tmp_path / "out", resume=True, positions=origins)
    assert by_positions.components[0].world is not None and by_positions.components[0].world.used == 3
    few = pcr99.assemble([], tmp_path / "out", resume=True, control=[pcr99.ControlPoint("P", None, (0, 0, 0), (1, 2, 3), 0.1)])
    assert few.components[0].world is not None and "3 are needed" in few.components[0].world.reason
    with pytest.raises(pcr99.InvalidInput, match="which the project does not have"):
        pcr99.assemble([], tmp_path / "out", resume=True, positions={"other.ply": (0, 0, 0, 1)})
    with pytest.raises(pcr99.InvalidType, match="a point must be"):
        pcr99.assemble(files, control=[("P", "0.ply")])  # type: ignore[list-item]
    with pytest.raises(pcr99.InvalidInput, match="sigma_z"):
        pcr99.assemble(files, positions={"0.ply": (0, 0, 0)})
