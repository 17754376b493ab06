"""What users give as points, indices and numbers → arrays and numbers that are what they should be, or a message."""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Real
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from ._errors import InvalidInput, InvalidType

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

#: What stands for a scale: one that is known, ``None`` for an unknown one, or a range.
ScaleLike = Union[float, None, "tuple[float, float]"]


def as_array(name: str, value: Any) -> npt.NDArray[Any]:
    """Any array of real numbers, as it is."""
    if isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidType(f"{name} is a path: read it first, with pcr99.read_points or pcr99.read_matches")
    if isinstance(value, Iterator):
        raise InvalidType(f"{name} is an iterator: make a list or an array of it first")
    if isinstance(value, (dict, set, frozenset)) or value is None:
        raise InvalidType(f"{name} must be an array, not {_kind(value)}")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InvalidInput(f"{name} has masked entries: leave out those rows first")
    try:
        array = np.asarray(_on_this_machine(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"{name} cannot be made an array ({error}): give rows of equal length; of a tensor, "
            f"{name}.detach().cpu().numpy()"
        ) from error
    if array.dtype.names is not None:
        fields = ", ".join(array.dtype.names)
        raise InvalidType(
            f"{name} is a structured array with the fields {fields}: "
            'make it plain first, as with np.stack([a["x"], a["y"], a["z"]], axis=1)'
        )
    if array.dtype.kind == "O" and array.ndim == 0:
        raise InvalidType(f"{name} must be an array, not {_kind(value)}{_hint(name, value)}")
    if array.dtype.kind == "O" and all(isinstance(x, Real) and not isinstance(x, bool) for x in array.flat):
        # As of pandas' nullable columns, without gaps.
        return array.astype(np.float64)
    if array.dtype.kind not in "fiu":
        why = " (rows of different lengths, or entries that are no numbers)" if array.dtype.kind == "O" else ""
        raise InvalidType(f"{name} has dtype {array.dtype}{why}: real numbers are needed, as from .astype(float)")
    return array


def _on_this_machine(value: Any) -> Any:
    """A tensor of PyTorch or Open3D, wherever it is, as an array; anything else as it is."""
    if hasattr(value, "cpu") and hasattr(value, "numpy"):
        value = value.detach() if hasattr(value, "detach") else value
        return value.cpu().numpy()
    return value


def _hint(name: str, value: Any) -> str:
    """What may have been meant by an object that is none."""
    for attribute in ("vertices", "points", "data"):
        if hasattr(value, attribute):
            return f": give np.asarray({name}.{attribute})"
    return ""


def as_rows(name: str, value: Any, columns: int = 3) -> Floats:
    """An N×`columns` array of doubles without gaps in memory."""
    array = as_array(name, value)
    _check_shape(name, array.shape, columns)
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_shape(name: str, shape: tuple[int, ...], columns: int) -> None:
    shown = "×".join(map(str, shape)) if shape else "a single number"
    wanted = f"N×{columns}, one row for each point" if columns == 3 else f"N×{columns}"
    if len(shape) == 2 and shape[1] == columns:
        return
    if shape == (0,) or (len(shape) == 2 and 0 in shape):
        raise InvalidInput(f"{name} is empty ({shown}): {wanted}, is needed")
    if len(shape) == 2 and shape[0] == columns:
        raise InvalidInput(f"{name} is {shown}, one column for each point: {wanted}, is needed; give {name}.T")
    if columns == 3 and len(shape) == 2 and shape[1] == 4:
        raise InvalidInput(
            f"{name} is {shown}: {wanted}, is needed; of homogeneous coordinates or x y z intensity, give {name}[:, :3]"
        )
    if columns == 3 and len(shape) == 2 and shape[1] == 6:
        raise InvalidInput(
            f"{name} is {shown}: {wanted}, is needed; "
            f"give {name}[:, :3], and {name}[:, 3:] as the other side if these are matches"
        )
    if columns == 3 and len(shape) == 3 and shape[2] == 3:
        raise InvalidInput(f"{name} is {shown}, an image of points: give {name}.reshape(-1, 3)")
    if shape == (columns,):
        raise InvalidInput(f"{name} is a single row of {columns} numbers: {wanted}, is needed")
    raise InvalidInput(f"{name} is {shown}: {wanted}, is needed")


def as_finite_rows(name: str, value: Any) -> Floats:
    """The same for points of which none may be missing."""
    rows = as_rows(name, value)
    good = np.isfinite(rows).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInput(
            f"{name}: row {row} (counted from 0) is {rows[row].tolist()}, which is not finite; "
            f"{int((~good).sum())} such rows in all: leave them out, as pcr99.clean does"
        )
    return rows


def as_indices(name: str, value: Any) -> Indices:
    """An N×2 array of whole numbers; anything that NumPy takes for one, as Open3D's ``Vector2iVector``."""
    array = as_array(name, value)
    if array.size == 0:
        raise InvalidInput(f"{name} is empty: at least 3 pairs are needed")
    if array.dtype.kind not in "iu":
        raise InvalidType(f"{name} has dtype {array.dtype}: indices are whole numbers, as from .astype(int)")
    _check_shape(name, array.shape, 2)
    if array.dtype == np.uint64 and bool((array > np.iinfo(np.int64).max).any()):
        raise InvalidInput(f"{name} has numbers that are no indices: the largest is {int(array.max())}")
    return np.ascontiguousarray(array, dtype=np.int64)


def as_list(name: str, value: Any, length: int, what: str = "match") -> Floats:
    """One number for each of `length` things."""
    array = as_array(name, value)
    if array.ndim != 1:
        shown = "×".join(map(str, array.shape)) or "a single number"
        raise InvalidInput(f"{name} is {shown}: a list with one number for each {what} is needed; try {name}.ravel()")
    if len(array) != length:
        raise InvalidInput(f"{name} has {len(array)} numbers for {length} {what}es: give one for each")
    return np.ascontiguousarray(array, dtype=np.float64)


def as_transform(name: str, value: Any) -> Floats:
    """A 4×4 matrix; that it is a similarity is seen to later."""
    array = as_array(name, value)
    if array.shape != (4, 4):
        shown = "×".join(map(str, array.shape)) or "a single number"
        raise InvalidInput(f"{name} is {shown}: the 4×4 matrix [sR t; 0 1] is needed")
    return np.ascontiguousarray(array, dtype=np.float64)


def as_place(name: str, value: Any) -> Optional[tuple[float, float, float]]:
    """Three finite numbers, or nothing."""
    if value is None:
        return None
    array = as_array(name, value)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidInput(f"{name} must be three finite numbers, got {value!r}")
    x, y, z = (float(number) for number in array)
    return x, y, z


def as_number(name: str, value: Any) -> float:
    """A real number; what it may be is for the library to say."""
    if isinstance(value, (bool, np.bool_, str, bytes)) or value is None:
        raise InvalidType(f"{name} must be a number, not {_kind(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidType(f"{name} must be a number, not {_kind(value)}") from error


def as_optional_number(name: str, value: Any) -> Optional[float]:
    """A real number, or nothing."""
    return None if value is None else as_number(name, value)


def as_positive(name: str, value: Any) -> Optional[float]:
    """A finite number above zero, or nothing."""
    number = as_optional_number(name, value)
    if number is not None and not (np.isfinite(number) and number > 0.0):
        raise InvalidInput(f"{name} must be finite and positive, got {value!r}")
    return number


def as_whole(name: str, value: Any, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number from `least` to `most`."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise InvalidType(f"{name} must be a whole number, not {_kind(value)}")
    number = int(value.__index__())
    if not least <= number <= most:
        # The greatest is worth telling only when that is the mistake.
        bounds = f"at least {least}" if number < least else f"at most {most}"
        raise InvalidInput(f"{name} must be {bounds}, got {number}")
    return number


def as_optional_whole(name: str, value: Any, least: int = 1) -> Optional[int]:
    """A whole number from `least`, or nothing."""
    return None if value is None else as_whole(name, value, least)


def as_seed(value: Any) -> int:
    """A seed."""
    return as_whole("seed", value, 0, 2**64 - 1)


def as_scale(value: Any) -> Union[float, tuple[float, float], None]:
    """A known scale, ``None``, or a range."""
    if value is None:
        return None
    if isinstance(value, str):
        raise InvalidType(f"scale={value!r}: give None for an unknown scale, a number for a known one, or (least, greatest)")
    if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) == 1:
        if len(value) != 2:
            raise InvalidInput(f"a range of scales is (least, greatest), got {len(value)} numbers")
        return as_number("the least scale", value[0]), as_number("the greatest scale", value[1])
    return as_number("scale", value)


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array, which can no longer be written to."""
    array.setflags(write=False)
    return array


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{name} ({str(value)[:40]!r})" if isinstance(value, (str, bytes, bool, float, int)) else name
