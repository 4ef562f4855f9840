"""`fleet.recompute`: values and gradients are those of the plain call, and the segments run a second time."""

import importlib

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from sampan import nn
from sampan.distributed.fleet.recompute import recompute, recompute_hybrid, recompute_sequential


class Counted(nn.Linear):
    """A Linear that counts how often it runs."""

    runs = 0

    def forward(self, x):
        self.runs += 1
        return super().forward(x)


@pytest.fixture
def network():
    sampan.seed(3)
    layers = [nn.Sequential(Counted(4, 4), nn.Tanh(), nn.Dropout(0.5)) for _ in range(5)]
    return nn.Sequential(*layers)


def run(network, function):
    """Value, gradient of the input, gradients of the parameters, and how often each layer ran."""
    for layer in network:
        layer[0].runs = 0
    sampan.seed(7)
    x = sampan.to_tensor(np.arange(12.0).reshape(3, 4) / 12, "float32", stop_gradient=False)
    value = function(x)
    value.sum().backward()
    found = [value.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in network.parameters())]
    network.clear_gradients()
    return found, [layer[0].runs for layer in network]


@pytest.mark.parametrize(
    ("segments", "runs"), [(1, [1] * 5), (2, [2, 2, 1, 1, 1]), (3, [2, 2, 1, 1, 1]), (5, [2, 2, 2, 2, 1])]
)
def test_segments_run_again_in_backward(network, segments, runs):
    plain, _ = run(network, network)
    for functions in (network, list(network)):
        found, counts = run(
            network, lambda x, f=functions: recompute_sequential({"segments": segments}, f, x)
        )
        assert counts == runs
        assert all(np.array_equal(a, b) for a, b in zip(plain, found, strict=True))


def test_the_first_function_gets_all_arguments():
    first = [lambda a, b, scale=1.0: (a + b) * scale, lambda x: x * 2, lambda x: x + 1]
    a, b = (sampan.to_tensor([n], stop_gradient=False) for n in (1.0, 2.0))
    value = recompute_sequential({"segments": 3}, first, a, b, scale=3.0)
    value.backward()
    assert (value.item(), a.grad.item(), b.grad.item()) == (19.0, 6.0, 6.0)


def test_hybrid(network):
    group = dist.new_group([0])
    plain, _ = run(network, network)
    found, counts = run(network, lambda x: recompute_hybrid({"mp_group": group, "offload": True}, network, x))
    assert counts == [2] * 5 and all(np.array_equal(a, b) for a, b in zip(plain, found, strict=True))
    with pytest.raises(AssertionError, match="mp_group can not be None"):
        recompute_hybrid({}, network, sampan.ones([1, 4]))
    with pytest.raises(TypeError, match="recompute_hybrid: ctx: mp_group: expected a Group, got int"):
        recompute_hybrid({"mp_group": 3}, network, sampan.ones([1, 4]))


def test_what_is_refused(network):
    for segments in (0, 6, 1.5):
        with pytest.raises(
            ValueError, match=f"recompute_sequential: ctx: segments: expected 1 to 5, got {segments}"
        ):
            recompute_sequential({"segments": segments}, network, sampan.ones([1, 4]))
    with pytest.raises(TypeError, match="recompute_sequential: ctx: expected a dict, got Sequential"):
        recompute_sequential(network, sampan.ones([1, 4]))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("distributed.fleet.recompute.recompute", "recompute"),
        ("distributed.fleet.recompute.recompute_hybrid", "recompute_hybrid"),
        ("incubate.distributed.fleet", "recompute_sequential"),
        ("distributed.flex_checkpoint.dcp.save_state_dict", "save_state_dict"),
        ("distributed.flex_checkpoint.dcp.load_state_dict", "load_state_dict"),
        ("distributed.flex_checkpoint.dcp.sharded_weight", "build_sharded_state_dict"),
        ("distributed.flex_checkpoint.dcp.sharded_weight", "create_sharded_weight_with_new_local"),
        ("distributed.sharding.group_sharded", "group_sharded_parallel"),
        ("distributed.auto_parallel.local_map", "local_map"),
        ("distributed.fleet.model", "distributed_model"),
        ("distributed.entry_attr", "CountFilterEntry"),
        ("distributed.parallel_with_gloo", "gloo_barrier"),
    ],
)
def test_paddles_modules_inside(module, name):
    assert callable(getattr(importlib.import_module(f"sampan.{module}"), name))
    assert recompute is dist.fleet.utils.recompute
