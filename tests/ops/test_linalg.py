"""Products: linear against torch, einsum against NumPy, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same

F, TF = paddle.nn.functional, torch.nn.functional


def test_linear() -> None:
    (w, v), (b, c) = both(4, 5, seed=1), both(5, seed=2)
    for shape in ((3, 4), (2, 3, 4), (4,)):
        x, t = both(*shape)
        same(F.linear(x, w.detach(), b.detach()), TF.linear(t, v.detach().T, c.detach()), (x, t))
    with pytest.raises(ValueError, match=r"linear: expected x \[\.\.\., in\] and weight \[in, out\]"):
        F.linear(paddle.zeros([3, 5]), w)
    for shape in ((4,), (2, 4, 5)):  # a weight of another rank: the product of matmul
        (x, t), (w, v) = both(2, 3, 4), both(*shape, seed=3)
        same(F.linear(x, w), t @ v, (x, t), (w, v))
        np.testing.assert_allclose(
            F.linear(x, w, paddle.ones([1])).numpy(), (t @ v + 1).detach().numpy(), rtol=1e-6
        )


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (4,)])
@pytest.mark.parametrize("bias", [(5,), (1,), (1, 5), (3, 5), ()])
def test_a_bias_of_any_shape_is_added_as_in_a_sum(shape, bias) -> None:
    (x, t), (w, v), (b, c) = both(*shape), both(4, 5, seed=1), both(*bias, seed=2)
    same(F.linear(x, w, b), t @ v + c, (x, t), (w, v), (b, c))
    assert b.grad.shape == list(bias)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,kj", [(2, 3), (4, 3)]), ("ii", [(3, 3)]), ("ii->i", [(3, 3)]), ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("i,j,k->ijk", [(2,), (3,), (4,)]), ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]), ("iij,j->i", [(2, 2, 3), (3,)]),
        ("i...->...", [(2, 3, 4)]), ("...,...", [(2, 3), (3,)]), ("ij,ij->ij", [(2, 3), (2, 3)]), ("bi,bj,bk->bijk", [(2, 3), (2, 2), (2, 4)]),
    ],
)  # fmt: skip
def test_einsum_as_numpy(equation: str, shapes) -> None:
    pairs = [both(*s, seed=i) for i, s in enumerate(shapes)]
    ours = paddle.einsum(equation, *(x for x, _ in pairs))
    np.testing.assert_allclose(ours.numpy(), np.einsum(equation, *(x.numpy() for x, _ in pairs)), rtol=1e-12)
    same(ours, torch.einsum(equation, *(t for _, t in pairs)), *pairs)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("ij,jk->ik", [(2, 3), (2, 3)]), ("ij->ij", [(2,)]), ("ij,jk", [(2, 3)]), ("ij->k", [(2, 3)])],
)  # fmt: skip
def test_einsum_refuses(equation: str, shapes) -> None:
    with pytest.raises(ValueError, match="einsum"):
        paddle.einsum(equation, *(paddle.zeros(list(s)) for s in shapes))


def test_einsum_of_a_label_that_is_written_twice_fills_the_diagonal() -> None:
    x = paddle.arange(1, 7, dtype="float64").reshape([2, 3])
    expected = x.numpy()[:, :, None] * np.eye(3)
    np.testing.assert_array_equal(paddle.einsum("ij->ijj", x).numpy(), expected)
