"""Examples and documents, kept true."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import hills

import pcr99

PYTHON = Path(__file__).resolve().parents[1]
MODULES = sorted(module.name for module in pkgutil.iter_modules(pcr99.__path__) if not module.name.startswith("__"))


@pytest.mark.parametrize("name", ["", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(f"pcr99.{name}" if name else "pcr99")
    failed, _ = doctest.testmod(module)
    assert failed == 0


def test_everything_public_is_described() -> None:
    examples = 0
    for name in pcr99.__all__:
        thing = getattr(pcr99, name)
        if name != "__version__":
            assert thing.__doc__ and thing.__module__.startswith("pcr99"), name
            examples += ">>>" in thing.__doc__
    assert examples > 15


@pytest.mark.parametrize("script", sorted((PYTHON / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples(script: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "registered" in done.stdout


@pytest.mark.parametrize("document", [PYTHON / "README.md", PYTHON.parent / "README.md"], ids=["python", "root"])
def test_readme(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pcr99.write_points("scan.ply", hills(3000, 1))
    pcr99.write_points("map.ply", hills(3000, 2))
    problem = pcr99.simulate(outliers=0.9)
    names = {
        "other_cloud": hills(3000, 3),
        "scans": [hills(2000, 4)],
        "src": problem.source,
        "dst": problem.target,
        "__name__": "readme",
    }
    snippets = re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.S)
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, str(document), "exec"), names)
    assert names["r"]


def test_batch_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    document = PYTHON.parent / "docs" / "how-to" / "batch.md"
    monkeypatch.chdir(tmp_path)
    problem = pcr99.simulate(outliers=0.9, scale=2.0)
    pcr99.write_matches("matches.csv", problem.source, problem.target)
    Path("pairs.csv").write_text("pair_id,pairs\nfirst,matches.csv\nsecond,nowhere.csv\n", encoding="utf-8")
    names = {"pcr99": pcr99, "__name__": "document"}
    snippets = re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.S)
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, str(document), "exec"), names)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("1 1 ") and shown[1:][0] == "first registered None"
    assert shown[2].startswith("second failed cannot read")


def test_typed_package_is_complete() -> None:
    package = Path(pcr99.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    assert not np.any([name.startswith("test") for name in os.listdir(package)])
