"""Notebook 11: when a recorded Program may run again, batch normalisation folded into weights, an arena for all results."""

from __future__ import annotations

from typing import Any

import numpy as np

from sampan.learn.cases import Case, Holds, Text
from sampan.learn.lessons import Lesson, Prediction

D = np.float64


def _outcomes() -> list[Case]:
    nan = float("nan")
    return [
        Case(
            name=("3.0 and 3.0, 3.0 and 4.0, 5 and 5", "3.0 与 3.0、3.0 与 4.0、5 与 5"),
            driver="outcomes_compared",
            args=([[3.0, 3.0], [3.0, 4.0], [5, 5]],),
            expected=np.array([1, 0, 1]),
            hint=(
                "1 stands for a pair with one outcome, 0 for two. An outcome is a key of a dict, so it must be hashable: a number, a text, a tuple; not a "
                "list.",
                "1 表示一对值的 outcome 相同，0 表示不同。outcome 要作为字典的键，所以必须可哈希：数、文字、元组可以，列表不行。",
            ),
        ),
        Case(
            name=("NaN and NaN", "NaN 与 NaN"),
            driver="outcomes_compared",
            args=([[nan, nan], [nan, 1.0]],),
            expected=np.array([1, 0]),
            hint=(
                "NaN is not equal to itself. In which form is it? A text, for example.",
                "NaN 不等于自身。换成什么形式就相等了？例如文字。",
            ),
        ),
        Case(
            name=("arrays", "数组"),
            driver="outcomes_compared",
            args=(
                [[np.array([1.0, 2.0]), np.array([1.0, 2.0])], [np.array([1.0, 2.0]), np.array([1.0, 3.0])]],
            ),
            expected=np.array([1, 0]),
            hint=(
                "Two arrays with the same numbers have one outcome, though they are two objects. An array cannot be a key of a dict; its bytes can: "
                "value.tobytes().",
                "数值相同的两个数组 outcome 相同，虽然它们是两个对象。数组不能作为字典的键，但它的字节可以：value.tobytes()。",
            ),
        ),
    ]


def _convolution() -> tuple[Any, ...]:
    """Two outputs, one input, filters of one number: 2 and 3; the scales are 5 / 2 and 1 / 4."""
    weight = np.array([2.0, 3.0]).reshape(2, 1, 1, 1)
    gamma, beta, mean = np.array([5.0, 1.0]), np.array([0.0, 10.0]), np.array([2.0, 4.0])
    return weight, None, gamma, beta, mean, np.array([4.0, 16.0]), 1e-9, 0


def _folded() -> list[Case]:
    linear = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    return [
        Case(
            name=("a convolution with two outputs", "两个输出的卷积"),
            driver="weights_folded",
            args=_convolution(),
            expected=(np.array([5.0, 0.75]).reshape(2, 1, 1, 1), np.array([-5.0, 9.0])),
            hint=(
                "bias is None: it counts as zeros. The scales are 5 / sqrt(4) = 2.5 and 1 / sqrt(16) = 0.25. Weights 2 and 3 become 5 and 0.75; the biases are -2 · 2.5 + 0 and "
                "-4 · 0.25 + 10.",
                "bias 为 None，相当于全零。缩放系数是 5 / sqrt(4) = 2.5 和 1 / sqrt(16) = 0.25。权重 2、3 变为 5、0.75；偏置是 -2 · 2.5 + 0 和 -4 · 0.25 + 10。",
            ),
            rtol=1e-6,
            atol=1e-6,
        ),
        Case(
            name=("a linear layer, 3 inputs and 2 outputs", "线性层，3 个输入，2 个输出"),
            driver="weights_folded",
            args=(linear, None, np.array([2.0, 3.0]), np.array([0.5, 0.0]), np.zeros(2), np.ones(2), 1e-9, 1),
            expected=(linear * np.array([2.0, 3.0]), np.array([0.5, 0.0])),
            hint=(
                "The outputs are the columns here, axis 1: column 0 is multiplied by 2, column 1 by 3.",
                "这里输出是列，即第 1 轴：第 0 列乘 2，第 1 列乘 3。",
            ),
            rtol=1e-6,
            atol=1e-6,
        ),
    ]


