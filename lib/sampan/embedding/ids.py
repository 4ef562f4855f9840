"""Which row an id has, for ids without bounds: a hash table that grows in small steps."""

import secrets

import numpy as np

from ..kernels import cpu_embedding_hash as loops
from ..kernels.arena import reserved


class IdTable:
    """Rows 0, 1, 2 ... for int64 ids in the order in which they are first given; at most `capacity` at a
    time.

    Extendible hashing (Fagin et al. 1979): growth splits one segment of 64 kB at a time. Memory is reserved
    for `capacity` ids and used as ids are added, 16 bytes a slot, two thirds of which are in use. salt: of
    the hash function; no result depends on it. None draws a random one, so that a caller cannot choose ids
    that collide.
    """

    def __init__(self, capacity: int, salt: int | None = None) -> None:
        if capacity < 1:
            raise ValueError(f"capacity: expected 1 or more, got {capacity}")
        self.capacity = capacity
        self._salt = np.uint64(secrets.randbits(64) if salt is None else salt)
        most = 16 + 6 * capacity // loops.FULL
        self._slots = reserved((most * loops.SEGMENT, 2), np.uint64, dense=True)
        self._segments = np.zeros((most, 3), np.int64)  # entries, bits that chose it, those bits
        self._directory, self._depth = np.zeros(1, np.int64), 0
        self._free = reserved((capacity,), np.int64)
        self._used = np.array([0, 0, 1])  # rows ever given, rows given back, segments

    def __len__(self) -> int:
        return int(self._used[0] - self._used[1])

    @property
    def rows(self) -> int:
        """One more than the highest row ever given."""
        return int(self._used[0])

    def find(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id, -1 where it has none. ids: flat int64."""
        return loops.find(_bits(ids), self._directory, self._depth, self._slots, self._salt)

    def give(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(the row of each id, the places in `ids` of those that had none before).

        Raises MemoryError above `capacity`; then none has been given.
        """
        bits, rows, new = _bits(ids), np.empty(ids.size, np.int64), np.zeros(ids.size + 1, np.int64)
        done, waits = 0, 1
        while waits == 1:
            done, waits = loops.insert(
                bits,
                done,
                self._directory,
                self._depth,
                self._slots,
                self._salt,
                self._segments,
                self._used,
                self._free,
                rows,
                new,
                self.capacity,
            )
            if waits == 1:
                self._directory, self._depth = np.repeat(self._directory, 2), self._depth + 1
        places = new[1 : new[0] + 1]
        if waits == 2:
            self.remove(ids[places])
            raise MemoryError(
                f"ids: no room for {int(ids[done])} beside {len(self)} others, the capacity is "
                f"{self.capacity}"
            )
        return rows, places

    def remove(self, ids: np.ndarray) -> None:
        """Take ids out; their rows are given to the next new ones. Unknown ids are passed over."""
        loops.remove(
            _bits(ids),
            self._directory,
            self._depth,
            self._slots,
            self._salt,
            self._segments,
            self._used,
            self._free,
        )

    def restore(self, ids: np.ndarray, rows: np.ndarray, free: np.ndarray) -> None:
        """Into an empty table: `ids` with these `rows`, and rows that are `free`. Raises ValueError for
        repeated ids."""
        self._free[: len(free)], self._free[len(free) : len(free) + len(rows)] = free, rows[::-1]
        self._used[:2] = len(free) + len(rows)
        _, new = self.give(ids)
        if len(new) != len(ids):
            raise ValueError(f"ids: expected each once, got {len(ids) - len(new)} again")


def _bits(ids: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(ids, np.int64).view(np.uint64)
