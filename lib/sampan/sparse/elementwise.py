"""Functions of each entry, and arithmetic of two tensors entry by entry."""

import math
from collections.abc import Callable
from typing import Any

import torch

from .. import ops
from ..dtype import as_dtype
from ..engine.tensor import Tensor
from ..kernels import sparse as kernels
from ..kernels.device import array, buffer
from ..ops.indexing import getitem
from ..ops.shape import expand_view
from .operators import entries_picked, entries_summed
from .pattern import Coo, Csr, Rows
from .tensor import SparseTensor, dense_to_coo, expect_sparse

__all__ = [
    "abs",
    "add",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cast",
    "deg2rad",
    "divide",
    "expm1",
    "isnan",
    "log1p",
    "multiply",
    "neg",
    "pow",
    "rad2deg",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
]


def of_entries(function: Callable[..., Any]) -> Callable[..., SparseTensor]:
    """A function f with f(0) = 0, applied to each entry of a coalesced tensor."""

    def apply(x, name=None):
        x = expect_sparse(x).distinct()
        return x.like(function(x.entries))

    name = apply.__name__ = apply.__qualname__ = function.__name__
    apply.__doc__ = f"{name}(x) of each entry; where there is none it stays 0, so {name} keeps the pattern."
    return apply


abs = of_entries(ops.abs)
asin, asinh = of_entries(ops.asin), of_entries(ops.asinh)
atan, atanh = of_entries(ops.atan), of_entries(ops.atanh)
deg2rad, rad2deg = of_entries(ops.deg2rad), of_entries(ops.rad2deg)
expm1, log1p = of_entries(ops.expm1), of_entries(ops.log1p)
isnan, neg = of_entries(ops.isnan), of_entries(ops.neg)
sin, sinh = of_entries(ops.sin), of_entries(ops.sinh)
sqrt, square = of_entries(ops.sqrt), of_entries(ops.square)
tan, tanh = of_entries(ops.tan), of_entries(ops.tanh)


def pow(x: SparseTensor, factor: float, name: str | None = None) -> SparseTensor:
    """Each entry to the power `factor`, which must be above 0 for the pattern to stay."""
    x = expect_sparse(x).distinct()
    return x.like(ops.pow(x.entries, factor))


def cast(
    x: SparseTensor, index_dtype: Any = None, value_dtype: Any = None, name: str | None = None
) -> SparseTensor:
    """The same tensor with its indices in `index_dtype` (int32 or int64) and its values in `value_dtype`."""
    x = expect_sparse(x)
    entries = x.entries if value_dtype is None else ops.cast(x.entries, value_dtype)
    if index_dtype is None:
        return x.like(entries)
    kind = as_dtype(index_dtype)
    if kind not in (torch.int32, torch.int64):
        raise TypeError(f"index_dtype: expected int32 or int64, got {index_dtype}")
    p = x.pattern
    pattern = (
        Coo(p.indices.to(kind), p.shape, p.coalesced)
        if isinstance(p, Coo)
        else Csr((p.crows.to(kind), p.cols.to(kind)), p.shape)
    )
    return SparseTensor(pattern, entries)


# --- two tensors --------------------------------------------------------------------------------------------


def _by_rows(x: SparseTensor) -> bool:
    return x.is_sparse_csr() or (x.sparse_dim() == 2 and x.pattern.fits_rows())


def _keys(x: SparseTensor, by_rows: bool) -> tuple[Any, Any]:
    """Ascending keys of the entries, in rows: those of the matrix, or one row of flat positions."""
    if by_rows:
        return x.pattern.by_rows.crows, x.pattern.by_rows.cols
    flat = x.pattern.flat
    return array(torch.tensor([0, x.nnz()], dtype=torch.int32, device=flat.device)), array(flat)


def _united(x: SparseTensor, y: SparseTensor) -> tuple[Coo | Csr, torch.Tensor | None, torch.Tensor | None]:
    """The places of both, and which entry of each is there, or -1; None and None where they are the same
    places."""
    if x.pattern is y.pattern:
        return x.pattern, None, None
    by_rows = _by_rows(x) and _by_rows(y)
    of_x, of_y = _keys(x, by_rows), _keys(y, by_rows)
    if x.nnz() == y.nnz() and all(torch.equal(buffer(a), buffer(b)) for a, b in zip(of_x, of_y, strict=True)):
        return x.pattern, None, None
    crows, keys, from_x, from_y = kernels.union(*of_x, *of_y)
    shape, kind = x.pattern.shape, x.pattern.kind
    pattern: Coo | Csr
    if x.is_sparse_csr():
        pattern = Csr(None, shape, Rows(crows, keys, x.pattern.by_rows.shape), kind)
    elif by_rows:
        pattern = Coo(None, shape, rows=Rows(crows, keys, shape), kind=kind)
    else:
        pattern = x.pattern.at(buffer(keys))
    return pattern, buffer(from_x), buffer(from_y)


