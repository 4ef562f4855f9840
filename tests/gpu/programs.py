"""Programs that test_distributed.py runs in each of two processes that share the GPU. They return plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed as c10d
from torch.nn.parallel import DistributedDataParallel

import sampan as paddle
import sampan.distributed as dist
import sampan.nn.functional as F
from sampan import nn
from sampan.distributed import compression, stream
from sampan.interop import torch_module
from tests.gpu.places import GPU, here

SMALL = {"comm_buffer_size": 0.002, "last_comm_buffer_size": 0.001}  # several buckets of small networks
SETTINGS = {"HalfPrecision": {}, "TopK": {"sparsity": [0.7], "momentum": 0.0}, "LowRank": {"rank": 2}}


def collectives() -> dict[str, Any]:
    """What each collective gives with [0, 1, 2, 3] + 10 rank."""
    paddle.set_device(GPU)
    rank, other = dist.get_rank(), 1 - dist.get_rank()
    numbers = paddle.arange(4, dtype="float32") + 10 * rank
    found: dict[str, Any] = {}

    def put(name: str, *tensors: Any) -> None:
        for tensor in tensors:
            here(tensor)
        found[name] = [t.tolist() for t in tensors]

    for op in ("SUM", "MAX", "MIN", "PROD", "AVG"):
        total = numbers.clone()
        dist.all_reduce(total, getattr(dist.ReduceOp, op))
        put(op, total)
    for kind in ("float16", "bfloat16", "float64", "int32", "int64", "bool", "complex64"):
        total = numbers.astype(kind)
        dist.all_reduce(total)
        put(
            kind,
            total.astype("float32")
            if kind in ("bfloat16", "bool")
            else total.real()
            if kind == "complex64"
            else total,
        )
    one = numbers.clone()
    dist.broadcast(one, 1)
    put("broadcast", one)
    one = numbers.clone()
    dist.reduce(one, 0)
    put("reduce", one)
    parts: list[Any] = []
    dist.all_gather(parts, numbers)
    put("all_gather", *parts)
    parts = []
    dist.gather(numbers, parts, 0)
    put("gather", *parts)
    one = paddle.zeros([2])
    dist.scatter(one, [numbers[:2], numbers[2:]] if rank == 0 else None, 0)
    put("scatter", one)
    one = paddle.zeros([2])
    dist.reduce_scatter(one, [numbers[:2], numbers[2:]])
    put("reduce_scatter", one)
    parts = []
    dist.alltoall(parts, [numbers[:2], numbers[2:]])
    put("alltoall", *parts)
    one = paddle.zeros([4])
    dist.alltoall_single(one, numbers)
    put("alltoall_single", one)
    one = paddle.zeros([4])
    if rank == 0:
        dist.send(numbers, 1)
        dist.recv(one, 1)
    else:
        dist.recv(one, 0)
        dist.send(numbers, 0)
    put("send", one)
    one = paddle.zeros([4])
    tasks = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, numbers, other), dist.P2POp(dist.irecv, one, other)]
    )
    for task in tasks:
        task.wait()
    put("isend", one)
    joined = paddle.zeros([8])
    stream.all_gather(joined, numbers)
    put("stream.all_gather", joined)
    part = paddle.zeros([2])
    stream.reduce_scatter(part, numbers, use_calc_stream=True)
    put("stream.reduce_scatter", part)
    total = numbers.clone()
    task = stream.all_reduce(total, sync_op=False)
    task.wait()
    put("stream.all_reduce", total)
    columns = paddle.arange(6, dtype="float32").reshape([2, 3]).t() * (rank + 1)  # other strides
    dist.all_reduce(columns)
    put("strides", columns)
    objects: list[Any] = []
    dist.all_gather_object(objects, {"rank": rank, "tensor": numbers.sum()})
    found["objects"] = [[o["rank"], float(o["tensor"])] for o in objects]
    dist.barrier()
    return found


def network(kind: str) -> tuple[Any, Any]:
    numbers = np.random.RandomState(1)
    paddle.seed(7)
    layer: Any
    if kind == "mlp":
        layer = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
        x = numbers.randn(16, 20)
    elif kind == "convolutions":
        norm = nn.BatchNorm2D(8)
        layer = nn.Sequential(
            nn.Conv2D(3, 8, 3),
            norm,
            nn.ReLU(),
            nn.Conv2D(8, 8, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(128, 3),
        )
        x = numbers.randn(16, 3, 8, 8)
    else:
        layer, x = (
            nn.Sequential(nn.Embedding(200, 8), nn.Flatten(), nn.Linear(32, 3)),
            np.minimum(numbers.zipf(1.3, (16, 4)), 200) - 1,
        )
    return layer.to(dtype="float64"), x


def beside_torch(kind: str, steps: int = 4) -> list[list[float]]:
    """Losses of DataParallel and of torch's DDP on the same GPU, from the same weights and with the same data."""
    paddle.set_device(GPU)
    layer, x = network(kind)
    peer, _ = network(kind)
    peer.set_state_dict({name: value.clone() for name, value in layer.state_dict().items()})
    y = np.random.RandomState(2).randint(0, 3, 16)
    share = slice(dist.get_rank() * 8, dist.get_rank() * 8 + 8)
    parallel = paddle.DataParallel(layer, **SMALL)
    module = torch_module(peer)
    theirs = DistributedDataParallel(module)
    rule = paddle.optimizer.Momentum(0.05, parameters=layer.parameters())
    their_rule = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    found = []
    for _ in range(steps):
        given, wanted = paddle.to_tensor(x[share]), paddle.to_tensor(y[share])
        loss = F.cross_entropy(parallel(given), wanted)
        loss.backward()
        for p in layer.parameters():
            assert p.grad is not None or p.stop_gradient
            here(p if p.grad is None else p.grad)
        rule.step()
        rule.clear_grad()
        their_loss = torch.nn.functional.cross_entropy(theirs(given.data), wanted.data)
        their_rule.zero_grad()
        their_loss.backward()
        their_rule.step()
        found.append([float(loss), their_loss.item()])
    own = torch.cat([p.data.flatten() for p in layer.parameters() if not p.stop_gradient]).cpu()
    copy = own.clone()
    c10d.broadcast(copy, 0)
    assert torch.equal(copy, own), "the processes have other parameters"
    return found


