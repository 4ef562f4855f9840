"""Programs that two or four processes run: a network in stages against one process with the whole network."""

import os
import time
from datetime import timedelta

import numpy as np
import pytest

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import fleet
from sampan.distributed.group import Group, groups
from sampan.distributed.pipeline import (
    LayerDesc,
    PipelineLayer,
    PipelineParallel,
    SharedLayerDesc,
)
from sampan.distributed.pipeline.copies import mean_gradients
from sampan.distributed.pipeline.mailbox import mailbox_of

F = paddle.nn.functional


_groups = []


class Hcg:
    """The groups of one pipeline of all processes, of its own: what a step that failed has sent stays in it."""

    def get_pipe_parallel_group(self):
        if not _groups or groups.get(_groups[0].id) is not _groups[0]:  # another test destroys all groups
            _groups[:] = [dist.new_group()]
        return _groups[0]

    def copies(self):
        return Group(ranks=[dist.get_rank()])


def strategy(micros, rows, mode="1F1B"):
    found = fleet.DistributedStrategy()
    found.pipeline_configs = {"accumulate_steps": micros, "micro_batch_size": rows, "schedule_mode": mode}
    return found


class Split(nn.Layer):
    """Several tensors between stages: of another dtype, without a gradient, inside a dictionary."""

    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, width)

    def forward(self, x):
        y = self.a(x)
        return {"y": y, "more": [y * 2, (x > 0).astype("int8"), None, 3]}, "text"


class Join(nn.Layer):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Linear(width, width)

    def forward(self, given):
        parts, text = given
        doubled, signs, nothing, three = parts["more"]
        assert (text, nothing, three, str(signs.dtype)) == ("text", None, 3, "paddle.int8")
        return self.a(parts["y"] * signs.astype("float64") + doubled)


class Table(nn.Layer):
    """An embedding with gradients of rows."""

    def __init__(self, rows, width):
        super().__init__()
        self.table = nn.Embedding(rows, width, sparse=True)

    def forward(self, ids):
        return self.table(ids).mean(1)


def output_layer(layer, x):
    return paddle.matmul(x, layer.weight, transpose_y=True)


def mlp():
    hidden = [LayerDesc(nn.Linear, 6, 6), paddle.tanh] * 3
    return [*hidden, LayerDesc(nn.Linear, 6, 3)], [4, 6], "int64", 3, nn.CrossEntropyLoss()


def containers():
    layers = [
        LayerDesc(nn.Linear, 6, 6), LayerDesc(Split, 6), LayerDesc(Join, 6), LayerDesc(nn.Linear, 6, 3)
    ]  # fmt: skip  # a table
    return layers, [4, 6], "int64", 3, nn.CrossEntropyLoss()


def batch_norm():
    layers = [
        LayerDesc(nn.Conv2D, 2, 3, 3), LayerDesc(nn.BatchNorm2D, 3), F.relu,
        LayerDesc(nn.Conv2D, 3, 3, 3), LayerDesc(nn.BatchNorm2D, 3), LayerDesc(nn.Flatten), LayerDesc(nn.Linear, 12, 3),
    ]  # fmt: skip  # a table
    return layers, [4, 2, 6, 6], "int64", 3, nn.CrossEntropyLoss()


def tied():
    layers = [
        SharedLayerDesc("embed", nn.Embedding, None, "weight", 11, 6),
        LayerDesc(nn.Linear, 6, 6), paddle.tanh, LayerDesc(nn.Linear, 6, 6),
        SharedLayerDesc("embed", nn.Embedding, output_layer, "weight", 11, 6),
    ]  # fmt: skip  # a table
    return layers, [4], "int64", 11, nn.CrossEntropyLoss()


def rows():
    layers = [LayerDesc(Table, 50, 6), LayerDesc(nn.Linear, 6, 6), paddle.tanh, LayerDesc(nn.Linear, 6, 3)]
    return layers, [4, 5], "int64", 3, nn.CrossEntropyLoss()


NETWORKS = {f.__name__: f for f in (mlp, containers, batch_norm, tied, rows)}


