"""How the functions of notebooks 06 and 06b are called: on small tables of their own, and through the library's embeddings.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import sampan
from sampan import embedding, optimizer
from sampan.embedding.hybrid import Backed
from sampan.learn import slots
from sampan.learn.drivers import THE_VALUE, driver, parameter
from sampan.nn import functional as F
from sampan.row_sparse import RowGradient


@driver
def table_read(slot: slots.Slot, ids: Any, table: Any, padding: int) -> Any:
    """The value of the look-up's body."""
    return slot.placed(ids, table, padding, False, False)[0]


@driver
def table_refuses(slot: slots.Slot, ids: Any, table: Any) -> bool:
    """Whether the look-up's body refuses these ids with an IndexError."""
    try:
        slot.placed(ids, table, -1, False, False)
    except IndexError:
        return True
    return False


@driver
def left_alone(slot: slots.Slot, *given: Any) -> Any:
    """The arrays that the function was given, after it has run."""
    slot.placed(*given)
    return [array for array in given if isinstance(array, torch.Tensor)]


@driver
def rows_added(slot: slots.Slot, g: Any, ids: Any, count: int, padding: int) -> Any:
    """The value of the scatter-add's body."""
    return slot.placed(g, ids, count, padding, False)[0]


def _leaf(buffer: Any) -> Any:
    return sampan.to_tensor(buffer, stop_gradient=False)


@driver(
    answer=lambda *_: [
        THE_VALUE,
        [
            ("the dense gradient of the table", "表的稠密梯度"),
            ("the gradient of the table, its rows added up", "表的按行梯度（合并后）"),
        ],
    ]
)
def embedding_gradient(
    slot: slots.Slot, ids: Any, table: Any, g: Any, padding: int | None, by_frequency: bool, passes: int = 1
) -> Any:
    """(value, the table's gradient when it is forced to be dense, and when it is left as rows) of the library's
    embedding: whatever the slot is, it is used."""
    found = []
    for settings in ({"sparse": False}, {}):
        weight = _leaf(table)
        for _ in range(passes):
            value = F.embedding(
                sampan.to_tensor(ids), weight, padding, scale_grad_by_freq=by_frequency, **settings
            )
            value.backward(sampan.to_tensor(g))
        found.append(weight.grad.numpy())
    return value, found


@driver
def embedding_twice(slot: slots.Slot, ids: Any, table: Any, g: Any) -> Any:
    """The gradient by the table of the sum of the squares of a first gradient: second derivatives."""
    weight = _leaf(table)
    value = F.embedding(sampan.to_tensor(ids), weight, sparse=False)
    first: Any = sampan.grad(value**3, weight, sampan.to_tensor(g), create_graph=True)[0]
    return sampan.grad((first * first).sum(), weight)


def _rows(ids: Any, rows: Any, count: int) -> RowGradient:
    return RowGradient([(ids, rows, None, None)], (count, rows.shape[1]))


@driver(answer=lambda *_: [parameter("ids"), parameter("rows")])
def rows_merged(slot: slots.Slot, ids: Any, rows: Any, count: int) -> Any:
    """(ids, rows) of a gradient merged by the slot, sorted by id: in which order they come is the function's affair."""
    distinct, sums = slot.placed(_rows(ids, rows, count))
    order = torch.argsort(distinct, stable=True)
    return distinct[order], sums[order]


@driver(answer=lambda *_: [parameter("ids"), parameter("rows")])
def rows_unspoilt(slot: slots.Slot, ids: Any, rows: Any, count: int) -> Any:
    """The ids and rows of a gradient after it was merged."""
    gradient = _rows(ids, rows, count)
    slot.placed(gradient)
    return gradient.parts[0][:2]


@driver
def rows_clipped(slot: slots.Slot, batches: list[Any], table: Any, norm: float, rate: float) -> Any:
    """A table after steps of SGD whose gradients are clipped by their norm: the library merges them for it."""
    weight = _leaf(table)
    clip = sampan.nn.ClipGradByGlobalNorm(norm)
    rule = optimizer.SGD(learning_rate=rate, parameters=[weight], grad_clip=clip)
    for ids in batches:
        (F.embedding(sampan.to_tensor(ids), weight) ** 2).sum().backward()
        rule.step()
        rule.clear_grad(False)
    return weight.numpy()


FIRST = SimpleNamespace(steps=1)  # what the library knows of the parameter: this is its first step


