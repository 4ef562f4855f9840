"""Where the entries of a sparse tensor are. A pattern never changes, so what is derived from it is made once
and kept: its transpose, the parts in which threads work on it, the row of each entry.

Its index arrays are as the kernels of its device take them: NumPy's on the CPU, buffers on a GPU."""

import math
import weakref
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..kernels import sparse as kernels
from ..kernels.device import array, buffer, empty

Array = Any  # a NumPy array, or a buffer on a GPU
MOST_COLUMNS = 2**31 - 1  # of compressed rows, which have int32
MOST_PLACES = 2**63 - 1  # of a tensor: its places are numbered in int64


def _int32(values: Array) -> Array:
    return (
        values.int().contiguous()
        if isinstance(values, torch.Tensor)
        else np.ascontiguousarray(values, np.int32)
    )


class Rows:
    """A matrix's entries row by row, as the kernels read them: int32 `crows` [rows + 1] and `cols` [entries].

    Within a row the columns ascend, and none occurs twice. Raises ValueError where int32 cannot count columns
    or entries.
    """

    def __init__(self, crows: Array, cols: Array, shape: tuple[int, int]) -> None:
        if shape[1] > MOST_COLUMNS or len(cols) > MOST_COLUMNS:
            raise ValueError(
                f"compressed rows: expected at most {MOST_COLUMNS} columns (those of a batch behind one "
                f"another) and as many entries, got {shape[1]} and {len(cols)}"
            )
        self.crows, self.cols, self.shape = _int32(crows), _int32(cols), shape

    @property
    def nnz(self) -> int:
        return len(self.cols)

    @property
    def device(self) -> torch.device:
        return buffer(self.cols).device

    def on(self, device: torch.device) -> "Rows":
        """The same entries, where values on `device` need them. The copy is kept."""
        here = self.device
        if here == device:
            return self
        known: dict[torch.device, Rows] = self.__dict__.setdefault("copies", {})
        if device not in known:
            crows, cols = (array(buffer(part).to(device)) for part in (self.crows, self.cols))
            known[device] = Rows(crows, cols, self.shape)
            known[device].__dict__["copies"] = {here: self}
        return known[device]

    @cached_property
    def cuts(self) -> Array:
        return kernels.cuts(self.crows)

    @cached_property
    def rows(self) -> Array:
        """The row of each entry."""
        rows = empty(self.nnz, self.cols)
        kernels.rows_of(self.crows, rows)
        return rows

    @cached_property
    def turned(self) -> tuple["Rows", torch.Tensor]:
        """The transpose, and for each of its entries the place of that entry here."""
        crows, cols = empty(self.shape[1] + 1, self.crows), empty(self.nnz, self.cols)
        found = empty(self.nnz, self.cols)
        kernels.transpose(self.crows, self.cols, self.shape[1], crows, cols, found)
        back, order = Rows(crows, cols, self.shape[::-1]), buffer(found)
        places = torch.empty_like(order)
        places[order] = torch.arange(len(order), dtype=order.dtype, device=order.device)
        back.__dict__["turned"] = (self, places)
        return back, order

    def times(self, other: "Rows") -> "Rows":
        """Where the product with another matrix has entries; the last such pattern is kept."""
        kept, product = self.__dict__.get("product", (None, None))
        if kept is None or kept() is not other:
            crows, cols = kernels.spgemm_columns(
                (self.crows, self.cols), (other.crows, other.cols), other.shape[1]
            )
            product = Rows(crows, cols, (self.shape[0], other.shape[1]))
            self.__dict__["product"] = weakref.ref(other), product
        return product


Segments = tuple[Array, Array]  # which entries make one: see kernels.grouped


def _starts(rows: Array, height: int) -> Array:
    """Where each row begins among ascending `rows`, and where the last ends."""
    numbers = buffer(rows)
    return array(
        torch.searchsorted(numbers, torch.arange(height + 1, dtype=numbers.dtype, device=numbers.device))
    )


