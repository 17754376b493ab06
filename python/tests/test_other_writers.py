"""Files written by laspy and pye57, moved and converted by the program, and compared attribute by attribute by those libraries.

Each test is skipped where its library is not installed: `pip install laspy[lazrs] pye57`.
"""

import subprocess
import sys

import numpy as np
import pytest

ROTATION = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
CENTER = np.array([448000.0, 5411000.0, 0.0])
TRANSLATION = CENTER + [100.0, -50.0, 3.0] - ROTATION @ CENTER
COUNT = 2000
COORDINATES = ("X", "Y", "Z")
DIRECTIONS = ("normal_x", "normal_y", "normal_z", "x_t", "y_t", "z_t")


def run(*arguments):
    command = [sys.executable, "-m", "pcr99", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


@pytest.fixture
def pose(tmp_path):
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = ROTATION, TRANSLATION
    np.savetxt(tmp_path / "pose.txt", matrix, fmt="%.17g")
    return tmp_path / "pose.txt"


def las_file(laspy, path, point_format, version):
    """A file with random values in all attributes, extra bytes, normals and records."""
    random = np.random.default_rng(point_format)
    header = laspy.LasHeader(point_format=point_format, version=version)
    header.scales, header.offsets = [0.001] * 3, CENTER
    for name, kind in [("height", np.float32), ("label", np.uint16), ("normal_x", "f4"), ("normal_y", "f4"), ("normal_z", "f4")]:
        header.add_extra_dim(laspy.ExtraBytesParams(name, kind))
    las = laspy.LasData(header)
    las.x, las.y, las.z = (CENTER + random.uniform(0, 300, (COUNT, 3))).T
    for dimension in las.point_format.dimensions:
        name, kind = dimension.name, dimension.kind.name
        if name in COORDINATES:
            continue
        if kind == "FloatingPoint":
            las[name] = random.uniform(-1, 1, COUNT) if name in DIRECTIONS else random.uniform(1, 1e5, COUNT)
        else:
            bits = min(dimension.num_bits, 62) - (kind == "SignedInteger")
            las[name] = random.integers(0, 2**bits - 1, COUNT, endpoint=True)
    las.vlrs.append(laspy.VLR("mine", 7, "a record", b"abc" * 50))
    if version == "1.4":
        las.vlrs.append(laspy.VLR("LASF_Projection", 2112, "wkt", b'PROJCS["x"]\0'))
        las.header.global_encoding.wkt = True
        las.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("mine", 8, "a long record", b"xyz" * 30000)])
    las.write(path)


def places(las):
    return np.c_[las.x, las.y, las.z]


def records(las):
    found = list(las.vlrs) + list(las.evlrs or [])
    return [(r.user_id, r.record_id, r.record_data_bytes()) for r in found if "laszip" not in r.user_id]


@pytest.mark.parametrize("extension", ["las", "laz"])
@pytest.mark.parametrize("point_format, version", [(k, "1.2") for k in range(4)] + [(4, "1.3"), (5, "1.3")] + [(k, "1.4") for k in (1, 6, 7, 8, 9, 10)])
def test_las(tmp_path, pose, point_format, version, extension):
    laspy = pytest.importorskip("laspy")
    # Compressed by the program: laspy does not write waveforms of LAZ files correctly.
    las_file(laspy, tmp_path / "a.las", point_format, version)
    run("apply", pose, tmp_path / "a.las", tmp_path / f"b.{extension}")
    run("apply", pose, tmp_path / f"b.{extension}", tmp_path / "c.las", "--inverse")
    a, b, c = (laspy.read(tmp_path / name) for name in ("a.las", f"b.{extension}", "c.las"))
    moved = places(a) @ ROTATION.T + TRANSLATION
    assert abs(places(b) - moved).max() <= 0.000051
    assert np.allclose(b.header.mins, places(b).min(0)) and np.allclose(b.header.maxs, places(b).max(0))
    for name in a.point_format.dimension_names:
        if name not in COORDINATES + DIRECTIONS:
            assert np.array_equal(np.asarray(a[name]), np.asarray(b[name])), name
    for names in (DIRECTIONS[:3], DIRECTIONS[3:]):
        if names[0] in a.point_format.dimension_names:
            before, after = (np.column_stack([np.asarray(las[name], dtype=float) for name in names]) for las in (a, b))
            assert abs(before @ ROTATION.T - after).max() < 1e-6
    assert records(a) == records(b) == records(c)
    assert a.header.global_encoding.value == b.header.global_encoding.value
    steps = np.round((places(c) - a.header.offsets) / a.header.scales)
    assert np.array_equal(steps, np.c_[a.X, a.Y, a.Z])


