"""Programs of tensor parallelism and hybrids: networks cut over processes beside the same ones in one."""

from __future__ import annotations

import numpy as np
from sampan.distributed.fleet.layers.mpu import mp_ops

import sampan as paddle
from sampan import nn
from sampan.distributed import fleet
from sampan.distributed.fleet import meta_parallel
from tests.distributed.fleet.topology_programs import strategy


def begin(**configs):
    """The groups of these degrees."""
    made = strategy(**configs)
    fleet.init(is_collective=True, strategy=made)
    paddle.set_default_dtype("float64")
    return fleet.get_hybrid_communicate_group()


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape) * 0.5


def put(parameter, whole):
    """Let a parameter have its part of an array."""
    axis = getattr(parameter, "split_axis", None)
    if axis is not None:
        group = fleet.get_hybrid_communicate_group()
        whole = np.split(whole, group.get_model_parallel_world_size(), axis)[group.get_model_parallel_rank()]
    parameter.set_value(paddle.to_tensor(whole))


def part(whole, axis):
    """This process's part of an array."""
    group = fleet.get_hybrid_communicate_group()
    return np.split(whole, group.get_model_parallel_world_size(), axis)[group.get_model_parallel_rank()]


def close(found, expected):
    """The largest difference."""
    return float(np.abs(np.asarray(found) - expected).max())


def linear(kind, settings):
    """Differences of a linear layer's value and gradients from those of nn.Linear; shapes."""
    begin(mp_degree=2)
    layer = getattr(meta_parallel, kind)(6, 4, has_bias=True, **settings)
    weight, bias, given, seed = (
        numbers(6, 4),
        numbers(4, seed=1),
        numbers(3, 6, seed=2),
        numbers(3, 4, seed=3),
    )
    put(layer.weight, weight)
    put(layer.bias, bias)
    column = kind == "ColumnParallelLinear"
    own_input = part(given, 1) if settings.get("input_is_parallel") else given
    own_seed = seed if settings.get("gather_output", True) else part(seed, 1)
    x = paddle.to_tensor(own_input, stop_gradient=False)
    y = layer(x)
    (y * paddle.to_tensor(own_seed)).sum().backward()
    one = nn.Linear(6, 4)
    one.weight.set_value(paddle.to_tensor(weight))
    one.bias.set_value(paddle.to_tensor(bias))
    z = paddle.to_tensor(given, stop_gradient=False)
    expected = one(z)
    (expected * paddle.to_tensor(seed)).sum().backward()
    value = expected.numpy() if settings.get("gather_output", True) else part(expected.numpy(), 1)
    into = part(z.grad.numpy(), 1) if settings.get("input_is_parallel") else z.grad.numpy()
    bias_gradient = part(one.bias.grad.numpy(), 0) if column else one.bias.grad.numpy()
    return (
        close(y, value),
        close(x.grad, into),
        close(layer.weight.grad, part(one.weight.grad.numpy(), 1 if column else 0)),
        close(layer.bias.grad, bias_gradient),
        layer.weight.shape,
        bool(layer.bias.is_distributed) if column else layer.weight.split_axis,
    )


def embedding():
    """Differences of the rows and of the table's gradient, and the error of an id outside."""
    begin(mp_degree=2)
    layer = meta_parallel.VocabParallelEmbedding(10, 3)
    table, seed = numbers(10, 3), numbers(2, 4, 3, seed=1)
    put(layer.weight, table)
    ids = np.array([[0, 4, 5, 9], [5, 5, 1, 0]])
    rows = layer(paddle.to_tensor(ids))
    (rows * paddle.to_tensor(seed)).sum().backward()
    gradient = np.zeros((10, 3))
    np.add.at(gradient, ids, seed)
    try:
        layer(paddle.to_tensor([10]))
    except ValueError as error:
        told = str(error)
    return close(rows, table[ids]), close(layer.weight.grad, part(gradient, 0)), told


def several_labels(sums):
    """Losses and gradient of logits with three weighted labels each, of which some are ignored, beside one process."""
    group = begin(mp_degree=2).get_model_parallel_group()
    logits, weights = numbers(4, 3, 6, seed=1) * 6, np.abs(numbers(4, 3, 3, seed=2))
    labels = np.random.RandomState(3).randint(0, 6, [4, 3, 3])
    labels[0, 0, 0] = labels[2, 1] = -100
    x = paddle.to_tensor(part(logits, -1), stop_gradient=False)
    layer = meta_parallel.ParallelMultiLabelCrossEntropy(sum_multi_label_loss=sums)
    losses = layer(x, paddle.to_tensor(labels), paddle.to_tensor(weights))
    losses.sum().backward()
    shifted = np.log(np.exp(logits).sum(-1, keepdims=True))
    each = (shifted - np.take_along_axis(logits, np.maximum(labels, 0), -1)) * weights * (labels >= 0)
    expected = each.sum(-1, keepdims=True) if sums else each
    used = weights * (labels >= 0)
    hot = (np.eye(6)[np.maximum(labels, 0)] * used[..., None]).sum(-2)
    gradient = np.exp(logits - shifted) * used.sum(-1, keepdims=True) - hot
    assert group.nranks == 2
    return np.abs(losses.numpy() - expected).max(), np.abs(x.grad.numpy() - part(gradient, -1)).max()


