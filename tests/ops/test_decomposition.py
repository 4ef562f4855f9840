"""Decompositions and what is solved with them against torch: values, and gradients of the first and second order."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import linalg
from sampan.engine.tensor import Tensor


def drawn(*shape: int, kind: torch.dtype = torch.float64, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=kind, generator=torch.Generator().manual_seed(seed + sum(shape)))


def positive(x):
    """A symmetric (Hermitian) positive definite matrix made of any."""
    turned = x.mT.conj() if x.dtype.is_complex else x.mT
    return x @ turned + torch.eye(x.shape[-1], dtype=x.data.dtype) * 2


def listed(result) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def agree(ours, theirs, *arrays: torch.Tensor, second: bool = True) -> None:
    """Two functions of the same arrays: their values, gradients, and gradients of a sum of squared gradients."""
    mine = [Tensor(a.clone(), stop_gradient=False) for a in arrays]
    other = [a.clone().requires_grad_() for a in arrays]
    results, expected = listed(ours(*mine)), listed(theirs(*other))
    assert len(results) == len(expected)
    weights = [
        torch.randn(e.shape, dtype=e.dtype, generator=torch.Generator().manual_seed(9)) for e in expected
    ]
    for r, e in zip(results, expected, strict=True):
        torch.testing.assert_close(r.data.resolve_conj(), e.detach().resolve_conj())
    first = paddle.grad(results, mine, [Tensor(w) for w in weights], create_graph=True)
    wanted = torch.autograd.grad(expected, other, weights, create_graph=True)
    for g, w in zip(first, wanted, strict=True):
        torch.testing.assert_close(g.data.resolve_conj(), w.detach().resolve_conj(), rtol=1e-8, atol=1e-8)
    if not second:
        return
    total = sum((g * g).sum() for g in first)
    reference = sum((w * w).sum() for w in wanted)
    for g, w in zip(paddle.grad(total, mine), torch.autograd.grad(reference, other), strict=True):
        torch.testing.assert_close(g.data, w, rtol=1e-6, atol=1e-6)


def signed(columns):
    """Columns whose largest entry counts, so that their sign (or phase) does not matter."""
    return columns * columns


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape, upper) -> None:
    agree(
        lambda x: linalg.cholesky(positive(x), upper),
        lambda x: torch.linalg.cholesky(positive(x), upper=upper),
        drawn(*shape),
    )


def test_cholesky_of_complex_matrices() -> None:
    agree(
        lambda x: linalg.cholesky(positive(x)),
        lambda x: torch.linalg.cholesky(positive(x)),
        drawn(3, 3, kind=torch.complex128),
        second=False,
    )
    with pytest.raises(ValueError, match=r"cholesky: .*not positive-definite"):
        linalg.cholesky(paddle.to_tensor([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("upper", [False, True])
def test_solved_with_a_cholesky_factor(upper) -> None:
    factor = drawn(3, 3).abs().triu() if upper else drawn(3, 3).abs().tril()
    factor = factor + torch.eye(3, dtype=torch.float64)
    part = (lambda t: t.triu()) if upper else (lambda t: t.tril())
    agree(
        lambda b, y: linalg.cholesky_solve(b, part(y), upper),
        lambda b, y: torch.cholesky_solve(b, part(y), upper=upper),
        drawn(3, 2), factor,
    )  # fmt: skip
    agree(
        lambda y: linalg.cholesky_inverse(part(y), upper),
        lambda y: torch.cholesky_inverse(part(y), upper=upper),
        factor,
    )
    with pytest.raises(ValueError, match="cholesky_inverse: expected a square matrix"):
        linalg.cholesky_inverse(paddle.ones([2, 3]))


@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 3, 4)])
def test_qr(shape) -> None:
    agree(linalg.qr, torch.linalg.qr, drawn(*shape))
    agree(lambda x: linalg.qr(x, mode="r"), lambda x: torch.linalg.qr(x)[1], drawn(*shape))


def test_modes_of_qr() -> None:
    x = drawn(4, 3)
    q, r = linalg.qr(Tensor(x), mode="complete")
    assert q.shape == [4, 4] and r.shape == [4, 3]
    torch.testing.assert_close((q @ r).data, x)
    agree(lambda x: linalg.qr(x, "complete"), lambda x: torch.linalg.qr(x, "complete"), drawn(3, 3))
    agree(linalg.qr, torch.linalg.qr, drawn(3, 3, kind=torch.complex128), second=False)
    with pytest.raises(ValueError, match='qr: mode: expected "reduced"'):
        linalg.qr(Tensor(x), mode="raw")
    with pytest.raises(NotImplementedError, match="no more rows than columns"):
        leaf = Tensor(x, stop_gradient=False)
        linalg.qr(leaf, "complete")[0].sum().backward()


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (2, 3, 4)])
def test_lu(shape) -> None:
    x = drawn(*shape)
    agree(lambda x: linalg.lu(x)[0], lambda x: torch.linalg.lu_factor(x)[0], x)
    agree(
        lambda x: linalg.lu_unpack(*linalg.lu(x))[1:],
        lambda x: torch.linalg.lu(x)[1:],
        x,
    )
    factors, pivots, infos = linalg.lu(Tensor(x), get_infos=True)
    assert pivots.dtype == torch.int32 and not infos.data.any()
    p, lower, upper = linalg.lu_unpack(factors, pivots)
    torch.testing.assert_close((p @ lower @ upper).data, x)
    assert linalg.lu_unpack(factors, pivots, unpack_pivots=False)[0].size == 0
    assert linalg.lu_unpack(factors, pivots, unpack_ludata=False)[1].size == 0


@pytest.mark.parametrize("trans", ["N", "T"])
def test_lu_solve(trans) -> None:
    agree(
        lambda b, x: linalg.lu_solve(b, *linalg.lu(x), trans=trans),
        lambda b, x: torch.linalg.solve(x.mT if trans == "T" else x, b),
        drawn(3, 2), drawn(3, 3),
    )  # fmt: skip


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4)])
@pytest.mark.parametrize("half", ["L", "U"])
def test_eigenvectors_of_symmetric_matrices(shape, half) -> None:
    def ours(x):
        values, vectors = linalg.eigh(positive(x), half)
        return values, signed(vectors)

    def theirs(x):
        values, vectors = torch.linalg.eigh(positive(x), half)
        return values, signed(vectors)

    agree(ours, theirs, drawn(*shape))
    agree(lambda x: linalg.eigvalsh(positive(x)), lambda x: torch.linalg.eigvalsh(positive(x)), drawn(*shape))


def test_eigenvectors() -> None:
    def order(values):  # LAPACK gives them in the same order to both
        return values

    agree(
        lambda x: order(linalg.eigvals(x)),
        lambda x: order(torch.linalg.eigvals(x)),
        drawn(4, 4),
        second=False,
    )

    def ours(x):
        vectors = linalg.eig(x)[1]
        return vectors.real() * vectors.real() + vectors.imag() * vectors.imag()

    agree(ours, lambda x: torch.linalg.eig(x)[1].abs().square(), drawn(3, 3), second=False)
    values, vectors = linalg.eig(Tensor(drawn(3, 3)))
    x = drawn(3, 3).to(torch.complex128)
    torch.testing.assert_close(x @ vectors.data, vectors.data * values.data)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (2, 3, 4)])
def test_svd(shape) -> None:
    def ours(x):
        u, s, vh = linalg.svd(x)
        return signed(u), s, signed(vh), u @ vh

    def theirs(x):
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        return signed(u), s, signed(vh), u @ vh

    agree(ours, theirs, drawn(*shape))
    u, s, vh = linalg.svd(Tensor(drawn(*shape)), full_matrices=True)
    assert u.shape[-1] == shape[-2] and vh.shape[-2] == shape[-1] and s.shape[-1] == 3


def test_svd_of_complex_matrices() -> None:
    agree(
        lambda x: [(f := linalg.svd(x))[0] @ f[2], f[1]],
        lambda x: [(f := torch.linalg.svd(x, full_matrices=False))[0] @ f[2], f[1]],
        drawn(3, 4, kind=torch.complex128),
        second=False,
    )


def test_triangular_solve() -> None:
    a = drawn(3, 3).abs() + torch.eye(3, dtype=torch.float64)
    for upper in (True, False):
        for transpose in (True, False):
            for unit in (True, False):
                agree(
                    lambda a, b, u=upper, t=transpose, n=unit: linalg.triangular_solve(a, b, u, t, n),
                    lambda a, b, u=upper, t=transpose, n=unit: torch.linalg.solve_triangular(
                        a.mT if t else a, b, upper=u != t, unitriangular=n
                    ),
                    a, drawn(3, 2),
                )  # fmt: skip


def test_solve() -> None:
    agree(linalg.solve, torch.linalg.solve, drawn(2, 3, 3), drawn(2, 3))  # a vector for each matrix
    agree(
        lambda a, b: linalg.solve(a, b, left=False),
        lambda a, b: torch.linalg.solve(a, b, left=False),
        drawn(3, 3), drawn(2, 3),
    )  # fmt: skip
    agree(
        linalg.solve, torch.linalg.solve, drawn(2, 2, kind=torch.complex128), drawn(2, 2, kind=torch.complex128, seed=1),
        second=False,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"^solve: "):
        linalg.solve(paddle.ones([2, 2]), paddle.ones([3, 1]))
    with pytest.raises(ValueError, match="singular"):
        linalg.inv(paddle.ones([2, 2]))


def test_a_singular_determinant_has_no_gradient() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [2.0, 4.0]], stop_gradient=False)
    linalg.det(x).backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    agree(linalg.det, torch.linalg.det, drawn(2, 3, 3, kind=torch.complex128), second=False)


@pytest.mark.parametrize("driver", [None, "gels", "gelsd", "gelss"])
def test_least_squares(driver) -> None:
    x, y = drawn(5, 3), drawn(5, 2)
    solution, residuals, rank, values = linalg.lstsq(Tensor(x), Tensor(y), driver=driver)
    expected, squares, count, singular = np.linalg.lstsq(x.numpy(), y.numpy(), rcond=None)
    np.testing.assert_allclose(solution.numpy(), expected, rtol=1e-9)
    if driver is not None:  # gelsy gives none
        np.testing.assert_allclose(residuals.numpy(), squares, rtol=1e-9)
    if driver != "gels":
        assert rank.dtype == torch.int32 and int(rank) == count
    if driver in ("gelsd", "gelss"):
        np.testing.assert_allclose(values.numpy(), singular, rtol=1e-9)
    with pytest.raises(ValueError, match="lstsq: expected x"):
        linalg.lstsq(Tensor(x), Tensor(y[:4]))


def test_matrix_rank() -> None:
    x = torch.diag(torch.tensor([3.0, 1.0, 0.0, 1e-9], dtype=torch.float64))
    assert int(linalg.matrix_rank(Tensor(x))) == 3
    assert int(linalg.matrix_rank(Tensor(x), tol=2.0)) == 1
    assert int(linalg.matrix_rank(Tensor(x), rtol=0.5)) == 1
    assert int(linalg.matrix_rank(Tensor(x), atol=1e-8, rtol=0.0)) == 2
    assert int(linalg.matrix_rank(Tensor(-x), hermitian=True)) == 3
    both = Tensor(torch.stack([x, x]))
    assert linalg.matrix_rank(both, tol=paddle.to_tensor([2.0, 0.5], "float64")).tolist() == [1, 2]
    with pytest.raises(ValueError, match="either tol or atol and rtol"):
        linalg.matrix_rank(Tensor(x), tol=1.0, atol=1.0)


def test_multi_dot() -> None:
    sizes = (3, 30, 2, 40, 4)
    chain = [drawn(n, m) for n, m in pairwise(sizes)]
    agree(lambda *xs: linalg.multi_dot(list(xs)), lambda *xs: torch.linalg.multi_dot(xs), *chain)
    ends = [drawn(3), drawn(3, 4), drawn(4)]
    agree(lambda *xs: linalg.multi_dot(list(xs)), lambda *xs: torch.linalg.multi_dot(xs), *ends)
    with pytest.raises(ValueError, match="at least two matrices"):
        linalg.multi_dot([Tensor(chain[0])])


def test_reflections() -> None:
    x, tau, y = drawn(4, 3), drawn(3).abs(), drawn(4, 2)
    q = torch.linalg.householder_product(
        torch.cat([x, torch.zeros(4, 1)], 1), torch.cat([tau, torch.zeros(1)])
    )
    for transpose in (True, False):
        expected = (q[:, :3].mT if transpose else q[:, :3]) @ (y if transpose else y[:3])
        ours = linalg.ormqr(Tensor(x), Tensor(tau), Tensor(y if transpose else y[:3]), True, transpose)
        torch.testing.assert_close(ours.data, expected)
    with pytest.raises(ValueError, match="householder_product: expected x"):
        linalg.householder_product(Tensor(y.mT), Tensor(tau))


@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_low_rank(shape) -> None:
    paddle.seed(1)
    x = drawn(*shape[:1], 2) @ drawn(2, *shape[1:])  # of rank 2
    u, s, v = linalg.svd_lowrank(Tensor(x), q=3)
    torch.testing.assert_close((u * s @ v.mT).data, x)
    assert u.shape == [shape[0], 3] and v.shape == [shape[1], 3]
    centred = x - x.mean(0)
    np.testing.assert_allclose(
        linalg.pca_lowrank(Tensor(x), q=2)[1].numpy(), torch.linalg.svdvals(centred)[:2].numpy(), rtol=1e-8
    )
    shifted = linalg.svd_lowrank(Tensor(x + 1), q=2, M=Tensor(torch.ones(shape, dtype=torch.float64)))[1]
    np.testing.assert_allclose(shifted.numpy(), s.numpy()[:2], rtol=1e-8)
    with pytest.raises(ValueError, match="svd_lowrank: expected 0 <= q <= 4"):
        linalg.svd_lowrank(Tensor(x), q=9)


def test_pinv_of_hermitian_matrices() -> None:
    agree(
        lambda x: linalg.pinv(positive(x), hermitian=True),
        lambda x: torch.linalg.pinv(positive(x), hermitian=True),
        drawn(3, 3),
    )
    x = torch.diag(torch.tensor([3.0, 1.0, 1e-3], dtype=torch.float64))
    torch.testing.assert_close(
        linalg.pinv(Tensor(x), rcond=0.01).data,
        torch.diag(torch.tensor([1 / 3, 1.0, 0.0], dtype=torch.float64)),
    )


def test_norms_as_paddle_reads_their_arguments() -> None:
    x = drawn(2, 3, 4)
    t = Tensor(x)
    for p, axis, expected in (
        (None, None, x.norm()),
        ("fro", None, None),
        ("fro", [0, 1], torch.linalg.matrix_norm(x, "fro", (0, 1))),
        (None, [0, 1], torch.linalg.matrix_norm(x, 2, (0, 1))),  # None is 2, also of matrices
        (math.inf, (1, 2), torch.linalg.matrix_norm(x, math.inf, (1, 2))),
        (3, 1, torch.linalg.vector_norm(x, 3, 1)),
        (0, [0, 1, 2], torch.tensor(24.0, dtype=torch.float64)),
    ):
        if expected is None:
            assert float(linalg.norm(t, p)) == pytest.approx(float(x.norm()))
        else:
            torch.testing.assert_close(linalg.norm(t, p, axis).data, expected)
    out = paddle.zeros([], "float64")
    assert linalg.norm(t, out=out) is out and float(out) == pytest.approx(float(x.norm()))
    assert linalg.norm(t, 1, [0, 2], keepdim=True).shape == [1, 3, 1]
    with pytest.raises(ValueError, match="matrix_norm: p: expected"):
        linalg.matrix_norm(t, 3)
    with pytest.raises(ValueError, match="matrix_norm: axis: expected two axes"):
        linalg.matrix_norm(t, axis=[0])
    with pytest.raises(ValueError, match="vector_norm: p: expected a number"):
        linalg.vector_norm(t, "fro")


def test_a_norm_of_zeros_has_the_gradient_zero() -> None:
    for p in (1, 2, 3, 0.5):
        x = paddle.zeros([2, 2], "float64")
        x.stop_gradient = False
        linalg.vector_norm(x, p).backward()
        assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]], p


def test_distances() -> None:
    x, y = drawn(30, 3), drawn(2, 3)
    for mode in (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ):
        torch.testing.assert_close(
            paddle.cdist(Tensor(x), Tensor(y), compute_mode=mode).data, torch.cdist(x, y)
        )
    with pytest.raises(ValueError, match="cdist: compute_mode"):
        paddle.cdist(Tensor(x), Tensor(y), compute_mode="mm")
    with pytest.raises(ValueError, match="cdist: expected x"):
        paddle.cdist(Tensor(x), Tensor(drawn(2, 4)))
    with pytest.raises(ValueError, match="pdist: expected a matrix"):
        paddle.pdist(Tensor(drawn(3)))


def test_trace_is_also_the_sum_of_a_diagonal() -> None:
    x = drawn(3, 4)
    assert float(paddle.trace(Tensor(x), offset=1)) == pytest.approx(float(x.diagonal(1).sum()))
    with paddle.trace() as seen:
        Tensor(x).trace()
    assert [r.operator for r in seen] == ["diagonal", "sum"]
