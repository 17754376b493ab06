"""Assembly of many scans to one map, on this machine."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, TypedDict, Union
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import ScaleLike, as_array, as_name, as_number, as_optional_number, as_optional_whole, as_place, as_scale, as_seed, as_whole
from ._assembly import Assembly, assembly
from ._batch import PROGRAM
from ._clouds import Cloud, CloudLike, PathLike, PreparedCloud, _known, _path, as_full_cloud
from ._errors import InvalidInput, InvalidType
from ._progress import ProgressLike, ProgressReporter

#: Scans in a list, or by name.
ScansLike = Union[Iterable[CloudLike], Mapping[str, CloudLike]]

#: Directory of a project for scans that are not files.
_SCANS = "scans"
#: Most characters of a name in the name of its file; systems allow 255 bytes.
_LONGEST_NAME = 150



class ControlPoint(NamedTuple):
    """A point with a known place in the world."""

    #: Its name.
    name: str
    #: The scan in whose coordinates it was measured: its name, or its file name; ``None`` for coordinates of the largest map.
    scan: Optional[str]
    #: The point, in these coordinates.
    local: Sequence[float]
    #: Its place in the world.
    world: Sequence[float]
    #: Standard deviation of a coordinate of the place, or of each of the three.
    sigma: Union[float, Sequence[float]]


class AssembleOptions(TypedDict, total=False):
    """Options of ``assemble`` that do not depend on where pairs are registered."""

    scale: ScaleLike
    voxel: Optional[float]
    vertical: Optional[npt.ArrayLike]
    tilt: Optional[float]
    same_rig: Optional[str]
    control: Union[PathLike, Iterable[ControlPoint], None]
    positions: Union[PathLike, Mapping[str, Sequence[float]], None]
    resume: bool
    merge: Union[str, float, None]
    merge_format: str
    pair_pages: int
    seed: int


#: Registers all pairs of a batch: the batch, and what shows its progress.
Register = Callable[[_core.Batch, ProgressReporter], None]


def assemble(
    scans: ScansLike,
    output: Optional[PathLike] = None,
    *,
    scale: ScaleLike = 1.0,
    voxel: Optional[float] = None,
    vertical: Optional[npt.ArrayLike] = None,
    tilt: Optional[float] = None,
    same_rig: Optional[str] = None,
    control: Union[PathLike, Iterable[ControlPoint], None] = None,
    positions: Union[PathLike, Mapping[str, Sequence[float]], None] = None,
    resume: bool = False,
    merge: Union[str, float, None] = "auto",
    merge_format: str = "ply",
    pair_pages: int = 0,
    threads: Optional[int] = None,
    chunk: Optional[int] = None,
    cache: Optional[int] = None,
    seed: int = 0,
    progress: ProgressLike = None,
) -> Assembly:
    """Assembles unordered scans to one map, or to several where they do not belong together.

    Parameters
    ----------
    scans
        Paths, N×3 arrays, ``Cloud``, ``PreparedCloud`` or clouds of Open3D, in a list or in a dictionary by name. They need no order, no
        first guess and no common coordinates.
    output
        Directory of the project: poses, tables, merged clouds and a page. It must be new or empty, unless ``resume`` is true. By default
        nothing is kept.
    scale
        ``1`` if all scans have the same units, ``None`` if each has an unknown scale, ``(minimum, maximum)`` if it is bounded.
    voxel
        Edge of the voxels with which scans are sampled; by default it is chosen from both scans of a pair.
    vertical
        Direction that is up in all scans, for example ``(0, 0, 1)``. Poses between scans then only turn about it and move.
    tilt
        Largest angle between the verticals of two scans, in degrees (default 0).
    same_rig
        Pattern of the end of file names with the places ``{scene}`` and ``{sensor}``, such as ``"{scene}/{sensor}.pcd"``, for sensors that
        are mounted together. Scans in memory have no file names; name their files, or write them first.
    control
        Control points that tie the map to the world: a file with the columns ``name scan x y z X Y Z sigma``, or ``ControlPoint`` objects
        or equal tuples. Gross errors are found and named.
    positions
        Positions of scans in the world, for instance of a satellite receiver: a file with the columns ``scan X Y Z sigma``, or a
        dictionary from names of scans to ``(X, Y, Z, sigma)``. The position of a scan is the place of the origin of its coordinates.
    resume
        Continue the project in ``output``, or add scans to it. Finished pairs are not run again.
    merge
        Points of the merged clouds: ``"auto"`` (one for each voxel with the spacing that the registrations suggest), the edge of a voxel,
        ``"all"``, or ``None`` for no merged clouds.
    merge_format
        Extension of the merged clouds: ``"ply"``, ``"pcd"``, ``"las"``, ``"laz"`` or ``"e57"``.
    pair_pages
        Maximum number of pages of single pairs.
    threads
        Maximum number of threads; by default the number of cores. The result does not depend on it.
    chunk, cache, progress
        As in ``batch``; ``cache`` is 2048 by default.
    seed
        Seed of the random numbers.

    Returns
    -------
    Assembly
        Scans with their poses, components and edges. It is true if all scans are in one map. A scan that cannot be read is a row with its
        error, not an exception.

    Ctrl-C keeps the finished pairs of a project; ``resume=True`` continues.

    Examples
    --------
    >>> import numpy as np, pcr99
    >>> x, y = (axis.ravel() for axis in np.meshgrid(np.arange(90) * 0.1, np.arange(50) * 0.1))
    >>> hills = np.stack([x, y, np.sin(1.3 * x) * np.cos(0.9 * y + 0.4) + 0.4 * np.sin(2.1 * x - 1.7 * y)], axis=1)
    >>> turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> a, b, c = hills[x < 5], hills[(x > 2) & (x < 7)] @ turn.T, hills[x > 4] + [9.0, 0.0, 2.0]
    >>> found = pcr99.assemble({"left": a, "middle": b, "right": c})
    >>> found
    <Assembly: 3 of 3 scans placed in 1 map>
    >>> places = [scan.transform[:3, :3] @ p + scan.transform[:3, 3] for scan, p in zip(found, (hills[x == 4.5][0], turn @ hills[x == 4.5][0]))]
    >>> bool(np.linalg.norm(places[0] - places[1]) < 0.1)
    True
    """
    given = locals()
    threads, chunk = as_optional_whole("threads", threads, 1), as_optional_whole("chunk", chunk, 1)
    reporter = ProgressReporter(progress)

    def register(batch: _core.Batch, reporter: ProgressReporter) -> None:
        batch.run(threads, chunk, cache, PROGRAM, reporter)

    return assembled(given, register, reporter)


def _given_places(control: Any, positions: Any) -> dict[str, Any]:
    """Files and rows of control points and positions."""
    places = []
    is_path = (str, bytes, os.PathLike)
    control_file = _path("control", os.fsdecode(control)) if isinstance(control, is_path) else None
    positions_file = _path("positions", os.fsdecode(positions)) if isinstance(positions, is_path) else None
    for row in [] if control is None or control_file is not None else control:
        try:
            point = ControlPoint(*row)
        except TypeError:
            raise InvalidType(f"`control`: a point must be (name, scan, local, world, sigma), got {row!r}") from None
        name, scan = as_name("control", point.name), point.scan
        deviations = _deviations(f"control[{name!r}].sigma", point.sigma)
        scan = None if scan is None else as_name(f"control[{name!r}].scan", scan)
        places.append((name, scan, _place(f"control[{name!r}].local", point.local), _place(f"control[{name!r}].world", point.world), deviations))
    if positions is not None and positions_file is None:
        if not isinstance(positions, Mapping):
            raise InvalidType(f"`positions` must be a file or a dictionary by names of scans, not {type(positions).__name__}")
        for scan, row in positions.items():
            values = as_array("positions", row)
            if values.shape not in ((4,), (5,)):
                raise InvalidInput(f"positions[{scan!r}] must be (X, Y, Z, sigma) or (X, Y, Z, sigma, sigma_z), got {row!r}")
            deviations = _deviations("sigma", values[3] if len(values) == 4 else (values[3], values[3], values[4]))
            places.append((f"position of {scan}", as_name("positions", scan), (0.0, 0.0, 0.0), _place("positions", values[:3]), deviations))
    return {"control_file": control_file, "positions_file": positions_file, "known_places": places}


def _place(name: str, value: Any) -> tuple[float, float, float]:
    place = as_place(name, value)
    if place is None:
        raise InvalidType(f"`{name}` must be three numbers, not None")
    return place


def _deviations(name: str, value: Any) -> tuple[float, float, float]:
    return _place(name, [value] * 3 if np.ndim(value) == 0 else value)


#: Default values of ``AssembleOptions``.
DEFAULTS: Mapping[str, Any] = {
    name: parameter.default for name, parameter in inspect.signature(assemble).parameters.items() if name in AssembleOptions.__annotations__
}


def assembled(given: Mapping[str, Any], register: Register, reporter: ProgressReporter) -> Assembly:
    """Assembles with the arguments of ``assemble``; `register` runs the pairs of each round."""
    options = _options(given)
    scans = _named(given["scans"])
    with contextlib.ExitStack() as stack:
        if given["output"] is None:
            if given["resume"]:
                raise InvalidInput("`resume` needs `output`: name the directory of the project")
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="pcr99-"))
            options = {**options, "merge": "none", "pair_pages": 0}
        else:
            # Workers have other current directories.
            place = os.path.abspath(_path("output", given["output"]))
        work = _core.Assembly(place, options)
        stack.callback(work.close)
        stack.callback(reporter.close)
        work.add([(name, _file(name, scan, place)) for name, scan in scans])
        reporter.start()
        for batch in _rounds(work):
            try:
                register(batch, reporter)
                work.take(batch)
            finally:
                batch.close()
        text, merged, new_pairs = work.finish()
        output = None if given["output"] is None else Path(place)
        return assembly(text, output, merged, new_pairs, reporter.seconds)


def _rounds(work: _core.Assembly) -> Iterator[_core.Batch]:
    batch = work.next()
    while batch is not None:
        yield batch
        batch = work.next()


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    merge = given["merge"]
    merge = "none" if merge is None else merge if isinstance(merge, str) else repr(as_number("merge", merge))
    same_rig = given["same_rig"]
    return {
        "scale": as_scale(given["scale"]),
        "voxel": as_optional_number("voxel", given["voxel"]),
        "vertical": as_place("vertical", given["vertical"]),
        "tilt": as_optional_number("tilt", given["tilt"]),
        "same_rig": None if same_rig is None else as_name("same_rig", same_rig),
        **_given_places(given["control"], given["positions"]),
        "resume": bool(given["resume"]),
        "merge": merge,
        "merge_format": as_name("merge_format", given["merge_format"]),
        "pair_pages": as_whole("pair_pages", given["pair_pages"]),
        "threads": as_optional_whole("threads", given.get("threads"), 1),
        "cache": as_optional_whole("cache", given["cache"]),
        "seed": as_seed(given["seed"]),
        "call": None,
    }


def _named(scans: Any) -> list[tuple[str, Any]]:
    """The scans with their names. A path has its own."""
    if isinstance(scans, Mapping):
        for name in scans:
            if not isinstance(name, str) or not name:
                raise InvalidType(f"names of scans must be strings that are not empty, not {name!r}")
        return list(scans.items())
    if isinstance(scans, (str, bytes, os.PathLike)) or hasattr(scans, "points") or not isinstance(scans, Iterable):
        raise InvalidType(f"`scans` must be a list of scans, or a dictionary, not {type(scans).__name__}: put a single path into a list")
    is_path = (str, bytes, os.PathLike)
    return [(os.fsdecode(scan) if isinstance(scan, is_path) else f"scan {place}", scan) for place, scan in enumerate(scans)]


def _file(name: str, scan: Any, place: str) -> str:
    """The file of a scan. A scan in memory is written to the project, under a name that tells its content, so that it is not written again."""
    if isinstance(scan, (str, bytes, os.PathLike)):
        return _path("scans", os.fsdecode(scan))
    if isinstance(scan, PreparedCloud):
        cloud = Cloud(scan._prepared.points())
    else:
        cloud = as_full_cloud(f"scans[{name!r}]", scan)
    content = hashlib.blake2b(digest_size=8)
    for part in (cloud.points, cloud.normals, cloud.colors, cloud.intensities):
        content.update(b"none" if part is None else part.tobytes())
    viewpoint = _known(cloud.viewpoint)
    content.update(repr(viewpoint).encode())
    directory = os.path.join(place, _SCANS)
    path = os.path.join(directory, f"{quote(name, safe=' ')[:_LONGEST_NAME]}-{content.hexdigest()}.ply")
    if not os.path.exists(path):
        os.makedirs(directory, exist_ok=True)
        _core.write_cloud(path, cloud.points, cloud.normals, cloud.colors, cloud.intensities, viewpoint)
    return path


ControlPoint.__module__ = "pcr99"
