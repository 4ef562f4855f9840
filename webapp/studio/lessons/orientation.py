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
            "relu returns positive numbers unchanged and replaces negative ones by zero. Which method of a buffer keeps "
            "numbers above a limit?",
            "Try `x.clamp` in a cell of its own, on torch.tensor([-2.0, 0.0, 3.0]): it takes `min=` and `max=`.",
            "You want every element of `x`, but none below 0: one call of `clamp` with one argument.",
        ),
        cases=_relu,
    ),
)

PREDICTIONS = (
    Prediction(
        name="orientation.bytes",
        question="An image of a digit has 28 rows of 28 numbers, each of type float32. How many bytes is that?",
        answer=28 * 28 * 4,
        unit=" bytes",
        why="784 numbers of 4 bytes each. Bytes and operations are counted all through the course: they show, "
        "before anything runs, what will be fast and what will fit in memory.",
    ),
    Prediction(
        name="orientation.comparisons",
        question="relu is applied to a batch of 64 such images. How many numbers does it compare with zero?",
        answer=64 * 28 * 28,
        unit=" comparisons",
        why="One for each number, whatever its neighbours are: such an operator is called elementwise.",
    ),
    Prediction(
        name="orientation.moved",
        question="How many bytes does it move between memory and processor, if each is read once and written once?",
        answer=64 * 28 * 28 * 4 * 2,
        unit=" bytes",
        why="4 bytes in and 4 bytes out for one comparison. The processor could compare far more numbers than memory can "
        "deliver, so moving the data takes the time.",
    ),
)
