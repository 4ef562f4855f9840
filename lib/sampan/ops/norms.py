"""Lengths of vectors and matrices, distances, and what is built on them: condition, rank, pseudo-inverse, low
rank."""

import math
from builtins import max as builtin_max
from builtins import min as builtin_min
from typing import Any

import torch

from ..engine.operator import composite, operator
from ..engine.spelling import give
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .decomposition import adjoint, eigh, identity, inverse, qr, svd, svdvals
from .indexing import select
from .joining import concat_tensors
from .reduction import _axes, _kept, max, min
from .shape import assign, expand_view, number, permute


def _p_norm_by_x(g: Any, x: Any, out: Any, p: float, axes: list[int]) -> Any:
    """0 where the norm is 0."""
    kept = _kept(x, axes)
    g, out = g.reshape(kept), out.reshape(kept)
    if p == 0:
        return x * 0
    if p == 2:
        return x * (g / (out + (out == 0)))
    if p == 1:
        return x.sgn() * g
    size = x.abs()
    if math.isinf(p):
        return x.sgn() * ((size == out) * g)
    return x.sgn() * ((size + (size == 0)) ** (p - 1) * (g * (out + (out == 0)) ** (1 - p)))


@operator(_p_norm_by_x, amp="float32")
def p_norm(x, p, axes, keepdim=False):
    """(sum |x|^p)^(1/p) over `axes`; the largest |x| for p = inf, the smallest for -inf, the count of
    non-zeros for 0."""
    return torch.linalg.vector_norm(x, p, axes or None, keepdim or False)


@composite(out=True)
def vector_norm(x, p=2.0, axis=None, keepdim=False, name=None, *, dtype=None) -> Tensor:
    """The p-norm over `axis` (an int, a list, or None for all): see `p_norm`."""
    return p_norm(x if dtype is None else x.astype(dtype), number(p, "p"), _axes(x, axis), keepdim)


@composite()
def matrix_norm(x, p="fro", axis=[-2, -1], keepdim=False, name=None) -> Tensor:
    """The norm of matrices in two axes: "fro", "nuc" (sum of singular values), 2 and -2 (the largest and
    smallest singular value), 1 and -1 (the largest and smallest column sum of |x|), inf and -inf (row
    sums)."""
    if not isinstance(axis, (list, tuple)) or len(axis) != 2:
        raise InvalidArgument(f"matrix_norm: axis: expected two axes, got {axis!r}")
    rows, columns = _axes(x, axis)
    if p == "fro":
        return p_norm(x, 2, [rows, columns], keepdim)
    if p in ("nuc", 2, -2):
        values = svdvals(permute(x, [*(i for i in range(x.ndim) if i not in (rows, columns)), rows, columns]))
        found = values.sum(-1) if p == "nuc" else (max if p > 0 else min)(values, -1)
    elif p in (1, -1, math.inf, -math.inf):
        first, second = (columns, rows) if math.isinf(p) else (rows, columns)
        found = (max if p > 0 else min)(p_norm(x, 1, [first], True), second, True).squeeze([rows, columns])
    else:
        raise InvalidArgument(f'matrix_norm: p: expected "fro", "nuc", 1, -1, 2, -2, inf or -inf, got {p!r}')
    return found.unsqueeze(sorted((rows, columns))) if keepdim else found


@composite(method="", out=True)
def norm(x, p=None, axis=None, keepdim=False, out=None, dtype=None, name=None) -> Tensor:
    """The norm of vectors, or of matrices where `axis` names two axes or p is "fro" or "nuc".

    p: None for 2; see vector_norm and matrix_norm.
    """
    if dtype is not None:
        x = x.astype(dtype)
    axis = list(axis) if isinstance(axis, (tuple, list)) else axis
    if isinstance(p, str) and not (p == "fro" and (axis is None or isinstance(axis, int) or len(axis) == 1)):
        result = matrix_norm(x, p, list(range(x.ndim)) if axis is None else axis, keepdim)
    elif not isinstance(p, str) and isinstance(axis, list) and len(axis) == 2:
        result = matrix_norm(x, 2 if p is None else p, axis, keepdim)
    else:
        result = vector_norm(x, 2.0 if p is None or isinstance(p, str) else p, axis, keepdim)
    return result if out is None else give(out, result)


@composite(method="")
def dist(x, y, p=2, name=None) -> Tensor:
    """The p-norm of x - y, which broadcast."""
    return vector_norm(x - y, p)


