"""What comes back: results that do not change."""

from __future__ import annotations

import copy
import html
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Optional, TypeVar

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, Indices, frozen
from ._clouds import CloudLike, PathLike, _path, points_of
from ._errors import InvalidInput, InvalidType
from ._origin import Origin, label, points_shown


_R = TypeVar("_R", bound="Registration")


class _Frozen:
    """What is made once and does not change."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"results do not change: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"results do not change: {name} cannot be deleted")


class Evidence(NamedTuple):
    """What a consensus is worth."""

    #: log₁₀ of the number of false alarms: −3 says that chance alone would give this at most once in a thousand such problems.
    log10_nfa: float
    #: The inliers, neighbours counted once; counting stops at 64.
    inlier_places: int
    #: Standard deviation of the rotation about the axis that the inliers hold least, in degrees; ``None`` for two clouds.
    rotation_deviation_deg: Optional[float] = None
    #: The evidence for another transform, as a share of the evidence for this one; ``None`` for two clouds.
    rival_evidence_ratio: Optional[float] = None


class Counters(NamedTuple):
    """How much was tried."""

    #: Pairs of matches examined.
    pairs: int
    #: Transforms computed and tested on all matches.
    hypotheses: int
    #: Triplets of matches looked at.
    triplets: int


class Overlap(NamedTuple):
    """Shares of two clouds that have the other near them."""

    source: float
    target: float


class Candidate(_Frozen):
    """One of several transforms that were found."""

    __slots__ = ("_fields",)
    _fields: Mapping[str, Any]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    @property
    def transform(self) -> Floats:
        """The 4×4 matrix ``[sR t; 0 1]`` from source to target."""
        return frozen(np.array(self._fields["transform"], dtype=np.float64))

    @property
    def inlier_count(self) -> int:
        """How many matches it explains."""
        return int(self._fields["inlier_count"])

    @property
    def log10_nfa(self) -> float:
        """log₁₀ of its number of false alarms."""
        return float(self._fields["log10_nfa"])

    @property
    def overlap(self) -> Optional[Overlap]:
        """Of two clouds: the shares that overlap."""
        overlap = self._fields.get("overlap")
        return None if overlap is None else Overlap(**overlap)

    def __eq__(self, other: object) -> bool:
        return self._fields == other._fields if isinstance(other, Candidate) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.transform.tobytes(), self.inlier_count))

    def __reduce__(self) -> tuple[Any, ...]:
        return Candidate, (dict(self._fields),)

    def __repr__(self) -> str:
        return f"<Candidate: {self.inlier_count} inliers, log10_nfa {self.log10_nfa:.1f}>"


class Registration(_Frozen):
    """A transform from source to target, and how far it can be trusted.

    It is true only when it is registered, with significant evidence:

    >>> import pcr99
    >>> problem = pcr99.simulate(outliers=0.9, seed=1)
    >>> r = pcr99.solve(problem.source, problem.target)
    >>> bool(r), r.status, len(r.inliers)
    (True, 'registered', 100)
    >>> r.transform.shape, int(r.inlier_mask.sum())
    ((4, 4), 100)

    Results do not change, can be compared (times aside), pickled, and are the program's own document:

    >>> import pickle
    >>> pickle.loads(pickle.dumps(r)) == r
    True
    >>> r.to_dict()["status"]
    'registered'
    """

    __slots__ = ("_document", "_inliers", "_verdict", "_origin")
    _document: dict[str, Any]
    _inliers: Indices
    _verdict: str
    _origin: Optional[Origin]

    def __init__(
        self, document: dict[str, Any], inliers: Indices, verdict: str, origin: Optional[Origin] = None
    ) -> None:
        # Of the document the inliers are kept apart: there may be a million.
        object.__setattr__(self, "_document", document)
        object.__setattr__(self, "_inliers", frozen(inliers))
        object.__setattr__(self, "_verdict", verdict)
        # No part of what the result is: neither compared nor pickled.
        object.__setattr__(self, "_origin", origin)

    @classmethod
    def _of(cls: type[_R], outcome: tuple[str, Indices, str], origin: Origin) -> _R:
        document, inliers, verdict = outcome
        return cls(json.loads(document), inliers, verdict, origin)

    @property
    def status(self) -> str:
        """``"registered"``, ``"not_reliable"`` or ``"no_solution"``."""
        return str(self._document["status"])

    @property
    def reason(self) -> str:
        """Why it is trusted, or is not, in words."""
        return self._verdict.partition(": ")[2]

    @property
    def method(self) -> str:
        """How it was found."""
        return str(self._document["method"])

    @property
    def transform(self) -> Optional[Floats]:
        """The 4×4 matrix ``[sR t; 0 1]``, ``b = s·R·a + t``; ``None`` without a solution."""
        return self._array("transform")

    @property
    def scale(self) -> Optional[float]:
        """The scale ``s``."""
        scale = self._document["scale"]
        return None if scale is None else float(scale)

    @property
    def rotation(self) -> Optional[Floats]:
        """The 3×3 rotation ``R``."""
        return self._array("rotation")

    @property
    def translation(self) -> Optional[Floats]:
        """The translation ``t``."""
        return self._array("translation")

    @property
    def correspondences(self) -> int:
        """How many matches there were."""
        return int(self._document["correspondences"])

    @property
    def inliers(self) -> Indices:
        """The matches that the transform explains: indices from 0, ascending."""
        return self._inliers

    @property
    def inlier_mask(self) -> npt.NDArray[np.bool_]:
        """For each match whether the transform explains it."""
        mask = np.zeros(self.correspondences, dtype=np.bool_)
        mask[self._inliers] = True
        return frozen(mask)

    @property
    def threshold(self) -> Optional[float]:
        """How far a right match may be off, in target units; found from the data unless it was given."""
        return self._number("threshold")

    @property
    def inlier_rmse(self) -> Optional[float]:
        """Root mean square distance of the inliers, in target units; of two clouds see ``rmse``."""
        return self._number("inlier_rmse")

    @property
    def evidence(self) -> Optional[Evidence]:
        """What the inliers are worth."""
        evidence = self._document["evidence"]
        return None if evidence is None else Evidence(**evidence)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Distinct transforms that were found, best first."""
        return tuple(Candidate(fields) for fields in self._document["candidates"])

    @property
    def stopped_because(self) -> Optional[str]:
        """Why the search ended, for instance ``"confident"`` or ``"time_limit"``."""
        reason = self._document["stopped_because"]
        return None if reason is None else str(reason)

    @property
    def counters(self) -> Optional[Counters]:
        """How much was tried."""
        counters = self._document["counters"]
        return None if counters is None else Counters(**counters)

    @property
    def seconds(self) -> Mapping[str, float]:
        """Where the time went: ``total``, and each stage."""
        return MappingProxyType(self._document["seconds"])

    def apply(self, points: CloudLike) -> Floats:
        """Moves points (N×3, or a cloud) of the source onto the target.

        >>> import numpy as np, pcr99
        >>> problem = pcr99.simulate(outliers=0.9, seed=1)
        >>> r = pcr99.solve(problem.source, problem.target)
        >>> moved = r.apply(problem.source[r.inliers])
        >>> bool(np.abs(moved - problem.target[r.inliers]).max() < r.threshold)
        True
        """
        transform = self.transform
        if transform is None:
            raise InvalidInput(f"there is no transform to apply: {self._verdict}")
        rows = points_of("points", points)
        moved: Floats = rows @ transform[:3, :3].T + transform[:3, 3]
        return moved

    def to_dict(self) -> dict[str, Any]:
        """The document that the program prints with ``--json``."""
        document = copy.deepcopy(self._document)
        document["inliers"] = self._inliers.tolist()
        return document

    def to_json(self) -> str:
        """The same as text, one field per line."""
        return _core.document_text(json.dumps(self.to_dict()))

    def save_page(
        self,
        path: PathLike,
        *,
        title: Optional[str] = None,
        source: Optional[CloudLike] = None,
        target: Optional[CloudLike] = None,
    ) -> None:
        """Writes one self-contained page, the same as the program's ``--page``: the verdict, before and after in 3-D, residuals,
        candidates, and the transform to copy. It opens offline in any browser, and appears whole or not at all.

        The points are those that the result was made from, which must not have changed since; files are read again. A result that was
        pickled does not have them: give ``source`` and ``target``, of matches by ``indices`` both sides of each match.

        >>> import os, tempfile
        >>> import pcr99
        >>> problem = pcr99.simulate(outliers=0.99)
        >>> r = pcr99.solve(problem.source, problem.target)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     page = os.path.join(directory, "view.html")
        ...     r.save_page(page, title="A thousand matches")
        ...     with open(page, encoding="utf-8") as file:
        ...         "<b>Registered:</b> 10 of 1000 matches agree" in file.read()
        True
        """
        file = _path("path", path)
        if title is not None and not isinstance(title, str):
            raise InvalidType(f"title must be text, not {type(title).__name__}")
        origin, own = self._origin, source is None and target is None
        clouds = [source, target]
        for k, name in enumerate(("source", "target")):
            if clouds[k] is None:
                if origin is None:
                    raise InvalidInput(
                        "a result that was pickled does not have its points: give them, "
                        f"as in save_page({file!r}, source=source, target=target)"
                    )
                if not own and origin.indices is not None:
                    raise InvalidInput(f"{name} is missing: give both source and target, or neither")
                clouds[k] = getattr(origin, name)
        shown = [points_shown(name, cloud) for name, cloud in zip(("source", "target"), clouds)]
        labels = {
            "title": title,
            "source": label("source", clouds[0]),
            "target": label("target", clouds[1]),
            "call": None if origin is None else f"{origin.call}.save_page({file!r})",
        }
        pairs = origin.pairs() if origin is not None and own else None
        matches = None if origin is None else origin.matches
        _core.save_page(file, json.dumps(self._document), self._inliers, shown[0], shown[1], pairs, matches, labels)

    def _array(self, name: str) -> Optional[Floats]:
        rows = self._document[name]
        return None if rows is None else frozen(np.array(rows, dtype=np.float64))

    def _number(self, name: str) -> Optional[float]:
        number = self._document.get(name)
        return None if number is None else float(number)

    def _key(self) -> tuple[Any, ...]:
        fields = {name: value for name, value in self._document.items() if name != "seconds"}
        return fields, self._inliers.tolist(), self._verdict

    def __bool__(self) -> bool:
        return self.status == "registered"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Registration):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.status, str(self._document["transform"]), self._inliers.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._document, self._inliers, self._verdict)

    def __copy__(self) -> Registration:
        return self

    def __deepcopy__(self, memo: object) -> Registration:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._verdict}>"

    def _repr_html_(self) -> str:
        color = {"registered": "#1b7f3b", "not_reliable": "#a15c00"}.get(self.status, "#b00020")
        rows = [("scale", self.scale), ("threshold", self.threshold), ("rmse", self._number("rmse") or self.inlier_rmse)]
        if self.evidence is not None:
            rows.append(("log₁₀ of false alarms", self.evidence.log10_nfa))
        rows.append(("seconds", self.seconds.get("total")))
        cells = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{value:.6g}</td></tr>" for name, value in rows if value is not None
        )
        matrix = ""
        if self.transform is not None:
            lines = "".join(
                "<tr>" + "".join(f'<td style="text-align:right">{number:.6f}</td>' for number in row) + "</tr>"
                for row in self.transform
            )
            matrix = f"<table><caption>transform, source to target</caption>{lines}</table>"
        head = f'<p style="color:{color}"><b>{html.escape(self.status)}</b> {html.escape(self.reason)}</p>'
        return f"<div>{head}{matrix}<table>{cells}</table></div>"


