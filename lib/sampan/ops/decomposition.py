"""Decompositions of matrices (Cholesky, QR, LU, SVD, eigenvectors) and linear equations.

A matrix is the last two axes, any axes before them are a batch. Derivatives: M. Giles, "An extended
collection of matrix derivative results for forward and reverse mode algorithmic differentiation", 2008; S.
Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions", 2010 (QR, eigenvectors).
Gradients of complex arrays are
conjugate: the direction of steepest ascent.
"""

from typing import Any

import torch

from ..dtype import as_dtype
from ..engine.operator import composite, operator
from ..engine.tensor import InvalidArgument, Tensor
from .assembly import diagonals
from .complex_numbers import real
from .joining import concat_tensors


def adjoint(x: Any) -> Any:
    """Transposed and, for complex entries, conjugated."""
    return x.mT.conj() if x.dtype.is_complex else x.mT


def identity(x: Any, n: int) -> torch.Tensor:
    """The unit matrix, a constant of x's dtype and place."""
    return torch.eye(n, dtype=as_dtype(x.dtype), device=x.data.device)


def _halved(x: Any) -> Any:
    """The lower triangle with half of the diagonal: what makes a Hermitian matrix with its adjoint."""
    return x.tril() * (1 - 0.5 * identity(x, x.shape[-1]))


# --- equations ----------------------------------------------------------------------------------------------


def _solve_triangle_back(g: Any, a: Any, out: Any, upper: bool, left: bool, unit: bool) -> tuple[Any, ...]:
    gb = solve_triangle(adjoint(a), g, not upper, left, unit)
    ga = gb @ adjoint(out) if left else adjoint(out) @ gb
    return -(ga.triu(int(unit)) if upper else ga.tril(-int(unit))), gb


@operator(joint=_solve_triangle_back, broadcasts=True)
def solve_triangle(a, b, upper, left=True, unit=False):
    """X with A X = B (X A = B unless `left`), of one triangle of A. unit: its diagonal is taken as ones."""
    return torch.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)


@composite(method="")
def triangular_solve(x, y, upper=True, transpose=False, unitriangular=False, name=None) -> Tensor:
    """The solution of x a = y (of x^T a = y with `transpose`), reading one triangle of x."""
    return solve_triangle(x.mT if transpose else x, y, upper != transpose, True, unitriangular)


def _solve_matrix_back(g: Any, a: Any, out: Any) -> tuple[Any, ...]:
    gb = solve_matrix(adjoint(a), g)
    return -(gb @ adjoint(out)), gb


@operator(joint=_solve_matrix_back, broadcasts=True)
def solve_matrix(a, b):
    """X with A X = B, matrices; batches broadcast."""
    return torch.linalg.solve(a, b[None] if b.ndim < a.ndim else b)


@composite(method="", out=True)
def solve(x, y, left=True, name=None) -> Tensor:
    """The solution a of x a = y (of a x = y unless `left`); y has vectors, [..., n] like x without its last
    axis, or matrices."""
    if left and (y.ndim == 1 or y.shape == x.shape[:-1]):
        return solve_matrix(x, y.unsqueeze(-1)).squeeze(-1)
    if y.ndim < 2:
        raise InvalidArgument(f"solve: y: expected matrices, got shape {list(y.shape)}")
    return solve_matrix(x, y) if left else solve_matrix(x.mT, y.mT).mT


@operator(lambda g, out: -(adjoint(out) @ g @ adjoint(out)), method="")
def inverse(x, name=None):
    """The inverse of square matrices. Raises ValueError for a singular one."""
    return torch.linalg.inv(x)


def _det_by_x(g: Any, x: Any, out: Any) -> Any:
    regular = (out.data != 0)[..., None, None]
    safe = x * regular + identity(x, x.shape[-1]) * ~regular
    return adjoint(inverse(safe)) * (g * out.conj() if out.dtype.is_complex else g * out)[..., None, None]


