"""Products of sparse matrices: with dense ones, with sparse ones, and of dense ones at the entries of a
sparse one."""

from typing import Any

import torch

from .. import linalg, ops
from ..dtype import as_dtype
from ..engine.tensor import Tensor
from .elementwise import add
from .operators import sddmm, spgemm, spmm
from .structure import transpose
from .tensor import SparseTensor, by_rows, expect_sparse, with_rows

__all__ = ["addmm", "masked_matmul", "matmul", "mv", "pca_lowrank"]


def _shape_of(x: Any, y: Any, what: str) -> list[int]:
    """The shape of the product x y. Raises ValueError where they do not fit."""
    left, right = list(x.shape), list(y.shape)
    if len(left) < 2 or len(right) < 2 or left[:-2] != right[:-2] or left[-1] != right[-2]:
        raise ValueError(
            f"{what}: expected x [..., n, k] and y [..., k, m] with equal leading axes, got {left} and "
            f"{right}"
        )
    return [*left[:-1], right[-1]]


def matmul(x: Any, y: Any, name: str | None = None) -> Any:
    """x y, where x, y or both are sparse: [n, k] and [k, m], or batches [batch, n, k] and [batch, k, m].

    A dense factor gives a dense product; two sparse ones a sparse product in the layout of x, whose backward
    stays sparse: each gradient is computed at its matrix's entries alone. Values that cancel keep their
    entry. Where the entries of such a product are is cached with x's pattern, for the next product with y's.
    Both layouts. Raises ValueError for shapes that do not fit, and for a sparse product of 2^31 entries or
    more.
    """
    shape = _shape_of(x, y, "matmul")
    if isinstance(y, SparseTensor) and not isinstance(x, SparseTensor):
        axes = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
        return ops.transpose(matmul(y.transpose(axes), ops.transpose(x, axes)), axes)
    left, a = by_rows(x, "matmul")
    if isinstance(y, SparseTensor):
        right, b = by_rows(y, "matmul")
        product = left.times(right)
        return with_rows(product, spgemm(a, b, left, right, product), x, shape)
    if len(shape) == 2:
        return spmm(a, y, left)
    return ops.reshape(spmm(a, ops.reshape(y, [-1, shape[-1]]), left), shape)


def mv(x: SparseTensor, vec: Tensor, name: str | None = None) -> Tensor:
    """x vec: a sparse matrix [n, k] times a vector [k]."""
    if vec.ndim != 1 or x.ndim != 2 or x.shape[1] != vec.shape[0]:
        raise ValueError(f"mv: expected x [n, k] and vec [k], got {list(x.shape)} and {list(vec.shape)}")
    return ops.squeeze(matmul(x, ops.unsqueeze(vec, 1)), 1)


def addmm(input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0, name: str | None = None) -> Any:
    """beta input + alpha x y."""
    product = matmul(x, y)
    return add(input * beta, product * alpha)


def masked_matmul(x: Tensor, y: Tensor, mask: SparseTensor, name: str | None = None) -> SparseTensor:
    """x y at the entries of `mask` alone, in its layout: [n, k] and [k, m], or batches of them. The mask's
    values are not read."""
    shape = _shape_of(x, y, "masked_matmul")
    if list(expect_sparse(mask, "mask").shape) != shape:
        raise ValueError(f"mask: expected shape {shape}, that of the product, got {list(mask.shape)}")
    transposed = ops.transpose(y, [*range(y.ndim - 2), y.ndim - 1, y.ndim - 2])
    flat = [ops.reshape(t, [-1, t.shape[-1]]) if t.ndim > 2 else t for t in (x, transposed)]
    return mask.in_order(sddmm(*flat, by_rows(mask, "mask")[0]))


def pca_lowrank(
    x: SparseTensor, q: int | None = None, center: bool = True, niter: int = 2, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U [n, q], S [q], V [m, q] of the first q principal components of x [n, m], never made dense.

    Randomised subspace iteration with `niter` steps (Halko, Martinsson and Tropp 2011, algorithms 4.4 and
    5.1). center: the columns' means are taken off first. q: min(6, n, m) where None.
    """
    n, m = expect_sparse(x).shape
    q = min(6, n, m) if q is None else q
    if not 0 <= q <= min(n, m) or niter < 0:
        raise ValueError(
            f"q: expected 0 to {min(n, m)} for shape {[n, m]}, and niter 0 or more, got {q} and {niter}"
        )
    transposed = transpose(x, [1, 0]).ordered()
    mean = (
        matmul(
            transposed, Tensor(torch.full((n, 1), 1.0 / n, dtype=as_dtype(x.dtype), device=x.pattern.device))
        )
        if center
        else None
    )

    def times(b: Tensor) -> Tensor:
        out = matmul(x, b)
        return out if mean is None else out - ops.matmul(mean, b, transpose_x=True)

    def times_transposed(b: Tensor) -> Tensor:
        out = matmul(transposed, b)
        return out if mean is None else out - ops.matmul(mean, b.sum(0, keepdim=True))

    basis = linalg.qr(times(Tensor(torch.randn(m, q, dtype=as_dtype(x.dtype), device=x.pattern.device))))[0]
    for _ in range(niter):
        basis = linalg.qr(times(linalg.qr(times_transposed(basis))[0]))[0]
    u, s, vh = linalg.svd(ops.transpose(times_transposed(basis), [1, 0]), full_matrices=False)
    return ops.matmul(basis, u), s, ops.transpose(vh, [1, 0])