def made(name, stages=None, **settings):
    """The network in stages, or whole in this process."""
    layers, *_, loss = NETWORKS[name]()
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        if stages is None:
            return Whole(layers, loss, **settings)
        return PipelineLayer(layers, num_stages=stages, loss_fn=loss, **settings)
    finally:
        paddle.set_default_dtype(before)


class Whole(nn.Layer):
    """The layers of a list one after another, made as PipelineLayer makes them, without its code."""

    def __init__(self, layers, loss):
        super().__init__()
        self.loss, self.functions, self.shared = loss, [], {}
        for place, layer in enumerate(layers):
            paddle.seed(1234 + place)
            if isinstance(layer, SharedLayerDesc):
                if layer.layer_name not in self.shared:
                    self.shared[layer.layer_name] = layer.build_layer()
                    self.add_sublayer(f"shared_layers.{layer.layer_name}", self.shared[layer.layer_name])
                made = self.shared[layer.layer_name]
                self.functions.append(
                    made if layer.forward_func is None else lambda x, m=made, f=layer.forward_func: f(m, x)
                )
            elif isinstance(layer, LayerDesc):
                self.functions.append(layer.build_layer())
                self.add_sublayer(str(place), self.functions[-1])
            else:
                self.functions.append(layer)

    def forward(self, x):
        for function in self.functions:
            x = function(x)
        return x


def batches(name, micros, steps):
    _, shape, _, classes, _ = NETWORKS[name]()
    for _ in range(steps):  # the same each time
        numbers = np.random.RandomState(1)
        size = (micros * shape[0], *shape[1:])
        x = numbers.randint(0, 11, size) if name in ("tied", "rows") else numbers.randn(*size)
        yield paddle.to_tensor(x), paddle.to_tensor(numbers.randint(0, classes, micros * shape[0]))


def alone(whole, optimizer, x, y, micros, scaler=None):
    """A step of one process: gradients of m micro-batches are added up."""
    size = x.shape[0] // micros
    total = 0.0
    for at in range(micros):
        part = slice(at * size, (at + 1) * size)
        loss = whole.loss(whole(x[part]), y[part]) / micros
        (loss if scaler is None else scaler.scale(loss)).backward()
        total += float(loss)
    return total


def named(parameters):
    """By the names of the whole network: of `first.place.weight` in a stage the layer has the number first + place."""
    found = {}
    for name, parameter in parameters.items():
        first, place, *rest = name.split(".")
        found[f"{int(first) + int(place)}.{'.'.join(rest)}" if place.isdigit() else name] = parameter
    return found


def apart(model, whole):
    """The greatest difference of this process's parameters, gradients and buffers from the whole network's."""
    own, every = named(model.state_dict()), whole.state_dict()
    assert own
    found = [float(np.abs(own[name].numpy() - every[name].numpy()).max()) for name in own]
    grads = dict(whole.named_parameters())
    for name, parameter in named(dict(model.named_parameters())).items():
        expected = grads[name].grad
        assert (parameter.grad is None) == (expected is None), name
        if expected is not None:
            found.append(float(np.abs(parameter.grad.numpy() - expected.numpy()).max()))
    return max(found)


