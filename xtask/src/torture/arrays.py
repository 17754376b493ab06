"""Calls the package with arrays of every odd kind: ``python arrays.py SEED``. Prints how many were tried and how many failed.

A call must return, or raise an exception of the package. Anything else is a failure.
"""

import json
import sys
import warnings

import numpy as np

import pcr99

random = np.random.default_rng(int(sys.argv[1]) % 2**63)
DTYPES = ["f2", "<f4", ">f4", "<f8", ">f8", "f16", "i1", "u1", "<i2", ">i4", "i8", "u8", "?", "c16", "O", "S4", "U4", "M8[s]", "V8"]


def misaligned(array):
    buffer = bytearray(array.nbytes + 1)
    view = np.frombuffer(buffer, dtype=array.dtype, offset=1).reshape(array.shape)
    view[...] = array
    return view


class Sub(np.ndarray):
    """A subclass of arrays."""


CHANGES = [
    lambda a: a[::-1],
    lambda a: np.asfortranarray(a),
    lambda a: np.repeat(a, 2, axis=0)[::2],
    lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    misaligned,
    lambda a: np.lib.stride_tricks.as_strided(a, shape=a.shape, strides=(0,) * a.ndim),
    lambda a: np.broadcast_to(a[:1], a.shape),
    lambda a: a.view(Sub),
    lambda a: np.ma.masked_array(a),
    lambda a: np.ma.masked_greater(a, 0) if a.dtype.kind in "fiu" else a,
    lambda a: a.tolist(),
    lambda a: memoryview(np.ascontiguousarray(a)),
    lambda a: a.T,
    lambda a: a[None],
    lambda a: a[:0],
    lambda a: a[:1],
    lambda a: np.where(np.arange(a.size).reshape(a.shape) == 4, np.nan, a) if a.dtype.kind == "f" else a,
    lambda a: np.where(np.arange(a.size).reshape(a.shape) == 4, np.inf, a) if a.dtype.kind == "f" else a,
    lambda a: a * 1e300 if a.dtype.kind == "f" else a,
    lambda a: a * 1e-300 if a.dtype.kind == "f" else a,
    lambda a: a * 0,
    lambda a: iter(a),
    lambda a: None,
    lambda a: a[0, 0] if a.ndim == 2 and a.size else a,
]


def odd(columns):
    """An array that may be odd in several ways."""
    rows = int(random.integers(0, 40))
    array = random.normal(scale=random.choice([1.0, 1e3, 1e6]), size=(rows, columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(random.integers(0, 3)):
            try:
                if random.random() < 0.4:
                    array = array.astype(random.choice(DTYPES))
                else:
                    array = CHANGES[random.integers(len(CHANGES))](array)
            except Exception:  # NumPy itself may refuse.
                pass
    return array


CALLS = [
    lambda: pcr99.solve(odd(3), odd(3), time_limit=1.0),
    lambda: pcr99.solve(odd(3), odd(3), indices=odd(2), time_limit=1.0),
    lambda: pcr99.solve(odd(3), odd(3), weights=odd(1), time_limit=1.0),
    lambda: pcr99.register(odd(3), odd(3), time_limit=1.0),
    lambda: pcr99.refine(odd(3), odd(3), odd(4), time_limit=1.0),
    lambda: pcr99.voxel_down_sample(odd(3), random.choice([0.1, 1.0])),
    lambda: pcr99.estimate_normals(odd(3), random.choice([0.1, 1.0])),
    lambda: pcr99.fpfh(odd(3), odd(3), 1.0),
    lambda: pcr99.match_features(odd(33), odd(33)),
]

tried = failed = 0
for _ in range(10_000):
    call = CALLS[random.integers(len(CALLS))]
    tried += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except pcr99.Error:
        pass
    except Exception as error:
        failed += 1
        print(f"array {tried}: {type(error).__name__}: {error}", file=sys.stderr)
print(json.dumps([tried, failed]))
