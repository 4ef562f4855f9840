"""The pushes since a shard's last snapshot, in a file: a redo log (Gray and Reuter 1992, chapter 9).

`log-N.bin` has the pushes from number N on, in their order. A record is six int64 [CRC-32 of what follows,
worker, step, count, width, bits of the rate], `count` ids int64 and `count` rows [width] float32. It is
written before the push is applied. Bytes of a process that is killed reach the file; a record that was not
written whole is cut off, and its push was not answered, so the worker sends it again. A power cut may lose
the last records.
"""

from __future__ import annotations

import os
import weakref
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from ...serialization import replacing

HEAD = 6  # int64 numbers


class Push(NamedTuple):
    """Gradients of one worker's step: ids [n] int64, each once; rows [n, width] float32; rate: of the
    step."""

    worker: int
    step: int
    ids: np.ndarray
    rows: np.ndarray
    rate: float

    def record(self) -> bytes:
        """As it lies in a file."""
        rate = int(np.float64(self.rate).view(np.int64))
        head = np.array([self.worker, self.step, len(self.ids), self.rows.shape[1], rate], np.int64)
        body = b"".join((head.tobytes(), self.ids.tobytes(), self.rows.tobytes()))
        return np.array([zlib.crc32(body)], np.int64).tobytes() + body


def _pushes(file: IO[bytes]) -> Iterator[tuple[Push, int]]:
    """(push, where its record ends) for each whole record from the beginning of a file."""
    size = os.fstat(file.fileno()).st_size
    while len(head := file.read(8 * HEAD)) == 8 * HEAD:
        crc, worker, step, count, width, rate = np.frombuffer(head, np.int64).tolist()
        length = 8 * count + 4 * count * width
        if count < 0 or width < 0 or file.tell() + length > size:
            return
        body = file.read(length)
        if zlib.crc32(body, zlib.crc32(head[8:])) != crc:
            return
        ids = np.frombuffer(body, np.int64, count).copy()  # loops take no read-only arrays
        rows = np.frombuffer(body, np.float32, offset=8 * count).reshape(count, width).copy()
        yield Push(worker, step, ids, rows, float(np.int64(rate).view(np.float64))), file.tell()


class PushLog:
    """The newest log of a folder; older ones go. pushes: those that are in it, or went before it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob(".log-*.tmp"):
            path.unlink()
        numbers = sorted(self._numbers())
        self.first = self.pushes = numbers[-1] if numbers else 0
        self._file = self._opened()
        self._remove_others()

    @property
    def length(self) -> int:
        """How many bytes the file has."""
        return self._end

    def replay(self) -> Iterator[tuple[int, Push]]:
        """(number, push) of each that is in the file; what is behind the last whole one is cut off.

        Asked for once, before anything is appended.
        """
        self._file.seek(0)
        for push, end in _pushes(self._file):
            self._end, self.pushes = end, self.pushes + 1
            yield self.pushes - 1, push
            self._file.seek(end)
        self._file.truncate(self._end)

    def append(self, push: Push) -> None:
        """Write a push. Raises OSError for a full disk; then the file is as it was."""
        rest = memoryview(push.record())
        size = len(rest)
        self._file.seek(self._end)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end, self.pushes = self._end + size, self.pushes + 1

    def begin(self, waiting: Iterable[Push]) -> None:
        """A snapshot has all pushes but the last ones, `waiting`: a new file, which begins with them."""
        kept = list(waiting)
        first = self.pushes - len(kept)
        if first == self.first:
            return
        with replacing(self.folder / f"log-{first}.bin") as file:
            for push in kept:
                file.write(push.record())
        self._file.close()
        self.first = first
        self._file = self._opened()
        self._end = os.fstat(self._file.fileno()).st_size
        self._remove_others()

    def _opened(self) -> IO[bytes]:
        path = self.folder / f"log-{self.first}.bin"
        file = open(path, "r+b" if path.exists() else "w+b", buffering=0)  # noqa: SIM115  `finalize` closes it
        weakref.finalize(self, file.close)
        self._end = 0
        return file

    def _numbers(self) -> list[int]:
        return [int(path.stem.removeprefix("log-")) for path in self.folder.glob("log-*.bin")]

    def _remove_others(self) -> None:
        for number in self._numbers():
            if number != self.first:
                (self.folder / f"log-{number}.bin").unlink()
