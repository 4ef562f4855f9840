"""DistModel and Strategy."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from tests.distributed.auto_parallel import programs


@pytest.mark.servers
def test_a_model_trains_as_its_steps_by_hand(workers):
    for by_hand, model, shape in workers(2)(programs.distributed_model):
        assert np.allclose(by_hand, model, atol=1e-6) and shape == "paddle.Size([2, 4])"


def test_gradients_of_several_calls_are_merged():
    net, x, y = programs.made("mlp"), sampan.ones([4, 8]), sampan.zeros([4], dtype="int64")
    optimizer = programs.OPTIMIZERS["SGD"](net.parameters())
    strategy = dist.Strategy({"gradient_merge": {"enable": True, "k_steps": 2}})
    model = dist.to_static(net, None, sampan.nn.CrossEntropyLoss(), optimizer, strategy)
    before = net.a.weight.numpy()
    first = model(x, y).item()
    assert np.array_equal(net.a.weight.numpy(), before)
    model(x, y)
    assert model(x, y).item() < first
    model.eval()
    assert model(x, y).item() < first
    state = model.state_dict()
    model.set_state_dict(state)
    assert {"a.weight", "b.bias"} <= set(model.state_dict("param")) <= set(state)


def test_a_batch_of_a_loader_is_given_as_it_is():
    class Two(sampan.nn.Layer):
        def forward(self, x, y):
            return x * y

    x, y, label = sampan.to_tensor([2.0]), sampan.to_tensor([3.0]), sampan.to_tensor([5.0])
    model = dist.to_static(Two(), None, lambda value, label: (value - label).sum())
    assert model([[x, y], label]).item() == model([x, y], label).item() == model(x, y, label).item() == 1
    several = dist.to_static(Two(), None, lambda value, a, b: (value - a + b).sum())
    assert several([x, y], [label, x]).item() == 3
    model.predict()
    assert model([x, y]).item() == model(x, y).item() == 6


def test_what_a_model_refuses():
    with pytest.raises(ValueError, match="a pipeline is not supported"):
        dist.to_static(programs.made("mlp"), strategy=dist.Strategy({"pipeline": {"enable": True}}))
    with pytest.raises(ValueError, match="expected one of"):
        dist.Strategy({"speed": {}})
    model = dist.to_static(programs.made("mlp"))
    with pytest.raises(ValueError, match="expected a loss and an optimizer"):
        model.train()
