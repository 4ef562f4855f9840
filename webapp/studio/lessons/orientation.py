"""Notebook 00: one small exercise that shows how the others work."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction


def _relu() -> list[Case]:
    return [
        Case(
            name=("three numbers", "三个数"),
            driver="pullback",
            args=([np.array([-2.0, 0.0, 3.0], np.float32)], np.ones(3, np.float32)),
            expected=(np.array([0.0, 0.0, 3.0]), [np.array([0.0, 0.0, 1.0])]),
            hint=(
                "Numbers below zero become zero, all others are unchanged.",
                "小于零的变成零，其余不变。",
            ),
        ),
        Case(
            name=("nothing but negative numbers", "全是负数"),
            driver="pullback",
            args=([np.array([-1.0, -7.0], np.float32)], np.ones(2, np.float32)),
            expected=(np.zeros(2), [np.zeros(2)]),
            hint=("Every negative number becomes zero.", "每个负数都变成零。"),
        ),
    ]


LESSONS = (
    Lesson(
        slot="ops.relu",
        hints=(
            (
                "relu returns positive numbers unchanged and replaces negative ones by zero. Which method of a buffer keeps "
                "numbers above a limit?",
                "relu 让正数保持不变，把负数换成零。缓冲区的哪个方法能让数不低于某个下限？",
            ),
            (
                "Try `x.clamp` in a cell of its own, on torch.tensor([-2.0, 0.0, 3.0]): it takes `min=` and `max=`.",
                "另开一个单元格，在 torch.tensor([-2.0, 0.0, 3.0]) 上试试 "
                "`x.clamp`：它有参数 `min=` 和 `max=`。",
            ),
            (
                "You want every element of `x`, but none below 0: one call of `clamp` with one argument.",
                "你要的是 `x` 的每个元素，但都不低于 0：调用一次 `clamp`，只用一个参数。",
            ),
        ),
        cases=_relu,
    ),
)

PREDICTIONS = (
    Prediction(
        name="orientation.bytes",
        question=(
            "An image of a digit has 28 rows of 28 numbers, each of type float32. How many bytes is that?",
            "一张数字图片有 28 行，每行 28 个 float32 类型的数。一共多少字节？",
        ),
        answer=28 * 28 * 4,
        unit=(" bytes", " 字节"),
        why=(
            "784 numbers of 4 bytes each. Bytes and operations are counted all through the course: they show, "
            "before anything runs, what will be fast and what will fit in memory.",
            "784 个数，每个 4 字节。整门课都会数字节数和运算次数：还没运行，就能看出什么会快、"
            "什么放得进内存。",
        ),
    ),
    Prediction(
        name="orientation.comparisons",
        question=(
            "relu is applied to a batch of 64 such images. How many numbers does it compare with zero?",
            "把 relu 作用于一批 64 张这样的图片。它要把多少个数与零比较？",
        ),
        answer=64 * 28 * 28,
        unit=(" comparisons", " 次比较"),
        why=(
            "One for each number, whatever its neighbours are: such an operator is called elementwise.",
            "每个数比较一次，与相邻的数无关：这样的算子叫做逐元素算子。",
        ),
    ),
    Prediction(
        name="orientation.moved",
        question=(
            "How many bytes does it move between memory and processor, if each is read once and written once?",
            "如果每个数读一次、写一次，在内存与处理器之间搬运多少字节？",
        ),
        answer=64 * 28 * 28 * 4 * 2,
        unit=(" bytes", " 字节"),
        why=(
            "4 bytes in and 4 bytes out for one comparison. The processor could compare far more numbers than memory can "
            "deliver, so moving the data takes the time.",
            "每比较一次，读入 4 字节，写出 4 字节。处理器能比较的数远多于内存能送来的数，"
            "所以时间都花在搬运数据上。",
        ),
    ),
)
