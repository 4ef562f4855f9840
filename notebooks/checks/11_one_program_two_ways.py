"""Hidden checks of notebook 11. Oracles: Python itself, which tells values apart or does not, NumPy, torch in float64, and a
table of the bytes that each call needs."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from sampan.learn.cases import Case, Holds, Text
from studio.grading.exercise import Exercise

F, D = np.float32, np.float64
NAN = float("nan")
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
TIGHT = {"rtol": 1e-9, "atol": 1e-10}
LINE = 64  # bytes


# --- guards -------------------------------------------------------------------------------------------------------


def compared(
    name: Text, pairs: Sequence[tuple[Any, Any]], same: Sequence[int], hint: Text, **settings: Any
) -> Case:
    """Pairs of values, and which of them have one outcome."""
    return Case(name, "outcomes_compared", ([list(p) for p in pairs],), np.array(same), hint, **settings)


def outcome(rng: np.random.Generator) -> Iterator[Case]:
    zero: Text = (
        "0.0 == -0.0 is True, but 1 / x, math.copysign and atan2 tell them apart, and so may the function. Which form of a number shows "
        "its sign?",
        "0.0 == -0.0 为 True，但 1 / x、math.copysign、atan2 能区分两者，被录制的函数也可能区分。数的哪种形式能看出符号？",
    )
    nan: Text = (
        "NaN is not equal to itself, so a recording with NaN would never be used again: each call would make a new one.",
        "NaN 不等于自身，所以含 NaN 的录制永远不会再被使用：每次调用都会重新录制。",
    )
    kinds: Text = (
        "True == 1 == 1.0 in Python, and all three are the same key of a dict. The function may ask for the type.",
        "在 Python 中 True == 1 == 1.0，作为字典的键三者也相同。但函数可能会检查类型。",
    )
    shape: Text = (
        "The same bytes in another shape, or read as another dtype, are another array.",
        "同样的字节，换一种形状或按另一种 dtype 读取，就是另一个数组。",
    )
    long: Text = (
        "The printed form of an array leaves out the middle of a long one and rounds each number. All bytes count.",
        "数组打印出来的形式会省略长数组的中间部分，并对每个数取舍。所有字节都要比较。",
    )
    written: Text = (
        "The caller may write into the array later. The outcome must hold a copy of its numbers, not the array.",
        "调用者之后可能改写数组。结果中必须保存数值的副本，而不是数组本身。",
    )
    truth: Text = (
        "True and False are their own outcomes: the library writes them to files.",
        "True 和 False 的 outcome 就是它们自己：库会把它们写进文件。",
    )
    a, b = (float(v) for v in rng.normal(size=2))
    pairs = [(a, a), (a, b), (a, float(np.nextafter(a, 9.0))), (7, 7), (7, 8), ("a", "a")]
    yield compared(("ordinary numbers", "普通的数"), pairs, [1, 0, 0, 1, 0, 1], zero)
    pairs = [(NAN, NAN), (NAN, a)]
    yield compared(("NaN", "NaN 值"), [*pairs, (-NAN, NAN)], [1, 0, 1], nan)
    yield compared(("the two zeros", "两个零"), [(0.0, -0.0), (-0.0, -0.0), (0.0, 0)], [0, 1, 0], zero)
    n = int(rng.integers(3, 9))
    pairs = [(True, 1), (False, 0), (1, 1.0), (n, float(n)), (str(n), n), (True, True)]
    yield compared(
        ("types that Python calls equal", "Python 认为相等的类型"), pairs, [0, 0, 0, 0, 0, 1], kinds
    )
    lists = [([n, 2], [n, 2]), ([n, 2], [2, n]), ([0.0], [-0.0]), ([], [0]), ([[n], [2]], [[n, 2]])]
    yield compared(("lists", "列表"), lists, [1, 0, 0, 0, 0], zero)

    x = rng.normal(size=(4, 6))
    pairs = [(x, x.copy()), (x, x.reshape(6, 4)), (x, x.ravel()), (np.zeros((0, 3)), np.zeros((3, 0)))]
    yield compared(("shapes", "形状"), pairs, [1, 0, 0, 0], shape)
    whole = rng.integers(0, 99, 12)
    pairs = [
        (whole, whole.view(D)),
        (np.zeros(5, F), np.zeros(5, np.int32)),
        (np.array([True]), np.array([1], np.int8)),
    ]
    yield compared(("dtypes of the same bytes", "字节相同的 dtype"), pairs, [0, 0, 0], shape)
    big = rng.normal(size=3000)
    other = big.copy()
    other[1500] += 1e-12
    pairs = [
        (big, big.copy()),
        (big, other),
        (np.array([0.0]), np.array([-0.0])),
        (np.array([NAN]), np.array([NAN])),
    ]
    yield compared(
        ("a long array, and nearly equal ones", "长数组，以及几乎相等的数组"), pairs, [1, 0, 0, 1], long
    )
    turned = np.asfortranarray(x)
    args = [x[:, ::2].copy(), turned, whole]
    yield Case(
        ("an array that is overwritten later", "之后被改写的数组"),
        "outcomes_kept",
        (args, 3),
        np.ones(3, int),
        written,
    )
    yield Case(("truth values", "真值"), "truth_kept", (), [True, False], truth)

    zeros = np.where(rng.random(25) < 0.5, 0.0, -0.0)[:, None] * np.ones(5) + np.append(0, rng.normal(size=4))
    zeros[:, 0] = np.append([0.0, -0.0], np.where(rng.random(23) < 0.5, 0.0, -0.0))
    expected = 2, zeros + np.copysign(1.0, zeros[:, :1])
    names = "a function that sees the sign, through to_static", "能看到符号的函数，经过 to_static"
    yield Case(names, "program_called", ("signed", zeros), expected, zero)
    rows = np.repeat([[1.0, NAN, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]], 15, 0)[
        np.r_[0, 15, rng.permutation(30)[:26]]
    ]
    expected = 2, np.where(np.isnan(rows).any(1, keepdims=True), 2.0, 1.0) * rows
    names = "a function that sees NaN, through to_static", "能看到 NaN 的函数，经过 to_static"
    yield Case(names, "program_called", ("without_nan", rows), expected, nan)
    three = np.stack([rng.permutation(8).astype(D) for _ in range(3)])
    rows = three[np.r_[0, 1, 2, rng.integers(0, 3, 15)]]
    distinct = len(np.unique(three, axis=0))
    expected = distinct, -np.sort(-rows, axis=1)
    names = "a function that sorts with NumPy, through to_static", "用 NumPy 排序的函数，经过 to_static"
    yield Case(names, "program_called", ("ordered", rows), expected, long)
    rows = rng.normal(size=(3, 6))
    rows[:, 0] = [2.0, 3.0, 2.0]
    rows = rows[np.r_[0, 1, 2, rng.integers(0, 3, 15)]]
    sums = [row[: int(row[0])].sum() for row in rows]
    expected = 3, np.array(sums)[:, None] * np.ones(6)
    names = "a loop over a list, through to_static", "对列表的循环，经过 to_static"
    yield Case(names, "program_called", ("counted", rows), expected, zero)


# --- folding ------------------------------------------------------------------------------------------------------


def drawn_layer(rng: np.random.Generator, shape: Sequence[int], out: int, kind: Any = D) -> dict[str, Any]:
    """A layer's weight and bias, and the numbers of the normalisation behind it."""
    return {
        "weight": rng.normal(size=shape).astype(kind),
        "bias": rng.normal(size=out).astype(kind),
        "gamma": rng.uniform(0.5, 2.0, out).astype(kind) * rng.choice([-1, 1], out).astype(kind),
        "beta": rng.normal(size=out).astype(kind),
        "mean": rng.normal(size=out).astype(kind) * 2,
        "variance": rng.uniform(0.1, 3.0, out).astype(kind),
    }


