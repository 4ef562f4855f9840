"""The files of a table with a cache. After a crash of the process they are rolled back to the last flush.

`table.json` says which table it is, what state its rows have, and how often it was flushed; it is replaced in
one piece, and from that moment a flush counts. Before a row of the files is overwritten for the first time
since, what was there goes to the end of `undo-N.bin`, N being that number (a log of undos; Gray and Reuter
1992, chapter 10). The next table that opens the files puts it back. Writes of a process that is killed reach
the files; those of a machine that loses its power may not.
"""

from __future__ import annotations

import contextlib
import json
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..kernels.arena import reserved
from ..serialization import locked, replacing
from .stores import Store, sizes

META, FORMAT = "table.json", 2
WEIGHTS, STATED = 1, 2  # what the store has of a row: its weights, or also an optimizer's state
AT_ONCE = 1 << 14  # rows that are copied
LATER = ("flushes", "steps", "states")  # what changes in the description
NOTES = "notes"  # of the program; older descriptions have none


class Files:
    """A folder, its lock and its undo file, which both are there while something is written that was not
    flushed.

    facts: what must be the same whenever it is opened: rows, width, initializer, seed, store. Raises
    ValueError for the folder of another table, one that is being written, and for a file that is missing
    or not of its size.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder, self.facts = folder, {"format": FORMAT, **facts}
        self.flushes = self.steps = 0
        self.states: list[str] = []  # the optimizer's names of them
        self.notes: dict[str, Any] = {}  # of the program, for JSON: they count with the rows
        self._committed_notes: dict[str, Any] = {}
        self._undo: IO[bytes] | None = None
        self._noted = reserved((facts["rows"],), np.uint8)  # rows that the undo file has
        self._held = contextlib.ExitStack()  # the lock and the undo file
        weakref.finalize(self, self._held.close)
        self._failed = False
        folder.mkdir(parents=True, exist_ok=True)
        self._locked()
        try:
            self._opened()
        finally:
            self._held.close()

    def path(self, name: str) -> Path:
        return self.folder / name

    def store(self, number: int) -> Store:
        """The weights (0), or the states, as they lie in their files; a state that is new is made."""
        rows, width = self.facts["rows"], self.facts["width"]
        if number == 0:
            return Store(rows, width, self.facts["store"], self.path("weight"))
        return Store(rows, width, path=self.path(f"state{number - 1}"))

    # --- what is written ---

    def begin(self) -> None:
        """From here on something is written that the next flush makes count."""
        if self._failed:
            raise OSError(
                f"path: {self.folder}: writing failed before; open it again, as it was flushed last"
            )
        if self._undo is not None:
            return
        self._locked()
        if self._read()["flushes"] != self.flushes:
            self._held.close()
            raise ValueError(
                f"path: another HybridEmbedding has written to {self.folder} since this one opened it"
            )
        # Closed by the ExitStack.
        self._undo = self._held.enter_context(open(self._undo_path(), "wb"))  # noqa: SIM115

    def note(self, rows: np.ndarray, stored: np.ndarray, stores: list[Store]) -> None:
        """`rows` (each once) are about to be overwritten. stored: what the stores have of each row of the
        table."""
        self.begin()
        rows, arrays = rows[self._noted[rows] == 0], _arrays(stores[: 1 + len(self.states)])
        assert self._undo is not None
        try:
            for begin in range(0, len(rows), AT_ONCE):
                some = rows[begin : begin + AT_ONCE]
                had = stored[some]
                old = (array[some[had >= least]] for array, least in arrays)
                for part in (np.array([len(some)]), some, had, *old):
                    self._undo.write(np.ascontiguousarray(part).data)
            self._undo.flush()  # to the system, not to the disk: it must outlive this process
        except OSError:
            self._failed = True  # half of it may be there, so nothing may come after it
            raise
        self._noted[rows] = 1

    def commit(self, states: list[str], steps: int) -> None:
        """What was written, and is on the disk by now, counts."""
        same = (states, steps, self.notes) == (self.states, self.steps, self._committed_notes)
        if self._undo is None and same:
            return
        self.begin()
        assert self._undo is not None
        with replacing(self.path(META)) as file:
            later = {"flushes": self.flushes + 1, "steps": steps, "states": states, NOTES: self.notes}
            file.write(json.dumps({**self.facts, **later}).encode())
        self._undo.close()
        self._undo = None
        self._undo_path().unlink()
        self.flushes, self.steps, self.states = self.flushes + 1, steps, list(states)
        self._committed_notes = dict(self.notes)
        self._noted = reserved((len(self._noted),), np.uint8)
        self._held.close()

    # --- what is found ---

    def _opened(self) -> None:
        if not self.path(META).exists():
            if there := sorted(p.name for p in self.folder.glob("*.bin")):
                raise ValueError(
                    f"path: {self.folder} has {', '.join(there)}, but no {META} that says of which table"
                )
            with replacing(self.path(META)) as file:
                file.write(json.dumps({**self.facts, "flushes": 0, "steps": 0, "states": []}).encode())
        facts = self._read()
        self.flushes, self.steps, self.states = facts["flushes"], facts["steps"], facts["states"]
        self.notes, self._committed_notes = facts.get(NOTES, {}), facts.get(NOTES, {})
        expected = {"stored.bin": self.facts["rows"]}
        for number in range(1 + len(self.states)):
            name, kind = (f"state{number - 1}", "float32") if number else ("weight", self.facts["store"])
            expected |= {
                name + end: size for end, size in sizes(self.facts["rows"], self.facts["width"], kind).items()
            }
        for name, size in expected.items():
            found = self.path(name).stat().st_size if self.path(name).exists() else None
            if found != size and self.flushes:
                state = (
                    "is missing"
                    if found is None
                    else f"has {found} bytes instead of {size}: it was cut or changed"
                )
                raise ValueError(f"path: {self.path(name)} {state}")
            if found != size:  # its writer was killed
                with open(self.path(name), "wb") as file:
                    file.truncate(size)
        for path in [*self.folder.glob("state*.bin"), *self.folder.glob(".*.tmp")]:
            if path.name not in expected:  # of steps that were never flushed
                path.unlink()
        if self._undo_path().exists():
            self._undone()
        for path in self.folder.glob("undo-*.bin"):
            path.unlink()

    def _undone(self) -> None:
        """Put everything back that the undo file has; what was cut off at its end was not overwritten yet."""
        stores = [self.store(number) for number in range(1 + len(self.states))]
        stored = np.memmap(self.path("stored.bin"), np.uint8, "r+")
        with open(self._undo_path(), "rb") as file:
            while len(count := file.read(8)) == 8:
                (many,) = np.frombuffer(count, np.int64)
                rows, had = _taken(file, np.int64, int(many)), _taken(file, np.uint8, int(many))
                if rows is None or had is None:
                    break
                old = [
                    (
                        array,
                        rows[had >= least],
                        _taken(file, array.dtype, int((had >= least).sum()), *array.shape[1:]),
                    )
                    for array, least in _arrays(stores)
                ]
                if any(values is None for _, _, values in old):
                    break
                for array, places, values in old:
                    array[places] = values
                stored[rows] = had
        for store in stores:
            store.flush()
        stored.flush()

    def _read(self) -> dict[str, Any]:
        path = self.path(META)
        try:
            facts: dict[str, Any] = json.loads(path.read_text())
            right = isinstance(facts, dict) and (
                facts.get("format") != FORMAT or all(key in facts for key in LATER)
            )
        except ValueError as error:
            raise ValueError(f"{path}: expected the description of a table, got something else") from error
        if not right:
            raise ValueError(f"{path}: expected the description of a table, got {facts}")
        known = {key: value for key, value in facts.items() if key not in (*LATER, NOTES)}
        if known != self.facts:
            raise ValueError(f"path: {self.folder} holds a table {known}, expected {self.facts}")
        return facts

    def _undo_path(self) -> Path:
        return self.path(f"undo-{self.flushes}.bin")

    def _locked(self) -> None:
        try:
            self._held.enter_context(locked(self.path(".lock")))
        except BlockingIOError as error:
            raise ValueError(
                f"path: {self.folder} is being written by another HybridEmbedding, which has neither "
                "flushed nor ended"
            ) from error


def _arrays(stores: list[Store]) -> list[tuple[np.ndarray, int]]:
    """The arrays of all stores, and what must be stored of a row for them to have it."""
    return [
        (array, STATED if number else WEIGHTS)
        for number, store in enumerate(stores)
        for array in store.arrays
    ]


def _taken(file: IO[bytes], dtype: Any, count: int, *width: int) -> np.ndarray | None:
    """The next `count` items [*width] of a file, or None where it ends before."""
    size = count * int(np.prod(width, dtype=np.int64)) * np.dtype(dtype).itemsize
    found = file.read(size)
    return np.frombuffer(found, dtype).reshape(count, *width) if len(found) == size else None
