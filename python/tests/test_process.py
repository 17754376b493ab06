"""Threads, processes, signals, and the program itself."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import pcr99


def solve_seed(seed: int) -> pcr99.Registration:
    problem = pcr99.simulate(points=3000, outliers=0.95, shape="knot", seed=seed)
    return pcr99.solve(problem.source, problem.target, threads=2)


def test_many_threads_at_once() -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(solve_seed, [0, 1, 2, 3] * 4))
    assert all(found) and found[:4] == found[4:8] == found[12:]


def test_the_lock_is_released() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random((8000, 3)), rng.random((8000, 3))
    ticks = []
    worker = threading.Thread(target=lambda: pcr99.solve(*hard, scale=None, time_limit=0.5))
    worker.start()
    while worker.is_alive():
        ticks.append(time.monotonic())
        time.sleep(0.01)
    worker.join()
    assert len(ticks) > 10


def solve_in_turn(count: int) -> list[pcr99.Registration]:
    """Problems of many sizes, methods and options, with a failure and a stopped search among them, all on the calling thread."""
    found = []
    for seed in range(count):
        size = [300, 40, 2500, 1000, 7, 1500][seed % 6]
        problem = pcr99.simulate(points=size, outliers=0.5, shape="knot", seed=seed)
        method = ["default", "paper", "default", "ransac", "default", "default"][seed % 6]
        weights = np.linspace(1.0, 2.0, size) if method == "default" and seed % 4 == 0 else None
        found.append(pcr99.solve(problem.source, problem.target, method=method, threshold=0.05, weights=weights, threads=2))
        found.append(pcr99.solve(problem.source, problem.target, threshold=0.05, scale=None, candidates=1, threads=1))
        with pytest.raises(pcr99.InvalidInput):
            pcr99.solve(problem.source, np.zeros((size, 3)))
        pcr99.solve(problem.source, problem.target, time_limit=1e-9)
    return found


def test_memory_that_a_thread_keeps_leaves_no_trace() -> None:
    expected = solve_in_turn(12)
    alone = []
    for seed in range(12):
        # Each problem on a thread of its own, after others or after none.
        thread = threading.Thread(target=lambda seed=seed: alone.append(solve_in_turn(seed + 1)[2 * seed : 2 * seed + 2]))
        thread.start()
        thread.join()
    assert expected == [r for pair in alone for r in pair] == solve_in_turn(12)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a fork of a process with threads is a warning")
def test_memory_that_a_thread_keeps_survives_a_fork() -> None:
    expected = solve_in_turn(6)
    child = os.fork()
    if child == 0:
        os._exit(0 if solve_in_turn(6) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert solve_in_turn(6) == expected


@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_other_processes(way: str) -> None:
    # The package uses threads before and during the fork.
    expected = [solve_seed(seed) for seed in range(3)]
    cloud = np.random.default_rng(0).random((500, 3))
    pcr99.voxel_down_sample(cloud, 0.1)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(way)) as pool:
        assert list(pool.map(solve_seed, range(3), timeout=120)) == expected


def run_python(code: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


@pytest.mark.parametrize(
    "call",
    [
        "pcr99.solve(a, b, scale=None)",
        "pcr99.solve(a[:9000], b[:9000], method='paper-random', threshold=1e-4, min_inliers=9000)",
        "pcr99.solve(a, b, method='ransac', threshold=1e-4, scale=None)",
        "pcr99.register(a, b, scale=None)",
        "pcr99.estimate_normals(rng.random((300_000, 3)), 0.3, viewpoint=[0, 0, 9])",
    ],
)
def test_ctrl_c_stops_a_long_run(call: str) -> None:
    code = f"""
import time, numpy as np, pcr99
rng = np.random.default_rng(0)
a, b = rng.random((40_000, 3)), rng.random((40_000, 3))
print("ready", flush=True)
try:
    while True:
        {call}
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    process = run_python(code)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert out == "stopped\n" and err == "" and process.returncode == 0
    assert time.monotonic() - start < 10.0