def _apart(lives: list[tuple[int, int, int]], most: int) -> Holds:
    """Offsets of one program without overlaps, in an arena of at most so many bytes."""

    def fault(came: Any) -> Text | None:
        (found,) = came if isinstance(came, list) and len(came) == 1 else (None,)
        if not isinstance(found, np.ndarray) or found.shape != (len(lives),):
            return f"expected a list of {len(lives)} whole numbers", f"应为 {len(lives)} 个整数的列表"
        boxes = [
            (born, last, int(at), int(at) + size) for (size, born, last), at in zip(lives, found, strict=True)
        ]
        for i, one in enumerate(boxes):
            for j, other in enumerate(boxes[:i]):
                if one[0] <= other[1] and other[0] <= one[1] and one[2] < other[3] and other[2] < one[3]:
                    return (
                        f"values {j} and {i} live together and share bytes",
                        f"值 {j} 和 {i} 同时存在，却共用了字节",
                    )
        height = max(high for *_, high in boxes)
        if height > most:
            return (
                f"the arena has {height} bytes, {most} are enough",
                f"内存区有 {height} 字节，{most} 字节就够了",
            )
        return None

    return Holds(fault, (f"no overlap, at most {most} bytes", f"不重叠，至多 {most} 字节"))


def _offsets() -> list[Case]:
    together, apart = [(128, 0, 3), (64, 1, 3), (64, 2, 4)], [(128, 0, 1), (64, 3, 4), (128, 6, 7)]
    return [
        Case(
            name=("three values that live together", "同时存在的三个值"),
            driver="values_placed",
            args=([np.array(together)],),
            expected=_apart(together, 256),
            hint=(
                "All three are needed during call 2, so they lie one after another: 128 + 64 + 64 bytes.",
                "第 2 次调用期间三个都需要，所以依次排列：128 + 64 + 64 字节。",
            ),
        ),
        Case(
            name=("three values, one after the other", "先后存在的三个值"),
            driver="values_placed",
            args=([np.array(apart)],),
            expected=_apart(apart, 128),
            hint=(
                "No two of them are needed at the same time: all may begin at 0.",
                "任何两个都不会同时需要：全部可以从 0 开始。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="jit.guards.outcome",
        hints=(
            (
                "Which values does `==` call equal though Python code can tell them apart, and which one is not even equal to itself?",
                "哪些值 `==` 认为相等，而 Python 代码却能区分？哪个值甚至不等于自身？",
            ),
            (
                "repr(value) differs for 0.0 and -0.0, for 1 and 1.0, and is the same for NaN and NaN. It is no use for an array: shape, dtype and bytes "
                "together are.",
                "repr(value) 能区分 0.0 与 -0.0、1 与 1.0，对 NaN 与 NaN 则相同。它不适用于数组：数组要把形状、dtype 和字节合在一起比较。",
            ),
            (
                "A bool: return it as it is. An np.ndarray: the tuple of value.shape, str(value.dtype) and value.tobytes(). Anything else: repr(value).",
                "bool：原样返回。np.ndarray：由 value.shape、str(value.dtype)、value.tobytes() 组成的元组。其他：repr(value)。",
            ),
        ),
        cases=_outcomes,
    ),
    Lesson(
        slot="jit.passes.fold_batch_norm.folded",
        hints=(
            (
                "Write what the normalisation does to one output y = w x + b, and collect the terms with x, and those without.",
                "写出归一化对一个输出 y = w x + b 做了什么，再把含 x 的项与不含 x 的项分别合并。",
            ),
            (
                "With scale = gamma / sqrt(variance + epsilon), the new weight is w · scale, and the new bias (b - mean) · scale + beta. The scale has to be "
                "reshaped so that its numbers lie along `axis` of the weight.",
                "令 scale = gamma / sqrt(variance + epsilon)，新权重为 w · scale，新偏置为 (b - mean) · scale + beta。scale 要变形，使它的数沿权重的 `axis` 轴排列。",
            ),
            (
                "shape = [1] * weight.ndim; shape[axis] = -1; weight.double() * scale.reshape(shape), then .to(weight.dtype). Where bias is None take zeros: "
                "-mean · scale.",
                "shape = [1] * weight.ndim；shape[axis] = -1；weight.double() * scale.reshape(shape)，再 .to(weight.dtype)。bias 为 None 时按零处理：-mean · scale。",
            ),
        ),
        cases=_folded,
    ),
    Lesson(
        slot="jit.arena.offsets",
        hints=(
            (
                "Take the values one after another. Which of those that have a place already are in the way of the next one?",
                "一个一个地放。已经放好的值中，哪些会妨碍下一个？",
            ),
            (
                "In the way are those whose lives meet: born[j] <= last[i] and born[i] <= last[j]. Go through them in the order of their offsets and take "
                "the first gap that is large enough. The arena is smaller if the largest values come first.",
                "妨碍它的是生存期相交的值：born[j] <= last[i] 且 born[i] <= last[j]。按偏移从小到大查看，取第一个够大的空隙。先放最大的值，内存区更小。",
            ),
            (
                "For i in the order of falling size: at = 0; for each j in the way, by offset: stop if places[j] >= at + sizes[i]; else at = max(at, "
                "places[j] + sizes[j]).",
                "按大小递减的次序取 i：at = 0；对妨碍它的每个 j，按偏移次序：如果 places[j] >= at + sizes[i] 就停止，否则 at = max(at, places[j] + sizes[j])。",
            ),
        ),
        cases=_offsets,
    ),
)

PREDICTIONS = (
    Prediction(
        name="programs.variants",
        question=(
            "A function reads two truth values: `if a: ...`, and inside this branch alone `if b: ...`. How many recordings are there at most?",
            "一个函数读取两个真值：`if a: ...`，以及只在这个分支内的 `if b: ...`。最多有多少份录制？",
        ),
        answer=3,
        unit=(" recordings", " 份录制"),
        why=(
            "a false; a true and b false; a true and b true. Where a is false, b is not read, and no guard asks for it.",
            "a 为假；a 真 b 假；a 真 b 真。a 为假时不会读取 b，也就没有守卫检查它。",
        ),
    ),
    Prediction(
        name="programs.calls",
        question=(
            "A network has 8 blocks of convolution, batch normalisation and relu, then a mean and a linear layer: 26 calls. How many are left after batch "
            "normalisation has been folded, and relu then fused into the convolutions?",
            "一个网络有 8 个“卷积、批归一化、relu”的块，再接一个均值和一个线性层：共 26 次调用。折叠批归一化，再把 relu 融合进卷积之后，还剩多少次？",
        ),
        answer=10,
        unit=(" calls", " 次调用"),
        why=(
            "Each block becomes one call, and two calls come after them: 8 + 2.",
            "每个块变成一次调用，后面还有两次：8 + 2。",
        ),
    ),
    Prediction(
        name="programs.arena",
        question=(
            "Four values of 100, 40, 60 and 20 kB, each made by a call and read by the next one alone. How many kB has the smallest arena?",
            "四个值，大小为 100、40、60、20 kB，各由一次调用产生，只被下一次调用读取。最小的内存区有多少 kB？",
        ),
        answer=140,
        unit=(" kB", " kB"),
        why=(
            "During the second call 100 and 40 kB are needed at once; the third value takes the place of the first, the fourth that of the second.",
            "第二次调用期间同时需要 100 和 40 kB；第三个值用第一个的位置，第四个用第二个的位置。",
        ),
    ),
)
