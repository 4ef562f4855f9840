"""Notebook 12: an observer, rounding to levels, the weakest channels, soft labels."""

from __future__ import annotations

import math

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F, L = np.float32, np.int64

_MATRIX = np.array([[0.5, -2.0], [-1.0, 0.25], [0.75, 1.0]], F)
_FILTERS = np.array([[[[1.0, -3.0], [2.0, 0.5]]], [[[0.25, 0.0], [-0.125, 0.0]]]], F)


def _observed() -> list[Case]:
    return [
        Case(
            name=("a linear layer: one number for each column", "线性层：每列一个数"),
            driver="largest_seen",
            args=(_MATRIX, 1),
            expected=(np.array([1.0, 2.0], F), _MATRIX),
            hint=(
                "The axis is 1, so the two columns are the channels: column 0 has the magnitudes 0.5, 1 and 0.75. The largest is that of -1: "
                "the sign does not count. `data` itself must stay as it is.",
                "轴是 1，所以两列就是通道：第 0 列的绝对值是 0.5、1、0.75。最大的来自 -1：不看符号。`data` 本身不得改动。",
            ),
            dtype="float32",
        ),
        Case(
            name=("a convolution: one number for each filter", "卷积：每个滤波器一个数"),
            driver="largest_seen",
            args=(_FILTERS, 0),
            expected=(np.array([3.0, 0.25], F), _FILTERS),
            hint=(
                "The axis is 0: a maximum over all axes but this one leaves one number for each of the two filters, of shape [2].",
                "轴是 0：对除它以外的所有轴取最大值，两个滤波器各剩一个数，形状为 [2]。",
            ),
            dtype="float32",
        ),
    ]


def _rounded() -> list[Case]:
    x, g = np.array([2.0, -0.75, 0.625, -0.125, 0.0], F), np.array([1.0, 2.0, 3.0, 4.0, 5.0], F)
    scale = np.array([2.0], F)
    rows = np.array([[4.0, -1.5], [0.5, 0.25]], F)
    limits = np.array([[4.0], [0.5]], F)
    return [
        Case(
            name=("five numbers on levels 0.5 apart", "五个数，相邻级别相差 0.5"),
            driver="levels_rounded",
            args=(x, scale, 4, g),
            expected=(np.array([2.0, -1.0, 0.5, 0.0, 0.0], F), g, x, scale),
            hint=(
                "x / scale * levels is [4, -1.5, 1.25, -0.25, 0]. To whole numbers: [4, -2, 1, 0, 0], and times scale / levels it is the "
                "value. A half goes away from 0: -1.5 becomes -2. The gradient is g.",
                "x / scale * levels 为 [4, -1.5, 1.25, -0.25, "
                "0]。取整得 [4, -2, 1, 0, 0]，再乘 scale / levels 就是函数值。恰好一半时远离 0：-1.5 变成 -2。梯度就是 g。",
            ),
        ),
        Case(
            name=("two rows, each with its own scale", "两行，各有各的尺度"),
            driver="levels_rounded",
            args=(rows, limits, 4, np.ones((2, 2), F)),
            expected=(np.array([[4.0, -2.0], [0.5, 0.25]], F), np.ones((2, 2), F), rows, limits),
            hint=(
                "`scale` is [[4], [0.5]] and broadcasts: the levels of row 0 are 1 apart, those of row 1 are 0.125 apart.",
                "`scale` 是 [[4], [0.5]]，会广播：第 0 行的级别相差 1，第 1 行的级别相差 0.125。",
            ),
        ),
    ]


def _ranked() -> list[Case]:
    one = np.array([[1.0, -1.0], [3.0, 0.0], [-2.0, 2.0]], F)
    other = np.array([[0.5], [0.25], [-4.0]], F)
    alone = [[[0, 0]], [[0, 1]], [[0, 2]]]
    return [
        Case(
            name=("three filters, no groups", "三个滤波器，没有分组"),
            driver="channels_ranked",
            args=([one], alone, 2),
            expected=(np.array([0, 1], L), [one]),
            hint=(
                "The sums of magnitudes are 2, 3 and 4. The sum of the numbers themselves would be 0 for filter 0, and 0 for filter 2.",
                "绝对值之和是 2、3、4。若直接把数相加，滤波器 0 得 0，滤波器 2 也得 0。",
            ),
        ),
        Case(
            name=("a residual sum: two filters each", "残差相加：每个通道两个滤波器"),
            driver="channels_ranked",
            args=([one, other[::-1].copy()], [[[0, 0], [1, 0]], [[0, 1], [1, 1]], [[0, 2], [1, 2]]], 1),
            expected=(np.array([1], L), [one, other[::-1].copy()]),
            hint=(
                "Channel 0 has filter 0 of both weights: 2 + 4 = 6. Channel 1 has 3 + 0.25, channel 2 has 4 + 0.5. The first weight alone "
                "would choose channel 0.",
                "通道 0 有两个权重各自的滤波器 0：2 + 4 = 6。通道 1 是 3 + 0.25，通道 2 是 4 + 0.5。只看第一个权重就会选通道 0。",
            ),
        ),
    ]


