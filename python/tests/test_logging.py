"""Lines of the library arrive at the logger `pcr99`."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pcr99


@pytest.fixture(autouse=True)
def level_of_a_new_interpreter(caplog: pytest.LogCaptureFixture) -> None:
    """Sets the level of the root logger that Python starts with. Ray, in other tests, changes it."""
    caplog.set_level(logging.WARNING)


def matches(count: int = 400, right: float = 0.1, seed: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    source = rng.random((count, 3))
    target = 4.0 * rng.random((count, 3)) - 2.0
    some = rng.random(count) < right
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    target[some] = source[some] @ turn.T + [2.0, -1.0, 0.5] + 0.002 * rng.standard_normal((some.sum(), 3))
    return source, target


def hills(count: int = 60) -> Any:
    x, y = (0.1 * grid.ravel() for grid in np.meshgrid(np.arange(count), np.arange(count)))
    z = np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)
    return np.column_stack([x, y, z])


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    lines = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "pcr99"]
    caplog.clear()
    return lines


def test_a_silent_logger_hears_nothing(caplog: pytest.LogCaptureFixture) -> None:
    pcr99.solve(*matches())
    assert told(caplog) == []
    with caplog.at_level(logging.DEBUG, logger="pcr99"):
        logging.disable(logging.CRITICAL)
        try:
            pcr99.solve(*matches())
        finally:
            logging.disable(logging.NOTSET)
    assert told(caplog) == []


def test_decisions_and_reasons_of_a_search(caplog: pytest.LogCaptureFixture) -> None:
    silent = pcr99.solve(*matches())
    with caplog.at_level(logging.INFO, logger="pcr99"):
        found = pcr99.solve(*matches())
    lines = told(caplog)
    assert [level for level, _ in lines] == ["INFO"] * len(lines)
    first = "400 matches; method default, scale 1, threshold from the data, seed 0"
    assert lines[0] == ("INFO", first)
    assert ("INFO", f"no doubt: {found.reason}") in lines
    with caplog.at_level(logging.DEBUG, logger="pcr99"):
        again = pcr99.solve(*matches())
    more = told(caplog)
    assert [line for line in more if line[0] == "INFO"] == lines
    assert any(level == "DEBUG" and line.startswith("candidate 1: ") for level, line in more)
    assert any(level == "DEBUG" and line.startswith("search with threshold ") for level, line in more)
    for result in (found, again):
        assert np.array_equal(result.transform, silent.transform)
        assert np.array_equal(result.inliers, silent.inliers)


@pytest.mark.parametrize("refinement", ["point-to-plane", "point-to-point", "none"])
def test_clouds_tell_the_same_on_any_number_of_threads(caplog: pytest.LogCaptureFixture, refinement: str) -> None:
    target = hills()
    source = target @ np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).T + [1.0, 2.0, 3.0]
    heard = []
    with caplog.at_level(logging.DEBUG, logger="pcr99"):
        for threads in (1, 2, 3):
            found = pcr99.register(source, target, refine=refinement, threads=threads)
            assert found
            heard.append(told(caplog))
    assert heard[0] == heard[1] == heard[2]
    for level, begin in [("INFO", "voxel "), ("INFO", "round 1: "), ("DEBUG", "candidate 1: ")]:
        assert any(line[0] == level and line[1].startswith(begin) for line in heard[0]), begin


def test_threads_of_python_and_handlers_that_fail(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise ValueError("this handler fails")

    raised: list[Any] = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: raised.append(unraisable.exc_value))
    expected = pcr99.solve(*matches()).transform
    logger, failing = logging.getLogger("pcr99"), Failing()
    results: list[Any] = []
    logger.addHandler(failing)
    try:
        with caplog.at_level(logging.DEBUG, logger="pcr99"):
            work = [
                threading.Thread(target=lambda: results.append(pcr99.solve(*matches()).transform))
                for _ in range(4)
            ]
            for thread in work:
                thread.start()
            for thread in work:
                thread.join()
    finally:
        logger.removeHandler(failing)
    assert len(results) == 4 and all(np.array_equal(result, expected) for result in results)
    assert raised and all(isinstance(error, ValueError) for error in raised)


def test_pairs_of_a_batch_tell_nothing(
    caplog: pytest.LogCaptureFixture, manifest: Path, tmp_path: Path
) -> None:
    with caplog.at_level(logging.DEBUG, logger="pcr99"):
        assert pcr99.batch(manifest, tmp_path / "out").pairs == 10
    assert told(caplog) == []
