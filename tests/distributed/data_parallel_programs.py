"""Programs that test_data_parallel.py runs in each of several processes. They return plain values."""

from __future__ import annotations

from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch
import torch.distributed as c10d
from torch.nn.parallel import DistributedDataParallel

import sampan as paddle
import sampan.distributed as dist
import sampan.nn.functional as F
from sampan import nn
from sampan.distributed import traffic
from sampan.interop import torch_module

SMALL = {"comm_buffer_size": 0.002, "last_comm_buffer_size": 0.001}  # several buckets of small networks


def rank() -> int:
    return c10d.get_rank()


def world() -> int:
    return c10d.get_world_size()


def mean_over_processes(value: float) -> float:
    total = torch.tensor(value, dtype=torch.float64)
    c10d.all_reduce(total)
    return total.item() / world()


class Block(nn.Layer):
    """The residual block of ResNet-18."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = (nn.Conv2D(width, width, 3, padding=1, bias_attr=False) for _ in "ab")
        self.norms = nn.LayerList([nn.BatchNorm2D(width), nn.BatchNorm2D(width)])

    def forward(self, x):
        y = F.relu(self.norms[0](self.first(x)))
        return F.relu(x + self.norms[1](self.second(y)))


class Recurrent(nn.Layer):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(5, 8, num_layers=2), nn.Linear(8, 3)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def made(kind):
    """(layer, inputs of 16 examples) of one of the four kinds of networks, float64."""
    numbers = np.random.RandomState(1)
    paddle.seed(7)
    if kind == "mlp":
        layer = nn.Sequential(nn.Linear(20, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
        x = numbers.randn(16, 20)
    elif kind == "resnet":
        layer = nn.Sequential(nn.Conv2D(3, 6, 3), Block(6), Block(6), nn.Flatten(), nn.Linear(6 * 36, 3))
        x = numbers.randn(16, 3, 8, 8)
    elif kind == "lstm":
        layer, x = Recurrent(), numbers.randn(16, 6, 5)
    else:
        layer = nn.Sequential(nn.Embedding(200, 8), nn.Flatten(), nn.Linear(32, 3))
        x = np.minimum(numbers.zipf(1.3, (16, 4)), 200) - 1
    return layer.to(dtype="float64"), x


def copy_of(layer, kind):
    other, _ = made(kind)
    other.set_state_dict({name: value.clone() for name, value in layer.state_dict().items()})
    return other


def losses(kind, steps, synchronised=False):
    """Losses of DataParallel, of one process with the whole batch, and of torch's DDP: the means over the
    processes. With bytes of gradients in a step."""
    layer, x = made(kind)
    whole, peer = copy_of(layer, kind), copy_of(layer, kind)
    if synchronised:
        layer = nn.SyncBatchNorm.convert_sync_batchnorm(layer)
    y = np.random.RandomState(2).randint(0, 3, 16)
    share = slice(rank() * 16 // world(), (rank() + 1) * 16 // world())
    parallel = paddle.DataParallel(layer, **SMALL)
    module = torch_module(peer)
    theirs = DistributedDataParallel(module, forward_sync_buffers=False)
    ours_step, whole_step = (
        paddle.optimizer.Momentum(0.05, parameters=model.parameters()) for model in (layer, whole)
    )
    their_step = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9)
    found = []
    for _ in range(steps):
        row = []
        for model, optimizer, part in ((parallel, ours_step, share), (whole, whole_step, slice(None))):
            loss = F.cross_entropy(model(paddle.to_tensor(x[part])), paddle.to_tensor(y[part]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            row.append(loss.item())
        loss = torch.nn.functional.cross_entropy(
            theirs(torch.from_numpy(x[share])), torch.from_numpy(y[share])
        )
        their_step.zero_grad()
        loss.backward()
        their_step.step()
        row.append(loss.item())
        found.append([mean_over_processes(row[0]), row[1], mean_over_processes(row[2])])
    return found


def gradients(layer):
    return {name: None if p.grad is None else p.grad.numpy().tolist() for name, p in layer.named_parameters()}


def batches(kind, count):
    """`count` batches of a network: this process's part and the whole, as (x, whole x)."""
    layer, x = made(kind)
    share = slice(rank() * 16 // world(), (rank() + 1) * 16 // world())
    parts = [np.roll(x, step, 0) for step in range(count)]
    return layer, [(paddle.to_tensor(part[share]), paddle.to_tensor(part)) for part in parts]


def loss_of(outputs):
    return (outputs * outputs).mean()


def difference(layer, whole):
    """The largest difference of gradients, as a part of the largest gradient."""
    pairs = [
        (p.grad.numpy(), q.grad.numpy()) for p, q in zip(layer.parameters(), whole.parameters(), strict=True)
    ]
    return max(np.abs(p - q).max() / np.abs(q).max() for p, q in pairs)


def accumulated():
    """Three batches, of which the first two are not exchanged; then one more with the gradients still there."""
    layer, parts = batches("mlp", 4)
    whole = copy_of(layer, "mlp")
    parallel = paddle.DataParallel(layer, **SMALL)
    loss_of(parallel(parts[0][0])).backward()
    layer.clear_gradients()
    found = []
    for x, _ in parts[:2]:
        with parallel.no_sync():
            loss_of(parallel(x)).backward()
    alone = layer[0].weight.grad.numpy().sum()
    found.append(alone != mean_over_processes(alone))  # each process has its own
    loss_of(parallel(parts[2][0])).backward()
    for _, x in parts[:3]:
        loss_of(whole(x)).backward()
    found.append(difference(layer, whole))
    loss_of(parallel(parts[3][0])).backward()
    loss_of(whole(parts[3][1])).backward()
    return [*found, difference(layer, whole)]


def sent_while_computing():
    """How many of the gradients were there as each bucket was sent, in the second step; and of how many."""
    layer, parts = batches("mlp", 1)
    parallel = paddle.DataParallel(layer, **SMALL)
    reducer, usual, seen = parallel._reducer, parallel._reducer.exchange, []

    def exchange(bucket, group):
        seen.append(len(reducer.arrived))
        return usual(bucket, group)

    reducer.exchange = exchange
    for _ in range(2):
        seen.clear()
        loss_of(parallel(parts[0][0])).backward()
        layer.clear_gradients()
    return seen, len(list(layer.parameters()))


class Branches(nn.Layer):
    def __init__(self):
        super().__init__()
        self.shared, self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)

    def forward(self, x, left=True):
        return (self.left if left else self.right)(F.tanh(self.shared(x)))


