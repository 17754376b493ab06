from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Batch",
    "CHUNK",
    "Manifest",
    "PreparedCloud",
    "Worker",
    "__version__",
    "assess",
    "clean",
    "document_text",
    "estimate_normals",
    "fpfh",
    "main",
    "match_features",
    "methods",
    "read_cloud",
    "read_matches",
    "read_points",
    "register",
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
_Outcome = tuple[str, _Indices, str]
_Place = Optional[tuple[float, float, float]]

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
    def run_chunk(self, output: str, chunk: str) -> tuple[list[Path], int, int]: ...

def main(arguments: Sequence[str]) -> int: ...
def document_text(document: str) -> str: ...
def methods() -> list[str]: ...
def shapes() -> list[str]: ...
def solve(
    source: _Floats,
    target: _Floats,
    indices: Optional[_Indices],
    weights: Optional[_Floats],
    options: Mapping[str, Any],
) -> _Outcome: ...
def assess(
    source: _Floats, target: _Floats, indices: Optional[_Indices], transform: _Floats, threshold: float
) -> _Outcome: ...
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
def register(
    source: PreparedCloud, target: PreparedCloud, initial: Optional[_Floats], options: Mapping[str, Any]
) -> tuple[_Outcome, Optional[_Floats]]: ...
def save_page(
    path: str,
    document: str,
    inliers: _Indices,
    source: _Floats,
    target: _Floats,
    indices: Optional[_Indices],
    matches: Optional[_Floats],
    labels: Mapping[str, Any],
) -> None: ...
def suggest_voxel(source: PreparedCloud, target: PreparedCloud, scale: float) -> float: ...
def verify(
    source: PreparedCloud, target: PreparedCloud, transform: _Floats, voxel: float, threads: Optional[int]
) -> list[float]: ...
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
def read_matches(path: str) -> tuple[_Floats, _Floats, Optional[_Floats]]: ...
def write_matches(path: str, source: _Floats, target: _Floats, weights: Optional[_Floats]) -> None: ...
