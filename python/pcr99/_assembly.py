"""The result of an assembly: scans with their poses, components, and the edges between scans."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Floats, frozen


class PoseAccuracy(NamedTuple):
    """How far the pose of a scan may be off relative to the held scan of its map: in 95 of 100 cases no farther."""

    #: How far the middle of the scan may be off along the direction that is determined least, in units of the map.
    translation: float
    #: How far the rotation may be off about the axis that is determined least, in degrees.
    rotation_deg: float
    #: How far the scale may be off, relatively; ``None`` where it was known.
    scale: Optional[float]


@dataclasses.dataclass(frozen=True, eq=False)
class AssembledScan:
    """A scan of an assembly. It is true if the scan has a place in a map."""

    #: Its name, or its file as it was given.
    name: str
    #: ``"placed"``, ``"alone"`` or ``"failed"``.
    status: str
    #: One sentence that explains the status.
    reason: str
    #: Number of points; ``None`` for a scan that failed.
    points: Optional[int]
    #: Number of its component, from 0; ``None`` for a scan that is not placed.
    component: Optional[int]
    #: The transform from the scan to the map of its component, 4×4; ``None`` for a scan that is not placed.
    transform: Optional[Floats]
    #: Scale of the transform.
    scale: Optional[float]
    #: How accurate the pose is; ``None`` for the held scan and for scans that are not placed.
    accuracy: Optional[PoseAccuracy]
    #: Number of admitted edges.
    edges: int
    #: Name of an earlier scan with the same points.
    same_as: Optional[str]
    #: A remark, for instance that the units of the scan may be others.
    note: Optional[str]

    def __bool__(self) -> bool:
        return self.status == "placed"


@dataclasses.dataclass(frozen=True)
class LoopErrors:
    """Distances by which points are off around loops, in units of the map."""

    #: Number of loops, or of edges.
    count: int
    #: Median error.
    median: float
    #: Largest error.
    largest: float


class WorldTie(NamedTuple):
    """How known places tie a map to the world."""

    #: Whether they do. The map then has the coordinates of the world.
    is_tied: bool
    #: Number of known places in the map.
    places: int
    #: Number of those that were used; the others are gross errors.
    used: int
    #: Root mean square distance of the used places from where the map has them; ``None`` where nothing is tied.
    rmse: Optional[float]
    #: One sentence that explains it.
    reason: str


class KnownPlace(NamedTuple):
    """A control point, or the position of a scan."""

    #: Its name.
    name: str
    #: Name of the scan in whose coordinates it was measured.
    scan: str
    #: Its place in the world.
    world: tuple[float, float, float]
    #: Standard deviation of each coordinate of the place.
    deviations: tuple[float, float, float]
    #: Whether it was used. The others are gross errors, or belong to a map that is not tied.
    is_used: bool
    #: Distance between its place and where the map has it; ``None`` where its map is not tied.
    distance: Optional[float]
    #: The same in standard deviations of what the other places and the map lead one to expect.
    normalized_residual: Optional[float]


class Component(NamedTuple):
    """Scans that belong together: one map."""

    #: Places of its scans in the list of all scans.
    members: tuple[int, ...]
    #: Name of the held scan: its coordinates are those of the map.
    held: str
    #: Number of admitted edges.
    edges: int
    #: Errors around the loop that each edge closes, before the joint optimisation; ``None`` without loops.
    loops_before: Optional[LoopErrors]
    #: Difference of each edge from the map after it.
    loops_after: Optional[LoopErrors]
    #: Edges without which the component falls into two, by the names of their scans, the one with the least evidence first.
    bridges: tuple[tuple[str, str], ...]
    #: How known places tie it to the world; ``None`` without any in it.
    world: Optional[WorldTie]


@dataclasses.dataclass(frozen=True, eq=False)
class Edge:
    """A pair of scans that was tried. It is true if it is part of a map."""

    #: Place of the target among the scans.
    target: int
    #: Place of the source among the scans.
    source: int
    #: ``"registered"``, ``"supported"``, ``"found"``, ``"identical"``, ``"contradicted"``, ``"contested"``, ``"refused"`` or ``"failed"``.
    verdict: str
    #: Why the pair alone was not registered, as in ``Registration``.
    doubt: Optional[str]
    #: One sentence that explains the verdict.
    reason: str
    #: Place of the admitted pose among the candidates of the pair, from 0.
    candidate: Optional[int]
    #: The transform from source to target of the pair alone, 4×4.
    transform: Optional[Floats]
    #: log₁₀ of the number of false alarms of its matches.
    log10_nfa: Optional[float]
    #: Overlap of the cloud that overlaps more.
    overlap: Optional[float]
    #: Distance by which the transform of an admitted edge differs from the map, in units of the map.
    residual: Optional[float]
    #: Whether the component falls into two without it.
    is_bridge: bool

    def __bool__(self) -> bool:
        return self.verdict in ("registered", "supported", "found", "identical")


@dataclasses.dataclass(frozen=True, eq=False)
class Assembly:
    """Result of ``assemble``. It is true if all scans are in one map. Iteration yields the scans."""

    #: All scans, in the order in which they were given.
    scans: tuple[AssembledScan, ...]
    #: The maps, the largest first.
    components: tuple[Component, ...]
    #: All pairs that were tried.
    edges: tuple[Edge, ...]
    #: Control points and positions of scans.
    known_places: tuple[KnownPlace, ...]
    #: Directory of the project; ``None`` if none was asked for.
    output: Optional[Path]
    #: Merged clouds that were written, one for each component.
    merged: tuple[Path, ...]
    #: Number of pairs that were registered in this run, not in an earlier one.
    new_pairs: int
    #: Duration of this run in seconds.
    seconds: float
    _json: str = dataclasses.field(repr=False)

    @property
    def poses(self) -> tuple[Optional[Floats], ...]:
        """Pose of each scan in the map of its component, 4×4; ``None`` for a scan that is not placed."""
        return tuple(scan.transform for scan in self.scans)

    def to_json(self) -> str:
        """Returns the document as JSON text, as in ``poses.json``."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """Returns the document as a dictionary."""
        document: dict[str, Any] = json.loads(self._json)
        return document

    def __bool__(self) -> bool:
        return len(self.components) == 1 and all(self.scans)

    def __len__(self) -> int:
        return len(self.scans)

    def __iter__(self) -> Any:
        return iter(self.scans)

    def __repr__(self) -> str:
        placed = sum(map(bool, self.scans))
        maps = "1 map" if len(self.components) == 1 else f"{len(self.components)} maps"
        where = "" if self.output is None else f"; in {str(self.output)!r}"
        return f"<Assembly: {placed} of {len(self.scans)} scans placed in {maps}{where}>"


def assembly(text: str, output: Optional[Path], merged: list[Path], new_pairs: int, seconds: float) -> Assembly:
    """Reads the document of an assembly."""
    document = json.loads(text)
    scans = tuple(map(_scan, document["scans"]))
    components = tuple(
        Component(
            members=tuple(place for place, scan in enumerate(scans) if scan.component == number),
            held=given["held"],
            edges=given["edges"],
            loops_before=_loops(given["loops_before"]),
            loops_after=_loops(given["loops_after"]),
            bridges=tuple((a, b) for a, b in given["bridges"]),
            world=None if given["world"] is None else WorldTie(**given["world"]),
        )
        for number, given in enumerate(document["components"])
    )
    edges = tuple(Edge(**{**given, "transform": _matrix(given["transform"])}) for given in document["edges"])
    places = tuple(
        KnownPlace(**{**given, "world": tuple(given["world"]), "deviations": tuple(given["deviations"])})
        for given in document["known_places"]
    )
    return Assembly(scans, components, edges, places, output, tuple(merged), new_pairs, seconds, text)


def _scan(given: dict[str, Any]) -> AssembledScan:
    accuracy = given["accuracy"]
    parts = {
        "transform": _matrix(given["transform"]),
        "accuracy": None if accuracy is None else PoseAccuracy(**accuracy),
    }
    return AssembledScan(**{**given, **parts})


def _loops(given: Optional[dict[str, Any]]) -> Optional[LoopErrors]:
    return None if given is None else LoopErrors(**given)


def _matrix(rows: Optional[list[list[float]]]) -> Optional[Floats]:
    return None if rows is None else frozen(np.array(rows, dtype=np.float64))


for _class in (PoseAccuracy, AssembledScan, LoopErrors, WorldTie, KnownPlace, Component, Edge, Assembly):
    _class.__module__ = "pcr99"
del _class
