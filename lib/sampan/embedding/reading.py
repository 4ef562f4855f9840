"""The rows of any table by their ids, a block at a time: what exports, searches, serves and watches it is
written once.

Nothing that is read moves a row: a cache keeps what it has, a table that grows makes no row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .. import nn
from ..engine.tape import written
from ..engine.tensor import Tensor
from .bag import EmbeddingBag
from .dynamic import DynamicEmbedding
from .hybrid import HybridEmbedding
from .tables import EmbeddingTables

BLOCK_BYTES = 4 << 20


class Table:
    """`count` rows, `dim` wide. numbered: the ids are 0 to count - 1."""

    count: int
    dim: int
    dtype: np.dtype  # of what is read; bfloat16 is read as float32, which holds it exactly
    numbered = True

    def ids(self, start: int, stop: int) -> np.ndarray:
        """The ids of some rows, int64."""
        return np.arange(start, stop)

    def values(self, ids: np.ndarray) -> np.ndarray:
        """The rows of these ids, [len(ids), dim]; zeros for an id that has none."""
        raise NotImplementedError

    def read(self, start: int, stop: int) -> np.ndarray:
        """Some rows in their order, [stop - start, dim]."""
        return self.values(self.ids(start, stop))

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Set the rows [len(ids), dim] of these ids, which are different ones and known to the table."""
        raise TypeError(f"{type(self).__name__}: it cannot be written to")

    def blocks(self, most: int = 1 << 40) -> Iterator[tuple[int, int]]:
        """(start, stop) of one block of rows after the other, of about BLOCK_BYTES, and at most `most`
        rows."""
        step = max(1, min(most, BLOCK_BYTES // max(1, self.dim * self.dtype.itemsize)))
        for start in range(0, self.count, step):
            yield start, min(start + step, self.count)


class ArrayTable(Table):
    """An array [n, d], which may be memory-mapped, and ids for its rows."""

    def __init__(self, rows: np.ndarray, ids: np.ndarray | None = None) -> None:
        self.rows, self._own = rows, ids
        self.count, self.dim = rows.shape
        self.dtype, self.numbered = rows.dtype, ids is None

    def ids(self, start: int, stop: int) -> np.ndarray:
        return np.arange(start, stop) if self._own is None else np.asarray(self._own[start:stop])

    def read(self, start: int, stop: int) -> np.ndarray:
        return np.ascontiguousarray(self.rows[start:stop])

    def values(self, ids: np.ndarray) -> np.ndarray:
        if self._own is not None:
            raise TypeError("an array with ids is read in its order, not by id")
        return np.asarray(self.rows[ids])


class WeightTable(Table):
    """The weights of a layer that has all rows in one Tensor."""

    def __init__(self, weight: Tensor) -> None:
        self._weight = weight
        self.count, self.dim = weight.shape
        self.dtype = _array(weight.data[:0]).dtype

    def read(self, start: int, stop: int) -> np.ndarray:
        return _array(self._weight.data[start:stop])

    def values(self, ids: np.ndarray) -> np.ndarray:
        return _array(self._weight.data[torch.from_numpy(ids).to(self._weight.data.device)])

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        data = self._weight.data
        data[torch.from_numpy(ids).to(data.device)] = torch.tensor(rows, dtype=data.dtype, device=data.device)
        written(data)


class DynamicTable(Table):
    """The ids that have a row now. New ones join by `put`."""

    numbered = False

    def __init__(self, layer: DynamicEmbedding) -> None:
        self._layer, self._live = layer, layer.rows_seen_since(0)
        self.count, self.dim = len(self._live), layer.embedding_dim
        self.dtype = _array(layer.weight.data[:0]).dtype

    def ids(self, start: int, stop: int) -> np.ndarray:
        return _array(self._layer.ids.data[torch.from_numpy(self._live[start:stop])])

    def values(self, ids: np.ndarray) -> np.ndarray:
        rows = self._layer.rows_of(ids)
        found, there = np.zeros((len(ids), self.dim), self.dtype), rows >= 0
        found[there] = _array(self._layer.weight.data[torch.from_numpy(rows[there])])
        return found

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        layer = self._layer
        if layer.padding_idx is not None:  # this id never has a row
            ids, rows = ids[ids != layer.padding_idx], rows[ids != layer.padding_idx]
        places, seen = layer.rows_of(ids), np.ones(len(ids), np.int64)
        seen[places >= 0] = _array(layer.seen.data[torch.from_numpy(places[places >= 0])])
        layer.lookups += 1  # so that the next save of what changed has them
        layer.take(ids, rows, seen, np.full(len(ids), layer.lookups))
        written(layer.weight.data)


class HybridTable(Table):
    """All rows of a table with a cache."""

    dtype = np.dtype(np.float32)

    def __init__(self, layer: HybridEmbedding) -> None:
        self._layer = layer
        self.count, self.dim = layer.num_embeddings, layer.embedding_dim

    def values(self, ids: np.ndarray) -> np.ndarray:
        self._settled()
        return self._layer._rows.values(np.ascontiguousarray(ids, np.int64))

    def _settled(self) -> None:
        """Wait for a prefetch; its rows stay for the call that asks for them."""
        if self._layer._coming is not None:
            self._layer._coming[1].join()

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self._settled()
        backed = self._layer._rows
        for start in range(0, len(ids), backed.cache_rows):  # through the cache, as a step's rows go
            some = np.ascontiguousarray(ids[start : start + backed.cache_rows], np.int64)
            places = backed.fetch(some, backed.pinned)
            backed.cached[places] = rows[start : start + backed.cache_rows]
            backed.dirty[places] = True
        written(self._layer.weight.data)


def table_of(source: Any, name: str = "source") -> Table:
    """The rows of an embedding layer, or of an array or Tensor [n, d] of floats. TypeError for anything
    else."""
    if isinstance(source, Table):
        return source
    if isinstance(source, DynamicEmbedding):
        return DynamicTable(source)
    if isinstance(source, HybridEmbedding):
        return HybridTable(source)
    if isinstance(source, nn.Embedding | EmbeddingBag | EmbeddingTables):
        return WeightTable(source.weight)
    if isinstance(source, Tensor) and source.ndim == 2 and source.data.is_floating_point():
        return WeightTable(source)
    if isinstance(source, torch.Tensor):
        source = _array(source)
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind == "f":
        return ArrayTable(source)
    shape = f" of shape {list(source.shape)} and dtype {source.dtype}" if hasattr(source, "shape") else ""
    raise TypeError(
        f"{name}: expected Embedding, EmbeddingBag, EmbeddingTables, DynamicEmbedding, HybridEmbedding, or "
        "floats"
        f" [n, d], got {type(source).__name__}{shape}"
    )


def _array(buffer: torch.Tensor) -> np.ndarray:
    buffer = buffer.detach().cpu()
    return (buffer.float() if buffer.dtype is torch.bfloat16 else buffer).numpy()
