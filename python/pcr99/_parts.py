"""The parts of a result: evidence, fit, candidates, rival, poses that fit as well, and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Optional

import numpy as np

from ._arrays import Floats, frozen
from ._renamed import explained_attributes

#: The fields of ``Evidence`` and ``Fit`` as `_core` gives them.
EvidenceFields = tuple[float, int, float, float]
FitFields = tuple[float, float, float, float, float, float]
#: Three coordinates, and the fields of ``Relation``.
Point = tuple[float, float, float]
RelationFields = tuple[str, Optional[float], Optional[Point], Optional[Point], Point, float]


class Frozen:
    """Base of classes whose objects cannot be changed."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"results cannot be changed: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"results cannot be changed: {name} cannot be deleted")


class Evidence(NamedTuple):
    """Evidence of the matches for a transform."""

    #: log₁₀ of the number of false alarms. At −3, chance alone gives such a consensus at most once in a thousand problems.
    log10_nfa: float
    #: Number of inliers, counted once per place: inliers close to each other count as one. Counting stops where the verdict needs no
    #: more.
    inlier_places: int
    #: Standard deviation of the rotation about the least determined axis, in degrees; at most 180.
    rotation_deviation_deg: float
    #: Evidence for the best rival, as a fraction of the evidence for this transform; 0 without a rival.
    rival_evidence_ratio: float

    @classmethod
    def _of(cls, fields: Optional[EvidenceFields]) -> Optional[Evidence]:
        return None if fields is None else cls(*fields)


class Accuracy(NamedTuple):
    """How far a transform may be off: in 95 of 100 cases no farther. Lengths are in target units."""

    #: The accuracy in one sentence.
    sentence: str
    #: How far the center may be off along the direction that is determined least.
    translation: float
    #: That direction, a unit vector.
    weakest: tuple[float, float, float]
    #: How far the rotation may be off about the axis that is determined least, in degrees.
    rotation_deg: float
    #: How far the scale may be off, relatively; ``None`` if it was known.
    scale: Optional[float]
    #: Directions that the data do not determine, in words.
    undetermined: tuple[str, ...]

    def __str__(self) -> str:
        return self.sentence


class Fit(NamedTuple):
    """Fit of two clouds under a transform."""

    #: Fraction of the source that overlaps the target.
    overlap_source: float
    #: Fraction of the target that overlaps the source.
    overlap_target: float
    #: Fraction of the overlapping points whose normals agree.
    normal_agreement: float
    #: Mean distance of overlapping points from the tangent planes of the other cloud, in voxels.
    residual_voxels: float
    #: Fraction of the points that conflict: they are slightly in front of or behind a surface that the other cloud saw all around.
    #: Points near large planes count less.
    conflict_fraction: float
    #: Fraction of the points that match and lie neither on a large plane nor at its edge.
    off_plane_fraction: float

    @classmethod
    def _of(cls, fields: Optional[FitFields]) -> Optional[Fit]:
        return None if fields is None else cls(*fields)


class Counters(NamedTuple):
    """Amount of work of a search."""

    #: Number of pairs of matches that were examined.
    pairs: int
    #: Number of transforms that were computed and tested on all matches.
    hypotheses: int
    #: Number of triplets of matches that were examined.
    triplets: int


class CloudSummary(NamedTuple):
    """Numbers of points of one cloud."""

    #: Number of points that were passed.
    points: int
    #: Number of removed points that were NaN or infinite.
    not_finite: int
    #: Number of removed points that were equal to an earlier one.
    duplicates: int
    #: Number of points after voxel sampling.
    sampled: int


class NotRefuted(NamedTuple):
    """What kept a rival from being refuted."""

    #: Code, for example ``"explains_as_much"``.
    code: str
    #: The same as a sentence.
    sentence: str


class Relation(NamedTuple):
    """The motion from where the answer puts the source to where another transform puts it, in target coordinates."""

    #: The motion for people.
    sentence: str
    #: Angle of the turn in degrees; ``None`` without a turn.
    degrees: Optional[float]
    #: Direction of the axis of the turn; ``None`` without a turn.
    axis: Optional[tuple[float, float, float]]
    #: A point of that axis; ``None`` without a turn.
    through: Optional[tuple[float, float, float]]
    #: Shift of the centre of the source: along the axis after a turn.
    shift: tuple[float, float, float]
    #: Size of the source divided by that under the answer.
    times: float

    def __str__(self) -> str:
        return self.sentence


class FreeMotion(NamedTuple):
    """A motion after which two clouds fit as well, by any amount, in target coordinates."""

    #: ``"turn"`` about an axis, ``"rotation"`` about a point, or ``"shift"`` along a direction.
    kind: str
    #: The motion for people.
    sentence: str
    #: Direction of the axis of a turn; otherwise ``None``.
    axis: Optional[tuple[float, float, float]]
    #: A point of that axis, or the centre of a rotation; otherwise ``None``.
    through: Optional[tuple[float, float, float]]
    #: Direction of a shift; otherwise ``None``.
    along: Optional[tuple[float, float, float]]

    def __str__(self) -> str:
        return self.sentence


