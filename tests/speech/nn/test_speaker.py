"""The speaker network: pooling by hand, the margin loss beside Paddle's and torch, padding, errors."""

import math

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.nn.functional import margin_cross_entropy
from sampan.speech.nn import AngularMargin, AttentiveStatistics, SpeakerEncoder


def test_equal_weights_give_mean_and_deviation() -> None:
    pool = AttentiveStatistics(3)
    pool.outer.weight.set_value(paddle.zeros_like(pool.outer.weight))  # every score is the same
    x, mask = paddle.randn([2, 3, 9]), paddle.ones([2, 1, 9])
    mask[1, :, 6:] = 0
    found = pool(x, mask).numpy()
    for row, size in enumerate((9, 6)):
        held = x.numpy()[row, :, :size]
        np.testing.assert_allclose(found[row], [*held.mean(1), *held.std(1)], atol=1e-5)


@pytest.mark.parametrize("margin", [0.0, 0.2, 0.4])
def test_the_margin_loss_beside_paddles(margin) -> None:
    """Away from the largest angles the loss is `margin_cross_entropy` of the cosines (ArcFace)."""
    paddle.seed(1)
    loss = AngularMargin(5, 4, margin, 16.0)
    x = paddle.randn([7, 5])
    x.stop_gradient = False
    labels = paddle.to_tensor([0, 1, 2, 3, 0, 1, 2])
    unit = lambda v: v / (v * v).sum(1, keepdim=True).sqrt()
    cosine = unit(x) @ unit(loss.weight).T
    assert float((cosine * paddle.nn.functional.one_hot(labels, 4)).sum(1).min()) > -math.cos(margin)
    expected = margin_cross_entropy(cosine, labels, 1.0, margin, 0.0, 16.0)
    assert float(loss(x, labels)) == pytest.approx(float(expected), abs=1e-4)


def test_the_margin_loss_and_its_gradient_beside_torch() -> None:
    loss = AngularMargin(5, 4, 0.3, 16.0)
    x = paddle.randn([6, 5])
    x.stop_gradient = False
    labels = torch.tensor([0, 1, 2, 3, 0, 1])
    loss(x, paddle.to_tensor(labels.numpy())).backward()
    y = x.data.detach().double().requires_grad_()
    w = loss.weight.data.detach().double()
    with torch.enable_grad():
        cosine = torch.nn.functional.normalize(y) @ torch.nn.functional.normalize(w).T
        angle = cosine.clamp(-1 + 1e-9, 1 - 1e-9).acos()
        easy = cosine - 0.3 * math.sin(0.3)
        moved = torch.where(cosine > -math.cos(0.3), (angle + 0.3).cos(), easy)
        hot = torch.nn.functional.one_hot(labels, 4).bool()
        torch.nn.functional.cross_entropy(torch.where(hot, moved, cosine) * 16, labels).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), atol=1e-4)


def test_padding_and_the_colour_of_the_microphone_change_nothing() -> None:
    paddle.seed(0)
    network = SpeakerEncoder(10, 8, 6)
    network(paddle.randn([4, 30, 10]))
    network.eval()
    x = paddle.randn([2, 25, 10]) * 0.3
    found = network(paddle.concat([x, paddle.ones([2, 9, 10]) * 5], 1), paddle.to_tensor([25, 18]))
    np.testing.assert_allclose((found * found).sum(1).numpy(), 1, atol=1e-5)
    for row, size in enumerate((25, 18)):
        alone = network(x[row : row + 1, :size])[0]
        np.testing.assert_allclose(found[row].numpy(), alone.numpy(), atol=1e-5)
    coloured = network(x + paddle.linspace(-0.5, 0.5, 10))
    np.testing.assert_allclose(coloured.numpy(), network(x).numpy(), atol=1e-5)


def test_errors() -> None:
    with pytest.raises(ValueError, match="channels: expected a multiple of 4, got 6"):
        SpeakerEncoder(channels=6)
    with pytest.raises(ValueError, match="features: expected at least one frame in each recording, got none"):
        SpeakerEncoder(10, 8)(paddle.zeros([1, 5, 10]), np.array([0]))
