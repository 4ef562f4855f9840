"""An embedding for ids without bounds: a row is made when its id is first seen, kept while it is of use."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.tensor import Tensor
from ..kernels import cpu_embedding_hash as loops
from ..row_sparse import check_ids, rows_of
from . import storage
from .arguments import drawing, numbers, size, whole
from .growing import GrowingLayer, GrowingParameter, GrowingTensor, Growth
from .ids import IdTable
from .operators import integers, rows_looked_up
from .room import default_capacity

EVICTIONS = ("lru", "lfu")
EVICTED_SHARE = 0.1  # of the capacity at once, so that the search for the least used rows is seldom
MOST_COUNTED = np.iinfo(np.uint16).max  # by the sketch
_DTYPES = {"float32": np.float32, "float64": np.float64}


class DynamicEmbedding(GrowingLayer):
    """Rows [embedding_dim] for any int64 ids; memory is taken for the ids that were seen, and for no others.

    num_embeddings: ids go from 0 to below it; None: any int64. capacity: rows at most, for which room is
    reserved and memory taken row by row; None: 100,000,000, or fewer where the process has a limit
    (`room.default_capacity`). Lengths may be whole floats, as 1e8. admission: an id gets its row when it is
    seen for the admission-th time in training (counted by a sketch of 8 MB, so now and then a little early,
    and saved with the rows); before that, and in `eval`, an id without a row reads as zeros and gets no
    gradient. eviction: "lru" (longest unseen go first) or "lfu" (least often seen) makes room when the
    capacity is reached; None: MemoryError. Rows whose gradient is still to come, or has not been stepped and
    cleared, stay. initializer: ("normal", std), ("uniform", bound) or ("constant", value); the values of a
    row depend on its id and `seed` alone, not on the order of arrival. padding_idx: this id never has a row;
    a negative one counts from num_embeddings, where there is one. sparse: as nn.Embedding has it; the
    gradient is a RowSparse in any case, since the table may grow before the next one is added to it.

    Every optimizer with one state a weight works; `Adam(lazy_mode=True)`, SGD, Adagrad and Ftrl touch the
    rows of the batch alone. The table stays in this machine's memory and in its dtype whatever the network is
    converted to; ids may come from a GPU, and their rows go there. Other threads may look rows up in `eval`
    while one trains. Also `sparse.Embedding`.
    """

    weight: GrowingParameter
    ids: GrowingTensor  # of each row
    seen: GrowingTensor
    last: GrowingTensor

    def __init__(
        self,
        num_embeddings: float | None,
        embedding_dim: float,
        padding_idx: int | None = None,
        sparse: bool = True,
        *,
        capacity: float | None = None,
        admission: int = 1,
        eviction: str | None = None,
        initializer: tuple[str, float] = ("normal", 0.01),
        seed: int = 0,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_embeddings is not None:
            num_embeddings = size("num_embeddings", num_embeddings, ", or None")
        if capacity is not None:
            capacity = size("capacity", capacity, ", or None")
        embedding_dim = size("embedding_dim", embedding_dim)
        whole("admission", admission)
        if admission > MOST_COUNTED:
            raise ValueError(f"admission: expected at most {MOST_COUNTED}, got {admission}")
        if eviction is not None and eviction not in EVICTIONS:
            raise ValueError(f"eviction: expected None or one of {', '.join(EVICTIONS)}, got {eviction!r}")
        initializer, seed = drawing(initializer, seed)
        if dtype not in _DTYPES:
            raise ValueError(f"dtype: expected one of {', '.join(_DTYPES)}, got {dtype!r}")
        if padding_idx is not None:
            whole("padding_idx", padding_idx, -(1 << 63), ", or None")
        if padding_idx is not None and num_embeddings is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"padding_idx: expected {-num_embeddings} to {num_embeddings - 1}, got {padding_idx}"
                )
            padding_idx %= num_embeddings
        self._settings = {
            "num_embeddings": num_embeddings,
            "embedding_dim": embedding_dim,
            "padding_idx": padding_idx,
            "sparse": sparse,
            "capacity": capacity,
            "admission": admission,
            "eviction": eviction,
            "initializer": initializer,
            "seed": seed,
            "dtype": dtype,
        }
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        item = np.dtype(_DTYPES[dtype]).itemsize
        self.capacity = capacity or default_capacity(embedding_dim, item, num_embeddings)
        self.admission, self.eviction, self.seed = admission, eviction, seed
        self._kind, self._scale = initializer
        self.growth, self._table = Growth(self.capacity), IdTable(self.capacity)
        self.weight = GrowingParameter(torch.empty(0, embedding_dim))
        self._weights = self.growth.add(self.weight, (embedding_dim,), _DTYPES[dtype])
        self._known = True  # the table of ids agrees with `ids`
        self._ids = self._per_row("ids")
        self._seen = self._per_row("seen")  # times an id was looked up in training; 0: the row is free
        self._last = self._per_row("last")  # the look-up in which it was last seen
        self.sketch: np.ndarray | None = None
        self.sketch_saved: np.ndarray | None = None  # as it was at the last save, flat
        if admission > 1:
            self.sketch = np.zeros((loops.SKETCH_ROWS, loops.SKETCH_WIDTH), np.uint16)
            self.register_buffer("counts", Tensor(torch.from_numpy(self.sketch.view(np.int16))))
        self.lookups = self.refused = self.evicted = 0
        self.removed: list[np.ndarray] = []  # rows taken away since the last save
        self.saved: storage.Saved | None = None
        self.notes: dict[str, Any] = {}  # of the program, for JSON: saved and loaded with the rows
        self._asked: list[weakref.ref[torch.Tensor]] = []  # look-ups whose gradient may be to come
        self._lock = threading.RLock()

    def _per_row(self, name: str) -> np.ndarray:
        tensor = GrowingTensor(torch.empty(0))
        tensor.changed = self._forget
        self.register_buffer(name, tensor)
        return self.growth.add(tensor, (), np.int64)

    def __len__(self) -> int:
        """Ids that have a row."""
        self._rebuild()
        return len(self._table)

    def forward(self, ids: Tensor) -> Tensor:
        """ids: int32 or int64 of any shape; returns [*ids.shape, embedding_dim]."""
        places = integers(ids)
        if self.num_embeddings is not None:
            check_ids(places, self.num_embeddings, "ids")
        flat = places.reshape(-1).long().contiguous().cpu().numpy()
        with self._lock:
            found = self._rows(flat) if self.training else self.rows_of(flat)
            rows = torch.from_numpy(found).reshape(places.shape)
            out = rows_looked_up(self.weight, rows)
            if not out.stop_gradient:
                self._asked = [ask for ask in self._asked if ask() is not None]
                self._asked.append(weakref.ref(rows))
        return out if places.device.type == "cpu" else out.to(ids.place)

    def rows_of(self, ids: np.ndarray) -> np.ndarray:
        """The row of each id, -1 where it has none. Makes none. ids: an array [n] of int32 or int64"""
        ids = numbers("ids", ids)
        with self._lock:
            self._rebuild()
            rows = self._table.find(ids)
        if self.padding_idx is not None:
            rows[ids == self.padding_idx] = -1
        return rows

    # --- rows come and go ---

    def _rows(self, ids: np.ndarray) -> np.ndarray:
        self._rebuild()
        self.lookups += 1
        self.growth.moment = self.lookups
        asked = ids if self.padding_idx is None else ids[ids != self.padding_idx]
        if self.admission > 1:
            asked = self._admitted(asked)
        try:
            rows, new = self._table.give(asked)
        except MemoryError:
            if self.eviction is None:
                raise
            self._make_room(asked)
            rows, new = self._table.give(asked)
        if len(new):
            self._begin(asked[new], rows[new])
        if len(asked) != len(ids):
            rows = self.rows_of(ids)
        loops.touch(rows, self.lookups, self._seen, self._last)
        return rows

    def _begin(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self.growth.grow(self._table.rows)
        self.growth.begin(rows)
        self._ids[rows] = ids
        loops.drawn(ids.view(np.uint64), rows, self.seed, self._kind, self._scale, self._weights)

    def _admitted(self, ids: np.ndarray) -> np.ndarray:
        known = self._table.find(ids) >= 0
        others = ids[~known]
        enough = loops.count_up(others.view(np.uint64), self.sketch) >= self.admission
        admitted = known.copy()
        admitted[~known] = np.isin(others, others[enough])
        self.refused += int((~admitted).sum())
        return ids[admitted]

    def _make_room(self, ids: np.ndarray) -> None:
        here = self._table.find(ids)
        distinct = len(np.unique(ids))
        if distinct > self.capacity:
            raise MemoryError(f"capacity: a batch asks for {distinct} ids, more than {self.capacity}")
        needed = len(np.unique(ids[here < 0])) - (self.capacity - len(self._table))
        kept = np.zeros(self.growth.rows, bool)
        kept[here[here >= 0]] = True  # what this batch asks for stays
        gone = self.evict(max(needed, int(self.capacity * EVICTED_SHARE)), kept)
        if gone < needed:
            raise MemoryError(
                f"capacity: a batch needs {needed} rows of others, and {self.capacity - gone} of "
                f"{self.capacity} are its own or have a gradient that is still to come, or to be stepped and "
                "cleared"
            )

    def _awaited(self) -> np.ndarray:
        """Rows whose gradient is still to come, or is here and may yet be stepped."""
        found = [asked for ask in self._asked if (asked := ask()) is not None]
        gradient = rows_of(self.weight._grad)
        if gradient is not None:
            found += [part[0] for part in gradient.parts]
        named = np.concatenate([np.empty(0, np.int64), *(f.numpy().ravel() for f in found)])
        return named[named >= 0]

    def evict(
        self, count: int | None = None, keep: np.ndarray | None = None, max_age: int | None = None
    ) -> int:
        """Take rows away and return how many: the `count` least used ones (by `eviction`, "lru" unless it
        says another), or those that were not seen in the last `max_age` look-ups. keep: rows that stay, as a
        mask; those whose gradient is still to come, or has not been stepped and cleared, stay too."""
        if (count is None) == (max_age is None):
            raise ValueError("evict: expected either count or max_age")
        whole(*(("count", count) if max_age is None else ("max_age", max_age)), 0)
        with self._lock:
            self._rebuild()
            going = self._seen[: self.growth.rows] > 0
            going[self._awaited()] = False
            rows = np.flatnonzero(going if keep is None else going & ~keep)
            if max_age is not None:
                rows = rows[self._last[rows] <= self.lookups - max_age]
            elif count is not None and count < len(rows):
                use = self._seen[rows] if self.eviction == "lfu" else self._last[rows]
                rows = rows[np.argpartition(use, count)[:count]] if count > 0 else rows[:0]
            self._table.remove(self._ids[rows].copy())
            self.free(rows)
            self._weights[rows] = 0
            if self.saved is not None:  # else the next save writes all
                self.removed.append(rows)
            self.evicted += len(rows)
        return len(rows)

    # --- on disk ---

    def save(self, folder: str | Path, whole: bool = False) -> Path:
        """Write what changed since the last save into `folder`; see storage.write."""
        with self._lock:
            return storage.write(self, folder, whole)

    def load(self, folder: str | Path) -> None:
        """Fill this table, which must be empty, from a folder that `save` wrote; see storage.read."""
        with self._lock:
            storage.read(self, folder)
            self._rebuild()

    def rows_seen_since(self, moment: int) -> np.ndarray:
        """Rows that were looked up at `moment` or after it."""
        rows = self.growth.rows
        return np.flatnonzero((self._seen[:rows] > 0) & (self._last[:rows] >= moment))

    def free(self, rows: np.ndarray) -> None:
        """Mark these rows as free."""
        self._seen[rows] = self._last[rows] = 0

    def put(
        self, rows: np.ndarray, ids: np.ndarray, values: np.ndarray, seen: np.ndarray, last: np.ndarray
    ) -> None:
        """Set what rows hold; ids get their rows when they are next asked for."""
        self._ids[rows], self._weights[rows] = ids, values
        self._seen[rows], self._last[rows] = seen, last
        self._forget()

    def take(self, ids: np.ndarray, rows: np.ndarray, seen: np.ndarray, last: np.ndarray) -> None:
        """Set the rows of ids, which get them now if they have none."""
        with self._lock:
            self._rebuild()
            places, new = self._table.give(ids)
            self.growth.grow(self._table.rows)
            self.growth.begin(places[new])
            self.put(places, ids, rows, seen, last)
            self._known = True

    def _forget(self) -> None:
        self._known = False

    def _rebuild(self) -> None:
        """After `ids` was set: each row gets its id again."""
        if self._known:
            return
        rows, live = self.growth.rows, self._seen[: self.growth.rows] > 0
        self._table = IdTable(self.capacity)
        self._table.restore(self._ids[:rows][live], np.flatnonzero(live), np.flatnonzero(~live))
        self.lookups = max(self.lookups, int(self._last[:rows].max(initial=0)))
        self._known = True

    def __reduce__(self) -> tuple[Any, ...]:
        """deepcopy and pickle take the rows that there are, not the memory that is reserved for more."""
        rows = {name: tensor.numpy().copy() for name, tensor in self.state_dict().items()}
        own = ("training", "lookups", "refused", "evicted")
        facts = {name: getattr(self, name) for name in own}
        return _again, (type(self), self._settings, rows, facts, self.weight.stop_gradient)

    # --- what is known of it ---

    def statistics(self, most: int = 10) -> dict[str, Any]:
        """Counts of rows, look-ups and ids turned away; bytes; the share of parameters saved; the ids seen
        most often."""
        rows = self.growth.rows
        seen = self._seen[:rows]
        top = np.argsort(-seen, kind="stable")[:most]
        return {
            "ids": len(self),
            "capacity": self.capacity,
            "bytes": rows * (self._weights[:1].nbytes + 24),
            "lookups": self.lookups,
            "refused": self.refused,
            "evicted": self.evicted,
            "saved": 1.0 - rows / self.num_embeddings if self.num_embeddings else None,
            "most_seen": [(int(self._ids[r]), int(seen[r])) for r in top if seen[r] > 0],
        }

    def extra_repr(self) -> str:
        ids = self.num_embeddings or "any"
        return f"{ids} ids, {self.embedding_dim}, capacity={self.capacity}, rows={len(self)}"


def _again(kind: Any, settings: Any, rows: Any, facts: Any, frozen: bool) -> DynamicEmbedding:
    """A table from what `__reduce__` took."""
    layer: DynamicEmbedding = kind(**settings)
    layer.set_state_dict(rows)
    vars(layer).update(facts)
    layer.weight.stop_gradient = frozen
    return layer
