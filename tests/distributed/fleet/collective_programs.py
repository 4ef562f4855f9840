"""Programs of `fleet` that run in each of several processes."""

from __future__ import annotations

import numpy as np

import sampan as paddle
from sampan.distributed import fleet, get_rank, traffic


def trained(name, configs, steps):
    """Types of network and optimizer, losses before and after, the weights' sum, bytes of the last step beside
    those of the parameters."""
    paddle.seed(get_rank())
    strategy = fleet.DistributedStrategy()
    if name:
        setattr(strategy, name, True)
        if configs:
            setattr(strategy, f"{name}_configs", configs)
    fleet.init(is_collective=True, strategy=strategy)
    layer = paddle.nn.Sequential(paddle.nn.Linear(100, 30), paddle.nn.Tanh(), paddle.nn.Linear(30, 1))
    model = fleet.distributed_model(layer)
    momentum = paddle.optimizer.Momentum(0.02, 0.9, parameters=model.parameters())
    optimizer = fleet.distributed_optimizer(momentum)
    losses, sizes = [], []
    numbers = np.random.RandomState(get_rank())
    for _ in range(steps):
        x = paddle.to_tensor(numbers.randn(16, 100).astype("float32"))
        before = sum(entry.wire for entry in traffic.totals().values())
        loss = ((model(x) - x[:, :3].sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        sizes.append(sum(entry.wire for entry in traffic.totals().values()) - before)
        losses.append(float(loss))
    weights = sum(float(p.sum()) for p in layer.parameters())
    size = sum(p.data.nbytes for p in layer.parameters())
    kinds = type(model).__name__, type(optimizer).__name__
    return kinds, float(np.mean(losses[:4])), float(np.mean(losses[-4:])), weights, np.mean(sizes[-8:]) / size


def refused():
    strategy = fleet.DistributedStrategy()
    strategy.dgc = strategy.localsgd = True
    fleet.init(is_collective=True, strategy=strategy)


def exchanges():
    """What `fleet.util` gives in each of several processes."""
    fleet.init(is_collective=True)
    rank, util = fleet.worker_index(), fleet.util
    sums = [util.all_reduce(np.array([rank + 1, 2]), mode).tolist() for mode in ("sum", "min", "max")]
    fleet.barrier_worker()
    return sums, util.all_gather(f"worker {rank}"), util.get_file_shard(["a", "b", "c"]), fleet.worker_num()
