"""Programs of sharding: networks over two processes beside the same ones in one."""

from __future__ import annotations

import numpy as np

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import traffic
from sampan.distributed.sharding import (
    group_sharded_parallel,
    held_bytes,
    save_group_sharded_model,
)
from sampan.distributed.sharding.parts import Cut


class Network(nn.Layer):
    """A table, whose gradient is one of rows, layers with odd sizes, and a parameter without a gradient."""

    def __init__(self, dtype="float64"):
        super().__init__(dtype=dtype)
        paddle.set_default_dtype(dtype)
        paddle.seed(2)
        self.table, self.norm = nn.Embedding(40, 7), nn.LayerNorm(7)
        self.inner, self.out = nn.Linear(7, 33), nn.Linear(33, 1)
        self.unused = nn.Linear(3, 2)
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(1.5))
        paddle.set_default_dtype("float32")
        random = np.random.RandomState(3)
        for parameter in self.parameters():
            noise = random.randn(*parameter.shape) * 0.3
            parameter.set_value(paddle.to_tensor((parameter.numpy() + noise).astype(dtype)))

    def forward(self, ids):
        x = self.norm(self.table(ids).mean(1))
        return self.out(nn.functional.tanh(self.inner(x))) * self.scale


def batches(steps):
    random = np.random.RandomState(1)
    return [(random.randint(0, 40, (8, 3)), random.randn(8, 1)) for _ in range(steps)]


def clip_of(name):
    return {
        "": None,
        "norm": nn.ClipGradByNorm(0.05),
        "global": nn.ClipGradByGlobalNorm(0.1),
        "value": nn.ClipGradByValue(0.01),
    }[name]


def optimizer_of(kind, parameters, clip):
    settings = {"weight_decay": 0.05, "grad_clip": clip_of(clip)}
    if kind == "Momentum":
        settings["momentum"] = 0.9
    return getattr(paddle.optimizer, kind)(0.05, parameters=parameters, **settings)


def train(network, optimizer, given, part, passes=1):
    """Losses; each step adds up the gradients of `passes` backward passes."""
    losses = []
    for ids, wanted in given:
        for _ in range(passes):
            rows = slice(None) if part is None else slice(4 * part, 4 * part + 4)
            y = network(paddle.to_tensor(ids[rows]))
            loss = ((y - paddle.to_tensor(wanted[rows].astype(y.numpy().dtype))) ** 2).mean()
            loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total = loss.detach().clone()
        if part is not None:
            dist.all_reduce(total)
            total /= 2
        losses.append(float(total))
    return losses


def both(level, kind="AdamW", clip="", passes=1, segment_size=8):
    """The sharded network after training, the one of one process, and the largest difference of losses."""
    rank, given = dist.get_rank(), batches(5)
    one = Network()
    optimizer = optimizer_of(kind, one.parameters(), clip)
    expected = train(one, optimizer, given, None, passes)
    layer = Network()
    sharded = group_sharded_parallel(
        layer, optimizer_of(kind, layer.parameters(), clip), level, segment_size=segment_size
    )
    found = train(sharded[0], sharded[1], given, rank, passes)
    return sharded, (one, optimizer), np.abs(np.subtract(found, expected)).max()


def differences(state, other):
    """The largest difference between the values of two states, in their order."""
    found, expected = ([v for v in s.values() if isinstance(v, paddle.Tensor)] for s in (state, other))
    assert [v.shape for v in found] == [v.shape for v in expected]
    return max(
        float((a.astype("float64") - b.astype("float64")).abs().max())
        for a, b in zip(found, expected, strict=True)
    )


def as_one(level, kind="AdamW", clip="", passes=1):
    """Differences from one process: of the losses, parameters and states."""
    (network, optimizer, _), (one, usual), losses = both(level, kind, clip, passes)
    return (
        losses,
        differences(network.state_dict(), one.state_dict()),
        differences(optimizer.state_dict(), usual.state_dict()),
    )


def memory(level):
    """Bytes of state, of gradients and of parameters over those of one process."""
    (network, optimizer, _), (one, usual), _ = both(level)
    ids, _ = batches(1)[0]
    kept = []
    for net in (network, one):
        net(paddle.to_tensor(ids)).mean().backward()
        named = dict((net._layers if net is network else net).named_parameters())
        chosen = [p for name, p in named.items() if "table" not in name and p._grad is not None]
        kept.append(
            (
                sum(p._grad.data.nbytes for p in chosen),
                sum(p.data.nbytes for p in named.values()),
            )
        )
        for p in named.values():
            p.clear_gradient()
    (gradients, parameters), (all_gradients, all_parameters) = kept
    return (
        held_bytes(optimizer) / held_bytes(usual),
        gradients / all_gradients,
        parameters / all_parameters,
    )


