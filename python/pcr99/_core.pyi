from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Batch",
    "CHUNK",
    "Deadline",
    "Document",
    "Manifest",
    "PreparedCloud",
    "RegisterPlan",
    "Worker",
    "__version__",
    "assess",
    "clean",
    "estimate_normals",
    "fpfh",
    "main",
    "match_features",
    "methods",
    "read_cloud",
    "read_matches",
    "read_points",
    "save_page",
    "shapes",
    "simulate",
    "solve",
    "suggest_voxel",
    "verify",
    "voxel_down_sample",
    "write_cloud",
    "write_matches",
]

__version__: str
CHUNK: int

_Floats = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]
_Indices = npt.NDArray[np.int64]
_Evidence = tuple[float, int, float, float]
_Fit = tuple[float, float, float, float, float, float]
_Candidate = tuple[_Floats, int, Optional[_Evidence], Optional[_Fit]]
_CloudCounts = tuple[int, int, int, int]
_Place = Optional[tuple[float, float, float]]

@final
class Document:
    @staticmethod
    def from_json(text: str) -> Document: ...
    def to_json(self) -> str: ...
    def is_same(self, other: Document) -> bool: ...
    @property
    def kind(self) -> str: ...
    @property
    def inputs(self) -> Optional[dict[str, str]]: ...
    @property
    def method(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def doubt(self) -> Optional[str]: ...
    @property
    def reason(self) -> str: ...
    @property
    def transform(self) -> Optional[_Floats]: ...
    @property
    def scale(self) -> Optional[float]: ...
    @property
    def rotation(self) -> Optional[_Floats]: ...
    @property
    def translation(self) -> Optional[_Floats]: ...
    @property
    def correspondences(self) -> int: ...
    @property
    def inliers(self) -> _Indices: ...
    @property
    def threshold(self) -> Optional[float]: ...
    @property
    def inlier_rmse(self) -> Optional[float]: ...
    @property
    def evidence(self) -> Optional[_Evidence]: ...
    @property
    def candidates(self) -> list[_Candidate]: ...
    @property
    def rival(self) -> Optional[tuple[_Candidate, Optional[float], Optional[float], Optional[tuple[str, str]]]]: ...
    @property
    def stopped_because(self) -> Optional[str]: ...
    @property
    def counters(self) -> Optional[tuple[int, int, int]]: ...
    @property
    def seconds(self) -> dict[str, float]: ...
    @property
    def fit(self) -> Optional[_Fit]: ...
    @property
    def rmse(self) -> Optional[float]: ...
    @property
    def covariance(self) -> Optional[_Floats]: ...
    @property
    def information(self) -> Optional[_Floats]: ...
    @property
    def information_center(self) -> Optional[_Floats]: ...
    @property
    def free_directions(self) -> list[str]: ...
    @property
    def voxel(self) -> Optional[float]: ...
    @property
    def clouds(self) -> Optional[tuple[_CloudCounts, _CloudCounts]]: ...

@final
class Deadline: ...

@final
class RegisterPlan:
    def __new__(cls, initial: Optional[_Floats], options: Mapping[str, Any]) -> RegisterPlan: ...
    def deadline(self) -> Deadline: ...
    def run(
        self,
        source: PreparedCloud,
        target: PreparedCloud,
        source_file: Optional[str],
        target_file: Optional[str],
        reading: float,
        preparing: float,
        deadline: Deadline,
    ) -> tuple[Document, Optional[_Floats]]: ...

@final
class PreparedCloud:
    def __new__(
        cls, points: _Floats, normals: Optional[_Floats], viewpoint: _Place, threads: Optional[int]
    ) -> PreparedCloud: ...
    @property
    def given(self) -> int: ...
    @property
    def not_finite(self) -> int: ...
    @property
    def duplicates(self) -> int: ...
    def points(self) -> _Floats: ...
    @property
    def center(self) -> _Floats: ...

@final
class Manifest:
    @staticmethod
    def read(path: str, defaults: Sequence[tuple[str, str]]) -> Manifest: ...
    @staticmethod
    def from_rows(
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        path: Optional[str],
        defaults: Sequence[tuple[str, str]],
    ) -> Manifest: ...
    def __len__(self) -> int: ...

@final
class Batch:
    def __new__(cls, output: str, manifest: Manifest, resume: bool, retry_failed: bool, retry_changed: bool) -> Batch: ...
    @property
    def changed(self) -> Optional[str]: ...
    @property
    def finished(self) -> int: ...
    def close(self) -> None: ...
    def run(
        self,
        threads: Optional[int],
        chunk: Optional[int],
        cache: Optional[int],
        progress: Optional[Callable[[int, int, int, int], object]],
    ) -> None: ...
    def chunks(self, size: int) -> list[str]: ...
    def missing(self, chunk: str, size: int) -> list[str]: ...
    def give_up(self, chunk: str, error: str) -> None: ...
    def update(self) -> int: ...
    def merge(self) -> tuple[str, str]: ...

@final
class Worker:
    def __new__(cls, threads: int, cache: Optional[int]) -> Worker: ...
    def run_chunk(self, output: str, chunk: str, stop: Optional[str] = None) -> tuple[list[Path], int, int]: ...

def main(arguments: Sequence[str]) -> int: ...
def methods() -> list[str]: ...
def shapes() -> list[str]: ...
def solve(
    source: _Floats,
    target: _Floats,
    indices: Optional[_Indices],
    weights: Optional[_Floats],
    standard_deviations: Optional[_Floats],
    options: Mapping[str, Any],
) -> Document: ...
def assess(
    source: _Floats,
    target: _Floats,
    indices: Optional[_Indices],
    standard_deviations: Optional[_Floats],
    transform: _Floats,
    options: Mapping[str, Any],
) -> Document: ...
def simulate(
    points: int,
    outliers: float,
    outlier_center: str,
    noise: float,
    scale: Optional[float],
    shape: Optional[str],
    cloud: Optional[_Floats],
    seed: int,
) -> tuple[_Floats, _Floats, str]: ...
def save_page(
    path: str,
    document: Document,
    source: _Floats,
    target: _Floats,
    indices: Optional[_Indices],
    matches: Optional[_Floats],
    labels: Mapping[str, Any],
) -> None: ...
def suggest_voxel(source: PreparedCloud, target: PreparedCloud, scale: float) -> float: ...
def verify(
    source: PreparedCloud, target: PreparedCloud, transform: _Floats, voxel: Optional[float], threads: Optional[int]
) -> _Fit: ...
def clean(points: _Floats) -> tuple[_Floats, _Indices, int, int]: ...
def voxel_down_sample(points: _Floats, voxel: float, threads: Optional[int]) -> _Floats: ...
def estimate_normals(points: _Floats, radius: float, viewpoint: _Place, threads: Optional[int]) -> _Floats: ...
def fpfh(
    points: _Floats, normals: _Floats, radius: float, threads: Optional[int]
) -> tuple[_Indices, _Singles, _Singles]: ...
def match_features(source: _Singles, target: _Singles, mutual: bool, threads: Optional[int]) -> _Indices: ...
def read_points(path: str) -> _Floats: ...
def read_cloud(path: str) -> dict[str, Any]: ...
def write_cloud(
    path: str,
    points: _Floats,
    normals: Optional[_Floats],
    colors: Optional[npt.NDArray[np.uint8]],
    intensities: Optional[_Floats],
    viewpoint: _Place,
) -> tuple[int, list[str]]: ...
def read_matches(path: str) -> tuple[_Floats, _Floats, Optional[_Floats], Optional[_Floats]]: ...
def write_matches(
    path: str,
    source: _Floats,
    target: _Floats,
    weights: Optional[_Floats],
    standard_deviations: Optional[_Floats],
) -> None: ...
