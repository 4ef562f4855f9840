"""Hidden checks of notebook 05. Oracles: NumPy's lexsort and dense products in float64; the race is against the textbook's order
of loops."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Holds, Text
from studio.grading.exercise import Exercise, Lap, Race
from studio.lessons.drivers_sparse import rows_by_columns

F, I = np.float32, np.int32
FORBIDDEN = (
    *(
        "scipy",
        "sparse",
        "torch.sparse",
        "sampan.sparse",
        "sampan.kernels",
        "sampan.ops",
        "torch_sparse",
        "cupy",
    ),
    *(
        "csr_matrix",
        "csr_array",
        "csc_matrix",
        "coo_matrix",
        "coo_array",
        "sparse_coo_tensor",
        "sparse_csr_tensor",
    ),
    *("sparse_compressed_tensor", "to_sparse", "to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_dense"),
    *("coalesce", "smm", "hspmm", "sspaddmm", "masked_matmul", "sampled_addmm", "sddmm"),
)
SORTS = (
    *(
        "sorted",
        "argsort",
        "lexsort",
        "sort",
        "msort",
        "unique",
        "unique_consecutive",
        "partition",
        "argpartition",
    ),
    *("topk", "heapq", "bisect", "pandas"),
)
PRODUCTS = (
    *("@", "dot", "vdot", "mm", "bmm", "addmm", "matmul", "einsum", "inner", "outer", "tensordot", "mv"),
    *("spmm", "index_add", "index_add_", "scatter_add", "scatter_add_", "sampan.sparse.operators", "linear"),
)
RACE_ROWS, RACE_EACH = 1000, 40
PER_LAP = 100  # products of a learner's lap: the transfer is timed too, and should not matter
AT_ONCE = 4  # of its baseline, so that both clocks run about as long
RUNGS = ((2, 2), (4, 1))  # a right solution reaches 7 or more; times as fast as the textbook's order, points
TIGHT = {"rtol": 1e-4, "atol": 1e-4}


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


# --- matrices -------------------------------------------------------------------------------------------------


def compressed(rows: np.ndarray, cols: np.ndarray, height: int) -> tuple[np.ndarray, ...]:
    """(crows, cols, starts, order) by comparison: a stable sort by row, then column."""
    order = np.lexsort((cols, rows))
    places, starts = np.unique(np.stack([rows[order], cols[order]]), axis=1, return_index=True)
    crows = np.searchsorted(places[0], np.arange(height + 1))
    return crows, places[1], np.append(starts, rows.size), order


def scattered(
    rng: np.random.Generator, height: int, width: int, count: int, empty: tuple[int, ...] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """(crows, cols) of so many different places, at least one in every row except the rows `empty`."""
    rows = np.setdiff1d(np.arange(height), empty)
    first = np.arange(rows.size) * width + rng.integers(0, width, rows.size) if count else np.zeros(0, int)
    others = rng.permutation(np.setdiff1d(np.arange(rows.size * width), first))[: max(count - first.size, 0)]
    drawn = np.concatenate([first, others])
    crows, cols, *_ = compressed(rows[drawn // width], drawn % width, height)
    return crows.astype(I), cols.astype(I)


def dense(crows: np.ndarray, cols: np.ndarray, values: np.ndarray, width: int) -> np.ndarray:
    made = np.zeros((crows.size - 1, width))
    made[np.repeat(np.arange(crows.size - 1), np.diff(crows)), cols] = values
    return made


def through_the_library(
    rng: np.random.Generator, name: Text, hint: Text, shape: tuple[int, int], count: int, columns: int
) -> Case:
    """A product of a matrix with entries in any order, some in the same place, and its two gradients."""
    rows, cols = (rng.integers(0, n, count) for n in shape)
    values, x, g = draw(rng, count), draw(rng, shape[1], columns), draw(rng, shape[0], columns)
    matrix = np.zeros(shape)
    np.add.at(matrix, (rows, cols), values.astype(float))
    of_values = (g[rows].astype(float) * x[cols]).sum(1)
    return Case(
        name, "sparse_matmul", (np.stack([rows, cols]), values, list(shape), x, g), (matrix @ x, [of_values, matrix.T @ g]), hint, **TIGHT
    )  # fmt: skip


# --- coordinates to compressed rows -----------------------------------------------------------------------------


def grouped(rng: np.random.Generator) -> Iterator[Case]:
    order: Text = (
        "Sort by columns first, then by rows: a stable sort leaves the columns of each row in ascending order.",
        "先按列排序，再按行排序：稳定排序使每行的列号保持升序。",
    )
    begins: Text = (
        "A row without entries starts where the next one starts, and the last start is the number of entries.",
        "空行的起点与下一行相同；最后一个起点等于元素总数。",
    )
    for name, name_zh, height, width, count, hint in (
        ("columns in any order", "列序打乱", 6, 40, 120, order),
        ("places that come more than once", "重复的位置", 9, 7, 300, order),
        ("one column", "只有一列", 30, 1, 60, begins),
        ("one row", "只有一行", 1, 25, 60, order),
    ):
        rows, cols = rng.integers(0, height, count), rng.integers(0, width, count)
        expected = compressed(rows, cols, height)
        yield Case((name, name_zh), "rows_grouped", (rows, cols, height), expected, hint)
    rows, cols = rng.choice([1, 2, 5], 80), rng.integers(0, 50, 80)
    expected = compressed(rows, cols, 12)
    names = ("empty rows, the first and the last ones too", "空行，含首行与末行")
    yield Case(names, "rows_grouped", (rows, cols, 12), expected, begins)
    none = np.zeros(0, np.int64)
    expected = np.zeros(6, np.int64), none, np.zeros(1, np.int64), none
    yield Case(("no entries", "没有元素"), "rows_grouped", (none, none, 5), expected, begins)
    rows, cols = rng.integers(0, 300, 2000).astype(I), rng.integers(0, 200, 2000).astype(I)
    yield Case(
        ("two thousand entries, int32", "两千个元素，int32"), "rows_grouped", (rows, cols, 300), compressed(rows, cols, 300), order
    )  # fmt: skip
    yield through_the_library(
        rng, ("a product through the library's tape", "经过磁带的乘积"), order, (11, 17), 150, 12
    )


# --- products -------------------------------------------------------------------------------------------------


def fault_of_chain(
    cols: np.ndarray, values: np.ndarray, x: np.ndarray, probe: np.ndarray, came: Any
) -> Text | None:
    """What is wrong with A A ... A x, by its product with a secret vector: if that is right, all of it is right."""
    wanted = x @ probe
    for _ in range(PER_LAP):
        wanted = (values * wanted[cols]).sum(1)
    if not isinstance(came, np.ndarray) or came.shape != x.shape or came.dtype.kind != "f":
        return "the values are not right", "数值不对"
    if not np.allclose(came.astype(float) @ probe, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max()):
        return "the values are not right", "数值不对"
    return None


def race(rng: np.random.Generator) -> Iterator[Race]:
    """Rungs of one race: the textbook's order against a chain of the learner's products."""

    def lap() -> Lap:
        crows = np.arange(0, RACE_ROWS * RACE_EACH + 1, RACE_EACH, dtype=I)
        cols = rng.integers(0, RACE_ROWS, (RACE_ROWS, RACE_EACH)).astype(I)
        values, x = draw(rng, *cols.shape) / F(RACE_EACH**0.5), draw(rng, RACE_ROWS, 64)
        expected = Holds(
            partial(fault_of_chain, cols, values, x, rng.normal(size=64)), ("right values", "正确的数值")
        )
        given, out = (crows, cols.ravel(), values.ravel(), x), np.empty_like(x)

        def baseline() -> None:
            for _ in range(AT_ONCE):
                rows_by_columns(*given, out)

        return Lap((*given, PER_LAP), expected, baseline)

    first, ratios = lap(), []
    first.baseline()  # compiled before the clock starts
    for number, (times, earns) in enumerate(RUNGS, start=1):
        yield Race(
            name=(
                f"rung {number}: {times:g} times as fast as the textbook's order",
                f"第 {number} 档：速度达到教科书次序的 {times:g} 倍",
            ),
            driver="rows_times_chained",
            args=first.args,
            expected=first.expected,
            hint=(
                "The innermost loop runs over views of rows, `for j in range(row.size)`: 64 contiguous numbers for each "
                "entry.",
                "最内层循环应在行视图上进行：for j in range(row.size)，每个元素对应 64 个相邻的数。",
            ),
            earns=earns,
            lap=lap,
            times=times,
            per_lap=PER_LAP // AT_ONCE,
            ratios=ratios,
        )


ZEROED: Text = (
    "Every row of out is set to zero first, also that of an empty row: out is not initialized.",
    "out 的每一行都先清零，空行也不例外。",
)
SHAPES: Text = (
    "Three lengths: rows is crows.size - 1, columns is the length of x, and k is x.shape[1].",
    "三个长度：行数是 crows.size - 1，列数是 x 的行数，k 是 x.shape[1]。",
)
# name, its Chinese, rows, columns, entries, empty rows, k, hint
MATRICES: tuple[Any, ...] = (
    ("more columns than rows", "列多于行", 5, 40, 60, (), 9, SHAPES),
    ("more rows than columns", "行多于列", 50, 6, 90, (), 4, SHAPES),
    ("empty rows, the first and the last ones too", "空行，含首行与末行", 30, 20, 90, (0, 1, 7, 8, 28, 29), 5, ZEROED),
    ("one column of x", "x 只有一列", 12, 10, 40, (3,), 1, SHAPES),
    ("no entries", "没有元素", 6, 5, 0, (), 7, ZEROED),
)  # fmt: skip


def spmm_kernel(rng: np.random.Generator) -> Iterator[Case]:
    for name, name_zh, height, width, count, empty, k, hint in MATRICES:
        crows, cols = scattered(rng, height, width, count, empty)
        values, x = draw(rng, count), draw(rng, width, k)
        expected = dense(crows, cols, values, width) @ x
        yield Case((name, name_zh), "rows_times", (crows, cols, values, x), expected, hint, **TIGHT)
    yield through_the_library(rng, ("through the library's tape", "经过库的磁带"), ZEROED, (40, 25), 200, 30)
    yield from race(rng)


EXERCISES = [
    Exercise("kernels.sparse.grouped", 3, "From coordinates to rows", "从坐标到压缩行", grouped, (*FORBIDDEN, *SORTS)),
    Exercise("kernels.sparse.spmm", 3, "The product", "稀疏乘积", spmm_kernel, (*FORBIDDEN, *PRODUCTS), seconds=30),
]  # fmt: skip  # a table
