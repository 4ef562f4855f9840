"""Programs that exchange parameters, gradients and figures by hand."""

from __future__ import annotations

import numpy as np

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import fleet
from sampan.distributed.fleet.base import orthogonal_strategy, strategy_group
from sampan.distributed.fleet.utils import hybrid_parallel_util, mix_precision_utils
from sampan.distributed.utils import moe_utils
from tests.distributed.fleet.parallel_programs import begin


def metrics():
    from tests.distributed.fleet.test_metrics import NEGATIVE, POSITIVE

    fleet.init(is_collective=True)
    rank = dist.get_rank()
    of, turned = fleet.metrics, (slice(None), slice(None, None, -1 if rank else None))
    return {
        "sum": of.sum(paddle.to_tensor([[1, 2], [3, 4]]) * rank).tolist(),
        "max": of.max(np.array([rank, 2 - rank])).tolist(),
        "min": of.min(np.array([rank, 2 - rank])).tolist(),
        "acc": of.acc(np.array([3 + 2 * rank]), np.array([4 + 4 * rank])),
        "rmse": of.rmse(np.array([1.0 + rank]), np.array([6 - 4 * rank])),
        "auc": of.auc(POSITIVE[turned], NEGATIVE[turned]),
    }


class Marked(nn.Layer):
    """Parameters of which two are special, and a buffer, all of the process's number."""

    def __init__(self, rank):
        super().__init__()
        for name in ("usual", "part", "own"):
            made = self.create_parameter([2], default_initializer=nn.initializer.Constant(float(rank)))
            setattr(self, name, made)
        self.part.is_distributed, self.own.no_sync = True, True
        self.register_buffer("kept", paddle.full([1], float(rank)))

    def told(self):
        return [float(t[0]) for t in (self.usual, self.part, self.own, self.kept)]


def synchronized():
    rank = dist.get_rank()
    first, parts, made = Marked(rank), Marked(rank), Marked(rank)
    dist.parallel.sync_params_buffers(first, src_rank=1)
    dist.parallel.sync_params_buffers(parts, src_rank=1, is_model_parallel=True, fuse_params=False)
    hybrid_parallel_util.broadcast_mp_parameters(made, begin(mp_degree=2, dp_degree=1))
    return first.told(), parts.told(), made.told()


def shared_inputs():
    groups, rank = begin(mp_degree=2, dp_degree=1), dist.get_rank()
    x = paddle.full([2 + rank], float(rank))
    (found, more), named = hybrid_parallel_util.broadcast_input_data(groups, x, [rank, "a"], size={"n": rank})
    return found is x, x.tolist(), more, named


def scaled_gradients():
    rank = dist.get_rank()
    means, sums, kept = paddle.ones([2]), paddle.ones([2]), paddle.ones([2])
    for tensor in (means, sums):
        tensor.stop_gradient = False
        (tensor * (rank + 1.0)).sum().backward()
    kept.main_grad = paddle.full([2], rank + 1.0)
    hybrid_parallel_util.fused_allreduce_gradients_with_group([means, kept], None)
    hybrid_parallel_util.fused_allreduce_gradients_with_group([sums], None, scale=1.0)
    return means.grad.tolist(), sums.grad.tolist(), kept.main_grad.tolist()


def grid():
    """Four processes as 2 x 2, with both axes together."""
    kinds = strategy_group
    made = orthogonal_strategy.OrthogonalStrategy(
        [("dp", 2, kinds.DPGroup), ("pp", 2, kinds.PPGroup)], fused_strategy_dict={"check": ["dp", "pp"]}
    )
    x = paddle.full([1], float(dist.get_rank()))
    dist.all_reduce(x, group=made.strategy_group("dp").group)
    stages = made.strategy_group("pp")
    to_next, _, _, from_previous = stages.p2p_groups
    return {
        "dp": made.strategy_group("dp").group.ranks,
        "pp": stages.group.ranks,
        "rank": (made.rank_in_strategy("dp"), made.rank_in_strategy("pp")),
        "all": made.fused_strategy_group("check").group.ranks,
        "sum": x.item(),
        "next": (stages.rank_of_next_stage, sorted(to_next.ranks), sorted(from_previous.ranks)),
    }


def experts(counts):
    """Rows to two experts on each of two processes, and back; with the gradient of the rows that came."""
    rank = dist.get_rank()
    sent = paddle.to_tensor(counts[rank], "int64")
    received = paddle.to_tensor([counts[p][rank * 2 + e] for p in range(2) for e in range(2)], "int64")
    x = paddle.arange(2.0 * sum(counts[rank])).reshape([-1, 2]) + 100 * rank
    x.stop_gradient = False
    there = moe_utils.global_scatter(x, sent, received)
    back = moe_utils.global_gather(there, sent, received)
    (there * (rank + 1)).sum().backward()
    return x.tolist(), there.tolist(), back.tolist(), x.grad.tolist()


def mixed(parts):
    """bfloat16 weights whose gradients add up in float32; parts: tensor parallelism over two processes."""
    if parts:
        begin(mp_degree=2, dp_degree=1)
        paddle.set_default_dtype("float32")
    paddle.seed(3)
    last = fleet.meta_parallel.ColumnParallelLinear(8, 4, has_bias=True) if parts else nn.Linear(8, 4)
    network = nn.Sequential(nn.Linear(4, 8), last)
    values = np.random.RandomState(1)
    for parameter in network.parameters():
        full = [*parameter.shape]
        axis = getattr(parameter, "split_axis", None)
        if axis is not None:
            full[axis] *= 2
        whole = values.randn(*full).astype("float32")
        if axis is not None:
            whole = np.split(whole, 2, axis)[dist.get_rank()]
        parameter.set_value(whole)
    network = paddle.amp.decorate(network, level="O2", dtype="bfloat16")
    network = mix_precision_utils.MixPrecisionLayer(network, dtype="bfloat16")
    clip = nn.ClipGradByGlobalNorm(1.0)
    optimizer = paddle.optimizer.AdamW(0.1, parameters=network.parameters(), grad_clip=clip)
    optimizer = mix_precision_utils.MixPrecisionOptimizer(optimizer)
    if parts:
        network = fleet.distributed_model(network)
        optimizer = fleet.distributed_optimizer(optimizer)
    x, losses = paddle.arange(8.0).reshape([2, 4]) / 8, []
    for _ in range(3):
        for _ in range(2):
            with paddle.amp.auto_cast(True, level="O2", dtype="bfloat16"):
                loss = network(x).astype("float32").square().mean()
            loss.backward()
        assert all(p.grad is None and p.main_grad.dtype == paddle.float32 for p in network.parameters())
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses
