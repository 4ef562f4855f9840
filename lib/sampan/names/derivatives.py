"""Jacobian and Hessian matrices, computed lazily, row by row."""

import math
from collections.abc import Sequence
from typing import Any

from ..engine.backward import grad
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..ops.joining import concat_tensors, stack_tensors

__all__ = ["Hessian", "Jacobian", "hessian", "jacobian"]


def filled_grad(ys: Any, xs: Sequence[Tensor], v: Any = None) -> list[Tensor]:
    """Gradients of `ys` by `xs`, recorded on the tape and weighted by `v`; zeros where `ys` do not depend on
    x."""
    tied = [y for y in ([ys] if isinstance(ys, Tensor) else ys) if not y.stop_gradient]
    found = grad(ys, list(xs), v, create_graph=True, allow_unused=True) if tied else [None] * len(xs)
    return [x.detach()._full_like(0) if g is None else g for g, x in zip(found, xs, strict=True)]


class Matrix:
    """The derivatives of every entry of `ys` by every entry of `xs`, lists of tensors that are flattened and
    concatenated.

    is_batched: the first axis is the batch in all, with one matrix for each sample. shape: [rows, columns],
    or [batch, rows, columns].
    """

    def __init__(self, ys: Sequence[Tensor], xs: Sequence[Tensor], is_batched: bool = False) -> None:
        self._xs, self._lead = xs, list(xs[0].shape[:1]) if is_batched else []
        self._ys = self._joined(ys)
        columns = sum(math.prod(x.shape[len(self._lead) :]) for x in xs)
        self._whole = [*self._lead, self._ys.shape[-1], columns]
        self._rows: dict[int, Tensor] = {}

    @property
    def shape(self) -> Any:
        return tuple(self._whole)

    def _joined(self, tensors: Sequence[Tensor]) -> Tensor:
        flat = [t.reshape([*self._lead, -1]) for t in tensors]
        return flat[0] if len(flat) == 1 else concat_tensors(*flat, axis=-1)

    def _row(self, i: int) -> Tensor:
        """The derivatives of entry i of ys, [columns] or [batch, columns]."""
        if i not in self._rows:
            self._rows[i] = self._joined(filled_grad(self._ys[..., i], self._xs))
        return self._rows[i]

    def _part(self, key: tuple[Any, ...]) -> Tensor:
        """The entries at an index for each axis."""
        *lead, row, column = key
        if isinstance(row, int):
            if not -self._whole[-2] <= row < self._whole[-2]:
                raise IndexError(f"index {row} is outside a matrix of {self._whole[-2]} rows")
            return self._row(row % self._whole[-2])[(*lead, column)]
        rows = [self._row(i) for i in range(*row.indices(self._whole[-2]))]
        part = stack_tensors(*rows, axis=len(self._lead))
        return part[(*lead, slice(None), column)]

    def __getitem__(self, index: Any) -> Tensor:
        return self._part(_completed(index, len(self._whole)))


def _completed(index: Any, axes: int) -> tuple[Any, ...]:
    key = index if isinstance(index, tuple) else (index,)
    if any(part is Ellipsis for part in key):
        raise IndexError("Jacobian: expected ints and slices as index, got an Ellipsis")
    for part in key:
        if not isinstance(part, (int, slice)):
            raise InvalidType(f"expected an int or a slice as index, got {part!r}")
    if len(key) > axes:
        raise IndexError(f"{len(key)} indices for {axes} axes")
    return (*key, *[slice(None)] * (axes - len(key)))


class Jacobian(Matrix):
    """The derivatives of a vector (or a scalar) by a vector (or a scalar), with `is_batched` for each sample
    of a batch.

    It has the axes of both; a scalar has none. Rows are computed when they are read, and cached. Arithmetic,
    comparisons and other attributes use the Tensor `J[:]`.
    """

    def __init__(self, ys: Any, xs: Tensor, is_batched: bool = False) -> None:
        least, most = (1, 2) if is_batched else (0, 1)
        for name, given in (("xs", xs), ("ys", ys)):
            if not least <= len(given.shape) <= most:
                raise InvalidArgument(
                    f"{name}.ndim should be {least} or {most} when is_batched={is_batched} but got "
                    f"{len(given.shape)}"
                )
        ys = ys._all() if isinstance(ys, Jacobian) else ys
        super().__init__([ys], [xs], is_batched)
        self._axes = (ys.ndim == most, xs.ndim == most)  # whether there is an axis of rows, of columns

    @property
    def shape(self) -> Any:
        return [*self._lead, *(n for n, there in zip(self._whole[-2:], self._axes, strict=True) if there)]

    def __getitem__(self, index: Any) -> Tensor:
        if not self.shape:
            raise IndexError("Jacobian: expected a vector to index, got a scalar by a scalar")
        key = list(_completed(index, len(self.shape)))
        for place, there in enumerate(self._axes, len(self._lead)):
            if not there:
                key.insert(place, 0)
        return self._part(tuple(key))

    def _all(self) -> Tensor:
        return self[:] if self.shape else self._part((0, 0))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._all(), name)

    __hash__ = None  # type: ignore[assignment]  # `==` compares entries


def _as_tensor(name: str) -> Any:
    def of_two(self: Jacobian, other: Any) -> Any:
        return getattr(self._all(), name)(other._all() if isinstance(other, Jacobian) else other)

    return of_two


# One string is shorter than a list of names.
for _name in "add sub mul truediv pow mod floordiv matmul eq ne lt le gt ge".split():  # noqa: SIM905
    setattr(Jacobian, f"__{_name}__", _as_tensor(f"__{_name}__"))


class Hessian(Jacobian):
    """The second derivatives of a scalar: the Jacobian of its gradient."""


def _each(kind: type[Jacobian], ys: Any, xs: Any, is_batched: bool) -> Any:
    """One matrix for each pair; a tuple for each of `ys` and of `xs` that is a sequence."""
    if isinstance(ys, Sequence):
        return tuple(_each(kind, y, xs, is_batched) for y in ys)
    return (
        tuple(kind(ys, x, is_batched) for x in xs) if isinstance(xs, Sequence) else kind(ys, xs, is_batched)
    )


def jacobian(ys, xs, batch_axis=None):
    """The derivatives of `ys` by `xs`: a `Jacobian`, or tuples of them for tuples of tensors.

    batch_axis: 0 when the first axis of all is a batch, else None.
    """
    if batch_axis not in (None, 0):
        raise InvalidArgument(f"batch_axis should be None or 0, but got {batch_axis}.")
    return _each(Jacobian, ys, xs, batch_axis is not None)


def hessian(ys, xs, batch_axis=None):
    """The second derivatives of a scalar `ys` (batch_axis=0: one scalar for each sample) by `xs`: a
    `Hessian`, or a tuple of tuples of them for a tuple of tensors."""
    if batch_axis not in (None, 0):
        raise InvalidArgument(f"batch_axis should be None or 0, but got {batch_axis}.")
    one = ys if batch_axis is None else ys[0]
    if one.size > 1:
        raise InvalidArgument(
            f"hessian: expected one number in ys (one for each sample of a batch), got {[*ys.shape]}"
        )
    first = jacobian(ys.reshape([] if batch_axis is None else [-1]), xs, batch_axis)
    return _each(Hessian, first, xs, batch_axis is not None)
