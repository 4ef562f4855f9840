"""Normalisation: values and gradients against torch, what is refused, and any order of memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same

F, TF = paddle.nn.functional, torch.nn.functional


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training: bool) -> None:
    (x, t), (w, v), (b, c) = both(*shape), both(3, seed=1), both(3, seed=2)
    mean, variance = np.array([0.1, -0.2, 0.3]), np.array([0.5, 1.0, 2.0])
    m, s = paddle.to_tensor(mean), paddle.to_tensor(variance)
    ours = F.batch_norm(x, m, s, w, b, training=training, momentum=0.8, epsilon=1e-3)
    theirs = TF.batch_norm(t, None if training else torch.tensor(mean), None if training else torch.tensor(variance), v, c, training, 0.0, 1e-3)  # fmt: skip
    axes = (0, *range(2, len(shape)))
    batch = (x.numpy().mean(axes), x.numpy().var(axes)) if training else (mean, variance)
    np.testing.assert_allclose(m.numpy(), 0.8 * mean + 0.2 * batch[0], rtol=1e-10)
    # Divided by n, not n - 1: as PaddlePaddle 3.3.1 has it.
    np.testing.assert_allclose(s.numpy(), 0.8 * variance + 0.2 * batch[1], rtol=1e-10)
    same(ours, theirs, (x, t), (w, v), (b, c))


def test_batch_norm_by_the_statistics_that_are_asked_for() -> None:
    x, _ = both(4, 3)
    m, s = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
    kept = F.batch_norm(x, m, s, training=True, use_global_stats=True)
    assert m.tolist() == [0.0] * 3
    np.testing.assert_allclose(kept.numpy(), x.numpy() / np.sqrt(1 + 1e-5), rtol=1e-12)
    own = F.batch_norm(x, m, s, training=False, use_global_stats=False)
    np.testing.assert_allclose(own.numpy().mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(m.numpy(), 0.1 * x.numpy().mean(0), rtol=1e-10)  # as PaddlePaddle 3.3.1


def test_batch_norm_refuses_statistics_that_were_overwritten() -> None:
    x, _ = both(4, 3)
    m, s = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
    fixed = F.batch_norm(x, m, s).sum()
    own = F.batch_norm(x, m, s, training=True)  # writes m and s
    (own * own).sum().backward()  # and does not need them itself
    with pytest.raises(RuntimeError, match="normalize_batch needs what it saved"):
        fixed.backward()


def test_batch_norm_with_channels_last() -> None:
    x, t = both(2, 4, 5, 3)
    ours = F.batch_norm(
        x, paddle.zeros([3], "float64"), paddle.ones([3], "float64"), training=True, data_format="NHWC"
    )
    theirs = TF.batch_norm(t.permute(0, 3, 1, 2), None, None, None, None, True).permute(0, 2, 3, 1)
    same(ours, theirs, (x, t))


@pytest.mark.parametrize("axes", [1, 2])
def test_layer_norm(axes: int) -> None:
    shape = (4,) if axes == 1 else (3, 4)
    (x, t), (w, v), (b, c) = both(2, 3, 4), both(*shape, seed=1), both(*shape, seed=2)
    same(F.layer_norm(x, shape, w, b, 1e-3), TF.layer_norm(t, shape, v, c, 1e-3), (x, t), (w, v), (b, c))
    x, t = both(2, 3, 4)
    same(F.layer_norm(x, shape[0] if axes == 1 else shape), TF.layer_norm(t, shape), (x, t))
    x, t = both(2, 3, 4)
    flat = F.layer_norm(x, shape, w.reshape([-1]), b.reshape([-1]))  # Paddle keeps them flat
    np.testing.assert_allclose(flat.numpy(), TF.layer_norm(t, shape, v, c).detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: F.batch_norm(x, paddle.zeros([2]), paddle.ones([3])), r"batch_norm: expected running_mean of shape \[3\], got \[2\]"),
        (lambda x: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), weight=paddle.ones([4])), "weight of shape"),
        (lambda x: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), data_format="NCWH"), "data_format one of NC, NCL"),
        (lambda x: F.layer_norm(x, [3, 5]), r"layer_norm: normalized_shape \[3, 5\] does not end the shape of x"),
        (lambda x: F.layer_norm(x, [4], weight=paddle.ones([3])), "weight|shape"),
    ],
)  # fmt: skip
def test_normalisations_that_do_not_fit(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(paddle.zeros([2, 3, 4]))


ORDERS = [(0, 1, 2, 3), (2, 3, 0, 1), (0, 2, 3, 1), (3, 2, 1, 0)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("order_g", ORDERS)
@pytest.mark.parametrize("order_x", ORDERS)
def test_batch_norm_of_one_sample_in_any_order_of_memory(order_x, order_g, training):
    """torch 2.13 gives a wrong gradient where a sample and its gradient lie in memory in different orders."""
    generator = torch.Generator().manual_seed(5)
    values, given = (torch.randn(1, 4, 3, 5, generator=generator, dtype=torch.float64) for _ in range(2))

    def gradient(x, g):
        x = paddle.Tensor(x, stop_gradient=False)
        mean, variance = paddle.zeros([4], "float64"), paddle.ones([4], "float64")
        out = paddle.nn.functional.batch_norm(x, mean, variance, training=training)
        return paddle.grad(out, x, paddle.Tensor(g))[0].data

    def laid_out(t, order):
        return t.permute(order).contiguous().permute([order.index(axis) for axis in range(4)])

    found = gradient(laid_out(values, order_x), laid_out(given, order_g))
    torch.testing.assert_close(found, gradient(values, given))
