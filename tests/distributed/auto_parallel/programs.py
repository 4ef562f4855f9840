"""What the worker processes of these tests run. Each function returns NumPy arrays, strings or numbers."""

import itertools
import random
import threading
import warnings

import numpy as np
import torch

import sampan
import sampan.distributed as dist
import sampan.nn.functional as F
from sampan import nn
from sampan.distributed.auto_parallel import dispatch
from sampan.engine.tensor import Tensor
from tests.ops.test_table import CASES, drawn, entry_of, flat, wrapped

KINDS = {
    "R": lambda: dist.Replicate(),
    "P": lambda: dist.Partial(),
    "S0": lambda: dist.Shard(0),
    "S1": lambda: dist.Shard(1),
}


def line(count=2):
    return dist.ProcessMesh(list(range(count)), dim_names=["x"])


# --- placements ---


def moved(shape, before, after):
    """A tensor with one placement, brought to another: its whole value, part and gradient."""
    mesh, values = line(), np.arange(np.prod(shape), dtype="float32").reshape(shape)
    x = sampan.to_tensor(values, stop_gradient=False)
    start = dist.shard_tensor(sampan.to_tensor(values), mesh, [dist.Replicate()])
    start = dist.reshard(start, mesh, [KINDS[before]()])
    start.stop_gradient = False
    end = dist.reshard(start, mesh, [KINDS[after]()])
    (end * x).sum().backward()
    (gradient,) = [start.grad]
    return (
        end.numpy(),
        end._local_value().numpy(),
        gradient.numpy(),
        str(gradient.placements),
        str(end.placements),
    )


def gradient_of_weight(kind):
    """The placements of the gradients of a weight and of what was made of it, and the gradient."""
    mesh = line()
    weight = dist.shard_tensor(sampan.arange(12, dtype="float32").reshape([3, 4]), mesh, [KINDS[kind]()])
    weight.stop_gradient = False
    x = dist.shard_tensor(sampan.ones([4, 3]), mesh, [dist.Shard(0)])
    ((x @ weight).tanh() ** 2).sum().backward()
    return str(weight.grad.placements), weight.grad.numpy()


def printed():
    mesh = line()
    x = dist.shard_tensor(sampan.arange(5, dtype="float32"), mesh, [dist.Shard(0)])
    total = x.sum()
    return [
        str(x),
        str(x.process_mesh),
        str(x._local_shape),
        str(total.placements),
        total.item(),
        x.tolist(),
        bool(total > 9),
    ]


def local_and_back(stop):
    mesh = line()
    rank = mesh.get_rank_by_dim_and_process_id("x", torch.distributed.get_rank())
    part = sampan.to_tensor([[1.0 + rank, 2.0]], stop_gradient=stop)
    x = dist.dtensor_from_local(part, mesh, [dist.Shard(0)])
    back = dist.dtensor_to_local(x * 2.0, mesh, [dist.Shard(0)])
    whole = dist.unshard_dtensor(x)
    if not stop:
        (back.sum() + (whole * whole).sum()).backward()
    return x.shape, back.numpy(), whole.numpy(), whole.is_dist(), None if stop else part.grad.numpy()


def refusal(code):
    """The error of an expression."""
    try:
        eval(code, {"dist": dist, "sampan": sampan, "mesh": line()})
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def second_derivative():
    mesh = line()
    x = dist.shard_tensor(sampan.to_tensor([1.0, 2.0, 3.0]), mesh, [dist.Shard(0)])
    x.stop_gradient = False
    (first,) = sampan.grad((x * x * x).sum(), x, create_graph=True)
    (second,) = sampan.grad((first * first).sum(), x)
    return first.numpy(), second.numpy(), str(second.placements)


# --- every operator with samples ---


def _outcome(function, args):
    outputs = [o for o in flat(function(*args)) if isinstance(o, Tensor)]
    total = None
    for place, output in enumerate(outputs):
        if not output.stop_gradient:
            square = (
                (output * (place + 0.5)).real()
                if output.data.is_complex()
                else output * output * (place + 0.5)
            )
            total = square.sum() if total is None else total + square.sum()
    if total is not None:
        total.backward()
    return outputs, [a.grad for a in args if isinstance(a, Tensor)]


def _equal(a, b):
    if a is None or b is None:
        return a is b
    a, b = a.numpy(), b.numpy()
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, 1e-6, 1e-6, equal_nan=True)


