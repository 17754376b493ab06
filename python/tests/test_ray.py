"""Registration of many pairs on two local workers of Ray. Its start may take a minute on a busy machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import finished, wait_for, write_csv, written

import pcr99
import pcr99.ray

pytest.importorskip("ray")
# Ray itself raises warnings.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pcr99.ray._cluster(None, 2) as (ray, _):
        yield ray


def test_the_same_as_on_threads(cluster: Any, done: pcr99.BatchResult, manifest: Path, tmp_path: Path) -> None:
    seen: list[pcr99.Progress] = []
    on_ray = pcr99.ray.batch(manifest, tmp_path / "out", chunk=2, progress=seen.append)
    assert written(on_ray.output) == written(done.output)
    assert (on_ray.registered, on_ray.failed, on_ray.finished_before) == (7, 2, 0)
    assert len(list((tmp_path / "out/parts").iterdir())) == 5
    assert (seen[-1].finished, seen[-1].failed) == (10, 2)
    # Each can resume a batch of the other, and a Ray that the user started keeps running.
    assert pcr99.batch(manifest, tmp_path / "out", resume=True).finished_before == 10
    assert pcr99.ray.batch(manifest, tmp_path / "out", resume=True).finished_before == 10
    assert cluster.is_initialized()


def test_rows_and_options(cluster: Any, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"pair_id": i, "pairs": f"{i}.csv"} for i in range(4)]
    monkeypatch.chdir(place)
    options: dict[str, Any] = {"scale": None, "seed": 4, "cache": 0}
    on_ray = pcr99.ray.batch(rows, tmp_path / "ray", num_cpus=1, **options)
    assert on_ray and written(on_ray.output) == written(pcr99.batch(rows, tmp_path / "threads", **options).output)


def test_bad_input_starts_nothing(manifest: Path, place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(pcr99.InvalidInput, match="`pair_id`"):
        pcr99.ray.batch([{"pairs": "x"}], out)
    with pytest.raises(pcr99.InvalidInput, match="`chunk` must be at least 1"):
        pcr99.ray.batch(manifest, out, chunk=0)
    with pytest.raises(TypeError, match="`address` must be a string"):
        pcr99.ray.batch(manifest, out, address=3)  # type: ignore[arg-type]
    with pytest.raises(pcr99.FileExists, match="not the directory of a batch"):
        pcr99.ray.batch(manifest, place)
    assert not out.exists()


def test_without_ray(manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'pcr99\[ray\]'"):
        pcr99.ray.batch(manifest, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def readers(path: Path) -> list[int]:
    """Other processes that have `path` open."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                if any(os.readlink(link) == str(path) for link in (process / "fd").iterdir()):
                    found.append(int(process.name))
            except OSError:
                pass
    return found


def test_a_pair_that_kills_its_worker(cluster: Any, place: Path, tmp_path: Path) -> None:
    # The process that reads from the pipe is killed: the worker that runs this pair.
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    # Open all the time, so that no reader reaches the end of the file.
    descriptor = os.open(pipe, os.O_RDWR)
    over, killed = threading.Event(), set()

    def kill() -> None:
        while not over.is_set():
            for reader in set(readers(pipe)) - killed:
                os.kill(reader, signal.SIGKILL)
                killed.add(reader)
            time.sleep(0.05)

    rows = [{"pair_id": str(i), "pairs": str(place / f"{i}.csv")} for i in range(5)]
    rows.insert(2, {"pair_id": "deadly", "pairs": str(pipe)})
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        done = pcr99.ray.batch(rows, tmp_path / "out", chunk=4)
    finally:
        over.set()
        killer.join()
        os.close(descriptor)
    # It dies once with the other pairs, once with one of them, and then alone.
    assert 4 <= len(killed) <= 5
    assert (done.registered, done.failed) == (5, 1)
    deadly = list(done)[2]
    assert deadly["pair_id"] == "deadly" and deadly["error"].startswith("the worker process died 3 times: ")


