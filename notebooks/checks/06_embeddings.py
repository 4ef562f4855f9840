"""Hidden checks of notebook 06. Oracles: torch's embedding and its autograd in float64, and NumPy's add.at."""

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


EXERCISES = [
    Exercise("ops.embedding.rows_at", 2, "The look-up", "查表", rows_at, (*LIBRARY, *KERNELS), seconds=COMPILING),
    Exercise("ops.embedding.rows_summed", 2, "The scatter-add", "散布累加", rows_summed, (*LIBRARY, *KERNELS, *ADDING, *SPARSE), seconds=COMPILING),
    Exercise("row_sparse.RowSparse.coalesced", 3, "Repeated ids as one", "合并重复编号", coalesced, (*LIBRARY, *KERNELS, *SPARSE, "unique", "unique_consecutive")),
]  # fmt: skip  # a table
