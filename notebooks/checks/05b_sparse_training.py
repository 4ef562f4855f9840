"""Hidden checks of notebook 05b. Oracles: NumPy's dense products and torch's dense convolutions in float64, and torch's autograd
for derivatives of both orders."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise

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
PRODUCTS = (
    *("@", "dot", "vdot", "mm", "bmm", "addmm", "matmul", "einsum", "inner", "outer", "tensordot", "mv"),
    *("spmm", "index_add", "index_add_", "scatter_add", "scatter_add_", "sampan.sparse.operators", "linear"),
)
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
        name,
        "sparse_matmul",
        (np.stack([rows, cols]), values, list(shape), x, g),
        (matrix @ x, [of_values, matrix.T @ g]),
        hint,
        **TIGHT,
    )


# --- products -------------------------------------------------------------------------------------------------


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
)  # fmt: skip  # a table


def sddmm(rng: np.random.Generator) -> Iterator[Case]:
    each: Text = (
        "The sum of entry e runs over the k numbers of row r of x and row cols[e] of y, and starts at zero.",
        "元素 e 的和遍历 x 第 r 行与 y 第 cols[e] 行的 k 个数，从零开始。",
    )
    owns: Text = (
        "Row r has the entries crows[r] to crows[r + 1], possibly none: several empty rows may follow each other.",
        "第 r 行的元素是 crows[r] 到 crows[r + 1]，可以没有；可能有连续多个空行。",
    )
    for name, name_zh, height, width, count, empty, k, hint in MATRICES:
        crows, cols = scattered(rng, height, width, count, empty)
        x, y = draw(rng, height, k), draw(rng, width, k)
        rows = np.repeat(np.arange(height), np.diff(crows))
        expected = (x.astype(float) @ y.T)[rows, cols]
        told = owns if hint is ZEROED else each
        yield Case((name, name_zh), "rows_sampled", (crows, cols, x, y), expected, told, **TIGHT)
    crows, cols = scattered(rng, 60, 40, 800)
    x, y = draw(rng, 60, 33), draw(rng, 40, 33)
    expected = (x.astype(float) @ y.T)[np.repeat(np.arange(60), np.diff(crows)), cols]
    yield Case(
        ("eight hundred places", "八百个位置"), "rows_sampled", (crows, cols, x, y), expected, each, **TIGHT
    )
    yield through_the_library(
        rng, ("the gradient of a matrix, through the tape", "矩阵的梯度，经过磁带"), each, (30, 20), 150, 16
    )


def spmm(rng: np.random.Generator) -> Iterator[Case]:
    turn: Text = (
        "turned has its entries in another order than rows: its values are picked(values, order).",
        "turned 的元素次序与 rows 不同：它的值是 picked(values, order)。",
    )
    for name, name_zh, height, width, count, empty, k, _ in MATRICES:
        crows, cols = scattered(rng, height, width, count, empty)
        values, x, g = draw(rng, count), draw(rng, width, k), draw(rng, height, k)
        matrix = dense(crows, cols, values, width)
        rows = np.repeat(np.arange(height), np.diff(crows))
        expected = matrix @ x, [(g.astype(float) @ x.T)[rows, cols], matrix.T @ g]
        yield Case(
            (name, name_zh), "rows_product", (crows, cols, width, values, x, g), expected, turn, **TIGHT
        )
    n, count = 60_000, 1500  # as a dense matrix 14 GB
    rows, cols = np.sort(rng.choice(n, count, replace=False)), rng.choice(n, count, replace=False).astype(I)
    crows = np.searchsorted(rows, np.arange(n + 1)).astype(I)
    values, x, g = draw(rng, count), draw(rng, n, 1), draw(rng, n, 1)
    value, of_x = np.zeros((n, 1)), np.zeros((n, 1))
    value[rows, 0], of_x[cols, 0] = values * x[cols, 0], values * g[rows, 0]
    yield Case(
        name=("60,000 rows and columns, 1,500 entries", "六万行六万列，一千五百个元素"),
        driver="rows_product",
        args=(crows, cols, n, values, x, g),
        expected=(value, [g[rows, 0] * x[cols, 0], of_x]),
        hint=(
            "A dense matrix of all rows and columns does not fit in memory: the gradient of the values is needed only at the entries.",
            "整张行乘列的表放不下：只需在元素所在的位置计算梯度。",
        ),
        **TIGHT,
    )
    yield through_the_library(rng, ("through the library's tape", "经过库的磁带"), turn, (25, 35), 200, 10)
    yield _second(rng)


def _second(rng: np.random.Generator) -> Case:
    """Derivatives of the first gradients: by torch, over the dense matrix."""
    height, width, count = 12, 9, 40
    drawn = rng.choice(height * width, count, replace=False)
    rows, cols = drawn // width, drawn % width
    values, x, g = draw(rng, count), draw(rng, width, 5), draw(rng, height, 5)
    v, d = (torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (values, x))
    matrix = torch.zeros(height, width, dtype=torch.float64).index_put(
        (torch.tensor(rows), torch.tensor(cols)), v
    )
    first = torch.autograd.grad(matrix @ d, [v, d], torch.tensor(g).double(), create_graph=True)
    second = torch.autograd.grad(sum((part**2).sum() for part in first), [v, d])
    return Case(
        name=("second derivatives", "二阶导数"),
        driver="sparse_matmul_twice",
        args=(np.stack([rows, cols]), values, [height, width], x, g),
        expected=[part.numpy() for part in second],
        hint=(
            "product, at_entries and picked are recorded when they are called with Tensors; NumPy's functions are not.",
            "传入 Tensor 时，product、at_entries、picked 会被记录；NumPy 的函数不会。",
        ),
        **TIGHT,
    )


# --- the rulebook ---------------------------------------------------------------------------------------------


def offsets_of(kernel: int, dilation: int = 1, axes: int = 3) -> np.ndarray:
    steps = dilation * (np.arange(kernel) - kernel // 2)
    return np.stack(np.meshgrid(*[steps] * axes, indexing="ij"), -1).reshape(-1, axes)


def table(places: np.ndarray, offsets: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The table of neighbours, looked up in a grid with a border as wide as the longest offset."""
    border = int(np.abs(offsets).max())
    grid = np.full([shape[0], *(n + 2 * border for n in shape[1:])], -1, I)
    b, *axes = places
    grid[(b, *(axis + border for axis in axes))] = np.arange(places.shape[1])
    return np.stack(
        [
            grid[(b, *(axis + border + step for axis, step in zip(axes, offset, strict=True)))]
            for offset in offsets
        ]
    )


