"""Hidden checks of notebook 03. Oracle: NumPy's product in float64; the races are against a plain triple loop."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Holds, Text
from sampan.learn.plain import Strided
from studio.grading.exercise import Exercise, Lap, Race
from studio.lessons.drivers import triple_loop

FORBIDDEN = (
    *("@", "dot", "vdot", "vecdot", "inner", "outer", "tensordot", "einsum", "einsum_path", "multi_dot"),
    *(
        "mm",
        "mm_",
        "addmm",
        "addmm_",
        "bmm",
        "baddbmm",
        "baddbmm_",
        "addbmm",
        "addbmm_",
        "mv",
        "addmv",
        "addr",
        "ger",
    ),
    *(
        "matmul",
        "__matmul__",
        "__rmatmul__",
        "matvec",
        "vecmat",
        "_int_mm",
        "_scaled_mm",
        "smm",
        "sspaddmm",
        "hspmm",
    ),
    *("chain_matmul", "matrix_power", "linear", "Linear", "bilinear", "cdist", "kron", "cov", "solve"),
    *(
        "conv1d",
        "conv2d",
        "conv3d",
        "convolution",
        "convolve",
        "correlate",
        "fftconvolve",
        "lstsq",
        "inv",
        "pinv",
    ),
    *("scaled_dot_product_attention", "affine", "batched_matmul", "get_blas_funcs", "dgemm", "sgemm", "gemm"),
    *(
        "torch.nn",
        "scipy",
        "sparse",
        "to_sparse",
        "sampan.ops",
        "sampan.kernels",
        "sampan.linalg",
        "sampan.nn",
    ),
)
RACE_SIZE = 256
PER_LAP = 16  # products for one of the triple loop: the transfer is timed too, and should not matter
# Times as fast as the triple loop, points. Right solutions reached 9.5 to 18 times, by processor and by what else it did:
# a verdict must not depend on the machine.
RUNGS = ((3, 2), (6, 1))


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def fault_of_chain(
    x: np.ndarray, y: np.ndarray, bias: list[np.ndarray], probe: np.ndarray, came: Any
) -> Text | None:
    """What is wrong with x y y ... y (plus the bias, each time), by its product with a vector that nobody else knows:
    right for that vector means right, and it takes a hundredth of the work."""
    wanted, shift = probe, 0.0
    for _ in range(PER_LAP):
        shift += sum(float(row @ wanted) for row in bias)
        wanted = y @ wanted
    if not isinstance(came, np.ndarray) or came.size != x.size or came.dtype.kind != "f":
        return "the values are not right", "数值不对"
    found = came.reshape(x.shape).astype(np.float64) @ probe
    if not np.allclose(found, x @ wanted + shift, rtol=1e-3, atol=1e-3 * len(y) ** 0.5):
        return "the values are not right", "数值不对"
    return None


def race(
    rng: np.random.Generator, draw_inputs: Callable[[], list[np.ndarray]], rungs: Iterable[tuple[float, int]]
) -> Iterator[Race]:
    """Rungs (times, points kept) of one race: the loop of by-definition products against a chain of the learner's."""

    def lap() -> Lap:
        inputs = draw_inputs()
        x, y, *bias = (array.reshape(array.shape[-2:]) if array.ndim > 1 else array for array in inputs)
        out = np.empty_like(x)
        expected = Holds(
            partial(fault_of_chain, x, y, bias, rng.normal(size=len(y))), ("right values", "正确的数值")
        )
        return Lap((inputs, PER_LAP), expected, lambda: triple_loop(x, y, out))

    first, ratios = lap(), []
    first.baseline()  # compiled before the clock starts
    for number, (times, earns) in enumerate(rungs, start=1):
        yield Race(
            name=(
                f"rung {number}: {times:g} times as fast as the triple loop",
                f"第 {number} 档：速度达到三重循环的 {times:g} 倍",
            ),
            driver="chained",
            args=first.args,
            expected=first.expected,
            hint=(
                "The innermost loop runs over views of rows, `for j in range(row.size)`, and reads and writes "
                "contiguous memory.",
                "最内层循环应在行视图上连续读写：for j in range(row.size)。",
            ),
            earns=earns,
            lap=lap,
            times=times,
            per_lap=PER_LAP,
            ratios=ratios,
        )


def square(rng: np.random.Generator) -> np.ndarray:
    """A matrix that, as a factor, keeps the size of the numbers."""
    return draw(rng, RACE_SIZE, RACE_SIZE) / np.float32(RACE_SIZE**0.5)


