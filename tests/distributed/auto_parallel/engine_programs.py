"""What the processes of test_engine.py and test_interface.py run."""

import itertools
from typing import Any

import numpy as np

import sampan as paddle
import sampan.distributed as dist
from sampan import nn
from sampan.distributed.auto_parallel import process_mesh
from sampan.distributed.fleet import auto

RNG = np.random.default_rng(0)
XS = RNG.standard_normal((72, 8)).astype("float32")
YS = (XS.sum(1) > 0).astype("int64")[:, None]
VALUES = [RNG.standard_normal(shape).astype("float32") * 0.3 for shape in ((8, 16), (16,), (16, 2), (2,))]


class Points(paddle.io.Dataset):
    """Points with their classes; with `more` a field between them."""

    def __init__(self, first: int, count: int, more: bool = False) -> None:
        self.rows, self.more = range(first, first + count), more

    def __getitem__(self, i: int) -> Any:
        at = self.rows[i]
        return (XS[at], np.float32(1), YS[at]) if self.more else (XS[at], YS[at])

    def __len__(self) -> int:
        return len(self.rows)


class Net(nn.Layer):
    def __init__(self, mark: str) -> None:
        super().__init__()
        self.first, self.last, self.mark = nn.Linear(8, 16), nn.Linear(16, 2), mark
        for parameter, value in zip(self.parameters(), VALUES, strict=True):
            parameter.set_value(value)
        if mark == "parameter":
            mesh = dist.ProcessMesh([0, 1], ["x"])
            self.first.weight = dist.shard_tensor(self.first.weight, mesh, [dist.Shard(1)])

    def forward(self, x: Any) -> Any:
        weight = self.first.weight
        if self.mark == "batch":
            x = auto.shard_tensor(x, auto.ProcessMesh([0, 1], ["x"]), ["x", None])
        if self.mark == "columns":
            weight = auto.shard_tensor(weight, auto.ProcessMesh([0, 1], ["x"]), [None, "x"])
        return self.last(nn.functional.relu(nn.functional.linear(x, weight, self.first.bias)))


def engine(mark: str = "", strategy: Any = None) -> Any:
    net = Net(mark)
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    return auto.Engine(net, nn.CrossEntropyLoss(), optimizer, paddle.metric.Accuracy(), strategy=strategy)


def kept(folder: str, mark: str) -> Any:
    """An evaluation before a file is written, and that of another Engine that has read it."""
    made = engine(mark)
    made.fit(Points(0, 40), batch_size=8, verbose=0)
    before = made.evaluate(Points(40, 32), batch_size=16, verbose=0)
    made.save(f"{folder}/model")
    other = engine(mark)
    other.load(f"{folder}/model")
    state = other.optimizer.state_dict()
    steps = [float(v.numpy().max()) for name, v in state.items() if name.endswith("beta1_pow_acc_0")]
    return before, other.evaluate(Points(40, 32), batch_size=16, verbose=0), steps


def fitted(mark: str, settings: dict[str, Any]) -> Any:
    """The history, an evaluation, the predictions and the weights."""
    made = engine(mark, auto.Strategy(settings))
    history = made.fit(Points(0, 40), batch_size=16, epochs=2, verbose=0, valid_data=Points(40, 32))
    found = made.evaluate(Points(40, 32), batch_size=16, verbose=0)
    predicted = made.predict(Points(40, 32), batch_size=16, verbose=0)
    weights = [p.numpy() for p in made._model.network.parameters()]
    return history.history, found, [outputs[0] for outputs in predicted], weights


def by_hand(times: float = 1.0) -> Any:
    """The same training as a plain loop, with so many times the gradient."""
    net = Net("")
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    for _, first in itertools.product(range(2), (0, 16)):
        rows = slice(first, first + 16)
        loss = nn.functional.cross_entropy(net(paddle.to_tensor(XS[rows])), paddle.to_tensor(YS[rows]))
        (loss * times).backward()
        optimizer.step()
        optimizer.clear_grad()
    return loss.item(), [p.numpy() for p in net.parameters()]


def marks() -> Any:
    """How results of marked operators lie, and the gradient that reaches an input."""
    mesh = auto.ProcessMesh([0, 1], dim_names=["x"])
    x, y = paddle.arange(24, dtype="float32").reshape([4, 6]), paddle.ones([4, 6])
    x.stop_gradient = False
    add = auto.shard_op(paddle.add, mesh, [["x", None], [None, "x"]], [[None, "x"]])
    total = add(x, y)
    (total * total).sum().backward()
    halves = auto.shard_op(paddle.split, mesh, num_or_sections=2)(x)
    with mesh:
        rows = auto.shard_tensor(y, shard_spec=["x", None])
    moved = auto.shard_tensor(rows, mesh, [None, "x"])
    named = auto.create_mesh([("dp", 2), ("mp", 1)])
    by_placements = auto.shard_tensor(y, None, [dist.Shard(1), dist.Replicate()])
    process_mesh._global[0] = None  # for the tests after this one
    lies = [str(t.placements) for t in (total, *halves, rows, moved, by_placements)]
    return lies, total.numpy(), x.grad.numpy(), named.dim_names