def resumed(level, folder):
    """Differences between a run that goes on from a saved one, in another number of processes, and one that
    was not interrupted."""
    (network, optimizer, _), (one, usual), _ = both(level, clip="global")
    save_group_sharded_model(network, folder, optimizer)
    given, rank = batches(8)[5:], dist.get_rank()
    expected = train(one, usual, given, None)
    alone = Network()
    alone.set_state_dict(paddle.load(f"{folder}/model.pdmodel"))
    stepper = optimizer_of("AdamW", alone.parameters(), "global")
    stepper.set_state_dict(paddle.load(f"{folder}/model.pdopt"))
    layer = Network()
    again = optimizer_of("AdamW", layer.parameters(), "global")
    sharded, parted, _ = group_sharded_parallel(layer, again, level, segment_size=8)
    sharded.set_state_dict(paddle.load(f"{folder}/model.pdmodel"))
    parted.set_state_dict(paddle.load(f"{folder}/model.pdopt"))
    runs = [
        train(network, optimizer, given, rank),
        train(alone, stepper, given, None),
        train(sharded, parted, given, rank),
    ]
    return [float(np.abs(np.subtract(run, expected)).max()) for run in runs]


def scaled(level):
    """Scale, and whether parameters changed, after a step in which process 1 alone has an infinite gradient
    and one in which none has."""
    layer = Network("float32")
    sgd = paddle.optimizer.SGD(0.01, parameters=layer.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0)
    network, optimizer, scaler = group_sharded_parallel(layer, sgd, level, scaler, segment_size=8)
    told = []
    ids, _ = batches(1)[0]
    for factor in (float("inf") if dist.get_rank() else 1.0, 1.0):
        before = network.state_dict()["inner.weight"].numpy().copy()
        with paddle.amp.auto_cast(level="O1", dtype="float16", enable=False):
            loss = network(paddle.to_tensor(ids)).mean() * factor
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        changed = bool((network.state_dict()["inner.weight"].numpy() != before).any())
        told.append((scaler.get_init_loss_scaling(), scaler._scale, changed))
    return told


def refused():
    """What is said of settings that do not work, and of no_sync after an exchange."""
    said = []
    layer = Network()
    sgd = paddle.optimizer.SGD(0.01, parameters=layer.parameters())
    for call in (
        lambda: group_sharded_parallel(layer, sgd, "all"),
        lambda: group_sharded_parallel(layer, sgd, "os", offload=True),
        lambda: group_sharded_parallel(
            layer, paddle.optimizer.Lamb(0.1, parameters=layer.parameters()), "os"
        ),
        lambda: save_group_sharded_model(layer, "nowhere"),
        lambda: group_sharded_parallel(sgd, sgd, "os"),
    ):
        try:
            call()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}")
    network, optimizer, _ = group_sharded_parallel(layer, sgd, "os_g")
    network(paddle.to_tensor(batches(1)[0][0])).mean().backward()
    try:
        with network.no_sync():
            pass
    except RuntimeError as error:
        said.append(str(error))
    optimizer.clear_grad()
    with network.no_sync():
        return said


def whole_or_parts():
    """The parameters that are parts: all, without the tables, without small ones; the difference of a state
    that was set."""
    found = []
    for settings in ({"segment_size": 200}, {"segment_size": 200, "exclude_layer": ["Embedding"]}, {}):
        layer = Network()
        names = {id(p): name for name, p in layer.named_parameters()}
        sgd = paddle.optimizer.SGD(0.01, parameters=layer.parameters())
        network, _, _ = group_sharded_parallel(layer, sgd, "p_g_os", **settings)
        found.append(
            [f"{names[id(p)]} {[*p.data.shape]}" for unit in network._units for p in unit.parameters]
        )
        if settings == {"segment_size": 200}:
            new = {key: value * 2 + 1 for key, value in network.state_dict().items()}
            network.set_state_dict(new)
            ids = paddle.to_tensor(batches(1)[0][0])
            one = Network()
            one.set_state_dict(new)
            difference = float((network(ids) - one(ids)).abs().max())
    return *found, difference


def parts_of_gradients():
    """Differences of gradients from the parts of those of one process; shapes; bytes sent in a step."""
    rank = dist.get_rank()
    ids, _ = batches(1)[0]
    one, layer = Network(), Network()
    sgd = paddle.optimizer.SGD(0.01, parameters=layer.parameters())
    network, _, _ = group_sharded_parallel(layer, sgd, "os_g")
    for _ in range(2):  # buckets are sent while backward runs from the second on
        for parameter in one.parameters() + layer.parameters():
            parameter.clear_gradient(False)
        one(paddle.to_tensor(ids)).mean().backward()
        traffic.step()
        network(paddle.to_tensor(ids[4 * rank : 4 * rank + 4])).mean().backward()
    named = dict(layer.named_parameters())
    shapes, found = {}, []
    for name, parameter in one.named_parameters():
        part = named[name]._grad
        if part is None or "table" in name:
            continue
        shapes[name] = [*part.data.shape]
        own = Cut(parameter.shape, 2).of(parameter.grad.data, rank)
        found.append(float((own - part.data).abs().max()) if own.numel() else 0.0)
    return found, shapes, {name: entry.wire for name, entry in traffic.step().items()}
