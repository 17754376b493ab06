"""Refines the same clouds from the same poses with pcr99, small_gicp and Open3D, and writes one CSV row for each run.

Every run gets the points in memory, one CPU, and is measured by its CPU time from points to pose. The example `accuracy` of pcr99-cloud makes the
problems and runs pcr99. `cargo xtask compare` calls this with its own Python environment.
"""

import argparse
import csv
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

# One CPU for this process and what it starts, before any library counts the CPUs: thread pools then have one thread.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import open3d as o3d  # noqa: E402
import small_gicp  # noqa: E402

# Points farther apart than this many of our voxels are not paired. The starts are off by a fifth of a voxel along each axis.
GATE = 1.0
# Neighbours for normals and covariances: the default of small_gicp.
NEIGHBOURS = 20
ITERATIONS = 50
# Steps of small_gicp below these, in radians and gates, are the last. Its default of a millimetre ends before the noise is reached. Open3D keeps its default.
LAST_TURN, LAST_SHIFT = 1e-5, 1e-4
FIRST_SEED = 5001

registration = o3d.pipelines.registration

# Scene, points of source and target, noise in metres, overlap, strays as a fraction of the points, and the share of the seeds that run.
SCENES = ("room", "hall", "field", "street", "corridor", "object")
GENERATED = (
    [(scene, 15_000, 15_000, 0.01, 1.0, 0.0, 1.0) for scene in SCENES]
    + [
        ("room", 20_000, 20_000, 0.01, 0.4, 0.0, 1.0),
        ("room", 20_000, 20_000, 0.01, 1.0, 0.1, 1.0),
        ("room", 10_000, 60_000, 0.01, 1.0, 0.0, 1.0),
        ("field", 15_000, 15_000, 0.01, 0.5, 0.0, 1.0),
    ]
    + [(scene, 100_000, 100_000, 0.01, 1.0, 0.0, 0.1) for scene in SCENES]
    + [(scene, 600_000, 600_000, 0.01, 1.0, 0.0, 0.02) for scene in ("room", "hall", "street")]
)
SETS = {"facade": [f"{k}.pcd" for k in range(7)], "kitchen": [f"{k}.ply" for k in range(6)]}
RIG = ("left", "right", "top")


class Found:
    """A pose, and covariances of the small motion (rotation, translation) about `center` that leads from it to the truth."""

    def __init__(self, pose, seconds, covariances):
        self.pose, self.seconds, self.covariances = pose, seconds, covariances


class Problem:
    """Two clouds, and what the example says of them."""

    def __init__(self, work, line):
        self.source, self.target = (np.load(work / f"{name}.npy") for name in ("source", "target"))
        self.start, self.center = np.array(line["start"]), np.array(line["center"] or self.target.mean(axis=0))
        self.truth = None if line["truth"] is None else np.array(line["truth"])
        self.gate, self.registered = GATE * line["voxel"], line["registered"]
        covariances = [] if line["covariance"] is None else [np.array(line["covariance"])]
        self.ours = Found(np.array(line["pose"] or line["start"]), line["seconds"], covariances)


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def moved_center(covariance, by):
    """The covariance about a center that is farther by `by`."""
    change = np.eye(6)
    change[3:, :3] = -skew(by)
    return change @ covariance @ change.T


def in_frame(covariance, rotation):
    change = np.kron(np.eye(2), rotation)
    return change @ covariance @ change.T


def difference(found, truth, center):
    """The small motion about `center` by which two poses differ, in target coordinates."""
    turn = found[:3, :3] @ truth[:3, :3].T
    place = truth[:3, :3].T @ (center - truth[:3, 3])
    shift = found[:3, :3] @ place + found[:3, 3] - center
    return np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1], *(2 * shift)]) / 2


def inverse(matrix):
    return np.linalg.pinv(matrix, rcond=1e-15, hermitian=True)


