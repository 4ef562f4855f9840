"""The gradient of a table of which a batch read only some rows: those rows alone.

Paddle calls such a gradient SelectedRows, torch a sparse gradient. A `RowGradient` is what backward carries,
what a leaf keeps and what an optimizer steps (`step_rows`). Programs see a Tensor, `RowSparse`, which is made
when they ask for `table.grad`, in hooks, and by `grad`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .dtype import DTYPES, DataType, Place, Size, as_dtype, name_of
from .engine.tensor import InvalidArgument, InvalidType, Tensor
from .kernels import embedding as kernels
from .kernels.arena import LENT_FROM, copied
from .kernels.cpu_embedding import all_inside
from .kernels.device import arrays, buffer

_LOOPS = (torch.float32, torch.float64)  # dtypes that the kernels of rows take
Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor | None, torch.Tensor | None]


class RowGradient:
    """A gradient [count, d] that is zero but for the rows which a batch named: `ids`, and a row for each.

    To the engine it is a gradient that is no buffer: `+` adds it to another, `onto` gives it to a leaf, and
    `tensor` shows it to a program.

    parts: (ids [n] int64, rows [m, d], which [n] or None, scale [n] or None); the gradient of occurrence i is
    scale[i] * rows[which[i]], and belongs to row ids[i]. Ids may repeat; -1 belongs to none. merged: there is
    one part, in which no id repeats and rows are as `coalesced` gives them. count: how many were named, as
    `repr` tells; unless given, those of the parts.
    """

    __slots__ = ("_count", "_sums", "merged", "parts", "shape")

    def __init__(
        self, parts: Sequence[Part], shape: Sequence[int], merged: bool = False, count: int | None = None
    ) -> None:
        self.parts, self.shape, self.merged, self._count = list(parts), torch.Size(shape), merged, count
        self._sums: tuple[torch.Tensor, torch.Tensor] | None = None  # what `sums` gave

    @staticmethod
    def nothing(table: torch.Tensor) -> RowGradient:
        """No row at all, for a table like this one."""
        ids = torch.empty(0, dtype=torch.int64, device=table.device)
        return RowGradient([(ids, table.new_empty((0, *table.shape[1:])), None, None)], table.shape)

    @property
    def count(self) -> int:
        """How many rows were named, one as often as it was."""
        return sum(len(part[0]) for part in self.parts) if self._count is None else self._count

    @property
    def dtype(self) -> torch.dtype:
        return self.parts[0][1].dtype

    @property
    def device(self) -> torch.device:
        return self.parts[0][1].device

    def joined(self) -> Part:
        """All occurrences as one part."""
        if len(self.parts) > 1:
            wholes = [_plain(part) for part in self.parts]
            ids, values = (torch.cat(columns) for columns in zip(*wholes, strict=True))
            self.parts = [(ids, values, None, None)]
        return self.parts[0]

    def coalesced(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(ids [n], rows [n, d]): each row once, its gradients added up in the order in which they came."""
        kind = self.dtype
        given = self.given(kind if kind in _LOOPS else torch.float32)
        ids, rows = map(buffer, kernels.sums(*given))
        return (ids.clone(), rows.to(kind, copy=True)) if self.merged else (ids, rows.to(kind))

    def sums(self, keep: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """As `coalesced`, to be read alone: it may be the gradient's own memory. keep: cache the
        result."""
        if self._sums is not None:
            return self._sums
        summed = self.parts[0][:2] if self.merged else self.coalesced()
        if keep:
            self._sums = summed
        return summed

    def dense(self) -> torch.Tensor:
        """All values, [count, d]."""
        ids, rows = self.sums()
        return rows.new_zeros(self.shape).index_copy_(0, ids, rows)

    def added_to(self, dense: torch.Tensor) -> torch.Tensor:
        """`dense` with these rows added, in place."""
        ids, rows = self.sums()
        return dense.index_add_(0, ids, rows.to(dense.dtype))

    def given(self, kind: torch.dtype, loop: bool = True) -> tuple[Any, Any, Any, Any]:
        """The kernels' arguments: (ids, rows of the table, whether no id repeats), which (empty: i), scale
        (empty: 1), rows of dtype `kind`. loop: for the kernels of its device; else for those of buffers."""
        ids, rows, which, scale = self.joined()
        if which is None:
            which = ids.new_empty(0, dtype=torch.int32)
        factors = rows.new_empty(0, dtype=kind) if scale is None else scale.to(kind).contiguous()
        # `which` is made here, below the number of rows; the others may come from a hook, for example.
        if len(rows if which.numel() == 0 else which) < len(ids) or 0 < len(factors) < len(ids):
            raise ValueError(
                f"gradient: expected a row for each of {len(ids)} ids, got {len(rows)} rows and "
                f"{len(factors)} factors"
            )
        taken: Sequence[Any] = (ids, which, factors, rows.to(kind).contiguous())
        first, which, factors, rows = arrays(*taken) if loop else taken
        if self.merged and first is not ids:  # a loop reads its rows without asking where they are
            check_ids(ids, self.shape[0], "gradient: ids")
        return (first, self.shape[0], self.merged), which, factors, rows

    # --- others made of it ---

    def _with_rows(self, change: Any) -> RowGradient:
        """The same ids with other rows: what `change` makes of those of each part."""
        parts = [(ids, change(rows), which, scale) for ids, rows, which, scale in self.parts]
        return RowGradient(parts, self.shape, self.merged, self._count)

    def __mul__(self, factor: float) -> RowGradient:
        return self._with_rows(lambda rows: rows * factor)

    def to(self, dtype: torch.dtype) -> RowGradient:
        return self._with_rows(lambda rows: rows.to(dtype))

    def once(self) -> RowGradient:
        """The same gradient, merged; it may share this one's memory."""
        return RowGradient([(*self.sums(), None, None)], self.shape, merged=True)

    def replaced(self, rows: torch.Tensor) -> RowGradient:
        """Other rows for the ids of its one part."""
        ((ids, _, which, scale),) = self.parts
        return RowGradient([(ids, rows, which, scale)], self.shape, self.merged, self._count)

    def own_values(self) -> torch.Tensor:
        """The memory of its rows: writing to all of it changes the gradient."""
        ids, rows, which, scale = self.joined()
        self.parts = [(ids, rows.clone(memory_format=torch.contiguous_format), which, scale)]
        self._sums = None
        return self.parts[0][1]

    def __add__(self, other: Any) -> Any:
        """Rows and rows stay rows; with a buffer they make a buffer."""
        if isinstance(other, torch.Tensor):
            return self.added_to(other.clone())
        parts, count = [*self.parts, *other.parts], self.count + other.count
        both = RowGradient(parts, max(self.shape, other.shape), count=count)
        if sum(len(part[0]) for part in parts) > 2 * both.shape[0]:  # many passes: no more than dense
            both.parts, both.merged = [(*both.sums(), None, None)], True
        return both

    __radd__ = __add__

    # --- what the engine asks of it ---

    def tensor(self) -> RowSparse:
        """This gradient as programs see it."""
        return RowSparse(self)

    def onto(self, before: Any, owners: set[int]) -> Any:
        """What a leaf keeps: its gradient so far, `before` or None, and this one.

        In memory that is not shared (see `backward.run`): the caller may write to its ids and rows later.
        """
        if before is not None:
            rows = rows_of(before)
            if rows is not None:
                return rows + self.unaliased(owners)
            self.added_to(before.data)
            return before
        if not self._to_sum(owners):
            return self.unaliased(owners)
        # Later gradients are added to these in their order.
        ids, summed = self.sums()
        owners.add(summed.data_ptr())
        return RowGradient([(ids, summed, None, None)], self.shape, True, self.count)

    def unaliased(self, owners: set[int]) -> RowGradient:
        """The same gradient; rows in shared memory (`owners`) are copied."""
        kept: list[Part] = []
        for ids, rows, which, scale in self.parts:
            if rows.data_ptr() in owners:
                rows = copied(rows)
            owners.add(rows.data_ptr())
            kept.append((ids.clone(), rows, which, None if scale is None else scale.clone()))
        return RowGradient(kept, self.shape, self.merged, self._count)

    def _to_sum(self, owners: set[int]) -> bool:
        """Whether a leaf's first gradient is added up at once: it was already, or it is one large part on a
        CPU in shared memory. A step would add up its rows anyway, and otherwise they would be copied."""
        _, rows, which, _ = self.parts[0]
        if rows.dtype not in _LOOPS or self._sums is not None:
            return rows.dtype in _LOOPS
        large = len(self.parts) == 1 and not rows.is_cuda and rows.nbytes >= LENT_FROM
        return large and not self.merged and which is None and rows.data_ptr() in owners


class RowSparse(Tensor):
    """A RowGradient as a Tensor: `table.grad` after a backward through an embedding.

    What asks for its values (`data`, `numpy()`, an operator) gets the dense array. It is made then, and kept
    in place of the rows, so that writing to it changes the gradient. A step afterwards takes from it the rows
    that were named and those that are not zero now: reading changes nothing.
    """

    __slots__ = ("_dense", "_named", "_rows")

    def __init__(self, rows: RowGradient) -> None:
        self._rows: RowGradient | None = rows
        self._dense: torch.Tensor | None = None
        self._named: torch.Tensor | None = None  # rows that had been named before the values were read
        self.stop_gradient, self.node = False, None
        self._grad = self._hooks = self._name = None

    @property
    def is_row_sparse(self) -> bool:
        """False once its values were read."""
        return self._dense is None

    def rows(self) -> RowGradient:
        """The gradient; once its values were read, the rows that were named and those that are not zero
        now."""
        if self._rows is not None:
            return self._rows
        dense: Any = self._dense
        there = dense.ne(0).any(1)
        if self._named is not None:
            there[self._named] = True
        ids = there.nonzero().flatten()
        return RowGradient([(ids, dense.index_select(0, ids), None, None)], dense.shape, merged=True)

    _carried = rows

    @property
    def parts(self) -> Any:
        """The rows as they came, one entry for each backward: see RowGradient."""
        return self.rows().parts

    @property
    def count(self) -> int:
        """How many rows were named, one as often as it was."""
        return self.rows().count

    def coalesced(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(ids [n], rows [n, d]): each row once, its gradients added up in the order in which they came."""
        return self.rows().coalesced()

    def own_values(self) -> torch.Tensor:
        """As `RowGradient.own_values`; the dense array once that was read."""
        return self.data if self._rows is None else self._rows.own_values()

    @property
    def data(self) -> torch.Tensor:
        if self._rows is not None:
            whole = self._rows.once()
            self._named, self._dense, self._rows = whole.parts[0][0], whole.dense(), None
        dense: Any = self._dense
        return dense

    @data.setter
    def data(self, value: torch.Tensor) -> None:
        self._dense, self._rows = value, None

    @property
    def shape(self) -> Size:
        return Size(self._source.shape)

    @property
    def ndim(self) -> int:
        return len(self._source.shape)

    @property
    def dtype(self) -> DataType:
        return DTYPES[self._source.dtype]

    @property
    def place(self) -> Place:
        return Place(self._source.device)

    @property
    def _source(self) -> Any:
        return self._dense if self._rows is None else self._rows

    def to(self, *args: Any, **settings: Any) -> Any:
        """As `Tensor.to`; rows stay rows where a dtype alone is asked for."""
        alone = not settings and len(args) == 1 and isinstance(args[0], torch.dtype | DataType)
        if alone and self._rows is not None:
            return self._rows.to(as_dtype(args[0])).tensor()
        return super().to(*args, **settings)

    def __deepcopy__(self, memo: dict[int, Any]) -> RowSparse:
        # `coalesced` gives memory of its own, of one part in which no id repeats.
        rows = RowGradient([(*self.coalesced(), None, None)], self._source.shape, merged=True)
        copy = memo[id(self)] = rows.tensor()
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor(self.data, stop_gradient=False).__reduce__()

    def __add__(self, other: Any) -> Any:
        """Rows and rows stay rows."""
        return (
            (self.rows() + other.rows()).tensor() if isinstance(other, RowSparse) else super().__add__(other)
        )

    def __radd__(self, other: Any) -> Any:
        return self.__add__(other)

    def __mul__(self, other: Any) -> Any:
        """A number times rows stays rows: hooks scale gradients so."""
        if isinstance(other, int | float):
            return (self.rows() * other).tensor()
        return super().__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        return self.__mul__(other)

    def __repr__(self) -> str:
        if self._rows is None:
            return super().__repr__()
        return f"RowSparse(shape={[*self.shape]}, dtype={name_of(self.dtype)}, {self.count} rows named)"


def rows_of(gradient: Any) -> RowGradient | None:
    """The gradient as rows, if it is one of rows, or a Tensor that shows one; else None."""
    if type(gradient) is RowSparse:
        return gradient.rows()
    return gradient if type(gradient) is RowGradient else None


def step_rows(
    rule: str,
    table: Sequence[torch.Tensor],
    gradient: RowGradient,
    numbers: Sequence[float],
    everywhere: bool,
) -> None:
    """Apply a rule of `kernels` to the rows that `gradient` names, in place. table: the weights and their
    state. everywhere: to the other rows too, with gradient 0."""
    shape, kind = table[0].shape, table[0].dtype
    fits = shape[0] >= gradient.shape[0] and shape[1:] == gradient.shape[1:]
    loop = kind in _LOOPS  # where there is none, torch steps
    for part in table:
        fits = fits and part.shape == shape
        loop = loop and part.dtype is kind and part.is_contiguous()
    if not fits:
        raise ValueError(
            "step: expected a table and its state of one shape, that of the gradient "
            f"{list(gradient.shape)}, got {[list(part.shape) for part in table]}"
        )
    given = gradient.given(kind if kind in _LOOPS else torch.float32, loop)
    kernels.step(*given, rule, arrays(*table) if loop else table, numbers, everywhere)


def _plain(part: Part) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids, and the gradient of each occurrence as a row of its own."""
    ids, rows, which, scale = part
    if which is not None:
        rows = rows.index_select(0, which)
    return ids, rows if scale is None else rows * scale.to(rows.dtype)[:, None]


def check_ids(ids: torch.Tensor, count: int, name: str) -> None:
    """Refuse ids that no table of `count` rows takes: the argument `name`, which id, and its index."""
    if ids.dtype not in (torch.int32, torch.int64):
        raise InvalidType(f"{name}: expected int32 or int64, got {name_of(ids.dtype)}") from None
    if not all_inside(ids, count):
        at = ((ids < 0) | (ids >= count)).nonzero()[0].tolist()
        raise InvalidArgument(
            f"{name}{at or ''}: expected an id from 0 to {count - 1}, got {int(ids[tuple(at)])}"
        ) from None
