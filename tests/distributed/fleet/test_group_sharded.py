"""The parts of group_sharded_parallel by themselves: steps are those of group_sharded_parallel."""

import numpy as np
import pytest
from sampan.distributed.fleet.meta_parallel.sharding.group_sharded_optimizer_stage2 import (
    GroupShardedOptimizerStage2,
)
from sampan.distributed.fleet.meta_parallel.sharding.group_sharded_stage2 import GroupShardedStage2
from sampan.distributed.fleet.meta_parallel.sharding.group_sharded_stage3 import GroupShardedStage3
from sampan.distributed.fleet.meta_parallel.sharding.group_sharded_utils import GroupShardedScaler

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed.sharding import held_bytes

pytestmark = pytest.mark.servers


def made():
    paddle.seed(1)
    network = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    return network, paddle.optimizer.AdamW(0.01, parameters=network.parameters())


def trained(stage):
    """The parameters after four steps, and this process's share of the optimizer's state; stage 0: alone."""
    paddle.set_default_dtype("float64")
    network, optimizer = made()
    model = network
    stepped = optimizer
    if stage == 2:
        stepped = GroupShardedOptimizerStage2(params=optimizer._parameter_list, optim=optimizer)
        model = GroupShardedStage2(network, stepped, buffer_max_size=2**21)
    if stage == 3:
        model = GroupShardedStage3(network, optimizer=optimizer, segment_size=8)
    scaler = paddle.amp.GradScaler(enable=False)
    scaler = GroupShardedScaler(scaler) if stage else scaler
    rank, count = (dist.get_rank(), dist.get_world_size()) if stage else (0, 1)
    numbers = np.random.default_rng(2)
    for _ in range(4):
        x, y = numbers.normal(size=(8, 6)), numbers.normal(size=(8, 3))
        rows = slice(rank * 8 // count, (rank + 1) * 8 // count)
        loss = ((model(paddle.to_tensor(x[rows])) - paddle.to_tensor(y[rows])) ** 2).mean()
        scaler.scale(loss).backward()
        scaler.step(stepped)
        scaler.update()
        stepped.clear_grad()
    state = model.state_dict()
    return [value.numpy() for value in state.values()], held_bytes(stepped)


@pytest.mark.parametrize("stage", [2, 3])
def test_steps_are_those_of_one_process(workers, stage):
    expected, _ = trained(0)
    paddle.set_default_dtype("float32")
    for arrays, _ in workers(2)(trained, stage):
        for got, want in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def refused():
    network, optimizer = made()
    texts = []
    for call in (
        lambda: GroupShardedOptimizerStage2(network.parameters(), optimizer, offload=True),
        lambda: GroupShardedStage3(network, optimizer, offload=True),
        lambda: GroupShardedStage2(network, optimizer),
    ):
        with pytest.raises((NotImplementedError, TypeError)) as caught:
            call()
        texts.append(str(caught.value))
    return texts


def test_what_is_refused(workers):
    for texts in workers(2)(refused):
        assert (
            "GroupShardedOptimizerStage2: offload and dp_group are not supported; use fleet.init" in texts[0]
        )
        assert "GroupShardedStage3: offload" in texts[1]
        assert "expected a GroupShardedOptimizerStage2, got AdamW" in texts[2]
