"""The parameters of a pruned network in a small file, `model.int8`.

Arrays of two axes and more are int8 with a float16 scale for each output channel; a bit for each entry says
whether it is 0, and only the others are stored. Vectors (biases, norms) are float16. Each of the three parts
is compressed by LZMA, whose range coder takes fewer than 8 bits for the frequent small numbers. The layout: a
line of JSON, then the parts. The line has `format`, the `bytes` of each part, and of each array its name,
shape and channel axis (null for vectors).
Source: Han, Mao and Dally, Deep Compression, 2016 (pruning, quantisation, entropy coding).
"""

import json
import lzma
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.tensor import InvalidArgument
from .int8 import to_channels

__all__ = ["PACKED", "pack", "unpack"]

PACKED = "model.int8"
FORMAT = "sampan.int8.1"
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 0, "pb": 0}]  # entries have no context
MOST = 1 << 31  # entries of all arrays: a damaged file must not fill the memory


def pack(state: Mapping[str, torch.Tensor], axes: Mapping[str, int], path: Path) -> int:
    """Write parameters by name; returns the bytes of the file. axes: of the output channels, 0 unless
    given. Raises InvalidArgument for an entry that is NaN or beyond float16."""
    arrays, masks, values, vectors = [], [], [], []
    for name, value in state.items():
        axis = axes.get(name, 0) if value.ndim > 1 else None
        if not bool((value.abs() < 65504).all()):
            raise InvalidArgument(f"state: {name} has an entry that is NaN or beyond float16")
        arrays.append({"name": name, "shape": list(value.shape), "axis": axis})
        if axis is None:
            vectors.append(value.cpu().numpy().astype(np.float16).ravel())
            continue
        q, scale = to_channels(value, axis)
        flat = q.cpu().numpy().ravel()
        masks.append(flat != 0)
        values.append(flat[flat != 0])
        vectors.append(scale.cpu().numpy().astype(np.float16))
    joined = [np.packbits(np.concatenate([np.zeros(0, bool), *masks])).tobytes()]
    joined.append(np.concatenate([np.zeros(0, np.int8), *values]).tobytes())
    joined.append(np.concatenate([np.zeros(0, np.float16), *vectors]).astype("<f2").tobytes())
    parts = [lzma.compress(part, lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=FILTERS) for part in joined]
    header = {"format": FORMAT, "bytes": [len(part) for part in parts], "arrays": arrays}
    written = json.dumps(header).encode() + b"\n" + b"".join(parts)
    path.write_bytes(written)
    return len(written)


def _header(line: bytes) -> tuple[list[int], list[tuple[str, list[int], int | None]]]:
    """(bytes of the parts, name, shape and axis of each array). ValueError or KeyError for another line."""
    header = json.loads(line)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"expected the format {FORMAT}")
    arrays, total = [], 0
    for one in header["arrays"]:
        shape, axis = [int(n) for n in one["shape"]], one["axis"]
        if min(shape, default=1) < 0 or not (axis is None or 0 <= axis < len(shape)):
            raise ValueError(f"{one['name']}: impossible shape {shape} or axis {axis}")
        total += math.prod(shape)
        arrays.append((str(one["name"]), shape, axis))
    if total > MOST:
        raise ValueError(f"{total} entries are more than {MOST}")
    sizes = [int(n) for n in header["bytes"]]
    if len(sizes) != 3 or min(sizes) < 0:
        raise ValueError(f"expected the sizes of three parts, got {sizes}")
    return sizes, arrays


def _part(data: bytes, at: int, size: int, expected: int, dtype: str) -> np.ndarray[Any, Any]:
    """The entries of one part, of which there must be `expected`."""
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    width = np.dtype(dtype).itemsize
    found = reader.decompress(data[at : at + size], expected * width + 1)
    if len(found) != expected * width or not reader.eof:
        raise ValueError(f"a part has {len(found)} bytes, or more, instead of {expected * width}")
    return np.frombuffer(found, dtype)


def unpack(path: Path) -> dict[str, torch.Tensor]:
    """The parameters of a file, float32. Raises InvalidArgument for a damaged file."""
    data = path.read_bytes()
    line, _, rest = data.partition(b"\n")
    try:
        sizes, arrays = _header(line)
        ends = np.cumsum([0, *sizes]).tolist()
        if ends[-1] != len(rest):
            raise ValueError(f"expected {ends[-1]} bytes after the first line, found {len(rest)}")
        entries = sum(math.prod(shape) for _, shape, axis in arrays if axis is not None)
        bits = np.unpackbits(_part(rest, 0, sizes[0], -(-entries // 8), "u1"), count=entries).astype(bool)
        values = _part(rest, ends[1], sizes[1], int(bits.sum()), "i1")
        lengths = [math.prod(shape) if axis is None else shape[axis] for _, shape, axis in arrays]
        vectors = _part(rest, ends[2], sizes[2], sum(lengths), "<f2").astype(np.float32)
    except (ValueError, KeyError, TypeError, lzma.LZMAError) as error:
        raise InvalidArgument(f"{path}: damaged, or not a packed model: {error}") from None
    if not np.isfinite(vectors).all():
        raise InvalidArgument(f"{path}: damaged: a scale, bias or norm is NaN or infinite")
    flat = np.zeros(entries, np.float32)
    flat[bits] = values
    state, at, place = {}, 0, 0
    for (name, shape, axis), length in zip(arrays, lengths, strict=True):
        own = torch.from_numpy(vectors[place : place + length].copy())
        place += length
        if axis is None:
            state[name] = own.view(shape)
            continue
        size = math.prod(shape)
        scale = own.view([-1 if n == axis else 1 for n in range(len(shape))])
        state[name] = torch.from_numpy(flat[at : at + size].copy()).view(shape) * scale
        at += size
    return state