@pytest.mark.parametrize("extension", ["ply", "pcd", "e57", "csv"])
def test_las_by_way_of_another_format(tmp_path, extension):
    laspy = pytest.importorskip("laspy")
    las_file(laspy, tmp_path / "a.las", 8, "1.4")
    said = run("convert", tmp_path / "a.las", tmp_path / f"b.{extension}")
    assert "record 7 of `mine`" in said and "record 8 of `mine`" in said
    run("convert", tmp_path / f"b.{extension}", tmp_path / "c.laz")
    a, c = laspy.read(tmp_path / "a.las"), laspy.read(tmp_path / "c.laz")
    assert abs(places(a) - places(c)).max() < 1e-6
    for name in a.point_format.dimension_names:
        before, after = np.asarray(a[name], dtype=float), None
        if name in ("red", "green", "blue"):
            assert abs(before - np.asarray(c[name], dtype=float)).max() <= 257, name  # eight of sixteen bits
        elif name not in COORDINATES:
            after = np.asarray(c[name], dtype=float)
            assert np.allclose(before, after, atol=0.0031 if name == "scan_angle" else 1e-6), name


def test_e57(tmp_path, pose):
    pye57 = pytest.importorskip("pye57")
    random = np.random.default_rng(1)
    file = pye57.E57(str(tmp_path / "a.e57"), mode="w")
    for number in range(3):
        turn = random.normal(size=4)
        turn /= np.linalg.norm(turn) * np.sign(turn[0])
        x, y, z = random.uniform(-20, 20, (3, COUNT))
        scan = {"cartesianX": x, "cartesianY": y, "cartesianZ": z, "intensity": random.uniform(0, 1, COUNT)}
        scan |= {f"color{name}": random.integers(0, 256, COUNT) for name in ("Red", "Green", "Blue")}
        scan |= {"rowIndex": np.arange(COUNT), "columnIndex": 2 * np.arange(COUNT)}
        file.write_scan_raw(scan, name=f"scan {number}", rotation=turn, translation=random.uniform(-9, 9, 3))
    file.close()
    run("apply", pose, tmp_path / "a.e57", tmp_path / "b.e57")
    a, b = pye57.E57(str(tmp_path / "a.e57")), pye57.E57(str(tmp_path / "b.e57"))
    assert a.scan_count == b.scan_count == 3
    for number in range(3):
        before, after = a.read_scan_raw(number), b.read_scan_raw(number)
        assert before.keys() == after.keys()
        assert all(np.array_equal(before[name], after[name]) for name in before)
        p, q = (np.column_stack([scan[f"cartesian{k}"] for k in "XYZ"]) for scan in (f.read_scan(number, ignore_missing_fields=True) for f in (a, b)))
        assert abs(p @ ROTATION.T + TRANSLATION - q).max() < 1e-6
    run("convert", f"{tmp_path / 'a.e57'}#1", tmp_path / "c.e57")
    c = pye57.E57(str(tmp_path / "c.e57"))
    one, other = a.read_scan(1, ignore_missing_fields=True), c.read_scan(0, ignore_missing_fields=True)
    assert c.scan_count == 1 and abs(one["cartesianX"] - other["cartesianX"]).max() < 1e-9