def unused(find, own):
    """Gradients after a step in which one branch got none; own: each process uses another one."""
    paddle.seed(3)
    layer = Branches()
    parallel = paddle.DataParallel(layer, find_unused_parameters=find)
    outputs = []
    for step in range(2):
        layer.clear_gradients()
        x = paddle.full([2, 4], 1.0 + rank() + step)
        loss_of(parallel(x, left=not own or rank() == 0)).backward()
        outputs.append(gradients(layer))
    # The same with one process: the mean over the processes' losses.
    layer.clear_gradients()
    for process in range(world()):
        x = paddle.full([2, 4], 2.0 + process)
        (loss_of(layer(x, left=not own or process == 0)) / world()).backward()
    return outputs[1], gradients(layer)


def refused_then_used():
    """An unused parameter raises in all processes; the next step works."""
    layer = Branches()
    parallel = paddle.DataParallel(layer)
    loss_of(parallel(paddle.ones([2, 4])) + parallel(paddle.ones([2, 4]), left=False)).backward()
    text = ""
    try:
        loss_of(parallel(paddle.ones([2, 4]), left=rank() == 0)).backward()
    except RuntimeError as error:
        text = str(error)
    layer.clear_gradients()
    loss_of(parallel(paddle.ones([2, 4])) + parallel(paddle.ones([2, 4]), left=False)).backward()
    return text, all(p.grad is not None for p in layer.parameters())


def different(what):
    """DataParallel of layers that differ between the processes."""
    first = nn.Linear(3, 4 if what == "shape" and rank() else 5)
    if what == "dtype" and rank():
        first.to(dtype="float64")
    layer = nn.Sequential(first, *([nn.Linear(2, 2)] if what == "count" and rank() else []))
    if what == "frozen" and rank():
        first.bias.stop_gradient = True
    paddle.DataParallel(layer)


def equal_start():
    """Parameters and buffers of both processes after the start, which began differently."""
    paddle.seed(rank())
    layer = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1D(3))
    layer[1]._mean.set_value(paddle.full([3], float(rank())))
    layer.register_buffer("count", paddle.to_tensor([rank() + 5]))
    paddle.DataParallel(layer)
    return {name: value.tolist() for name, value in layer.state_dict().items()}