@operator(_det_by_x, method="")
def det(x, name=None):
    """The determinants of square matrices. A singular one gets the gradient 0."""
    return torch.linalg.det(x)


@operator(lambda g, x: g[1][..., None, None] * adjoint(inverse(x)), method="")
def slogdet(x, name=None):
    """The sign of the determinant and the logarithm of its absolute value, stacked as [2, batch]."""
    return torch.stack([v.to(x.dtype) for v in torch.linalg.slogdet(x)])


@composite(method="")
def cholesky_solve(x, y, upper=False, name=None) -> Tensor:
    """The solution of A a = x for the matrix A whose Cholesky factor is y."""
    half = solve_triangle(adjoint(y) if upper else y, x, False)
    return solve_triangle(y if upper else adjoint(y), half, True)


@composite(method="")
def cholesky_inverse(x, upper=False, name=None) -> Tensor:
    """The inverse of the matrix whose Cholesky factor is x."""
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise InvalidArgument(f"cholesky_inverse: expected a square matrix, got shape {list(x.shape)}")
    return inverse(x.mT @ x if upper else x @ x.mT)


@composite()
def lu_solve(b, lu, pivots, trans="N", name=None) -> Tensor:
    """The solution of A a = b (A^T a = b unless trans is "N") from the factors and pivots that `lu(A)`
    gave."""
    p, lower, upper = lu_unpack(lu, pivots)
    if trans == "N":
        return solve_triangle(upper, solve_triangle(lower, p.mT @ b, False, True, True), True)
    return p @ solve_triangle(lower.mT, solve_triangle(upper.mT, b, False), True, True, True)


@operator(method="", returns=tuple[Tensor, Tensor, Tensor, Tensor])
def lstsq(x, y, rcond=None, driver=None, name=None):
    """The least-squares solution of x a = y: (solution, residuals, rank of x, singular values).

    driver: "gels", "gelsy" (when None), "gelsd" or "gelss", LAPACK's routines; the first knows no rank, the
    first two no singular values.
    """
    driver = driver or ("gelsy" if x.device.type == "cpu" else "gels")
    if x.ndim < 2 or y.ndim < 2 or x.shape[-2] != y.shape[-2]:
        raise RuntimeError("expected x [..., m, n] and y [..., m, k]")
    if rcond is None:
        rcond = (1e-7 if x.dtype is torch.float32 else 1e-15) * max(x.shape[-2:])
    found = torch.linalg.lstsq(x, y, rcond=rcond, driver=driver)
    rank, values = found.rank, found.singular_values
    rank = rank if driver == "gels" else rank.to(torch.int32)
    return found.solution, found.residuals, rank, values


# --- triangles ----------------------------------------------------------------------------------------------


def _cholesky_by_x(g: Any, out: Any, upper: bool) -> Any:
    low, g = (adjoint(out), adjoint(g)) if upper else (out, g)
    middle = solve_triangle(adjoint(low), _halved(adjoint(low) @ g), True)
    whole = solve_triangle(low, middle, False, left=False)
    return (whole + adjoint(whole)) * 0.5


@operator(_cholesky_by_x, method="")
def cholesky(x, upper=False, name=None):
    """The lower triangle L with x = L L^H for symmetric positive definite x, or the upper one U with x = U^H
    U."""
    return torch.linalg.cholesky(x, upper=upper)


def _qr_by_x(g: Any, x: Any, out: Any, saved: Any) -> Any:
    if saved is None:
        return _qr_back(g, *out)
    # R alone is on the tape: where the backward is recorded, Q has to be made again
    return _qr_back((None, g), *(qr(x) if isinstance(x, Tensor) else (saved, out)))


