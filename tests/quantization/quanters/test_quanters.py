"""Quanters in training."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.quantization import quanters


def test_the_value_lies_on_the_grid_and_the_gradient_passes() -> None:
    x: Any = paddle.to_tensor([0.0, 0.26, -0.25, 3.0], stop_gradient=False)
    y = quanters.fake_quantize(x, paddle.to_tensor([1.0]), 2)
    y.sum().backward()
    assert y.tolist() == [0, 0.5, -0.5, 1] and x.grad.tolist() == [1, 1, 1, 1]
    assert quanters.fake_quantize(x, paddle.to_tensor([0.0]), 127).abs().max() < 1e-20


def test_the_average_moves_in_training_alone() -> None:
    made = quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.5)._instance(None)
    state = accum = 1.0
    for most in (2.0, 6.0, 1.0):
        made(paddle.to_tensor([most, -most / 2]))
        state, accum = 0.5 * state + 1, 0.5 * accum + most
        assert float(made.scales()) == pytest.approx(accum / state)
    made.eval()
    before = float(made.scales())
    assert made(paddle.to_tensor([100.0])).item() == pytest.approx(before)
    made.train()
    made(paddle.zeros([0]))
    assert float(made.scales()) == before


def test_channels() -> None:
    factory = quanters.FakeQuanterChannelWiseAbsMaxObserver(bit_length=2)
    made = factory._instance(nn.Linear(2, 2))
    found = made(paddle.to_tensor([[1.0, -8.0], [0.4, 3.0]]))
    assert found.tolist() == [[1, -8], [0, 0]] and made.scales().tolist() == [1, 8] and made.quant_axis() == 1
    assert factory._instance(nn.Conv2D(1, 1, 1)).quant_axis() == 0
    np.testing.assert_equal(made.bit_length(), 2)
