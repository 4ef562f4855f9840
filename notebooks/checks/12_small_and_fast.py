"""Hidden checks of notebook 12. Oracles: the definitions in NumPy, float64, and torch's cross entropy with soft labels.

Numbers that are rounded, ranked or compared are drawn away from the places where the last bit of a float32 would decide, or on
a grid where every sum is exact.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from sampan.learn.cases import Case, Text
from sampan.learn.plain import Strided
from studio.grading.exercise import Exercise

D, F, L = np.float64, np.float32, np.int64


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


# --- the observer -------------------------------------------------------------------------------------------------


def largest(data: np.ndarray, axis: int) -> np.ndarray:
    """The largest magnitude of each channel."""
    return np.abs(np.moveaxis(data, axis, 0).reshape(data.shape[axis], -1)).max(1)


def observed(rng: np.random.Generator) -> Iterator[Case]:
    others: Text = (
        "The maximum goes over all axes but `axis`, whichever axis that is and however many axes there are.",
        "最大值要对除 `axis` 以外的所有轴求，不论是哪个轴，也不论共有几个轴。",
    )
    sign: Text = (
        "The largest magnitude may be that of a negative number.",
        "绝对值最大的可能是负数。",
    )
    kept: Text = (
        "NaN in a channel must be seen in its result, and only there: a broken weight is to be found, not hidden.",
        "某通道里有 NaN，就要在它的结果里看得见，而且只在那里：坏的权重要让人发现，而不是被掩盖。",
    )
    for name, name_zh, shape, axis in (
        ("150 filters of a convolution", "卷积的 150 个滤波器", (150, 3, 3, 3), 0),
        ("a linear layer: the columns", "线性层：各列", (20, 140), 1),
        ("a transposed convolution: axis 1 of four", "转置卷积：四个轴中的轴 1", (5, 9, 3, 3), 1),
        ("the last of three axes", "三个轴中的最后一个", (4, 6, 8), 2),
    ):
        data = draw(rng, *shape)
        args, expected = (data, axis), (largest(data, axis), data)
        yield Case((name, name_zh), "largest_seen", args, expected, others, dtype="float32")
    data = -np.abs(draw(rng, 12, 7)) - 1
    args, expected = (data, 0), (largest(data, 0), data)
    yield Case(("negative numbers only", "全是负数"), "largest_seen", args, expected, sign)
    data = draw(rng, 9, 4, 3)
    data[rng.integers(9)] = 0
    args, expected = (data, 0), (largest(data, 0), data)
    yield Case(("a channel of zeros", "全为零的通道"), "largest_seen", args, expected, sign)
    data = draw(rng, 8, 5, 2)
    data[rng.integers(8), rng.integers(5), rng.integers(2)] = np.nan
    args, expected = (data, 0), (largest(data, 0), data)
    yield Case(("a weight that is NaN", "有一个权重是 NaN"), "largest_seen", args, expected, kept)
    data = draw(rng, 6, 11)
    args, expected = (Strided(data), 1), (largest(data, 1), data)
    yield Case(("a weight with gaps in memory", "内存中有间隔的权重"), "largest_seen", args, expected, others)
    linear, convolution = draw(rng, 18, 7), draw(rng, 5, 2, 3, 3)
    args = linear, convolution, draw(rng, 4, 18)
    expected = [largest(linear, 1), largest(convolution, 0)]
    names = "scales of a network that PTQ has converted", "PTQ 转换后的网络的尺度"
    yield Case(names, "scales_converted", args, expected, others)


# --- levels -------------------------------------------------------------------------------------------------------


def between(rng: np.random.Generator, scale: np.ndarray, levels: int, *shape: int) -> np.ndarray:
    """Numbers within the scales, none of them near the middle of two levels."""
    whole = rng.integers(-levels, levels, shape, endpoint=True)
    rest = np.where(np.abs(whole) == levels, 0, rng.uniform(-0.4, 0.4, shape))
    return ((whole + rest) / levels * scale).astype(F)


def on_levels(x: np.ndarray, scale: np.ndarray, levels: int) -> np.ndarray:
    """Each number at its nearest level, halves away from 0; where the scale is 0 the value is 0."""
    wide, size = np.asarray(x, D), np.broadcast_to(np.asarray(scale, D), x.shape)
    steps = np.clip(wide / np.where(size == 0, 1, size), -1, 1) * levels
    return np.sign(steps) * np.floor(np.abs(steps) + 0.5) * size / levels


def levels_case(
    rng: np.random.Generator, names: Text, x: np.ndarray, scale: np.ndarray, levels: int, hint: Text
) -> Case:
    g = draw(rng, *x.shape)
    expected = on_levels(x, scale, levels), g, x, scale
    return Case(names, "levels_rounded", (x, scale, levels, g), expected, hint, rtol=1e-4, atol=1e-5)


def rounded(rng: np.random.Generator) -> Iterator[Case]:
    nearest: Text = (
        "x / scale * levels goes to the nearest whole number and is multiplied back by scale / levels. `scale` broadcasts to x.",
        "x / scale * levels 取最近的整数，再乘回 scale / levels。`scale` 会广播到 x 的形状。",
    )
    halves: Text = (
        "Exactly between two levels a number goes to the one farther from 0: 2.5 becomes 3, -0.5 becomes -1. torch.round and Python's "
        "round go to the even one.",
        "恰好在两个级别正中的数取离 0 较远的那个：2.5 变成 3，-0.5 变成 -1。torch.round 和 Python 的 round 取偶数。",
    )
    limit: Text = (
        "A number beyond the scale becomes the scale, with its own sign: there are no further levels. Its gradient passes all the same.",
        "超出尺度的数变成尺度本身，符号不变：再往外没有级别了。它的梯度照样通过。",
    )
    zero: Text = (
        "A channel of zeros has the scale 0, and 0 / 0 is NaN. Its value is 0.",
        "全为零的通道尺度为 0，而 0 / 0 是 NaN。它的值应为 0。",
    )
    kept: Text = (
        "NaN stays NaN, and the other numbers are rounded as before.",
        "NaN 仍是 NaN，其他数照常取整。",
    )
    scale = rng.uniform(0.5, 3, 1).astype(F)
    names = "eight bits, one scale", "八位，一个尺度"
    yield levels_case(rng, names, between(rng, scale, 127, 12, 10), scale, 127, nearest)
    scale = rng.uniform(0.1, 5, (6, 1, 1, 1)).astype(F)
    names = "filters, each with its own scale", "各滤波器有各自的尺度"
    yield levels_case(rng, names, between(rng, scale, 7, 6, 4, 3, 3), scale, 7, nearest)
    scale = rng.uniform(0.1, 5, (1, 9)).astype(F)
    names = "the columns of a square matrix", "方阵的各列"
    yield levels_case(rng, names, between(rng, scale, 3, 9, 9), scale, 3, nearest)
    levels = int(2 ** rng.integers(3, 6))
    scale = np.array([2.0 ** rng.integers(-2, 3)], F)
    steps = rng.permutation(np.arange(-levels, levels) + 0.5)
    yield levels_case(
        rng,
        ("exactly between two levels", "恰好在两个级别正中"),
        (steps / levels * scale).astype(F),
        scale,
        levels,
        halves,
    )
    scale = rng.uniform(0.5, 2, (5, 1)).astype(F)
    x = between(rng, scale, 15, 5, 8)
    x[rng.integers(5)] *= 7
    x[:, rng.integers(8)] = scale[:, 0] * rng.choice([-3, 2.5], 5)
    yield levels_case(rng, ("beyond the scale", "超出尺度"), x, scale, 15, limit)
    scale = rng.uniform(0.5, 2, (6, 1)).astype(F)
    scale[rng.integers(6)] = 0
    x = between(rng, scale, 7, 6, 5)
    yield levels_case(rng, ("a channel of zeros", "全为零的通道"), x, scale, 7, zero)
    scale = rng.uniform(0.5, 2, (4, 1)).astype(F)
    x = between(rng, scale, 7, 4, 6)
    x[rng.integers(4), rng.integers(6)] = np.nan
    yield levels_case(rng, ("a number that is NaN", "有一个数是 NaN"), x, scale, 7, kept)
    for kind, shape, sizes in (("Conv2D", (7, 3, 2, 2), (7, 1, 1, 1)), ("Linear", (8, 6), (1, 6))):
        bits = int(rng.integers(3, 9))
        levels, scale = 2 ** (bits - 1) - 1, rng.uniform(0.2, 4, sizes).astype(F)
        x = between(rng, scale, levels, *shape)
        x[(0,) if kind == "Linear" else (slice(None), 0, 0, 0)] = scale.ravel()  # the largest of each channel
        g = draw(rng, *shape)
        expected = on_levels(x, scale, levels), g
        names = f"through the library's quanter of a {kind}", f"经过库的 {kind} 量化器"
        yield Case(names, "weights_in_bits", (x, kind, bits, g), expected, nearest, rtol=1e-4, atol=1e-5)


# --- the weakest channels -----------------------------------------------------------------------------------------


def grid(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Multiples of 1/8 without 0: sums of magnitudes are exact in any order."""
    return (rng.integers(1, 40, shape) * rng.choice([-1, 1], shape) / 8).astype(F)


