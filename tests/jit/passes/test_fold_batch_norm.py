from typing import Any

import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.jit.passes.fold_batch_norm import folded
from sampan.quantization import PTQ, QuantConfig
from sampan.quantization.observers import AbsMaxChannelWiseWeightObserver, AbsmaxObserver

from .beside import passed, rewriting_of


def with_statistics(net: Any) -> Any:
    """The network after some batches, so that its statistics are not 0 and 1."""
    for _ in range(3):
        net(paddle.randn([4, 3, 8, 8]) * 2 + 1)
    return net


@pytest.mark.parametrize("bias", [None, False])
@pytest.mark.parametrize("groups", [1, 3])
def test_a_convolution_takes_the_normalisation(bias: Any, groups: int) -> None:
    net = nn.Sequential(nn.Conv2D(3, 6, 3, groups=groups, bias_attr=bias), nn.BatchNorm2D(6), nn.ReLU())
    net[1].weight.set_value(paddle.randn([6]))
    net[1].bias.set_value(paddle.randn([6]))
    rewriting = rewriting_of(with_statistics(net), [None, 3, 8, 8])
    assert passed(rewriting, "fold_batch_norm", torch.randn(2, 3, 8, 8), exact=False) == ["convolve", "relu"]


@pytest.mark.parametrize("bias", [None, False])
def test_a_transposed_convolution_and_a_linear_layer_take_it_on_their_second_axis(bias: Any) -> None:
    turned = nn.Sequential(nn.Conv2DTranspose(3, 3, 2, bias_attr=bias), nn.BatchNorm2D(3))
    rewriting = rewriting_of(with_statistics(turned), [None, 3, 8, 8])
    assert passed(rewriting, "fold_batch_norm", torch.randn(2, 3, 8, 8), exact=False) == ["convolve"]
    linear = nn.Sequential(nn.Linear(3, 3, bias_attr=bias), nn.BatchNorm1D(3), nn.Tanh())
    for _ in range(3):
        linear(paddle.randn([8, 3]) * 2 + 1)
    rewriting = rewriting_of(linear, [None, 3])
    assert passed(rewriting, "fold_batch_norm", torch.randn(2, 3), exact=False) == ["affine", "tanh"]


def test_what_is_read_twice_or_has_no_axis_of_outputs_stays() -> None:
    class Read(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2D(3, 3, 1), nn.BatchNorm2D(3)

        def forward(self, x: Any) -> Any:
            y = self.conv(x)
            return self.norm(y) + y

    rewriting = rewriting_of(Read(), [None, 3, 8, 8])
    assert "normalize_batch" in passed(rewriting, "fold_batch_norm", torch.randn(2, 3, 8, 8))
    net = nn.Sequential(nn.Conv2DTranspose(4, 4, 2, groups=2), nn.BatchNorm2D(4))
    rewriting = rewriting_of(net, [None, 4, 8, 8])
    assert "normalize_batch" in passed(rewriting, "fold_batch_norm", torch.randn(2, 4, 8, 8))


def test_a_convolution_in_int8_takes_it_exactly() -> None:
    net = nn.Sequential(nn.Conv2D(3, 6, 3), nn.BatchNorm2D(6))
    net[1].weight.set_value(paddle.to_tensor([1.0, -2.0, 0.5, 0.0, -0.1, 3.0]))
    config = QuantConfig(activation=None, weight=None)
    weight = AbsMaxChannelWiseWeightObserver()
    config.add_type_config([nn.Conv2D], activation=AbsmaxObserver(), weight=weight)
    x = paddle.randn([2, 3, 8, 8])
    with_statistics(net).eval()
    observed = PTQ(config).quantize(net)
    observed(x)
    rewriting = rewriting_of(PTQ(config).convert(observed), [None, 3, 8, 8])
    assert passed(rewriting, "fold_batch_norm", x.data, exact=False) == ["int8_conv2d"]


@pytest.mark.parametrize("axis", [0, 1])
def test_folded_leaves_what_it_is_given_and_computes_in_float64(axis: int) -> None:
    (weight, mean, beta, gamma), variance = (torch.randn(4, 4), *torch.randn(3, 4)), torch.rand(4)
    given = [weight, gamma, beta, mean, variance]
    before = [t.clone() for t in given]
    made, bias = folded(weight, None, gamma, beta, mean, variance, 1e-3, axis)
    assert all(torch.equal(t, b) for t, b in zip(given, before, strict=True))
    x = torch.randn(5, 4, dtype=torch.float64)
    product = x @ (weight.T if axis == 0 else weight).double()
    norm = torch.nn.BatchNorm1d(4, eps=1e-3, dtype=torch.float64).eval()
    state = {"weight": gamma, "bias": beta, "running_mean": mean, "running_var": variance}
    norm.load_state_dict(state, strict=False)
    found = x @ (made.T if axis == 0 else made).double() + bias.double()
    assert made.dtype is bias.dtype is torch.float32
    assert torch.allclose(found, norm(product).detach(), rtol=1e-5, atol=1e-5)
