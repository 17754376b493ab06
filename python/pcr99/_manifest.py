"""Conversion of a manifest: a file, rows or a table becomes a checked list of pairs, or an exception with a message."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, Union

import numpy as np
import numpy.typing as npt

from . import _core
from ._arrays import ScaleLike, as_scale, as_vertical
from ._clouds import PathLike, _path
from ._errors import FileError, FileFormatError, FileNotFound, InvalidInput, InvalidType, MissingPackage

#: A path, rows (dictionaries), or a table: of pandas, Polars or pyarrow, or a dictionary of columns.
ManifestLike = Union[PathLike, Iterable[Mapping[str, Any]], Mapping[str, Any], Any]

#: Prefix of columns that belong to the user. They are ignored and may hold anything.
_USER_PREFIX = "_"

#: The first bytes of a Parquet file.
_PARQUET_MAGIC = b"PAR1"


class Defaults(TypedDict, total=False):
    """Options for pairs whose cells are empty, as in ``solve`` and ``register``."""

    scale: ScaleLike
    threshold: float
    method: str
    memory_budget: int
    voxel: float
    refine: Union[str, None]
    initial: PathLike
    candidates: int
    time_limit: float
    seed: int
    effort: int
    miss_probability: float
    correlation_length: float
    vertical: Union[str, npt.ArrayLike]
    tilt: float


def manifest_of(given: ManifestLike, defaults: Mapping[str, Any]) -> _core.Manifest:
    """Reads and checks a manifest in any form."""
    options = _defaults(defaults)
    if isinstance(given, (str, os.PathLike)):
        path = _path("manifest", given)
        if _is_parquet(path):
            columns, rows = _of_columns(_read_parquet(path))
            return _core.Manifest.from_rows(columns, rows, path, options)
        return _core.Manifest.read(path, options)
    columns, rows = _of_table(given)
    return _core.Manifest.from_rows(columns, rows, None, options)


def _defaults(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    known = sorted(Defaults.__annotations__)
    cells = []
    for name, value in given.items():
        if name not in known:
            raise InvalidType(f"batch has no option `{name}`; the options of pairs are {', '.join(known)}")
        if name == "scale":
            # As in ``solve``, ``None`` is an unknown scale.
            text = value if isinstance(value, str) else _scale(as_scale(value))
        elif name == "refine" and value is None:
            text = "none"
        elif name == "initial":
            # Relative to the current directory; paths in a manifest file are relative to that file.
            text = os.path.abspath(_path("initial", value))
        elif value is None:
            continue
        elif name == "vertical":
            text = as_vertical(name, value)
        else:
            text = _cell(name, value)
        cells.append((name, text))
    return cells


def _scale(value: Union[float, tuple[float, float], None]) -> str:
    if value is None:
        return "unknown"
    return f"{value[0]!r}..{value[1]!r}" if isinstance(value, tuple) else repr(value)


def _is_parquet(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC
    except OSError:
        # Reading it as CSV reports the error.
        return False


def _read_parquet(path: str) -> dict[str, Iterable[Any]]:
    try:
        pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MissingPackage(
            f"`{path}` is Parquet, which needs pyarrow: pip install 'pcr99[parquet]', or convert it to CSV"
        ) from error
    try:
        # `ParquetFile` reads no columns from the names of directories, unlike `read_table`.
        table = parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        kind = FileFormatError if isinstance(error, (pyarrow.ArrowException, ValueError)) else FileError
        kind = FileNotFound if isinstance(error, FileNotFoundError) else kind
        refused = kind(f"`{path}` cannot be read: {error}")
        refused.filename, refused.errno = path, getattr(error, "errno", None)
        raise refused from error
    return _columns(table.column_names, table.column)


def _of_table(given: Any) -> tuple[list[str], list[list[str]]]:
    """Returns the columns and rows of a table in memory."""
    if given is None or isinstance(given, (bytes, bytearray, memoryview, int, float)):
        raise InvalidType(f"`manifest` must be a path, rows or a table, not {type(given).__name__}")
    if isinstance(given, Mapping):
        return _of_columns(_columns(list(given), given.__getitem__))
    if hasattr(given, "collect") and hasattr(given, "collect_schema"):
        # A lazy frame of Polars.
        given = given.collect()
    if hasattr(given, "column_names") and hasattr(given, "column"):
        return _of_columns(_columns(given.column_names, given.column))
    if hasattr(given, "columns") and hasattr(given, "__getitem__"):
        return _of_columns(_columns(list(given.columns), given.__getitem__))
    try:
        rows = list(given)
    except TypeError:
        raise InvalidType(f"`manifest` must be a path, rows or a table, not {type(given).__name__}") from None
    columns: dict[str, None] = {}
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InvalidType(
                f"the manifest, row {place} (counted from 0): a row must be a dictionary with pair_id, and source and target "
                f"or pairs, not {type(row).__name__}"
            )
        columns.update(dict.fromkeys(row))
    for name in columns:
        if not isinstance(name, str):
            raise InvalidType(f"the manifest: names of columns must be strings, not {type(name).__name__} ({name!r})")
    names = [name for name in columns if not name.startswith(_USER_PREFIX)]
    return names, [[_cell(name, row.get(name)) for name in names] for row in rows]


def _columns(names: Iterable[Any], column: Any) -> dict[str, Iterable[Any]]:
    columns: dict[str, Iterable[Any]] = {}
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise InvalidType(f"the manifest: names of columns must be strings, not {type(name).__name__} ({name!r})")
        if name in columns:
            raise InvalidInput(f"the manifest: column `{name}` occurs twice; remove one")
        if name.startswith(_USER_PREFIX):
            continue
        columns[name] = _values(column(name))
    return columns


def _values(column: Any) -> Iterable[Any]:
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if kind in ("float32", "float16", "float", "halffloat") and hasattr(column, "to_numpy"):
        # Conversion to double would turn 0.05 into 0.05000000074505806.
        return list(np.asarray(column.to_numpy()))
    for way in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    if isinstance(column, (str, bytes)) or not isinstance(column, Iterable):
        raise InvalidType(f"the manifest: a column must be a list of cells, not {type(column).__name__}")
    return list(column)


def _of_columns(columns: Mapping[str, Iterable[Any]]) -> tuple[list[str], list[list[str]]]:
    cells = [[_cell(name, value) for value in values] for name, values in columns.items()]
    lengths = {name: len(values) for name, values in zip(columns, cells)}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInput(f"the manifest: its columns have different lengths ({shown})")
    return list(columns), [list(row) for row in zip(*cells)]


def _cell(name: str, value: Any) -> str:
    """Returns the text of a cell as in a CSV file."""
    if isinstance(value, str):
        return value
    if value is None or _is_missing(value):
        return ""
    if isinstance(value, (bool, np.bool_)):
        raise InvalidType(f"`{name}` must be a string or a number, not {type(value).__name__} ({value})")
    if isinstance(value, np.floating):
        # The shortest text that gives the same number in its own precision.
        return str(value)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(os.fspath(value))
    if name == "scale" and isinstance(value, (tuple, list, np.ndarray)):
        return _scale(as_scale(value))
    raise InvalidType(f"`{name}` must be a string or a number, not {type(value).__name__}")


def _is_missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    # Missing values of pandas, recognised without importing it.
    return type(value).__name__ in ("NAType", "NaTType")
