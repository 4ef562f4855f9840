"""The neighbours of each node in one direction of a graph that changes: rows in one pool of places."""

from typing import Any, NamedTuple

import numpy as np

from ..kernels import cpu_graph_dynamic as loops
from .adjacency import MOST

COMPACT_FROM = 1 << 20  # unused places
# What is known of a row lies in one line of the caches: an update reads all of it, for rows in no order.
ROW = np.dtype(
    [("offset", "i8"), ("version", "i8"), ("length", "i4"), ("capacity", "i4"), ("count", "i4"), ("", "i4")]
)


class RowsView(NamedTuple):
    """Rows as they were when a snapshot was taken: places that it covers are never written again."""

    offsets: np.ndarray
    lengths: np.ndarray
    neighbours: np.ndarray
    edges: np.ndarray

    def read(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(neighbours, edges, counts) of int32 `rows`, one after another."""
        counts = self.lengths[rows]
        found = np.empty((2, int(counts.sum(dtype=np.int64))), np.int32)
        loops.gather(rows, *self, *found)
        return found[0], found[1], counts


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    """A copy with room for `size`, zeros behind what is there: a view of the old array stays as it is."""
    made = np.zeros(size, array.dtype)
    made[: len(array)] = array
    return made


class Stack:
    """Numbers of which the last ones pushed are popped first, int32."""

    def __init__(self) -> None:
        self._items, self._count = np.zeros(0, np.int32), 0

    def __len__(self) -> int:
        return self._count

    def push(self, numbers: np.ndarray) -> None:
        count = self._count + len(numbers)
        if count > len(self._items):
            self._items = _longer(self._items, max(count, 2 * len(self._items)))
        self._items[self._count : count] = numbers
        self._count = count

    def pop(self, count: int) -> np.ndarray:
        """The last `count`, at most as many as there are."""
        self._count -= count
        return self._items[self._count : self._count + count].copy()


class GrowingRows:
    """Rows of (neighbour, edge) that grow and shrink. The caller holds the lock of the graph."""

    def __init__(self) -> None:
        self._use(np.zeros(0, ROW))
        self.neighbours, self.edges = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._state = np.zeros(2, np.int64)  # end of the used part of the pool, unused places before it

    def _use(self, rows: np.ndarray) -> None:
        self._table = rows
        self.offsets, self.versions = rows["offset"], rows["version"]
        self.lengths, self.capacities, self._scratch = rows["length"], rows["capacity"], rows["count"]

    @property
    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.offsets, self.lengths, self.capacities, self.versions, self.neighbours, self.edges

    def add_rows(self, count: int) -> None:
        """Room for rows 0 to count - 1; new ones are empty."""
        if count > len(self.offsets):
            self._use(_longer(self._table, min(max(count, 2 * len(self.offsets), 1024), MOST)))

    def _reserve(self, more: int) -> None:
        size = int(self._state[0]) + more
        if size > len(self.neighbours):
            size = max(size, 2 * len(self.neighbours), 1024)
            grown = _longer(self.neighbours, size), _longer(self.edges, size)
            self.neighbours, self.edges = grown

    def reserve(self, rows: np.ndarray) -> None:
        """Room for one more edge in each of `rows`, before `insert`; or MemoryError, and no change."""
        try:
            self._reserve(loops.needed(rows, self.lengths, self.capacities, self._scratch))
        except MemoryError:
            self.cancel(rows)
            raise

    def cancel(self, rows: np.ndarray) -> None:
        """Undo `reserve`."""
        self._scratch[rows] = 0

    def insert(self, rows: np.ndarray, others: np.ndarray, numbers: np.ndarray, version: int) -> None:
        """Append edge numbers[i] to others[i] to row rows[i]; `reserve` has made room."""
        loops.insert(rows, others, numbers, self._scratch, self._state, version, *self._arrays)

    def find(self, rows: np.ndarray, others: np.ndarray, dead: np.ndarray, found: np.ndarray) -> int:
        """Mark the newest edge of each pair as dead; -1, or the first pair without one."""
        return int(
            loops.find(rows, others, self.offsets, self.lengths, self.neighbours, self.edges, dead, found)
        )

    def reserve_copies(self, rows: np.ndarray) -> None:
        """Room for a copy of each of `rows`, before `remove` while a snapshot is in use."""
        self._reserve(loops.kept_places(rows, self.lengths, self._scratch))

    def remove(
        self, rows: np.ndarray, numbers: np.ndarray, dead: np.ndarray, version: int, visible: int
    ) -> None:
        """Take dead edges numbers[i] out of rows[i]. visible: version of the newest snapshot in use, or
        -1."""
        loops.remove(rows, numbers, dead, self._scratch, self._state, version, visible, *self._arrays)

    def view(self, count: int) -> RowsView:
        """The first `count` rows now."""
        return RowsView(self.offsets[:count].copy(), self.lengths[:count].copy(), self.neighbours, self.edges)

    def live(self, count: int) -> RowsView:
        """The first `count` rows without a copy: for a reader that holds the lock."""
        return RowsView(self.offsets[:count], self.lengths[:count], self.neighbours, self.edges)

    @property
    def wasteful(self) -> bool:
        """Whether a new pool would be much smaller."""
        end, unused = self._state
        return bool(unused > COMPACT_FROM and 2 * unused > end)

    def replace(self, offsets: np.ndarray, capacities: np.ndarray, version: int, pool: Any) -> None:
        """The same rows in another pool, without unused places."""
        self.offsets[:], self.capacities[:], self.versions[:] = offsets, capacities, version
        self.neighbours, self.edges = pool
        self._state[:] = len(pool[0]), 0


class Compaction:
    """A new pool for some rows, written beside readers and writers: begin and finish need the lock of the
    graph, `copy` does not."""

    def __init__(self, rows: GrowingRows) -> None:
        count = len(rows.offsets)
        self.rows, self.before = rows, rows.view(count)
        self.capacities = np.where(
            self.before.lengths > 0, self.before.lengths + self.before.lengths // 4 + 1, 0
        )
        self.offsets = np.cumsum(self.capacities, dtype=np.int64) - self.capacities
        self.end = int(self.capacities.sum(dtype=np.int64))

    def copy(self) -> None:
        self.pool = np.zeros(self.end, np.int32), np.zeros(self.end, np.int32)
        loops.copy_rows(np.arange(len(self.offsets), dtype=np.int32), self.offsets, *self.before, *self.pool)

    def finish(self, version: int) -> None:
        """Copy what changed meanwhile, and use the new pool."""
        rows, old = self.rows, len(self.offsets)
        now = rows.view(len(rows.offsets))
        changed = np.ones(len(now.offsets), bool)
        changed[:old] = (now.offsets[:old] != self.before.offsets) | (
            now.lengths[:old] != self.before.lengths
        )
        moved = np.flatnonzero(changed & (now.lengths > 0)).astype(np.int32)
        offsets, capacities = np.zeros(len(now.offsets), np.int64), np.zeros(len(now.offsets), np.int32)
        offsets[:old], capacities[:old] = self.offsets, self.capacities
        capacities[changed] = now.lengths[changed]
        offsets[moved] = self.end + np.cumsum(capacities[moved], dtype=np.int64) - capacities[moved]
        end = self.end + int(capacities[moved].sum(dtype=np.int64))
        pool = _longer(self.pool[0], end), _longer(self.pool[1], end)
        loops.copy_rows(moved, offsets[moved], *now, *pool)
        rows.replace(offsets, capacities, version, pool)
