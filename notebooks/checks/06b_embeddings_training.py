"""Hidden checks of notebook 06b. Oracles: Adagrad's formula with whole float64 arrays, NumPy's add.at, and an ordered dictionary as
the cache."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise

F, L = np.float32, np.int64
KERNELS = ("sampan.kernels", "sampan.ops.embedding.rows_at", "sampan.ops.embedding.rows_summed")
LIBRARY = (
    *(
        "embedding",
        "embedding_bag",
        "Embedding",
        "EmbeddingBag",
        "torch.nn",
        "embedding_renorm_",
        "_embedding_bag",
    ),
    *("sampan.engine", "sampan.embedding", "sampan.nn", "index_select", "rows_read", "take_along_axis"),
)
COMPILING = 20.0  # seconds: the first call waits for numba, and on a busy machine that is most of it
TIGHT = {"rtol": 1e-4, "atol": 1e-4}


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


def skewed(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Ids from 0 to below `count`, a few of which are very frequent."""
    return np.minimum((count * rng.random(size) ** 3).astype(L), count - 1)


def merge(ids: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ids in ascending order, their rows added up); -1 is none."""
    kept = ids >= 0
    distinct, which = np.unique(ids[kept], return_inverse=True)
    sums = np.zeros((distinct.size, rows.shape[1]))
    np.add.at(sums, which, rows[kept])
    return distinct, sums


# --- Adagrad ------------------------------------------------------------------------------------------------------


def adagrad(
    table: np.ndarray, moment: np.ndarray, ids: np.ndarray, rows: np.ndarray, rate: float, epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """A step on the rows that `ids` names, in float64."""
    table, moment = table.astype(float), moment.astype(float)
    distinct, sums = merge(ids, rows)
    moment[distinct] += sums**2
    table[distinct] -= rate * sums / (np.sqrt(moment[distinct]) + epsilon)
    return table, moment


def update_rows(rng: np.random.Generator) -> Iterator[Case]:
    formula: Text = (
        "First moment += g * g, then table -= lr * g / (sqrt(moment) + epsilon), in the rows of these ids, and in place.",
        "先 moment += g * g，再 table -= lr * g / (sqrt(moment) + epsilon)，只动这些编号的行，原地修改。",
    )
    once: Text = (
        "Rows of one id are added up before they are squared: that is what gradient.coalesced() is for.",
        "同一编号的各行先相加再平方：为此要用 gradient.coalesced()。",
    )
    outside: Text = (
        "epsilon is added to the root, not under it: sqrt(moment) + epsilon.",
        "epsilon 加在平方根之外：sqrt(moment) + epsilon。",
    )
    still: Text = (
        "Rows without a gradient are not touched at all: with epsilon 0 theirs would be 0 / 0.",
        "没有梯度的行完全不动：epsilon 为 0 时它们会变成 0 / 0。",
    )
    for name, name_zh, count, width, size, epsilon, hint in (
        ("different ids", "各不相同的编号", 40, 9, 0, 1e-6, formula),
        ("ids that repeat", "重复的编号", 20, 8, 70, 1e-6, once),
        ("a large epsilon", "较大的 epsilon", 25, 7, 30, 0.3, outside),
    ):
        table, moment = draw(rng, count, width), draw(rng, count, width) ** 2
        ids = rng.integers(0, count, size) if size else rng.permutation(count)[: count // 2]
        rows, rate = draw(rng, ids.size, width), float(rng.uniform(0.05, 0.4))
        args = table, moment, ids, rows, rate, epsilon
        yield Case((name, name_zh), "adagrad_rows", args, adagrad(*args), hint, **TIGHT)
    table, moment, ids = draw(rng, 50, 6), np.zeros((50, 6), F), rng.permutation(50)[:9]
    args = table, moment, ids, draw(rng, 9, 6), 0.1, 0.0
    names = ("epsilon 0, and unchanged rows", "epsilon 为 0，其余各行不变")
    yield Case(names, "adagrad_rows", args, adagrad(*args), still, **TIGHT)
    table, moment = rng.normal(size=(15, 9)), rng.random((15, 9))
    args = table, moment, rng.integers(0, 15, 20), rng.normal(size=(20, 9)), 0.2, 1e-3
    names = ("float64, row by row", "float64，逐行")
    yield Case(names, "adagrad_rows", args, adagrad(*args), once, dtype="float64", **TIGHT)
    table, batches = draw(rng, 60, 5), [skewed(rng, 60, 40) for _ in range(6)]
    rate, epsilon, begin = 0.3, 0.05, 0.1
    found, moment = table.astype(float), np.full(table.shape, begin)
    for ids in batches:
        found, moment = adagrad(found, moment, ids, 2 * found[ids], rate, epsilon)
    yield Case(
        ("six steps of the library's optimizer", "库中优化器的六步"),
        "adagrad_steps",
        (batches, table, rate, epsilon, begin),
        found,
        once,
        rtol=1e-3,
        atol=1e-3,
    )
    yield hybrid(rng, ("a table in two kinds of memory", "两种内存里的表"), once)


# --- the cache ----------------------------------------------------------------------------------------------------


def asked(batches: list[np.ndarray], capacity: int) -> list[list[Any]]:
    """The answers of a cache that keeps its rows in an ordered dictionary, the newest last."""
    kept: OrderedDict[int, None] = OrderedDict()
    found: list[list[Any]] = []
    for batch in batches:
        hits, gone, came, left = 0, 0, [], []
        for row in batch.tolist():
            if row in kept:
                hits += 1
            else:
                came.append(row)
                left.append(-1)
                if len(kept) == capacity:
                    left[-1], _ = kept.popitem(last=False)
                    gone += 1
            kept[row] = None
            kept.move_to_end(row)
        found.append([hits, gone, np.array(came, L), np.array(left, L), batch])
    return found


def hybrid(rng: np.random.Generator, name: Text, hint: Text) -> Case:
    """A HybridEmbedding under Adagrad beside a whole table in float64; its counts are the ordered dictionary's."""
    count, width, capacity, begin = 40, 4, 12, 0.25
    batches = [skewed(rng, count, 10) for _ in range(12)]
    table, moment = np.full((count, width), begin), np.zeros((count, width))
    for number, ids in enumerate(batches):
        table, moment = adagrad(table, moment, ids, 2 * (table[ids] - 0.1 * number), 0.1, 1e-6)
    answers = asked(batches, capacity)
    hits, gone = (sum(answer[k] for answer in answers) for k in (0, 1))
    counts = [hits, sum(batch.size for batch in batches) - hits, gone]
    args = batches, [count, width], capacity, begin
    return Case(name, "hybrid_steps", args, (table, counts), hint, rtol=1e-3, atol=1e-3)