def gicp(problem):
    """small_gicp on all points. Its H is that of a small motion on the right, in the axes of the source: as it is, and with the noise from the residuals."""
    start = time.process_time()
    target, source = small_gicp.PointCloud(problem.target), small_gicp.PointCloud(problem.source)
    trees = small_gicp.KdTree(target), small_gicp.KdTree(source)
    for cloud, tree in zip((target, source), trees):
        small_gicp.estimate_normals_covariances(cloud, tree, num_neighbors=NEIGHBOURS, num_threads=1)
    found = small_gicp.align(
        target,
        source,
        trees[0],
        problem.start,
        registration_type="GICP",
        max_correspondence_distance=problem.gate,
        num_threads=1,
        max_iterations=ITERATIONS,
        rotation_epsilon=LAST_TURN,
        translation_epsilon=LAST_SHIFT * problem.gate,
    )
    seconds = time.process_time() - start
    pose = found.T_target_source
    here = pose[:3, :3].T @ (problem.center - pose[:3, 3])
    covariance = in_frame(moved_center(inverse(found.H), here), pose[:3, :3])
    # The error is half of the weighted sum of squares, of three residuals for each pair.
    scale = 2 * found.error / max(3 * found.num_inliers - 6, 1)
    return Found(pose, seconds, [covariance, scale * covariance])


def open3d_clouds(problem):
    clouds = [o3d.geometry.PointCloud(o3d.utility.Vector3dVector(p)) for p in (problem.source, problem.target)]
    for cloud in clouds:
        cloud.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(NEIGHBOURS))
    return clouds


def open3d_found(problem, clouds, found, seconds):
    """Open3D's information matrix, a small motion about the origin of the target: as it is, and with the noise from the residuals."""
    information = registration.get_information_matrix_from_point_clouds(*clouds, problem.gate, found.transformation)
    covariance = moved_center(inverse(information), problem.center)
    return Found(found.transformation, seconds, [covariance, found.inlier_rmse**2 / 3 * covariance])


def plane(problem):
    start = time.process_time()
    clouds = open3d_clouds(problem)
    way = registration.TransformationEstimationPointToPlane()
    ends = registration.ICPConvergenceCriteria(max_iteration=ITERATIONS)
    found = registration.registration_icp(*clouds, problem.gate, problem.start, way, ends)
    return open3d_found(problem, clouds, found, time.process_time() - start)


def open3d_gicp(problem):
    start = time.process_time()
    clouds = open3d_clouds(problem)
    ends = registration.ICPConvergenceCriteria(max_iteration=ITERATIONS)
    way = registration.TransformationEstimationForGeneralizedICP()
    found = registration.registration_generalized_icp(*clouds, problem.gate, problem.start, way, ends)
    return open3d_found(problem, clouds, found, time.process_time() - start)


METHODS = {
    "pcr99": lambda problem: problem.ours,
    "small_gicp GICP": gicp,
    "Open3D plane": plane,
    "Open3D GICP": open3d_gicp,
}


def nees(error, covariance):
    """Squared error in units of the covariance, per degree of freedom."""
    return error @ inverse(covariance) @ error / 6


class Table:
    """The CSV."""

    HEADER = "kind,name,seed,method,mm,degrees,nees,nees_scaled,predicted_mm,cpu_seconds".split(",")

    def __init__(self, file):
        self.file, self.rows = file, csv.writer(file, lineterminator="\n")
        self.rows.writerow(self.HEADER)

    def add(self, kind, name, seed, method, error, covariances, seconds):
        numbers = [1e3 * np.linalg.norm(error[3:]), np.degrees(np.linalg.norm(error[:3]))]
        told = [nees(error, covariance) for covariance in covariances] + [np.nan, np.nan]
        predicted = 1e3 * np.sqrt(np.trace(covariances[-1][3:, 3:])) if covariances else np.nan
        shown = [f"{x:.5g}" for x in (*numbers, *told[:2], predicted, seconds)]
        self.rows.writerow([kind, name, seed, method, *shown])
        self.file.flush()


def asked(options, *arguments):
    """What the example says of a problem, whose clouds are then in the directory `work`."""
    command = [str(options.example), arguments[0], str(options.work), *map(str, arguments[1:])]
    return Problem(options.work, json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))


