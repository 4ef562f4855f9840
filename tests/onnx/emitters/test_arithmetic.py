"""Arithmetic in ONNX beside the operators themselves."""

import sampan as paddle
from tests.onnx.exported import function_agrees

UNARY = [
    "abs",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "exp",
    "floor",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "reciprocal",
    "rsqrt",
    "sqrt",
    "square",
    "sign",
    "sin",
    "sinh",
    "tan",
    "tanh",
    "trunc",
    "frac",
    "round",
    "asinh",
    "acosh",
    "atan",
    "neg",
    "isnan",
    "isinf",
    "isfinite",
    "deg2rad",
    "rad2deg",
]


def test_functions_of_one_number(tmp_path):
    function_agrees(tmp_path, lambda x: [getattr(paddle, name)(x.abs() + 1.5) for name in UNARY])


def test_functions_of_two_numbers(tmp_path):
    def computed(x):
        y = x * 2 + 0.25
        yield from (x + 1, 2 - x, x / 3, x // 0.7, x % 0.7, x**2, x + y, x * y, paddle.maximum(x, y))
        yield from (paddle.minimum(x, y), x == y, x != 0, x > 0.5, x >= y, x < y, x <= 0.0)
        yield from (paddle.clip(x, -1, 1), x.clip(min=0), paddle.lerp(x, y, 0.3), paddle.hypot(x, y))
        yield from (paddle.logical_and(x > 0, x < 1), paddle.logical_or(x > 0, y > 0), ~(x > 0))
        yield paddle.where(x > 0, x, y)

    function_agrees(tmp_path, lambda x: list(computed(x)))


def test_integers_divide_as_python_does(tmp_path):
    def computed(x):
        return x + 1, x / 2, x * 2.5, x // 2, x % 3, -x, x // -3, x.astype("float32"), x.astype("bool")

    function_agrees(tmp_path, computed, "int64")


def test_bits_need_a_later_opset(tmp_path):
    function_agrees(tmp_path, lambda x: (x & 3, x | 1, x ^ 2), "int64", opset=18)
