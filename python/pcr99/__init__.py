"""Registration of two 3-D point sets from matches of which up to 99 % are wrong, with known or unknown scale.

>>> import pcr99
>>> problem = pcr99.simulate(outliers=0.99)              # a thousand matches, ten of them right
>>> r = pcr99.solve(problem.source, problem.target)      # N×3 arrays, row i matches row i
>>> if r:                                                # true only when it can be trusted
...     moved = r.apply(problem.source)                  # r.transform is the 4×4 matrix
>>> r
<Registration registered: 10 of 1000 matches agree, by chance less than once in 10^6 such problems>

=============================  =====================================================================================
matches → transform            ``solve``; a transform from elsewhere → verdict: ``assess``
two raw clouds → transform     ``register``, ``refine``, ``PreparedCloud``
stage by stage                 ``clean``, ``suggest_voxel``, ``voxel_down_sample``, ``estimate_normals``, ``fpfh``,
                               ``match_features``, ``verify``
files                          ``read_points``, ``read_cloud``, ``read_matches``, ``write_points``, ``write_cloud``,
                               ``write_matches``
many pairs                     ``batch``; on a cluster: ``pcr99.ray.batch``
problems with known truth      ``simulate``
what comes back                ``Registration``, ``CloudRegistration``
what is raised                 ``Error`` and its subclasses
=============================  =====================================================================================

The transform always maps source to target, ``b = s·R·a + t``. Same input, same bits, on any number of threads. The interpreter's lock is
released, Ctrl-C stops a long run. ``python -m pcr99`` is the program of the same name.
"""

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
from ._progress import Progress
from ._register import Assessment, refine, register, suggest_voxel, verify
from ._registration import Candidate, CloudRegistration, CloudSummary, Counters, Evidence, Overlap, Registration
from ._solve import Problem, assess, methods, shapes, simulate, solve
from ._stages import Cleaned, Features, clean, estimate_normals, fpfh, match_features, voxel_down_sample

__all__ = [
    "Assessment",
    "BatchResult",
    "Candidate",
    "Cleaned",
    "Cloud",
    "CloudRegistration",
    "CloudSummary",
    "Counters",
    "Error",
    "Evidence",
    "Features",
    "FileError",
    "FileExists",
    "FileFormatError",
    "FileNotFound",
    "InternalError",
    "InvalidInput",
    "InvalidType",
    "Matches",
    "MissingPackage",
    "OutOfMemory",
    "Overlap",
    "PreparedCloud",
    "Problem",
    "Progress",
    "Registration",
    "SystemLimit",
    "__version__",
    "assess",
    "batch",
    "clean",
    "estimate_normals",
    "fpfh",
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
