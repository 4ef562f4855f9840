"""TranslatedLayer, made from a Program without a file."""

from typing import Any

import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.jit.record import Outside
from sampan.jit.saving import _names
from sampan.jit.spec import InputSpec
from sampan.jit.translated import TranslatedLayer
from sampan.jit.whole import recorded


def gradient(parameter: Any) -> Any:
    return parameter.grad.data.clone()


def translated(net: Any, specs: list[InputSpec]) -> TranslatedLayer:
    outside = Outside()
    with paddle.no_grad():
        loaded = recorded(net.forward, specs, outside)
    named = list(zip(_names(net, outside), outside.tensors, strict=True))
    return TranslatedLayer(named, outside.buffers, [("forward", loaded)])


def test_it_runs_and_trains_as_the_layer() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
    layer = translated(net, [InputSpec([None, 4])])
    x = paddle.randn([3, 4])
    with paddle.no_grad():
        assert torch.equal(layer(x).data, net(x).data)
    for _ in range(3):
        net(x).sum().backward()
        wanted = [gradient(p) for p in net.parameters()]
        net.clear_gradients()
        layer(x).sum().backward()
        assert all(torch.equal(w, gradient(p)) for w, p in zip(wanted, layer.parameters(), strict=True))
        layer.clear_gradients()
    assert layer.program().calls[0].name == "affine" and layer._input_spec[0].shape == (-1, 4)


def test_errors_are_those_of_the_operators() -> None:
    layer = translated(nn.Embedding(5, 2), [InputSpec([None], "int64")])
    with paddle.no_grad(), pytest.raises(ValueError, match=r"index out of range.*weight=float32"):
        layer(paddle.to_tensor([1, 9]))
    with pytest.raises(TypeError, match="expected the arguments"):
        layer(paddle.to_tensor([1]), paddle.to_tensor([1]))