@composite(method="")
def cdist(x, y, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary", name=None) -> Tensor:
    """The p-norms of the differences between all rows of x [..., n, k] and of y [..., m, k]: [..., n, m].

    compute_mode: for p = 2 |x|^2 + |y|^2 - 2 x y may replace the differences, which is faster and less
    exact: above 25 rows ("..._if_necessary"), always, or never ("donot_use_mm_for_euclid_dist").
    """
    modes = ("if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in (f"{modes[1]}_if_necessary", *modes[1:]):
        raise InvalidArgument(
            f"cdist: compute_mode: expected one of {', '.join(modes)}, got {compute_mode!r}"
        )
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1] or p < 0:
        raise InvalidArgument(
            f"cdist: expected x [..., n, k], y [..., m, k], p >= 0, got {[*x.shape]}, {[*y.shape]}"
        )
    many = x.shape[-2] > 25 or y.shape[-2] > 25
    if p == 2 and (compute_mode == modes[1] or (many and compute_mode != modes[2])):
        square = (x * x).sum(-1, keepdim=True) + (y * y).sum(-1, keepdim=True).mT - (x @ y.mT) * 2
        return square.clip(min=0.0).sqrt()
    return p_norm(x.unsqueeze(-2) - y.unsqueeze(-3), float(number(p, "p")), [builtin_max(x.ndim, y.ndim)])


@composite()
def pdist(x, p=2.0, name=None) -> Tensor:
    """The p-norms of the differences between all pairs of rows of x [n, k]: [n (n - 1) / 2]."""
    if x.ndim != 2:
        raise InvalidArgument(f"pdist: expected a matrix, got shape {[*x.shape]}")
    i, j = torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.data.device)
    return p_norm(x[i] - x[j], float(number(p, "p")), [1])


@composite(method="", inplace="rewrite")
def renorm(x, p, axis, max_norm) -> Tensor:
    """x with each slice along `axis` whose p-norm is above `max_norm` scaled down to it."""
    (axis,) = _axes(x, axis)
    others = [i for i in range(x.ndim) if i != axis]
    norms = (
        p_norm(x, float(number(p, "p")), others, True) if others else x.abs()
    )  # a slice of a vector is one number
    return x * select(norms > max_norm, max_norm / norms, 1.0)


# --- of matrices --------------------------------------------------------------------------------------------


@composite(method="")
def cond(x, p=None, name=None) -> Tensor:
    """The condition number of matrices: the norm of x times that of its inverse; p as in matrix_norm, None
    for 2."""
    if x.ndim < 2:
        raise InvalidArgument(f"cond: expected at least 2 axes, got shape {[*x.shape]}")
    if p in (None, 2, -2):
        values = svdvals(x)
        return values[..., -1] / values[..., 0] if p == -2 else values[..., 0] / values[..., -1]
    return matrix_norm(x, p) * matrix_norm(inverse(x), p)


@composite()
def matrix_rank(x, tol=None, hermitian=False, atol=None, rtol=None, name=None) -> Tensor:
    """How many singular values of x (absolute eigenvalues when `hermitian`) are above a bound, int64.

    The bound is `tol`, or the larger of `atol` and `rtol` times the largest of them; without any of these
    rtol is the machine epsilon times the larger side of x.
    """
    if x.ndim < 2 or (tol is not None and (atol is not None or rtol is not None)):
        raise InvalidArgument("matrix_rank: expected at least 2 axes, and either tol or atol and rtol")
    values = eigh(x)[0].abs().data if hermitian else svdvals(x).data
    if tol is None and rtol is None:
        rtol = 0.0 if atol is not None and bool(_buffer(atol).any()) else _rough(x)
    largest = values.amax(-1) if values.shape[-1] else values.sum(-1)
    bound = torch.maximum(_buffer(atol or 0.0), _buffer(rtol) * largest) if tol is None else _buffer(tol)
    return Tensor((values > bound.to(values)[..., None]).sum(-1))


def _rough(x: Any) -> float:
    return torch.finfo(x.data.dtype).eps * builtin_max(*x.shape[-2:])


def _buffer(value: Any) -> torch.Tensor:
    return value.data if isinstance(value, Tensor) else torch.tensor(float(value))


@composite(method="")
def pinv(x, rcond=1e-15, hermitian=False, name=None) -> Tensor:
    """The pseudo-inverse; singular values up to rcond times the largest count as zero. hermitian: x equals
    its adjoint."""
    if x.size == 0:
        return x.mT
    if hermitian:
        values, right = eigh(x)
        left, size = right, values.abs()
    else:
        left, values, rows = svd(x)
        size, right = values, adjoint(rows)
    kept = size.data > _buffer(rcond).to(size.data)[..., None] * size.data.amax(-1, True)
    inverted = select(Tensor(kept), 1.0 / values, 0.0)
    return (right * inverted.unsqueeze(-2)) @ adjoint(left)


