"""Objects with large arrays through a connection: the arrays are not copied in this process.

A message is two int64 [bytes of the pickle, number of buffers], the bytes of each buffer, the pickle
(protocol 5, PEP 574), and the buffers as they lie in memory.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

APART = 4096  # bytes from which an array is a buffer of its own
MOST = 512  # buffers in one call of the system, which takes at most 1024
MOST_BUFFERS = 1 << 20  # of a message


def packed(value: Any) -> list[memoryview]:
    """The parts of a message, which share the memory of the value's arrays: these must stay as they are until
    it is answered, as it may be sent again."""
    buffers: list[memoryview] = []

    def within(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= APART:
            buffers.append(raw)
        return raw.nbytes < APART

    body = pickle.dumps(value, 5, buffer_callback=within)
    head = np.array([len(body), len(buffers), *(raw.nbytes for raw in buffers)], np.int64)
    return [memoryview(head.tobytes() + body), *buffers]


def size(parts: Sequence[memoryview]) -> int:
    """The bytes of a message."""
    return sum(part.nbytes for part in parts)


def write(connection: Connection, parts: Sequence[memoryview]) -> None:
    """Send a message. Raises OSError; BlockingIOError where the other end takes nothing for too long."""
    _all(os.writev, connection.fileno(), parts)


def read(connection: Connection) -> tuple[Any, int]:
    """(the next value, its bytes). Its arrays may be written to. Raises EOFError where the other end has
    gone, and OSError; BlockingIOError where nothing arrives for too long."""
    file, head = connection.fileno(), np.empty(2, np.int64)
    _all(os.readv, file, [head.data])
    length, count = head.tolist()
    if length < 0 or not 0 <= count <= MOST_BUFFERS:
        raise OSError(f"the message begins with {length} and {count}, and is not one of a shard")
    sizes = np.empty(count, np.int64)
    body = bytearray(length)
    _all(os.readv, file, [sizes.data] if count else [])
    buffers = [np.empty(one, np.uint8) for one in sizes.tolist()]
    _all(os.readv, file, [memoryview(body), *(one.data for one in buffers)])
    total = head.nbytes + sizes.nbytes + length + int(sizes.sum())
    return pickle.loads(body, buffers=buffers), total


def _all(call: Any, file: int, parts: Sequence[memoryview]) -> None:
    """readv or writev until all parts are done."""
    rest = [memoryview(part).cast("B") for part in parts if part.nbytes]
    while rest:
        done = call(file, rest[:MOST])
        if not done:
            raise EOFError
        while rest and done >= rest[0].nbytes:
            done -= rest.pop(0).nbytes
        if done:
            rest[0] = rest[0][done:]