def order(filters: list[np.ndarray], channels: list[Any]) -> np.ndarray:
    sums = [sum(np.abs(filters[n][i]).sum(dtype=D) for n, i in channel) for channel in channels]
    return np.argsort(sums, kind="stable")


def ranked_case(names: Text, filters: list[np.ndarray], channels: list[Any], count: int, hint: Text) -> Case:
    expected = order(filters, channels)[:count].astype(L), filters
    return Case(names, "channels_ranked", (filters, channels, count), expected, hint)


def told_apart(
    rng: np.random.Generator, filters: list[np.ndarray], channels: list[Any]
) -> tuple[list[np.ndarray], list[Any]]:
    """The same with other numbers in the first filter of each channel, so that no two scores are equal."""
    changed = [weight.copy() for weight in filters]
    sums = [sum(np.abs(filters[n][i]).sum(dtype=D) for n, i in channel) for channel in channels]
    ranks = rng.permutation(len(channels))
    for channel, total, rank in zip(channels, sums, ranks, strict=True):
        number, index = channel[0]
        first = changed[number][index].reshape(-1)[:1]
        first += np.sign(first) * (max(sums) - total + rank / 8)
    return changed, channels


def ranked(rng: np.random.Generator) -> Iterator[Case]:
    norm: Text = (
        "The score of a filter is the sum of the magnitudes of its numbers, and the lowest goes first.",
        "滤波器的得分是它各数绝对值之和，最低的先去掉。",
    )
    every: Text = (
        "A channel may have one filter or many, in any of the weights: the score is the sum over all of them, not their mean.",
        "一个通道可能有一个滤波器，也可能有许多个，来自任何一个权重：得分是它们全部之和，不是平均。",
    )
    equal: Text = (
        "Of equal scores the first channel goes first: the sort must be stable.",
        "得分相同时先去掉前面的通道：排序必须稳定。",
    )
    weight = grid(rng, 160, 4, 3, 3)
    alone = [[[0, i]] for i in range(160)]
    yield ranked_case(
        ("160 filters, no groups", "160 个滤波器，没有分组"), *told_apart(rng, [weight], alone), 150, norm
    )
    filters = [grid(rng, 30, 2, 3, 3), grid(rng, 30, 5), grid(rng, 30, 3, 1, 1)]
    places = [rng.permutation(30) for _ in filters]
    three = [[[n, int(where[i])] for n, where in enumerate(places)] for i in range(30)]
    yield ranked_case(
        ("a sum of three branches", "三个分支相加"), *told_apart(rng, filters, three), 25, every
    )
    mixed = [[[n, int(where[i])] for n, where in enumerate(places) if n <= i % 3] for i in range(30)]
    names = "groups of one, two and three", "一个、两个、三个成员的组"
    yield ranked_case(names, *told_apart(rng, filters, mixed), 30, every)
    two = [[[0, i], [0, i + 15]] for i in range(15)]
    yield ranked_case(
        ("two filters of one weight", "同一权重的两个滤波器"), *told_apart(rng, filters[:1], two), 15, every
    )
    ties = np.repeat(rng.permutation(6), 20)[:, None] * np.ones(4) / 4
    ties = (rng.permutation(ties) * rng.choice([-1, 1], ties.shape)).astype(F)
    alone = [[[0, i]] for i in range(120)]
    yield ranked_case(("many equal scores", "许多得分相同"), [ties], alone, 110, equal)
    yield ranked_case(("none goes", "一个也不去掉"), [weight[:9]], alone[:9], 0, norm)
    weights = [grid(rng, 12, 1, 3, 3), grid(rng, 8, 12, 1, 1), grid(rng, 12, 8, 3, 3), grid(rng, 2, 12, 1, 1)]
    ratios = {"second": 0.5, "inner": 0.25}
    gone = order([weights[0], weights[2]], [[[0, i], [1, i]] for i in range(12)])[:6]
    inside = order([weights[1]], [[[0, i]] for i in range(8)])[:2]
    kept, left = np.setdiff1d(np.arange(12), gone), np.setdiff1d(np.arange(8), inside)
    first, inner, second, last = weights
    expected = [first[kept], inner[left][:, kept], second[kept][:, left], last[:, kept]]
    names = "a residual network, through the library's pruner", "残差网络，经过库的剪枝器"
    yield Case(names, "network_pruned", (weights, ratios), expected, every)


