"""Results. They cannot be changed, and they hold the result document of the program."""

from __future__ import annotations

import html
import importlib
import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Optional, TypeVar, cast

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import Floats, Indices, frozen
from ._clouds import CloudLike, PathLike, _path, points_of
from ._errors import InvalidInput, InvalidType, MissingPackage
from ._inline import picture
from ._origin import Origin, file_name, label, points_shown
from ._parts import (
    Accuracy,
    Candidate,
    CloudSummary,
    Counters,
    EquivalentPose,
    Evidence,
    Fit,
    FreeMotion,
    Frozen,
    Place,
    Rival,
)
from ._renamed import explained_attributes

_R = TypeVar("_R", bound="Registration")

#: Old names of attributes of results, with the new ones.
_NEW_NAMES = {
    "overlap": "fit.overlap_source and fit.overlap_target",
    "normal_agreement": "fit.normal_agreement",
    "contradiction": "fit.conflict_fraction",
    "distinct": "fit.off_plane_fraction",
}


class Registration(Frozen):
    """A transform from source to target, and the verdict on it.

    It is true only if its status is ``"registered"``:

    >>> import pcr99
    >>> problem = pcr99.simulate(outliers=0.9, seed=1)
    >>> r = pcr99.solve(problem.source, problem.target)
    >>> bool(r), r.status, len(r.inliers)
    (True, 'registered', 100)
    >>> r.transform.shape, int(r.inlier_mask.sum())
    ((4, 4), 100)

    Results can be compared (``seconds`` and ``inputs`` are ignored), pickled, and converted to the program's JSON document and back:

    >>> import pickle
    >>> pickle.loads(pickle.dumps(r)) == r == pcr99.Registration.from_json(r.to_json())
    True
    >>> r.to_dict()["status"]
    'registered'
    """

    __slots__ = ("_document", "_inliers", "_origin")
    _document: _core.Document
    _inliers: Optional[Indices]
    _origin: Optional[Origin]

    def __init__(self, document: _core.Document, origin: Optional[Origin] = None) -> None:
        """Wraps a document; ``solve``, ``register`` and ``from_json`` call it."""
        object.__setattr__(self, "_document", document)
        # Converted when they are first asked for: there may be a million.
        object.__setattr__(self, "_inliers", None)
        # The origin is not part of the result: it is neither compared nor pickled.
        object.__setattr__(self, "_origin", origin)

    @classmethod
    def from_json(cls: type[_R], text: str) -> _R:
        """Reads a result document, as ``to_json`` or ``pcr99 … --json`` wrote it.

        The class of the result follows from the document: ``Registration`` for matches, ``CloudRegistration`` for clouds. Text that is
        truncated, of another schema, or lacks a field raises ``InvalidInput``, and the message names the field.
        """
        if not isinstance(text, str):
            raise InvalidType(f"`text` must be a string, not {type(text).__name__}")
        document = _core.Document.from_json(text)
        kind = CloudRegistration if document.kind == "clouds" else Registration
        if not issubclass(kind, cls):
            raise InvalidInput(f"`kind` is `{document.kind}`, so this is not a document of two clouds: use Registration.from_json")
        return cast(_R, kind(document))

    @property
    def status(self) -> str:
        """``"registered"``, ``"not_reliable"`` or ``"no_solution"``."""
        return self._document.status

    @property
    def doubt(self) -> Optional[str]:
        """Code of the doubt that kept the result from being registered; ``None`` if it is registered."""
        return self._document.doubt

    @property
    def reason(self) -> str:
        """The reason for the status, one sentence."""
        return self._document.reason

    @property
    def inputs(self) -> Optional[Mapping[str, str]]:
        """Names of the input files by role, for example ``"source"``; ``None`` if the points did not come from files."""
        inputs = self._document.inputs
        return None if inputs is None else MappingProxyType(inputs)

    @property
    def method(self) -> str:
        """Name of the method: one of ``pcr99.methods()``, or ``"assess"``."""
        return self._document.method

    @property
    def transform(self) -> Optional[Floats]:
        """The 4×4 matrix ``[sR t; 0 1]`` from source to target; ``None`` if the status is ``"no_solution"``."""
        return _read_only(self._document.transform)

    @property
    def scale(self) -> Optional[float]:
        """The scale ``s``."""
        return self._document.scale

    @property
    def rotation(self) -> Optional[Floats]:
        """The 3×3 rotation ``R``."""
        return _read_only(self._document.rotation)

    @property
    def translation(self) -> Optional[Floats]:
        """The translation ``t``, in target units."""
        return _read_only(self._document.translation)

    @property
    def correspondences(self) -> int:
        """Number of matches."""
        return self._document.correspondences

    @property
    def inliers(self) -> Indices:
        """Indices of the inliers, from 0, ascending: the matches within ``threshold`` of the transform."""
        if self._inliers is None:
            object.__setattr__(self, "_inliers", frozen(self._document.inliers))
        assert self._inliers is not None
        return self._inliers

    @property
    def inlier_mask(self) -> npt.NDArray[np.bool_]:
        """Boolean array with an entry for each match: true for inliers."""
        mask = np.zeros(self.correspondences, dtype=np.bool_)
        mask[self.inliers] = True
        return frozen(mask)

    @property
    def threshold(self) -> Optional[float]:
        """Inlier threshold in target units, given or found from the data."""
        return self._document.threshold

    @property
    def inlier_rmse(self) -> Optional[float]:
        """Root mean square distance of the inliers in target units; ``None`` for clouds, which have ``rmse``."""
        return self._document.inlier_rmse

    @property
    def accuracy(self) -> Optional[Accuracy]:
        """Accuracy of the transform, as numbers and as a sentence.

        >>> import pcr99
        >>> problem = pcr99.simulate(outliers=0.9, seed=1)
        >>> r = pcr99.solve(problem.source, problem.target)
        >>> print(r.accuracy)  # doctest: +ELLIPSIS
        ± 0.00... and ± 0...° (95 %)...
        """
        fields = self._document.accuracy
        return None if fields is None else Accuracy(*fields[:-1], tuple(fields[-1]))

    @property
    def covariance(self) -> Optional[Floats]:
        """Covariance of the transform; 6×6, or 7×7 with an estimated scale.

        It is that of the small motion ``p + ω × (p − c) + t + σ (p − c)`` of the moved points ``p`` that leads to the true transform, in the axes and units of the
        target, with ``c`` the ``information_center``. The order is rotation ``ω`` in radians, translation ``t``, relative scale ``σ``.
        """
        return _read_only(self._document.covariance)

    @property
    def information(self) -> Optional[Floats]:
        """Information matrix: the inverse of ``covariance``."""
        return _read_only(self._document.information)

    @property
    def information_center(self) -> Optional[Floats]:
        """The point in target coordinates that ``covariance`` and ``information`` refer to: the center of what the transform rests on."""
        return _read_only(self._document.information_center)

    def covariance_about(self, point: npt.ArrayLike) -> Optional[Floats]:
        """Returns the covariance about another point in target coordinates, for example the position of a sensor."""
        try:
            x, y, z = (float(number) for number in np.asarray(point, dtype=float).reshape(3))
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"`point` must be three numbers, got {point!r}") from error
        return self._document.covariance_about((x, y, z))

    @property
    def evidence(self) -> Optional[Evidence]:
        """Evidence for the transform from the matches."""
        return Evidence._of(self._document.evidence)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """Distinct transforms that were found, best first."""
        return tuple(Candidate(*fields) for fields in self._document.candidates)

    @property
    def rival(self) -> Optional[Rival]:
        """Another transform that explains nearly as much, if there is one."""
        rival = self._document.rival
        if rival is None:
            return None
        candidate, evidence_ratio, score_ratio, because = rival
        return Rival(*candidate, evidence_ratio, score_ratio, because)

    @property
    def stopped_because(self) -> Optional[str]:
        """Reason for the end of the search, for example ``"confident"`` or ``"time_limit"``."""
        return self._document.stopped_because

    @property
    def counters(self) -> Optional[Counters]:
        """Amount of work of the search."""
        counters = self._document.counters
        return None if counters is None else Counters(*counters)

    @property
    def seconds(self) -> Mapping[str, float]:
        """Time in seconds: ``total``, and one entry for each stage, from ``reading`` of files and ``preparing`` of arrays to the verdict."""
        return MappingProxyType(self._document.seconds)

    def apply(self, points: CloudLike) -> Floats:
        """Transforms points of the source (N×3, or a cloud) to the target's coordinates.

        >>> import numpy as np, pcr99
        >>> problem = pcr99.simulate(outliers=0.9, seed=1)
        >>> r = pcr99.solve(problem.source, problem.target)
        >>> moved = r.apply(problem.source[r.inliers])
        >>> bool(np.abs(moved - problem.target[r.inliers]).max() < r.threshold)
        True
        """
        transform = self.transform
        if transform is None:
            raise InvalidInput(f"the result has no transform to apply: {self.reason}")
        rows = points_of("points", points)
        moved: Floats = rows @ transform[:3, :3].T + transform[:3, 3]
        return moved

    def to_dict(self) -> dict[str, Any]:
        """Returns the document as a dictionary."""
        document: dict[str, Any] = json.loads(self.to_json())
        return document

    def to_json(self) -> str:
        """Returns the document that the program prints with ``--json``: one line per field."""
        return self._document.to_json()

    def to_tum(self, timestamp: float = 0.0) -> str:
        """Returns one line of a TUM trajectory: ``timestamp tx ty tz qx qy qz qw``. The scale must be 1."""
        return self._document.to_tum(float(timestamp))

    def to_kitti(self) -> str:
        """Returns one line of a KITTI trajectory: the first three rows of the matrix. The scale must be 1."""
        return self._document.to_kitti()

    def to_g2o(self, target_vertex: int = 0, source_vertex: int = 1) -> str:
        """Returns an edge of a g2o pose graph from the target's vertex to the source's, with its information. The scale must be 1."""
        return self._document.to_g2o(target_vertex, source_vertex)

    def to_gtsam(self) -> tuple[Any, Any]:
        """Returns the pose and its noise for GTSAM: ``gtsam.Pose3`` and ``gtsam.noiseModel.Gaussian``. The scale must be 1.

        As a factor of a graph: ``gtsam.BetweenFactorPose3(target_key, source_key, *r.to_gtsam())``.
        """
        # Refuses what is not a rigid motion.
        self.to_kitti()
        try:
            gtsam = importlib.import_module("gtsam")
        except ImportError as error:
            raise MissingPackage("to_gtsam needs GTSAM: pip install gtsam, or use to_g2o, which does not need it") from error
        return gtsam.Pose3(self.transform), gtsam.noiseModel.Gaussian.Covariance(self._document.pose_covariance())

    def to_open3d(self) -> Any:
        """Returns ``open3d.pipelines.registration.RegistrationResult``: the transform, the fitness, the RMSE and the inliers as a correspondence set.

        The correspondence set has the inliers of matches that were given; it is empty for clouds, whose matches have no rows. A result that is
        not registered has no transform for Open3D: check it first.
        """
        if not self:
            raise InvalidInput(f"the result is not registered, so it has no transform for Open3D: {self.reason}")
        try:
            registration = importlib.import_module("open3d.pipelines.registration")
            utility = importlib.import_module("open3d.utility")
        except ImportError as error:
            raise MissingPackage("to_open3d needs Open3D: pip install open3d") from error
        result = registration.RegistrationResult()
        result.transformation = np.array(self.transform)
        result.fitness = self._fitness
        result.inlier_rmse = 0.0 if self._rmse is None else self._rmse
        result.correspondence_set = utility.Vector2iVector(self._inlier_pairs().astype(np.int32))
        return result

    @property
    def _fitness(self) -> float:
        return len(self.inliers) / self.correspondences

    def _inlier_pairs(self) -> Indices:
        """Rows of the source and of the target that match, for the inliers."""
        origin = self._origin
        pairs = None if origin is None else origin.pairs()
        rows: Indices = np.stack([self.inliers, self.inliers], axis=1) if pairs is None else pairs[self.inliers]
        return rows

    def save_page(
        self,
        path: PathLike,
        *,
        title: Optional[str] = None,
        source: Optional[CloudLike] = None,
        target: Optional[CloudLike] = None,
    ) -> None:
        """Writes the page that the program writes with ``--page``: one HTML file that opens offline in any browser.

        It shows the verdict, the points before and after in 3-D, residuals, candidates, and the transform to copy. The file appears
        complete or not at all.

        Parameters
        ----------
        path
            The file to write.
        title
            Title of the page.
        source, target
            The points. By default those that the result was made from, which must not have changed; files are read again. A result
            that was pickled or read from JSON does not have them, so they must be given. For matches with ``indices``, give both sides
            of each match.

        Examples
        --------
        >>> import os, tempfile
        >>> import pcr99
        >>> problem = pcr99.simulate(outliers=0.99)
        >>> r = pcr99.solve(problem.source, problem.target)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     page = os.path.join(directory, "view.html")
        ...     r.save_page(page, title="A thousand matches")
        ...     with open(page, encoding="utf-8") as file:
        ...         "A thousand matches" in file.read()
        True
        """
        file = _path("path", path)
        if title is not None and not isinstance(title, str):
            raise InvalidType(f"`title` must be a string, not {type(title).__name__}")
        origin, is_original = self._origin, source is None and target is None
        clouds = self._shown_clouds(file, source, target)
        labels = {
            "title": title,
            "source": label("source", clouds[0]),
            "target": label("target", clouds[1]),
            "call": None if origin is None else f"{origin.call()}.save_page({file!r})",
        }
        pairs = origin.pairs() if origin is not None and is_original else None
        matches = None if origin is None else origin.matches
        shown = points_shown("source", clouds[0]), points_shown("target", clouds[1])
        _core.save_page(file, self._document, *shown, pairs, matches, labels)

    def _shown_clouds(self, file: str, source: Any, target: Any) -> tuple[Any, Any]:
        """Completes the clouds for ``save_page`` with those that the result was made from."""
        origin = self._origin
        if source is not None and target is not None:
            return source, target
        if origin is None:
            raise InvalidInput(
                "a result that was pickled or read from JSON does not have its points: pass them, "
                f"as in save_page({file!r}, source=source, target=target)"
            )
        if origin.indices is not None and (source is not None or target is not None):
            missing = "source" if source is None else "target"
            raise InvalidInput(f"`{missing}` is missing: pass both source and target, or neither")
        return origin.source if source is None else source, origin.target if target is None else target

    def _points_in_target(self, source: Optional[CloudLike], target: Optional[CloudLike]) -> tuple[Floats, Floats]:
        """Returns the points of both clouds, those of the source moved by the transform if there is one."""
        clouds = self._shown_clouds("view.html", source, target)
        moved, fixed = points_shown("source", clouds[0]), points_shown("target", clouds[1])
        transform = self.transform
        if transform is not None:
            moved = moved @ transform[:3, :3].T + transform[:3, 3]
        return moved, fixed

    def __bool__(self) -> bool:
        return self.status == "registered"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Registration):
            return NotImplemented
        return self._document.is_same(other._document)

    def __hash__(self) -> int:
        transform = self.transform
        return hash((self.status, None if transform is None else transform.tobytes(), self.inliers.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_json(),)

    def __copy__(self: _R) -> _R:
        return self

    def __deepcopy__(self: _R, memo: object) -> _R:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.status.replace('_', ' ')}: {self.reason}>"

    def _repr_html_(self) -> str:
        color = {"registered": "#1b7f3b", "not_reliable": "#a15c00"}.get(self.status, "#b00020")
        rows = [("scale", self.scale), ("threshold", self.threshold), ("RMSE", self._rmse)]
        if self.evidence is not None:
            rows.append(("log₁₀ of the number of false alarms", self.evidence.log10_nfa))
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
        return f"<div>{head}{self._picture()}{matrix}<table>{cells}</table></div>"

    def _picture(self) -> str:
        """Draws the clouds if they are still at hand and are no files, which would be read again."""
        origin = self._origin
        if origin is None or any(file_name(cloud) is not None for cloud in (origin.source, origin.target)):
            return ""
        moved, fixed = self._points_in_target(None, None)
        if type(self) is Registration and len(self.inliers) > 0:
            # Most matches may be wrong; the right ones show the shape.
            pairs = self._inlier_pairs()
            moved, fixed = moved[pairs[:, 0]], fixed[pairs[:, 1]]
        return picture(moved, fixed)

    @property
    def _rmse(self) -> Optional[float]:
        return self.inlier_rmse