def trains(name, micros, mode="1F1B", steps=3, **settings):
    """Losses, and differences from one process, in losses and in parameters, gradients and buffers."""
    model = made(name, dist.get_world_size(), **settings)
    whole = made(name)
    _, shape, *_ = NETWORKS[name]()
    pipeline = PipelineParallel(model, Hcg(), strategy(micros, shape[0], mode))
    optimizers = [
        paddle.optimizer.AdamW(0.05, parameters=each.parameters(), weight_decay=0.1)
        for each in (model, whole)
    ]
    losses, differences, kinds = [], [], set()
    for x, y in batches(name, micros, steps):
        loss = pipeline.forward_backward_pipeline((x, y))
        expected = alone(whole, optimizers[1], x, y, micros)
        kinds |= {type(p.grad).__name__ for p in model.parameters()}
        losses.append(float(loss))
        differences += [abs(float(loss) - expected), apart(model, whole)]
        pipeline.optimizer, pipeline.lr_scheduler = optimizers[0], None
        pipeline._optimizer_step(None)
        optimizers[1].step()
        optimizers[1].clear_grad()
        differences.append(apart(model, whole))
    x, y = next(batches(name, micros, 1))
    whole.eval()
    evaluated = pipeline.eval_batch((x, y), compute_loss=True)
    with paddle.no_grad():
        expected = np.mean(
            [
                float(whole.loss(whole(x[at : at + shape[0]]), y[at : at + shape[0]]))
                for at in range(0, x.shape[0], shape[0])
            ]
        )
        outputs = pipeline.eval_batch((x, y))
        if pipeline.is_pipeline_last_stage():
            differences.append(float(np.abs(paddle.concat(outputs).numpy() - whole(x).numpy()).max()))
    differences.append(abs(float(evaluated) - expected))
    return losses, max(differences), sorted(kinds), pipeline.report().bubble


class Fails(nn.Layer):
    """Raises in its pass with a number."""

    calls = 0
    at = -1

    def forward(self, x):
        type(self).calls += 1
        if type(self).calls == self.at:
            raise ArithmeticError("no logarithm")
        return x * 1


def fails(stage, call):
    """The error of each process when a stage fails in a pass, and whether the next step works."""
    Fails.calls, Fails.at = 0, call
    layers = [LayerDesc(nn.Linear, 4, 4) for _ in range(dist.get_world_size())]
    layers[stage] = LayerDesc(Fails)
    model = PipelineLayer(layers, num_stages=len(layers), loss_fn=lambda out, y: (out * y).mean())
    parameters = model.parameters() or [paddle.create_parameter([1], "float32")]
    optimizer = paddle.optimizer.SGD(0.0, parameters=parameters)
    pipeline = PipelineParallel(model, Hcg(), strategy(4, 2))
    data = paddle.ones([8, 4]), paddle.ones([8, 4])
    told = []
    for _ in range(2):
        start = time.monotonic()
        try:
            pipeline.train_batch(data, optimizer)
        except Exception as error:
            told.append(
                (type(error).__name__, str(error), error.__notes__[0] if hasattr(error, "__notes__") else "")
            )
        assert time.monotonic() - start < 30  # and not the minute of a receive
    optimizer.clear_grad()
    Fails.calls, Fails.at = 0, -1
    losses = [float(pipeline.train_batch(data, optimizer)) for _ in range(2)]
    return told, losses[0] == losses[1]


def wrong_batches():
    """The errors of each process for data that do not fit, in the process that reads them."""
    model = PipelineLayer([paddle.tanh] * 2, num_stages=2, loss_fn=lambda out, y: (out * y).mean())
    pipeline = PipelineParallel(model, Hcg(), strategy(4, 2))
    optimizer = paddle.optimizer.SGD(0.0, parameters=[paddle.create_parameter([1], "float32")])
    told = []
    good = paddle.ones([8, 3])
    for data in (
        (paddle.ones([7, 3]), good),
        (good, [good] * 3),
        None,
        iter([(good, good)] * 2),
        (good, "y"),
    ):
        with pytest.raises((ValueError, RuntimeError)) as caught:
            pipeline.train_batch(data, optimizer)
        told.append((caught.type.__name__, str(caught.value)))
    return told


def interleaved(name, micros):
    """`trains` with two stages in each process."""
    return trains(name, micros, seg_method="layer:Linear|Embedding", num_virtual_pipeline_stages=2)