# --- soft labels --------------------------------------------------------------------------------------------------


def soft_loss(student: torch.Tensor, teacher: torch.Tensor, T: float) -> Any:
    return T * T * torch.nn.functional.cross_entropy(student / T, torch.softmax(teacher / T, -1))


def softened_case(names: Text, student: np.ndarray, teacher: np.ndarray, T: float, hint: Text) -> Case:
    leaf = torch.tensor(student, dtype=torch.float64, requires_grad=True)
    value = soft_loss(leaf, torch.tensor(teacher, dtype=torch.float64), T)
    value.backward()
    assert leaf.grad is not None
    expected = value.detach().numpy(), leaf.grad.numpy(), student, teacher
    close = 1e-8 if student.dtype == D else 1e-4
    return Case(names, "softened", (student, teacher, T), expected, hint, rtol=close, atol=close)


def softened(rng: np.random.Generator) -> Iterator[Case]:
    both: Text = (
        "Both logits are divided by T, the teacher's too. The mean is over the rows, and the result is multiplied by T * T.",
        "两边的 logits 都要除以 T，老师的也要。对各行取平均，结果再乘 T * T。",
    )
    stable: Text = (
        "exp of a large number is infinite. Subtract the largest logit of each row first, and take the logarithm of the sum, not of a "
        "probability that may be 0.",
        "很大的数取 exp 得无穷。先减去每行最大的 logit；对数要取在和上，不要取在可能为 0 的概率上。",
    )
    for name, name_zh, rows, classes, T in (
        ("ten classes, T = 4", "十类，T = 4", 20, 10, 4.0),
        ("three classes, T = 1", "三类，T = 1", 7, 3, 1.0),
        ("T below 1", "T 小于 1", 6, 5, 0.5),
        ("a high temperature", "高温", 9, 8, 20.0),
    ):
        student, teacher = rng.normal(size=(rows, classes)) * 3, rng.normal(size=(rows, classes)) * 3
        yield softened_case((name, name_zh), student, teacher, T, both)
    student, teacher = rng.normal(size=(12, 10)).astype(F), rng.normal(size=(12, 10)).astype(F)
    yield softened_case(("numbers in float32", "float32 的数"), student, teacher, 3.0, both)
    student, teacher = rng.normal(size=(2, 8, 6)) * 900, rng.normal(size=(2, 8, 6)) * 900
    student, teacher = student[0], teacher[0]
    yield softened_case(("logits of a thousand", "上千的 logits"), student, teacher, 2.0, stable)
    student, teacher = rng.normal(size=(8, 6)) - 2000, rng.normal(size=(8, 6)) - 3000
    yield softened_case(("logits far below 0", "远小于 0 的 logits"), student, teacher, 2.0, stable)
    x, labels = rng.normal(size=(30, 12)).astype(F), rng.integers(0, 10, 30)
    weights = [draw(rng, 12, 10) / 3, draw(rng, 12, 10)]
    T, share, steps = float(rng.integers(2, 6)), 0.7, 3
    leaf, given = torch.tensor(weights[0]).double().requires_grad_(), torch.tensor(x).double()
    wanted = given @ torch.tensor(weights[1]).double()
    for _ in range(steps):
        logits = given @ leaf
        hard = torch.nn.functional.cross_entropy(logits, torch.tensor(labels))
        (slope,) = torch.autograd.grad(share * soft_loss(logits, wanted, T) + (1 - share) * hard, leaf)
        leaf = (leaf - 0.1 * slope).detach().requires_grad_()
    args = x, labels, weights, T, share, steps
    names = "three steps of a student, through the library", "学生训练三步，经过库"
    expected = leaf.detach().numpy()
    yield Case(names, "student_taught", args, expected, both, rtol=1e-3, atol=1e-4)