class CloudRegistration(Registration):
    """A ``Registration`` of two clouds, with the fit of the clouds."""

    __slots__ = ()

    @property
    def fit(self) -> Optional[Fit]:
        """Fit of the clouds under the transform."""
        return Fit._of(self._document.fit)

    @property
    def fitness(self) -> Optional[float]:
        """Fraction of the source that overlaps the target: ``fit.overlap_source``, under the name that Open3D uses."""
        return None if self.fit is None else self.fit.overlap_source

    @property
    def poses(self) -> tuple[EquivalentPose, ...]:
        """When the ``doubt`` is ``"ambiguous"``: the transforms that fit equally well, the answer first. Empty otherwise.

        Each but the first has a ``relation``, which says how it follows from the answer, for example
        ``turned by 180° about the axis (0, 0, 1) through (1.2, 3.4, 0.5)``.
        """
        return tuple(EquivalentPose(*candidate, relation) for candidate, relation in self._document.poses)

    @property
    def free_motions(self) -> tuple[FreeMotion, ...]:
        """Motions after which the clouds fit as well by any amount, as turns of a cylinder about its axis. Empty otherwise."""
        return tuple(FreeMotion(*fields) for fields in self._document.free_motions)

    @property
    def place(self) -> Optional[Place]:
        """Where most of the votes of single points are that raised the doubt; ``None`` for doubts that no votes raise."""
        fields = self._document.place
        return None if fields is None else Place(*fields)

    @property
    def rmse(self) -> Optional[float]:
        """Root mean square distance of overlapping points from the target's tangent planes (or points), in target units."""
        return self._document.rmse

    @property
    def voxel(self) -> float:
        """Edge of the voxels in target units."""
        voxel = self._document.voxel
        return math.nan if voxel is None else voxel

    @property
    def clouds(self) -> Mapping[str, CloudSummary]:
        """Numbers of points of ``"source"`` and ``"target"``."""
        counts = self._document.clouds or ()
        return MappingProxyType({name: CloudSummary(*each) for name, each in zip(("source", "target"), counts)})

    @property
    def _rmse(self) -> Optional[float]:
        return self.rmse

    @property
    def _fitness(self) -> float:
        return self.fitness or 0.0

    def _inlier_pairs(self) -> Indices:
        return np.empty((0, 2), dtype=np.int64)


def _restored(text: str) -> Registration:
    """Restores a pickled result."""
    return Registration.from_json(text)


def _read_only(array: Optional[Floats]) -> Optional[Floats]:
    return None if array is None else frozen(array)


if not TYPE_CHECKING:
    # Hidden from type checkers: they would accept any attribute.
    Registration.__getattr__ = explained_attributes(_NEW_NAMES)

for _class in (Registration, CloudRegistration):
    _class.__module__ = "pcr99"
del _class
