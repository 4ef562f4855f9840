"""Quantised layers, before and after they are converted."""

from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.quantization import PTQ, QuantConfig
from sampan.quantization.observers import AbsMaxChannelWiseWeightObserver as BY_CHANNEL
from sampan.quantization.observers import AbsmaxObserver as ABSMAX
from tests.quantization.paddle_program import network


def calibrated(net: Any, samples: Any, weight: Any = None) -> Any:
    ptq = PTQ(QuantConfig(ABSMAX(), weight or ABSMAX()))
    model = ptq.quantize(net)
    for x in samples:
        model(x)
    return ptq.convert(model)


@pytest.mark.parametrize(
    "settings",
    [{"padding": "SAME", "stride": 2}, {"padding": [0, 1, 2, 0]}, {"padding": 1, "padding_mode": "reflect"},
     {"groups": 4, "data_format": "NHWC"}, {"dilation": 2, "bias_attr": False}],
    ids=lambda s: ", ".join(map(str, s.values())),
)  # fmt: skip  # a table
def test_a_converted_convolution_is_near_the_first(settings: dict[str, Any]) -> None:
    paddle.seed(0)
    net = nn.Sequential(nn.Conv2D(4, 8, 3, **settings))
    x = paddle.randn([2, 9, 8, 4] if "data_format" in settings else [2, 4, 9, 8])
    expected, found = net(x).numpy(), calibrated(net, [x], BY_CHANNEL())(x).numpy()
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


def test_a_layer_without_an_int8_form_computes_on_rounded_floats() -> None:
    paddle.seed(0)
    net = nn.Sequential(nn.Linear(6, 3))
    x = paddle.randn([4, 6])
    ptq = PTQ(QuantConfig(ABSMAX(4), BY_CHANNEL(4)))
    model = ptq.quantize(net)
    model(x)
    made = ptq.convert(model)
    assert made[0].weight.dtype == paddle.int8 and int(made[0].weight.data.abs().max()) == 7
    xs, ws = float(x.abs().max()) / 7, net[0].weight.abs().max(0).numpy() / 7
    rounded = np.rint(x.numpy() / xs) * xs
    expected = rounded @ (np.rint(net[0].weight.numpy() / ws) * ws) + net[0].bias.numpy()
    np.testing.assert_allclose(made(x).numpy(), expected, rtol=1e-4, atol=1e-5)
    assert ptq.convert(model, remain_weight=True)[0].weight.dtype == paddle.float32
    with pytest.raises(ValueError, match="converted already"):
        made[0]._to_integers()


def test_constant_zero_activations_give_the_bias() -> None:
    net = network(paddle)
    made = calibrated(net, [paddle.zeros([1, 2, 4, 4])])
    assert float(made.conv.activation_quanter._quanter._scales) == 0
    found = made.conv(paddle.zeros([1, 2, 4, 4])).numpy()
    np.testing.assert_allclose(found - net.conv.bias.numpy().reshape(1, 3, 1, 1), 0 * found, atol=1e-6)
    assert torch.isfinite(made(paddle.ones([1, 2, 4, 4])).data).all()