EXERCISES = [
    Exercise("quantization.observers.AbsMaxChannelWiseWeightObserverLayer._observe", 2, "An observer of magnitudes", "绝对值观察器", observed, ("_observe", "super", "sampan.quantization", "paddle.quantization", "FakeQuanterChannelWiseAbsMaxObserver", "FakeQuanterChannelWiseAbsMaxObserverLayer", "AbsMaxChannelWiseWeightObserver", "AbsMaxChannelWiseWeightObserverLayer", "AbsmaxObserver", "AbsmaxObserverLayer", "weight_quantize", "PerChannelMinMaxObserver")),
    Exercise("quantization.quanters.fake_quantize", 3, "Rounding to levels", "取整到级别", rounded, ("fake_quantize", "rounded", "weight_quantize", "_weight_quantize", "LinearQuanter", "LinearQuanterDequanter", "FakeQuanterChannelWiseAbsMaxObserverLayer", "FakeQuanterWithAbsMaxObserverLayer", "quantize_per_tensor", "quantize_per_channel", "fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine", "fused_moving_avg_obs_fake_quant", "sampan.quantization", "paddle.quantization", "kernels")),
    Exercise("slim.L1NormFilterPruner.weakest", 3, "The weakest channels", "最弱的通道", ranked, ("weakest", "_weakest", "_importance", "super", "L1NormFilterPruner", "L2NormFilterPruner", "FPGMFilterPruner", "FilterPruner", "prune_vars", "ln_structured", "torch_pruning"), ("slim.L1NormFilterPruner._importance",)),
    Exercise("slim.distill.tempered", 3, "Soft labels with a temperature", "带温度的软标签", softened, ("tempered", "soft_label", "dkd", "distil", "softmax", "log_softmax", "_softmax", "_log_softmax", "Softmax", "LogSoftmax", "softmax_with_cross_entropy", "cross_entropy", "CrossEntropyLoss", "kl_div", "KLDivLoss", "logsumexp", "logcumsumexp", "scipy", "torch.nn"), ("slim.distill.soft_label", "slim.distill.dkd")),
]  # fmt: skip  # a table