@composite(method="")
def matrix_power(x, n, name=None) -> Tensor:
    """The product of n copies of square matrices, of their inverses for negative n; the unit matrix for 0."""
    if not isinstance(n, int):
        raise InvalidType(f"matrix_power: n: expected an int, got {n!r}")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgument(f"matrix_power: expected square matrices, got shape {[*x.shape]}")
    if n == 1:
        return assign(x)
    if n < 0:
        x, n = inverse(x), -n
    result = None
    while n:
        if n & 1:
            result = x if result is None else result @ x
        n >>= 1
        x = x @ x if n else x
    return unit_like(x) if result is None else result


@operator(lambda g: g.new_zeros(g.shape))
def unit_like(x):
    """Unit matrices in the shape of x."""
    return identity(x, x.shape[-1]).expand(x.shape).contiguous()


def _matrix_exp_by_x(g: Any, x: Any) -> Any:
    """The derivative in the direction g is the upper right block of exp [[x, g], [0, x]]."""
    n, xh = x.shape[-1], adjoint(x)
    above, below = concat_tensors(xh, g, axis=-1), concat_tensors(xh * 0, xh, axis=-1)
    return matrix_exp(concat_tensors(above, below, axis=-2))[..., :n, n:]


@operator(_matrix_exp_by_x)
def matrix_exp(x, name=None):
    """The exponential of square matrices, the sum of x^k / k!."""
    return torch.linalg.matrix_exp(x)


@composite(method="")
def householder_product(x, tau, name=None) -> Tensor:
    """The first n columns of the product of the reflections 1 - tau_i v_i v_i^H, as `qr` of LAPACK stores
    them.

    x: [..., m, n], v_i its column i below the diagonal, with 1 on it and 0 above; tau: [..., k], k <= n <= m.
    """
    if x.ndim < 2 or x.ndim != tau.ndim + 1 or not x.shape[-2] >= x.shape[-1] >= tau.shape[-1]:
        came = f"{[*x.shape]}, {[*tau.shape]}"
        raise InvalidArgument(f"householder_product: expected x [..., m, n], tau [..., k], got {came}")
    one = identity(x, x.shape[-2])
    vectors = x.tril(-1) + one[:, : x.shape[-1]]
    product = Tensor(one[:, : x.shape[-1]])
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i : i + 1]
        product = product - (v * tau[..., i : i + 1].unsqueeze(-1)) @ (adjoint(v) @ product)
    return product


@composite(method="")
def ormqr(x, tau, y, left=True, transpose=False, name=None) -> Tensor:
    """Q y, or y Q unless `left`, where Q (transposed when asked) is the product of the reflections in x and
    tau."""
    q = householder_product(x, tau)
    q = q.mT if transpose else q
    return q @ y if left else y @ q


@composite(method="")
def svd_lowrank(x, q=None, niter=2, M=None, name=None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the q largest singular values of x (of x - M), by random projection: 6 when q is None.

    N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", 2011, algorithms 4.4 and
    5.1.
    niter: how many power iterations sharpen the basis.
    """
    m, n = x.shape[-2:]
    q = builtin_min(6, m, n) if q is None else q
    if not 0 <= q <= builtin_min(m, n) or niter < 0:
        raise InvalidArgument(
            f"svd_lowrank: expected 0 <= q <= {builtin_min(m, n)}, niter >= 0, got {q}, {niter}"
        )
    x = x if M is None else x - expand_view(M, x.shape)
    wide = m < n
    x = adjoint(x) if wide else x
    basis = qr(x @ Tensor(torch.randn(x.shape[-1], q, dtype=x.data.dtype, device=x.data.device)))[0]
    for _ in range(niter):
        basis = qr(x @ qr(adjoint(x) @ basis)[0])[0]
    u, s, vh = svd(adjoint(basis) @ x)
    u, v = basis @ u, adjoint(vh)
    return (v, s, u) if wide else (u, s, v)


@composite(method="")
def pca_lowrank(x, q=None, center=True, niter=2, name=None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V of the q main components of x [..., samples, features], centred first: see `svd_lowrank`."""
    return svd_lowrank(x - x.mean(-2, keepdim=True) if center else x, q, niter)
