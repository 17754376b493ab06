"""Registration of two clouds, its stages, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import TURN, hills

import pcr99


class Open3dCloud:
    """Replacement for ``open3d.geometry.PointCloud``: vectors that NumPy can read."""

    class Vector:
        def __init__(self, rows: np.ndarray) -> None:
            self.rows = rows

        def __len__(self) -> int:
            return len(self.rows)

        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return np.array(self.rows, dtype=dtype)

    def __init__(self, points, normals=(), colors=()) -> None:
        shaped = [np.asarray(rows, dtype=float).reshape(-1, 3) for rows in (points, normals, colors)]
        self.points, self.normals, self.colors = map(self.Vector, shaped)


class Open3dTensorCloud:
    """Replacement for ``open3d.t.geometry.PointCloud``."""

    class Tensor:
        def __init__(self, rows: np.ndarray) -> None:
            self.rows = rows

        def cpu(self) -> Open3dTensorCloud.Tensor:
            return self

        def numpy(self) -> np.ndarray:
            return self.rows

    def __init__(self, points: np.ndarray) -> None:
        self.point = {"positions": self.Tensor(points.astype(np.float32))}


def test_the_pose_is_found(registered: pcr99.CloudRegistration) -> None:
    r = registered
    assert r and isinstance(r, pcr99.CloudRegistration)
    assert np.abs(r.rotation - TURN).max() < 0.01 and np.abs(r.translation - [7.0, -3.0, 2.0]).max() < 0.03
    assert r.fitness == r.fit.overlap_source > 0.9 and r.fit.overlap_target > 0.9 and r.fit.normal_agreement > 0.9 and r.rmse < 0.05
    assert r.fit.conflict_fraction < 0.1 and r.fit.off_plane_fraction > 0.5 and r.fit.residual_voxels < 0.5
    assert r.information.shape == (6, 6) and r.voxel > 0.0
    assert r.clouds["source"].points == 3600 and 0 < r.clouds["target"].sampled <= 3600
    assert r.candidates[0].fit.overlap_source > 0.9 and r.doubt is None and r.reason and r.inlier_rmse is None


def test_every_form_of_a_cloud(clouds, registered: pcr99.CloudRegistration, tmp_path: Path) -> None:
    source, target = clouds
    path = tmp_path / "target.npy"
    pcr99.write_points(path, target)
    forms = [path, str(path), bytes(path), pcr99.read_points(path), pcr99.Cloud(target), Open3dCloud(target), pcr99.PreparedCloud(target)]
    for form in forms:
        r = pcr99.register(Open3dCloud(source), form)
        assert r == registered, form
        is_file = isinstance(form, (str, bytes, Path))
        assert list(r.seconds)[:3] == (["total", "reading", "preparing"] if is_file else ["total", "preparing", "voxel size"])
        assert sum(r.seconds.values()) < 2.001 * r.seconds["total"]
    assert pcr99.register(source, Open3dTensorCloud(target))
    assert pcr99.register(source, target, threads=1) == registered


def test_open3d_conventions(clouds) -> None:
    source, target = clouds
    pairs = Open3dCloud.Vector(np.stack([np.arange(len(source))] * 2, axis=1).astype(np.int32))
    r = pcr99.solve(Open3dCloud(source), Open3dCloud(source @ TURN.T), indices=pairs)
    assert r and np.abs(r.rotation - TURN).max() < 1e-9
    assert np.array_equal(r.apply(Open3dCloud(source)), r.apply(source))
    # Tensors, and arrays of objects as a table with missing values has them.
    for form in (Open3dTensorCloud.Tensor, lambda rows: rows.astype(object)):
        assert pcr99.solve(form(source), form(source @ TURN.T), indices=pairs) == r
    up = np.tile([0.0, 0.0, 1.0], (len(target), 1))
    assert pcr99.register(Open3dCloud(source, up), Open3dCloud(target, up))


def test_unknown_scale(clouds) -> None:
    source, target = clouds
    r = pcr99.register(source, 3.0 * target, scale=None)
    assert r and abs(r.scale - 3.0) < 0.1 and r.information.shape == (7, 7)


def test_initial_and_refine(clouds, registered: pcr99.CloudRegistration) -> None:
    source, target = clouds
    start = registered.transform.copy()
    start[:3, 3] += 0.05
    for method in ("point-to-plane", "point-to-point"):
        r = pcr99.refine(source, target, start, method=method)
        assert r and np.abs(r.transform - registered.transform).max() < 0.03, method
    assert pcr99.register(source, target, refine=None).transform is not None
    assert pcr99.register(source, target, initial=start, refine="none").transform == pytest.approx(start)


def test_missing_points_are_counted(clouds) -> None:
    source, target = (cloud.copy() for cloud in clouds)
    source[:10] = np.nan
    target[5] = target[4]
    r = pcr99.register(source, target)
    assert r and r.clouds["source"].not_finite == 10 and r.clouds["target"].duplicates == 1
    prepared = pcr99.PreparedCloud(source)
    assert (prepared.given, prepared.not_finite, prepared.duplicates, len(prepared)) == (3600, 10, 0, 3590)
    assert prepared.center.shape == (3,)
    with pytest.raises(TypeError, match="cannot be pickled"):
        import pickle

        pickle.dumps(prepared)


def test_unrelated_clouds_are_not_registered() -> None:
    rng = np.random.default_rng(0)
    r = pcr99.register(hills(600), rng.normal(size=(600, 3)))
    assert not r and r.doubt and r.reason


def test_stages(clouds) -> None:
    source, target = clouds
    voxel = pcr99.suggest_voxel(source, target)
    sampled = [pcr99.voxel_down_sample(cloud, voxel) for cloud in clouds]
    assert all(100 < len(cloud) < 3600 for cloud in sampled)
    normals = [pcr99.estimate_normals(cloud, 2 * voxel) for cloud in sampled]
    lengths = np.linalg.norm(np.vstack(normals), axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-9) | (lengths == 0)) and (lengths > 0).mean() > 0.95
    features = [pcr99.fpfh(*each, 5 * voxel) for each in zip(sampled, normals)]
    assert features[0].descriptors.shape[1] == 33 and features[0].descriptors.dtype == np.float32
    assert np.allclose(features[0].unsigned.reshape(-1, 3, 11).sum(axis=2), 200.0, atol=0.1)
    mutual, all_pairs = (pcr99.match_features(*features, mutual=mutual) for mutual in (True, False))
    assert len(mutual) < len(all_pairs) and {*map(tuple, mutual)} <= {*map(tuple, all_pairs)}
    coarse = pcr99.solve(*sampled, indices=mutual)
    assert coarse and np.abs(coarse.rotation - TURN).max() < 0.1
    held = pcr99.verify(source, target, coarse.transform, voxel=voxel)
    assert held.overlap_source > 0.9 and held.normal_agreement > 0.8 and held.residual_voxels < 0.5
    assert pcr99.verify(source, target, np.eye(4)).overlap_source < 0.5


def test_features_of_open3d() -> None:
    class Feature:
        """Replacement for ``open3d.pipelines.registration.Feature``."""

        def __init__(self, rows: np.ndarray) -> None:
            self.data = rows.T

        def dimension(self) -> int:
            return len(self.data)

    rows = np.random.default_rng(0).random((40, 33)) * 100
    assert np.array_equal(pcr99.match_features(Feature(rows), Feature(rows[::-1])), pcr99.match_features(rows, rows[::-1]))


def test_stages_do_not_depend_on_threads_or_offset(clouds) -> None:
    cloud = clouds[0]
    for stage in (
        lambda threads: pcr99.voxel_down_sample(cloud, 0.2, threads=threads),
        lambda threads: pcr99.estimate_normals(cloud, 0.4, threads=threads),
        lambda threads: pcr99.fpfh(cloud, pcr99.estimate_normals(cloud, 0.4), 0.8, threads=threads).descriptors,
    ):
        assert np.array_equal(stage(1), stage(2))
    far = pcr99.voxel_down_sample(cloud + 2.0**22, 0.2)
    assert np.allclose(far - 2.0**22, pcr99.voxel_down_sample(cloud, 0.2), atol=1e-8)
    seen = pcr99.estimate_normals(cloud, 0.4, viewpoint=[3, 3, 100])
    assert (seen[:, 2] >= -0.2).all()


def test_bad_stages(clouds) -> None:
    cloud = clouds[0]
    normals = np.tile([0.0, 0.0, 1.0], (len(cloud), 1))
    for call, message in (
        (lambda: pcr99.voxel_down_sample(cloud, 0.0), "`voxel`"),
        (lambda: pcr99.voxel_down_sample(cloud, 1e-310), "larger voxels|`voxel`"),
        (lambda: pcr99.voxel_down_sample(cloud, 1e-9), "larger voxels"),
        (lambda: pcr99.estimate_normals(cloud, -1), "`radius`"),
        (lambda: pcr99.estimate_normals(cloud, 1, viewpoint=[1, 2]), "`viewpoint` must be three"),
        (lambda: pcr99.fpfh(cloud, normals[1:], 1.0), "3599 normals for 3600 points"),
        (lambda: pcr99.match_features(normals, normals), "N×33"),
        (lambda: pcr99.match_features(np.zeros((33, 9)), np.zeros((9, 33))), r"`source` is 33×9, Open3D's layout"),
        (lambda: pcr99.match_features(np.full((9, 33), np.nan), np.zeros((9, 33))), "`source` is not FPFH"),
        (lambda: pcr99.match_features(np.zeros((9, 33)), np.full((9, 33), 1e9)), "`target` is not FPFH"),
        (lambda: pcr99.verify(cloud, cloud, np.eye(4), voxel=0.0), "voxel"),
        (lambda: pcr99.suggest_voxel(cloud, scale=0), "scale"),
    ):
        with pytest.raises(pcr99.InvalidInput, match=message):
            call()
    assert len(pcr99.match_features(np.zeros((0, 33)), np.zeros((9, 33)))) == 0
    many = np.random.default_rng(0).random((40_000, 3))
    with pytest.raises(pcr99.OutOfMemory, match="smaller radius"):
        pcr99.fpfh(many, np.tile([0.0, 0.0, 1.0], (len(many), 1)), 10.0)


@pytest.mark.parametrize("extension", ["ply", "pcd", "xyz", "csv", "npy"])
def test_files(clouds, tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"cloud.{extension}"
    points = clouds[0][:100]
    pcr99.write_points(path, points)
    assert np.allclose(pcr99.read_points(path), points, atol=1e-5)
    colors = np.random.default_rng(0).integers(0, 256, (100, 3))
    normals = np.tile([0.0, 0.0, 1.0], (100, 1))
    pcr99.write_cloud(path, pcr99.Cloud(points, normals, colors, np.arange(100.0)))
    back = pcr99.read_cloud(path)
    assert np.allclose(back.normals, normals) and np.array_equal(back.colors, colors) and back.intensities[7] == 7.0
    pcr99.write_cloud(path, Open3dCloud(points, normals, colors / 255.0))
    assert np.array_equal(pcr99.read_cloud(path).colors, colors)


def test_losses_are_warned_of(tmp_path: Path) -> None:
    points = np.vstack([hills(20), [[np.nan] * 3]])
    with pytest.warns(UserWarning, match="removed 1 non-finite points"):
        pcr99.write_points(tmp_path / "a.xyz", points)
    with pytest.warns(UserWarning, match="the format cannot store viewpoint"):
        pcr99.write_cloud(tmp_path / "a.ply", pcr99.Cloud(points, viewpoint=np.zeros(3)))
    assert repr(pcr99.read_cloud(tmp_path / "a.xyz")) == "<Cloud: 20 points>"


def test_matches_in_files(problem: pcr99.Problem, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    pcr99.write_matches(path, problem.source, problem.target, weights=np.arange(1000.0))
    back = pcr99.read_matches(path)
    assert np.array_equal(back.source, problem.source) and np.array_equal(back.target, problem.target)
    assert np.array_equal(back.weights, np.arange(1000.0)) and back.standard_deviations is None
    pcr99.write_matches(path, problem.source, problem.target, standard_deviations=np.arange(1.0, 1001.0))
    back = pcr99.read_matches(path)
    assert back.weights is None and np.array_equal(back.standard_deviations, np.arange(1.0, 1001.0))
    with pytest.raises(pcr99.InvalidInput, match="999 target points"):
        pcr99.write_matches(tmp_path / "n.csv", problem.source, problem.target[1:])
    assert not (tmp_path / "n.csv").exists()


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file") as caught:
        pcr99.read_points(tmp_path / "none.ply")
    assert isinstance(caught.value, pcr99.FileError) and caught.value.errno == 2
    assert caught.value.filename == str(tmp_path / "none.ply")
    with pytest.raises(pcr99.FileError, match="it is a directory"):
        pcr99.read_points(tmp_path)
    broken = tmp_path / "broken.ply"
    broken.write_bytes(b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nend_header\n1\n")
    with pytest.raises(pcr99.FileFormatError, match="broken.ply"):
        pcr99.read_points(broken)
    with pytest.raises(ValueError):
        pcr99.register(broken, broken)
    for path in (tmp_path / "a.gif", tmp_path / "no" / "a.ply"):
        with pytest.raises(OSError, match="cannot write"):
            pcr99.write_points(path, hills(9))
    with pytest.raises(pcr99.InvalidType, match="`path` must be a path"):
        pcr99.read_points(3)
    with pytest.raises(pcr99.InvalidInput, match="null character"):
        pcr99.read_points("a\0b")
    with pytest.raises(pcr99.InvalidInput, match="colors"):
        pcr99.write_cloud(tmp_path / "c.ply", pcr99.Cloud(hills(9), colors=np.full((9, 3), 300)))
    rng = np.random.default_rng(0)
    for extension in ("ply", "pcd", "las", "laz", "e57", "npy", "obj", "bin", "xyz", "npz"):
        path = tmp_path / f"noise.{extension}"
        path.write_bytes(rng.bytes(1001))
        with pytest.raises(pcr99.FileFormatError):
            pcr99.read_cloud(path)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(("a.", "c."))) == []
