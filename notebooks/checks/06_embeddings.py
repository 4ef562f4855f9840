"""Hidden checks of notebook 06. Oracles: torch's embedding and its autograd in float64, NumPy's add.at, Adagrad's formula with
whole float64 arrays, and an ordered dictionary as the cache."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from sampan.learn.cases import Case, Holds, Text
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
ADDING = (
    *(
        "at",
        "index_add",
        "index_add_",
        "scatter_add",
        "scatter_add_",
        "scatter_reduce",
        "scatter_reduce_",
        "scatter",
    ),
    *(
        "index_put",
        "index_put_",
        "_index_put_impl_",
        "bincount",
        "histogram",
        "embedding_backward",
        "segment_sum",
    ),
    *(
        "embedding_dense_backward",
        "scatter_nd",
        "scatter_nd_add",
        "put_along_axis",
        "put_along_axis_",
        "add_at",
    ),
)
SPARSE = (
    *("scipy", "pandas", "sparse", "torch.sparse", "sparse_coo_tensor", "coalesce", "coalesced", "to_sparse"),
    *("segment_sum", "groupby", "index_add", "index_add_", "scatter_add", "scatter_add_", "bincount"),
)
COMPILING = 20.0  # seconds: the first call waits for numba, and on a busy machine that is most of it
TIGHT = {"rtol": 1e-4, "atol": 1e-4}


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


def skewed(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Ids from 0 to below `count`, a few of which are very frequent."""
    return np.minimum((count * rng.random(size) ** 3).astype(L), count - 1)


def left_alone(name: Text, args: tuple[Any, ...], arrays: tuple[Any, ...], what: Text) -> Case:
    """The `arrays` among `args` are not changed by the call."""
    hint = (
        f"Do not write into {what[0]}: other code still needs them unchanged.",
        f"不要改写{what[1]}：别处还要用到原来的值。",
    )
    return Case(name, "left_alone", args, list(arrays), hint)


def _read_nevertheless(came: Any) -> Text | None:
    return None if came is True else ("it was read as if it were a row", "它被当作一行读了出来")


REFUSED = Holds(_read_nevertheless, ("an IndexError", "一个 IndexError"))


# --- a table through the library ----------------------------------------------------------------------------------


def through_the_library(
    rng: np.random.Generator, name: Text, hint: Text, count: int, width: int, shape: tuple[int, ...],
    padding: int | None = None, by_frequency: bool = False, passes: int = 1,
) -> Case:  # fmt: skip
    """An embedding's value and its gradient, as a dense array and as rows; torch's embedding is the oracle."""
    ids, table, g = rng.integers(0, count, shape), draw(rng, count, width), draw(rng, *shape, width)
    weight = torch.tensor(table, dtype=torch.float64, requires_grad=True)
    value = torch.nn.functional.embedding(torch.tensor(ids), weight, scale_grad_by_freq=by_frequency, padding_idx=padding)  # fmt: skip
    value.backward(torch.tensor(g).double())
    shown = value.detach().numpy().copy()
    if padding is not None:
        shown[ids == padding] = 0
    slope = passes * weight.grad.numpy()
    args = ids, table, g, padding, by_frequency, passes
    return Case(name, "embedding_gradient", args, (shown, [slope, slope]), hint, **TIGHT)


def twice(rng: np.random.Generator) -> Case:
    """Second derivatives of sum(g * rows ** 3), by torch."""
    ids, table, g = rng.integers(0, 9, 30), draw(rng, 9, 12), draw(rng, 30, 12)
    weight = torch.tensor(table, dtype=torch.float64, requires_grad=True)
    value = torch.nn.functional.embedding(torch.tensor(ids), weight) ** 3
    (first,) = torch.autograd.grad(value, weight, torch.tensor(g).double(), create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), weight)
    return Case(
        name=("second derivatives", "二阶导数"),
        driver="embedding_twice",
        args=(ids, table, g),
        expected=[second.numpy()],
        hint=(
            "The lines that return the pullback are complete: do not change them.",
            "返回反向函数的那几行已经写好，请保持原样。",
        ),
        rtol=1e-3,
        atol=1e-3,
    )


# --- the look-up --------------------------------------------------------------------------------------------------


