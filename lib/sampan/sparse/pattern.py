"""Where the entries of a sparse tensor are. A pattern never changes, so what is derived from it is made once and kept:
its transpose, the parts in which threads work on it, the row of each entry."""

import math
from functools import cached_property
from typing import Any

import numpy as np
import torch

from .. import kernels


class Rows:
    """A matrix's entries row by row, as the kernels read them: int32 `crows` [rows + 1] and `cols` [entries].

    Within a row the columns ascend, and none occurs twice.
    """

    def __init__(self, crows: np.ndarray, cols: np.ndarray, shape: tuple[int, int]) -> None:
        self.crows = np.ascontiguousarray(crows, np.int32)
        self.cols = np.ascontiguousarray(cols, np.int32)
        self.shape = shape

    @property
    def nnz(self) -> int:
        return int(self.cols.size)

    @cached_property
    def cuts(self) -> np.ndarray:
        return kernels.sparse.cuts(self.crows)

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        rows = np.empty(self.nnz, np.int32)
        kernels.sparse.rows_of(self.crows, rows)
        return rows

    @cached_property
    def turned(self) -> tuple["Rows", torch.Tensor]:
        """The transpose, and for each of its entries the place of that entry here."""
        crows, cols = np.empty(self.shape[1] + 1, np.int32), np.empty(self.nnz, np.int32)
        order = np.empty(self.nnz, np.int64)
        kernels.sparse.transpose(self.crows, self.cols, self.shape[1], crows, cols, order)
        back = Rows(crows, cols, self.shape[::-1])
        places = np.empty_like(order)
        places[order] = np.arange(order.size)
        back.__dict__["turned"] = (self, torch.from_numpy(places))
        return back, torch.from_numpy(order)


def sorted_rows(rows: np.ndarray, cols: np.ndarray, shape: tuple[int, int]) -> tuple[Rows, np.ndarray | None]:
    """The entries (row, column) in any order, also repeated, as `Rows`; and the new number of each, None if unchanged."""
    keys = rows.astype(np.int64) * shape[1] + cols
    if keys.size < 2 or bool((keys[1:] > keys[:-1]).all()):
        crows = np.searchsorted(rows, np.arange(shape[0] + 1))
        return Rows(crows, cols, shape), None
    crows, order = np.empty(shape[0] + 1, np.int32), np.empty(rows.size, np.int64)
    kernels.sparse.by_rows(rows, cols, crows, order)
    group, new_crows, new_cols = (
        np.empty(rows.size, np.int64),
        np.empty_like(crows),
        np.empty(rows.size, np.int32),
    )
    count = kernels.sparse.without_repeats(crows, cols, order, group, new_crows, new_cols)
    return Rows(new_crows, new_cols[:count], shape), group


