"""Plain values over a socket: the protocol between the grader and the learner's process.

A message is a tree of None, bool, int, float, str, list, tuple, dict with text keys, and arrays. On the wire it is
one frame: two lengths, a JSON header, then the raw bytes of the arrays one after the other. Nothing in it can run
code, sizes are limited, and the other side can only send values, never a verdict.
"""

from __future__ import annotations

import json
import math
import socket
import struct
import time
from typing import Any

import numpy as np

from sampan.learn.plain import DTYPES, MAX_DEPTH, Foreign, Strided, plain

HEADER = struct.Struct("<IQ")  # bytes of JSON, bytes of arrays
MAX_JSON = 4 << 20
MAX_ARRAYS = 64 << 20
MAX_TEXT = 20_000


class WireError(ValueError):
    """A frame that is broken, too large, or holds something that is not a plain value."""


def encode(message: Any, most_text: int | None = MAX_TEXT) -> bytes:
    """One frame; of a text no more than `most_text` characters. Raises `WireError` if the message is larger than a
    frame may be."""
    arrays: list[np.ndarray] = []

    def tree(value: Any) -> Any:
        if isinstance(value, Foreign):
            return {"$foreign": value.type_name}
        if isinstance(value, Strided):
            arrays.append(value.array)
            return {"$strided": len(arrays) - 1}
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {"$array": len(arrays) - 1}
        if type(value) is tuple:
            return {"$tuple": [tree(item) for item in value]}
        if type(value) is list:
            return [tree(item) for item in value]
        if type(value) is dict:
            if any(key.startswith("$") for key in value):
                raise WireError("a text key may not begin with '$'")
            return {key: tree(item) for key, item in value.items()}
        if type(value) is str:
            return value[:most_text]
        if type(value) is int and abs(value) >= 1 << 63:
            return {"$foreign": "int of more than 64 bits"}
        return value

    body = tree(plain(message))
    blobs = [np.ascontiguousarray(array).tobytes() for array in arrays]
    specs = [{"dtype": array.dtype.name, "shape": list(array.shape)} for array in arrays]
    header = json.dumps({"message": body, "arrays": specs}, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    total = sum(map(len, blobs))
    if len(header) > MAX_JSON or total > MAX_ARRAYS:
        raise WireError(
            f"a message of {len(header)} + {total} bytes is larger than {MAX_JSON} + {MAX_ARRAYS} allowed"
        )
    return b"".join([HEADER.pack(len(header), total), header, *blobs])


def decode(header: bytes, blob: bytes) -> Any:
    """The message of one frame. Raises `WireError` for anything that `encode` would not have written."""
    try:
        frame = json.loads(header)
        specs, body = frame["arrays"], frame["message"]
        arrays, start = [], 0
        for spec in specs:
            name, shape = spec["dtype"], spec["shape"]
            if name not in DTYPES or len(shape) > 8 or any(type(n) is not int or n < 0 for n in shape):
                raise WireError(f"an array of {name!r} and shape {shape!r} is not allowed")
            stop = start + np.dtype(name).itemsize * math.prod(shape)
            if stop > len(blob):
                raise WireError("an array is longer than the frame")
            arrays.append(np.frombuffer(blob[start:stop], dtype=name).reshape(shape).copy())
            start = stop
        if start != len(blob):
            raise WireError("bytes are left over after the last array")
        return _value(body, arrays, 0)
    except WireError:
        raise
    except (
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise WireError(f"a broken frame: {error}") from error


def _value(node: Any, arrays: list[np.ndarray], depth: int) -> Any:
    if depth > 2 * MAX_DEPTH:
        raise WireError("a message is nested too deeply")
    if type(node) is list:
        return [_value(item, arrays, depth + 1) for item in node]
    if type(node) is dict:
        if len(node) == 1:
            (key, item), *_ = node.items()
            if key == "$array":
                return arrays[item]
            if key == "$strided":
                return Strided(arrays[item])
            if key == "$tuple":
                return tuple(_value(part, arrays, depth + 1) for part in item)
            if key == "$foreign":
                return Foreign(str(item))
        return {key: _value(item, arrays, depth + 1) for key, item in node.items()}
    return node


def send(
    channel: socket.socket, message: Any, deadline: float | None = None, most_text: int | None = MAX_TEXT
) -> None:
    """Raises `TimeoutError` if the other side has not received it by the deadline (a `time.monotonic()` value)."""
    frame = encode(message, most_text)
    channel.settimeout(None if deadline is None else max(1e-3, deadline - time.monotonic()))
    channel.sendall(frame)


def receive(channel: socket.socket, deadline: float | None = None) -> Any:
    """The next message. Raises `EOFError` when the other side is gone, `TimeoutError` at the deadline
    (a `time.monotonic()` value), `WireError` when the frame is broken."""
    lengths = _exactly(channel, HEADER.size, deadline)
    of_json, of_arrays = HEADER.unpack(lengths)
    if of_json > MAX_JSON or of_arrays > MAX_ARRAYS:
        raise WireError(
            f"a frame of {of_json} + {of_arrays} bytes is larger than {MAX_JSON} + {MAX_ARRAYS} allowed"
        )
    return decode(_exactly(channel, of_json, deadline), _exactly(channel, of_arrays, deadline))


def _exactly(channel: socket.socket, count: int, deadline: float | None) -> bytes:
    parts, missing = [], count
    while missing:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            channel.settimeout(left)
        part = channel.recv(min(missing, 1 << 20))
        if not part:
            raise EOFError("the other side closed the connection")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