def _softened() -> list[Case]:
    third = math.log(3.0)
    student, teacher = np.zeros((1, 2), np.float64), np.array([[third, 0.0]], np.float64)
    pair = np.array([[2 * third, 0.0], [0.0, 0.0]], np.float64)
    known = np.zeros((2, 2), np.float64)
    return [
        Case(
            name=("T = 1: the cross entropy with soft labels", "T = 1：软标签的交叉熵"),
            driver="softened",
            args=(student, teacher, 1.0),
            expected=(np.array(math.log(2.0)), np.array([[-0.25, 0.25]]), student, teacher),
            hint=(
                "The teacher's probabilities are 0.75 and 0.25, the student's are 0.5 each. The loss is -0.75 ln 0.5 - 0.25 ln 0.5, and its "
                "gradient is the student's probabilities minus the teacher's.",
                "老师的概率是 0.75 和 0.25，学生的都是 0.5。损失是 -0.75 ln 0.5 - 0.25 ln 0.5，梯度是学生的概率减去老师的概率。",
            ),
        ),
        Case(
            name=("T = 2, two rows", "T = 2，两行"),
            driver="softened",
            args=(pair, known, 2.0),
            expected=(
                np.array(2 * (-(math.log(0.75) + math.log(0.25)) / 2 + math.log(2.0))),
                np.array([[0.25, -0.25], [0.0, 0.0]]),
                pair,
                known,
            ),
            hint=(
                "With T = 2 the student's first row is [ln 3, 0], so its probabilities are 0.75 and 0.25; the teacher's are 0.5 each. The mean "
                "over the two rows, times 2 * 2.",
                "T = 2 时学生的第一行变成 [ln 3, 0]，概率为 0.75 和 0.25；老师的都是 0.5。对两行取平均，再乘 2 * 2。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="quantization.observers.AbsMaxChannelWiseWeightObserverLayer._observe",
        hints=(
            (
                "One number for each channel: the largest magnitude of its weights. Which axes does the maximum go over, if `axis` is the one "
                "that must stay?",
                "每个通道一个数：该通道权重的最大绝对值。如果 `axis` 这个轴要保留，最大值应当对哪些轴求？",
            ),
            (
                "The shape is wrong: the maximum goes over all axes but `axis`, and the result is [channels]. A number is too small: -3 has the "
                "magnitude 3. NaN has disappeared: Python's max(a, b) and np.nanmax drop it, torch's amax keeps it.",
                "形状不对：最大值要对除 `axis` 以外的所有轴求，结果是 [通道数]。某个数偏小：-3 的绝对值是 3。NaN 不见了：Python 的 max(a, b) 和 np.nanmax "
                "会丢掉它，torch 的 amax 会保留它。",
            ),
            (
                "others = [a for a in range(data.ndim) if a != axis]; self._max = data.abs().amax(others). `data.abs_()` would change the "
                "weights of the network.",
                "others = [a for a in range(data.ndim) if a != axis]；self._max = data.abs().amax(others)。`data.abs_()` "
                "会改掉网络的权重。",
            ),
        ),
        cases=_observed,
    ),
    Lesson(
        slot="quantization.quanters.fake_quantize",
        hints=(
            (
                "Three steps: divide, so that the levels are the whole numbers from -levels to levels; go to the nearest whole number; multiply "
                "back.",
                "三步：先除，让级别变成从 -levels 到 levels 的整数；再取最近的整数；最后乘回去。",
            ),
            (
                "Halves are wrong: torch.round(2.5) is 2, Paddle's quantisers say 3. Add 0.5 to the magnitude, round down, and put the sign "
                "back. NaN where the scale is 0: divide by 1 there instead, and the value is 0. A number beyond the scale: limit it to the "
                "scale.",
                "一半的地方不对：torch.round(2.5) 是 2，Paddle 的量化是 3。把绝对值加 0.5 再向下取整，然后恢复符号。尺度为 0 处出现 NaN：在那里改为除以 "
                "1，值为 0。超出尺度的数：限制在尺度之内。",
            ),
            (
                "safe = torch.where(scale == 0, torch.ones_like(scale), scale); steps = (x / safe).clamp(-1, 1) * levels; whole = "
                "torch.copysign((steps.abs() + 0.5).floor(), steps); value = whole * scale / levels. The gradient passes straight through: "
                "of_x returns g.",
                "safe = torch.where(scale == 0, torch.ones_like(scale), scale)；steps = (x / safe).clamp(-1, 1) * "
                "levels；whole = torch.copysign((steps.abs() + 0.5).floor(), steps)；value = whole * scale / "
                "levels。梯度直接通过：of_x 返回 g。",
            ),
        ),
        cases=_rounded,
    ),
    Lesson(
        slot="slim.L1NormFilterPruner.weakest",
        hints=(
            (
                "First a number for each filter, then one for each channel: the sum over all filters that the channel has. Then the channels in "
                "the order of these sums.",
                "先给每个滤波器一个数，再给每个通道一个数：它所有滤波器的数之和。然后按这些和给通道排序。",
            ),
            (
                "The wrong channel goes: has every member of its group been added, also those of the second weight? Equal sums: the first "
                "channel goes first, so the sort must be stable (sorted is, np.argsort is only with kind='stable').",
                "去掉的通道不对：这一组的每个成员都加上了吗，包括第二个权重的？和相等时先去掉前面的通道，所以排序必须稳定（sorted 是稳定的，np.argsort 要加 "
                "kind='stable'）。",
            ),
            (
                "totals = [sum(float(filters[number][index].abs().sum()) for number, index in channel) for channel in channels]; return "
                "sorted(range(len(channels)), key=totals.__getitem__)[:count].",
                "先求和：totals = [sum(float(filters[number][index].abs().sum()) for number, index in channel) for channel in "
                "channels]；再排序：return sorted(range(len(channels)), key=totals.__getitem__)[:count]。",
            ),
        ),
        cases=_ranked,
    ),
    Lesson(
        slot="slim.distill.tempered",
        hints=(
            (
                "Divide both logits by T, turn the teacher's into probabilities q and the student's into logarithms of probabilities. The loss "
                "of a row is the sum of -q log p.",
                "两边的 logits 都除以 T，老师的变成概率 q，学生的变成概率的对数。一行的损失是 -q log p 之和。",
            ),
            (
                "inf or nan: exp(1000) overflows. Subtract the largest logit of each row first: the probabilities stay the same. Value and "
                "gradient are T * T times too small: that factor is missing. They are too large: take the mean over the rows. The teacher has a "
                "gradient: use teacher.detach().",
                "出现 inf 或 nan：exp(1000) 溢出。先减去每行最大的 logit：概率不变。函数值和梯度都小到 1 / (T * T)：缺少这个系数。"
                "两者都偏大：要对各行取平均。老师得到了梯度：用 teacher.detach()。",
            ),
            (
                "def logs(z): z = z / T; z = z - z.max(-1, keepdim=True); return z - z.exp().sum(-1, keepdim=True).log(). Then q = "
                "logs(teacher.detach()).exp(), and return -(q * logs(student)).sum(-1).mean() * T * T.",
                "def logs(z): z = z / T；z = z - z.max(-1, keepdim=True)；return z - z.exp().sum(-1, "
                "keepdim=True).log()。然后 q = logs(teacher.detach()).exp()，返回 -(q * logs(student)).sum(-1).mean() * T * T。",
            ),
        ),
        cases=_softened,
    ),
)

PREDICTIONS = (
    Prediction(
        name="small.bytes",
        question=(
            "A convolution has 64 filters of 32 x 3 x 3 numbers and a bias. Its weights become int8, with one float32 scale for each filter; "
            "the bias stays float32. How many bytes is that?",
            "一个卷积有 64 个滤波器，每个 32 x 3 x 3 个数，还有偏置。权重变成 int8，每个滤波器一个 float32 的尺度；偏置仍是 float32。一共多少字节？",
        ),
        answer=64 * 32 * 9 + 2 * 4 * 64,
        unit=(" bytes", " 字节"),
        why=(
            "18,432 numbers of one byte, 64 scales and 64 biases of four bytes: 25.6 % of what it was. The scales cost little as long as a "
            "filter is long.",
            "18,432 个数各一字节，64 个尺度和 64 个偏置各四字节：是原来的 25.6%。只要滤波器够长，尺度占不了多少。",
        ),
    ),
    Prediction(
        name="small.half",
        question=(
            "Half of the channels of every layer are removed. What share of its multiplications remains in a convolution in the middle of the "
            "network?",
            "每一层都去掉一半通道。网络中间的一个卷积，乘法剩下原来的几分之几（用小数）？",
        ),
        answer=0.25,
        why=(
            "It has half as many filters, and each filter reads half as many channels: 1/2 x 1/2.",
            "滤波器少了一半，每个滤波器读取的通道也少了一半：1/2 x 1/2。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="small.temperature",
        question=(
            "The logits are far smaller than T, and T is doubled. By what number is the gradient of the soft-label loss divided, if the factor T^2 "
            "is left out?",
            "logits 远小于 T，现在把 T 加倍。如果不乘系数 T^2，软标签损失的梯度会变成原来的几分之一（填分母）？",
        ),
        answer=4,
        why=(
            "The gradient is (p - q) / T: one factor of 1/2 comes from the division of the logits. For a large T the difference of the "
            "probabilities also shrinks as 1 / T. The factor T^2 makes up for both.",
            "梯度是 (p - q) / T：logits 除以 T 带来一个 1/2。T 较大时，概率之差也按 1 / T 缩小。系数 T^2 正好抵消这两者。",
        ),
        tolerance=0.01,
    ),
)
