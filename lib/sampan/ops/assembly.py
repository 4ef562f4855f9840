"""Larger arrays made of smaller ones: diagonals, blocks, products of sets, powers, choices among arrays."""

import itertools
from typing import Any

import numpy as np
import torch

from ..dtype import name_of
from ..engine.operator import as_method, composite, operator
from ..engine.tensor import InvalidArgument, InvalidType, Tensor, to_tensor
from .indexing import diagonal, getitem
from .joining import stack
from .shape import expand_view, reshape

__all__ = ["block_diag", "cartesian_prod", "combinations", "diag_embed", "diagflat", "multiplex", "vander"]


@operator(lambda g, offset, dim1, dim2: diagonal(g, offset, dim1, dim2))
def diagonals(x, offset, dim1, dim2):
    """Zeros with the last axis of x on the diagonals of two new axes."""
    return torch.diag_embed(x, offset, dim1, dim2)


@composite(method="")
def diag_embed(input, offset=0, dim1=-2, dim2=-1) -> Tensor:
    """Matrices with the last axis of `input` on the diagonal `offset` of the new axes dim1 and dim2."""
    return diagonals(input if isinstance(input, Tensor) else to_tensor(np.asarray(input)), offset, dim1, dim2)


@composite(method="")
def diagflat(x, offset=0, name=None) -> Tensor:
    """A matrix with the flattened `x` on the diagonal `offset`."""
    return diagonals(reshape(x, [-1]), offset, 0, 1)


def _blocks_back(g: Any, saved: Any) -> tuple[Any, ...]:
    """The blocks of a block-diagonal matrix, in the shapes that they came from."""
    parts, row, column = [], 0, 0
    for shape in saved:
        height, width = [1] * (2 - len(shape)) + list(shape)
        parts.append(g[row : row + height, column : column + width].reshape(shape))
        row, column = row + height, column + width
    return tuple(parts)


@operator(joint=_blocks_back)
def blocks(*tensors):
    """A matrix of zeros with the tensors (0 to 2 axes; a vector is a row) one below and right of the
    other."""
    return torch.block_diag(*tensors), [t.shape for t in tensors]


def block_diag(inputs, name=None) -> Tensor:
    """The block-diagonal matrix of a list of tensors of one dtype, each with 0 to 2 axes."""
    if len({t.dtype for t in inputs}) > 1:
        raise InvalidArgument(
            f"block_diag: expected tensors of one dtype, got {', '.join(name_of(t.dtype) for t in inputs)}"
        )
    return blocks(*inputs)


def cartesian_prod(x, name=None) -> Tensor:
    """All ways to take one entry of each vector in the list `x`, [ways, vectors]; of one vector, itself."""
    for tensor in x:
        if tensor.ndim != 1:
            raise InvalidArgument(f"cartesian_prod: expected vectors, got shape {[*tensor.shape]}")
    if len(x) == 1:
        return x[0]
    shape = [tensor.size for tensor in x]
    grids = [expand_view(t, shape) for t in on_own_axes(x)]
    return reshape(stack(grids, -1), [-1, len(x)])


def on_own_axes(vectors: Any) -> list[Any]:
    """Views of n vectors with n axes each, the i-th along axis i: they broadcast to a grid."""
    n = len(vectors)
    return [reshape(v, [1] * i + [-1] + [1] * (n - 1 - i)) for i, v in enumerate(vectors)]


@composite(method="")
def combinations(x, r=2, with_replacement=False, name=None) -> Tensor:
    """All ways to take r entries of the vector `x`, in its order, [ways, r]."""
    if x.ndim != 1:
        raise InvalidType(f"combinations: expected a vector, got shape {[*x.shape]}")
    if not isinstance(r, int) or r < 0:
        raise InvalidArgument(f"combinations: r must be an int of 0 or more, got {r!r}")
    if r == 0:
        return Tensor(x.data.new_empty(0))
    ways = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = torch.tensor(list(ways(range(x.size), r)), dtype=torch.int64).reshape(-1, r)
    return getitem(x, places.to(x.data.device))


@composite(method="")
def vander(x, n=None, increasing=False, name=None) -> Tensor:
    """The Vandermonde matrix, [x.size, n]: powers n - 1 to 0 of a vector, or 0 to n - 1 when `increasing`."""
    if x.ndim != 1:
        raise InvalidArgument(f"vander: expected a vector, got shape {[*x.shape]}")
    count = x.size if n is None else n
    if count < 0:
        raise InvalidArgument(f"vander: n must not be negative, got {n}")
    powers = [Tensor(torch.ones_like(x.data))]
    while len(powers) < count:
        powers.append(powers[-1] * x)
    if count == 0:
        return Tensor(x.data.new_empty(x.size, 0))
    return stack(powers[:count] if increasing else powers[:count][::-1], -1)


def multiplex(inputs, index, name=None) -> Tensor:
    """Row i of the tensor inputs[index[i]], for each i: inputs all [rows, ...], index [rows, 1]."""
    if len(inputs) < 2:
        raise InvalidArgument("multiplex: expected at least two tensors to choose from")
    rows = index.data.reshape(-1).long()
    if rows.numel() and not 0 <= int(rows.min()) <= int(rows.max()) < len(inputs):
        raise InvalidArgument(f"multiplex: index must be from 0 to {len(inputs) - 1}, got {index.tolist()}")
    return getitem(stack(inputs), (rows, torch.arange(len(rows), device=rows.device)))


for _function in (block_diag, multiplex):
    as_method(_function)
