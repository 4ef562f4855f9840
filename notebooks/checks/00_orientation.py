"""Hidden checks of notebook 00. Oracle: NumPy in float64."""

from collections.abc import Iterator

import numpy as np

from sampan.learn.cases import Case
from studio.grading.exercise import Exercise


def relu(rng: np.random.Generator) -> Iterator[Case]:
    shapes = (
        ("a long row", "很长的一行", (400,)),
        ("an image", "一幅图像", (28, 28)),
        ("a batch", "一批", (3, 1, 8, 8)),
    )
    for name, name_zh, shape in shapes:
        x = rng.normal(0, 20, shape).astype(np.float32)
        g = rng.normal(size=shape).astype(np.float32)
        yield Case(
            name=(name, name_zh),
            driver="pullback",
            args=([x], g),
            expected=(np.maximum(x.astype(np.float64), 0), [g * (x > 0)]),
            hint=(
                "Positive numbers are returned unchanged, of any size and in any shape.",
                "正数保持不变，不论大小和形状。",
            ),
        )
    x = rng.normal(size=(5, 7)).astype(np.float32)
    yield Case(
        name=("the input after the call", "调用之后的输入"),
        driver="updates",
        args=([0], x),
        expected=[x],
        hint=(
            "An operator must not change its input: clamp, not clamp_.",
            "算子不能改动输入：用 clamp，不用 clamp_。",
        ),
    )
    yield Case(
        name=("through the library's tape", "经过库的磁带"),
        driver="gradient",
        args=([x], np.ones_like(x)),
        expected=(np.maximum(x, 0), [(x > 0).astype(np.float64)]),
        hint=("The library calls your body for every relu.", "库里的每个 relu 都调用你的函数体。"),
    )


FORBIDDEN = (
    *("relu", "relu_", "relu6", "leaky_relu", "leaky_relu_", "rrelu", "prelu", "threshold", "threshold_"),
    *("hardtanh", "ReLU", "LeakyReLU", "torch.nn", "sampan.ops", "backward", "vjp"),
)
EXERCISES = [Exercise("ops.relu", 1, "Replace negative numbers by zero", "把负数变成零", relu, FORBIDDEN)]
