"""Gradients that add up in float32."""

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed.fleet.utils import mix_precision_utils
from sampan.engine.errors import InvalidArgument
from tests.distributed.fleet import hybrid_util_programs as programs


def half():
    network = nn.Linear(1, 1, bias_attr=False)
    network.weight.set_value(paddle.ones([1, 1]))
    return paddle.amp.decorate(network, level="O2", dtype="bfloat16")


def test_small_gradients_are_not_lost():
    network = mix_precision_utils.MixPrecisionLayer(half(), "bfloat16")
    (weight,) = network.parameters()
    for value in (256.0, 0.5, 0.5):  # bfloat16 has no 256.5
        network(paddle.full([1, 1], value, "bfloat16")).sum().backward()
    assert weight.grad is None
    assert weight.main_grad.dtype == paddle.float32
    assert weight.main_grad.item() == 257


def test_the_optimizer_steps_with_them():
    network = mix_precision_utils.MixPrecisionLayer(half(), "bfloat16")
    (weight,) = network.parameters()
    optimizer = paddle.optimizer.SGD(0.125, parameters=network.parameters())
    optimizer = mix_precision_utils.MixPrecisionOptimizer(optimizer)
    network(paddle.full([1, 1], 2.0, "bfloat16")).sum().backward()
    optimizer.step()
    assert float(weight) == 0.75
    assert weight.grad is None
    optimizer.clear_grad()
    assert weight.main_grad.item() == 0
    optimizer.clear_grad(set_to_zero=False)
    assert weight.main_grad is None
    optimizer.step()  # nothing to step with
    assert float(weight) == 0.75
    assert optimizer.get_lr() == 0.125


@pytest.mark.parametrize("minimize", [False, True])
def test_the_scaler_divides_them(minimize):
    network = mix_precision_utils.MixPrecisionLayer(paddle.amp.decorate(half(), level="O2", dtype="float16"))
    (weight,) = network.parameters()
    optimizer = paddle.optimizer.SGD(0.125, parameters=network.parameters())
    optimizer = mix_precision_utils.MixPrecisionOptimizer(optimizer)
    scaler = mix_precision_utils.MixPrecisionScaler(paddle.amp.GradScaler(init_loss_scaling=8.0))
    for value, expected, scale in ((2.0, 0.75, 8), (np.inf, 0.75, 4)):
        with paddle.amp.auto_cast(True, level="O2", dtype="float16"):
            scaled = scaler.scale(network(paddle.full([1, 1], value, "float16")).sum())
        scaled.backward()
        if minimize:
            scaler.minimize(optimizer, scaled)
        else:
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        optimizer.clear_grad()
        assert float(weight) == expected
        assert float(scaler._scale) == scale


def test_states_are_those_of_the_layer():
    network = nn.Linear(2, 2)
    wrapped = mix_precision_utils.MixPrecisionLayer(network)
    assert [*wrapped.state_dict()] == [*network.state_dict()] == ["weight", "bias"]
    wrapped.set_state_dict({"weight": paddle.ones([2, 2]), "bias": paddle.zeros([2])})
    assert network.weight.sum().item() == 4


def test_errors():
    with pytest.raises(InvalidArgument, match=r"MixPrecisionLayer: dtype: expected 'float16' or 'bfloat16'"):
        mix_precision_utils.MixPrecisionLayer(nn.Linear(1, 1), "float32")


@pytest.mark.servers
def test_tensor_parallelism(workers):
    expected = programs.mixed(False)
    for found in workers(2)(programs.mixed, True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