def queue(rng: np.random.Generator) -> Case:
    """The places of a cache in their order, read from both ends, and the rows that have one."""
    batches = [rng.integers(0, 9, 3) for _ in range(30)]
    kept: OrderedDict[int, None] = OrderedDict()
    found = []
    for batch in batches:
        for row in batch.tolist():
            if row not in kept and len(kept) == 5:
                kept.popitem(last=False)
            kept[row] = None
            kept.move_to_end(row)
        order = np.array(list(kept), L)
        found.append([order[::-1], order, np.sort(order)])
    hint = (
        "Two neighbours refer to each other; newer of the newest place and older of the oldest are -1, and place_of of a row that "
        "is not cached is 0.",
        "相邻的两个位置互相指向对方；最近使用的位置的 newer 和最久未用的位置的 older 为 -1，不在缓存中的行的 place_of 为 0。",
    )
    names = "the queue from both ends, and the cached rows", "从两端读队列，以及哪些行在缓存中"
    return Case(names, "cache_queue", (batches, 5, 80), found, hint)


def ask(rng: np.random.Generator) -> Iterator[Case]:
    newest: Text = (
        "A row that is looked up becomes the newest, also if it is cached already (else: first in, first out), and the two neighbours that "
        "it leaves are linked in both directions.",
        "被查询的行即使已在缓存中，也要移到队首（否则就成了先进先出），它离开的两个邻居要双向接上。",
    )
    joined: Text = (
        "When a place is taken out of the middle, its two neighbours are linked in both directions; at the oldest end, ends[1] moves.",
        "从中间取出一个位置时，要把它两边的邻居双向接上；在最久未用的一端则移动 ends[1]。",
    )
    forgotten: Text = (
        "place_of of the evicted row is 0 again: a later look-up is a miss.",
        "被淘汰的行的 place_of 重新置 0：以后再查询它是一次未命中。",
    )
    circle: Text = (
        "Each row is evicted before it is looked up again: place_of of an evicted row is 0 again, and ends[1] is the next to be evicted.",
        "每一行再次被查询之前都已被淘汰：被淘汰的行的 place_of 重新置 0，ends[1] 是下一个被淘汰的位置。",
    )
    batches = np.split(np.tile(rng.permutation(20)[:9], 12), 27)  # the same nine, repeated
    names = ("a cyclic scan: no hits", "循环查询：一次也不命中")
    yield Case(names, "cache_asked", (batches, 8, 20), asked(batches, 8), circle)
    for name, name_zh, capacity, count, batch, size, hint in (
        ("rows that are looked up again", "再次查询的行", 6, 20, 6, 30, newest),
        ("a cache of two places", "两个位置的缓存", 2, 6, 2, 60, joined),
        ("a cache of one place", "一个位置的缓存", 1, 4, 1, 110, joined),
        ("a cache that is never full", "不会装满的缓存", 40, 30, 10, 15, newest),
        ("rows that are loaded again", "淘汰后又载入的行", 10, 14, 10, 40, forgotten),
        ("a long log", "较长的记录", 50, 400, 50, 60, forgotten),
    ):
        batches = [skewed(rng, count, batch) for _ in range(size)]
        args = batches, capacity, count
        yield Case((name, name_zh), "cache_asked", args, asked(batches, capacity), hint)
    yield queue(rng)
    yield hybrid(rng, ("a table in two kinds of memory", "两种内存里的表"), joined)


EXERCISES = [
    Exercise("optimizer.Adagrad.update_rows", 2, "Lazy Adagrad", "惰性 Adagrad", update_rows, (*LIBRARY, *KERNELS, "step", "unique", "Adagrad", "update", "rule", "_update", "rule_step", "optim")),
    Exercise("kernels.cpu_embedding_cache.ask", 3, "The cache", "缓存", ask, (*LIBRARY, *KERNELS, "ask", "lru_cache", "LRUCache", "cachetools"), seconds=COMPILING),
]  # fmt: skip  # a table
