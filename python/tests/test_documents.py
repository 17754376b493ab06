"""Examples and documents, kept true."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
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


ROOT = PYTHON.parent
BATCH = ROOT / "docs" / "how-to" / "batch.md"
BLOCK = re.compile(r"^(<!-- not run: .*? -->\n\s*)?( *)```python\n(.*?)^ *```$", re.M | re.S)


def snippets(document: Path) -> list[str]:
    """The Python snippets of a page that can be run, without the indentation of lists."""
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [textwrap.dedent(code) for not_run, _, code in found if not not_run]


def pages() -> list[Path]:
    """All pages with such snippets."""
    places = [ROOT.glob("*.md"), ROOT.glob("docs/**/*.md"), ROOT.glob("crates/*/*.md"), PYTHON.glob("*.md")]
    return sorted(page for place in places for page in place if snippets(page) and page != BATCH)


def test_all_pages_are_found() -> None:
    names = {page.relative_to(ROOT).as_posix() for page in pages()}
    assert {"README.md", "python/README.md", "docs/tutorial/matches.md", "docs/how-to/unknown-scale.md"} <= names


@pytest.mark.parametrize("document", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_snippets(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seed in [("scan.ply", 1), ("map.ply", 2), ("scan1.ply", 3), ("scan2.ply", 4)]:
        pcr99.write_points(name, hills(3000, seed))
    problem = pcr99.simulate(outliers=0.9)
    pcr99.write_matches("matches.csv", problem.source, problem.target)
    Path("pairs.csv").write_text("pair_id,pairs\nfirst,matches.csv\n", encoding="utf-8")
    names = {
        "other_cloud": hills(3000, 5),
        "scans": [hills(2000, 6)],
        "source": problem.source,
        "target": problem.target,
        "pcr99": pcr99,
        "np": np,
        "__name__": "document",
    }
    for snippet in snippets(document):
        exec(compile(snippet, str(document), "exec"), names)
    assert names.get("r", True), names.get("r")


def test_batch_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    problem = pcr99.simulate(outliers=0.9, scale=2.0)
    pcr99.write_matches("matches.csv", problem.source, problem.target)
    Path("pairs.csv").write_text("pair_id,pairs\nfirst,matches.csv\nsecond,nowhere.csv\n", encoding="utf-8")
    names = {"pcr99": pcr99, "__name__": "document"}
    assert snippets(BATCH)
    for snippet in snippets(BATCH):
        exec(compile(snippet, str(BATCH), "exec"), names)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("1 1 ") and shown[1:][0] == "first registered None"
    assert shown[2].startswith("second failed cannot read")


def test_typed_package_is_complete() -> None:
    package = Path(pcr99.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    assert not np.any([name.startswith("test") for name in os.listdir(package)])
