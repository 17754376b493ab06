"""Compares our normals and FPFH with Open3D's on a small cloud of our own.

Reads what the example `dented_ball` of pcr99-cloud wrote, has Open3D compute the same, and writes the agreement of all points
as JSON and Open3D's values of some points as CSV, which a test of pcr99-cloud reads. `cargo xtask compare` calls this.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import open3d as o3d

# So many points go to the reference of the test, evenly spread over the list.
REFERENCE_POINTS = 20


def outward(normals, points):
    """Normals that point away from the origin, which is inside."""
    return normals * np.sign(np.sum(normals * points, axis=1, keepdims=True))


def fpfh(points, normals, radius):
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    cloud.normals = o3d.utility.Vector3dVector(normals)
    search = o3d.geometry.KDTreeSearchParamRadius(radius)
    return np.asarray(o3d.pipelines.registration.compute_fpfh_feature(cloud, search).data).T


def correlations(a, b):
    """Pearson's, of each row."""
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    return np.sum(a * b, axis=1) / np.sqrt(np.sum(a * a, axis=1) * np.sum(b * b, axis=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="directory of the example's .npy files")
    parser.add_argument("--summary", type=Path, required=True, help="the JSON to write")
    parser.add_argument("--reference", type=Path, required=True, help="the CSV to write")
    options = parser.parse_args()

    points, normals, descriptors, radii = (
        np.load(options.work / f"{name}.npy") for name in ("points", "normals", "descriptors", "radii")
    )
    normal_radius, feature_radius = radii[0]
    cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points))
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamRadius(normal_radius))
    their_normals = outward(np.asarray(cloud.normals), points)
    their_descriptors = fpfh(points, their_normals, feature_radius)
    same_normals = fpfh(points, normals, feature_radius)

    # The arc tangent tells small angles from rounding, which the arc cosine does not.
    crossed = np.linalg.norm(np.cross(normals, their_normals), axis=1)
    degrees = np.degrees(np.arctan2(crossed, np.sum(normals * their_normals, axis=1)))
    summary = {
        "open3d": o3d.__version__,
        "points": len(points),
        "normal_radius": normal_radius,
        "feature_radius": feature_radius,
        "normals": {"angle_degrees": {"median": significant(np.median(degrees)), "largest": significant(degrees.max())}},
        "fpfh_each_with_own_normals": compare(descriptors, their_descriptors),
        "fpfh_with_the_same_normals": compare(descriptors, same_normals),
    }
    options.summary.write_text(json.dumps(summary, indent=2) + "\n")

    chosen = np.arange(REFERENCE_POINTS) * (len(points) // REFERENCE_POINTS)
    with open(options.reference, "w") as file:
        file.write(f"# Open3D {o3d.__version__}: index, point (3), normal (3), FPFH (33); radii {normal_radius}, {feature_radius}\n")
        for i in chosen:
            values = [*points[i], *their_normals[i]]
            numbers = [f"{x:.9f}" for x in values] + [f"{x:.4f}" for x in their_descriptors[i]]
            file.write(f"{i},{','.join(numbers)}\n")


def compare(ours, theirs):
    agreement = correlations(ours, theirs)
    return {
        "correlation": {"median": round(float(np.median(agreement)), 6), "least": round(float(agreement.min()), 6)},
        "largest_difference_of_200": significant(np.abs(ours - theirs).max()),
    }


def significant(value):
    return float(f"{value:.2g}")


if __name__ == "__main__":
    main()
