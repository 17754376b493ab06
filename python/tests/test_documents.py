"""Examples and snippets of the documentation are run."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
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


DOCUMENTS = [PYTHON / "README.md", *sorted(PYTHON.parent.glob("*.md")), *sorted((PYTHON.parent / "docs").rglob("*.md"))]
#: A block of Python. A comment before it gives the reason if it is not run, or the library that it needs.
SNIPPET = re.compile(r"^(<!-- not run: [^\n]+ -->\n)?(?:<!-- needs: (\w+) -->\n)?([ ]*)```python\n(.*?)^[ ]*```", re.S | re.M)


def snippets(document: Path) -> list[str]:
    """The blocks that can be run here."""
    found = SNIPPET.findall(document.read_text(encoding="utf-8"))
    runs = [(needed, code) for skipped, needed, _, code in found if not skipped]
    return [textwrap.dedent(code) for needed, code in runs if not needed or importlib.util.find_spec(needed) is not None]


def test_snippets_are_found() -> None:
    assert sum(bool(snippets(document)) for document in DOCUMENTS) >= 5


@pytest.mark.parametrize(
    "document", [d for d in DOCUMENTS if snippets(d)], ids=lambda path: str(path.relative_to(PYTHON.parent)).replace(os.sep, "/")
)
def test_snippets(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("scan.ply", 1), ("map.ply", 2), ("scan1.ply", 1), ("scan2.ply", 2)):
        pcr99.write_points(name, hills(3000, seed))
    problem = pcr99.simulate(outliers=0.9, scale=2.0)
    pcr99.write_matches("matches.csv", problem.source, problem.target)
    Path("pairs.csv").write_text("pair_id,pairs\nfirst,matches.csv\nsecond,nowhere.csv\n", encoding="utf-8")
    names = {"pcr99": pcr99, "other_cloud": hills(3000, 3), "scans": [hills(2000, 4)], "__name__": "snippet"}
    for code in snippets(document):
        exec(compile(code, str(document), "exec"), names)
    for name in ("r", "done"):
        if name in names:
            assert isinstance(names[name], (pcr99.Registration, pcr99.BatchResult))
    if "r" in names:
        assert names["r"]


def test_typed_package_is_complete() -> None:
    package = Path(pcr99.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
    assert not np.any([name.startswith("test") for name in os.listdir(package)])