class Place(NamedTuple):
    """Where most of the votes are that raised a doubt."""

    #: The place, in target coordinates.
    at: tuple[float, float, float]
    #: Its radius, in target units.
    radius: float
    #: Fraction of those votes that are there.
    share: float


class Candidate(Frozen):
    """A transform that might be the answer."""

    __slots__ = ("_transform", "_inlier_count", "_evidence", "_fit")
    _transform: Floats
    _inlier_count: int
    _evidence: Optional[Evidence]
    _fit: Optional[Fit]

    def __init__(
        self, transform: Any, inlier_count: int, evidence: Optional[EvidenceFields], fit: Optional[FitFields]
    ) -> None:
        """Made from the fields of a document."""
        object.__setattr__(self, "_transform", frozen(np.array(transform, dtype=np.float64)))
        object.__setattr__(self, "_inlier_count", inlier_count)
        object.__setattr__(self, "_evidence", Evidence._of(evidence))
        object.__setattr__(self, "_fit", Fit._of(fit))

    @property
    def transform(self) -> Floats:
        """The 4×4 matrix ``[sR t; 0 1]`` from source to target."""
        return self._transform

    @property
    def inlier_count(self) -> int:
        """Number of matches that it explains."""
        return self._inlier_count

    @property
    def evidence(self) -> Optional[Evidence]:
        """Evidence for it from the matches."""
        return self._evidence

    @property
    def fit(self) -> Optional[Fit]:
        """Fit of the clouds; ``None`` for matches."""
        return self._fit

    def _key(self) -> tuple[Any, ...]:
        return self._transform.tolist(), self._inlier_count, self._evidence, self._fit

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Candidate) and type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((self._transform.tobytes(), self._inlier_count))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()

    def __repr__(self) -> str:
        evidence = "" if self._evidence is None else f", log10_nfa {self._evidence.log10_nfa:.1f}"
        return f"<{type(self).__name__}: {self._inlier_count} inliers{evidence}>"


class Rival(Candidate):
    """Another transform that explains nearly as much as the answer."""

    __slots__ = ("_evidence_ratio", "_score_ratio", "_not_refuted_because")
    _evidence_ratio: Optional[float]
    _score_ratio: Optional[float]
    _not_refuted_because: Optional[NotRefuted]

    def __init__(
        self,
        transform: Any,
        inlier_count: int,
        evidence: Optional[EvidenceFields],
        fit: Optional[FitFields],
        evidence_ratio: Optional[float],
        score_ratio: Optional[float],
        not_refuted_because: Optional[tuple[str, str]],
    ) -> None:
        """Made from the fields of a document."""
        super().__init__(transform, inlier_count, evidence, fit)
        object.__setattr__(self, "_evidence_ratio", evidence_ratio)
        object.__setattr__(self, "_score_ratio", score_ratio)
        because = None if not_refuted_because is None else NotRefuted(*not_refuted_because)
        object.__setattr__(self, "_not_refuted_because", because)

    @property
    def evidence_ratio(self) -> Optional[float]:
        """For matches: its ``log10_nfa`` divided by the answer's. ``None`` for clouds."""
        return self._evidence_ratio

    @property
    def score_ratio(self) -> Optional[float]:
        """For clouds: the score of its fit divided by the score of the answer's fit. ``None`` for matches."""
        return self._score_ratio

    @property
    def not_refuted_because(self) -> Optional[NotRefuted]:
        """The test that failed to refute it; ``None`` if it was refuted."""
        return self._not_refuted_because

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self._evidence_ratio, self._score_ratio, self._not_refuted_because)


class EquivalentPose(Candidate):
    """A transform under which two clouds fit as well as under the answer, or the answer itself."""

    __slots__ = ("_relation",)
    _relation: Optional[Relation]

    def __init__(
        self,
        transform: Any,
        inlier_count: int,
        evidence: Optional[EvidenceFields],
        fit: Optional[FitFields],
        relation: Optional[RelationFields],
    ) -> None:
        """Made from the fields of a document."""
        super().__init__(transform, inlier_count, evidence, fit)
        object.__setattr__(self, "_relation", None if relation is None else Relation(*relation))

    @property
    def relation(self) -> Optional[Relation]:
        """How it follows from the answer; ``None`` for the answer itself."""
        return self._relation

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self._relation)

    def __repr__(self) -> str:
        return f"<EquivalentPose: {'the answer' if self._relation is None else self._relation.sentence}>"


if not TYPE_CHECKING:
    # Hidden from type checkers: they would accept any attribute.
    Evidence.__getattr__ = explained_attributes({"effective_inliers": "inlier_places", "rival": "rival_evidence_ratio"})
    Fit.__getattr__ = explained_attributes({"contradiction": "conflict_fraction", "distinct": "off_plane_fraction"})
    Candidate.__getattr__ = explained_attributes(
        {"log10_nfa": "evidence.log10_nfa", "overlap": "fit.overlap_source and fit.overlap_target"}
    )

for _class in (Accuracy, Evidence, Fit, Counters, CloudSummary, NotRefuted, Relation, FreeMotion, Place, Candidate, Rival, EquivalentPose):
    _class.__module__ = "pcr99"
del _class
