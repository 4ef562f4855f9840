"""The folder of a DynamicGraph: a copy of the whole graph and a redo log (Gray and Reuter 1992, chapter 9).

`base-N.bin` is the graph at some flush. `log-N.bin` and later logs are the changes since then, in the records
of `redo_records`. `graph.json` names the files that count, how many of their bytes count, and the CRC-32 of
those bytes. It is replaced in one piece, and from that moment a flush counts. Bytes behind are changes that
were not flushed: the next `open` cuts them off. So a kill at any moment leaves the last flush.

Why not the undo log of the tables: the rows of a graph lie in memory and move when they grow. An update
writes to many places, and copying each before it is overwritten would cost more than the update. A redo log
is written in order, 12 bytes for an added edge (and its time and features) and 4 for a removed one.

Compaction: a flush that finds the logs longer than the base, and than LEAST, begins a new log. A thread
writes a new base from a snapshot; then `graph.json` names these two, and the old files are removed. Changes
that are not flushed are kept up to the same length; beyond it they are dropped, and the next flush writes a
base itself. So the folder holds at most a few times the graph.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import warnings
import weakref
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..serialization import locked, replacing
from .redo_records import Schema, apply, record, records, whole

if TYPE_CHECKING:
    from .dynamic import DynamicGraph, Snapshot

META, FORMAT = "graph.json", 1
LEAST = 1 << 24  # bytes of a log that is not compacted
SPILL = 1 << 20  # bytes of records that wait in memory
BLOCK = 1 << 20  # bytes that are read or joined at once
Summed = tuple[int, int]  # bytes, and their CRC-32


class LogFile:
    """A file that grows. What is behind `end` was not written whole, and is written over."""

    def __init__(self, path: Path, end: int = 0, crc: int = 0) -> None:
        self.name, self.end, self.crc = path.name, end, crc
        self._file = open(path, "r+b" if end else "wb", buffering=0)  # noqa: SIM115  `close` closes it
        weakref.finalize(self, self._file.close)
        self._file.truncate(end)

    def append(self, parts: Iterable[np.ndarray]) -> None:
        """Write these bytes at the end. Raises OSError, and then the end is where it was."""
        end, crc = self.end, self.crc
        self._file.seek(end)
        for block in _joined(parts):
            rest, crc = memoryview(block), zlib.crc32(block, crc)
            while rest:
                rest = rest[self._file.write(rest) :]
            end += len(block)
        self.end, self.crc = end, crc

    def sync(self) -> Summed:
        """Wait until it is on the disk. Returns how long it is, and its CRC-32."""
        os.fsync(self._file)
        return self.end, self.crc

    def close(self) -> None:
        self._file.close()


class RedoLog:
    """A folder that this process alone has, and the changes since the last flush.

    The lock of the graph guards the records that wait, `_files_lock` the files. A thread that has the lock of
    the graph never waits for the other, so queries do not wait for the disk.
    """

    def __init__(self, folder: Path, schema: Schema, lock: contextlib.ExitStack) -> None:
        self.folder, self.schema, self.closed = folder, schema, False
        self._held = lock
        weakref.finalize(self, lock.close)
        self._files_lock = threading.Lock()
        self._parts: list[np.ndarray] = []  # records that wait to be written
        self._waiting = self._unflushed = 0  # their bytes; those of all records since the last flush
        self._spill_at = SPILL
        self._dropped = False  # records were dropped: the next flush writes a base
        self._files: dict[str, Summed] = {}  # what counts of each: the base, then logs
        self._flushes, self._number = 0, -1
        self._log: LogFile | None = None
        self._compactor: threading.Thread | None = None
        self._compaction_error: OSError | MemoryError | None = None

    @classmethod
    def made(cls, graph: DynamicGraph, path: Path, function: str) -> RedoLog:
        """A new folder with the graph as it is. Raises ValueError where one holds a graph, or files of
        one."""
        times, features = graph._times is not None, (graph._node_feat.arrays, graph._edge_feat.arrays)
        schema = Schema.of(times, *features)
        if path.exists() and not path.is_dir():
            raise ValueError(f"{function}: path: expected a folder, got the file {path}")
        path.mkdir(parents=True, exist_ok=True)
        found = cls(path, schema, _held(path, function))
        try:
            if (path / META).exists():
                if found._described(function)["flushes"]:
                    raise ValueError(
                        f"{function}: path: {path} holds a graph, which DynamicGraph.open continues with"
                    )
            elif there := sorted(file.name for file in _files_in(path)):
                raise ValueError(f"{function}: path: {path} has {', '.join(there)}, but no {META}")
            found._commit({})  # the folder of a graph that is being made
            found._commit(found._based(*_copied(graph)))
        except BaseException:
            found._held.close()
            raise
        return found

    @classmethod
    def opened(cls, path: Path, graph_of: Any) -> tuple[DynamicGraph, RedoLog]:
        """The graph of a folder as it was flushed last. graph_of: Schema -> a graph without nodes."""
        function = "DynamicGraph.open"
        if not (path / META).exists():
            raise FileNotFoundError(f"{function}: path: {path} holds no graph, there is no {META}")
        held = _held(path, function)
        try:
            found = cls(path, Schema(False, {}, {}), held)
            facts = found._described(function)
            if not facts["flushes"]:
                raise ValueError(
                    f"{function}: path: {path}: the graph was not made to its end; make it again"
                )
            found.schema = Schema.read(facts)
            found._files = {name: (size, crc) for name, (size, crc) in facts["files"].items()}
            found._flushes = facts["flushes"]
            graph: DynamicGraph = graph_of(found.schema)
            for name in found._files:
                found._replay(graph, path / name, function)
            graph._replayed()
            last = list(found._files)[-1]
            found._log, found._number = LogFile(path / last, *found._files[last]), _number(last)
            found._clean()
        except BaseException:
            held.close()
            raise
        return graph, found

    # Changes

    def note(self, kind: int, count: int, *arrays: np.ndarray, feature: int = 0) -> None:
        """A change that was made. The arrays must not change later."""
        if self._dropped:
            return
        try:
            parts = record(kind, count, *arrays, feature=feature)
            size = sum(part.nbytes for part in parts)
            self._parts += parts
        except MemoryError:  # the change was made, and is in the base that the next flush writes
            self._drop()
            return
        self._waiting += size
        self._unflushed += size
        if self._unflushed > self._longest:
            self._drop()
        elif self._waiting > self._spill_at and self._files_lock.acquire(blocking=False):
            try:
                self._spill()
            finally:
                self._files_lock.release()

    def flush(self, graph: DynamicGraph) -> None:
        """Every change until now counts when this returns."""
        with self._files_lock:
            with graph._lock:
                graph._flush()
                dropped = self._dropped
                due = not dropped and self._compactor is None and self._logged() > self._longest
                copied = _copied(graph) if dropped or due else None
                taken, self._parts, self._dropped = self._parts, [], False
                self._waiting, self._unflushed, self._spill_at = 0, 0, SPILL
            try:
                if dropped:
                    files = self._based(*copied)  # type: ignore[misc]  # set where dropped or due
                else:
                    files = self._files | self._appended(taken) | (self._new_log() if due else {})
                if files != self._files:
                    self._commit(files)
            except BaseException:
                with graph._lock:
                    self._drop()
                raise
            if due:
                self._compact(*copied)  # type: ignore[misc]  # set where dropped or due
        error, self._compaction_error = self._compaction_error, None
        if error is not None:
            warnings.warn(f"flush: the log in {self.folder} could not be compacted: {error}", stacklevel=3)

    def close(self, graph: DynamicGraph) -> None:
        """Flush once more, and let others open the folder."""
        with graph._lock:
            if self.closed:
                return
            self.closed = True
        try:
            self.flush(graph)
        except BaseException:
            self.closed = False
            raise
        self.release()

    def release(self) -> None:
        """End compaction, and let others open the folder. What was not flushed is dropped."""
        self.compacted()
        with self._files_lock:
            if self._log is not None:
                self._log.close()
            self._held.close()

    def compacted(self) -> None:
        """Wait for a compaction in the background."""
        compactor = self._compactor
        if compactor is not None:
            compactor.join()

    # How it works

    def _logged(self) -> int:
        """The bytes of the logs that count."""
        return sum(size for name, (size, _) in self._files.items() if name.startswith("log-"))

    @property
    def _longest(self) -> int:
        """How long logs may become: as long as the base."""
        return max(LEAST, next(iter(self._files.values()), (0, 0))[0])

    def _drop(self) -> None:
        self._parts, self._waiting, self._unflushed, self._dropped = [], 0, 0, True

    def _spill(self) -> None:
        """Write the records that wait behind those that count. The next flush reports a full disk."""
        assert self._log is not None
        try:
            self._log.append(self._parts)
        except OSError:
            self._spill_at = 2 * self._waiting
            return
        self._parts, self._waiting, self._spill_at = [], 0, SPILL

    def _appended(self, parts: list[np.ndarray]) -> dict[str, Summed]:
        assert self._log is not None
        self._log.append(parts)
        changed = self._log.end != self._files[self._log.name][0]
        return {self._log.name: self._log.sync()} if changed else {}

    def _new_log(self) -> dict[str, Summed]:
        number = self._number + 1
        made = LogFile(self.folder / f"log-{number}.bin")
        if self._log is not None:
            self._log.close()
        self._log, self._number = made, number
        return {made.name: (0, 0)}

    def _based(self, snapshot: Snapshot, gone: np.ndarray) -> dict[str, Summed]:
        """A base and an empty log."""
        log = self._new_log()
        return self._base(self._number, snapshot, gone) | log

    def _base(self, number: int, snapshot: Snapshot, gone: np.ndarray) -> dict[str, Summed]:
        size = crc = 0
        with replacing(self.folder / f"base-{number}.bin") as file:
            for parts in whole(snapshot, gone):
                for block in _joined(parts):
                    size, crc = size + len(block), zlib.crc32(block, crc)
                    file.write(block)
        return {f"base-{number}.bin": (size, crc)}

    def _compact(self, snapshot: Snapshot, gone: np.ndarray) -> None:
        """Write a base, on a thread, in the place of all logs but the one that has just begun."""
        number = self._number

        def work() -> None:
            try:
                files = self._base(number, snapshot, gone)
                with self._files_lock:
                    later = {
                        n: s for n, s in self._files.items() if n.startswith("log-") and _number(n) >= number
                    }
                    if f"log-{number}.bin" in later:  # a flush may have written a base itself
                        self._commit(files | later)
            except (OSError, MemoryError) as error:
                self._compaction_error = error
            finally:
                self._compactor = None

        # Not a daemon: the process ends after it, and has the folder until then.
        self._compactor = threading.Thread(target=work, name="DynamicGraph.flush")
        self._compactor.start()

    def _commit(self, files: dict[str, Summed]) -> None:
        """From here on these files count, and others are removed."""
        facts = {
            "format": FORMAT,
            "flushes": self._flushes + bool(files),
            "files": {name: list(summed) for name, summed in files.items()},
            **self.schema.described(),
        }
        with replacing(self.folder / META) as file:
            file.write(json.dumps(facts | {"check": _check(facts)}).encode())
        self._flushes, self._files = self._flushes + bool(files), files
        for path in _files_in(self.folder):
            if path.name not in files and _number(path.name) < self._number:
                path.unlink(missing_ok=True)

    # What is found

    def _described(self, function: str) -> dict[str, Any]:
        path = self.folder / META
        try:
            facts: dict[str, Any] = json.loads(path.read_bytes())
            form, check = facts["format"], facts.pop("check", None)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{function}: path: expected the description of a graph in {path}") from error
        if form != FORMAT:
            raise ValueError(f"{function}: path: expected format {FORMAT} in {path}, got {form!r}")
        if check != _check(facts):
            raise ValueError(f"{function}: path: {path} was changed: its CRC-32 is another")
        return facts

    def _replay(self, graph: DynamicGraph, path: Path, function: str) -> None:
        """Apply the records of a file that count."""
        size, crc = self._files[path.name]
        if not size:
            return
        found = path.stat().st_size if path.exists() else None
        if found is None or found < size:
            state = "is missing" if found is None else f"has {found} bytes instead of {size}: it was cut"
            raise ValueError(f"{function}: path: {path} {state}")
        with open(path, "rb") as file:
            if _crc(file, size) != crc:
                raise ValueError(f"{function}: path: {path} was changed: its CRC-32 is another")
            file.seek(0)
            try:
                with graph._lock:  # rows may be compacted in the background
                    for one in records(file, size, self.schema):
                        apply(graph, *one)
            except (ValueError, IndexError) as error:
                raise ValueError(
                    f"{function}: path: {path} has a record that does not fit: {error}"
                ) from error

    def _clean(self) -> None:
        """Remove the files of a writer that was killed."""
        for path in [
            *_files_in(self.folder),
            *self.folder.glob(".base-*.tmp"),
            *self.folder.glob(f".{META}.*.tmp"),
        ]:
            if path.name not in self._files:
                path.unlink()


def _copied(graph: DynamicGraph) -> tuple[Snapshot, np.ndarray]:
    """The graph as it is now, and which of its nodes were removed."""
    with graph._lock:
        return graph.snapshot(), graph._gone[: graph.num_nodes].copy()


def _held(folder: Path, function: str) -> contextlib.ExitStack:
    held = contextlib.ExitStack()
    try:
        held.enter_context(locked(folder / ".lock"))
    except BlockingIOError as error:
        raise ValueError(f"{function}: path: {folder} is open in another DynamicGraph") from error
    return held


def _files_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.bin") if re.fullmatch(r"(base|log)-\d+\.bin", path.name)]


def _number(name: str) -> int:
    """Of the name of a base or a log."""
    return int(name.removesuffix(".bin").rpartition("-")[2])


def _joined(parts: Iterable[np.ndarray]) -> Iterator[bytes]:
    """The same bytes in blocks of about BLOCK."""
    few: list[memoryview] = []
    size = 0
    for part in parts:
        for begin in range(0, part.nbytes, BLOCK):
            few.append(part[begin : begin + BLOCK].data)
            size += few[-1].nbytes
            if size >= BLOCK:
                yield b"".join(few)
                few, size = [], 0
    yield b"".join(few)


def _crc(file: IO[bytes], size: int) -> int:
    crc = 0
    for begin in range(0, size, BLOCK):
        crc = zlib.crc32(file.read(min(BLOCK, size - begin)), crc)
    return crc


def _check(facts: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(facts).encode())
