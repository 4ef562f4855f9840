"""Jacobians and Hessians against torch.func, how they are indexed, and products with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sampan.incubate import autograd

import sampan as paddle
from sampan.autograd import hessian, jacobian
from sampan.engine.tensor import Tensor


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


def leaf(data: torch.Tensor) -> Tensor:
    return Tensor(data.clone(), stop_gradient=False)


def f(x):
    return x * x * x.sum(-1, keepdim=True)


def same(actual, expected) -> None:
    np.testing.assert_allclose(actual.numpy(), expected.numpy())


def test_a_jacobian_and_its_parts() -> None:
    data = drawn(3)
    x, expected = leaf(data), torch.func.jacrev(f)(data)
    j = jacobian(f(x), x)
    assert j.shape == [3, 3] and j._rows == {}
    same(j[1], expected[1])
    assert list(j._rows) == [1]  # only what was read has been worked out
    for index in (
        (0, 1),
        (slice(None), 2),
        slice(1, 3),
        (slice(None, None, 2), slice(0, 2)),
        (-1, -1),
        slice(None),
    ):
        same(j[index], expected[index])


def test_jacobians_of_numbers_have_fewer_axes() -> None:
    data = drawn(3)
    x = leaf(data)
    gradient = jacobian((x * x).sum(), x)
    assert gradient.shape == [3]
    same(gradient[:], data * 2)
    same(gradient[1], data[1] * 2)
    number = leaf(drawn())
    column = jacobian(number * Tensor(data), number)
    assert column.shape == [3]
    same(column[0:2], data[0:2])
    second = jacobian(number * number, number)
    assert second.shape == []
    same(second + 1.0, number.data * 2 + 1)
    with pytest.raises(IndexError, match="expected a vector to index, got a scalar"):
        second[0]


def test_a_jacobian_for_each_place_of_a_batch() -> None:
    data = drawn(4, 3)
    x, expected = leaf(data), torch.func.vmap(torch.func.jacrev(f))(data)
    j = jacobian(f(x), x, batch_axis=0)
    assert j.shape == [4, 3, 3]
    for index in (slice(None), (slice(None), 0), (1, 2), (slice(0, 2), 1, 2), (slice(None), slice(None), 1)):
        same(j[index], expected[index])
    rows = jacobian((x * x).sum(1), x, batch_axis=0)
    assert rows.shape == [4, 3]
    same(rows[:, 1], data[:, 1] * 2)


def test_jacobians_of_tuples() -> None:
    x, z = leaf(drawn(3)), leaf(drawn(3) + 1)
    (a, b), (c, d) = jacobian((x * z, x + 1.0), (x, z))
    same(a[:], torch.diag(z.data))
    same(b[:], torch.diag(x.data))
    same(c[:], torch.eye(3, dtype=torch.float64))
    same(d[:], torch.zeros(3, 3, dtype=torch.float64))  # not used


def test_a_jacobian_is_a_tensor_in_sums() -> None:
    data = drawn(3)
    x, expected = leaf(data), torch.func.jacrev(f)(data)
    j = jacobian(f(x), x)
    for ours, theirs in (
        (j + j, expected * 2), (j * 2.0, expected * 2), (j @ j, expected @ expected), (j - 1.0, expected - 1),
        (j / 2.0, expected / 2), (j > 0.0, expected > 0), (j.sum(), expected.sum()), (j**2, expected**2),
    ):  # fmt: skip
        same(ours, theirs)


def test_hessians() -> None:
    data = drawn(3)
    g = lambda x: (x * x * x).sum() * x[0]
    x = leaf(data)
    h = hessian(g(x), x)
    same(h[:], torch.autograd.functional.hessian(g, data))
    assert type(h).__name__ == "Hessian" and h.shape == [3, 3]
    other = leaf(drawn(2))
    (_, mixed), (turned, _) = hessian((x * x).sum() * (other * other * other).sum(), (x, other))
    same(mixed[:], torch.outer(x.data * 2, other.data**2 * 3))
    same(turned[:], mixed[:].data.T)
    rows = leaf(drawn(4, 3))
    batch = hessian((rows * rows * rows).sum(1, keepdim=True), rows, batch_axis=0)
    same(batch[:], torch.diag_embed(rows.data * 6))


def test_what_a_jacobian_refuses() -> None:
    x, matrix = leaf(drawn(3)), leaf(drawn(2, 3))
    j = jacobian(f(x), x)
    for index, kind in ((..., IndexError), ("a", TypeError), (5, IndexError), ((0, 0, 0), IndexError)):
        with pytest.raises(kind):
            j[index]
    with pytest.raises(ValueError, match=r"xs\.ndim should be 0 or 1 when is_batched=False but got 2"):
        jacobian(matrix * 1.0, matrix)
    with pytest.raises(ValueError, match="batch_axis should be None or 0, but got 1"):
        jacobian(matrix, matrix, batch_axis=1)
    with pytest.raises(ValueError, match="batch_axis should be None or 0"):
        hessian(matrix.sum(), matrix, batch_axis=1)
    with pytest.raises(ValueError, match="hessian: expected one number"):
        hessian(f(x), x)


def test_products_with_jacobians() -> None:
    a, b, v, w = drawn(2, 3), drawn(3, 2), drawn(2, 2), drawn(3, 2) * 2
    values, gradients = autograd.vjp(lambda x, y: x @ y, (Tensor(a), Tensor(b)), Tensor(v))
    same(values, a @ b)
    same(gradients[0], v @ b.T)
    same(gradients[1], a.T @ v)
    values, tangent = autograd.jvp(lambda x, y: x @ y, (Tensor(a), Tensor(b)), (Tensor(a * 3), Tensor(w)))
    same(tangent, a * 3 @ b + a @ w)
    values, tangents = autograd.jvp(lambda x: (x * x, x.sum()), Tensor(a))
    same(tangents[0], a * 2)
    assert float(tangents[1]) == 6.0
    values, gradient = autograd.vjp(lambda x: x * x, Tensor(a))
    same(gradient, a * 2)
    with pytest.raises(RuntimeError, match="v: expected the shapes"):
        autograd.jvp(lambda x: x * x, Tensor(a), Tensor(b))
    for bad in ((1, Tensor(a)), (f, 1), (f, Tensor(a), 1)):
        with pytest.raises(TypeError, match="expected a"):
            autograd.vjp(*bad)


def test_matrices_of_functions() -> None:
    a, b = drawn(2, 2), drawn(2, 2) * 2
    j = autograd.Jacobian(lambda x, y: x @ y, [Tensor(a), Tensor(b)])
    first, second = torch.func.jacrev(torch.matmul, (0, 1))(a, b)
    expected = torch.cat([first.reshape(4, 4), second.reshape(4, 4)], 1)
    assert j.shape == (4, 8)
    same(j[:], expected)
    same(j[1:3, 2:], expected[1:3, 2:])
    rows = drawn(3, 2)
    batch = autograd.Jacobian(lambda x: (x * x, x + 1.0), Tensor(rows), is_batched=True)
    assert batch.shape == (3, 4, 2)
    same(batch[:, 0], torch.stack([rows[:, 0] * 2, torch.zeros(3, dtype=torch.float64)], 1))
    same(autograd.Hessian(lambda x: (x * x * x).sum(), Tensor(a))[:], torch.diag(a.flatten() * 6))
    same(
        autograd.Hessian(lambda x: (x * x * x).sum(1, keepdim=True), Tensor(rows), is_batched=True)[:],
        torch.diag_embed(rows * 6),
    )
    with pytest.raises(RuntimeError, match="Hessian: expected one number"):
        autograd.Hessian(lambda x: x * x, Tensor(a))


def test_gradients_by_paddles_other_names() -> None:
    x = leaf(drawn(3))
    y = x * x
    same(autograd.grad(y, x), x.data * 2)
    same(autograd.grad([y], [x], [Tensor(x.data)])[0], x.data**2 * 2)
    same(autograd.forward_grad(y, x, Tensor(x.data)), x.data**2 * 2)
    same(paddle.incubate.autograd.forward_grad([y], [x])[0], x.data * 2)
    autograd.enable_prim()
    assert autograd.prim_enabled()
    autograd.disable_prim()
    assert not autograd.prim_enabled()
