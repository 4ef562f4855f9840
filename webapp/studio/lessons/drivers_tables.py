"""How notebook 14's functions are called: over shards in this process, whose requests are noted.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import sampan
from sampan.distributed.parameter_server import Client, GeoEmbedding, ServedOptimizer, Shard, TableSettings
from sampan.distributed.parameter_server.turns import Turns
from sampan.learn import slots
from sampan.learn.cases import Text
from sampan.learn.drivers import driver
from sampan.learn.language import say
from sampan.transport import Asked, Call, InProcess
from sampan.transport.calls import array_bytes

# Rows are zeros before the first push; the capacity is small, as memory is limited where learners' code runs.
TABLE: dict[str, Any] = {"initializer": ("constant", 0.0), "capacity": 2_000}


class Noted(InProcess):
    """Shards in this process. requests: the calls of each request, in order."""

    def __init__(self, shards: int) -> None:
        self.requests: list[list[Call]] = []
        super().__init__(Shard, shards, [(number, "open", ("", number, shards)) for number in range(shards)])
        self.requests.clear()

    def ask(self, calls: Sequence[Call]) -> Asked:
        for call in calls:
            if not (isinstance(call, tuple) and len(call) == 3 and isinstance(call[2], tuple)):
                english = f"a message is (shard, method, (arguments ...)), got {call!r:.80}"
                raise TypeError(
                    say((english, f"一条消息是（分片，方法，（参数……）），得到的是 {call!r:.80}"))
                )
            if not 0 <= call[0] < self.parts:
                english = f"there are {self.parts} shards, numbered from 0; a message is for shard {call[0]}"
                raise ValueError(
                    say((english, f"共有 {self.parts} 个分片，从 0 编号；有一条消息发给 {call[0]} 号"))
                )
        self.requests.append(list(calls))
        return super().ask(calls)

    def given(self, method: str) -> list[tuple[int, tuple[Any, ...]]]:
        """The shard and the arguments of each call of a method, in order."""
        return [
            (shard, given) for request in self.requests for shard, name, given in request if name == method
        ]

    def calls_of(self, method: str) -> np.ndarray:
        """How many calls of a method each shard gets, how many ids are in them, and how many bytes: [3, shards]."""
        found = np.zeros((3, self.parts), np.int64)
        for shard, given in self.given(method):
            found[:, shard] += 1, len(given[1]), array_bytes(given)
        return found

    def steps(self, table: str, count: int) -> np.ndarray:
        """The step numbers of the first `count` pushes of a table to shard 0; 0 where there are fewer."""
        numbers = [given[5] for shard, given in self.given("push") if shard == 0 and given[0] == table]
        return np.array((numbers + [0] * count)[:count], np.int64)


def _client(shards: int, dim: int, tables: Sequence[str] = ("t",), **settings: Any) -> tuple[Client, Noted]:
    home = Noted(shards)
    client = Client(home)
    for name in tables:
        client.table(name, TableSettings(dim, **TABLE, **settings))
    home.requests.clear()
    return client, home


def _written(client: Client, ids: Any, rows: Any) -> None:
    """Let the table have these rows: its rule is SGD, and its rows begin as zeros."""
    Client.push(client, {"t": (ids.numpy(), -rows.numpy(), 1.0)})
    client.settle()


# --- which shard --------------------------------------------------------------------------------------------------

ORDER: Text = ("`order`", "`order`")
BOUNDS: Text = ("`bounds`", "`bounds`")


@driver(answer=lambda *_: [ORDER, BOUNDS])
def ids_divided(slot: slots.Slot, ids: Any, shards: int) -> Any:
    """(order, bounds)."""
    return slot.placed(ids.numpy(), shards)


@driver(
    answer=lambda *_: [
        ("the rows that are pulled", "取回的行"),
        ("how many ids each shard gets", "每个分片得到的 id 数"),
    ]
)
def rows_divided(slot: slots.Slot, ids: Any, rows: Any, shards: int) -> Any:
    """(the rows that the library pulls, in the reversed order, after it has pushed them; ids of each shard)."""
    client, home = _client(shards, rows.shape[1])
    _written(client, ids, rows)
    counts = home.calls_of("push")[1]
    return client.pull("t", ids.numpy()[::-1].copy()), counts


# --- pull ---------------------------------------------------------------------------------------------------------

PULLED: Text = ("the rows", "返回的行")


def _sent(method: str, method_zh: str) -> list[Text]:
    """The names of how many requests there are, and of `Noted.calls_of`."""
    return [
        ("how many requests are sent", "发送的请求数"),
        (
            f"messages ({method}), ids in them, bytes of their arrays, a column for each shard",
            f"消息（{method_zh}）数、其中的 id 数、数组的字节数，每个分片一列",
        ),
    ]


@driver(answer=lambda *_: PULLED)
def rows_pulled(slot: slots.Slot, ids: Any, different: Any, rows: Any, shards: int) -> Any:
    """The rows of ids, which may occur several times."""
    client, _ = _client(shards, rows.shape[1])
    _written(client, different, rows)
    return slot.placed(client, "t", ids.numpy())


@driver(answer=lambda *_: [PULLED, *_sent("pull", "拉取"), ("the step numbers in them", "其中的步号")])
def pulls_counted(slot: slots.Slot, ids: Any, different: Any, rows: Any, shards: int) -> Any:
    """(rows, how many requests, messages and ids of each shard, the different step numbers in the messages)."""
    client, home = _client(shards, rows.shape[1])
    _written(client, different, rows)
    home.requests.clear()
    found = slot.placed(client, "t", ids.numpy())
    steps = np.unique([given[2] if len(given) > 2 else 0 for _, given in home.given("pull")])
    return found, len(home.requests), home.calls_of("pull"), steps


@driver(answer=lambda *_: [PULLED, ("how many rows the table has afterwards", "之后表中的行数")])
def rows_read(slot: slots.Slot, ids: Any, different: Any, rows: Any, shards: int) -> Any:
    """(rows that are read with train=False, how many rows the table has afterwards)."""
    client, _ = _client(shards, rows.shape[1])
    _written(client, different, rows)
    found = slot.placed(client, "t", ids.numpy(), False)
    return found, client.statistics("t")["rows"]


@driver(answer=lambda *_: [("the outputs", "输出"), ("the rows on the shards afterwards", "之后分片上的行")])
def rows_cached(
    slot: slots.Slot, ids: Any, weights: Any, different: Any, rows: Any, shards: int, every: int
) -> Any:
    """A layer with rows of its own, which pulls what is new and what it has pushed, steps on the weighted sum of its
    outputs: (the outputs of each batch, the rows on the shards afterwards).

    ids: [steps, n]; weights: [steps, n, dim]; every: how many steps lie between two pushes.
    """
    client, _ = _client(shards, rows.shape[1], staleness=None)
    _written(client, different, rows)
    layer = GeoEmbedding(lambda: client, "t", client.tables["t"], every)
    rule = sampan.optimizer.SGD(0.5, parameters=[layer.weight])
    step = ServedOptimizer(rule, lambda: client, [layer])
    outputs = []
    for batch, factors in zip(ids, weights, strict=True):
        out = layer(sampan.to_tensor(batch))
        outputs.append(out.numpy().copy())
        (out * sampan.to_tensor(factors)).sum().backward()
        step.step()
        step.clear_grad()
    client.settle()
    return outputs, Client.pull(client, "t", different.numpy())


# --- push ---------------------------------------------------------------------------------------------------------

AFTER: Text = ("the rows on the shards afterwards", "之后分片上的行")


@driver(answer=lambda *_: AFTER)
def rows_pushed(slot: slots.Slot, ids: Any, gradients: Any, rate: float, different: Any, shards: int) -> Any:
    """The rows of `different` after one push."""
    client, _ = _client(shards, gradients.shape[1])
    slot.placed(client, {"t": (ids.numpy(), gradients.numpy(), rate)})
    return Client.pull(client, "t", different.numpy())


@driver(
    answer=lambda *_: [
        AFTER,
        *_sent("push", "推送"),
        ("the step numbers that shard 0 gets", "0 号分片收到的步号"),
        ("the gradients after the calls", "调用之后的梯度"),
    ]
)
def pushes_counted(slot: slots.Slot, batches: Any, different: Any, shards: int, rule: str) -> Any:
    """After a push of each batch (ids, gradients, rate): (rows, requests, messages and ids of each shard, step numbers at
    shard 0, the gradients that were given)."""
    client, home = _client(shards, batches[0][1].shape[1], rule=rule)
    for ids, gradients, rate in batches:
        slot.placed(client, {"t": (ids.numpy(), gradients.numpy(), rate)})
    sent, calls, steps = len(home.requests), home.calls_of("push"), home.steps("t", len(batches))
    after = Client.pull(client, "t", different.numpy())
    return after, sent, calls, steps, np.concatenate([gradients for _, gradients, _ in batches])


@driver(
    answer=lambda *_: [
        [("the rows of table a", "表 a 的行"), ("the rows of table b", "表 b 的行")],
        ("the step numbers that shard 0 gets for table a", "0 号分片收到的表 a 的步号"),
        ("the step numbers that shard 0 gets for table b", "0 号分片收到的表 b 的步号"),
    ]
)
def tables_pushed(slot: slots.Slot, steps: Any, different: Any, shards: int, dim: int) -> Any:
    """Two tables, a and b. steps: for each the gradients by table. (Rows of both, step numbers of each at shard 0.)"""
    client, home = _client(shards, dim, ("a", "b"))
    for gradients in steps:
        slot.placed(
            client, {name: (ids.numpy(), rows.numpy(), rate) for name, (ids, rows, rate) in gradients.items()}
        )
    numbers = [home.steps(name, len(steps)) for name in "ab"]
    return [Client.pull(client, name, different.numpy()) for name in "ab"], *numbers


@driver(answer=lambda *_: AFTER)
def pushes_of_the_library(
    slot: slots.Slot, ids: Any, weights: Any, different: Any, rows: Any, shards: int
) -> Any:
    """A layer with rows of its own pushes its changes after each step, through the optimizer: the rows on the shards."""
    return rows_cached(slot, ids, weights, different, rows, shards, 1)[1]


# --- counting once ------------------------------------------------------------------------------------------------

COUNTED: Text = (
    "which pushes count (1), come again (0) or are refused (-1)",
    "哪些 push 算数（1）、是重来的（0）、被拒绝（-1）",
)


@driver(answer=lambda *_: [COUNTED, ("the rows afterwards", "之后的行")])
def pushes_taken(slot: slots.Slot, stream: Any, gradients: Any, workers: int, staleness: int | None) -> Any:
    """(which pushes count, the rows afterwards) of a shard whose row w is stepped by worker w's pushes.

    stream: (worker, step) of each push [n, 2]; gradients: [n, dim]; one that is not finite is refused.
    """
    shard = Shard()
    shard.open("", 0, 1)
    settings = TableSettings(gradients.shape[1], workers=workers, staleness=staleness, **TABLE).described()
    shard.table("t", settings)
    counted = []
    for (worker, step), gradient in zip(stream.tolist(), gradients.numpy(), strict=True):
        try:
            new = shard.push("t", np.array([worker]), gradient[None], 1.0, worker, step)
        except ValueError:
            counted.append(-1)
        else:
            counted.append(int(new))
    rows = shard.pull("t", np.arange(workers), 0, False)["rows"]
    return np.array(counted), rows


@driver(
    answer=lambda *_: [
        ("which of the pushes are known", "哪些 push 是已知的"),
        ("`applied` afterwards", "之后的 `applied`"),
    ]
)
def pushes_known(slot: slots.Slot, applied: Any, asked: Any) -> Any:
    """(is_known of each pair (worker, step), the entries of `applied` afterwards). applied: pairs (worker, step)."""
    turns = Turns(1, None)
    turns.applied = {worker: step for worker, step in applied.tolist()}
    found = [bool(slot.placed(turns, worker, step)) for worker, step in asked.tolist()]
    return np.array(found, np.int64), np.array(sorted(turns.applied.items()), np.int64)