def applied(
    arrays: dict[str, Any], x: np.ndarray, kind: str, epsilon: float, active: bool = False
) -> np.ndarray:
    """The layer and torch's batch normalisation over x, in float64."""
    t = {k: None if v is None else torch.from_numpy(np.asarray(v, D)) for k, v in arrays.items()}
    given, weight, bias, functional = (
        torch.from_numpy(x.astype(D)),
        t["weight"],
        t["bias"],
        torch.nn.functional,
    )
    assert weight is not None
    if kind == "linear":
        h = functional.linear(given, weight.T, bias)
    elif kind == "transposed":
        h = functional.conv_transpose2d(given, weight, bias)
    else:
        h = functional.conv2d(given, weight, bias, padding=1, groups=x.shape[1] // weight.shape[1])
    h = functional.batch_norm(h, t["mean"], t["variance"], t["gamma"], t["beta"], False, 0.0, epsilon)
    return (h.relu() if active else h).numpy()


def folded_by(arrays: dict[str, Any], axis: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """(weight, bias) output by output: what the normalisation does to one output's weights, and to zeros."""
    weight = np.moveaxis(arrays["weight"].astype(D), axis, 0).copy()
    bias = np.zeros(len(weight))
    for o in range(len(weight)):
        gamma = 1.0 if arrays["gamma"] is None else float(arrays["gamma"][o])
        slope = gamma / np.sqrt(float(arrays["variance"][o]) + epsilon)
        start = 0.0 if arrays["bias"] is None else float(arrays["bias"][o])
        bias[o] = slope * (start - float(arrays["mean"][o]))
        bias[o] += 0.0 if arrays["beta"] is None else float(arrays["beta"][o])
        weight[o] *= slope
    kind = arrays["weight"].dtype
    return np.moveaxis(weight, 0, axis).astype(kind), bias.astype(kind)


ORDER = ("weight", "bias", "gamma", "beta", "mean", "variance")


def fold(rng: np.random.Generator) -> Iterator[Case]:
    axis: Text = (
        "`axis` counts the outputs: axis 0 of a convolution's weight, axis 1 of a linear layer's. With a square weight a scale along the "
        "other axis has the right shape, and is wrong.",
        "`axis` 是输出所在的轴：卷积权重的第 0 轴，线性层权重的第 1 轴。权重是方阵时，沿另一轴缩放形状也对，结果却是错的。",
    )
    none: Text = (
        "A bias of None counts as zeros, a gamma of None as ones, a beta of None as zeros; the mean is subtracted in any case.",
        "bias 为 None 相当于全零，gamma 为 None 相当于全一，beta 为 None 相当于全零；均值无论如何都要减去。",
    )
    small: Text = (
        "Where the variance is small epsilon decides: the square root is of variance + epsilon, both together.",
        "方差很小时，epsilon 起决定作用：对 variance + epsilon 整体开平方根。",
    )
    bias: Text = (
        "The bias of the layer goes through the normalisation too: (bias - mean) times the scale, and then beta.",
        "层的偏置也要经过归一化：(bias - mean) 乘以缩放系数，再加 beta。",
    )
    unspoilt: Text = (
        "The arrays belong to the network, which is also trained and saved: `weight *= scale` would change it. Make new arrays.",
        "这些数组属于网络，网络还要训练和保存：`weight *= scale` 会改变它。请创建新的数组。",
    )
    wide: Text = (
        "Give the results the dtype of the weight; compute in float64 on the way.",
        "结果的 dtype 与权重相同；中间用 float64 计算。",
    )
    n = int(rng.integers(4, 7))
    arrays = drawn_layer(rng, (n, 3, 3, 3), n) | {"bias": None, "mean": np.zeros(n), "beta": np.zeros(n)}
    arrays["variance"] = np.append(0.0, rng.uniform(0, 1e-3, n - 1))
    args = (*(arrays[key] for key in ORDER), 1e-3, 0)
    yield Case(
        ("variances near zero", "接近零的方差"),
        "weights_folded",
        args,
        folded_by(arrays, 0, 1e-3),
        small,
        **TIGHT,
    )
    for name, name_zh, shape, out, at, missing, epsilon, hint in (
        ("a convolution", "卷积", (n, 3, 3, 3), n, 0, (), 1e-5, bias),
        ("a convolution without a bias", "没有偏置的卷积", (n, 2, 3, 3), n, 0, ("bias",), 1e-3, none),
        ("a depthwise convolution", "逐通道卷积", (n, 1, 5, 5), n, 0, (), 1e-3, axis),
        ("a convolution over time", "时间上的卷积", (n, n, 3), n, 0, (), 1e-3, axis),
        ("a linear layer", "线性层", (9, n), n, 1, (), 1e-3, axis),
        ("a square linear layer", "方阵的线性层", (n, n), n, 1, (), 1e-3, axis),
        ("no gamma and no beta", "没有 gamma 和 beta", (n, 3, 1, 1), n, 0, ("gamma", "beta"), 1e-3, none),
        ("only a normalisation", "只有归一化参数", (n, n), n, 1, ("bias", "gamma", "beta"), 1e-2, none),
    ):
        arrays = drawn_layer(rng, shape, out) | dict.fromkeys(missing)
        args = (*(arrays[key] for key in ORDER), epsilon, at)
        yield Case((name, name_zh), "weights_folded", args, folded_by(arrays, at, epsilon), hint, **TIGHT)
    arrays = drawn_layer(rng, (n, n), n, F)
    args = (*(arrays[key] for key in ORDER), 1e-3, 1)
    names = "in float32", "float32 精度"
    yield Case(names, "weights_folded", args, folded_by(arrays, 1, 1e-3), wide, dtype="float32", **CLOSE)
    arrays = drawn_layer(rng, (n, n, 3, 3), n)
    args = (*(arrays[key] for key in ORDER), 1e-3, 0)
    yield Case(
        ("the arguments are unchanged", "不改动参数"),
        "folding_leaves",
        args,
        [arrays[key] for key in ORDER],
        unspoilt,
    )
    for name, name_zh, kind, shape, out, channels in (
        ("a convolution, through the library's pass", "卷积，经过库的优化遍", "conv", (n, 3, 3, 3), n, 3),
        ("groups, through the library's pass", "分组卷积，经过库的优化遍", "conv", (6, 2, 3, 3), 6, 4),
        (
            "a transposed convolution, through the library's pass",
            "转置卷积，经过库的优化遍",
            "transposed",
            (n, n, 2, 2),
            n,
            n,
        ),
        ("a linear layer, through the library's pass", "线性层，经过库的优化遍", "linear", (n, n), n, n),
    ):
        arrays = drawn_layer(rng, shape, out) | {"bias": None if kind == "conv" else rng.normal(size=out)}
        x = rng.normal(size=(40, channels) if kind == "linear" else (2, channels, 7, 7))
        expected = 2, applied(arrays, x, kind, 1e-3, active=True)
        yield Case((name, name_zh), "network_folded", (kind, arrays, x, 1e-3), expected, axis, **TIGHT)


# --- the arena ----------------------------------------------------------------------------------------------------


def chain(rng: np.random.Generator, count: int, skips: float = 0.0) -> np.ndarray:
    """Lives [values, 3] of a network: each value is read by the next call, some also by a later one."""
    born = np.arange(count)
    last = born + 1 + np.where(rng.random(count) < skips, rng.integers(1, 5, count), 0)
    return np.stack([LINE * rng.integers(1, 200, count), born, np.minimum(last, count)], 1)


def scattered(rng: np.random.Generator, count: int) -> np.ndarray:
    """Lives of any kind: some calls make several values, some values are never read or have no bytes; in any order."""
    born = rng.integers(0, count // 2, count)
    last = born + np.where(rng.random(count) < 0.25, 0, rng.integers(0, 7, count))
    sizes = LINE * np.where(rng.random(count) < 0.1, 0, rng.integers(1, 90, count))
    return np.stack([sizes, born, last], 1)


def bytes_needed(lives: np.ndarray) -> int:
    """The most bytes that one call needs."""
    table = np.zeros(int(lives[:, 2].max()) + 1, np.int64)
    for size, born, last in lives:
        table[born : last + 1] += size
    return int(table.max())


def overlap(lives: np.ndarray, places: np.ndarray) -> Text | None:
    """The first two values that share bytes during a call, found in a table of calls and lines of the arena."""
    lines = int((places + lives[:, 0]).max()) // LINE
    table = np.full((int(lives[:, 2].max()) + 1, lines), -1)
    for value, ((size, born, last), at) in enumerate(zip(lives, places, strict=True)):
        part = table[born : last + 1, at // LINE : (at + size) // LINE]
        if (part >= 0).any():
            call, line = (int(axis[0]) for axis in np.nonzero(part >= 0))
            other, call = int(part[call, line]), call + int(born)
            return (
                f"values {other} and {value} are both needed during call {call}, and share bytes",
                f"值 {other} 和 {value} 在第 {call} 次调用期间都还需要，却共用了字节",
            )
        part[...] = value
    return None


def placed(programs: Sequence[np.ndarray], times: float | None = None) -> Holds:
    """Offsets without overlaps; if `times` is given, arenas of at most so many times the bytes needed at once, all
    programs together."""

    def fault(came: Any) -> Text | None:
        if not isinstance(came, (list, tuple)) or len(came) != len(programs):
            return "expected a list of offsets for each program", "每个程序应有一个偏移列表"
        height = 0
        for lives, found in zip(programs, came, strict=True):
            places = np.asarray(found) if isinstance(found, np.ndarray) else np.zeros(0)
            if places.shape != (len(lives),) or places.dtype.kind not in "iu":
                return f"expected {len(lives)} whole numbers", f"应为 {len(lives)} 个整数"
            if (places < 0).any() or (places % LINE).any():
                return "an offset is negative or no multiple of 64", "有偏移为负数，或不是 64 的倍数"
            if (places > 4 * lives[:, 0].sum()).any():
                return "an offset lies far behind all values together", "有偏移远远超出所有值的总和"
            if len(lives) and (wrong := overlap(lives, places)):
                return wrong
            height += int((places + lives[:, 0]).max(initial=0))
        needed = sum(bytes_needed(lives) for lives in programs if len(lives))
        if times is not None and height > times * needed:
            ratio = height / needed
            return (
                f"the arenas are {ratio:.2f} times as large as what is needed at once, at most {times} were expected",
                f"内存区是同时需要的字节数的 {ratio:.2f} 倍，应至多为 {times} 倍",
            )
        return None

    small = "" if times is None else f", at most {times} times what is needed at once"
    small_zh = "" if times is None else f"，大小至多为同时所需的 {times} 倍"
    return Holds(fault, (f"offsets without overlaps{small}", f"互不重叠的偏移{small_zh}"))


def offsets(rng: np.random.Generator) -> Iterator[Case]:
    last: Text = (
        "A call reads its inputs while it writes its result: a value whose last use is call 5, and one that call 5 makes, must not overlap. "
        "Two lives meet if born[i] <= last[j] and born[j] <= last[i].",
        "调用在写结果的同时还在读输入：最后一次使用是第 5 次调用的值，与第 5 次调用产生的值不能重叠。born[i] <= last[j] 且 "
        "born[j] <= last[i] 时，两个值的生存期相交。",
    )
    every: Text = (
        "A value has to keep clear of all values that live with it, not of its neighbour alone; and they come in any order, also two from "
        "one call.",
        "一个值要避开所有与它同时存在的值，而不只是相邻的那个；值的次序任意，同一次调用也可能产生两个。",
    )
    unread: Text = (
        "A value that no call reads is still written by the call that makes it: it lives from born to last, both included.",
        "没有调用读取的值，仍然会被产生它的调用写入：它从 born 活到 last，两端都包括。",
    )
    share: Text = (
        "Places of dead values are used again: look for the lowest offset at which no living value is in the way, starting at 0.",
        "已经不用的值的位置可以再用：从 0 开始，找不与任何存活的值冲突的最低偏移。",
    )
    tight: Text = (
        "Place the largest values first: small ones fit into the gaps that are left, large ones do not.",
        "先放最大的值：小的能放进剩下的空隙，大的放不进去。",
    )
    unspoilt: Text = ("Do not sort or change the lists that you get.", "不要对传入的列表排序或改动。")
    found = [chain(rng, 12), chain(rng, 30)]
    yield Case(("chains", "链"), "values_placed", (found,), placed(found), last)
    found = [chain(rng, 25, 0.4), chain(rng, 40, 0.3)]
    yield Case(
        ("values that are read again later", "之后还会被读取的值"),
        "values_placed",
        (found,),
        placed(found),
        every,
    )
    found = [scattered(rng, 30), scattered(rng, 50)]
    yield Case(
        ("lives of any kind, in any order", "任意的生存期，任意次序"),
        "values_placed",
        (found,),
        placed(found),
        every,
    )
    one = np.array([[LINE * int(rng.integers(1, 9)), 4, 4]] * 6)
    yield Case(
        ("one call makes all values, no call reads them", "一次调用产生全部，没有调用读取"),
        "values_placed",
        ([one],),
        placed([one]),
        unread,
    )
    ends = [np.zeros((0, 3), int), np.array([[LINE, 0, 0]]), np.array([[0, 0, 5], [LINE, 0, 5]])]
    yield Case(
        ("no value, one value, no bytes", "没有值、一个值、没有字节"),
        "values_placed",
        (ends,),
        placed(ends),
        unread,
    )
    found = [chain(rng, 40, 0.25) for _ in range(6)]
    yield Case(
        ("arenas of less than twice the need", "不到所需的两倍"),
        "values_placed",
        (found,),
        placed(found, 2.0),
        share,
    )
    lives = scattered(rng, 40)
    yield Case(("the lists are unchanged", "不改动列表"), "placing_leaves", (lives,), list(lives.T), unspoilt)
    weights = [rng.normal(size=shape) / 4 for shape in ((4, 2, 3, 3), (4, 4, 3, 3), (4, 4, 3, 3), (64, 30))]
    x = rng.normal(size=(4, 2, 8, 8))
    names = "a residual network in the arena, through the library", "残差网络在内存区中运行，经过库"
    yield Case(names, "answers_in_arena", (weights, x), (residual(weights, x), 1), last, **TIGHT)
    found = [chain(rng, 60, 0.1) for _ in range(40)]
    yield Case(
        ("tight arenas", "紧凑的内存区"), "values_placed", (found,), placed(found, 1.15), tight, earns=1
    )


def residual(weights: Sequence[np.ndarray], x: np.ndarray) -> np.ndarray:
    """The network of the driver, by torch in float64."""
    first, second, third, last = (torch.from_numpy(w) for w in weights)
    functional = torch.nn.functional
    h = functional.conv2d(torch.from_numpy(x), first, padding=1).relu()
    h = (functional.conv2d(h, second, padding=1) + h).relu()
    h = functional.max_pool2d((functional.conv2d(h, third, padding=1) + h).relu(), 2)
    return (h.flatten(1) @ last).numpy()


EXERCISES = [
    Exercise("jit.guards.outcome", 3, "When a recording holds", "录制何时仍然有效", outcome, ("guards", "pickle", "dumps")),
    Exercise("jit.passes.fold_batch_norm.folded", 3, "Batch normalisation folded", "折叠批归一化", fold, ("fold_batch_norm", "folded", "fuse_conv_bn_weights", "fuse_linear_bn_weights", "fuse_conv_bn_eval", "fuse_linear_bn_eval", "batch_norm", "normalize_batch")),
    Exercise("jit.arena.offsets", 4, "Memory that is shared", "共用内存", offsets, ("planned", "run_in_arena")),
]  # fmt: skip  # a table