def rows_at(rng: np.random.Generator) -> Iterator[Case]:
    each: Text = (
        "Row i of out is row ids[i] of the table, column for column; ids may repeat.",
        "out 的第 i 行是表的第 ids[i] 行，逐列复制；编号可以重复。",
    )
    nothing: Text = (
        "Only the row `padding` reads as zeros, each time that its id occurs.",
        "只有 padding 指定的行读作零，并且每次查询都如此。",
    )
    for name, name_zh, count, width, size, padding, hint in (
        ("ids that repeat", "重复的编号", 30, 17, 200, -1, each),
        ("a wide table", "很宽的表", 5, 300, 12, -1, each),
        ("one column", "只有一列", 400, 1, 150, -1, each),
        ("padding in the middle", "填充行在中间", 6, 25, 60, 3, nothing),
        ("padding is row 0", "填充行是第 0 行", 5, 25, 60, 0, nothing),
    ):
        ids, table = rng.integers(0, count, size), draw(rng, count, width)
        expected = np.where((ids == padding)[:, None], 0, table[ids])
        yield Case((name, name_zh), "table_read", (ids, table, padding), expected, hint, dtype="float32")
    ids, table = rng.integers(0, 12, (7, 5, 3)), rng.normal(size=(12, 4))
    names = ("ids of three axes, a table of float64", "三维编号，float64 的表")
    yield Case(names, "table_read", (ids, table, -1), table[ids], each, dtype="float64")
    outside: Text = (
        "An id outside the table raises IndexError: negative ids, and ids from table.shape[0] on.",
        "不是表中行号的编号须引发 IndexError：负数，以及大于等于 table.shape[0] 的数。",
    )
    for name, name_zh, wrong in (
        ("an id that is one too large", "编号恰好越界", 40),
        ("a negative id", "负的编号", -int(rng.integers(1, 40))),
    ):
        ids = rng.integers(0, 40, 90)
        ids[rng.integers(0, 90)] = wrong
        yield Case((name, name_zh), "table_refuses", (ids, draw(rng, 40, 8)), REFUSED, outside)
    ids = rng.integers(0, 30, 80)
    args = ids, draw(rng, 30, 11), int(ids[0]), False, False  # the padding id occurs
    what = "the ids and the table", "编号和表"
    yield left_alone(("the inputs are unchanged", "不改动输入"), args, args[:2], what)
    yield through_the_library(rng, ("through the library's tape", "经过库的磁带"), each, 20, 9, (6, 5), 4)
    yield twice(rng)


def rows_summed(rng: np.random.Generator) -> Iterator[Case]:
    again: Text = (
        "Ids may repeat, and then all their rows are added up: out[ids] += g keeps only one of them.",
        "编号可能重复，此时应把各次的梯度全部相加；out[ids] += g 只会保留其中一次。",
    )
    dropped: Text = (
        "Every gradient of the row `padding` is dropped.",
        "归到 padding 行的梯度每次都被丢弃。",
    )
    for name, name_zh, count, width, size, padding, hint in (
        ("ids that repeat", "重复的编号", 15, 20, 200, -1, again),
        ("one id alone", "只有一个编号", 1, 120, 70, -1, again),
        ("rows whose ids do not occur", "编号没有出现的行", 500, 3, 40, -1, again),
        ("padding that repeats", "重复的填充行", 8, 15, 120, 5, dropped),
        ("nothing but padding", "全是填充行", 1, 110, 30, 0, dropped),
    ):
        ids, g, expected = rng.integers(0, count, size), draw(rng, size, width), np.zeros((count, width))
        np.add.at(expected, ids[ids != padding], g[ids != padding])
        args = g, ids, count, padding
        yield Case((name, name_zh), "rows_added", args, expected, hint, **TIGHT)
    none = np.zeros((11, 13))
    args = np.zeros((0, 13), F), np.zeros(0, L), 11, -1
    yield Case(("an empty batch", "空的一批"), "rows_added", args, none, again)
    args = draw(rng, 90, 6), rng.integers(0, 20, 90), 20, -1, False
    what = "the gradient and the ids", "梯度和编号"
    yield left_alone(("the inputs are unchanged", "不改动输入"), args, args[:2], what)
    yield through_the_library(
        rng, ("through the library's tape", "经过库的磁带"), dropped, 12, 11, (5, 9), padding=2
    )
    yield through_the_library(
        rng, ("divided by the count of an id", "除以编号出现的次数"), again, 7, 14, (40,), by_frequency=True
    )
    yield twice(rng)


# --- the merge ----------------------------------------------------------------------------------------------------


