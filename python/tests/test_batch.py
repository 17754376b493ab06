"""Registration of many pairs on this machine."""

from __future__ import annotations

import csv
import dataclasses
import json
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import finished, wait_for, written

import pcr99

def test_what_comes_back(done: pcr99.BatchResult, rows: list[dict[str, Any]], place: Path) -> None:
    assert (done.pairs, done.registered, done.failed, done.finished_before) == (10, 7, 2, 0)
    assert done.not_reliable + done.no_solution == 1 and sum(done.doubts.values()) == done.not_reliable
    assert len(done) == 10 and not done and done.seconds > 0
    found = list(done)
    assert [row["pair_id"] for row in found] == [row["pair_id"] for row in rows]
    matches = pcr99.read_matches(place / "0.csv")
    assert np.array_equal(found[0]["transform"], pcr99.solve(matches.source, matches.target).transform)
    assert abs(found[5]["scale"] - 2.0) < 0.1
    assert found[8]["status"] == found[9]["status"] == "failed"
    assert "broken.csv" in found[8]["error"] and "nowhere.ply" in found[9]["error"]
    with open(done.results_csv, newline="", encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == [row["status"] for row in found]
    assert json.loads(done.summary_json.read_text())["registered"] == 7 and done.times_csv.exists()
    assert repr(done).startswith("<BatchResult: 7 of 10 pairs registered, ") and "7 registered" in str(done)
    assert done.to_dict()["doubts"] == done.doubts
    assert pickle.loads(pickle.dumps(done)) == done and hash(done) == hash(pickle.loads(pickle.dumps(done)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        done.pairs = 3  # type: ignore[misc]


def test_the_program_writes_the_same(done: pcr99.BatchResult, manifest: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pcr99", "batch", manifest, "--output", tmp_path / "out", "--threads", "1"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
    assert written(tmp_path / "out") == written(done.output)
    again = pcr99.batch(manifest, tmp_path / "out", resume=True)
    assert again.finished_before == 10 and dataclasses.replace(again, output=done.output) == done


class Frame:
    """As much of a data frame as is needed."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = {name: np.array(values, dtype=object) for name, values in columns.items()}
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]


def test_other_manifests(
    done: pcr99.BatchResult, rows: list[dict[str, Any]], place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    missing = {name: [float("nan") if value is None else value for value in values] for name, values in columns.items()}
    paths = [{k: Path(v) if k in ("pairs", "source", "target") else v for k, v in row.items()} for row in rows]
    monkeypatch.chdir(place)
    for place_of, given in enumerate([rows, iter(rows), columns, Frame(missing), paths]):
        again = pcr99.batch(given, tmp_path / str(place_of), threads=2, chunk=3, cache=0)
        assert written(again.output) == written(done.output), place_of


def test_parquet(done: pcr99.BatchResult, rows: list[dict[str, Any]], place: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
    # Single-precision numbers, and dictionary-encoded strings.
    single = table.column("voxel").cast(pyarrow.float32())
    table = table.set_column(names.index("voxel"), "voxel", single)
    pair = table.column("pair_id").dictionary_encode()
    parquet.write_table(table.set_column(0, "pair_id", pair), place / "pairs.parquet")
    again = pcr99.batch(place / "pairs.parquet", tmp_path / "parquet")
    assert written(again.output) == written(done.output)
    # The table itself.
    absolute = [{k: str(place / v) if k in ("pairs", "source", "target") and v else v for k, v in row.items()} for row in rows]
    table = pyarrow.Table.from_pylist([{name: row.get(name) for name in names} for row in absolute])
    assert pcr99.batch(table, tmp_path / "table").registered == done.registered
    # A truncated file, and an invalid manifest.
    (tmp_path / "cut.parquet").write_bytes((place / "pairs.parquet").read_bytes()[:200])
    with pytest.raises(pcr99.FileFormatError, match=r"cut\.parquet"):
        pcr99.batch(tmp_path / "cut.parquet", tmp_path / "no")
    parquet.write_table(pyarrow.table({"pair_id": ["a", "a"], "pairs": ["x", "y"]}), tmp_path / "twice.parquet")
    with pytest.raises(pcr99.FileFormatError, match=r"twice\.parquet`, row 1 .*`pair_id` is `a`, which row 0 already has"):
        pcr99.batch(tmp_path / "twice.parquet", tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pairs.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'pcr99\[parquet\]'") as error:
        pcr99.batch(tmp_path / "pairs.parquet", tmp_path / "out")
    assert isinstance(error.value, pcr99.MissingPackage) and not (tmp_path / "out").exists()


def test_small_floats_are_what_they_look_like(place: Path, tmp_path: Path) -> None:
    rows = [{"pair_id": np.int64(7), "pairs": place / "0.csv", "threshold": np.float32(0.05), "scale": (0.5, 2)}]
    same = [{"pair_id": "7", "pairs": str(place / "0.csv"), "threshold": "0.05", "scale": "0.5..2"}]
    assert pcr99.batch(rows, tmp_path / "out")
    assert pcr99.batch(same, tmp_path / "out", resume=True).finished_before == 1


def test_options_for_empty_cells(place: Path, tmp_path: Path) -> None:
    rows = [{"pair_id": i, "pairs": place / f"{i}.csv", "seed": None} for i in range(2)]
    done = pcr99.batch(rows, tmp_path / "out", scale=None, threshold=0.05, method="paper", seed=3)
    assert [row["method"] for row in done] == ["paper", "paper"] and list(done)[0]["scale"] != 1.0
    cloud = [{"pair_id": "c", "source": place / "a.ply", "target": place / "b.ply"}]
    pose = np.eye(4)
    pose[:3, 3] = 1.0, 2.0, 3.0
    np.savetxt(tmp_path / "pose.txt", pose)
    options: dict[str, Any] = {"refine": None, "initial": tmp_path / "pose.txt", "voxel": 0.2, "scale": 1}
    assert list(pcr99.batch(cloud, tmp_path / "clouds", **options))[0]["status"] == "registered"


@pytest.mark.parametrize(
    ("rows", "kind", "message"),
    [
        ([], ValueError, "column `pair_id` is missing"),
        ([{"pair_id": "a"}], ValueError, "column `pairs` is missing"),
        ([{"pair_id": "a", "pairs": "x"}, {"pair_id": "a", "pairs": "y"}], ValueError, r"row 1 .*`pair_id` is `a`, which row 0 already has"),
        ([{"pair_id": "a", "pairs": "x", "Seed": 3}], ValueError, "column `Seed` is unknown; did you mean `seed`"),
        ([{"pair_id": "a", "pairs": "x", "colour": 3}], ValueError, "column `colour` is unknown"),
        ([{"pair_id": "a", "pairs": "x", "seed": -1}], ValueError, "row 0 .*pair `a`: `seed` is `-1`"),
        ([{"pair_id": "a", "pairs": "x", "seed": True}], TypeError, "`seed` must be a string or a number, not bool"),
        ([{"pair_id": "a", "pairs": ["x"]}], TypeError, "`pairs` must be a string or a number, not list"),
        ([{"pair_id": None, "pairs": "x"}], ValueError, "`pair_id` is empty"),
        ([{"pair_id": "a", "pairs": "x", 3: 4}], TypeError, "names of columns must be strings, not int"),
        ([("a", "x")], TypeError, "row 0 .*a row must be a dictionary .*not tuple"),
        (["pairs.csv"], TypeError, "a row must be a dictionary"),
        ({"pair_id": ["a"], "pairs": ["x", "y"]}, ValueError, "different lengths"),
        ({"pair_id": "a", "pairs": "x"}, TypeError, "a column must be a list"),
        (7, TypeError, "a path, rows or a table, not int"),
        (None, TypeError, "a path, rows or a table, not NoneType"),
    ],
)
def test_bad_rows(rows: Any, kind: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(kind, match=message) as error:
        pcr99.batch(rows, tmp_path / "out")
    assert isinstance(error.value, pcr99.Error) and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it contains no pairs"),
        ("pair_id,pairs\na\n", "line 2: the row has 1 cell"),
        ("pair_id,pairs,scale\na,x,0\n", "line 2: pair `a`: `scale` must be finite and positive, got 0"),
        ("pair_id,pairs\na,x\n\nb,y\na,z\n", "line 5: `pair_id` is `a`, which line 2 already has"),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(pcr99.FileFormatError, match=message) as error:
        pcr99.batch(path, tmp_path / "out")
    assert error.value.filename == str(path) and not (tmp_path / "out").exists()


def test_bad_options(manifest: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for options, kind, message in [
        ({"colour": 3}, TypeError, "no option `colour`; the options of pairs are candidates, correlation_length, effort, initial, memory_budget"),
        ({"scale": 0}, ValueError, "`scale` must be finite and positive, got 0"),
        ({"scale": "large"}, ValueError, "`scale` is `large`"),
        ({"method": "magic"}, ValueError, "`method` is `magic`: expected one of default, paper"),
        ({"threads": 0}, ValueError, "`threads` must be at least 1"),
        ({"chunk": 0}, ValueError, "`chunk` must be at least 1"),
        ({"cache": 1.5}, TypeError, "`cache` must be an integer"),
        ({"progress": 3}, TypeError, "`progress` must be a function"),
    ]:
        with pytest.raises(kind, match=message):
            pcr99.batch(manifest, out, **options)  # type: ignore[arg-type]
    with pytest.raises(pcr99.InvalidInput, match="`voxel` is an option for two clouds, but no pair has two clouds"):
        pcr99.batch([{"pair_id": "a", "pairs": "x"}], out, voxel=1.0)
    with pytest.raises(pcr99.FileNotFound, match="none.csv") as error:
        pcr99.batch(tmp_path / "none.csv", out)
    assert error.value.errno == 2
    with pytest.raises(pcr99.FileError):
        pcr99.batch(tmp_path, out)
    assert not out.exists()


def test_bad_output_directories(done: pcr99.BatchResult, manifest: Path, place: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="already holds a batch: continue it with resume=True") as error:
        pcr99.batch(manifest, done.output)
    assert isinstance(error.value, pcr99.FileExists) and error.value.filename == str(done.output)
    with pytest.raises(pcr99.FileExists, match="is not empty and not the directory of a batch"):
        pcr99.batch(manifest, place)
    changed = place / "changed.csv"
    changed.write_text(manifest.read_text(encoding="utf-8").replace("m1,1.csv,1", "m1,1.csv,9"), encoding="utf-8")
    with pytest.raises(pcr99.FileError, match="the manifest has changed .*`seed` was `1` and is now `9`"):
        pcr99.batch(changed, done.output, resume=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(pcr99.FileError):
        pcr99.batch(manifest, tmp_path / "file")


def test_damage_is_named_and_repaired(manifest: Path, tmp_path: Path) -> None:
    first = pcr99.batch(manifest, tmp_path / "out")
    (part,) = (tmp_path / "out" / "parts").glob("part-*.jsonl")
    before, expected = part.read_bytes(), first.results_jsonl.read_bytes()
    place = before.index(b'"transform"') if b'"transform"' in before else len(before) // 2
    digit = next(i for i in range(place, len(before)) if before[i : i + 1].isdigit())
    part.write_bytes(before[:digit] + (b"8" if before[digit : digit + 1] != b"8" else b"7") + before[digit + 1 :])
    line = before[:digit].count(b"\n") + 1
    with pytest.raises(pcr99.FileError, match=f"{part.name}`, line {line}, is damaged: .*resume=True with repair=True"):
        pcr99.batch(manifest, tmp_path / "out", resume=True)
    again = pcr99.batch(manifest, tmp_path / "out", resume=True, repair=True)
    assert again.finished_before == first.pairs - 1
    assert again.results_jsonl.read_bytes() == expected


def test_progress_function_ends_a_batch(slow: tuple[Path, list[bytes]], tmp_path: Path) -> None:
    manifest, expected = slow
    seen: list[pcr99.Progress] = []

    def stop(progress: pcr99.Progress) -> None:
        seen.append(progress)
        if progress.made >= 5:
            raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        pcr99.batch(manifest, tmp_path / "out", threads=1, progress=stop)
    # Finished pairs are kept, and the directory is unlocked.
    kept = finished(tmp_path / "out")
    assert 5 <= kept < 60 and not (tmp_path / "out/results.csv").exists()
    assert seen[-1].pairs == 60 and seen[-1].seconds_left is not None and "of 60 pairs, " in str(seen[-1])
    done = pcr99.batch(manifest, tmp_path / "out", resume=True, progress=seen.append)
    assert done.finished_before == kept and written(done.output) == expected
    assert (seen[-1].before, seen[-1].finished, str(seen[-1])) == (kept, 60, "60 of 60 pairs")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_ended_and_resumed(slow: tuple[Path, list[bytes]], ending: signal.Signals, tmp_path: Path) -> None:
    manifest, expected = slow
    out = tmp_path / "out"
    code = f"""
import signal, pcr99
# A shell in the background ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    pcr99.batch({str(manifest)!r}, {str(out)!r}, threads=1, chunk=3)
except KeyboardInterrupt:
    print("stopped")
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    wait_for(lambda: finished(out) >= 6)
    with pytest.raises(pcr99.FileError, match="another process is writing"):
        pcr99.batch(manifest, out, resume=True)
    process.send_signal(ending)
    told, _ = process.communicate(timeout=60)
    assert told == ("stopped\n" if ending == signal.SIGINT else "")
    kept = finished(out)
    assert 6 <= kept < 60
    parts = {part: part.stat().st_mtime_ns for part in out.glob("parts/part-*.jsonl")}
    done = pcr99.batch(manifest, out, resume=True)
    assert done.finished_before == kept and written(out) == expected
    # No pair was run twice.
    assert finished(out) == 60 and all(part.stat().st_mtime_ns == before for part, before in parts.items())


def test_user_columns(place: Path, tmp_path: Path) -> None:
    row = {"pair_id": "a", "pairs": place / "0.csv"}
    plain = pcr99.batch([row], tmp_path / "plain")
    tables = [[{**row, "_truth": np.eye(4), "_checked": True}], {**{name: [value] for name, value in row.items()}, "_note": [None]}]
    for k, table in enumerate(tables):
        assert written(pcr99.batch(table, tmp_path / str(k)).output) == written(plain.output)


def test_failed_pairs_again(place: Path, tmp_path: Path) -> None:
    rows = [{"pair_id": "now", "pairs": place / "0.csv"}, {"pair_id": "later", "pairs": tmp_path / "later.csv"}]
    assert pcr99.batch(rows, tmp_path / "out").failed == 1
    (tmp_path / "later.csv").write_bytes((place / "1.csv").read_bytes())
    with pytest.warns(UserWarning, match="finished pair `later` have changed .* retry_changed=True runs these pairs again") as caught:
        assert pcr99.batch(rows, tmp_path / "out", resume=True).failed == 1
    assert caught[0].filename == __file__
    again = pcr99.batch(rows, tmp_path / "out", resume=True, retry_failed=True)
    assert again and again.finished_before == 1
    (tmp_path / "later.csv").write_bytes((place / "noise.csv").read_bytes())
    again = pcr99.batch(rows, tmp_path / "out", resume=True, retry_changed=True)
    assert again.not_reliable == 1 and again.finished_before == 1


def test_lines_of_progress(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from pcr99 import _progress

    monkeypatch.setattr(_progress, "_LINE_EVERY", 0.0)
    _progress.ProgressReporter(True)(10, 2, 4, 1)
    _progress.ProgressReporter(None)(10, 2, 4, 1)
    line = capsys.readouterr().err
    assert line.startswith("6 of 10 pairs, 1 failed, ") and line.endswith(" left\n") and line.count("\n") == 1
    assert [_progress._duration(s) for s in (0.2, 99, 100, 3599, 7260)] == ["1 s", "99 s", "1 min 40 s", "59 min 59 s", "2 h 01 min"]
    monkeypatch.setattr(_progress, "_BAR_DELAY", 0.0)
    monkeypatch.setattr(_progress, "_BAR_EVERY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    reporter = _progress.ProgressReporter(None)
    reporter(10, 0, 5, 0)
    reporter.close()
    bar = capsys.readouterr().err
    assert "=>" in bar and "5 of 10 pairs" in bar and bar.endswith("\r\x1b[2K")