def _qr_back(g: Any, q: Any, r: Any) -> Any:
    gq, gr = g
    k, n = r.shape[-2:]
    if k > n:
        raise NotImplementedError('qr: mode "complete" has a gradient only for no more rows than columns')
    if n > k:  # A = [X, Y] with X = Q R1 and R2 = Q^H Y
        more, gmore = q @ r[..., k:], gr[..., k:]
        gq = more @ adjoint(gmore) if gq is None else gq + more @ adjoint(gmore)
        return concat_tensors(_qr_back((gq, gr[..., :k]), q, r[..., :k]), q @ gmore, axis=-1)
    inner = r @ adjoint(gr) if gq is None else r @ adjoint(gr) - adjoint(gq) @ q
    inner = _halved(inner)
    whole = q @ (inner + adjoint(inner))
    return solve_triangle(adjoint(r), whole if gq is None else gq + whole, False, left=False)


@operator(_qr_by_x, method="", returns="Any")
def qr(x, mode="reduced", name=None):
    """x = Q R with orthonormal columns of Q and an upper triangle R; R alone for mode "r".

    x: [..., m, n]. "reduced": Q [..., m, k], R [..., k, n] with k = min(m, n); "complete": Q [..., m, m].
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f'mode: expected "reduced", "complete" or "r", got {mode!r}')
    q, r = torch.linalg.qr(x, "reduced" if mode == "r" else mode)
    return (r, q) if mode == "r" else ((q, r), None)


def _lu_factor_by_x(g: Any, out: Any) -> Any:
    packed, pivots, _ = out
    k = min(packed.shape[-2:])
    low, glow = packed[..., :k].tril(-1), g[0][..., :k].tril(-1)
    low = low + identity(packed, packed.shape[-2])[:, :k]
    up, gup = packed[..., :k, :].triu(), g[0][..., :k, :].triu()
    low1, up1, low2, up2 = low[..., :k, :], up[..., :k], low[..., k:, :], up[..., k:]
    inner = (adjoint(low1) @ glow[..., :k, :] - gup[..., k:] @ adjoint(up2)).tril(-1)
    inner = inner + (gup[..., :k] @ adjoint(up1) - adjoint(low2) @ glow[..., k:, :]).triu()
    top = solve_triangle(adjoint(low1), inner, True, True, True)
    rows = concat_tensors(top, glow[..., k:, :], axis=-2)
    rows = solve_triangle(adjoint(up1), rows, False, left=False)
    if up.shape[-1] > k:
        right = solve_triangle(adjoint(low1), gup[..., k:], True, True, True)
        rows = concat_tensors(rows, right, axis=-1)
    order = torch.lu_unpack(packed.data, pivots.data, unpack_data=False)[0]
    return Tensor(order) @ rows if isinstance(rows, Tensor) else order @ rows


@operator(_lu_factor_by_x, returns=tuple[Tensor, Tensor, Tensor])
def lu_factor(x, pivot):
    """Both triangles of P^T x = L U in one array, the rows exchanged (counted from 1), and where a pivot was
    0."""
    return tuple(torch.linalg.lu_factor_ex(x, pivot=pivot))


@composite(method="")
def lu(x, pivot=True, get_infos=False, name=None) -> tuple[Tensor, ...]:
    """Both triangles of x = P L U in one array, and the int32 pivots that `lu_unpack` reads.

    get_infos: also give, for each matrix, 0 or the (1-based) place of a pivot that is zero.
    """
    factors = lu_factor(x, pivot)
    return factors if get_infos else factors[:2]


@composite(method="")
def lu_unpack(x, y, unpack_ludata=True, unpack_pivots=True, name=None) -> tuple[Tensor, Tensor, Tensor]:
    """P, L and U from what `lu` gave: x both triangles, y the pivots. Parts not requested are empty."""
    if x.ndim < 2 or y.ndim < 1:
        raise InvalidArgument(
            f"lu_unpack: expected x [..., m, n] and y [..., k], got {[*x.shape]} and {[*y.shape]}"
        )
    nothing = Tensor(torch.empty(0, dtype=x.data.dtype))
    k = min(x.shape[-2:])
    p = Tensor(torch.lu_unpack(x.data, y.data, unpack_data=False)[0]) if unpack_pivots else nothing
    if not unpack_ludata:
        return p, nothing, nothing
    return p, x[..., :k].tril(-1) + identity(x, x.shape[-2])[:, :k], x[..., :k, :].triu()


# --- eigenvectors -------------------------------------------------------------------------------------------


def _eigh_by_x(g: Any, out: Any) -> Any:
    (gw, gv), (w, v) = g, out
    gaps = w.unsqueeze(-2) - w.unsqueeze(-1) + identity(w, w.shape[-1])
    inner = adjoint(v) @ gv / gaps * (1 - identity(w, w.shape[-1])) + diagonals(gw, 0, -2, -1)
    whole = v @ inner @ adjoint(v)
    return (whole + adjoint(whole)) * 0.5


@operator(_eigh_by_x, method="", returns=tuple[Tensor, Tensor])
def eigh(x, UPLO="L", name=None):
    """The eigenvalues of symmetric or Hermitian matrices in ascending order, and their vectors as columns.

    Reads the lower triangle, or with UPLO="U" the upper one.
    """
    return tuple(torch.linalg.eigh(x, UPLO))


@composite(method="")
def eigvalsh(x, UPLO="L", name=None) -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order."""
    return eigh(x, UPLO)[0]