def _matching(x: SparseTensor, y: SparseTensor, what: str) -> tuple[SparseTensor, SparseTensor]:
    if list(x.shape) != list(y.shape):
        raise ValueError(f"{what}: expected equal shapes, got x={list(x.shape)} and y={list(y.shape)}")
    if x.is_sparse_csr() != y.is_sparse_csr():
        raise ValueError(
            f"{what}: expected one layout, got {x.pattern.layout.upper()} and {y.pattern.layout.upper()}"
        )
    for t in (x, y):  # the memory of values may have been set to another since
        if t.entries.shape[0] != t.nnz():
            raise ValueError(
                f"{what}: expected {t.nnz()} values, one for each entry, got {t.entries.shape[0]}"
            )
    if not x.is_coalesced() and x.nnz() == y.nnz() and torch.equal(x.pattern.indices, y.pattern.indices):
        once = x.distinct()  # the same places in the same order, which stays
        return once, once.like(y.entries) if once is x else y.ordered()
    return x.ordered(), y.ordered()


def at_entries(x: Any, pattern: Coo | Csr) -> Tensor:
    """The values of a dense Tensor at the places of a coalesced pattern: [nnz, dense axes ...]."""
    return getitem(x, tuple(pattern.as_coo().indices))


def _other(x: SparseTensor, y: Any, what: str) -> Tensor:
    """A dense Tensor's values at x's entries."""
    if not isinstance(y, Tensor) or y.is_sparse():
        raise TypeError(f"{what}: y: expected a tensor, got {type(y).__name__}")
    if list(y.shape) != list(x.shape):
        y = expand_view(y, list(x.shape))
    return at_entries(y, x.pattern)


def add(x: Any, y: Any, name: str | None = None) -> Any:
    """x + y. Two sparse tensors give one with the places of both; a sparse and a dense one give a dense one.

    A dense vector as long as the dense axis of x is added to each entry, and to nothing else: the bias of a
    layer.
    """
    if (
        isinstance(x, SparseTensor)
        and isinstance(y, Tensor)
        and not y.is_sparse()
        and x.dense_dim() == 1
        and list(y.shape) == x.shape[-1:]
    ):
        x = x.distinct()
        return x.like(x.entries + y)
    return _sum(x, y, 1, "add")


def subtract(x: Any, y: Any, name: str | None = None) -> Any:
    """x - y. Two sparse tensors give one with the places of both; a sparse and a dense one give a dense
    one."""
    return _sum(x, y, -1, "subtract")


def _sum(x: Any, y: Any, sign: int, what: str) -> Any:
    function = ops.add if sign > 0 else ops.subtract
    if isinstance(x, SparseTensor) and isinstance(y, SparseTensor):
        x, y = _matching(x, y, what)
        pattern, from_x, from_y = _united(x, y)
        if from_x is None:
            return SparseTensor(pattern, function(x.entries, y.entries))
        return SparseTensor(pattern, entries_summed(x.entries, y.entries, sign, from_x, from_y))
    dense = [t.to_dense() if isinstance(t, SparseTensor) else t for t in (x, y)]
    if not all(isinstance(t, Tensor) for t in dense):
        raise ValueError(f"{what}: expected two tensors, got {type(x).__name__} and {type(y).__name__}")
    return function(*dense)


def multiply(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    """x y, entry by entry. Two sparse tensors: at the places of both, 0 where one has none, as Paddle has it.

    y may be a number or a dense Tensor, broadcast to x's shape: the result has x's pattern.
    """
    if not isinstance(x, SparseTensor):
        x, y = y, x
    if isinstance(y, SparseTensor):
        x, y = _matching(expect_sparse(x), y, "multiply")
        pattern, from_x, from_y = _united(x, y)
        if from_x is None:
            return SparseTensor(pattern, x.entries * y.entries)
        return SparseTensor(pattern, entries_picked(x.entries, from_x) * entries_picked(y.entries, from_y))
    x = expect_sparse(x).distinct()
    return x.like(x.entries * (y if isinstance(y, (int, float, complex)) else _other(x, y, "multiply")))


def divide(x: Any, y: Any, name: str | None = None) -> SparseTensor:
    """x / y, entry by entry, by a number or a dense Tensor at x's entries.

    By another sparse tensor every place has an entry, as Paddle has it: 0 / 0 is nan.
    """
    x = expect_sparse(x).distinct()
    if not isinstance(y, SparseTensor):
        return x.like(
            ops.divide(x.entries, y if isinstance(y, (int, float, complex)) else _other(x, y, "divide"))
        )
    x, y = _matching(x, y, "divide")
    ones = torch.ones([math.prod(x.pattern.shape)], device=x.pattern.device)
    everywhere = dense_to_coo(Tensor(ones).reshape(list(x.pattern.shape)))
    if x.is_sparse_csr():
        everywhere = everywhere.as_csr()
    full = everywhere.pattern
    return SparseTensor(full, ops.divide(at_entries(x.to_dense(), full), at_entries(y.to_dense(), full)))
