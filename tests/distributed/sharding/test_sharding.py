"""Optimizer state, gradients and parameters cut over two processes: the steps of one."""

import pytest

import sampan as paddle
from sampan.distributed import sharding
from tests.distributed.sharding import programs

LEVELS = "os", "os_g", "p_g_os"


@pytest.mark.servers
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("kind", "clip", "passes"),
    [("AdamW", "", 1), ("Momentum", "global", 2), ("Adagrad", "norm", 1), ("SGD", "value", 1)],
)
def test_steps_are_those_of_one_process(workers, level, kind, clip, passes):
    for found in workers(2)(programs.as_one, level, kind, clip, passes):
        assert max(found) < 1e-12


@pytest.mark.servers
@pytest.mark.parametrize("level", LEVELS)
def test_saved_and_continued(workers, level, tmp_path):
    for found in workers(2)(programs.resumed, level, str(tmp_path / "run")):
        assert max(found) < 1e-12


@pytest.mark.servers
def test_refused(workers):
    for said in workers(2)(programs.refused):
        assert said == [
            "AssertionError: group_sharded_parallel: level: expected os, os_g or p_g_os, got 'all'",
            "NotImplementedError: group_sharded_parallel: offload and dp_group are not supported",
            "InvalidArgument: group_sharded_parallel: sharding: optimizer: Lamb reads whole parameters; use one "
            "whose rule goes by elements, such as AdamW",
            "InvalidArgument: save_group_sharded_model: model: expected one of group_sharded_parallel, got "
            "Network",
            "InvalidType: group_sharded_parallel: expected a Layer and an Optimizer, got SGD and SGD",
            "no_sync: gradients are parts already; call step() and clear_grad() first",
        ]


def test_one_process(ready, tmp_path):
    for level in LEVELS:
        layer = programs.Network()
        one = programs.Network()
        usual = programs.optimizer_of("AdamW", one.parameters(), "global")
        given = programs.optimizer_of("AdamW", layer.parameters(), "global")
        network, optimizer, scaler = sharding.group_sharded_parallel(layer, given, level)
        assert scaler is None
        batches = programs.batches(2)
        assert programs.train(network, optimizer, batches, None) == programs.train(one, usual, batches, None)
        assert optimizer.get_lr() == 0.05
        sharding.save_group_sharded_model(network, str(tmp_path), optimizer)
        assert programs.differences(paddle.load(str(tmp_path / "model.pdmodel")), one.state_dict()) < 1e-15