def scaled():
    """Steps of a GradScaler against one process. In the second the gradient of one parameter of the last
    stage overflows: no process steps."""
    model, whole = made("mlp", dist.get_world_size()), made("mlp")
    pipeline = PipelineParallel(model, Hcg(), strategy(2, 4))
    steps = [0]
    for each in (model, whole):
        for key, parameter in each.named_parameters():
            if key == "6.bias":
                parameter.register_hook(lambda g: g * float("inf") if steps[0] == 1 else g)
    optimizers = [paddle.optimizer.SGD(0.5, parameters=each.parameters()) for each in (model, whole)]
    scalers = [paddle.amp.GradScaler(init_loss_scaling=1024.0, decr_every_n_nan_or_inf=1) for _ in range(2)]
    rate = paddle.optimizer.lr.StepDecay(0.5, 1, 0.5)
    found = []
    for steps[0], (x, y) in enumerate(batches("mlp", 2, 3)):
        before = next(iter(model.parameters())).numpy()
        with paddle.amp.auto_cast(dtype="float16"):
            loss = pipeline.train_batch((x, y), optimizers[0], rate, scalers[0])
            expected = alone(whole, optimizers[1], x, y, 2, scalers[1])
        scalers[1].step(optimizers[1])
        scalers[1].update()
        optimizers[1].clear_grad()
        changed = bool((next(iter(model.parameters())).numpy() != before).any())
        found.append(
            (
                changed,
                scalers[0]._scale,
                scalers[1]._scale,
                max(abs(float(loss) - expected), apart(model, whole)) < 1e-12,
            )
        )
    return found, rate.get_lr()


def random_words():
    """Losses with dropout: the same with the same seed."""
    layers = [LayerDesc(nn.Linear, 8, 8), nn.Dropout(0.5), LayerDesc(nn.Linear, 8, 8), nn.Dropout(0.5)]
    found = []
    for every in (0, 1):
        model = PipelineLayer(
            layers, num_stages=2, loss_fn=lambda out, y: (out * y).mean(), recompute_interval=every
        )
        pipeline = PipelineParallel(model, Hcg(), strategy(2, 4))
        paddle.seed(5)
        pipeline.forward_backward_pipeline((paddle.ones([8, 8]), paddle.ones([8, 8])))
        found.append([p.grad.numpy() for p in model.parameters()])
    return max(float(np.abs(a - b).max()) for a, b in zip(*found, strict=True))


class Slow(nn.Layer):
    def forward(self, x):
        time.sleep(4)
        return x * 1


class Dies(nn.Layer):
    def forward(self, x):
        os._exit(1)


class Alone(Hcg):
    """A group with a time-out of its own, so that a broken connection harms no other test."""

    def __init__(self):
        self.group = dist.new_group(timeout=timedelta(seconds=3))

    def get_pipe_parallel_group(self):
        return self.group


def stops(kind):
    """The error of each process where the second stage takes longer than the time-out, or ends its process."""
    model = PipelineLayer(
        [LayerDesc(nn.Linear, 4, 4), LayerDesc(kind)], num_stages=2, loss_fn=lambda out, y: (out * y).mean()
    )
    pipeline = PipelineParallel(model, Alone(), strategy(2, 2))
    data = paddle.ones([4, 4]), paddle.ones([4, 4])
    start = time.monotonic()
    with pytest.raises(RuntimeError) as caught:
        pipeline.forward_backward_pipeline(data)
    return time.monotonic() - start, str(caught.value)


def two_losses():
    """Several losses, of which the second is trained; parts of the loss; gradients divided at the end."""
    losses = [nn.MSELoss(), nn.L1Loss()]
    x, y = paddle.to_tensor(np.arange(8.0).reshape(4, 2)), paddle.ones([4, 2], "float64")
    found = []
    for late in (False, True):
        given = strategy(2, 2)
        given.hybrid_configs = {"pp_configs": {"delay_scale_loss": late}}
        model = PipelineLayer([paddle.tanh, Scale()], num_stages=2, loss_fn=losses)
        pipeline = PipelineParallel(model, Hcg(), given)
        parameters = model.parameters() or [paddle.create_parameter([1], "float64")]
        optimizer = paddle.optimizer.SGD(0.1, parameters=parameters)
        both = pipeline.train_batch((x, y), optimizer, loss_fn_idx=1)
        stepped = parameters[0].tolist()
        apart = pipeline.train_batch((x, y), optimizer, return_micro_batch_loss=True)
        found.append(([float(loss) for loss in both], [each.tolist() for each in apart], stepped))
    factor = paddle.to_tensor(2.0, dtype="float64", stop_gradient=False)
    expected = [float(loss(paddle.tanh(x) * factor, y)) for loss in losses]
    losses[1](paddle.tanh(x) * factor, y).backward()
    return found, expected, 2.0 - 0.1 * float(factor.grad)