def compressed(name: str, steps: int = 30) -> list[float]:
    """The first and the last loss, and how far the processes' parameters are apart."""
    paddle.set_device(GPU)
    layer, x = network("mlp")
    layer.to(dtype="float32")
    y = np.random.RandomState(2).randint(0, 3, 16)
    share = slice(dist.get_rank() * 8, dist.get_rank() * 8 + 8)
    rule: Any = paddle.optimizer.SGD(0.2, parameters=layer.parameters())
    model: Any = layer
    if name in SETTINGS:
        model = paddle.DataParallel(layer, **SMALL)
        model.compress_with(getattr(compression, name)(**SETTINGS[name]))
    elif name == "LocalSGD":
        rule = compression.LocalSGD(rule, k_steps=3, begin_step=0)
    else:
        rule = compression.DiLoCo(rule, k_steps=3)
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(
            model(paddle.to_tensor(x[share].astype("float32"))), paddle.to_tensor(y[share])
        )
        loss.backward()
        rule.step()
        rule.clear_grad()
        losses.append(float(loss))
    own = torch.cat([p.data.flatten() for p in layer.parameters()]).cpu()
    copy = own.clone()
    c10d.broadcast(copy, 0)
    return [losses[0], losses[-1], float((own - copy).abs().max())]


def sharded(level: str, folder: str) -> list[float]:
    """The largest distance from one process's AdamW with the whole batch, and whether a checkpoint brings it back."""
    paddle.set_device(GPU)
    layer, x = network("mlp")
    whole, _ = network("mlp")
    whole.set_state_dict({name: value.clone() for name, value in layer.state_dict().items()})
    y = np.random.RandomState(2).randint(0, 3, 16)
    share = slice(dist.get_rank() * 8, dist.get_rank() * 8 + 8)
    rule = paddle.optimizer.AdamW(0.01, parameters=layer.parameters())
    model, rule, _ = dist.sharding.group_sharded_parallel(layer, rule, level)
    alone = paddle.optimizer.AdamW(0.01, parameters=whole.parameters())
    for _ in range(4):
        for net, optimizer, part in ((model, rule, share), (whole, alone, slice(None))):
            F.cross_entropy(net(paddle.to_tensor(x[part])), paddle.to_tensor(y[part])).backward()
            optimizer.step()
            optimizer.clear_grad()
    apart = 0.0
    if level != "p_g_os":
        apart = max(
            float((a - b).abs().max()) for a, b in zip(layer.parameters(), whole.parameters(), strict=True)
        )
    state = {name: value for name, value in whole.state_dict().items()}
    dist.save_state_dict(state, folder)
    again = {name: paddle.zeros_like(value) for name, value in state.items()}
    dist.load_state_dict(again, folder)
    for name, value in again.items():
        here(value)
        apart = max(apart, float((value - state[name]).abs().max()))
    return [apart]
