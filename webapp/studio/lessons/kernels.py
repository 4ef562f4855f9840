"""Notebook 03: a matrix product in three loop orders, and their speed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F = np.float32


def _square(n: int, first: float) -> np.ndarray:
    return np.arange(first, first + n * n, dtype=F).reshape(n, n)


def _product() -> list[Case]:
    x, y = _square(2, 1), np.array([[0.0, 1.0], [1.0, 1.0]], F)
    return [
        Case(
            name=("two by two", "二乘二"),
            driver="value",
            args=(x, y),
            expected=np.array([[2.0, 3.0], [4.0, 7.0]]),
            hint=(
                "Row 0 of x is [1, 2] and column 0 of y is [0, 1]: their products are 0 and 2, and out[0, 0] is the sum.",
                "x 的第 0 行是 [1, 2]，y 的第 0 列是 [0, 1]：乘积是 0 和 2，out[0, 0] 是它们的和。",
            ),
        ),
        Case(
            name=("three by three, times the identity", "三乘三，乘单位矩阵"),
            driver="value",
            args=(_square(3, 1), np.eye(3, dtype=F)),
            expected=_square(3, 1),
            hint=(
                "Every sum starts again at zero, and is written once, when it is complete.",
                "每个和都重新从零开始，算完之后只写入一次。",
            ),
        ),
    ]


def _rows() -> list[Case]:
    x, y = np.array([[1.0, 2.0]], F), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]], F)
    return [
        Case(
            name=("one row", "一行"),
            driver="value",
            args=(x, y, np.array([10.0, 20.0, 30.0], F)),
            expected=np.array([[11.0, 26.0, 34.0]]),
            hint=(
                "The row of out starts as the bias. Then 1 times row 0 of weight is added to it, then 2 times row 1.",
                "out 的一行先设为偏置，再加上 1 乘 weight 的第 0 行，然后加上 2 乘第 1 行。",
            ),
        ),
        Case(
            name=("one row, a bias of zeros", "一行，偏置为零"),
            driver="value",
            args=(np.ones((1, 4), F), _square(4, 0), np.zeros(4, F)),
            expected=_square(4, 0).sum(0, keepdims=True),
            hint=(
                "Every row of weight is used, once for each row of x.",
                "weight 的每一行都要用到，对 x 的每一行各用一次。",
            ),
        ),
    ]


def _strips() -> list[Case]:
    x, y = np.ones((1, 1, 4), F), np.arange(12, dtype=F).reshape(1, 4, 3)
    z = np.concatenate([_square(4, 0), _square(4, 1)], axis=1)[None]
    return [
        Case(
            name=("one strip of four rows", "一条，四行"),
            driver="value",
            args=(x, y),
            expected=np.array([[[18.0, 22.0, 26.0]]]),
            hint=("All four rows of y, times the four numbers of x.", "y 的四行分别乘 x 的四个数。"),
        ),
        Case(
            name=("two strips", "两条"),
            driver="value",
            args=(z, np.ones((1, 8, 2), F)),
            expected=z.sum(-1, keepdims=True) * np.ones((1, 1, 2)),
            hint=(
                "The second strip is added to what the first one left; out starts at zero.",
                "第二条要加到第一条的结果上；out 从零开始。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="ops.linalg.mm",
        hints=(
            (
                "out[i, j] is row i of x times column j of y, added up. How many loops is that?",
                "out[i, j] 是 x 的第 i 行与 y 的第 j 列逐项相乘再相加。这需要几重循环？",
            ),
            (
                "Three: over the rows of x, over the columns of y, and over what they share. Lengths come from x.shape and "
                "y.shape: x is [n, k], y is [k, m].",
                "三重：遍历 x 的行，遍历 y 的列，遍历两者共有的那一维。长度取自 x.shape 和 "
                "y.shape：x 是 [n, k]，y 是 [k, m]。",
            ),
            (
                "In the inner loop add x[i, k] * y[k, j] to a variable that was set to 0.0 just before it; after the loop "
                "write it to out[i, j].",
                "在最内层循环里，把 x[i, k] * y[k, j] 加到一个变量上，"
                "这个变量在循环之前刚设为 0.0；循环结束后把它写入 out[i, j]。",
            ),
        ),
        cases=_product,
    ),
    Lesson(
        slot="ops.linalg.affine",
        hints=(
            (
                "Swap the two inner loops. What does the innermost one then read, and how far apart are the reads in memory?",
                "交换里面的两重循环。这样最内层读的是什么？相邻两次读取在内存里相距多远？",
            ),
            (
                "For each row i of x: set the row of out to the bias; then for each k, add x[i, k] times row k of weight.",
                "对 x 的每一行 i：先把 out 的这一行设为偏置；然后对每个 k，加上 x[i, k] "
                "乘 weight 的第 k 行。",
            ),
            (
                "Take views first, `row = out[i]` and `other = weight[k]`, and loop over `range(row.size)`: the compiler "
                "vectorizes loops of this form.",
                "先取视图：`row = out[i]`，`other = weight[k]`，再遍历 "
                "`range(row.size)`：编译器会把这种形式的循环向量化。",
            ),
        ),
        cases=_rows,
    ),
    Lesson(
        slot="ops.linalg.batched_matmul",
        hints=(
            (
                "Each pass over a row of out reads it and writes it. How many rows of y could be added in one pass?",
                "每扫过 out 的一行，都要把它读一遍、写一遍。扫一遍能加上 y 的几行？",
            ),
            (
                "Let k go up in steps of four: four numbers of x, four rows of y, one pass over the row of out that adds all "
                "four products.",
                "让 k 每次增加四：x 的四个数，y 的四行，扫一遍 out 的这一行，就加上全部四个乘积。",
            ),
            (
                "`whole = length - length % 4` is where the steps of four end. The remaining rows, one to three, are added one at a "
                "time, as before.",
                "`whole = length - length % 4` 是四步一组的终点。剩下的一到三行照旧一行一行地加。",
            ),
        ),
        cases=_strips,
    ),
)


def _worth_it() -> float:
    return 20e-6 / (1e-9 * (1 - 1 / 2))


PREDICTIONS: tuple[Any, ...] = (
    Prediction(
        name="kernels.stride",
        question=(
            "y is a [512, 512] matrix of float32, rows one after the other. How many bytes are between y[k, j] and "
            "y[k + 1, j]?",
            "y 是一个 [512, 512] 的 float32 矩阵，逐行存放。y[k, j] 与 y[k + 1, j] 之间相距多少字节？",
        ),
        answer=512 * 4,
        unit=(" bytes", " 字节"),
        why=(
            "A whole row. A cache line holds 64 bytes: the loop that walks down a column fetches a new line for each "
            "number and uses 4 bytes of it.",
            "整整一行。一个缓存行有 64 字节：沿列向下走的循环，每个数都要取一个新的缓存行，"
            "却只用其中 4 字节。",
        ),
    ),
    Prediction(
        name="kernels.intensity",
        question=(
            "A product of two [512, 512] float32 matrices: how many operations per byte, if each of the three "
            "matrices moves only once?",
            "两个 [512, 512] 的 float32 矩阵相乘：如果三个矩阵都只搬运一次，每字节对应多少次运算？",
        ),
        answer=2 * 512**3 / (3 * 512 * 512 * 4),
        unit=(" operations per byte", " 次运算/字节"),
        why=(
            "2 n^3 operations over 12 n^2 bytes, n / 6. It grows with n: a large product can keep a processor busy, an addition "
            "of arrays (1 operation for 12 bytes) never can.",
            "2 n^3 次运算，12 n^2 字节，即 n / 6。它随 n 增大："
            "大的乘积能让处理器一直忙，而数组加法（12 字节 1 次运算）永远做不到。",
        ),
        tolerance=0.05,
    ),
    Prediction(
        name="kernels.parallel",
        question=(
            "A loop takes 1 ns for an element. Starting two threads costs 20 us, then each does half. Above how many "
            "elements are two threads faster?",
            "一个循环每个元素用 1 ns。启动两个线程要 20 us，之后各做一半。元素多于多少个时，两个线程更快？",
        ),
        answer=_worth_it,
        unit=(" elements", " 个元素"),
        why=(
            "n ns against n / 2 ns + 20,000 ns: equal at n = 40,000. Below, the start costs more than it saves, so a library "
            "looks at the size before it starts threads.",
            "n ns 对比 n / 2 ns + 20,000 ns：n = 40,000 时相等。"
            "少于这个数，启动的开销大于省下的时间，所以库在启动线程之前先看规模。",
        ),
        tolerance=0.05,
    ),
)