class Scale(nn.Layer):
    def __init__(self):
        super().__init__()
        self.factor = paddle.create_parameter([], "float64", default_initializer=nn.initializer.Constant(2.0))

    def forward(self, x):
        return x * self.factor


def exchanged():
    """What arrives of values that one process sends to another, in another order than they were sent."""
    group = dist.new_group()
    box = mailbox_of(group)
    box.begin()
    values = [
        paddle.arange(6).reshape([2, 3]).t(),
        (
            paddle.zeros([0, 3], "bfloat16"),
            [None, True, 2, 0.5, "text"],
            {"a": {"b": paddle.to_tensor(1 + 2j)}},
        ),
        ["x" * 5000, paddle.to_tensor(3.0, stop_gradient=False)],
    ]
    if group.rank == 0:
        for number, value in enumerate(values):
            box.send(1, ("F", 1, number), value)
        with pytest.raises(TypeError, match="stage 1 of the pipeline: expected dense Tensors"):
            box.send(1, ("F", 1, 9), object())
        return box.receive(1, ("ended", 0, 0))
    received = [box.receive(0, ("F", 1, number)) for number in (2, 0, 1)]
    box.send(0, ("ended", 0, 0), str(received))
    box.finish()
    last = received[0][1]
    (empty, plain, inner), transposed = received[2], received[1]
    return str(received), (
        transposed.numpy().tolist() == values[0].numpy().tolist(),
        (empty.shape, str(empty.dtype)) == ([0, 3], "paddle.bfloat16"),
        plain == values[1][1],
        complex(inner["a"]["b"].numpy()) == 1 + 2j,
        received[0][0] == "x" * 5000,
        (last.stop_gradient, transposed.stop_gradient) == (False, True),
    )


def hybrid(name, micros, pipelines, clip=0.05):
    """`train_batch` by fleet's names, with several pipelines and a bound of the global norm, against one process."""
    given = strategy(micros, NETWORKS[name]()[1][0])
    stages = dist.get_world_size() // pipelines
    given.hybrid_configs = {"dp_degree": pipelines, "mp_degree": 1, "pp_degree": stages}
    fleet.init(is_collective=True, strategy=given)
    hcg = fleet.get_hybrid_communicate_group()
    model, whole = made(name, stages, topology=hcg.topology()), made(name)
    clips = [nn.ClipGradByGlobalNorm(clip) for _ in range(2)]
    optimizers = [
        paddle.optimizer.Momentum(0.5, 0.9, parameters=each.parameters(), grad_clip=bound)
        for each, bound in zip((model, whole), clips, strict=True)
    ]
    pipeline, optimizer = fleet.distributed_model(model), fleet.distributed_optimizer(optimizers[0])
    assert (type(pipeline).__name__ == "NoPipelineParallel") == (stages == 1)
    differences, losses = [], []
    for x, y in batches(name, pipelines * micros, 3):
        rows = x.shape[0] // pipelines
        own = slice(hcg.get_data_parallel_rank() * rows, (hcg.get_data_parallel_rank() + 1) * rows)
        loss = pipeline.train_batch((x[own], y[own]), optimizer)
        mean = paddle.to_tensor(float(loss), dtype="float64")
        dist.all_reduce(mean, group=hcg.get_data_parallel_group())
        expected = alone(whole, optimizers[1], x, y, pipelines * micros)
        optimizers[1].step()
        optimizers[1].clear_grad()
        losses.append(expected)
        differences += [abs(float(mean) / pipelines - expected), apart(model, whole)]
    return losses, max(differences)


WIDTH, HIDDEN, WORDS = 6, 8, 12