@driver(answer=lambda *_: [("the table", "表"), ("the moment", "累积的平方和")])
def adagrad_rows(slot: slots.Slot, table: Any, moment: Any, ids: Any, rows: Any, rate: float, epsilon: float) -> Any:  # fmt: skip
    """(table, moment) after the function has stepped them in place, by a gradient of rows."""
    gradient = _rows(ids, rows, len(table))
    done = slot.placed(_rule(epsilon), (table, moment), gradient, rate, FIRST, {"epsilon": epsilon})
    if done is not True:
        raise TypeError(f"update_rows gives back True when it has made the step, {done!r} came")
    return table, moment


def _rule(epsilon: float) -> Any:
    return optimizer.Adagrad(learning_rate=1.0, epsilon=epsilon, parameters=[])


@driver
def adagrad_steps(slot: slots.Slot, batches: list[Any], table: Any, rate: float, epsilon: float, begin: float) -> Any:  # fmt: skip
    """A table after steps of the library's Adagrad on the sum of the squares of what each batch looks up."""
    weight = _leaf(table)
    rule = optimizer.Adagrad(
        learning_rate=rate, epsilon=epsilon, parameters=[weight], initial_accumulator_value=begin
    )
    for ids in batches:
        (F.embedding(sampan.to_tensor(ids), weight) ** 2).sum().backward()
        rule.step()
        rule.clear_grad(False)
    return weight.numpy()


@driver
def cache_asked(slot: slots.Slot, batches: list[Any], capacity: int, count: int) -> Any:
    """For each batch that a HybridEmbedding's cache is asked for: hits, rows that had to leave, which came in (in order),
    which left for each of them (-1: none), and which row lies at each place that was given out."""
    cache = Backed(count, capacity, 1, None, "float32", lambda *rows: None)
    row_at, found = np.full(capacity, -1, np.int64), []
    for batch in batches:
        places, came, left, hits, gone = cache.ask(batch.numpy())
        if not ((places >= 0) & (places < capacity)).all():
            raise IndexError(f"places: expected numbers from 0 to {capacity - 1}, got {places.tolist()[:20]}")
        row_at[came[:, 1]] = came[:, 0]
        found.append([int(hits), int(gone), came[:, 0].copy(), left.copy(), row_at[places]])
    return found


@driver
def cache_queue(slot: slots.Slot, batches: list[Any], capacity: int, count: int) -> Any:
    """After each batch, the rows of a HybridEmbedding's cache: from the newest place to the oldest, from the oldest to the
    newest, and those that have a place."""
    cache, found = Backed(count, capacity, 1, None, "float32", lambda *rows: None), []
    for batch in batches:
        cache.ask(batch.numpy())
        nodes, ends = cache._nodes, cache._ends
        walks = [_walked(nodes[:, side], int(ends[begin]), cache._row_at) for begin, side in ((0, 1), (1, 0))]
        found.append([*walks, np.flatnonzero(cache._place_of)])
    return found


def _walked(following: Any, place: int, row_at: Any) -> Any:
    """The rows from `place` on; a queue that runs in a circle, or out of the cache, is left where it does."""
    rows: list[int] = []
    while 0 <= place < len(row_at) and len(rows) <= len(row_at):
        rows.append(int(row_at[place]))
        place = int(following[place])
    return np.array(rows, np.int64)


@driver(
    answer=lambda *_: [
        ("the rows of the table", "表的各行"),
        [
            ("the number of hits", "命中数"),
            ("the number of misses", "未命中数"),
            ("the number of rows evicted", "被淘汰的行数"),
        ],
    ]
)
def hybrid_steps(slot: slots.Slot, batches: list[Any], shape: list[int], capacity: int, begin: float) -> Any:
    """(all rows, [hits, misses, evicted]) of a HybridEmbedding after steps of Adagrad: its rows come and go by the slot."""
    count, width = shape
    layer = embedding.HybridEmbedding(count, width, capacity, initializer=("constant", begin))
    rule = optimizer.Adagrad(learning_rate=0.1, parameters=layer.parameters())
    for number, ids in enumerate(batches):
        ((layer(sampan.to_tensor(ids)) - 0.1 * number) ** 2).sum().backward()
        rule.step()
        rule.clear_grad(False)
    counted = layer.statistics()
    return layer.rows(np.arange(count)), [int(counted[key]) for key in ("hits", "misses", "evicted")]