def cross_entropy(ignored):
    """Differences of losses and gradient; shapes."""
    begin(mp_degree=2)
    logits, labels = numbers(5, 8), np.array([0, 7, 3, 4, 2])
    labels[2] = ignored
    x = paddle.to_tensor(part(logits, 1), stop_gradient=False)
    loss = meta_parallel.ParallelCrossEntropy(ignore_index=ignored)(x, paddle.to_tensor(labels))
    loss.sum().backward()
    z = paddle.to_tensor(logits, stop_gradient=False)
    one = nn.functional.softmax_with_cross_entropy(z, paddle.to_tensor(labels[:, None]), ignore_index=ignored)
    one.sum().backward()
    return close(loss, one.numpy()), close(x.grad, part(z.grad.numpy(), 1)), loss.shape


def states():
    """Random states: values of both kinds, and whether an interrupted state goes on."""
    begin(mp_degree=2)
    tracker = meta_parallel.get_rng_state_tracker()
    meta_parallel.model_parallel_random_seed(7)
    whole = float(paddle.rand([1]))
    with tracker.rng_state():
        own = float(paddle.rand([1]))
    again = float(paddle.rand([1]))
    kept = tracker.get_states_tracker()
    with tracker.rng_state("model_parallel_rng"):
        second = float(paddle.rand([1]))
    tracker.set_states_tracker(kept)
    with tracker.rng_state():
        repeated = float(paddle.rand([1]))
    paddle.seed(7)
    usual = [float(paddle.rand([1])), float(paddle.rand([1]))]
    meta_parallel.model_parallel_random_seed()
    drawn = float(paddle.rand([1]))
    return [whole, again] == usual, own, second == repeated, drawn, own != second


def pairs():
    """Differences of the operators' values and gradients from those of the whole."""
    group = begin(mp_degree=2).get_model_parallel_group()
    both, seeds = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
    rank, found = group.rank, []
    for operator, value, gradient in (
        (mp_ops.total, both.sum(0), seeds[0]),
        (mp_ops.copied, both[rank], seeds.sum(0)),
        (mp_ops.joined, np.concatenate(list(both), -1), None),
        (mp_ops.own_columns, None, None),
    ):
        given = both[0] if operator is mp_ops.own_columns else both[rank]
        x = paddle.to_tensor(given, stop_gradient=False)
        y = operator(x, group)
        if operator is mp_ops.joined:
            seed = np.concatenate(list(seeds), -1)
            gradient = seeds[rank]
        elif operator is mp_ops.own_columns:
            value, seed = np.split(given, 2, -1)[rank], np.split(seeds[0], 2, -1)[rank]
            gradient = seeds[0]
        else:
            seed = seeds[rank] if operator is mp_ops.copied else seeds[0]
        (y * paddle.to_tensor(seed)).sum().backward()
        found += [close(y, value), close(x.grad, gradient)]
    return found


def made_equal(shares):
    """What TensorParallel takes from the first process of a group, and what it leaves."""
    made = strategy(mp_degree=2, mp_configs={"need_broadcast_data": shares})
    fleet.init(is_collective=True, strategy=made)
    rank = fleet.get_hybrid_communicate_group().get_model_parallel_rank()
    layer = nn.Sequential(meta_parallel.ColumnParallelLinear(2, 2), nn.Linear(2, 1))
    for parameter in layer.parameters():
        parameter.set_value(paddle.full(parameter.shape, rank + 1.0))
    network = fleet.distributed_model(layer)
    x = paddle.full([1, 2], rank + 1.0)
    y = network(x)
    return (
        float(x[0, 0]),
        float(layer[0].weight[0, 0]),
        float(layer[1].weight[0, 0]),
        float(y),
        list(network.state_dict()),
    )


def averaged(known):
    """Gradients after `fused_allreduce_gradients`: dense, rows of a table, and none."""
    fleet.init(is_collective=True, strategy=strategy(dp_degree=2))
    group = fleet.get_hybrid_communicate_group()
    rank = group.get_data_parallel_rank()
    layer, table, unused = nn.Linear(2, 1), nn.Embedding(3, 2), nn.Linear(1, 1)
    x = paddle.full([1, 2], rank + 2.0)
    (layer(x).sum() + table(paddle.to_tensor([0, rank + 1])).sum()).backward()
    parameters = [layer.weight, table.weight, unused.weight]
    fleet.utils.hybrid_parallel_util.fused_allreduce_gradients(parameters, group if known else None)
    return layer.weight.grad.flatten().tolist(), table.weight.grad.tolist(), unused.weight.grad