class Row(nn.Layer):
    """What one process holds of a network whose layers are cut over the group of tensor parallelism.

    kind: "words", "block" or "logits". group: None for the whole layer. Parts are those of arrays that `number` draws.
    """

    def __init__(self, kind, number, group):
        super().__init__()
        layers, sizes = fleet.meta_parallel, {"words": (WORDS, WIDTH), "logits": (WIDTH, WORDS)}
        self.kind, self.number = kind, number
        if kind == "block":
            given = ((WIDTH, HIDDEN), (HIDDEN, WIDTH))
            if group is None:
                self.a, self.b = nn.Linear(*given[0]), nn.Linear(*given[1])
            else:
                self.a = layers.ColumnParallelLinear(*given[0], has_bias=True, gather_output=False)
                self.b = layers.RowParallelLinear(*given[1], has_bias=True, input_is_parallel=True)
            self.norm = nn.LayerNorm(WIDTH)
        elif kind == "words":
            self.a = (
                nn.Embedding(*sizes[kind]) if group is None else layers.VocabParallelEmbedding(*sizes[kind])
            )
        else:
            cut = {"has_bias": True, "gather_output": False}
            self.a = (
                nn.Linear(*sizes[kind]) if group is None else layers.ColumnParallelLinear(*sizes[kind], **cut)
            )
        numbers = np.random.RandomState(number)
        for parameter in self.parameters():
            shape = list(parameter.shape)
            axis = getattr(parameter, "split_axis", None)
            if parameter.is_distributed:
                shape[axis] *= group.nranks
            value = numbers.randn(*shape) * 0.4
            if parameter.is_distributed:
                value = np.split(value, group.nranks, axis)[group.rank]
            parameter.set_value(value)

    def forward(self, x):
        return x + self.b(self.a(self.norm(x)).tanh()) if self.kind == "block" else self.a(x)


def tensor_and_pipeline(micros, steps, virtual):
    """Two stages of two processes each, of `mp_degree` 2 and `pp_degree` 2, against one process: the losses, and
    the largest differences of losses and of parameters."""
    paddle.set_default_dtype("float64")
    given = strategy(micros, 2)
    given.hybrid_configs = {"dp_degree": 1, "mp_degree": 2, "pp_degree": 2}
    fleet.init(is_collective=True, strategy=given)
    hcg = fleet.get_hybrid_communicate_group()
    group = hcg.get_model_parallel_group()
    kinds = ["words", *["block"] * 6, "logits"]
    descriptions = [LayerDesc(Row, kind, number, group) for number, kind in enumerate(kinds)]
    parallel_loss = fleet.meta_parallel.ParallelCrossEntropy()
    model = PipelineLayer(
        descriptions,
        topology=hcg.topology(),
        loss_fn=lambda out, label: parallel_loss(out, label).mean(),
        num_virtual_pipeline_stages=virtual,
        seg_method="layer:Row",
    )
    whole = nn.Sequential(*[Row(kind, number, None) for number, kind in enumerate(kinds)])
    settings = {"learning_rate": 0.05, "weight_decay": 0.1}
    optimizers = [
        paddle.optimizer.AdamW(
            parameters=each.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.2), **settings
        )
        for each in (model, whole)
    ]
    pipeline, optimizer = fleet.distributed_model(model), fleet.distributed_optimizer(optimizers[0])
    numbers, losses, differences = np.random.RandomState(3), [], []
    x, y = (paddle.to_tensor(numbers.randint(0, WORDS, [micros * 2, 3])) for _ in range(2))
    for _ in range(steps):
        loss = pipeline.train_batch((x, y.unsqueeze(-1)), optimizer)
        expected = 0.0
        for part in range(micros):
            rows = slice(part * 2, part * 2 + 2)
            one = F.cross_entropy(whole(x[rows]), y[rows]) / micros
            one.backward()
            expected += float(one)
        optimizers[1].step()
        optimizers[1].clear_grad()
        losses.append(expected)
        differences.append(abs(float(loss) - expected))
    own = {layer.number: layer for layer in model.sublayers() if isinstance(layer, Row)}
    return losses, max(differences), max(_parts_apart(layer, whole, group) for layer in own.values())


