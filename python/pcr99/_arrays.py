"""Conversion of arguments: points, indices and numbers become checked arrays and numbers, or an exception with a message.

Only types and shapes are checked here. The allowed values of an option are checked in Rust, where the program checks them, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Real
from typing import Any, Optional, TypeVar, Union

import numpy as np
import numpy.typing as npt

from ._errors import InvalidInput, InvalidType

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_Number = TypeVar("_Number", bound=np.generic)

#: A scale: a number if it is known, ``None`` if it is unknown, ``(minimum, maximum)`` if it is bounded.
ScaleLike = Union[float, None, "tuple[float, float]"]


def as_array(name: str, value: Any) -> npt.NDArray[Any]:
    """Converts `value` to an array of real numbers of any shape."""
    if isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidType(f"`{name}` is a path: read it first with pcr99.read_points or pcr99.read_matches")
    if isinstance(value, Iterator):
        raise InvalidType(f"`{name}` is an iterator: pass a list or an array")
    if isinstance(value, (dict, set, frozenset)) or value is None:
        raise InvalidType(f"`{name}` must be an array, not {_kind(value)}")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InvalidInput(f"`{name}` has masked entries: remove these rows first")
    try:
        array = np.asarray(_on_this_machine(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(
            f"`{name}` cannot be converted to an array ({error}): pass rows of equal length, "
            f"and a tensor as {name}.detach().cpu().numpy()"
        ) from error
    return _as_real(name, value, array)


def _as_real(name: str, value: Any, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Checks that `array`, made from `value`, holds real numbers."""
    if array.dtype.names is not None:
        fields = ", ".join(array.dtype.names)
        raise InvalidType(
            f"`{name}` is a structured array with the fields {fields}: "
            'convert it first, for example with np.stack([a["x"], a["y"], a["z"]], axis=1)'
        )
    if array.dtype.kind == "O" and array.ndim == 0:
        raise InvalidType(f"`{name}` must be an array, not {_kind(value)}{_hint(name, value)}")
    if array.dtype.kind == "O" and all(isinstance(x, Real) and not isinstance(x, bool) for x in array.flat):
        # Nullable columns of pandas without missing values become arrays of objects.
        return array.astype(np.float64)
    if array.dtype.kind not in "fiu":
        why = " (rows of different lengths, or entries that are not numbers)" if array.dtype.kind == "O" else ""
        raise InvalidType(f"`{name}` has dtype {array.dtype}{why}: convert it to real numbers, for example with .astype(float)")
    return array


def _on_this_machine(value: Any) -> Any:
    """Converts a tensor of PyTorch or Open3D on any device to an array; returns any other value unchanged."""
    if hasattr(value, "cpu") and hasattr(value, "numpy"):
        value = value.detach() if hasattr(value, "detach") else value
        return value.cpu().numpy()
    return value


def _hint(name: str, value: Any) -> str:
    """Suggests the attribute of an object that probably holds the points."""
    for attribute in ("vertices", "points", "data"):
        if hasattr(value, attribute):
            return f": pass np.asarray({name}.{attribute})"
    return ""


def contiguous(array: npt.NDArray[Any], dtype: type[_Number]) -> npt.NDArray[_Number]:
    """Converts an array to one whose numbers lie one after the other, each at an address that the processor can read."""
    rows: npt.NDArray[_Number] = np.ascontiguousarray(array, dtype=dtype)
    # A view into a packed record or a buffer may begin at any byte. NumPy calls every empty array aligned, wherever it begins.
    return rows if rows.flags.aligned and rows.size else rows.copy()


def as_rows(name: str, value: Any, columns: int = 3) -> Floats:
    """Converts `value` to a contiguous N×`columns` array of doubles."""
    array = as_array(name, value)
    _check_shape(name, array.shape, columns)
    return contiguous(array, np.float64)


def _check_shape(name: str, shape: tuple[int, ...], columns: int) -> None:
    if len(shape) == 2 and shape[1] == columns:
        return
    shown = _shown(shape)
    wanted = f"N×{columns}, one row for each point" if columns == 3 else f"N×{columns}"
    if shape == (0,) or (len(shape) == 2 and 0 in shape):
        raise InvalidInput(f"`{name}` is empty ({shown}), expected {wanted}")
    if len(shape) == 2 and shape[0] == columns:
        raise InvalidInput(f"`{name}` is {shown}, one column for each point, expected {wanted}: pass {name}.T")
    if columns == 3 and len(shape) == 2 and shape[1] == 4:
        raise InvalidInput(
            f"`{name}` is {shown}, expected {wanted}: for homogeneous coordinates or x y z intensity, pass {name}[:, :3]"
        )
    if columns == 3 and len(shape) == 2 and shape[1] == 6:
        raise InvalidInput(
            f"`{name}` is {shown}, expected {wanted}: pass {name}[:, :3], and for matches {name}[:, 3:] as the other side"
        )
    if columns == 3 and len(shape) == 3 and shape[2] == 3:
        raise InvalidInput(f"`{name}` is {shown}, an image of points, expected {wanted}: pass {name}.reshape(-1, 3)")
    if shape == (columns,):
        raise InvalidInput(f"`{name}` is a single row of {columns} numbers, expected {wanted}")
    raise InvalidInput(f"`{name}` is {shown}, expected {wanted}")


def _shown(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) if shape else "a single number"