def sorted_rows(rows: Array, cols: Array, shape: tuple[int, int]) -> tuple[Rows, Segments | None]:
    """The entries (row, column) in any order, also repeated, as `Rows`; and which make each, None if
    unchanged."""
    if kernels.ascending(rows, cols):
        return Rows(_starts(rows, shape[0]), cols, shape), None
    crows, unique, segments = kernels.grouped(rows, cols, shape[0])
    return Rows(crows, unique, shape), segments


class Coo:
    """Coordinates: `indices` [axes, entries] over the sparse axes, of lengths `shape`, in any order, perhaps
    repeated.

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
        if not 0 <= max(math.prod(shape), *shape, 0) <= MOST_PLACES:
            raise ValueError(
                f"shape: expected at most 2^63 - 1 places along the sparse axes, got {list(shape)}"
            )
        self.shape, self.coalesced, self.kind = shape, coalesced or rows is not None, kind
        if indices is not None:
            self.indices, self.kind = indices, indices.dtype
        if rows is not None:
            self.by_rows = rows

    @staticmethod
    def ordered(indices: torch.Tensor, shape: tuple[int, ...]) -> "Coo | None":
        """The pattern of a matrix on the CPU whose places ascend, each once, and lie inside; None where they
        do not.

        One pass checks them and makes the rows that products read; `indices` may be overwritten meanwhile and
        afterwards.
        """
        count = indices.shape[1]
        small = (
            len(shape) == 2 and max(*shape, count) <= MOST_COLUMNS and shape[0] <= max(4 * count, 1_000_000)
        )
        if not small or indices.device.type != "cpu":
            return None
        crows, cols = empty(shape[0] + 1, None, "int32"), empty(count, None, "int32")
        places = array(indices)
        if not kernels.compressed(places[0], places[1], shape[1], crows, cols):
            return None
        # Shape is a pair here.
        made = Coo(None, shape, rows=Rows(crows, cols, shape), kind=indices.dtype)  # type: ignore[arg-type]
        once = Coo(None, shape, rows=made.by_rows, kind=indices.dtype)
        made.coalesced, made.grouped = False, (once, None)  # as Paddle says of what a caller passed in
        return made

    @cached_property
    def indices(self) -> torch.Tensor:
        rows = self.by_rows
        *lead, height, columns = (1, *self.shape) if len(self.shape) == 1 else self.shape
        row, cols = buffer(rows.rows), buffer(rows.cols)
        if math.prod(lead) > 1:
            row = row.long()
            cols = cols - row // max(height, 1) * columns
        apart = torch.unravel_index(row, (*lead, height)) if lead and len(row) else [row] * (len(lead) + 1)
        return torch.stack([part.to(self.kind) for part in (*apart, cols)])[-len(self.shape) :]

    @property
    def nnz(self) -> int:
        return self.by_rows.nnz if "by_rows" in self.__dict__ else int(self.indices.shape[1])

    @property
    def device(self) -> torch.device:
        return self.by_rows.device if "by_rows" in self.__dict__ else self.indices.device

    def on(self, device: torch.device) -> "Coo":
        """The same entries, where values on `device` need them."""
        if self.device == device:
            return self
        indices, rows = self.__dict__.get("indices"), self.__dict__.get("by_rows")
        return Coo(
            None if indices is None else indices.to(device),
            self.shape,
            self.coalesced,
            None if rows is None else rows.on(device),
            self.kind,
        )

    @cached_property
    def flat(self) -> torch.Tensor:
        """The position of each entry in the flattened array, int64."""
        flat = torch.zeros(self.nnz, dtype=torch.int64, device=self.indices.device)
        for axis, length in enumerate(self.shape):
            flat = flat * length + self.indices[axis]
        return flat

    def as_coo(self) -> "Coo":
        return self

    def ascends(self) -> bool:
        """Whether the entries are in lexicographic order, each place once."""
        return bool((self.flat[1:] > self.flat[:-1]).all())

    def fits_rows(self) -> bool:
        """Whether int32 counts the columns, and there is room for a pointer to each row."""
        *lead, columns = self.shape
        height = math.prod(lead)
        return max(height, columns) <= MOST_COLUMNS and height <= max(4 * self.nnz, 1_000_000)

    @cached_property
    def grouped(self) -> tuple["Coo", Segments | None]:
        """The pattern in lexicographic order without repeats, and which entries make each (None:
        unchanged)."""
        if self.coalesced:
            return self, None
        *lead, columns = self.shape
        if self.fits_rows():
            row = (
                self.flat // max(columns, 1)
                if len(lead) > 1
                else self.indices[0]
                if lead
                else self.indices[0] * 0
            )
            rows, segments = sorted_rows(array(row), array(self.indices[-1]), (math.prod(lead), columns))
            if len(lead) < 2:
                unique = Coo(None, self.shape, rows=rows, kind=self.kind)
            else:
                unique = self.at(buffer(rows.rows).long() * columns + buffer(rows.cols))
        else:  # more rows than there is room for: sort the positions themselves
            flat, order = self.flat.sort(stable=True)
            flat, counts = flat.unique_consecutive(return_counts=True)
            starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
            unique, segments = self.at(flat), (_int32(array(starts)), _int32(array(order)))
        return unique, segments

    def at(self, flat: torch.Tensor) -> "Coo":
        """Ascending positions in the flattened array as coordinates."""
        places = torch.unravel_index(flat, self.shape) if len(flat) else [flat] * len(self.shape)
        made = Coo(torch.stack(list(places)).to(self.kind), self.shape, True)
        made.flat = flat
        return made

    @cached_property
    def by_rows(self) -> Rows:
        """The entries of a coalesced pattern by rows: the last axis in columns, each batch a block of its
        own."""
        assert self.coalesced
        *lead, height, columns = (1, *self.shape) if len(self.shape) == 1 else self.shape
        batch = math.prod(lead)
        row = self.flat // max(columns, 1)
        cols = self.indices[-1] + row // max(height, 1) * columns * (batch > 1)
        return Rows(_starts(array(row), batch * height), array(cols), (batch * height, batch * columns))


class Csr:
    """Compressed rows: `crows` [rows + 1] and `cols` [entries]; with a leading batch axis, one after the
    other.

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

    @property
    def device(self) -> torch.device:
        return self.by_rows.device if "by_rows" in self.__dict__ else self.cols.device

    def on(self, device: torch.device) -> "Csr":
        """The same entries, where values on `device` need them."""
        if self.device == device:
            return self
        parts, rows = self.__dict__.get("parts"), self.__dict__.get("by_rows")
        return Csr(
            None if parts is None else (parts[0].to(device), parts[1].to(device)),
            self.shape,
            None if rows is None else rows.on(device),
            self.kind,
        )

    def as_coo(self) -> Coo:
        """The same entries by coordinates."""
        return Coo(None, self.shape, rows=self.by_rows, kind=self.kind)

    @cached_property
    def parts(self) -> tuple[torch.Tensor, torch.Tensor]:
        rows = self.by_rows
        *lead, height, columns = self.shape
        batch = math.prod(lead)
        crows, cols = buffer(rows.crows), buffer(rows.cols)
        if batch != 1:
            blocks = torch.arange(batch, device=crows.device)[:, None] * height
            starts = crows[blocks + torch.arange(height + 1, device=crows.device)]
            crows = (starts - starts[:, :1]).flatten()
            cols = cols - buffer(rows.rows) // max(height, 1) * columns
        return crows.to(self.kind), cols.to(self.kind)

    @cached_property
    def by_rows(self) -> Rows:
        *lead, height, columns = self.shape
        batch = math.prod(lead)
        if batch == 1:
            return Rows(array(self.crows), array(self.cols), (height, columns))
        counts = self.crows.reshape(batch, height + 1).diff(dim=1)
        blocks = torch.arange(batch, device=counts.device).repeat_interleave(counts.sum(1))
        crows = torch.cat([counts.new_zeros(1), counts.flatten().cumsum(0)])
        cols = self.cols + blocks * columns
        return Rows(array(crows), array(cols), (batch * height, batch * columns))