class Coo:
    """Coordinates: `indices` [axes, entries] over the sparse axes, of lengths `shape`, in any order, perhaps repeated."""

    layout = "coo"

    def __init__(self, indices: torch.Tensor, shape: tuple[int, ...], coalesced: bool = False) -> None:
        self.indices, self.shape, self.coalesced = indices, shape, coalesced

    @property
    def nnz(self) -> int:
        return int(self.indices.shape[1])

    @cached_property
    def flat(self) -> torch.Tensor:
        """The position of each entry in the flattened array, int64."""
        flat = torch.zeros(self.nnz, dtype=torch.int64, device=self.indices.device)
        for axis, length in enumerate(self.shape):
            flat = flat * length + self.indices[axis]
        return flat

    @cached_property
    def grouped(self) -> tuple["Coo", torch.Tensor | None]:
        """The pattern in lexicographic order without repeats, and the new number of each entry (None: unchanged)."""
        if self.coalesced:
            return self, None
        if not self.shape:
            unique = Coo(self.indices[:, :1], (), True)
            return unique, None if self.nnz < 2 else torch.zeros(self.nnz, dtype=torch.int64)
        rows, columns = self.shape[0], math.prod(self.shape[1:])
        flat = self.flat.numpy()
        if columns < 2**31 and rows < 2**31:
            found, group = sorted_rows(
                (flat // max(columns, 1)).astype(np.int32),
                (flat % max(columns, 1)).astype(np.int32),
                (rows, columns),
            )
            flat = found.rows.astype(np.int64) * columns + found.cols
        else:
            flat, group = np.unique(flat, return_inverse=True)
        places = (
            np.stack(np.unravel_index(flat, self.shape))
            if flat.size
            else np.empty((len(self.shape), 0), np.int64)
        )
        unique = Coo(torch.from_numpy(places).to(self.indices.dtype), self.shape, True)
        return unique, None if group is None else torch.from_numpy(group)

    @cached_property
    def by_rows(self) -> Rows:
        """The entries of a coalesced pattern by rows: the last axis in columns, each batch a block of its own."""
        assert self.coalesced
        *lead, rows, columns = (1, *self.shape) if len(self.shape) == 1 else self.shape
        batch = math.prod(lead)
        row = (self.flat // max(columns, 1)).numpy()
        crows = np.searchsorted(row, np.arange(batch * rows + 1))
        cols = self.indices[-1].numpy() + row // max(rows, 1) * columns
        return Rows(crows, cols, (batch * rows, batch * columns))

    def to(self, device: torch.device) -> "Coo":
        return Coo(self.indices.to(device), self.shape, self.coalesced)


class Csr:
    """Compressed rows: `crows` [rows + 1] and `cols` [entries]; with a leading batch axis, one after the other."""

    layout = "csr"
    coalesced = True

    def __init__(self, crows: torch.Tensor, cols: torch.Tensor, shape: tuple[int, ...]) -> None:
        self.crows, self.cols, self.shape = crows, cols, shape

    @property
    def nnz(self) -> int:
        return int(self.cols.shape[0])

    @cached_property
    def by_rows(self) -> Rows:
        *lead, rows, columns = self.shape
        batch = math.prod(lead)
        if batch == 1:
            return Rows(self.crows.numpy(), self.cols.numpy(), (rows, columns))
        counts = np.diff(self.crows.numpy().reshape(batch, rows + 1), axis=1).ravel()
        crows = np.concatenate([[0], np.cumsum(counts)])
        block = np.repeat(np.arange(batch), counts.reshape(batch, rows).sum(1))
        return Rows(crows, self.cols.numpy() + block * columns, (batch * rows, batch * columns))


def csr_of(rows: Rows, shape: tuple[int, ...], like: torch.dtype = torch.int64) -> Csr:
    """Rows, in blocks where there is a batch axis, as Paddle's compressed rows of `shape`."""
    *lead, height, columns = shape
    batch = math.prod(lead)
    starts = rows.crows[np.arange(batch)[:, None] * height + np.arange(height + 1)].astype(np.int64)
    crows = (starts - starts[:, :1]).ravel()
    cols = rows.cols.astype(np.int64) - (rows.rows // max(height, 1)).astype(np.int64) * columns * (batch > 1)
    made = Csr(torch.from_numpy(crows).to(like), torch.from_numpy(cols).to(like), shape)
    made.__dict__["by_rows"] = rows
    return made


def coo_of(rows: Rows, shape: tuple[int, ...], like: torch.dtype = torch.int64) -> Coo:
    """Rows, in blocks where there are batch axes, as coordinates."""
    *lead, height, columns = shape
    row = rows.rows.astype(np.int64)
    cols = rows.cols.astype(np.int64) - row // max(height, 1) * columns * (math.prod(lead) > 1)
    places = [*(np.unravel_index(row, (*lead, height)) if row.size else [row] * (len(lead) + 1)), cols]
    made = Coo(torch.from_numpy(np.stack(places)).to(like), shape, True)
    made.__dict__["by_rows"] = rows
    return made


Pattern: Any = Coo | Csr