def _parts_apart(layer, whole, group):
    """The largest difference between this process's parts of a layer and the whole one."""
    largest = 0.0
    for mine, all_ in zip(layer.parameters(), whole[layer.number].parameters(), strict=True):
        value = all_.numpy()
        if mine.is_distributed:
            value = np.split(value, group.nranks, mine.split_axis)[group.rank]
        largest = max(largest, np.abs(mine.numpy() - value).max())
    return largest


def another_pipeline_fails():
    """The errors of all processes of two pipelines where a stage of the second fails."""
    topology = fleet.CommunicateTopology(
        ["data", "pipe", "sharding", "sep", "context", "model"], [2, 2, 1, 1, 1, 1]
    )
    hcg = fleet.HybridCommunicateGroup(topology)  # groups that no other test uses: afterwards they are broken
    Fails.calls, Fails.at = 0, 2 if dist.get_rank() == 3 else -1
    layers = [LayerDesc(nn.Linear, 4, 4), LayerDesc(Fails), LayerDesc(nn.Linear, 4, 4)]
    model = PipelineLayer(layers, topology=topology, loss_fn=nn.MSELoss(), seg_method=[0, 1])
    pipeline = PipelineParallel(model, hcg, strategy(2, 2))
    start = time.monotonic()
    with pytest.raises((RuntimeError, ArithmeticError)) as caught:
        pipeline.forward_backward_pipeline((paddle.ones([4, 4]), paddle.ones([4, 4])))
    return time.monotonic() - start, str(caught.value)


def means():
    """Gradients of parameters whose kinds differ between two processes: dense, of rows, none."""
    rank = dist.get_rank()
    tables = [nn.Embedding(5, 2, sparse=True) for _ in range(2)]
    weights = [paddle.create_parameter([3], kind) for kind in ("float64", "float32", "float32")]
    tables[0](paddle.to_tensor([rank, 3])).sum().backward()  # rows in both
    (tables[1](paddle.to_tensor([1])).sum() if rank else (tables[1].weight * 4).sum()).backward()
    (weights[0] * (rank + 1.0)).sum().backward()
    if rank:
        (weights[1] * 6).sum().backward()  # none in the other
    parameters = [*(table.weight for table in tables), *weights]
    mean_gradients(parameters, dist.collective._get_default_group())
    kinds = [type(p.grad).__name__ for p in parameters]
    return kinds, [None if p.grad is None else p.grad.numpy().tolist() for p in parameters]


def of_paddle():
    """The losses of a program that PaddlePaddle ran too, see test_parallel.py."""
    from sampan.distributed.fleet.meta_parallel.parallel_layers.pp_layers import SegmentLayers

    from sampan.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

    assert SegmentLayers([0, 1], 2).do_segment() == [0, 1, 2]
    given = fleet.DistributedStrategy()
    given.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": dist.get_world_size()}
    given.pipeline_configs = {"accumulate_steps": 4, "micro_batch_size": 2}
    fleet.init(is_collective=True, strategy=given)
    hcg = fleet.get_hybrid_communicate_group()
    layers = []
    for seed in range(4):
        weight = nn.initializer.Assign(np.random.RandomState(seed).randn(6, 6).astype("float32") * 0.4)
        layers += [LayerDesc(nn.Linear, 6, 6, weight_attr=paddle.ParamAttr(initializer=weight)), F.relu]
    model = PipelineLayer(layers=layers, topology=hcg.topology(), loss_fn=nn.MSELoss(), seg_method="uniform")
    model = fleet.distributed_model(model)
    optimizer = paddle.optimizer.Momentum(0.1, parameters=model.parameters())
    optimizer = fleet.distributed_optimizer(optimizer)
    numbers = np.random.RandomState(9)
    x, y = (paddle.to_tensor(numbers.randn(8, 6).astype("float32")) for _ in range(2))
    losses = [model.train_batch([x, y], optimizer) for _ in range(4)]
    assert {tuple(loss.shape) for loss in losses} == {()}
    return [float(loss) for loss in [*losses, model.eval_batch([x, y], compute_loss=True)]]
