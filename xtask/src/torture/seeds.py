"""Writes small valid files with other programs' writers, as far as they are installed: ``python seeds.py DIRECTORY``."""

import contextlib
import pathlib
import sys

import numpy as np

place = pathlib.Path(sys.argv[1])
place.mkdir(parents=True, exist_ok=True)
random = np.random.default_rng(1)
points = random.normal(size=(12, 3)) + [448_262.0, 5_411_932.0, 300.0]

np.save(place / "double.npy", points)
np.save(place / "fortran.npy", np.asfortranarray(points))
np.save(place / "big.npy", points.astype(">f4"))
np.savez(place / "two.npz", src=points, dst=points)
np.savez_compressed(place / "small.npz", src=points, dst=points)
np.savetxt(place / "table.txt", points)

with contextlib.suppress(ImportError):
    import laspy

    for number in range(11):
        header = laspy.LasHeader(point_format=number, version="1.4")
        header.offsets, header.scales = points[0], [0.001] * 3
        if number % 2:
            header.add_extra_dim(laspy.ExtraBytesParams(name="height", type=np.float32))
        las = laspy.LasData(header)
        las.x, las.y, las.z = points.T
        las.intensity = np.arange(len(points))
        if number in (2, 3, 5, 7, 8, 10):
            las.red = np.arange(len(points)) * 256
        las.write(place / f"laspy{number}.las")
        with contextlib.suppress(Exception):  # Not every compressor takes every format.
            las.write(place / f"laspy{number}.laz")

with contextlib.suppress(ImportError):
    import pye57

    with contextlib.suppress(Exception):
        file = pye57.E57(str(place / "pye57.e57"), mode="w")
        x, y, z = points.T
        file.write_scan_raw({"cartesianX": x.copy(), "cartesianY": y.copy(), "cartesianZ": z.copy()})
        file.close()

with contextlib.suppress(ImportError):
    import open3d

    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    cloud.paint_uniform_color([0.5, 0.2, 0.1])
    for name in ("open3d.ply", "open3d.pcd", "open3d.xyz", "open3d.pts"):
        open3d.io.write_point_cloud(str(place / name), cloud)
    open3d.io.write_point_cloud(str(place / "compressed.pcd"), cloud, compressed=True)
    open3d.io.write_point_cloud(str(place / "ascii.ply"), cloud, write_ascii=True)