# --- a small GPT ---

WIDTH, HEADS, VOCABULARY, LENGTH = 8, 2, 12, 5


class Block(nn.Layer):
    """Attention and a perceptron, each between a column-parallel and a row-parallel layer."""

    def __init__(self, kinds):
        super().__init__()
        column, row, _, parts = kinds
        self.parts = parts
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = column(WIDTH, 3 * WIDTH), row(WIDTH, WIDTH)
        self.up, self.down = column(WIDTH, 4 * WIDTH), row(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, time, _ = x.shape
        # columns of qkv: head, (q, k, v), width of a head
        q, k, v = self.qkv(self.norm1(x)).reshape([batch, time, HEADS // self.parts, 3, -1]).unbind(3)
        scores = paddle.einsum("bihd,bjhd->bhij", q, k) / 2
        mask = paddle.triu(paddle.full([time, time], -1e9), 1)
        mixed = paddle.einsum("bhij,bjhd->bihd", nn.functional.softmax(scores + mask), v)
        x = x + self.out(mixed.reshape([batch, time, -1]))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Layer):
    """Ids [batch, time] and labels of the same shape give the mean loss."""

    def __init__(self, kinds):
        super().__init__()
        column, _, embedding, parts = kinds
        self.table, self.blocks = embedding(VOCABULARY, WIDTH), nn.LayerList([Block(kinds) for _ in range(2)])
        self.norm, self.head, self.parts = nn.LayerNorm(WIDTH), column(WIDTH, VOCABULARY), parts
        self.loss = meta_parallel.ParallelCrossEntropy() if parts > 1 else None

    def forward(self, ids, labels):
        x = self.table(ids)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if self.loss is not None:
            return self.loss(logits, labels).mean()
        return nn.functional.cross_entropy(logits.reshape([-1, VOCABULARY]), labels.reshape([-1]))


def whole_kinds():
    return nn.Linear, nn.Linear, nn.Embedding, 1


def cut_kinds(parts):
    def column(a, b):
        return meta_parallel.ColumnParallelLinear(a, b, has_bias=True, gather_output=False)

    def row(a, b):
        return meta_parallel.RowParallelLinear(a, b, input_is_parallel=True)

    return column, row, meta_parallel.VocabParallelEmbedding, parts


def initial(model):
    """Arrays for the parameters of the whole network, by name."""
    return {
        name: numbers(*parameter.shape, seed=at) * 0.5 + ("norm" in name and name.endswith("weight"))
        for at, (name, parameter) in enumerate(model.named_parameters())
    }


def batches(steps):
    random = np.random.RandomState(5)
    return [random.randint(0, VOCABULARY, (4, LENGTH + 1)) for _ in range(steps)]


def optimizer_of(parameters):
    return paddle.optimizer.AdamW(
        0.02, parameters=parameters, grad_clip=nn.ClipGradByGlobalNorm(0.3), weight_decay=0.1
    )


def one_process(steps):
    """Losses of the network in one process with whole batches, and its parameters' sums."""
    before = paddle.get_default_dtype()
    paddle.set_default_dtype("float64")
    try:
        model = Gpt(whole_kinds())
        for name, value in initial(model).items():
            dict(model.named_parameters())[name].set_value(paddle.to_tensor(value))
        optimizer = optimizer_of(model.parameters())
        losses = []
        for batch in batches(steps):
            loss = model(paddle.to_tensor(batch[:, :-1]), paddle.to_tensor(batch[:, 1:]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
        return losses
    finally:
        paddle.set_default_dtype(before)


def several(steps, configs):
    """The same over the processes of these degrees; each returns the mean of its copy's losses."""
    group = begin(**configs)
    parts = group.get_model_parallel_world_size()
    model = Gpt(cut_kinds(parts) if parts > 1 else whole_kinds())
    wholes = initial(Gpt(whole_kinds()))
    for name, parameter in model.named_parameters():
        put(parameter, wholes[name])
    network = fleet.distributed_model(model)
    optimizer = fleet.distributed_optimizer(optimizer_of(network.parameters()))
    copies = group.copies()
    losses = []
    for batch in batches(steps):
        own = np.split(batch, copies.nranks)[copies.rank]
        loss = network(paddle.to_tensor(own[:, :-1]), paddle.to_tensor(own[:, 1:]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        total = loss.detach().clone()
        paddle.distributed.all_reduce(total, group=copies)
        losses.append(float(total) / copies.nranks)
    kinds = type(network).__name__, type(optimizer).__name__
    paddle.set_default_dtype("float32")
    return losses, kinds