def test_a_signal_handler_of_the_user_runs() -> None:
    code = """
import signal, numpy as np, pcr99
def late(*_):
    raise TimeoutError("too late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.3)
rng = np.random.default_rng(0)
try:
    while True:
        pcr99.solve(rng.random((9000, 3)), rng.random((9000, 3)), scale=None)
except TimeoutError as error:
    print(error)
"""
    assert run_python(code).communicate(timeout=60) == ("too late\n", "")


def test_the_end_does_not_wait_for_threads() -> None:
    code = """
import threading, time, numpy as np, pcr99
rng = np.random.default_rng(0)
a, b = rng.random((9000, 3)), rng.random((9000, 3))
long = {"method": "paper-random", "threshold": 1e-4, "min_inliers": 9000}
for call in (lambda: pcr99.solve(a, b, **long), lambda: pcr99.register(a, b, scale=None)):
    threading.Thread(target=call, daemon=True).start()
time.sleep(0.3)
print("end")
"""
    process = run_python(code)
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ("end\n", "", 0)


def test_a_fork_while_others_work() -> None:
    rng = np.random.default_rng(0)
    hard = rng.random((9000, 3)), rng.random((9000, 3))
    busy = threading.Thread(target=lambda: pcr99.solve(*hard, scale=None, time_limit=2.0))
    busy.start()
    child = os.fork() if sys.version_info < (3, 12) else None
    if child == 0:
        os._exit(0 if solve_seed(0) else 1)
    if child:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    busy.join()


def program(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "pcr99", *arguments], capture_output=True, text=True, check=False, **options)


def test_the_program(tmp_path: Path) -> None:
    assert program("--version").stdout == f"pcr99 {pcr99.__version__}\n"
    assert "Usage: pcr99" in program("--help").stdout
    script = Path(sys.executable).with_name("pcr99")
    assert subprocess.run([script, "--version"], capture_output=True, text=True, check=True).stdout.startswith("pcr99 ")
    matches, truth = tmp_path / "matches.csv", tmp_path / "truth.json"
    made = program("simulate", "--outliers", "0.9", "--seed", "1", "--output", str(matches), "--truth", str(truth))
    assert made.returncode == 0 and made.stderr == ""
    problem = pcr99.simulate(outliers=0.9, seed=1)
    assert np.array_equal(pcr99.read_matches(matches).target, problem.target)
    assert json.loads(truth.read_text()) == problem.truth
    assert program("solve", str(matches)).returncode == 0
    assert program("solve", "-", input=matches.read_text()).returncode == 0
    failed = program("solve", str(tmp_path / "none.csv"))
    assert failed.returncode == 2 and failed.stderr.startswith("error: cannot read") and failed.stdout == ""
    assert program("solve").returncode == 2 and program("nonsense").returncode == 2
    noise = program("simulate", "--outliers", "1", "--points", "50")
    assert program("solve", "-", input=noise.stdout).returncode == 1


def test_a_broken_pipe_is_no_error(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m pcr99 simulate --points 100000 2>err.txt | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["sx,sy,sz,tx,ty,tz", "0"]
    assert (tmp_path / "err.txt").read_text() == ""


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pcr99.write_matches(tmp_path / "m.csv", rng.random((9000, 3)), rng.random((9000, 3)))
    options = ["solve", str(tmp_path / "m.csv"), "--method", "paper-random", "--threshold", "1e-4", "--min-inliers", "9000", "--json"]
    process = subprocess.Popen([sys.executable, "-m", "pcr99", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.0)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and json.loads(out)["stopped_because"] == "interrupted"


def test_importing_is_quick_and_starts_nothing() -> None:
    code = "import pcr99, threading, sys; print(threading.active_count(), 'open3d' in sys.modules)"
    out, err = run_python(code).communicate(timeout=60)
    assert (out, err) == ("1 False\n", "")