class Mixed(nn.Layer):
    """Two dtypes, a weight that is used twice, one frozen, one under two names."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(4, 4), nn.Linear(4, 4).to(dtype="float64"), nn.Linear(4, 4)
        self.d = self.a
        self.c.weight.stop_gradient = True

    def forward(self, x):
        return {"y": (self.b(self.d(self.c(self.a(x))).astype("float64")),), "n": 3}


def mixed():
    """Largest difference from one process: at once, after thawing a parameter, of two calls in one loss; what
    paddle.grad, hooks and an older gradient that is still in use see."""
    paddle.seed(4)
    layer, whole = Mixed(), Mixed()
    whole.set_state_dict({name: value.clone() for name, value in layer.state_dict().items()})
    parallel = paddle.DataParallel(layer, **SMALL)
    numbers = np.random.RandomState(5).randn(4, 8, 4).astype("float32")
    share = slice(rank() * 8 // world(), (rank() + 1) * 8 // world())
    found, seen = {}, []
    layer.a.bias.register_hook(lambda gradient: seen.append(gradient.numpy().sum()))
    for step, name in enumerate(("at once", "again", "thawed", "two calls")):
        if name == "thawed":
            layer.c.weight.stop_gradient = whole.c.weight.stop_gradient = False
        results = []
        for model, x in ((parallel, numbers[step, share]), (whole, numbers[step])):
            loss = loss_of(model(paddle.to_tensor(x))["y"][0])
            if name == "two calls":
                loss = loss + 2.0 * model(paddle.to_tensor(x))["y"][0].mean()
            results.append(loss)
        for tensor in (*layer.parameters(), *whole.parameters()):
            tensor.clear_gradient(False)
        (inner,) = paddle.grad(results[0], [layer.a.weight])
        assert layer.a.weight.grad is None
        for loss in results:
            loss.backward()
        trained = [
            (p, q) for p, q in zip(layer.parameters(), whole.parameters(), strict=True) if not p.stop_gradient
        ]
        found[name] = max(float((p.grad - q.grad).abs().max()) for p, q in trained)
        if name == "at once":
            kept = layer.a.weight.grad
            before = kept.numpy().copy()
            found["grad is local"] = mean_over_processes(float(inner.sum())) - float(kept.sum())
    found["kept"] = float(np.abs(kept.numpy() - before).max())
    found["hooks"] = len(seen), mean_over_processes(seen[0]) != seen[0]
    return found


def uneven():
    """Sums over batches of different lengths, one of them empty, against one process."""
    layer, _ = made("mlp")
    whole = copy_of(layer, "mlp")
    parallel = paddle.DataParallel(layer, **SMALL)
    x = np.random.RandomState(3).randn(3, 8, 20)
    found = []
    for step, cut in enumerate((3, 8, 0)):  # the first process has as many
        mine = x[step, :cut] if rank() == 0 else x[step, cut:] if rank() == 1 else x[step, :0]
        for model, part, factor in ((parallel, mine, world()), (whole, x[step], 1)):
            model.clear_gradients()
            ((model(paddle.to_tensor(part)) ** 2).sum() * factor).backward()
        found.append(difference(layer, whole))
    return found


def mixed_precision():
    """Steps with auto_cast, GradScaler and clipping; in the second one process has an overflow, so that none
    steps. Whether weights changed, the scale, and whether all processes are equal."""
    paddle.seed(6)
    layer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    parallel = paddle.DataParallel(layer)
    optimizer = paddle.optimizer.AdamW(
        0.1, parameters=layer.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.5)
    )
    scaler = paddle.amp.GradScaler(init_loss_scaling=1024.0, decr_every_n_nan_or_inf=1)
    found = []
    for step in range(3):
        before = layer[0].weight.numpy().copy()
        with paddle.amp.auto_cast(dtype="float16"):
            loss = loss_of(parallel(paddle.full([2, 4], 1.0 + rank())).astype("float32"))
        if step == 1 and rank() == world() - 1:
            loss = loss * float("inf")
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
        changed = bool((layer[0].weight.numpy() != before).any())
        total = float(sum(p.numpy().astype("float64").sum() for p in layer.parameters()))
        found.append((changed, scaler._scale, mean_over_processes(total) == total))
    return found


def compiled():
    """Gradients of a network compiled by to_static, inside and around DataParallel, against one process."""
    found = []
    for outside in (False, True):
        layer, parts = batches("mlp", 2)
        whole = copy_of(layer, "mlp")
        if outside:
            parallel = paddle.jit.to_static(paddle.DataParallel(layer))
        else:
            parallel = paddle.DataParallel(paddle.jit.to_static(layer))
        for mine, x in parts:
            for model, part in ((parallel, mine), (whole, x)):
                model.clear_gradients()
                loss_of(model(part)).backward()
            found.append(difference(layer, whole))
    return found


Pair = namedtuple("Pair", "first second")


class Shapes(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)

    def forward(self, x):
        y = self.a(x)
        return OrderedDict(pair=Pair(y, [y * 2]), text="as it is", x=x)


def structures():
    """Outputs of a layer in containers keep their types, and lead to the exchange."""
    layer = Shapes()
    out = paddle.DataParallel(layer)(paddle.full([1, 2], float(rank())))
    out["pair"].second[0].sum().backward()
    own = layer.a.weight.grad.numpy().sum()
    return type(out).__name__, type(out["pair"]).__name__, out["text"], mean_over_processes(own) == own


def shares(count, batch):
    """The batches of DistributedBatchSampler in this process."""
    sampler = paddle.io.DistributedBatchSampler(list(range(count)), batch, shuffle=True)
    sampler.set_epoch(2)
    return list(sampler)


def bytes_of_a_step():
    """Bytes of gradients in one step after the first, and of the parameters."""
    layer, parts = batches("mlp", 1)
    parallel = paddle.DataParallel(layer)
    found = []
    for _ in range(3):
        before = traffic.totals().get("all_reduce", (0, 0, 0))
        loss_of(parallel(parts[0][0])).backward()
        layer.clear_gradients()
        after = traffic.totals()["all_reduce"]
        found.append([a - b for a, b in zip(after, before, strict=False)][-2:])
    return found, sum(p.data.nbytes for p in layer.parameters())


def synchronised(dtype, channels_last, empty):
    """SyncBatchNorm, with its gradients and the derivative of their squares, against one process."""
    paddle.seed(8)
    kind = {"float64": 1e-9, "float32": 2e-4}[dtype]
    layer = nn.SyncBatchNorm(3, data_format="NHWC" if channels_last else "NCHW").to(dtype=dtype)
    whole = nn.BatchNorm2D(3, data_format="NHWC" if channels_last else "NCHW").to(dtype=dtype)
    numbers = np.random.RandomState(4)
    for model in (layer, whole):
        model.weight.set_value(paddle.to_tensor([0.5, 2.0, -1.0], dtype))
    x = numbers.randn(6, *((4, 5, 3) if channels_last else (3, 4, 5))) * 3 + 100
    weights = numbers.randn(*x.shape)
    share = slice(0, 0 if empty else 2) if rank() == 0 else slice(0 if empty else 2, 6)
    found = []
    results = []
    for model, part in ((layer, share), (whole, slice(None))):
        given = paddle.to_tensor(x[part], dtype, stop_gradient=False)
        y = model(given)
        loss = (y * y * paddle.to_tensor(weights[part], dtype)).sum()
        (first,) = paddle.grad(loss, [given], create_graph=True)
        (second,) = paddle.grad((first * first).sum(), [given], retain_graph=True)
        loss.backward()
        local = [y, first, second]
        shared = [model.weight.grad, model.bias.grad]
        results.append(([t.numpy() for t in local], [t.numpy() for t in shared], model))
    (ours, our_shared, _), (theirs, their_shared, _) = results
    for a, b in zip(ours, theirs, strict=True):
        found.append(float(np.abs(a - b[share]).max(initial=0) / np.abs(b).max()))
    for a, b in zip(our_shared, their_shared, strict=True):
        total = torch.from_numpy(a.copy())
        c10d.all_reduce(total)
        found.append(float(np.abs(total.numpy() - b).max() / np.abs(b).max()))
    for name in ("_mean", "_variance"):
        a, b = getattr(layer, name).numpy(), getattr(whole, name).numpy()
        found.append(float(np.abs(a - b).max() / np.abs(b).max()))
    return max(found) < kind, found


def converted():
    """Sparse and dense batch normalisations, converted, over points that are shared out, against one process."""
    paddle.seed(9)
    dense = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1D(3))
    changed = nn.SyncBatchNorm.convert_sync_batchnorm(dense)
    alike = paddle.sparse.nn.SyncBatchNorm(3)
    alone = paddle.sparse.nn.BatchNorm(3)
    points = np.random.RandomState(3).randn(2, 6, 3).astype("float32")

    def cloud(values, places):
        return paddle.sparse.sparse_coo_tensor(
            np.array([[0] * len(places), places]), values[places], [1, 6, 3]
        )

    mine = list(range(rank() * 2, (rank() + 1) * 2 if rank() + 1 < world() else 6))
    part = alike(cloud(points[0], mine)).values().numpy()
    full = alone(cloud(points[0], list(range(6)))).values().numpy()
    return type(changed[1]).__name__, float(np.abs(part - full[mine]).max())


def given_its_group(groups):
    """Gradients of a network whose group is given: a Group, or what lies in it, as in Paddle's example of `spawn`."""
    whole, found = dist.init_parallel_env(), []
    for group in (whole, whole.process_group):
        layer = nn.Linear(2, 1, bias_attr=False)
        paddle.DataParallel(layer, group=group)(
            paddle.ones([1, 2]) * (dist.get_rank() + 1.0)
        ).sum().backward()
        found.append(layer.weight.grad.numpy().ravel().tolist())
    with pytest.raises(TypeError, match="DataParallel: group: expected a Group, got int"):
        paddle.DataParallel(layer, group=groups)
    return found
