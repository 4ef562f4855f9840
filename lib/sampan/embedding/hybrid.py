"""A table with a cache for the rows in use and a store for all rows: in host memory, or in a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..engine.backward import is_grad_enabled
from ..engine.tensor import Tensor
from ..kernels import cpu_embedding_cache as cache_loops
from ..kernels import cpu_embedding_hash as hash_loops
from ..kernels.arena import copied, reserved
from ..ops.embedding import rows_at
from ..row_sparse import check_ids
from .arguments import drawing, numbers, size
from .growing import GrowingLayer, GrowingParameter, States
from .operators import integers
from .stores import KINDS, Store
from .undo import STATED, WEIGHTS, Files

MOST_MARKS = 1 << 30


class Backed:
    """The arrays of a table twice: `cache_rows` rows of each in a cache, all rows in a store.

    The weights are the first array, an optimizer's state the others; rows of all of them are fetched and
    evicted together, and an optimizer steps the cache alone. Rows whose gradient is still to come are pinned:
    they are not evicted. A row without a state gets its first one when it is fetched.
    """

    partial = True  # rows that are not cached cannot be stepped: see Optimizer

    def __init__(
        self,
        rows: int,
        cache_rows: int,
        width: int,
        files: Files | None,
        kind: str,
        draw: Callable[..., None],
    ) -> None:
        self.rows, self.cache_rows, self.width, self.files, self._draw = rows, cache_rows, width, files, draw
        self._place_of = reserved((rows,), np.int32)
        self._row_at, self.dirty = np.full(cache_rows, -1, np.int64), np.zeros(cache_rows, bool)
        self._nodes = np.full((cache_rows, 4), -1, np.int32)
        self._ends = np.array([-1, -1, 0], np.int64)
        self._batch, self._mark = 0, 1
        # what the stores have of each row: nothing, WEIGHTS or STATED
        self._stored = (
            reserved((rows,), np.uint8)
            if files is None
            else np.memmap(files.path("stored.bin"), np.uint8, "r+")
        )
        self.states, self.steps = ([], 0) if files is None else (files.states, files.steps)
        self._caches = [
            reserved((cache_rows, width), np.float32, dense=True)
        ]  # the states too, once they are stepped
        self._stores = (
            [Store(rows, width, kind)]
            if files is None
            else [files.store(n) for n in range(1 + len(self.states))]
        )
        self._start: Callable[[torch.Tensor], States] | None = None
        self._stepped = True
        self._lock = threading.Lock()  # serialises row fetches and the creation of a state
        self._broken: BaseException | None = None
        self.hits = self.misses = self.evicted = 0

    @property
    def cached(self) -> np.ndarray:
        """The weights in the cache, by place."""
        return self._caches[0]

    # --- rows come and go ---

    @property
    def pinned(self) -> int:
        """The mark of the places that must not be evicted now; 0 where there are none."""
        return 0 if self._stepped else self._mark

    def pin(self, places: np.ndarray) -> None:
        """Pin these places, whose rows will change, until the optimizer has stepped them."""
        if self._stepped:
            self._mark, self._stepped = self._mark % MOST_MARKS + 1, False
        cache_loops.mark(places, self._nodes, self._mark, self.dirty)

    def fetch(self, rows: np.ndarray, pinned: int) -> np.ndarray:
        """Fetch these rows into the cache beside those with the mark `pinned`, and return their places.

        Raises ValueError where they are more than the cache holds; then nothing has moved."""
        with self._lock:
            self._expect_whole()
            places, came, left, hits, gone = self.ask(rows, pinned)
            try:
                self._swap(came[:, 0].copy(), came[:, 1].copy(), left)
            except BaseException as error:
                self._broken = error  # the index and the content of the cache no longer agree
                raise
            self.hits, self.misses, self.evicted = (
                self.hits + hits,
                self.misses + len(came),
                self.evicted + gone,
            )
        return places

    def _expect_whole(self) -> None:
        if self._broken is not None:
            raise RuntimeError("a previous transfer of rows failed; make the table again") from self._broken

    def _swap(self, new: np.ndarray, where: np.ndarray, left: np.ndarray) -> None:
        """Evict rows, and put others in their places."""
        self._put_back(left, where)
        known, stated = self._stored[new] >= WEIGHTS, self._stored[new] == STATED
        self._stores[0].read(new[known], self.cached, where[known])
        self._draw(new[~known], where[~known], self.cached)
        self._read_states(new[stated], where[stated])
        self._begin(where[~stated])
        self.dirty[where] = False

    def _read_states(self, rows: np.ndarray, places: np.ndarray) -> None:
        for here, store in zip(self._caches[1:], self._stores[1:], strict=False):
            store.read(rows, here, places)

    def ask(self, rows: np.ndarray, pinned: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, int]:
        """Which place each row gets: (places; for each row to fetch, itself and its place; the row that had
        that place before, or -1; how many were cached; how many are evicted). No row has moved yet."""
        places, came, left = (
            np.empty(rows.size, np.int64),
            np.empty((rows.size, 2), np.int64),
            np.empty(rows.size, np.int64),
        )
        self._batch = self._batch % MOST_MARKS + 1
        count, gone, hits = cache_loops.ask(
            rows,
            self._place_of,
            self._row_at,
            self._nodes,
            self._ends,
            self._batch,
            pinned,
            places,
            came,
            left,
        )
        if count < 0:
            beside = (
                self._row_at[(self._nodes[:, cache_loops.KEPT] == pinned) & (self._row_at >= 0)]
                if pinned
                else rows[:0]
            )
            raise ValueError(
                f"ids: expected at most {self.cache_rows} different ones between two steps, as the cache "
                f"holds, got {len(np.unique(np.concatenate([beside, rows])))}"
            )
        return places, came[:count], left[:count], hits, gone

    def values(self, rows: np.ndarray) -> np.ndarray:
        """The present values of some rows, cached or not; none moves."""
        found = np.empty((len(rows), self.width), np.float32)
        places, each = self._place_of[rows] - 1, np.arange(len(rows))
        here, known = places >= 0, self._stored[rows] > 0
        cache_loops.copy_rows(found, each[here], self.cached, places[here].astype(np.int64))
        self._stores[0].read(rows[~here & known], found, each[~here & known])
        self._draw(rows[~here & ~known], each[~here & ~known], found)
        return found

    def _put_back(self, rows: np.ndarray, places: np.ndarray) -> None:
        """Write changed rows of the cache into the store. rows: -1 for none."""
        chosen = (rows >= 0) & self.dirty[places]
        rows, places = rows[chosen], places[chosen]
        if not len(rows):
            return
        if self.files is not None:
            self.files.note(rows, self._stored, self._stores)
        for here, store in zip(self._caches, self._stores, strict=False):
            store.write(rows, here, places)
        self._stored[rows] = STATED if len(self._caches) > 1 else np.maximum(self._stored[rows], WEIGHTS)

    def _used(self) -> np.ndarray:
        """The places that have a row."""
        return np.flatnonzero(self._row_at >= 0)

    def flush(self) -> None:
        """Write every changed row into the store, and onto the disk where that is a file; then it counts, see
        undo."""
        with self._lock:
            self._expect_whole()
            used = self._used()
            self._put_back(self._row_at[used], used)
            # Pinned rows are stepped after this.
            self.dirty[used] = (self._nodes[used, cache_loops.KEPT] == self._mark) & (not self._stepped)
            if isinstance(self._stored, np.memmap):
                self._stored.flush()
            for store in self._stores:
                store.flush()
            if self.files is not None:
                self.files.commit(self.states, self.steps)

    # --- an optimizer's state ---

    def state(self, slot: Any, optimizer: Any, rests: bool) -> None:
        """Give a slot the state of the cached rows: `optimizer` is about to step it; see Growth. The table
        counts the steps."""
        names = list(optimizer.state_names)
        if self.states and names != self.states:
            raise TypeError(
                f"{type(optimizer).__name__}: the rows of this table have the state {', '.join(self.states)} "
                f"of the rule that stepped them; expected one with the same, got {', '.join(names) or 'none'}"
            )
        if names:
            if len(self._caches) == 1:
                with self._lock:
                    self._start = optimizer.start
                    self._first_state(names)
            # Without the lock: a step must not wait for rows that are fetched for the next one.
            self._start = optimizer.start
            self.steps += 1
            slot.steps = self.steps
        self._stepped = True
        slot.state = tuple(torch.from_numpy(here) for here in self._caches[1:])

    def _first_state(self, names: list[str]) -> None:
        """Make room for a state, and read or begin it for the cached rows."""
        if not self.states:
            if self.files is not None:
                self.files.begin()
                self._stores += [self.files.store(1 + number) for number in range(len(names))]
            else:
                self._stores += [Store(self.rows, self.width) for _ in names]
        self.states = names
        self._caches += [reserved((self.cache_rows, self.width), np.float32, dense=True) for _ in names]
        used = self._used()
        stated = self._stored[self._row_at[used]] == STATED
        self._read_states(self._row_at[used[stated]], used[stated])
        self._begin(used[~stated])

    def grow(self, rows: int) -> None:
        raise TypeError(
            "weight: the cached rows are not a checkpoint of the table; flush() and open `path` again, or "
            "export_table"
        )

    def _begin(self, places: np.ndarray) -> None:
        if self._start is not None and len(places):
            begun = self._start(torch.from_numpy(self.cached[places]))
            for here, values in zip(self._caches[1:], begun, strict=True):
                here[places] = values.numpy()


class HybridEmbedding(GrowingLayer):
    """A table [num_embeddings, embedding_dim] of which `cache_rows` rows are cached; the least recently used
    are evicted.

    The rest is in host memory, taken as it is first written, or under `path` in memory-mapped files, which
    another HybridEmbedding continues from. Rows are fetched with their optimizer's state. `prefetch(ids)`
    fetches the next batch on a thread of its own while this one is computed. store: the dtype of the stored
    weights, float32, float16, bfloat16 or int8 with a scale for each row; in the cache, and in sums, they
    are float32. Rules that leave rows without a gradient alone step it: SGD, Adagrad, Ftrl, Adam and AdamW
    with lazy_mode; others raise TypeError, and so does one with another state than the rule before it.
    initializer, seed: as of DynamicEmbedding. drawn_as: the ids whose values rows begin with, int64 [n] to
    [n], where the table has a part of another's rows under other numbers.

    path: a table that opens the files finds the rows, their state and the number of steps (for Adam's bias
    correction) as of the last `flush`, also after a kill at any moment: later changes are undone. For that, a
    row that is overwritten for the first time since a flush is copied, so the files grow to at most twice the
    table until the next one. A power cut may leave rows of several moments, but not if it comes between a
    flush and the next change. One at a time writes: opening raises ValueError while another has not flushed,
    for another table's folder, and for files missing or not of their size. Several threads of training, and a
    checkpoint by `state_dict`, which has the cached rows alone, are not supported.

    Raises ValueError where the batches between two steps, and one that is prefetched, name more rows than the
    cache holds.
    """

    weight: GrowingParameter

    def __init__(
        self,
        num_embeddings: float,
        embedding_dim: float,
        cache_rows: float,
        path: str | Path | None = None,
        *,
        store: str = "float32",
        initializer: tuple[str, float] = ("normal", 0.01),
        seed: int = 0,
        drawn_as: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        super().__init__()
        num_embeddings, embedding_dim = (
            size("num_embeddings", num_embeddings),
            size("embedding_dim", embedding_dim),
        )
        cache_rows = size("cache_rows", cache_rows)
        initializer, seed = drawing(initializer, seed)
        if store not in KINDS:
            raise ValueError(f"store: expected one of {', '.join(KINDS)}, got {store!r}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.cache_rows = min(cache_rows, num_embeddings)
        files = None
        if path is not None:
            facts = {
                "rows": num_embeddings,
                "width": embedding_dim,
                "initializer": list(initializer),
                "seed": seed,
            }
            files = Files(Path(path), {**facts, "store": store})

        def draw(rows: np.ndarray, places: np.ndarray, out: np.ndarray) -> None:
            rows = rows if drawn_as is None else drawn_as(rows)
            hash_loops.drawn(
                rows.view(np.uint64), places, seed, initializer[0], initializer[1], out, alone=True
            )

        self._rows = Backed(num_embeddings, self.cache_rows, embedding_dim, files, store, draw)
        self.weight = GrowingParameter(torch.from_numpy(self._rows.cached))
        self.weight.growth = self._rows  # type: ignore[assignment]  # Backed has the same methods
        self._coming: tuple[np.ndarray, threading.Thread, list[Any]] | None = None

    def forward(self, ids: Tensor) -> Tensor:
        """ids: int32 or int64 of any shape, from 0 to below num_embeddings; returns [*ids.shape,
        embedding_dim].

        Raises TypeError for anything else and ValueError for ids outside."""
        flat = self._checked(integers(ids))
        ready = self._arrived()
        if ready is not None and np.array_equal(ready[0], flat):
            places = ready[1]
        else:
            places = self._rows.fetch(flat, self._rows.pinned)
        if self.training and is_grad_enabled() and not self.weight.stop_gradient:
            self._rows.pin(places)
        at = Tensor(torch.from_numpy(places).reshape(ids.data.shape))
        out = rows_at(at, self.weight, -1, False, True)
        return out if ids.data.device.type == "cpu" else out.to(ids.place)

    def prefetch(self, ids: Tensor) -> None:
        """Begin to fetch the rows of the next batch, beside those of the present one; the next call is to ask
        for them.

        Where the cache cannot hold both, nothing is fetched, and the next call fetches its own."""
        flat = self._checked(integers(ids))
        self._arrived()
        pinned = self._rows.pinned
        result: list[Any] = []

        def run() -> None:
            try:
                result.append(self._rows.fetch(flat, pinned))
            except BaseException as error:  # raised where the rows are asked for
                result.append(error)

        thread = threading.Thread(target=run, name="prefetch", daemon=True)
        self._coming = (flat, thread, result)
        thread.start()

    def _arrived(self) -> tuple[np.ndarray, np.ndarray] | None:
        """What was prefetched: ids and places."""
        if self._coming is None:
            return None
        flat, thread, result = self._coming
        thread.join()
        self._coming = None
        if isinstance(result[0], ValueError):  # too many: by now there may be room
            return None
        if isinstance(result[0], BaseException):
            raise result[0]
        return flat, result[0]

    def _checked(self, places: torch.Tensor) -> np.ndarray:
        # A copy: `prefetch` reads it on a thread of its own, while the caller may overwrite what it passed
        # in.
        flat: np.ndarray = copied(places.reshape(-1), torch.int64, torch.device("cpu")).numpy()
        if flat.size and not 0 <= flat.min() <= flat.max() < self.num_embeddings:
            check_ids(places, self.num_embeddings, "ids")
        return flat

    @property
    def notes(self) -> dict[str, Any]:
        """What the program notes, for JSON: saved by `flush`, read when the files are opened."""
        return {} if self._rows.files is None else self._rows.files.notes

    @notes.setter
    def notes(self, notes: dict[str, Any]) -> None:
        if self._rows.files is not None:
            self._rows.files.notes = notes

    def flush(self) -> None:
        """Write every row that changed into the store; in files it counts from then on. Raises OSError for a
        full disk."""
        self._arrived()
        self._rows.flush()

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The present values of some rows, cached or not. ids: int32 or int64, an array [n]; [n,
        embedding_dim]"""
        flat = self._checked(torch.from_numpy(numbers("ids", ids)))
        self._arrived()
        return self._rows.values(flat)

    def statistics(self) -> dict[str, float]:
        """Look-ups whose row was cached (hits), and was not (misses), rows evicted; the share of hits."""
        self._arrived()
        asked = self._rows.hits + self._rows.misses
        return {
            "hits": self._rows.hits,
            "misses": self._rows.misses,
            "evicted": self._rows.evicted,
            "hit_rate": self._rows.hits / asked if asked else 0.0,
        }

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, cache_rows={self.cache_rows}"
