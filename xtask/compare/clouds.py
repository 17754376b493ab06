"""Registers the same clouds with pcr99, Open3D and KISS-Matcher, and writes one CSV row for each run.

Every run gets the same points in memory or as .npy, one CPU, and is measured by the CPU time (user + system, all threads)
that it takes from points to pose. `cargo xtask compare` calls this with its own Python environment.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from pathlib import Path

# One CPU for this process and what it starts, before any library counts the CPUs: thread pools then have one thread.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = "1"

import kiss_matcher  # noqa: E402
import numpy as np  # noqa: E402
import open3d as o3d  # noqa: E402

# A pose is right within these, of the rotation and of where it puts the centroid of the source.
RIGHT_DEGREES = 15.0
RIGHT_VOXELS = 6.0

# Open3D: radii and distances in voxels; iterations and confidence are the library's defaults.
NORMAL_RADIUS, NORMAL_NEIGHBOURS = 2.0, 30
FEATURE_RADIUS, FEATURE_NEIGHBOURS = 5.0, 100
RANSAC_DISTANCE, RANSAC_EDGES, RANSAC_ITERATIONS, RANSAC_CONFIDENCE = 1.5, 0.9, 100_000, 0.999
FGR_DISTANCE = 0.5
# On the samples, which is cheaper than on all points, and within a distance that forgives a rough pose.
ICP_DISTANCE = 1.5

# KISS-Matcher refuses voxels below 0.005, so that lengths are given to it in a unit in which the voxel is its default.
KISS_VOXEL = 0.3

registration = o3d.pipelines.registration


def read_cloud(path):
    """The finite points of a file."""
    if path.suffix in (".csv", ".txt", ".xyz"):
        lines = path.read_text().replace(",", " ").splitlines()
        start = 0 if lines[0].split()[0].lstrip("+-")[0].isdigit() else 1
        points = np.array([line.split()[:3] for line in lines[start:] if line.strip()], dtype=float)
    else:
        points = np.asarray(o3d.io.read_point_cloud(str(path)).points)
    if len(points) == 0:
        sys.exit(f"error: no points in {path}")
    return points[np.isfinite(points).all(axis=1)]


def random_motion(seed, number, size):
    """Any rotation and a shift of some `size`, another for each pair; seed 0 is no motion."""
    motion = np.eye(4)
    if seed > 0:
        generator = np.random.default_rng([seed, number])
        w, x, y, z = unit(generator.normal(size=4))
        motion[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        motion[:3, 3] = size * generator.normal(size=3)
    return motion


def unit(vector):
    return vector / np.linalg.norm(vector)


def apply(transform, points):
    return points @ transform[:3, :3].T + transform[:3, 3]


def errors(found, truth, centroid):
    """Degrees, and the distance between where both put the centroid."""
    cosine = (np.trace(found[:3, :3].T @ truth[:3, :3]) - 1) / 2
    return np.degrees(np.arccos(np.clip(cosine, -1, 1))), np.linalg.norm(apply(found, centroid) - apply(truth, centroid))


class Problem:
    """A source, moved, and a target, in the form that each method reads."""

    def __init__(self, source, target, voxel, seed, work):
        self.voxel, self.seed = voxel, seed
        self.files = work / "source.npy", work / "target.npy"
        for path, points in zip(self.files, (source, target)):
            np.save(path, points)
        self.clouds = [o3d.geometry.PointCloud(o3d.utility.Vector3dVector(p)) for p in (source, target)]
        self.kiss = [np.float32(p * (KISS_VOXEL / voxel)) for p in (source, target)]


# Each method returns (transform or None, CPU seconds, status or "").


def ours(problem, program, options):
    """The program, from its start to its end: starting and reading two .npy are in the time."""
    command = [program, "register", *problem.files, "--json", "--quiet", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    document = process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"error: {' '.join(map(str, command))} ended with {process.returncode}")
    result = json.loads(document)
    pose = None if result["transform"] is None else np.array(result["transform"])
    return pose, usage.ru_utime + usage.ru_stime, result["status"]


def sample(cloud, voxel):
    sampled = cloud.voxel_down_sample(voxel)
    radius = NORMAL_RADIUS * voxel
    sampled.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(radius=radius, max_nn=NORMAL_NEIGHBOURS))
    return sampled


def describe(sampled, voxel):
    radius = FEATURE_RADIUS * voxel
    search = o3d.geometry.KDTreeSearchParamHybrid(radius=radius, max_nn=FEATURE_NEIGHBOURS)
    return registration.compute_fpfh_feature(sampled, search)


def refine(source, target, voxel, pose):
    to_plane = registration.TransformationEstimationPointToPlane()
    return registration.registration_icp(source, target, ICP_DISTANCE * voxel, pose, to_plane).transformation


def open3d(problem, search):
    voxel = problem.voxel
    o3d.utility.random.seed(problem.seed)
    start = time.process_time()
    source, target = (sample(cloud, voxel) for cloud in problem.clouds)
    pose = search(source, target, describe(source, voxel), describe(target, voxel), voxel)
    pose = refine(source, target, voxel, pose)
    return pose, time.process_time() - start, ""


def ransac(source, target, source_features, target_features, voxel):
    distance = RANSAC_DISTANCE * voxel
    checkers = [
        registration.CorrespondenceCheckerBasedOnEdgeLength(RANSAC_EDGES),
        registration.CorrespondenceCheckerBasedOnDistance(distance),
    ]
    return registration.registration_ransac_based_on_feature_matching(
        source,
        target,
        source_features,
        target_features,
        True,
        distance,
        registration.TransformationEstimationPointToPoint(False),
        3,
        checkers,
        registration.RANSACConvergenceCriteria(RANSAC_ITERATIONS, RANSAC_CONFIDENCE),
    ).transformation


def fgr(source, target, source_features, target_features, voxel):
    option = registration.FastGlobalRegistrationOption(maximum_correspondence_distance=FGR_DISTANCE * voxel)
    found = registration.registration_fgr_based_on_feature_matching(
        source, target, source_features, target_features, option
    )
    return found.transformation


def kiss(problem):
    voxel = problem.voxel
    matcher = kiss_matcher.KISSMatcher(kiss_matcher.KISSMatcherConfig(voxel_size=KISS_VOXEL))
    # Its binding turns arrays into lists of points one by one. That is no part of the method and is taken off.
    conversion = sum(conversion_time(matcher, points) for points in problem.kiss)
    start = time.process_time()
    found = matcher.estimate(*problem.kiss)
    pose = np.eye(4)
    pose[:3, :3] = found.rotation
    pose[:3, 3] = np.ravel(found.translation) * (voxel / KISS_VOXEL)
    if np.isfinite(pose).all():
        source = problem.clouds[0].voxel_down_sample(voxel)
        pose = refine(source, sample(problem.clouds[1], voxel), voxel, pose)
    return pose, max(time.process_time() - start - conversion, 0.0), ""


def conversion_time(matcher, points):
    """CPU seconds until the binding has read `points` and refuses the missing second cloud."""
    start = time.process_time()
    try:
        matcher.estimate(points, None)
    except TypeError:
        pass
    return time.process_time() - start


def methods(program):
    one_thread = ["--threads", "1"]
    return {
        "pcr99": lambda p: ours(p, program, one_thread),
        "pcr99 --voxel": lambda p: ours(p, program, [*one_thread, "--voxel", repr(p.voxel)]),
        "Open3D RANSAC": lambda p: open3d(p, ransac),
        "Open3D FGR": lambda p: open3d(p, fgr),
        "KISS-Matcher": kiss,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="directory with pairs.csv")
    parser.add_argument("--program", type=Path, required=True, help="the program pcr99")
    parser.add_argument("--work", type=Path, required=True, help="directory for intermediate files")
    parser.add_argument("--output", type=Path, required=True, help="the CSV")
    parser.add_argument("--seeds", type=int, required=True, help="random motions of each source; seed 0 does not move it")
    parser.add_argument("--pairs", default="", help="a part of the names of the pairs to run")
    options = parser.parse_args()

    o3d.utility.set_verbosity_level(o3d.utility.VerbosityLevel.Error)
    with open(options.data / "pairs.csv", newline="") as file:
        pairs = list(csv.DictReader(file))
    runs = methods(options.program)
    warmed = False
    with open(options.output, "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow("pair,voxel,seed,method,right,status,degrees,voxels_off,cpu_seconds".split(","))
        for number, pair in enumerate(pairs):
            if options.pairs not in pair["pair"]:
                continue
            voxel = float(pair["voxel"])
            source, target = (read_cloud(options.data / pair[key]) for key in ("source", "target"))
            truth = np.loadtxt(options.data / "pairs" / pair["pair"] / "gt.txt")
            for seed in range(options.seeds + 1):
                motion = random_motion(seed, number, 20 * voxel)
                moved = apply(motion, source)
                moved_truth = truth @ np.linalg.inv(motion)
                problem = Problem(moved, target, voxel, seed, options.work)
                if not warmed:
                    # What libraries set up at their first call is not counted.
                    for run in runs.values():
                        run(problem)
                    warmed = True
                shown = []
                for method, run in runs.items():
                    pose, seconds, status = run(problem)
                    found = pose is not None and np.isfinite(pose).all()
                    degrees, off = errors(pose, moved_truth, moved.mean(axis=0)) if found else (np.nan, np.nan)
                    right = bool(degrees <= RIGHT_DEGREES and off <= RIGHT_VOXELS * voxel)
                    row = [f"{degrees:.2f}", f"{off / voxel:.2f}", f"{seconds:.3f}"]
                    table.writerow([pair["pair"], voxel, seed, method, int(right), status, *row])
                    shown.append(f"{method} {'right' if right else 'WRONG'} {seconds:.2f} s {status}".rstrip())
                file.flush()
                print(f"{pair['pair']} seed {seed}: {', '.join(shown)}", file=sys.stderr)


if __name__ == "__main__":
    main()
