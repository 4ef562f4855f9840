"""Optimizers on distributed parameters, against the program of one process."""

import numpy as np
import pytest

import sampan.distributed as dist
from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def alone(network, optimizer, steps=20):
    net = programs.made(network)
    return programs.trained(network, net, programs.OPTIMIZERS[optimizer](net.parameters()), steps=steps)


def close(one, others):
    for losses, state, *_ in others:
        assert np.allclose(losses, one[0], rtol=0, atol=1e-6)
        assert state.keys() == one[1].keys()
        for name, value in state.items():
            assert np.allclose(value, one[1][name], rtol=0, atol=1e-6), name


@pytest.mark.parametrize(
    ("optimizer", "kind"),
    [
        ("SGD", "columns"),
        ("SGD", "batch"),
        *(("AdamW", kind) for kind in ("columns", "batch", "1", "2", "3")),
    ],
)
def test_twenty_steps_of_an_mlp(workers, optimizer, kind):
    results = workers(2)(programs.sharded_training, "mlp", optimizer, kind)
    close(alone("mlp", optimizer), results)
    if optimizer == "AdamW":
        mine, all_ = results[0][2]
        assert mine < 0.65 * all_ if kind in ("1", "2", "3") else mine <= all_


@pytest.mark.parametrize("optimizer", ["Momentum", "Adam", "Lamb"])
def test_other_rules_and_clipping(workers, optimizer):
    close(alone("mlp", optimizer, 8), workers(2)(programs.sharded_training, "mlp", optimizer, "columns", 8))


def test_convolutions_of_a_cut_batch(workers):
    close(alone("pictures", "SGD", 6), workers(2)(programs.sharded_training, "pictures", "SGD", "batch", 6))


def test_what_shard_optimizer_refuses():
    import sampan

    weight = sampan.create_parameter([2, 2], "float32")
    optimizer = sampan.optimizer.SGD(0.1, parameters=[weight])
    with pytest.raises(TypeError, match="expected ShardingStage1, ShardingStage2 or ShardingStage3"):
        dist.shard_optimizer(optimizer, lambda name, parameter, state: state)
    with pytest.raises(TypeError, match="expected an optimizer, got Parameter"):
        dist.shard_optimizer(weight)
    assert dist.shard_optimizer(optimizer) is optimizer


def test_plain_batches_beside_parameters_of_a_stage(workers):
    assert (
        workers(2)(programs.stage_in_a_new_thread)
        == [[np.full((4, 4), np.float32(0.5) - np.float32(0.2)).tolist()]] * 2
    )