def _eig_by_x(g: Any, out: Any, saved: bool) -> Any:
    (gw, gv), (w, v) = g, out
    one = identity(w, w.shape[-1])
    projected = adjoint(v) @ gv
    inner = projected - adjoint(v) @ (v * real(projected.diagonal(0, -2, -1)).unsqueeze(-2))
    gaps = (w.unsqueeze(-2) - w.unsqueeze(-1) + one).conj()
    inner = inner / gaps * (1 - one) + diagonals(gw, 0, -2, -1)
    whole = solve_matrix(adjoint(v), inner @ adjoint(v))
    return whole if saved else real(whole)


@operator(_eig_by_x, method="", returns=tuple[Tensor, Tensor])
def eig(x, name=None):
    """The complex eigenvalues of square matrices, and their vectors, of length 1, as columns."""
    return tuple(torch.linalg.eig(x)), x.is_complex()


@composite(method="")
def eigvals(x, name=None) -> Tensor:
    """The complex eigenvalues of square matrices."""
    return eig(x)[0]


def _svd_by_x(g: Any, out: Any) -> Any:
    (gu, gs, gvh), (u, s, vh) = g, out
    m, n, k = u.shape[-2], vh.shape[-1], s.shape[-1]
    u, gu, vh, gvh = u[..., :k], gu[..., :k], vh[..., :k, :], gvh[..., :k, :]
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    left, right = adjoint(u) @ gu, vh @ adjoint(gvh)
    left, right = left - adjoint(left), right - adjoint(right)
    inner = (left * row + right * column) / (row * row - column * column + identity(s, k))
    inner = inner + diagonals(gs, 0, -2, -1)
    if left.dtype.is_complex:
        inner = inner + diagonals(left.diagonal(0, -2, -1) / (s * 2), 0, -2, -1)
    rows = u @ inner
    if m > k:
        rows = rows + (gu - u @ (adjoint(u) @ gu)) / row
    result = rows @ vh
    return result + u @ ((gvh - gvh @ adjoint(vh) @ vh) / column) if n > k else result


@operator(_svd_by_x, method="", out=True, returns=tuple[Tensor, Tensor, Tensor])
def svd(x, full_matrices=False, name=None):
    """x = U diag(S) V^H: U, the singular values in descending order, and V^H.

    x: [..., m, n]. U [..., m, k] and V^H [..., k, n] with k = min(m, n); square with full_matrices, whose
    further vectors have no gradient.
    """
    return tuple(torch.linalg.svd(x, full_matrices))


@composite(method="")
def svdvals(x, name=None) -> Tensor:
    """The singular values, in descending order."""
    return svd(x)[1]