def generated(options, table):
    for scene, source, target, noise, overlap, strays, share in GENERATED:
        count = "–".join(dict.fromkeys(f"{points // 1000}k" for points in (source, target)))
        name = f"{scene} {count}" + f" overlap {overlap:.0%}" * (overlap < 1) + f" strays {strays:.0%}" * (strays > 0)
        for seed in range(FIRST_SEED, FIRST_SEED + max(1, round(share * options.runs))):
            problem = asked(options, "case", scene, source, target, noise, overlap, strays, seed)
            for method, run in METHODS.items():
                found = run(problem)
                error = difference(found.pose, problem.truth, problem.center)
                table.add("generated", name, seed, method, error, found.covariances, found.seconds)
        print(name, file=sys.stderr)


def pairs(options, table):
    """How far the poses of the others are from ours, in units of our covariance."""
    with open(options.data / "pairs.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        problem = asked(options, "pair", options.data / row["source"], options.data / row["target"])
        for method, run in METHODS.items():
            found = run(problem)
            error = difference(found.pose, problem.ours.pose, problem.center)
            table.add("pair", row["pair"], 0, method, error, problem.ours.covariances, found.seconds)
        print(row["pair"], file=sys.stderr)


def edges(options, files):
    """The poses of all methods between registered pairs of files, with the center of each."""
    found = {}
    for i, j in itertools.combinations(range(len(files)), 2):
        problem = asked(options, "pair", files[i], files[j])
        if problem.registered:
            found[i, j] = problem.center, {method: run(problem) for method, run in METHODS.items()}
    return found


def triangles(options, table, name):
    files = [options.data / "scans" / name / file for file in SETS[name]]
    found = edges(options, files)
    for number, (i, j, k) in enumerate(itertools.combinations(range(len(files)), 3)):
        if not all(edge in found for edge in ((i, j), (j, k), (i, k))):
            continue
        (at_ij, ij), (at_jk, jk), (center, ik) = found[i, j], found[j, k], found[i, k]
        for method in METHODS:
            a, b, c = ij[method], jk[method], ik[method]
            error = difference(b.pose @ a.pose, c.pose, center)
            moved_at = b.pose[:3, :3] @ at_ij + b.pose[:3, 3]
            sums = [
                moved_center(in_frame(of_a, b.pose[:3, :3]), center - moved_at) + moved_center(of_b, center - at_jk) + of_c
                for of_a, of_b, of_c in zip(a.covariances, b.covariances, c.covariances)
            ]
            table.add("cycle", name, number, method, error, sums, a.seconds + b.seconds + c.seconds)
    print(name, file=sys.stderr)


def rig(options, table):
    """The pose between two sensors of one car is the same in all scenes."""
    scenes = [[options.data / f"scans/rig/scene{scene}/{sensor}.pcd" for sensor in RIG] for scene in (1, 2, 3)]
    number = 0
    by_scene = [edges(options, files) for files in scenes]
    for edge in itertools.combinations(range(len(RIG)), 2):
        for one, other in itertools.combinations([found[edge] for found in by_scene if edge in found], 2):
            (at_a, of_a), (center, of_b) = one, other
            for method in METHODS:
                a, b = of_a[method], of_b[method]
                sums = [moved_center(x, center - at_a) + y for x, y in zip(a.covariances, b.covariances)]
                error = difference(a.pose, b.pose, center)
                table.add("cycle", "rig", number, method, error, sums, a.seconds + b.seconds)
            number += 1
    print("rig", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", type=Path, required=True, help="the example `accuracy` of pcr99-cloud")
    parser.add_argument("--work", type=Path, required=True, help="directory for intermediate files")
    parser.add_argument("--output", type=Path, required=True, help="the CSV")
    parser.add_argument("--runs", type=int, required=True, help="seeds of the small generated problems; larger ones have fewer")
    parser.add_argument("--data", type=Path, help="directory with pairs.csv and scans; without it, only generated problems")
    options = parser.parse_args()

    o3d.utility.set_verbosity_level(o3d.utility.VerbosityLevel.Error)
    with open(options.output, "w", newline="") as file:
        table = Table(file)
        if options.data:
            for name in SETS:
                triangles(options, table, name)
            rig(options, table)
            pairs(options, table)
        generated(options, table)


if __name__ == "__main__":
    main()
