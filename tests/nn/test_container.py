"""Lists and dictionaries of layers and parameters."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn


def kinds(layers):
    return [type(layer).__name__ for layer in layers]


@pytest.mark.parametrize("make", [lambda *a: nn.Sequential(*a), lambda *a: nn.LayerList(a)])
def test_lists_change_like_lists(make):
    layers = make(nn.Linear(2, 3), nn.ReLU())
    layers.append(nn.Linear(3, 1))
    layers.insert(1, nn.Sigmoid())
    layers.extend([nn.Tanh()])
    assert kinds(layers) == ["Linear", "Sigmoid", "ReLU", "Linear", "Tanh"]
    del layers[0]
    assert [n for n, _ in layers.named_parameters()] == ["2.weight", "2.bias"]
    assert kinds(layers[1:3]) == ["ReLU", "Linear"] and type(layers[1:3]) is type(layers)
    assert type(layers.pop(-1)).__name__ == "Tanh" and len(layers) == 3
    layers[0] = nn.Identity()
    assert kinds(layers)[0] == "Identity" and kinds(layers + [nn.ReLU()])[-1] == "ReLU"
    for bad in (lambda: layers[7], lambda: layers.insert(9, nn.ReLU())):
        with pytest.raises(IndexError, match="index"):
            bad()


def test_named_layers_keep_their_names():
    net = nn.Sequential(("a", nn.Linear(2, 2)), ("b", nn.ReLU()))
    del net["a"]
    assert list(net._sub_layers) == ["b"] and kinds([net["b"], net[-1]]) == ["ReLU", "ReLU"]


def test_dictionaries():
    layers = nn.LayerDict({"a": nn.Linear(1, 1)})
    layers.update([("b", nn.ReLU()), ("c", nn.Tanh())])
    assert list(layers) == ["a", "b", "c"] and "b" in layers and type(layers.pop("b")).__name__ == "ReLU"
    parameters = nn.ParameterDict({"x": nn.Parameter(np.ones(2))})
    parameters["y"] = nn.Parameter(np.ones(1))
    assert [n for n, _ in parameters.named_parameters()] == ["x", "y"] == list(parameters.keys())
    layers.clear()
    assert len(layers) == 0
    listed = nn.ParameterList([nn.Parameter(np.ones(1))]).append(nn.Parameter(np.zeros(1)))
    assert len(listed) == 2 and listed[1].item() == 0
    with pytest.raises(TypeError, match="sublayer"):
        nn.LayerDict({"a": paddle.ones([1])})


def test_containers():
    named = nn.Sequential(("a", nn.Linear(2, 3)), ("b", nn.ReLU()))
    assert list(named.state_dict()) == ["a.weight", "a.bias"] and isinstance(named["b"], nn.ReLU)
    named.append(nn.Linear(3, 1))
    assert len(named) == 3 and named(paddle.ones([4, 2])).shape == [4, 1]
    assert isinstance(named[-1], nn.Linear) and len(named[1:]) == 2
    layers = nn.LayerList([nn.Linear(1, 1) for _ in range(3)])
    layers.insert(1, nn.ReLU())
    assert [type(x).__name__ for x in layers] == ["Linear", "ReLU", "Linear", "Linear"]
    del layers[0]
    assert len(layers) == 3 and len(layers.parameters()) == 4 and isinstance(layers[0], nn.ReLU)
    assert list(layers.state_dict()) == ["1.weight", "1.bias", "2.weight", "2.bias"]
    chosen = nn.LayerDict({"x": nn.Linear(1, 1)})
    chosen["y"] = nn.ReLU()
    assert (
        list(chosen) == ["x", "y"]
        and "x" in chosen
        and isinstance(chosen.pop("y"), nn.ReLU)
        and len(chosen) == 1
    )
    kept = nn.ParameterList([nn.Parameter(np.ones(2, np.float32))])
    kept.append(nn.Parameter(np.ones(3, np.float32)))
    assert [p.size for p in kept] == [2, 3] and len(kept.parameters()) == 2
