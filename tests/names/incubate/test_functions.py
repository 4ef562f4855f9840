"""Functions of `incubate` that PaddlePaddle 3.3.1 runs on a CPU."""

import numpy as np
import pytest

import sampan as paddle
from sampan import incubate


def test_identity_loss() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 6.0]], stop_gradient=False)
    assert incubate.identity_loss(x, "sum") == incubate.identity_loss(x, 0) == 12
    assert incubate.identity_loss(x, "MEAN") == incubate.identity_loss(x, 1) == 3
    assert incubate.identity_loss(x).tolist() == incubate.identity_loss(x, 2).tolist() == x.tolist()
    incubate.identity_loss(x, "mean").backward()
    assert x.grad is not None and x.grad.tolist() == [[0.25, 0.25], [0.25, 0.25]]
    with pytest.raises(
        TypeError, match="identity_loss: reduction: expected sum, mean, none or 0 to 2, got 'all'"
    ):
        incubate.identity_loss(x, "all")


def test_softmax_with_a_mask() -> None:
    x, mask = paddle.rand([2, 3, 4, 4]), paddle.zeros([2, 1, 4, 4])
    mask[:, :, :, 2] = -1e4
    expected = paddle.nn.functional.softmax(x + mask, axis=-1)
    found = incubate.softmax_mask_fuse(x, mask)
    assert np.allclose(found.numpy(), expected.numpy()) and float(found[:, :, :, 2].max()) == 0


def test_messages_and_segments_under_their_first_names() -> None:
    x, ends = paddle.to_tensor([[1.0], [2.0]]), (paddle.to_tensor([0, 1]), paddle.to_tensor([1, 1]))
    assert incubate.graph_send_recv(x, *ends, "mean").tolist() == [[0.0], [1.5]]
    with pytest.raises(ValueError, match=r"graph_send_recv: expected one of .* for pool_type, got 'prod'"):
        incubate.graph_send_recv(x, *ends, "prod")
    assert incubate.segment_max is paddle.geometric.segment_max


def test_softmax_up_to_the_diagonal() -> None:
    x = paddle.to_tensor(np.random.default_rng(0).standard_normal((2, 3, 5, 5)), stop_gradient=False)
    found = incubate.softmax_mask_fuse_upper_triangle(x)
    for i in range(5):
        shares = np.exp(x.numpy()[:, :, i, : i + 1])
        expected = np.zeros((2, 3, 5))
        expected[:, :, : i + 1] = shares / shares.sum(-1, keepdims=True)
        assert np.allclose(found.numpy()[:, :, i], expected)
    weights = paddle.to_tensor(np.random.default_rng(1).standard_normal(x.shape))
    (found * weights).sum().backward()
    assert x.grad is not None and float(x.grad.triu(1).abs().max()) == 0
    step = np.zeros(x.shape)
    step[1, 2, 3, 1] = 1e-6
    ends = [
        float(
            (
                incubate.softmax_mask_fuse_upper_triangle(x.detach() + s * paddle.to_tensor(step)) * weights
            ).sum()
        )
        for s in (1, -1)
    ]
    assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(float(x.grad[1, 2, 3, 1]), abs=1e-6)
    with pytest.raises(
        ValueError, match=r"softmax_mask_fuse_upper_triangle: x: expected .batch, heads, n, n."
    ):
        incubate.softmax_mask_fuse_upper_triangle(x[:, :, 1:])