def some(rng: np.random.Generator, shape: tuple[int, ...], count: int, in_order: bool = False) -> np.ndarray:
    drawn = rng.choice(int(np.prod(shape)), count, replace=False)
    return np.stack(np.unravel_index(np.sort(drawn) if in_order else drawn, shape))


def convolved(
    rng: np.random.Generator, shape: tuple[int, ...], count: int, kernel: int, dilation: int
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(arguments, answer) of a submanifold convolution: torch's dense one, looked at where there are entries."""
    axes, inside, outside = len(shape) - 1, 3, 4
    places = some(rng, shape, count, in_order=True)
    features, g = draw(rng, count, inside), draw(rng, count, outside)
    weight = draw(rng, *[kernel] * axes, inside, outside)
    f, w = (torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (features, weight))
    at = tuple(torch.tensor(axis) for axis in places)
    whole = torch.zeros(*shape, inside, dtype=torch.float64).index_put(at, f).movedim(-1, 1)
    run = torch.nn.functional.conv3d if axes == 3 else torch.nn.functional.conv2d
    out = run(whole, w.movedim((-1, -2), (0, 1)), padding=kernel // 2 * dilation, dilation=dilation)
    value = out.movedim(1, -1)[at]
    slopes = torch.autograd.grad(value, [f, w], torch.tensor(g).double())
    answer = value.detach().numpy(), [slope.numpy() for slope in slopes]
    return (places, features, list(shape), weight, dilation, g), answer


def neighbours(rng: np.random.Generator) -> Iterator[Case]:
    edge: Text = (
        "There is no entry beyond the edge of the grid: the place after the last one of a row is not the first of the next.",
        "网格边界之外没有元素：一行末尾之后并不是下一行的开头。",
    )
    apart: Text = (
        "Entries of different samples are never neighbours: the batch number belongs to a place.",
        "不同样本的元素互不相邻：批次编号也是位置的一部分。",
    )
    far: Text = ("Use the given offsets unchanged.", "使用传入的偏移，不要改动。")
    for name, name_zh, shape, count, offsets, hint in (
        (
            "a filled grid: nothing wraps around",
            "填满的网格：不会绕回",
            (1, 3, 4, 5),
            60,
            offsets_of(3),
            edge,
        ),
        ("two samples", "两个样本", (2, 4, 4, 4), 70, offsets_of(3), apart),
        ("in any order", "次序打乱", (1, 7, 8, 9), 150, offsets_of(3), far),
        ("dilated", "空洞", (1, 9, 9, 9), 200, offsets_of(3, 2), far),
        ("kernel 5, three samples", "核为 5，三个样本", (3, 6, 5, 4), 120, offsets_of(5), edge),
    ):
        places = some(rng, shape, count)
        args = places, offsets, list(shape)
        yield Case((name, name_zh), "places_near", args, table(places, offsets, shape), hint, dtype="int32")
    shape, spread = (1, 12, 12, 12), 3 * some(rng, (1, 4, 4, 4), 20)
    names = ("isolated voxels, each alone", "孤立的体素")
    args = spread, offsets_of(3), list(shape)
    yield Case(names, "places_near", args, table(spread, offsets_of(3), shape), far, dtype="int32")
    args = np.zeros((4, 0), np.int64), offsets_of(3), [1, 5, 5, 5]
    yield Case(("no entries", "没有元素"), "places_near", args, np.zeros((27, 0), I), far, dtype="int32")
    for name, name_zh, shape, count, dilation in (
        ("SubmConv3D through the tape", "SubmConv3D，经过磁带", (2, 6, 5, 7), 130, 1),
        ("SubmConv3D, dilated, through the tape", "空洞 SubmConv3D，经过磁带", (1, 8, 7, 6), 120, 2),
        ("SubmConv2D through the tape", "SubmConv2D，经过磁带", (2, 9, 8), 60, 1),
    ):
        args, answer = convolved(rng, shape, count, 3, dilation)
        yield Case((name, name_zh), "submanifold", args, answer, edge, **TIGHT)


EXERCISES = [
    Exercise("kernels.sparse.sddmm", 2, "A product at a few places", "采样乘积", sddmm, (*FORBIDDEN, *PRODUCTS)),
    Exercise("sparse.operators.spmm", 2, "The two gradients", "两个梯度", spmm, (*FORBIDDEN, "@", "spmm", "sampan.sparse.operators")),
    Exercise("sparse.rulebook.neighbours", 3, "The rulebook", "规则表", neighbours, (*FORBIDDEN, "mutual_neighbours", "rulebook", "submanifold", "KDTree", "cKDTree", "sklearn")),
]  # fmt: skip  # a table
