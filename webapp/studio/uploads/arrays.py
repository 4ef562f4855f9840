"""Arrays of NumPy: one .npy file, or several in an .npz. Headers are read without `pickle`, and values in pieces."""

from __future__ import annotations

import math
from typing import IO, Any

import numpy as np

from . import bounds
from .refusal import Refusal

_PIECE = 1 << 22  # bytes that are read at a time
_KINDS = "biufcSU"  # booleans, numbers, text of a fixed width
FIRST_ITEMS = 24
MOST_CLASSES = 1_000


def read(stream: IO[bytes], size: int, name: str) -> dict[str, Any]:
    """dtype, shape, extremes and the first values of the array in a stream of `size` bytes. Refuses one with Python
    objects, and one whose header states another size."""
    shape, dtype, begins = _header(stream, name)
    stated = math.prod(shape) * dtype.itemsize
    if stated != size - begins:
        raise Refusal("array_size", name=name, stated=stated, found=size - begins)
    told = {"name": name.removesuffix(".npy") or "array", "dtype": dtype.name, "shape": list(shape)}
    return {**told, **_values(stream, shape, dtype)}


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    form = np.lib.format
    try:
        version = form.read_magic(stream)
        reader = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}.get(version)
        if reader is None:
            raise Refusal("array_header", name=name, why=f"version {version[0]}.{version[1]}")
        shape, _, dtype = reader(stream, max_header_size=bounds.LONGEST_HEADER)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, EOFError) as error:
        if isinstance(error, Refusal):
            raise
        raise Refusal("array_header", name=name, why=str(error).partition("\n")[0]) from error
    if dtype.hasobject:
        raise Refusal("objects", name=name)
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise Refusal("array_type", name=name, type=dtype)
    if len(shape) > bounds.MOST_AXES or any(length < 0 for length in shape):
        raise Refusal("array_header", name=name, why=f"shape {shape}")
    return shape, dtype, stream.tell()


def _values(stream: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any]) -> dict[str, Any]:
    """Reads all values. `counts`: how often each class occurs, of integers in one axis; `first`: the first values."""
    least, most, total, count = math.inf, -math.inf, 0.0, 0
    classes = np.zeros(MOST_CLASSES, np.int64) if len(shape) == 1 and dtype.kind in "iu" else None
    first: np.ndarray | None = None
    piece = max(_PIECE // dtype.itemsize, 1) * dtype.itemsize
    while part := stream.read(piece):
        values = np.frombuffer(part[: len(part) // dtype.itemsize * dtype.itemsize], dtype)
        if first is None:
            first = values
        if dtype.kind not in "biuf" or not len(values):
            continue
        with np.errstate(all="ignore"):
            least, most = min(least, float(values.min())), max(most, float(values.max()))
            total += float(values.sum(dtype=np.float64))
        count += len(values)
        if classes is not None:
            if values.min() < 0 or values.max() >= MOST_CLASSES:
                classes = None
            else:
                classes += np.bincount(values.astype(np.int64), minlength=MOST_CLASSES)
    told: dict[str, Any] = {}
    if count:
        told |= {"least": f"{least:g}", "mean": f"{total / count:g}", "most": f"{most:g}"}
    if classes is not None and count:
        told["counts"] = {str(value): int(classes[value]) for value in np.flatnonzero(classes)}
    if first is not None:
        told["first"] = first
    return told


def pictures(told: dict[str, Any]) -> np.ndarray | None:
    """The first items of an array that looks like images: uint8 [N, H, W] or [N, H, W, 3]; None of another one."""
    shape, first = told["shape"], told.get("first")
    if (
        told["dtype"] != "uint8"
        or first is None
        or len(shape) not in (3, 4)
        or (len(shape) == 4 and shape[3] != 3)
    ):
        return None
    if not all(8 <= side <= 512 for side in shape[1:3]):
        return None
    count = min(len(first) // math.prod(shape[1:]), FIRST_ITEMS)
    return first[: count * math.prod(shape[1:])].reshape(count, *shape[1:]) if count else None