def as_finite_rows(name: str, value: Any) -> Floats:
    """Converts `value` to N×3 points, all of which must be finite."""
    rows = as_rows(name, value)
    good = np.isfinite(rows).all(axis=1)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidInput(
            f"`{name}` has {int((~good).sum())} rows that are not finite, the first is row {row} (counted from 0), "
            f"{rows[row].tolist()}: remove them, for example with pcr99.clean"
        )
    return rows


def as_indices(name: str, value: Any) -> Indices:
    """Converts `value`, for example Open3D's ``Vector2iVector``, to an N×2 array of integers."""
    array = as_array(name, value)
    if array.size == 0:
        raise InvalidInput(f"`{name}` is empty: at least 3 pairs are needed")
    if array.dtype.kind not in "iu":
        raise InvalidType(f"`{name}` has dtype {array.dtype}: convert it to integers, for example with .astype(int)")
    _check_shape(name, array.shape, 2)
    if array.dtype == np.uint64 and bool((array > np.iinfo(np.int64).max).any()):
        raise InvalidInput(f"`{name}` has numbers that are too large for an index: the largest is {int(array.max())}")
    return contiguous(array, np.int64)


def as_list(name: str, value: Any, length: int, what: str = "matches") -> Floats:
    """Converts `value` to a list with one number for each of `length` things, called `what`."""
    array = as_array(name, value)
    if array.ndim != 1:
        raise InvalidInput(f"`{name}` is {_shown(array.shape)}, expected a list of {length} numbers: try {name}.ravel()")
    if len(array) != length:
        raise InvalidInput(f"`{name}` has {len(array)} numbers for {length} {what}: pass one number for each")
    return contiguous(array, np.float64)


def as_transform(name: str, value: Any) -> Floats:
    """Converts `value` to a 4×4 matrix. Rust checks that it is a similarity transform."""
    array = as_array(name, value)
    if array.shape != (4, 4):
        raise InvalidInput(f"`{name}` is {_shown(array.shape)}, expected the 4×4 matrix [sR t; 0 1]")
    return contiguous(array, np.float64)


def as_place(name: str, value: Any) -> Optional[tuple[float, float, float]]:
    """Converts `value` to three finite coordinates; ``None`` stays ``None``."""
    if value is None:
        return None
    array = as_array(name, value)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidInput(f"`{name}` must be three finite numbers, got {value!r}")
    x, y, z = (float(number) for number in array)
    return x, y, z


def as_number(name: str, value: Any) -> float:
    """Converts `value` to a float of any value."""
    if isinstance(value, (bool, np.bool_, str, bytes)) or value is None:
        raise InvalidType(f"`{name}` must be a number, not {_kind(value)}")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidType(f"`{name}` must be a number, not {_kind(value)}") from error


def as_optional_number(name: str, value: Any) -> Optional[float]:
    """Converts `value` to a float; ``None`` stays ``None``."""
    return None if value is None else as_number(name, value)


def as_whole(name: str, value: Any, least: int = 0, most: int = 2**63 - 1) -> int:
    """Converts `value` to an integer from `least` to `most`."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise InvalidType(f"`{name}` must be an integer, not {_kind(value)}")
    number = int(value.__index__())
    if not least <= number <= most:
        # Only the bound that is violated helps the reader.
        bounds = f"at least {least}" if number < least else f"at most {most}"
        raise InvalidInput(f"`{name}` must be {bounds}, got {number}")
    return number


def as_optional_whole(name: str, value: Any, least: int = 0) -> Optional[int]:
    """Converts `value` to an integer of at least `least`; ``None`` stays ``None``."""
    return None if value is None else as_whole(name, value, least)


def as_seed(value: Any) -> int:
    """Converts `value` to a seed, an integer of 64 bits."""
    return as_whole("seed", value, 0, 2**64 - 1)


def as_name(name: str, value: Any, none: str = "") -> str:
    """Checks that `value` is a string. With `none`, ``None`` is allowed and stands for the name `none`."""
    if value is None and none:
        return none
    if not isinstance(value, str):
        raise InvalidType(f"`{name}` must be a string{' or None' if none else ''}, not {type(value).__name__}")
    return value


def as_scale(value: Any) -> Union[float, tuple[float, float], None]:
    """Converts `value` to a known scale, a range of scales, or ``None`` for an unknown scale."""
    if value is None:
        return None
    if isinstance(value, str):
        raise InvalidType(
            f"`scale` must not be a string, got {value!r}: pass None if it is unknown, a number if it is known, "
            "or (minimum, maximum)"
        )
    if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) == 1:
        if len(value) != 2:
            raise InvalidInput(f"`scale` must be (minimum, maximum), got {len(value)} numbers")
        return as_number("scale", value[0]), as_number("scale", value[1])
    return as_number("scale", value)


def as_vertical(name: str, value: Any) -> str:
    """Converts the directions that are up on both sides, or one direction for both, to the text of the option."""
    if isinstance(value, str):
        return value
    try:
        directions = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType(
            f"`{name}` must be two directions, (source, target), or one for both, such as (0, 0, 1); got {_kind(value)}"
        ) from None
    if directions.shape == (3,):
        directions = np.stack([directions, directions])
    if directions.shape != (2, 3):
        raise InvalidInput(
            f"`{name}` must be two directions, (source, target), or one for both, such as (0, 0, 1); got shape {directions.shape}"
        )
    source, target = (",".join(repr(float(x)) for x in direction) for direction in directions)
    return f"source={source} target={target}"


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Makes an array read-only and returns it."""
    array.setflags(write=False)
    return array


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{name} ({str(value)[:40]!r})" if isinstance(value, (str, bytes, bool, float, int)) else name
