"""Notebooks 05 and 05b: compressed rows, their product and its gradients, and the rulebook of a submanifold convolution."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F, I, L = np.float32, np.int32, np.int64


def _compressed() -> list[Case]:
    return [
        Case(
            name=("one entry per row, rows in any order", "每行一个元素，行序打乱"),
            driver="rows_grouped",
            args=(np.array([2, 0, 1]), np.array([1, 0, 2]), 3),
            expected=(np.arange(4), np.array([0, 2, 1]), np.arange(4), np.array([1, 2, 0])),
            hint=(
                "Item 0 is crows: row r has the places crows[r] to crows[r + 1]. Item 1 has the columns row by row. Item 3 is the "
                "order: entry 1 is in row 0, so it is first.",
                "第 0 项是 crows：第 r 行占位置 crows[r] 到 crows[r + 1]（不含后者）。第 1 项是逐行的列号。第 3 项是次序：元素 1 在第 0 行，所以排在最前。",
            ),
        ),
        Case(
            name=("two entries in one row", "一行有两个元素"),
            driver="rows_grouped",
            args=(np.array([1, 0, 1]), np.array([0, 1, 2]), 2),
            expected=(np.array([0, 1, 3]), np.array([1, 0, 2]), np.arange(4), np.array([1, 0, 2])),
            hint=(
                "Row 0 has one entry and row 1 has two: their cumulative sum is 0, 1, 3. Each entry takes the next free place "
                "of its row, and the free place moves on by one.",
                "第 0 行有一个元素，第 1 行有两个，累加得 0、1、3。每个元素占用本行的下一个空位，空位随即后移一位。",
            ),
        ),
    ]


# [[0, 2, 0],
#  [1, 0, 3]]
_SMALL = (np.array([0, 1, 3], I), np.array([1, 0, 2], I), np.array([2.0, 1.0, 3.0], F))


def _times() -> list[Case]:
    x = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], F)
    return [
        Case(
            name=("two rows, three entries", "两行，三个元素"),
            driver="rows_times",
            args=(*_SMALL, x),
            expected=np.array([[4.0, 40.0], [10.0, 100.0]]),
            hint=(
                "Row 1 has the entries 1 to 3 (without 3): 1 times row 0 of x plus 3 times row 2 of x. A row of out "
                "starts at zero, whatever it held before.",
                "第 1 行有元素 1 和 2：1 乘 x 的第 0 行，加上 3 乘 x 的第 2 行。不论原来存着什么，out 的每一行都从零开始。",
            ),
        ),
        Case(
            name=("the identity", "单位矩阵"),
            driver="rows_times",
            args=(np.arange(4, dtype=I), np.arange(3, dtype=I), np.ones(3, F), x),
            expected=x,
            hint=("Entry e is in column cols[e]: it takes row cols[e] of x.", "元素 e 在第 cols[e] 列：取 x 的第 cols[e] 行。"),
        ),
    ]  # fmt: skip


def _sampled() -> list[Case]:
    x = np.array([[1.0, 2.0], [3.0, 4.0]], F)
    y = np.array([[1.0, 0.0], [0.0, 1.0], [10.0, 10.0]], F)
    return [
        Case(
            name=("three places of a 2 x 3 product", "2 x 3 乘积中的三个位置"),
            driver="rows_sampled",
            args=(_SMALL[0], _SMALL[1], x, y),
            expected=np.array([2.0, 3.0, 70.0]),
            hint=(
                "Entry 2 is in row 1 and column 2: row 1 of x times row 2 of y, 3 * 10 + 4 * 10.",
                "元素 2 在第 1 行第 2 列：x 的第 1 行与 y 的第 2 行的内积，3 * 10 + 4 * 10。",
            ),
        ),
        Case(
            name=("the diagonal", "对角线"),
            driver="rows_sampled",
            args=(np.arange(3, dtype=I), np.arange(2, dtype=I), x, x),
            expected=np.array([5.0, 25.0]),
            hint=("A row times itself: the sum of its squares.", "一行与自身的内积，即平方和。"),
        ),
    ]


def _product() -> list[Case]:
    x, g = np.array([[1.0, 2.0], [3.0, 4.0]], F), np.array([[1.0, 1.0], [0.0, 2.0]], F)
    return [
        Case(
            name=("a diagonal matrix", "对角矩阵"),
            driver="rows_product",
            args=(np.arange(3, dtype=I), np.arange(2, dtype=I), 2, np.array([5.0, 7.0], F), x, g),
            expected=(
                np.array([[5.0, 10.0], [21.0, 28.0]]),
                [np.array([3.0, 8.0]), np.array([[5.0, 5.0], [0.0, 14.0]])],
            ),
            hint=(
                "Item 1[0] is the gradient of the values: for the entry in row r and column c, row r of g times row c of x. Item "
                "1[1] is that of x: the transposed matrix times g.",
                "第 1[0] 项是元素值的梯度：第 r 行第 c 列的元素，梯度是 g 的第 r 行与 x 的第 c 行的内积。第 1[1] 项是 x 的梯度：转置矩阵乘 g。",
            ),
        ),
        Case(
            name=("a single row", "只有一行"),
            driver="rows_product",
            args=(np.array([0, 2], I), np.array([0, 1], I), 2, np.array([5.0, 7.0], F), x, g[:1]),
            expected=(
                np.array([[26.0, 38.0]]),
                [np.array([3.0, 7.0]), np.array([[5.0, 5.0], [7.0, 7.0]])],
            ),
            hint=(
                "The matrix is [1, 2], its transpose [2, 1], and the gradient of x has the shape of x.",
                "矩阵是 [1, 2]，转置是 [2, 1]；x 的梯度与 x 同形。",
            ),
        ),
    ]


def _near() -> list[Case]:
    along = np.array([[0, 0, -1], [0, 0, 0], [0, 0, 1]])
    row = np.array([[0, 0, 0, 0], [2, 2, 2, 2], [2, 2, 2, 2], [1, 2, 3, 5]])
    corner = np.array([[0, 0, 0], [2, 2, 3], [2, 3, 3], [2, 2, 2]])
    return [
        Case(
            name=("three in a row and one apart", "三个相连，一个孤立"),
            driver="places_near",
            args=(row, along, [1, 8, 8, 8]),
            expected=np.array([[-1, 0, 1, -1], [0, 1, 2, 3], [1, 2, -1, -1]], I),
            hint=(
                "An array of int32, a row for each offset, a column for each entry. Offset (0, 0, -1), entry 1: at x - 1 is entry "
                "0. Entry 3 has no neighbour: -1.",
                "一个 int32 数组，每个偏移一行，每个元素一列。偏移 (0, 0, -1)，元素 1：x - 1 处是元素 0。元素 3 没有邻居：-1。",
            ),
            dtype="int32",
        ),
        Case(
            name=("around a corner", "拐角"),
            driver="places_near",
            args=(corner, np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [-1, -1, 0]]), [1, 8, 8, 8]),
            expected=np.array([[-1, 2, -1], [1, -1, -1], [2, -1, -1], [-1, -1, 0]], I),
            hint=(
                "The rows of places are batch, z, y, x; an offset has z, y, x.",
                "places 的四行是批次、z、y、x；偏移是 z、y、x。",
            ),
            dtype="int32",
        ),
    ]  # fmt: skip


LESSONS = (
    Lesson(
        slot="kernels.sparse.grouped",
        hints=(
            (
                "Sorting by small integers needs no comparisons. How many entries does each row have? Then you know where each row "
                "starts, and where its next entry goes.",
                "按小整数排序不需要比较。每一行有多少个元素？知道了这一点，就知道每行从哪里开始，"
                "它的下一个元素该放在哪里。",
            ),
            (
                "Count into starts[key + 1], take the cumulative sum, and starts[k] is where key k starts. Then go over the entries "
                "in order: each goes to the next free place of its key. Keep these free places in a copy of starts.",
                "计数存入 starts[key + 1]，再求累加和，starts[k] 就是键 k "
                "的起点。然后按次序遍历元素：每个元素放到它的键的下一个空位。空位另存一份，是 starts "
                "的副本。",
            ),
            (
                "order[free[key]] = e, then free[key] += 1. And in grouped: sort by columns first; then sort the rows, taken in that "
                "order. Entries of one row keep their order, so their columns ascend. Entry k of the second order is an "
                "index into the first.",
                "order[free[key]] = e，然后 free[key] += 1。在 "
                "grouped 里：先按列排序，再按这个次序取出各行，按行排序。同一行的元素保持次序，"
                "所以列号递增。第二次排序的第 k 个元素是第一次排序结果的下标。",
            ),
        ),
        cases=_compressed,
    ),
    Lesson(
        slot="kernels.sparse.spmm",
        hints=(
            (
                "A row of the product is a sum of rows of x: one for each entry of the row, times its value.",
                "乘积的一行是 x 的若干行之和：这一行的每个元素对应一项，乘上它的值。",
            ),
            (
                "for each r: set row r of out to 0; for e from crows[r] to crows[r + 1]: add values[e] times row cols[e] of x.",
                "对每个 r：把 out 的第 r 行清零；对从 crows[r] 到 crows[r + "
                "1] 的 e：加上 values[e] 乘 x 的第 cols[e] 行。",
            ),
            (
                "Take views first, `row = out[r]` and `other = x[cols[e]]`, and loop over `range(row.size)`: as in notebook 03, "
                "the compiler vectorizes this form.",
                "先取视图：`row = out[r]`，`other = x[cols[e]]`，再遍历 "
                "`range(row.size)`：与笔记本 03 一样，编译器会把这种形式向量化。",
            ),
        ),
        cases=_times,
    ),
    Lesson(
        slot="kernels.sparse.sddmm",
        hints=(
            (
                "x times the transpose of y would have a number at every place. Which of them are needed?",
                "x 乘 y 的转置在每个位置上都有一个数。其中哪些是需要的？",
            ),
            (
                "The same two loops as before: over the rows r, over the entries e of each. Write to out[e].",
                "与前面相同的两重循环：遍历行 r，再遍历每行的元素 e。结果写入 out[e]。",
            ),
            (
                "out[e] is the sum over j of x[r, j] * y[cols[e], j]. Start each sum at zero.",
                "out[e] 是 x[r, j] * y[cols[e], j] 对 j 求和。每个和都从零开始。",
            ),
        ),
        cases=_sampled,
    ),
    Lesson(
        slot="sparse.operators.spmm",
        hints=(
            (
                "y[r] = sum of v[e] x[c] over the entries e = (r, c). How much does y change when v[e] does? And which rows of y does "
                "row c of x reach?",
                "y[r] 等于 v[e] x[c] 对元素 e = (r, c) 求和。v[e] 变化时，"
                "y 变化多少？x 的第 c 行会影响 y 的哪些行？",
            ),
            (
                "The gradient of v[e] is g[r] times x[c]: a sampled product. Row c of x reaches those rows that have an entry in column "
                "c: the gradient of x is the transposed matrix times g.",
                "v[e] 的梯度是 g[r] 与 x[c] 的内积：一个采样乘积。x 的第 c "
                "行影响那些在第 c 列有元素的行：x 的梯度是转置矩阵乘 g。",
            ),
            (
                "at_entries(g, x, rows) is the first. For the second, `turned, order = rows.turned`: the transposed pattern, and for "
                "each of its entries its index before. Its values are picked(values, order).",
                "前者是 at_entries(g, x, rows)。对于后者，`turned, "
                "order = rows.turned` 给出转置后的结构，以及其中每个元素原来的下标。"
                "它的值是 picked(values, order)。",
            ),
        ),
        cases=_product,
    ),
    Lesson(
        slot="sparse.rulebook.neighbours",
        hints=(
            (
                "For each entry and each of 27 offsets: which entry is there? Searching all entries each time would be quadratic. Which "
                "data structure answers this at once?",
                "对每个元素和 27 个偏移中的每一个：那里是哪个元素？每次都查遍所有元素，代价是平方级的。"
                "哪种数据结构能立即回答？",
            ),
            (
                "A dictionary from a place (b, z, y, x) to the number of its entry. Fill it first. Then look up every place plus "
                "offset; `.get(place, -1)` returns -1 where there is no entry.",
                "用一个字典，从位置 (b, z, y, x) 到元素的编号。先填好它，再查每个位置加偏移；"
                "没有元素时，`.get(place, -1)` 返回 -1。",
            ),
            (
                "near = np.full((len(offsets), places.shape[1]), -1, np.int32). Use plain ints as keys: "
                "`places.T.tolist()` gives rows of them, and `tuple(row)` can be a key. The batch number stays as it is.",
                "near = np.full((len(offsets), "
                "places.shape[1]), -1, np.int32)。用普通整数作键："
                "`places.T.tolist()` 给出由它们组成的行，`tuple(row)` "
                "可以作键。批次编号保持不变。",
            ),
        ),
        cases=_near,
    ),
)


PREDICTIONS = (
    Prediction(
        name="sparse.starts",
        question=(
            "A matrix has rows with 3, 0, 2, 0 and 4 entries. What is crows[4]?",
            "一个矩阵的各行分别有 3、0、2、0、4 个元素。crows[4] 是多少？",
        ),
        answer=5,
        why=(
            "Row 4 starts after the entries of rows 0 to 3: 3 + 0 + 2 + 0. Row 3 is empty and starts there too.",
            "第 4 行在第 0 到 3 行的元素之后开始：3 + 0 + 2 + 0。第 3 行是空行，起点也在这里。",
        ),
    ),
    Prediction(
        name="sparse.gradient",
        question=(
            "A matrix of 10,000 x 10,000 with 50,000 entries is multiplied by a dense one of 64 columns. How many numbers does the "
            "gradient of the sparse matrix hold?",
            "一个 10,000 x 10,000 的矩阵有 50,000 个元素，乘以一个 64 列的稠密矩阵。这个稀疏矩阵的梯度有多少个数？",
        ),
        answer=50_000,
        unit=(" numbers", " 个数"),
        why=(
            "One for each entry: the gradient has the pattern of the matrix, however many columns the other factor has.",
            "每个元素一个：梯度与矩阵的结构相同，与另一个因子有多少列无关。",
        ),
    ),
    Prediction(
        name="sparse.grown",
        question=(
            "A straight line of 100 voxels, and an ordinary convolution with kernel 3 x 3 x 3. How many places does its output have?",
            "一条 100 个体素的直线，做普通的 3 x 3 x 3 卷积。它的输出有多少个位置？",
        ),
        answer=102 * 3 * 3,
        unit=(" places", " 个位置"),
        why=(
            "The line grows by one voxel at both ends and to all sides: 102 x 3 x 3. A submanifold convolution has 100.",
            "直线在两端各长出一个体素，四周也各长出一个：102 x 3 x 3。子流形卷积只有 100 个。",
        ),
    ),
    Prediction(
        name="sparse.bytes",
        question=(
            "A matrix of 100,000 x 100,000 with a million entries, as compressed rows: float32 values, int32 indices. How many "
            "bytes?",
            "一个 100,000 x 100,000 的矩阵有一百万个元素，按压缩行存储：值为 "
            "float32，索引为 int32。一共多少字节？",
        ),
        answer=4 * 1_000_000 + 4 * 1_000_000 + 4 * 100_001,
        unit=(" bytes", " 字节"),
        why=(
            "Four for each value, four for each column, and 100,001 row starts. As a dense matrix it would take 40 "
            "billion.",
            "每个值四字节，每个列号四字节，还有 100,001 个行起点。作为稠密矩阵，它要占 400 亿字节。",
        ),
        tolerance=0.01,
    ),
    Prediction(
        name="sparse.pairs",
        question=(
            "A solid cube of 10 x 10 x 10 voxels, kernel 3 x 3 x 3. How many pairs does its rulebook hold?",
            "一个 10 x 10 x 10 的实心体素立方体，卷积核 3 x 3 x 3。它的规则表有多少对？",
        ),
        answer=(3 * 10 - 2) ** 3,
        unit=(" pairs", " 对"),
        why=(
            "Along one axis a row of 10 has 8 voxels with three neighbours and 2 with two (itself counted): 28. The axes are "
            "independent, so 28 cubed. 27 for each voxel would be 27,000: the surface has fewer.",
            "沿一个轴，一排 10 个体素中，8 个有三个邻居，2 个有两个（都算上自己）：共 28。"
            "三个轴相互独立，所以是 28 的立方。若每个体素 27 个，就是 27,000："
            "表面上的体素邻居少一些。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="sparse.break_even",
        question=(
            "A dense product does 60 billion multiplications and additions per second, zeros included. A sparse one does 12 billion, but only at "
            "its entries. Up to what density (0 to 1) is the sparse one faster?",
            "稠密乘积每秒做 600 亿次乘法和加法，零也算在内。稀疏乘积每秒做 120 亿次，"
            "但只在有元素的位置上做。密度（0 到 1）多大以内，稀疏乘积更快？",
        ),
        answer=12 / 60,
        why=(
            "n density / 12 against n / 60. A sparse loop jumps around in memory, so each of its operations costs more, and it has "
            "to save many of them. The memory of values and indices breaks even much later: at 0.5, where an entry's value and index "
            "take the memory of two zeros. With all caches, such as the indices as they were given, it is near 0.2: page Sparse measures both.",
            "比较 n density / 12 与 n / 60。稀疏循环在内存里跳来跳去，"
            "每次运算的代价更高，所以必须省下很多次运算才划算。数值与索引的内存，平衡点要晚得多：在 0.5，"
            "那时一个元素的值和索引所占的内存正好等于两个零。连同所有缓存（例如最初给出的索引），则在 0.2 附近："
            "“稀疏”页两者都测。",
        ),
        tolerance=0.05,
    ),
)