class CloudSummary(NamedTuple):
    """What became of one cloud's points."""

    #: Points as given.
    points: int
    #: Left out: NaN or infinite.
    not_finite: int
    #: Left out: equal to an earlier one.
    duplicates: int
    #: Points after voxel sampling.
    sampled: int


class CloudRegistration(Registration):
    """A ``Registration`` of two raw clouds, with what these say of it."""

    __slots__ = ()

    @property
    def fitness(self) -> Optional[float]:
        """Share of the source that has target near it."""
        return self._number("fitness")

    @property
    def overlap(self) -> Optional[Overlap]:
        """Shares of both clouds that have the other near them."""
        overlap = self._document["overlap"]
        return None if overlap is None else Overlap(**overlap)

    @property
    def normal_agreement(self) -> Optional[float]:
        """Share of the overlapping points whose normals agree."""
        return self._number("normal_agreement")

    @property
    def rmse(self) -> Optional[float]:
        """Root mean square distance of overlapping points from the tangent planes (or points) of the target."""
        return self._number("rmse")

    @property
    def contradiction(self) -> Optional[float]:
        """Share of the points that are just above or below a surface which the other cloud saw all round there."""
        return self._number("contradiction")

    @property
    def distinct(self) -> Optional[float]:
        """Share of all points that fit and are neither on a large plane nor at its edge."""
        return self._number("distinct")

    @property
    def information(self) -> Optional[Floats]:
        """The inverse of the covariance of a further motion ``(ω, t)`` about ``information_center``, with unknown scale ``(ω, t, σ)``:
        6×6 or 7×7."""
        return self._array("information")

    @property
    def information_center(self) -> Optional[Floats]:
        """The middle of the overlap, in target coordinates: the point that ``information`` is about."""
        return self._array("information_center")

    @property
    def voxel(self) -> float:
        """The edge of the voxels that were used, in target units."""
        return float(self._document["voxel"])

    @property
    def clouds(self) -> Mapping[str, CloudSummary]:
        """What became of the points of ``source`` and ``target``."""
        return MappingProxyType({name: CloudSummary(**fields) for name, fields in self._document["clouds"].items()})


for _class in (Evidence, Counters, Overlap, Candidate, Registration, CloudSummary, CloudRegistration):
    _class.__module__ = "pcr99"
del _class
