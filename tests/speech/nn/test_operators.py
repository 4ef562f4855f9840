"""The Conformer's operators against torch's functions: values, first and second derivatives in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import sampan as paddle
from sampan.engine.tensor import Tensor
from sampan.speech.nn import operators


def both_derivatives(ours, theirs, shapes) -> None:
    """Value, gradients, and the gradient of the gradients' squares, of a function of arrays of these shapes."""
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    xs = [paddle.to_tensor(a, stop_gradient=False) for a in arrays]
    ts = [torch.from_numpy(a).requires_grad_() for a in arrays]
    found, expected = ours(*xs), theirs(*ts)
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), atol=1e-12)
    weights = rng.normal(size=found.shape)
    first = paddle.grad((found**2 * paddle.to_tensor(weights)).sum(), xs, create_graph=True)
    wanted = torch.autograd.grad((expected**2 * torch.from_numpy(weights)).sum(), ts, create_graph=True)
    for one, other in zip(first, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), atol=1e-10)
    sum((g**2).sum() for g in first).backward()
    sum((g**2).sum() for g in wanted).backward()
    for x, t in zip(xs, ts, strict=True):
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-9, atol=1e-9)
    with paddle.no_grad():  # gradients of the first order alone take another way
        plain = ours(*xs)
    assert np.array_equal(plain.numpy(), found.numpy())
    again = ours(*xs)
    only = paddle.grad((again**2 * paddle.to_tensor(weights)).sum(), xs)
    for one, other in zip(only, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), atol=1e-10)


def test_a_linear_layer_over_the_last_axis() -> None:
    both_derivatives(operators.project, lambda x, w, b: F.linear(x, w.T, b), [(2, 3, 4), (4, 5), (5,)])
    both_derivatives(
        lambda x, w: operators.project(x, w, None), lambda x, w: F.linear(x, w.T), [(3, 4), (4, 5)]
    )


def test_a_residual() -> None:
    both_derivatives(lambda x, y: operators.residual(x, y, 0.5), lambda x, y: x + 0.5 * y, [(2, 3), (2, 3)])


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 4), (3, 3), (2, 5)])
def test_scores_by_distance(queries, keys) -> None:
    def theirs(query, bias, places):
        """Query by query, each with the rows of its own distances."""
        rows = []
        for i in range(queries):
            first = queries - 1 - i
            rows.append(torch.einsum("bhs,jhs->bhj", query[:, i] + bias, places[first : first + keys]))
        return torch.stack(rows, 2) * 0.3

    shapes = [(2, queries, 2, 3), (2, 3), (keys + queries - 1, 2, 3)]
    both_derivatives(lambda *given: operators.scores_by_distance(*given, 0.3), theirs, shapes)


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 5), (3, 3), (2, 6)])
def test_shift_takes_each_row_from_its_column_on(queries, keys) -> None:
    scores = paddle.randn([2, 3, queries, keys + queries - 1], "float64")
    found = operators.shift(scores, queries).numpy()
    assert found.shape == (2, 3, queries, keys)
    for i in range(queries):
        first = queries - 1 - i
        np.testing.assert_array_equal(found[:, :, i], scores.numpy()[:, :, i, first : first + keys])
    g = paddle.randn(found.shape, "float64")
    inner = (g.numpy() * found).sum()
    np.testing.assert_allclose((operators.unshift(g, queries) * scores).sum().item(), inner, rtol=1e-12)


@pytest.mark.parametrize(("time", "kernel"), [(1, 1), (5, 3), (2, 6)])
def test_depthwise_convolution(time, kernel) -> None:
    def theirs(x, weight, bias):
        return F.conv1d(x.transpose(1, 2), weight, bias, groups=4).transpose(1, 2)

    both_derivatives(operators.depthwise, theirs, [(2, time + kernel - 1, 4), (4, 1, kernel), (4,)])


def test_depthwise_convolution_gives_a_frame_the_same_bits_wherever_it_lies() -> None:
    x, weight, bias = paddle.randn([1, 60, 33]), paddle.randn([33, 1, 9]), paddle.randn([33])
    whole = operators.depthwise(x, weight, bias).numpy()
    parts = [operators.depthwise(x[:, at : at + 12], weight, bias).numpy() for at in range(0, 52, 4)]
    assert np.array_equal(np.concatenate(parts, 1), whole)


def test_depthwise_convolution_in_half_precision() -> None:
    x, weight = torch.randn(2, 8, 4).bfloat16(), torch.randn(4, 1, 3).bfloat16()
    bias = torch.zeros(4).bfloat16()
    xs = [Tensor(v, stop_gradient=False) for v in (x, weight, bias)]
    found = operators.depthwise(*xs)
    expected = operators.depthwise(*(v.astype("float32") for v in xs))
    np.testing.assert_allclose(found.astype("float32").numpy(), expected.numpy(), atol=0.1)
    slopes = paddle.grad(found.sum(), xs)
    wanted = paddle.grad(expected.sum(), xs)
    for one, other in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(one.astype("float32").numpy(), other.astype("float32").numpy(), atol=0.2)
