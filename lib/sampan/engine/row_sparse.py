"""The gradient of a table of which a batch read only some rows: those rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..dtype import DTYPES, DataType, Place, Size, as_dtype, name_of
from ..kernels import embedding as loops
from ..kernels.arena import LENT_FROM, copied
from ..kernels.cpu_embedding import all_inside
from ..kernels.device import array, buffer
from .tensor import Refused, Tensor, WrongKind

_LOOPS = (torch.float32, torch.float64)
Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]


class RowSparse(Tensor):
    """A gradient [count, d] that is zero but for the rows which a batch named: `ids`, and a row for each.

    This is what `table.grad` is after a backward through an embedding. An optimizer steps those rows alone
    and never builds the rest; several backward passes add up; clipping by a norm gives what it gives for the
    dense array. For
    everything else it is a Tensor like any: who reads its values (`data`, `numpy()`, an operator) gets the
    dense array, made then, and kept instead of the rows. A step afterwards takes from it the rows that were
    named and those that somebody has made other than zero, so that reading changes nothing.

    parts: (ids [n] int64, rows [m, d], which [n] or None, scale [n] or None); the gradient of occurrence i is
    scale[i] * rows[which[i]], and belongs to row ids[i]. Ids may repeat; -1 belongs to none. merged: in the
    one part none does, rows are as `coalesced` gives them. count: how many were named, as `repr` tells;
    unless given, those of the parts.
    """

    __slots__ = ("_count", "_dense", "_named", "_shape", "_sums", "merged", "parts")

    parts: list[Part]

    def __init__(
        self, parts: Sequence[Part], shape: Sequence[int], merged: bool = False, count: int | None = None
    ) -> None:
        self.parts, self._shape, self.merged, self._count = list(parts), torch.Size(shape), merged, count
        self._sums: tuple[torch.Tensor, torch.Tensor] | None = None  # what `sums` gave
        self._dense: torch.Tensor | None = None
        self._named: torch.Tensor | None = None  # rows that had been named before the values were read
        self.stop_gradient, self.node = False, None
        self._grad = self._hooks = self._name = None

    @staticmethod
    def nothing(table: torch.Tensor) -> RowSparse:
        """No row at all, for a table like this one."""
        ids = torch.empty(0, dtype=torch.int64, device=table.device)
        return RowSparse([(ids, table.new_empty((0, *table.shape[1:])), None, None)], table.shape)

    @property
    def is_row_sparse(self) -> bool:
        """False once somebody has read the values."""
        return self._dense is None

    # --- as rows ---

    @property
    def count(self) -> int:
        """How many rows were named, one as often as it was."""
        return sum(len(part[0]) for part in self.parts) if self._count is None else self._count

    def as_rows(self) -> RowSparse:
        """Itself; once its values were read, the rows that were named and those that are not zero now."""
        if self._dense is None:
            return self
        there = self._dense.ne(0).any(1)
        if self._named is not None:
            there[self._named] = True
        ids = there.nonzero().flatten()
        return RowSparse([(ids, self._dense.index_select(0, ids), None, None)], self._shape, merged=True)

    def joined(self) -> Part:
        """All occurrences as one part."""
        rows = self.as_rows()
        if len(rows.parts) > 1:
            wholes = [_plain(part) for part in rows.parts]
            ids, values = (torch.cat(columns) for columns in zip(*wholes, strict=True))
            rows.parts = [(ids, values, None, None)]
        return rows.parts[0]

    def coalesced(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(ids [n], rows [n, d]): each row once, its gradients added up in the order in which they came."""
        kind = self.dtype.torch
        found, *given = self._given(kind if kind in _LOOPS else torch.float32, array)
        ids, rows = buffer(found[0]), buffer(loops.sums(found, *given)).to(kind)
        return (ids.clone(), rows.clone()) if self.merged else (ids, rows)

    def sums(self, keep: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """As `coalesced`, to be read alone: it may be the gradient's own memory. keep: for whoever asks
        next."""
        if self._sums is not None:
            return self._sums
        rows = self.as_rows()
        summed = rows.parts[0][:2] if rows.merged else rows.coalesced()
        if keep and rows is self:
            self._sums = summed
        return summed

    def own_values(self) -> torch.Tensor:
        """The memory that holds its values: what changes all of them there changes the gradient."""
        if self._dense is not None:
            return self._dense
        ids, rows, which, scale = self.joined()
        self.parts = [(ids, rows.clone(memory_format=torch.contiguous_format), which, scale)]
        self._sums = None
        return self.parts[0][1]

    def scaled(self, factor: float) -> RowSparse:
        """`factor` times the gradient."""
        whole = self.as_rows()
        parts = [(ids, rows * factor, which, scale) for ids, rows, which, scale in whole.parts]
        return RowSparse(parts, self._shape, whole.merged, whole._count)

    def replaced(self, rows: torch.Tensor) -> RowSparse:
        """Other rows for the ids of its one part."""
        ((ids, _, which, scale),) = self.parts
        return RowSparse([(ids, rows, which, scale)], self._shape, self.merged, self._count)

    def step(
        self, rule: str, arrays: Sequence[torch.Tensor], numbers: Sequence[float], everywhere: bool
    ) -> None:
        """Apply an optimizer's rule to the table and its state, in place; see kernels.cpu_embedding.step."""
        table = arrays[0].shape
        if any(a.shape != table for a in arrays) or table[0] < self._shape[0] or table[1:] != self._shape[1:]:
            raise ValueError(
                "step: expected a table and its state of one shape, that of the gradient "
                f"{list(self._shape)}, got "
                f"{[list(a.shape) for a in arrays]}"
            )
        kind = arrays[0].dtype
        loop = kind in _LOOPS and all(a.dtype is kind and a.is_contiguous() for a in arrays)
        form = array if loop else _as_it_is  # where there is no loop, torch steps
        given = self._given(kind if kind in _LOOPS else torch.float32, form)
        loops.step(*given, rule, [form(a) for a in arrays], numbers, everywhere)

    def _given(self, kind: torch.dtype, form: Any) -> tuple[Any, Any, Any, Any]:
        """What the kernels take: the ids found, which (empty: each its own), scale (empty: 1), rows of dtype
        `kind`."""
        ids, rows, which, scale = self.joined()
        if which is None:
            which = ids.new_empty(0, dtype=torch.int32)
        factors = rows.new_empty(0, dtype=kind) if scale is None else scale.to(kind).contiguous()
        # which: made here, below the number of rows; the others may be anybody's, from a hook for example
        if len(rows if which.numel() == 0 else which) < len(ids) or 0 < len(factors) < len(ids):
            raise ValueError(
                f"gradient: expected a row for each of {len(ids)} ids, got {len(rows)} rows and "
                f"{len(factors)} factors"
            )
        places = form(ids)
        if self.merged and isinstance(places, np.ndarray):
            check_ids(ids, self._shape[0], "gradient: ids")
            found = places, np.empty(0, np.int32)
        else:
            found = loops.distinct(places, self._shape[0])
        return found, form(which), form(factors), form(rows.to(kind).contiguous())

    # --- as a Tensor ---

    @property
    def data(self) -> torch.Tensor:
        if self._dense is None:
            self._named, rows = self.sums()
            self._dense = rows.new_zeros(self._shape).index_copy_(0, self._named, rows)
            self._forget()
        return self._dense

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        self._dense, self._shape = value, value.shape
        self._forget()

    def _forget(self) -> None:
        """The values are kept in place of the rows."""
        self.parts, self._sums, self.merged = [], None, False

    def added_to(self, dense: torch.Tensor) -> torch.Tensor:
        """`dense` with these rows added, in place."""
        if self._dense is not None:
            return dense.add_(self._dense)
        ids, rows = self.sums()
        return dense.index_add_(0, ids, rows.to(dense.dtype))

    @property
    def shape(self) -> Size:
        return Size(self._shape)

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def dtype(self) -> DataType:
        return DTYPES[(self.parts[0][1] if self._dense is None else self._dense).dtype]

    @property
    def place(self) -> Place:
        return Place(self.parts[0][1].device if self._dense is None else self._dense.device)

    def to(self, *args: Any, **settings: Any) -> Any:
        """As `Tensor.to`; rows stay rows where a dtype alone is asked for."""
        if (
            self._dense is None
            and not settings
            and len(args) == 1
            and isinstance(args[0], torch.dtype | DataType)
        ):
            parts = [
                (ids, rows.to(as_dtype(args[0])), which, scale) for ids, rows, which, scale in self.parts
            ]
            return RowSparse(parts, self._shape, self.merged, self._count)
        return super().to(*args, **settings)

    def owned(self, owners: set[int], first: bool = False) -> RowSparse:
        """The same gradient in memory that nobody else holds; see autograd. The caller's ids may be
        overwritten later.

        first: no other was there before. Then many rows that somebody else holds are added up at once, which
        a step would do anyway, and not copied; those of a gradient that comes later are added to these in
        their order, as ever.
        """
        whole, kept = self.as_rows(), []
        if first and whole.dtype in _LOOPS and (whole._sums or whole._held(owners)):
            ids, rows = whole.sums()
            owners.add(rows.data_ptr())
            return RowSparse([(ids, rows, None, None)], self._shape, True, whole.count)
        for ids, rows, which, scale in whole.parts:
            if rows.data_ptr() in owners:
                rows = copied(rows)
            owners.add(rows.data_ptr())
            kept.append((ids.clone(), rows, which, None if scale is None else scale.clone()))
        return RowSparse(kept, self._shape, whole.merged, whole._count)

    def _held(self, owners: set[int]) -> bool:
        """Whether it is one part of many rows on a CPU that somebody else holds, and nothing but them."""
        _, rows, which, _ = self.parts[0]
        large = len(self.parts) == 1 and not rows.is_cuda and rows.nbytes >= LENT_FROM
        return large and not self.merged and which is None and rows.data_ptr() in owners

    def __deepcopy__(self, memo: dict[int, Any]) -> RowSparse:
        # `coalesced` gives memory of its own, of one part in which no id repeats.
        copied = memo[id(self)] = RowSparse([(*self.coalesced(), None, None)], self._shape, merged=True)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor(self.data, stop_gradient=False).__reduce__()

    def __add__(self, other: Any) -> Any:
        """Rows and rows stay rows; with a buffer of the tape they make a dense buffer."""
        if isinstance(other, RowSparse):
            parts = [*self.as_rows().parts, *other.as_rows().parts]
            count = self.count + other.count
            both = RowSparse(parts, max(self._shape, other._shape), count=count)
            if sum(len(part[0]) for part in parts) > 2 * both._shape[0]:  # many passes: no more than dense
                both.parts, both.merged = [(*both.sums(), None, None)], True
            return both
        if isinstance(other, torch.Tensor):
            return self.added_to(other.clone())
        return super().__add__(other)

    def __radd__(self, other: Any) -> Any:
        return self.__add__(other)

    def __mul__(self, other: Any) -> Any:
        """A number times rows stays rows: hooks scale gradients so."""
        return self.scaled(other) if isinstance(other, int | float) else super().__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __repr__(self) -> str:
        if self._dense is not None:
            return super().__repr__()
        return f"RowSparse(shape={list(self._shape)}, dtype={name_of(self.dtype)}, {self.count} rows named)"


def _as_it_is(buffer: torch.Tensor) -> torch.Tensor:
    return buffer


def _plain(part: Part) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids, and the gradient of each occurrence as a row of its own."""
    ids, rows, which, scale = part
    if which is not None:
        rows = rows.index_select(0, which)
    return ids, rows if scale is None else rows * scale.to(rows.dtype)[:, None]


def check_ids(ids: torch.Tensor, count: int, name: str) -> None:
    """Refuse ids that no table of `count` rows takes: the argument `name`, which one, and where it stands."""
    if ids.dtype not in (torch.int32, torch.int64):
        raise WrongKind(f"{name}: expected int32 or int64, got {name_of(ids.dtype)}") from None
    if not all_inside(ids, count):
        at = ((ids < 0) | (ids >= count)).nonzero()[0].tolist()
        raise Refused(
            f"{name}{at or ''}: expected an id from 0 to {count - 1}, got {int(ids[tuple(at)])}"
        ) from None