def test_directories_that_are_not_shared(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pcr99 import _core, _ray_run, _worker
    from pcr99._progress import ProgressReporter

    monkeypatch.setattr(_ray_run, "_VISIBLE_WITHIN", 0.3)
    with pytest.raises(pcr99.FileNotFound, match="written by node7, is not visible here: all machines must share"):
        _ray_run.wait_for_file(str(tmp_path / "part-0.jsonl"), "node7")
    nothing = '{"base": "/", "rows": []}'
    receipt = _worker.run_chunk(pcr99.__version__, str(tmp_path / "not here"), nothing, None)
    assert isinstance(receipt.error, pcr99.FileError) and "there is no batch in" in str(receipt.error)
    assert not (tmp_path / "not here").exists()
    other = _worker.run_chunk("0.0.7", str(tmp_path), nothing, None)
    assert "install the same version" in str(other.error)
    # Such an error ends the batch, and comes from the worker with the machine's name.
    pairs = _core.Manifest.from_rows(["pair_id", "pairs"], [["a", "x"]], None, [])
    work = _core.Batch(str(tmp_path / "out"), pairs, False, False, False, False)
    run = _ray_run.Run(cluster, work, str(tmp_path / "elsewhere"), None, None, ProgressReporter(False), 1, 0)
    with pytest.raises(pcr99.FileError, match=r"^on .*: there is no batch in .*elsewhere"):
        run.all(1)
    work.close()


def processes(token: str) -> list[str]:
    """Processes whose environment has the token. All processes that Ray starts inherit it."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and token.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:80])
        except OSError:
            pass
    return found


def test_killed_interrupted_and_resumed(slow: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    manifest, expected = slow
    out, token = tmp_path / "out", uuid.uuid4().hex
    environment = {**os.environ, "PCR99_TEST": token}
    environment.pop("RAY_ADDRESS", None)

    def start(*options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pcr99.ray", str(manifest), "--output", str(out), "--num-cpus", "2", "--chunk", "2", *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    kept = 0
    for ending in (signal.SIGKILL, signal.SIGINT):
        process = start(*(["--resume"] if kept else []))
        wait_for(lambda: finished(out) >= kept + 4, 300)
        process.send_signal(ending)
        _, told = process.communicate(timeout=120)
        # Ray itself may abort while tasks come back. That is one more kill.
        is_aborted = "discovered a bug in Ray" in told
        if ending == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL, told
        elif not is_aborted:
            assert process.returncode == 130, told
            assert told.endswith("interrupted; finished pairs are kept: continue with the same command and --resume\n")
        assert not list(out.glob(".stop-*"))
        # All processes of Ray end.
        wait_for(lambda: not processes(token), 120)
        kept = finished(out)
        assert kept < 60
    parts = {part: part.stat().st_mtime_ns for part in out.glob("parts/part-*.jsonl")}
    process = start("--resume", "--quiet")
    told, wrong = process.communicate(timeout=300)
    # None of these pairs is registered.
    assert (process.returncode, wrong) == (1, "") and "60 pairs" in told
    assert written(out) == expected and finished(out) == 60
    assert all(part.stat().st_mtime_ns == before for part, before in parts.items())
    wait_for(lambda: not processes(token), 120)


def test_bad_usage_of_the_program(manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        pcr99.ray.main([str(manifest)])
    assert left.value.code == 2 and "--output" in capsys.readouterr().err
    assert pcr99.ray.main([str(tmp_path / "none.csv"), "--output", str(tmp_path / "out")]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.startswith("error: `") and "none.csv" in told.err
    write_csv(tmp_path / "one.csv", [{"pair_id": "a", "pairs": "x"}])
    assert pcr99.batch(tmp_path / "one.csv", tmp_path / "out").failed == 1
    command = [str(tmp_path / "one.csv"), "--output", str(tmp_path / "out")]
    assert pcr99.ray.main(command) == 2 and "continue it with --resume" in capsys.readouterr().err
    # All pairs are finished, so Ray is not started.
    assert pcr99.ray.main([*command, "--resume", "--json"]) == 1
    assert '"finished_before": 1' in capsys.readouterr().out