def table(part, parts):
    """Each operator with samples: every input cut along axis 0, against the plain call."""
    mesh, found = line(), {"equal": [], "replicated": [], "refused": [], "wrong": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of samples at the border of a domain
        for case in CASES[part::parts]:
            kind, name, i = case.values
            function, _, samples, _ = entry_of(kind, name)
            values = drawn(name, samples[i])
            torch.manual_seed(0)
            plain = _outcome(function, wrapped(values, True))
            args = [
                dist.shard_tensor(a, mesh, [dist.Shard(0)]) if isinstance(a, Tensor) and a.ndim else a
                for a in wrapped(values, True)
            ]
            tensors = [a for a in args if isinstance(a, Tensor)]
            if not any(a.is_dist() for a in tensors):
                continue
            before = sum(dispatch.counts["replicated"].values())
            try:
                own = _outcome(function, args)
            except sampan.engine.errors.InvalidArgument:
                found["refused"].append(name)
                continue
            same = len(plain[0]) == len(own[0])
            same = same and all(map(_equal, plain[0] + plain[1], own[0] + own[1]))
            lies = all(
                g is None or g.placements == a.placements for a, g in zip(tensors, own[1], strict=True)
            )
            moved = sum(dispatch.counts["replicated"].values()) > before
            found["wrong" if not (same and lies) else "replicated" if moved else "equal"].append(
                f"{name}-{i}"
            )
    return found


# --- networks ---


class Mlp(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm, self.a, self.b = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return self.b(F.gelu(self.a(self.norm(x))))


class Block(nn.Layer):
    """A layer of LLaMA without its rotation."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias_attr=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 32, bias_attr=False) for _ in range(2))
        self.down = nn.Linear(32, width, bias_attr=False)

    def forward(self, x):
        batch, time, width = x.shape
        y = self.norm1(x)
        q, k, v = (f(y).reshape([batch, time, self.heads, -1]) for f in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.reshape([batch, time, width]))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Language(nn.Layer):
    def __init__(self, words=32, width=16):
        super().__init__()
        self.words, self.block = nn.Embedding(words, width), Block(width)
        self.head = nn.Linear(width, words, bias_attr=False)

    def forward(self, x):
        return self.head(self.block(self.words(x)))


class Pictures(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.Conv2D(8, 8, 3)
        self.c = nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.a(x))), 2)
        return self.c(F.adaptive_avg_pool2d(F.relu(self.b(x)), 1).flatten(1))


NETWORKS = {"mlp": Mlp, "language": Language, "pictures": Pictures}
LLAMA = {
    "words": dist.RowWiseParallel(),
    r"block\.[qkv]": dist.ColWiseParallel(),
    "block.o": dist.RowWiseParallel(),
    "block.gate": dist.ColWiseParallel(),
    "block.up": dist.ColWiseParallel(),
    "block.down": dist.RowWiseParallel(),
    "head.weight": dist.ColWiseParallel(),
}
OPTIMIZERS = {
    "SGD": lambda p: sampan.optimizer.SGD(0.1, parameters=p, weight_decay=0.01),
    "Momentum": lambda p: sampan.optimizer.Momentum(0.05, parameters=p, grad_clip=nn.ClipGradByNorm(0.1)),
    "Adam": lambda p: sampan.optimizer.Adam(0.01, parameters=p, grad_clip=nn.ClipGradByValue(0.01)),
    "AdamW": lambda p: sampan.optimizer.AdamW(0.01, parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.5)),
    "Lamb": lambda p: sampan.optimizer.Lamb(0.01, parameters=p),
}


def made(network):
    sampan.seed(3)
    return NETWORKS[network]()


def batches(network, steps):
    random = np.random.default_rng(0)
    for _ in range(steps):
        if network == "mlp":
            yield random.normal(size=(8, 8)).astype("float32"), random.integers(0, 4, 8)
        elif network == "pictures":
            yield random.normal(size=(4, 3, 8, 8)).astype("float32"), random.integers(0, 5, 4)
        else:
            yield random.integers(0, 32, (4, 8)), random.integers(0, 32, (4, 8))


def trained(network, net, optimizer, lies=None, mesh=None, steps=20):
    """The losses of some steps, and the parameters after them."""
    losses = []
    for x, y in batches(network, steps):
        x, y = sampan.to_tensor(x), sampan.to_tensor(y)
        if lies is not None:
            x, y = dist.shard_tensor(x, mesh, lies), dist.shard_tensor(y, mesh, lies)
        scores = net(x)
        loss = F.cross_entropy(scores.reshape([-1, scores.shape[-1]]), y.reshape([-1]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return np.array(losses), {name: value.numpy() for name, value in net.state_dict().items()}


def columns_then_rows(name, layer, mesh):
    if name == "a":
        layer.weight = dist.shard_tensor(layer.weight, mesh, [dist.Shard(1)])
        layer.bias = dist.shard_tensor(layer.bias, mesh, [dist.Shard(0)])
    elif name == "b":
        layer.weight = dist.shard_tensor(layer.weight, mesh, [dist.Shard(0)])


def sharded_training(network, optimizer, kind, steps=20):
    """`trained`, with tensor parallelism ("columns"), a cut batch ("batch"), or also a stage of ZeRO ("1" to "3")."""
    mesh, net = line(), made(network)
    dist.shard_layer(net, mesh, columns_then_rows if kind == "columns" else None)
    chosen = OPTIMIZERS[optimizer](net.parameters())
    stage = getattr(dist, f"ShardingStage{kind}")("x", mesh) if kind in ("1", "2", "3") else None
    chosen = dist.shard_optimizer(chosen, stage)
    lies = [dist.Replicate() if kind == "columns" else dist.Shard(0)]
    losses, state = trained(network, net, chosen, lies, mesh, steps)
    held = [v for k, v in chosen.state_dict().items() if k.endswith(("moment1_0", "velocity_0"))]
    sizes = sum(int(np.prod(v._local_shape)) for v in held), sum(int(np.prod(v.shape)) for v in held)
    return losses, state, sizes


def planned_training(count, level, steps=20):
    """The language model by `parallelize` on a mesh of dp x mp processes."""
    mesh = dist.ProcessMesh(np.arange(count).reshape(-1, 2), dim_names=["dp", "mp"])
    net = made("language")
    optimizer = OPTIMIZERS["AdamW"](net.parameters())
    config = {"mp_config": {"parallelize_plan": dict(LLAMA)}, "dp_config": {"sharding_level": level}}
    net, optimizer = dist.parallelize(net, optimizer, mesh, config)
    cut = [dist.Shard(0), dist.Replicate()]
    return *trained("language", net, optimizer, cut, mesh, steps), str(net.words.weight.placements)


def parallelized_by_halves():
    """Losses with the network and its optimizer parallelized in two calls, and in one; whether the first keeps
    half of its optimizer's state."""
    from sampan.distributed.auto_parallel import by_halves

    losses = []
    for halves in (True, False):
        mesh, net = dist.ProcessMesh([[0], [1]], dim_names=["dp", "mp"]), made("language")
        config = {"mp_config": {"parallelize_plan": dict(LLAMA)}, "dp_config": {"sharding_level": 1}}
        if halves:
            net = by_halves.parallelize_model(net, mesh, config)
            optimizer = OPTIMIZERS["AdamW"](net.parameters())
            optimizer = by_halves.parallelize_optimizer(optimizer, mesh, config)
        else:
            optimizer = OPTIMIZERS["AdamW"](net.parameters())
            net, optimizer = by_halves.parallelize(net, optimizer, mesh, config)
        found, _ = trained("language", net, optimizer, [dist.Shard(0), dist.Replicate()], mesh, 3)
        losses.append(found)
        if halves:
            held = [v for k, v in optimizer.state_dict().items() if k.endswith("moment1_0")]
            cut = any(v._local_shape != list(v.shape) for v in held)
    return *losses, cut


def sequence_plan():
    """A layer norm on parts of sequences, between layers on whole ones."""
    mesh = dist.ProcessMesh([[0, 1]], dim_names=["dp", "mp"])
    results = []
    for plan in (
        None,
        {"norm": dist.SequenceParallelEnable()},
        {"a": dist.PrepareLayerInput(lambda process_mesh: lambda layer, inputs: inputs)},
    ):
        net = made("mlp")
        if plan is not None:
            net, _ = dist.parallelize(net, None, mesh, {"mp_config": {"parallelize_plan": plan}})
        x = sampan.ones([2, 4, 8]) * sampan.arange(8, dtype="float32")
        value = net(x)
        (value * value).sum().backward()
        results.append((value.numpy(), net.norm.weight.grad.numpy()))
    return results


class TwoStages(sampan.nn.Layer):
    """Two products with something between them; `first` and `second`: the meshes, None in one process."""

    def __init__(self, first=None, second=None):
        super().__init__()
        draw, self.second = np.random.RandomState(0), second
        for name, shape, mesh, axis in (
            ("w", [8, 16], first, 1), ("b", [16], first, 0), ("v", [16, 4], second, 0), ("scale", [4], second, None),
        ):  # fmt: skip
            values = sampan.nn.initializer.Assign((draw.randn(*shape) * 0.3).astype("float32"))
            made = self.create_parameter(shape, default_initializer=values)
            if mesh is not None:
                made = dist.shard_tensor(made, mesh, [dist.Replicate() if axis is None else dist.Shard(axis)])
            setattr(self, name, made)

    def forward(self, x):
        y = sampan.nn.functional.gelu(sampan.matmul(x, self.w) + self.b)
        y = y.reshape([-1, 16]).unsqueeze(0).squeeze(0)
        if self.second is not None:
            y = dist.reshard(y, self.second, [dist.Replicate()])
        return sampan.matmul(y, self.v) * self.scale


def stages(count, clip):
    """Losses and the first weight after training on two meshes, of which each process is in one, and in one
    process; where a process is not in the second mesh, the error and the text of the loss there."""
    results = []
    half, rank, told = count // 2, dist.get_rank(), ""
    first = dist.ProcessMesh([*range(half)], dim_names=["x"])
    second = dist.ProcessMesh([*range(half, count)], dim_names=["x"])
    for meshes in ((first, second), (None, None)):
        net, losses = TwoStages(*meshes), []
        clipping = {
            "norm": sampan.nn.ClipGradByNorm(0.05),
            "global": sampan.nn.ClipGradByGlobalNorm(0.1),
        }.get(clip)
        optimizer = sampan.optimizer.Momentum(0.5, parameters=net.parameters(), grad_clip=clipping)
        optimizer = dist.shard_optimizer(optimizer)
        for step in range(3):
            x = sampan.to_tensor(np.random.RandomState(step).randn(6, 8).astype("float32"))
            labels = sampan.to_tensor([0, 1, 2, 3, 0, 1])
            if meshes[0] is not None:
                x = dist.shard_tensor(x, first, [dist.Replicate()])
                labels = dist.shard_tensor(labels, second, [dist.Replicate()])
            loss = sampan.nn.functional.cross_entropy(net(x), labels)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            if meshes[0] is None or rank in second.process_ids:
                losses.append(loss.item())
            else:
                try:
                    loss.item()
                except RuntimeError as error:
                    told = f"{error} {loss}"
                losses.append(list(loss.shape))
        weight = net.w if meshes[0] is None else dist.reshard(net.w, second, [dist.Replicate()])
        inside = meshes[0] is None or rank in second.process_ids
        results.append((losses, weight.numpy() if inside else None))
    return *results, told


# --- checkpoints ---


def rows_of_all(name, layer, mesh):
    """Each parameter divided by rows."""
    for key, value in list(layer._parameters.items()):
        setattr(layer, key, dist.shard_tensor(value, mesh, [dist.Shard(0)]))


def saved_and_read(folder):
    """A trained state, read again with other placements and in a merged form."""
    mesh, net = line(), made("mlp")
    dist.shard_layer(net, mesh, columns_then_rows)
    optimizer = OPTIMIZERS["Adam"](net.parameters())
    trained("mlp", net, optimizer, [dist.Replicate()], mesh, 3)
    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    dist.save_state_dict(state, folder)
    other = made("mlp")
    dist.shard_layer(other, mesh, rows_of_all)
    read = {"net": other.state_dict(), "epoch": 0}
    dist.load_state_dict(read, folder)
    merged = dist.load_merged_state_dict(folder, "net.")
    again = OPTIMIZERS["Adam"](net.parameters())
    again.set_state_dict(optimizer.state_dict())
    steps = [trained("mlp", net, o, [dist.Replicate()], mesh, 1)[0] for o in (again,)]
    return (
        {k: v.numpy() for k, v in net.state_dict().items()}
        and {k: v.numpy() for k, v in state["net"].items()},
        {k: v.numpy() for k, v in other.state_dict().items()},
        {k: v.numpy() for k, v in merged.items()},
        read["epoch"],
        str(other.a.weight.placements),
        steps,
    )


# --- layers ---


def dropped(rate):
    """Dropout of a cut tensor and of one that each process has, and the mean gradient."""
    mesh = line()
    sampan.seed(11 + torch.distributed.get_rank())
    cut = dist.shard_tensor(sampan.ones([400, 10]), mesh, [dist.Shard(0)])
    copies = dist.shard_tensor(sampan.ones([400, 10]), mesh, [dist.Replicate()])
    cut.stop_gradient = False
    value = F.dropout(cut, rate)
    value.sum().backward()
    return value.numpy(), F.dropout(copies, rate)._local_value().numpy(), cut.grad.numpy()


def mapped():
    mesh = line()
    x = dist.shard_tensor(sampan.arange(6, dtype="float32"), mesh, [dist.Shard(0)])
    function = dist.local_map(lambda part: part.sum() * 2.0, [[dist.Partial()]], [[dist.Shard(0)]], mesh)
    strict = dist.local_map(lambda part: part, [[dist.Shard(0)]], [[dist.Replicate()]], mesh)
    try:
        strict(x)
    except ValueError as error:
        text = str(error)

    class Doubled(dist.LocalLayer):
        def forward(self, part):
            return part * 2.0

    x.stop_gradient = False
    layer = Doubled([(mesh, [dist.Shard(0)])], [(mesh, [dist.Shard(0)])])
    value = layer(x)
    (value * value).sum().backward()
    return function(x).item(), str(function(x).placements), text, value.numpy(), x.grad.numpy()


def loaded():
    mesh = line()

    class Numbers(sampan.io.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return np.full(3, i, "float32"), np.int64(i)

    loader = dist.shard_dataloader(sampan.io.DataLoader(Numbers(), batch_size=4), mesh, shard_dims="x")
    return [(x.numpy(), x._local_shape, y.numpy(), str(y.placements)) for x, y in loader], len(loader)


def distributed_model():
    """A DistModel's losses, and those of the same steps by hand."""
    mesh, results = line(), []
    for _ in range(2):
        net = made("mlp")
        dist.shard_layer(net, mesh, columns_then_rows)
        optimizer = OPTIMIZERS["SGD"](net.parameters())
        if not results:
            results.append(trained("mlp", net, optimizer, [dist.Replicate()], mesh, 4)[0])
            continue
        model = dist.to_static(net, None, nn.CrossEntropyLoss(), optimizer, dist.Strategy())
        losses = [model(sampan.to_tensor(x), sampan.to_tensor(y)).item() for x, y in batches("mlp", 4)]
        results.append(np.array(losses))
        model.predict()
        results.append(str(model(sampan.ones([2, 8])).shape))
    return results


# --- rules ---


def ways():
    """What ran by a rule and what on copies: exp, and sort along the axis that is cut."""
    x = dist.shard_tensor(sampan.to_tensor([3.0, 1.0, 2.0, 0.0]), line(), [dist.Shard(0)])
    for count in dispatch.counts.values():
        count.clear()
    results = [x.exp(), x.sort()]
    ran = [dict(count) for count in dispatch.counts.values()]
    return *ran, [str(result.placements) for result in results], results[1].tolist()


def losses(kind, ignored):
    """Cross entropy of 5 rows, plain and cut by rows or classes, and the gradients of the scores."""
    random = np.random.default_rng(1)
    scores, labels = random.normal(size=(5, 4)).astype("float32"), np.array([1, 0, 1, 3, 2])
    plain = sampan.to_tensor(scores, stop_gradient=False)
    expected = F.cross_entropy(plain, sampan.to_tensor(labels), ignore_index=ignored)
    expected.backward()
    lies = [dist.Shard(0 if kind == "rows" else 1)]
    cut = dist.shard_tensor(sampan.to_tensor(scores, stop_gradient=False), line(), lies)
    loss = F.cross_entropy(cut, sampan.to_tensor(labels), ignore_index=ignored)
    loss.backward()
    return expected.numpy(), loss.numpy(), cut.grad.numpy(), plain.grad.numpy()


def looked_up(kind):
    """Rows of a table of 5, plain and with a cut table or cut ids, and the table's gradients."""
    table, ids = np.arange(20, dtype="float32").reshape(5, 4), np.array([[0, 4, 3], [3, 2, 2]])
    plain = sampan.to_tensor(table, stop_gradient=False)
    expected = F.embedding(sampan.to_tensor(ids), plain, padding_idx=2, sparse=False)
    (expected * expected).sum().backward()
    lies = [dist.Replicate() if kind == "ids" else KINDS[kind]()]
    cut = dist.shard_tensor(sampan.to_tensor(table, stop_gradient=False), line(), lies)
    where = dist.shard_tensor(
        sampan.to_tensor(ids), line(), [dist.Shard(0) if kind == "ids" else dist.Replicate()]
    )
    rows = F.embedding(where, cut, padding_idx=2)
    (rows * rows).sum().backward()
    return expected.numpy(), rows.numpy(), cut.grad.numpy(), plain.grad.numpy(), str(cut.grad.placements)


def stage_in_a_new_thread():
    """The first distributed tensors of a thread are those that `shard_optimizer` makes; batches are plain Tensors."""
    found = []

    def train():
        mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
        layer = nn.Linear(4, 4)
        for parameter in layer.parameters():
            parameter.set_value(sampan.full(parameter.shape, 0.5))
        optimizer = sampan.optimizer.SGD(0.1, parameters=layer.parameters())
        optimizer = dist.shard_optimizer(optimizer, dist.ShardingStage1("x", mesh))
        layer(sampan.ones([2, 4])).sum().backward()
        optimizer.step()
        found.append(dist.unshard_dtensor(layer.weight).numpy().tolist())

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    return found


PAIRED = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b, "maximum": sampan.maximum, "pow": sampan.pow, "atan2": sampan.atan2,
    "matmul": lambda a, b: sampan.matmul(a, b, transpose_y=True), "concat": lambda a, b: sampan.concat([a, b]),
    "stack": lambda a, b: sampan.stack([a, b]), "where": lambda a, b: sampan.where(a > b, a, b),
    "one row": lambda a, b: a * b[:1], "greater": lambda a, b: (a > b).astype("float64") * a * b,
    "norm": lambda a, b: sampan.linalg.norm(a, 2, 0) + sampan.linalg.norm(b, 3, 0),
    "diff": lambda a, b: sampan.diff(a) * sampan.diff(b),
    "take": lambda a, b: sampan.take_along_axis(a * b, sampan.argsort(b, 1)[:, :2].detach(), 1),
}  # fmt: skip  # a table


def differing(mesh, values, cases):
    """The cases whose value or gradients are not those of the plain call: names with the placements of each
    tensor."""

    def run(name, tensors):
        out = PAIRED[name](*tensors)
        (out * out).sum().backward()
        return [t.numpy() for t in (out, *(tensor.grad for tensor in tensors))]

    wrong = []
    expected = {n: run(n, [sampan.to_tensor(v, stop_gradient=False) for v in values]) for n in PAIRED}
    for name, lies in cases:
        parts = [
            dist.shard_tensor(v, mesh, list(lie), stop_gradient=False)
            for v, lie in zip(values, lies, strict=True)
        ]
        found = run(name, parts)
        if not all(np.allclose(a, b, rtol=1e-11) for a, b in zip(expected[name], found, strict=True)):
            wrong.append((name, str(lies)))
    return wrong


LIES = [dist.Shard(0), dist.Shard(1), dist.Replicate(), dist.Partial()]


def pairs():
    """Operators of two tensors in every pair of placements."""
    values = np.random.default_rng(3).random((2, 4, 6)) + 0.5
    every = itertools.product(PAIRED, itertools.product(itertools.product(LIES), repeat=2))
    return differing(dist.ProcessMesh([0, 1], dim_names=["x"]), values, every)


def drawn_pairs(shape, count):
    """The same with placements on a mesh of two axes, drawn at random."""
    values = np.random.default_rng(4).random((2, *shape)) + 0.5
    chance, grids = random.Random(5), list(itertools.product(LIES, repeat=2))
    drawn = [(chance.choice(list(PAIRED)), tuple(chance.choices(grids, k=2))) for _ in range(count)]
    return differing(dist.ProcessMesh([[0, 1], [2, 3]], dim_names=["x", "y"]), values, drawn)


def filled_like():
    """Placements and local shapes of `full_like` and its relatives."""
    mesh = dist.ProcessMesh([0, 1], dim_names=["x"])
    makers = (
        sampan.zeros_like,
        sampan.ones_like,
        sampan.empty_like,
        lambda x: sampan.full_like(x, 3, "int64"),
    )
    found = []
    for lie in (dist.Shard(1), dist.Replicate(), dist.Partial()):
        x = dist.shard_tensor(sampan.ones([4, 6]), mesh, [lie])
        made = [make(x) for make in makers]
        found.append([(str(t.placements[0]), t._local_shape) for t in made] + [made[3].numpy().tolist()])
    return found
