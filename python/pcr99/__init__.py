"""Registration of two 3-D point sets from matches of which up to 99 % are wrong, with known or unknown scale.

>>> import pcr99
>>> problem = pcr99.simulate(outliers=0.99)              # a thousand matches, ten of them correct
>>> r = pcr99.solve(problem.source, problem.target)      # N×3 arrays, row i matches row i
>>> if r:                                                # true only if the status is "registered"
...     moved = r.apply(problem.source)                  # r.transform is the 4×4 matrix
>>> r.status, r.doubt, len(r.inliers)
('registered', None, 10)

=============================  =====================================================================================
matches to transform           ``solve``; verdict on a given transform: ``assess``
two clouds to transform        ``register``, ``refine``, ``PreparedCloud``
stages of ``register``         ``clean``, ``suggest_voxel``, ``voxel_down_sample``, ``estimate_normals``, ``fpfh``,
                               ``match_features``, ``verify``
files                          ``read_points``, ``read_cloud``, ``read_matches``, ``write_points``, ``write_cloud``,
                               ``write_matches``
control points                 ``georeference``
many pairs                     ``batch``; on a cluster: ``pcr99.ray.batch``
many scans to one map          ``assemble``; on a cluster: ``pcr99.ray.assemble``
problems with known truth      ``simulate``
results                        ``Registration``, ``CloudRegistration``
exceptions                     ``Error`` and its subclasses
=============================  =====================================================================================

The transform always maps source to target, ``b = s·R·a + t``. The same input gives the same bits on any number of threads. The
interpreter's lock is released, and Ctrl-C stops a long run. ``python -m pcr99`` runs the command-line program.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._assemble import ControlPoint, assemble
from ._assembly import AssembledScan, Assembly, Component, Edge, KnownPlace, LoopErrors, PoseAccuracy, WorldTie
from ._batch import BatchResult, batch
from ._clouds import (
    Cloud,
    Matches,
    PreparedCloud,
    read_cloud,
    read_matches,
    read_points,
    write_cloud,
    write_matches,
    write_points,
)
from ._core import __version__
from ._errors import (
    Error,
    FileError,
    FileExists,
    FileFormatError,
    FileNotFound,
    InternalError,
    InvalidInput,
    InvalidType,
    MissingPackage,
    OutOfMemory,
    SystemLimit,
)
from ._georeference import Georeference, georeference
from ._parts import (
    Accuracy,
    Candidate,
    CloudSummary,
    Counters,
    EquivalentPose,
    Evidence,
    Fit,
    FreeMotion,
    NotRefuted,
    Place,
    Relation,
    Rival,
)
from ._progress import Progress
from ._register import refine, register, suggest_voxel, verify
from ._registration import CloudRegistration, Registration
from ._simulate import Problem, shapes, simulate
from ._solve import assess, methods, solve
from ._stages import Cleaned, Features, clean, estimate_normals, fpfh, match_features, voxel_down_sample

__all__ = [
    "Accuracy",
    "AssembledScan",
    "Assembly",
    "BatchResult",
    "Candidate",
    "Cleaned",
    "Cloud",
    "CloudRegistration",
    "CloudSummary",
    "Component",
    "ControlPoint",
    "Counters",
    "Edge",
    "EquivalentPose",
    "Error",
    "Evidence",
    "Features",
    "FileError",
    "FileExists",
    "FileFormatError",
    "FileNotFound",
    "Fit",
    "FreeMotion",
    "Georeference",
    "InternalError",
    "InvalidInput",
    "InvalidType",
    "KnownPlace",
    "LoopErrors",
    "Matches",
    "MissingPackage",
    "NotRefuted",
    "OutOfMemory",
    "Place",
    "PoseAccuracy",
    "PreparedCloud",
    "Problem",
    "Progress",
    "Registration",
    "Relation",
    "Rival",
    "SystemLimit",
    "WorldTie",
    "__version__",
    "assemble",
    "assess",
    "batch",
    "clean",
    "estimate_normals",
    "fpfh",
    "georeference",
    "match_features",
    "methods",
    "read_cloud",
    "read_matches",
    "read_points",
    "refine",
    "register",
    "shapes",
    "simulate",
    "solve",
    "suggest_voxel",
    "verify",
    "voxel_down_sample",
    "write_cloud",
    "write_matches",
    "write_points",
]

if not _TYPE_CHECKING:
    # Hidden from type checkers: they would accept any name.
    def __getattr__(name: str) -> None:
        new = {"Assessment": "Fit", "Overlap": "Fit"}.get(name)
        hint = "" if new is None else f": it is now called {new!r}"
        raise AttributeError(f"module 'pcr99' has no attribute {name!r}{hint}")
