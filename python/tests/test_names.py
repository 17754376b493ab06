"""Names: the same everywhere, old names explained, and every public name in the reference."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import pcr99
import pcr99.ray

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python.md"


def test_functions_of_two_sides_name_them_alike() -> None:
    for function in (pcr99.solve, pcr99.assess, pcr99.register, pcr99.refine, pcr99.verify, pcr99.suggest_voxel, pcr99.match_features):
        assert list(inspect.signature(function).parameters)[:2] == ["source", "target"], function.__name__
    shared = {"scale", "candidates", "threads", "time_limit", "seed"}
    for function in (pcr99.solve, pcr99.register):
        assert shared <= set(inspect.signature(function).parameters)


def test_old_names_of_arguments_warn(problem: pcr99.Problem) -> None:
    a, b = problem.source, problem.target
    expected = pcr99.solve(source=a, target=b)
    with pytest.warns(DeprecationWarning, match="`src` is now called `source`") as caught:
        assert pcr99.solve(src=a, target=b) == expected  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="`dst` is now called `target`"):
        assert pcr99.solve(a, dst=b) == expected  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning):
        assert pcr99.assess(src=a, dst=b, transform=problem.transform, threshold=0.05)  # type: ignore[call-arg]


def test_old_and_new_names_together_are_an_error(problem: pcr99.Problem) -> None:
    a, b = problem.source, problem.target
    for call in (
        lambda: pcr99.solve(a, b, src=a),  # type: ignore[call-arg]
        lambda: pcr99.solve(source=a, target=b, dst=b),  # type: ignore[call-arg]
        lambda: pcr99.assess(a, b, np.eye(4), threshold=1.0, dst=b),  # type: ignore[call-arg]
    ):
        with pytest.raises(pcr99.InvalidType, match="is given twice: `(src|dst)` is its old name"):
            call()
    with pytest.raises(TypeError):
        pcr99.solve(a, b, sources=a)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("evidence", "effective_inliers", "inlier_places"),
        ("evidence", "rival", "rival_evidence_ratio"),
        ("candidate", "log10_nfa", "evidence.log10_nfa"),
        ("candidate", "overlap", "fit.overlap_source"),
        ("result", "overlap", "fit.overlap_source"),
        ("result", "normal_agreement", "fit.normal_agreement"),
        ("result", "contradiction", "fit.conflict_fraction"),
        ("result", "distinct", "fit.off_plane_fraction"),
        ("fit", "distinct", "off_plane_fraction"),
        ("fit", "contradiction", "conflict_fraction"),
        ("module", "Assessment", "Fit"),
        ("module", "Overlap", "Fit"),
    ],
)
def test_old_attributes_name_the_new_ones(registered: pcr99.CloudRegistration, kind: str, old: str, new: str) -> None:
    owner = {
        "evidence": registered.evidence,
        "candidate": registered.candidates[0],
        "result": registered,
        "fit": registered.fit,
        "module": pcr99,
    }[kind]
    with pytest.raises(AttributeError, match=f"{old}'.*now called '?{new}"):
        getattr(owner, old)
    with pytest.raises(AttributeError, match="no attribute 'unknown'$"):
        owner.unknown


def attributes(kind: type) -> set[str]:
    """Public attributes of a class that it defines itself."""
    if issubclass(kind, tuple):
        own = set(kind._fields)  # type: ignore[attr-defined]
    elif dataclasses.is_dataclass(kind):
        own = {field.name for field in dataclasses.fields(kind)}
    else:
        own = set()
    return {name for name in own | set(vars(kind)) if not name.startswith("_")}


def test_the_reference_is_complete() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    code = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", " ".join(re.findall(r"`([^`\n]+)`", text))))
    missing = []
    for name in pcr99.__all__:
        thing = getattr(pcr99, name)
        names = {name}
        if inspect.isclass(thing):
            if not issubclass(thing, Exception):
                names |= attributes(thing)
        elif callable(thing):
            names |= set(inspect.signature(thing).parameters) - {"defaults"}
        missing += [f"{name}: {each}" for each in sorted(names - code)]
    names = set(inspect.signature(pcr99.ray.batch).parameters) | set(pcr99._manifest.Defaults.__annotations__)
    missing += sorted(names - code - {"defaults"})
    assert missing == []


def test_old_words_are_gone() -> None:
    package = Path(pcr99.__file__).parent
    for path in [*package.glob("*.py"), REFERENCE]:
        text = path.read_text(encoding="utf-8")
        for word in ("MOURNING", "LAST_WORDS", "contender", "decoy", "witness", "jury", "testimony"):
            assert word not in text, f"{path.name}: {word}"
