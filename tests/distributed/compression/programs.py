"""Programs that the tests of compressed training run in each of several processes."""

from __future__ import annotations

import numpy as np
import torch
import torch.distributed as c10d

import sampan as paddle
from sampan import nn
from sampan.distributed import compression, traffic


def wire() -> int:
    return sum(entry.wire for entry in traffic.totals().values())


def network():
    paddle.seed(5)
    return nn.Sequential(nn.Linear(30, 40), nn.Tanh(), nn.Linear(40, 2))


def inputs(step):
    """This process's batch of a step, and the other processes' too."""
    x = np.random.RandomState(step).randn(c10d.get_world_size(), 8, 30).astype("float32")
    return paddle.to_tensor(x[c10d.get_rank()]), paddle.to_tensor(x.reshape(-1, 30))


def loss_of(y):
    return (y * y).mean()


def sums_of_gradients(name, settings, steps):
    """Relative error of the first exchanged gradient and of the sum of all; bytes of a step beside those of dense
    gradients; whether the processes have equal bits. The weights do not move."""
    layer, whole = network(), network()
    parallel = paddle.DataParallel(layer)
    parallel.compress_with(getattr(compression, name)(**settings))
    total, expected, errors, sizes, equal = 0.0, 0.0, [], [], True
    for step in range(steps):
        mine, everything = inputs(step)
        before = wire()
        loss_of(parallel(mine)).backward()
        sizes.append(wire() - before)
        loss_of(whole(everything)).backward()
        found, right = (
            torch.cat([p.grad.data.flatten() for p in model.parameters()]) for model in (layer, whole)
        )
        heard = [torch.empty_like(found) for _ in range(c10d.get_world_size())]
        c10d.all_gather(heard, found)
        equal &= all(torch.equal(found, other) for other in heard)
        total, expected = total + found.double(), expected + right.double()
        errors.append(float((found - right).norm() / right.norm()))
        for model in (layer, whole):
            model.clear_gradients()
    world = c10d.get_world_size()
    dense = sum(p.data.nbytes for p in layer.parameters()) * 2 * (world - 1) // world
    return errors, float((total - expected).norm() / expected.norm()), sizes[-1] / dense, equal


def momentum_of_top_k(steps):
    """Largest difference of weights from one process with Momentum, where all entries are sent."""
    layer, whole = network(), network()
    parallel = paddle.DataParallel(layer)
    parallel.compress_with(compression.TopK(0.9, [0.0], rampup_begin_step=1))
    steppers = (
        paddle.optimizer.SGD(0.1, parameters=layer.parameters()),
        paddle.optimizer.Momentum(0.1, 0.9, parameters=whole.parameters()),
    )
    for step in range(steps):
        for model, x, optimizer in zip((parallel, whole), inputs(step), steppers, strict=True):
            loss_of(model(x)).backward()
            optimizer.step()
            optimizer.clear_grad()
    return difference(layer, whole)


def difference(layer, whole):
    pairs = zip(layer.parameters(), whole.parameters(), strict=True)
    return max(float((p - q).abs().max()) for p, q in pairs)


def alone_for(kind, settings, steps):
    """With LocalSGD or DiLoCo: how far the weights are from one process with the whole batch after each step, and
    from those of process 0."""
    layer, whole = network(), network()
    inner = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    wrapped = getattr(compression, kind)(inner, **settings)
    usual = paddle.optimizer.SGD(0.1, parameters=whole.parameters())
    found = []
    for step in range(steps):
        mine, everything = inputs(step)
        wrapped.minimize(loss_of(layer(mine)))
        wrapped.clear_grad()
        loss_of(whole(everything)).backward()
        usual.step()
        usual.clear_grad()
        own = torch.cat([p.data.flatten() for p in layer.parameters()])
        first = own.clone()
        c10d.broadcast(first, 0)
        found.append((difference(layer, whole), float((own - first).abs().max())))
    return found, wrapped.k_steps


def learned(kind, steps):
    """The loss before and after steps of learning to add, and the bytes of a step."""
    layer = network()
    model, optimizer = layer, paddle.optimizer.SGD(0.05, parameters=layer.parameters())
    if kind == "DiLoCo":
        optimizer = compression.DiLoCo(optimizer, k_steps=5)
    else:
        model = paddle.DataParallel(layer)
        exchange = compression.TopK(0.9, [0.9]) if kind == "TopK" else compression.LowRank(2)
        model.compress_with(exchange)
    losses = []
    for step in range(steps):
        mine, _ = inputs(step)
        loss = ((model(mine) - mine[:, :2] - mine[:, 2:4]) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return float(np.mean(losses[:5])), float(np.mean(losses[-5:]))


def after_an_overflow(dtype):
    """Whether the gradients are finite in a step with too large ones, and in the two steps after it."""
    layer = network()
    parallel = paddle.DataParallel(layer)
    parallel.compress_with(compression.HalfPrecision(dtype))
    finite = []
    for factor in (1e8, 1.0, 1.0):
        mine, _ = inputs(0)
        (loss_of(parallel(mine)) * factor).backward()
        finite.append(all(bool(p.grad.data.isfinite().all()) for p in layer.parameters()))
        layer.clear_gradients()
    return finite
