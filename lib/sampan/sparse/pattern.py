"""Where the entries of a sparse tensor are. A pattern never changes, so what is derived from it is made once and kept:
its transpose, the parts in which threads work on it, the row of each entry."""

import math
from functools import cached_property

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


Segments = tuple[np.ndarray, np.ndarray]  # which entries make one: see kernels.sparse.grouped


def sorted_rows(rows: np.ndarray, cols: np.ndarray, shape: tuple[int, int]) -> tuple[Rows, Segments | None]:
    """The entries (row, column) in any order, also repeated, as `Rows`; and which make each, None if unchanged."""
    if kernels.sparse.ascending(rows, cols):
        return Rows(np.searchsorted(rows, np.arange(shape[0] + 1)), cols, shape), None
    crows, unique, segments = kernels.sparse.grouped(rows, cols, shape[0])
    return Rows(crows, unique, shape), segments


class Coo:
    """Coordinates: `indices` [axes, entries] over the sparse axes, of lengths `shape`, in any order, perhaps repeated.

    Made from `rows` instead, coalesced, it works its indices out when they are asked for.
    """

    layout = "coo"

    def __init__(
        self,
        indices: torch.Tensor | None,
        shape: tuple[int, ...],
        coalesced: bool = False,
        rows: Rows | None = None,
        kind: torch.dtype = torch.int64,
    ) -> None:
        self.shape, self.coalesced, self.kind = shape, coalesced or rows is not None, kind
        if indices is not None:
            self.indices, self.kind = indices, indices.dtype
        if rows is not None:
            self.by_rows = rows

    @cached_property
    def indices(self) -> torch.Tensor:
        rows = self.by_rows
        *lead, height, columns = (1, *self.shape) if len(self.shape) == 1 else self.shape
        row, cols = rows.rows, rows.cols
        if math.prod(lead) > 1:
            row = row.astype(np.int64)
            cols = cols - row // max(height, 1) * columns
        places = [
            *(np.unravel_index(row, (*lead, height)) if lead and row.size else [row] * (len(lead) + 1)),
            cols,
        ]
        made = torch.from_numpy(np.stack(places).astype(np.int64 if self.kind is torch.int64 else np.int32))
        return made[-len(self.shape) :]

    @property
    def nnz(self) -> int:
        return self.by_rows.nnz if "by_rows" in self.__dict__ else int(self.indices.shape[1])

    @cached_property
    def flat(self) -> torch.Tensor:
        """The position of each entry in the flattened array, int64."""
        flat = torch.zeros(self.nnz, dtype=torch.int64, device=self.indices.device)
        for axis, length in enumerate(self.shape):
            flat = flat * length + self.indices[axis]
        return flat

    @cached_property
    def grouped(self) -> tuple["Coo", Segments | None]:
        """The pattern in lexicographic order without repeats, and which entries make each (None: unchanged)."""
        if self.coalesced:
            return self, None
        *lead, columns = self.shape
        height = math.prod(lead)
        if max(height, columns) < 2**31 and height <= max(4 * self.nnz, 1_000_000):
            row = (
                self.flat // max(columns, 1)
                if len(lead) > 1
                else self.indices[0]
                if lead
                else self.indices[0] * 0
            )
            rows, segments = sorted_rows(row.numpy(), self.indices[-1].numpy(), (height, columns))
            if len(lead) < 2:
                unique = Coo(None, self.shape, rows=rows, kind=self.kind)
            else:
                places = np.unravel_index(rows.rows.astype(np.int64) * columns + rows.cols, self.shape)
                unique = Coo(torch.from_numpy(np.stack(places)).to(self.kind), self.shape, True)
        else:  # more rows than there is room for: sort the positions themselves
            flat = self.flat.numpy()
            order = np.argsort(flat, kind="stable")
            first = np.flatnonzero(np.r_[True, flat[order][1:] != flat[order][:-1]][: flat.size])
            segments = np.append(first, flat.size), order
            unique = Coo(
                torch.from_numpy(np.stack(np.unravel_index(flat[order][first], self.shape))).to(self.kind),
                self.shape,
                True,
            )
        return unique, segments

    @cached_property
    def by_rows(self) -> Rows:
        """The entries of a coalesced pattern by rows: the last axis in columns, each batch a block of its own."""
        assert self.coalesced
        *lead, height, columns = (1, *self.shape) if len(self.shape) == 1 else self.shape
        batch = math.prod(lead)
        row = (self.flat // max(columns, 1)).numpy()
        crows = np.searchsorted(row, np.arange(batch * height + 1))
        cols = self.indices[-1].numpy() + row // max(height, 1) * columns * (batch > 1)
        return Rows(crows, cols, (batch * height, batch * columns))


class Csr:
    """Compressed rows: `crows` [rows + 1] and `cols` [entries]; with a leading batch axis, one after the other.

    Made from `rows` instead, it works them out when they are asked for.
    """

    layout = "csr"
    coalesced = True

    def __init__(
        self,
        parts: tuple[torch.Tensor, torch.Tensor] | None,
        shape: tuple[int, ...],
        rows: Rows | None = None,
        kind: torch.dtype = torch.int64,
    ) -> None:
        self.shape, self.kind = shape, kind
        if parts is not None:
            self.parts, self.kind = parts, parts[1].dtype
        if rows is not None:
            self.by_rows = rows

    @property
    def crows(self) -> torch.Tensor:
        return self.parts[0]

    @property
    def cols(self) -> torch.Tensor:
        return self.parts[1]

    @property
    def nnz(self) -> int:
        return self.by_rows.nnz

    @cached_property
    def parts(self) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.by_rows
        *lead, height, columns = self.shape
        batch = math.prod(lead)
        crows, cols = rows.crows, rows.cols
        if batch != 1:
            starts = crows[np.arange(batch)[:, None] * height + np.arange(height + 1)]
            crows = (starts - starts[:, :1]).ravel()
            cols = cols - rows.rows // max(height, 1) * columns
        return torch.from_numpy(crows).to(self.kind), torch.from_numpy(cols).to(self.kind)

    @cached_property
    def by_rows(self) -> Rows:
        *lead, height, columns = self.shape
        batch = math.prod(lead)
        if batch == 1:
            return Rows(self.crows.numpy(), self.cols.numpy(), (height, columns))
        counts = np.diff(self.crows.numpy().reshape(batch, height + 1), axis=1).ravel()
        block = np.repeat(np.arange(batch), counts.reshape(batch, height).sum(1))
        crows = np.concatenate([[0], np.cumsum(counts)])
        return Rows(crows, self.cols.numpy() + block * columns, (batch * height, batch * columns))