def mm(rng: np.random.Generator) -> Iterator[Case]:
    shapes: Text = (
        "x is [n, k], y is [k, m]: three lengths, and they need not be equal.",
        "x 为 [n, k]，y 为 [k, m]：三个长度可以各不相同。",
    )
    for name, name_zh, n, k, m in (
        ("a wide one", "宽矩阵", 7, 5, 40),
        ("a tall one", "高矩阵", 33, 8, 3),
        ("a long sum", "长的求和", 4, 300, 6),
        ("an empty sum", "空的求和", 3, 0, 5),
    ):
        x, y, g = draw(rng, n, k), draw(rng, k, m), draw(rng, n, m)
        value = x.astype(np.float64) @ y
        yield Case((name, name_zh), "pullback", ([x, y], g), (value, [g @ y.T, x.T @ g]), shapes, 1e-4, 1e-4)
    x, y = rng.normal(size=(6, 9)), rng.normal(size=(9, 11))
    yield Case(
        name=("a view with gaps, float64", "有间隔的视图，float64"),
        driver="value",
        args=(Strided(x), Strided(y)),
        expected=x @ y,
        hint=("Access the given arrays by index.", "用下标处理传入的数组。"),
        dtype="float64",
    )
    g = rng.normal(size=(6, 11))
    yield Case(
        name=("through the library's tape", "经过库的磁带"),
        driver="expression",
        args=([x, y], g, "matmul"),
        expected=(x @ y, [g @ y.T, x.T @ g]),
        hint=shapes,
    )


def affine(rng: np.random.Generator) -> Iterator[Case]:
    bias_once: Text = (
        "Every row of the result starts as the bias; out is not initialized.",
        "结果的每一行都以偏置开始，且只加一次。",
    )
    for name, name_zh, n, k, m in (
        ("a batch", "一批", 32, 10, 20),
        ("more outputs than inputs", "输出多于输入", 5, 3, 50),
        ("no inputs at all", "没有输入", 4, 0, 6),
    ):
        x, w, b, g = draw(rng, n, k), draw(rng, k, m), draw(rng, m), draw(rng, n, m)
        value = x.astype(np.float64) @ w + b
        yield Case(
            (name, name_zh),
            "pullback",
            ([x, w, b], g),
            (value, [g @ w.T, x.T @ g, g.sum(0)]),
            bias_once,
            1e-4,
            1e-4,
        )
    x, w, b, g = (
        rng.normal(size=(9, 4)),
        rng.normal(size=(4, 12)),
        rng.normal(size=12),
        rng.normal(size=(9, 12)),
    )
    yield Case(
        name=("a layer, through the library's tape", "一层网络，经过磁带"),
        driver="expression",
        args=([x, w, b], g, "linear"),
        expected=(x @ w + b, [g @ w.T, x.T @ g, g.sum(0)]),
        hint=bias_once,
    )
    yield from race(rng, lambda: [square(rng), square(rng), draw(rng, RACE_SIZE)], RUNGS)


def batched_matmul(rng: np.random.Generator) -> Iterator[Case]:
    left_over: Text = (
        "One, two or three rows may be left over after the last whole strip, and every strip is added to the others.",
        "最后一条之后可能剩下一到三行；每一条都要累加。",
    )
    for k in (1, 4, 6, 7, 13):
        x, y = draw(rng, 3, 5, k), draw(rng, 3, k, 9)
        yield Case(
            name=(f"three products, sums of {k}", f"三个乘积，求和长度 {k}"),
            driver="value",
            args=(x, y),
            expected=x.astype(np.float64) @ y,
            hint=left_over,
            rtol=1e-4,
            atol=1e-4,
        )
    for formula, name, name_zh in (
        ("matmul", "through the library's tape", "经过库的磁带"),
        ("matmul_turned", "both transposed, through the tape", "两者转置，经过磁带"),
    ):
        x, y = rng.normal(size=(2, 6, 10)), rng.normal(size=(2, 10, 7))
        g = rng.normal(size=(2, 6, 7))
        value, of_x, of_y = x @ y, g @ y.swapaxes(1, 2), x.swapaxes(1, 2) @ g
        inputs: list[Any] = [x, y]
        slopes = [of_x, of_y]
        if formula == "matmul_turned":
            turn: Callable[[np.ndarray], np.ndarray] = lambda a: np.ascontiguousarray(a.swapaxes(1, 2))
            inputs, slopes = [turn(x), turn(y)], [turn(of_x), turn(of_y)]
        yield Case((name, name_zh), "expression", (inputs, g, formula), (value, slopes), left_over)
    yield from race(rng, lambda: [square(rng)[None], square(rng)[None]], RUNGS)


EXERCISES = [
    Exercise("ops.linalg.mm", 2, "By its definition", "按定义相乘", mm, FORBIDDEN),
    Exercise("ops.linalg.affine", 3, "Along the rows", "沿行相乘", affine, FORBIDDEN, seconds=30),
    Exercise("ops.linalg.batched_matmul", 3, "In strips", "分条相乘", batched_matmul, FORBIDDEN, seconds=30),
]
