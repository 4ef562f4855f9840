"""One shard: its part of every table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.errors import InvalidArgument
from .part import Part
from .push_log import Push
from .resharding import DESCRIPTION
from .settings import TableSettings
from .wire import narrow, wide


class Shard:
    """Rows of tables, answered for through open, pull, push and save.

    Arguments and results are NumPy arrays, numbers, strings, and dictionaries and lists of them; rows may
    be bfloat16, as `wire.narrow` makes them. A shard knows no transport: it may live in this process, in
    another, or in an actor of a cluster. The optimizer runs here: a pull gives rows, a push takes gradients
    of them. One caller at a time.
    """

    def __init__(self) -> None:
        self.number, self.shards, self.root = 0, 1, Path()
        self.on_disk, self.source = False, ""
        self.ended: set[int] = set()  # workers that have left
        self.parts: dict[str, Part] = {}

    def open(self, root: str, number: int, shards: int, source: str = "") -> list[str]:
        """Be shard `number` of so many, with the tables that are in `root`, and return their names.

        source: a folder of `save`, from which a table that is made begins, where it has it. root: a folder
        that all shards may share; "" for memory alone. A shard that was killed comes back with all pushes
        that it had answered. Raises ValueError for another number of shards.
        """
        self.number, self.shards, self.on_disk, self.source = number, shards, bool(root), source
        self.root = Path(root) / f"shard-{number:04}"
        self.parts = {}
        for path in sorted(self.root.glob(f"*/{DESCRIPTION}")) if root else ():
            found = Part.described(path)
            self.parts[path.parent.name] = Part(found, number, shards, path.parent)
        return list(self.parts)

    def table(self, name: str, settings: Mapping[str, Any]) -> list[int]:
        """Make a table, unless it is there: the last step of each worker that it has. Raises ValueError
        where one with other settings is there."""
        if not name or Path(name).name != name or name.startswith("."):
            raise InvalidArgument(f"table: expected a name that a folder may have, got {name!r}")
        given = TableSettings(**settings)
        part = self.parts.get(name)
        if part is None:
            folder = self.root / name if self.on_disk else None
            part = self.parts[name] = Part(given, self.number, self.shards, folder)
            if self.source and any(Path(self.source).glob(f"shard-*/{name}/{DESCRIPTION}")):
                self.load(name, self.source)
        elif part.settings != given:
            raise InvalidArgument(
                f"table: {name!r} is there with other settings: {part.settings}, got {given}"
            )
        return [part.turns.applied[worker] for worker in range(given.workers)]

    def pull(
        self, name: str, ids: np.ndarray, step: int, train: bool = True, half: bool = False
    ) -> dict[str, Any]:
        """The rows of ids, each once, before a worker's step: {"rows": [n, dim]}, or {"waits_for": a worker,
        "pushed": its last step}.

        train: ids without a row may get one; otherwise they read as zeros. half: rows as bfloat16.
        """
        answer = self._part(name).pull(ids, step, train)
        if half and "rows" in answer:
            answer["rows"] = narrow(answer["rows"])
        return answer

    def push(self, name: str, ids: np.ndarray, rows: np.ndarray, rate: float, worker: int, step: int) -> bool:
        """Gradients of a worker's step, numbered from 1: [n, dim] for ids, each once. False where this push
        was taken before: then nothing changes."""
        push = Push(worker, step, np.array(ids, np.int64), wide(rows), rate)
        return self._part(name).push(push)

    def place(self, name: str, ids: np.ndarray, rows: np.ndarray) -> None:
        """Set the rows [n, dim] of those ids that have none, and take a snapshot."""
        self._part(name).place(np.array(ids, np.int64), wide(rows))

    def save(self, folder: str = "") -> None:
        """Snapshots of all tables; or copies of them under `folder`, for `load`."""
        for name, part in self.parts.items():
            part.save(Path(folder, f"shard-{self.number:04}", name) if folder else None)

    def load(self, name: str, folder: str) -> None:
        """The rows of a table from what `save` copied under `folder`, also of another number of shards.
        Raises FileNotFoundError, ValueError."""
        self._part(name).load(Path(folder), name)

    def shrink(self, max_age: int) -> int:
        """Remove rows of all tables that the last `max_age` look-ups did not name; how many."""
        return sum(part.shrink(max_age) for part in self.parts.values())

    def leave(self, worker: int) -> None:
        """A worker pushes no more: others need not wait for it."""
        self.ended.add(worker)
        for part in self.parts.values():
            part.leave(worker)

    def tables(self) -> list[str]:
        """The names of the tables."""
        return list(self.parts)

    def statistics(self, name: str) -> dict[str, int]:
        """See Part.statistics."""
        return self._part(name).statistics()

    def _part(self, name: str) -> Part:
        if name not in self.parts:
            raise InvalidArgument(
                f"shard {self.number}: expected one of the tables {list(self.parts)}, got {name!r}"
            )
        return self.parts[name]