def merge(ids: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(ids in ascending order, their rows added up); -1 is none."""
    kept = ids >= 0
    distinct, which = np.unique(ids[kept], return_inverse=True)
    sums = np.zeros((distinct.size, rows.shape[1]))
    np.add.at(sums, which, rows[kept])
    return distinct, sums


def coalesced(rng: np.random.Generator) -> Iterator[Case]:
    far: Text = (
        "Ids may be any numbers up to 2^63: an array with an element for each of them does not fit in memory.",
        "编号可达 2 的 63 次方：不能为每个可能的编号都留一个位置。",
    )
    nobody: Text = (
        "An id of -1 belongs to no row: it does not occur in the answer.",
        "编号 -1 不属于任何行，不应出现在答案中。",
    )
    each: Text = (
        "Each id once, with the sum of all its rows, wherever they are in the batch.",
        "每个编号出现一次，对应它所有行之和，不论它们在批中的位置。",
    )
    for name, name_zh, ids, width, count, hint in (
        ("ids that repeat, mixed", "重复且打乱的编号", rng.integers(0, 40, 300), 8, 40, each),
        ("one id alone", "只有一个编号", np.full(60, rng.integers(0, 1000)), 110, 1000, each),
        ("neighbours in the batch, and again later", "相邻后又再次出现", np.tile(rng.permutation(50)[:25], 4).repeat(2), 5, 50, each),
        ("some ids of -1", "含有 -1 的编号", rng.integers(-1, 12, 150), 9, 12, nobody),
        ("only ids of -1", "编号全是 -1", np.full(20, -1), int(rng.integers(3, 9)), 12, nobody),
        ("ids near 10^12", "接近 10 的 12 次方的编号", 10**12 - rng.integers(1, 30, 90) ** 2, 6, 10**12, far),
    ):  # fmt: skip
        rows = draw(rng, ids.size, width)
        args = ids.astype(L), rows, count
        yield Case((name, name_zh), "rows_merged", args, merge(ids, rows), hint, **TIGHT)
    none = np.zeros(0, L)
    yield Case(
        ("an empty batch", "空的一批"), "rows_merged", (none, np.zeros((0, 7), F), 30), (none, np.zeros((0, 7))), each
    )  # fmt: skip
    ids, rows = skewed(rng, 5_000, 20_000), draw(rng, 20_000, 4)
    yield Case(
        ("twenty thousand, most of them of a few rows", "两万个，多数属于少数几行"), "rows_merged", (ids, rows, 5_000),
        merge(ids, rows), each, rtol=1e-3, atol=1e-2,
    )  # fmt: skip
    ids, rows = rng.integers(0, 40, 200), draw(rng, 200, 3)
    large = ids % 2 == 0
    # Of one sign: where large numbers cancel, a correct sum in float32 is far from the exact one as well.
    rows[large] = 1e6 * np.abs(rows[large])
    yield Case(
        ("large rows between small ones", "大数行夹在小数行之间"), "rows_merged", (ids, rows, 40), merge(ids, rows),
        (
            "Sum only the rows of one id: a difference of two running sums loses the digits of small rows next to large ones.",
            "每个和只由它自己的各行构成：用累积和之差来求，小数的有效位会被大数吞掉。",
        ), rtol=1e-4, atol=1e-2,
    )  # fmt: skip
    ids, rows = rng.integers(0, 20, 100), draw(rng, 100, 3)
    names = ("the inputs are unchanged", "不改动输入")
    yield Case(
        names, "rows_unspoilt", (ids, rows, 20), (ids, rows), ("Do not change the given ids and rows.", "不要修改传入的编号和行。")
    )  # fmt: skip
    yield through_the_library(
        rng, ("a gradient through the library's tape", "经过磁带的梯度"), each, 25, 10, (8, 6), 3, passes=2
    )
    yield clipped(rng, each)


def clipped(rng: np.random.Generator, hint: Text) -> Case:
    """SGD under a limit on the gradient's norm: the norm of the summed rows, not of the occurrences."""
    table, batches = draw(rng, 30, 6), [rng.integers(0, 12, 25) for _ in range(4)]
    norm, rate, expected = 3.0, 0.2, table.astype(float)
    for ids in batches:
        g = np.zeros_like(expected)
        np.add.at(g, ids, 2 * expected[ids])
        expected = expected - rate * g * min(1.0, norm / np.sqrt((g**2).sum()))
    name = ("a gradient clipped by its norm", "按范数裁剪的梯度")
    return Case(name, "rows_clipped", (batches, table, norm, rate), expected, hint, rtol=1e-3, atol=1e-3)


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
        ("six steps of the library's optimizer", "库中优化器的六步"), "adagrad_steps", (batches, table, rate, epsilon, begin), found,
        once, rtol=1e-3, atol=1e-3,
    )  # fmt: skip
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
    Exercise("ops.embedding.rows_at", 2, "The look-up", "查表", rows_at, (*LIBRARY, *KERNELS), seconds=COMPILING),
    Exercise("ops.embedding.rows_summed", 2, "The scatter-add", "散布累加", rows_summed, (*LIBRARY, *KERNELS, *ADDING, *SPARSE), seconds=COMPILING),
    Exercise("row_sparse.RowSparse.coalesced", 3, "Repeated ids as one", "合并重复编号", coalesced, (*LIBRARY, *KERNELS, *SPARSE, "unique", "unique_consecutive")),
    Exercise("optimizer.Adagrad.update_rows", 2, "Lazy Adagrad", "惰性 Adagrad", update_rows, (*LIBRARY, *KERNELS, "step", "unique", "Adagrad", "update", "rule", "_update", "rule_step", "optim")),
    Exercise("kernels.cpu_embedding_cache.ask", 3, "The cache", "缓存", ask, (*LIBRARY, *KERNELS, "ask", "lru_cache", "LRUCache", "cachetools"), seconds=COMPILING),
]  # fmt: skip
