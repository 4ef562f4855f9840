"""Notebook 04: convolution, a recurrent cell, attention, and a small GPT."""

from __future__ import annotations

import math

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F = np.float32


def _convolution() -> list[Case]:
    image = np.arange(1, 10, dtype=F).reshape(1, 1, 3, 3)
    corner = np.array([[1, 0], [0, 1]], F).reshape(1, 1, 2, 2)
    return [
        Case(
            name=("a 2 x 2 filter over 3 x 3", "2 x 2 的滤波器走过 3 x 3"),
            driver="on_tensors",
            args=(image, corner),
            expected=np.array([[[[1 + 5, 2 + 6], [4 + 8, 5 + 9]]]], F),
            hint=(
                "At each position: the filter times the pixels under it, summed. It fits at two positions in each direction.",
                "每个位置上：滤波器与它覆盖的像素逐项相乘再相加。每个方向上有两个位置可放。",
            ),
        ),
        Case(
            name=("the same with a border of zeros and a bias", "加一圈零，再加偏置"),
            driver="on_tensors",
            args=(image, corner, np.array([100.0], F), 1, 1),
            expected=100
            + np.array(
                [[[[1, 2, 3, 0], [4, 1 + 5, 2 + 6, 3], [7, 4 + 8, 5 + 9, 6], [0, 7, 8, 9]]]],
                F,
            ),
            hint=(
                "padding=1 puts a row or column of zeros on each of the four sides before anything else.",
                "padding=1 先在四边各加一行或一列零。",
            ),
        ),
        Case(
            name=("two channels become one", "两个通道合成一个"),
            driver="on_tensors",
            args=(np.concatenate([image, 10 * image], axis=1), np.ones((1, 2, 1, 1), F)),
            expected=11 * image,
            hint=("The results of all channels are added up.", "各通道的结果要相加。"),
        ),
    ]


def _cell() -> list[Case]:
    zeros = {
        "weight_ih": np.zeros((8, 3), F),
        "weight_hh": np.zeros((8, 2), F),
        "bias_ih": np.zeros(8, F),
        "bias_hh": np.zeros(8, F),
    }
    h, c = np.zeros((1, 2), F), np.array([[1.0, -2.0]], F)
    after = 0.5 * c
    open_gates = {**zeros, "bias_ih": np.array([9, 9, 9, 9, 0.5, 0.5, 9, 9], F)}
    wide = np.array([[1.0, -2.0]]) / (1 + math.exp(-9)) + math.tanh(0.5) / (1 + math.exp(-9))
    return [
        Case(
            name=("all weights zero", "权重全为零"),
            driver="cell",
            args=(np.ones((1, 3), F), zeros, [h, c]),
            expected=(0.5 * np.tanh(after), [0.5 * np.tanh(after), after]),
            hint=(
                "Every gate is sigmoid(0) = 0.5 and the candidate tanh(0) = 0: c becomes 0.5 c, h becomes 0.5 tanh(c).",
                "每个门都是 sigmoid(0) = 0.5，候选值是 tanh(0) = 0：c 变成 0.5 c，h 变成 0.5 tanh(c)。",
            ),
        ),
        Case(
            name=("all gates open", "门都打开"),
            driver="cell",
            args=(np.ones((1, 3), F), open_gates, [h, c]),
            expected=(np.tanh(wide) / (1 + math.exp(-9)), [np.tanh(wide) / (1 + math.exp(-9)), wide]),
            hint=(
                "With every gate at nearly 1, the candidate tanh(0.5) is added to c, and h is tanh of that.",
                "每个门都接近 1 时，候选值 tanh(0.5) 加到 c 上，h 就是所得结果的 tanh。",
            ),
        ),
    ]


def _attention() -> list[Case]:
    values = np.array([[1.0], [3.0], [8.0]], F).reshape(1, 3, 1, 1)
    zeros = np.zeros((1, 3, 1, 1), F)
    sharp = np.array([0.0, 0.0, 50.0], F).reshape(1, 3, 1, 1)
    return [
        Case(
            name=("equal scores: the mean", "分数相同：取平均"),
            driver="on_tensors",
            args=(zeros, zeros, values),
            expected=np.full((1, 3, 1, 1), 4.0),
            hint=("Equal scores give equal weights, 1/3 each.", "分数相同，权重各占三分之一。"),
        ),
        Case(
            name=("one key fits: its value", "一个键吻合：取它的值"),
            driver="on_tensors",
            args=(np.ones((1, 3, 1, 1), F), sharp, values),
            expected=np.full((1, 3, 1, 1), 8.0),
            hint=(
                "Softmax runs along the keys: the last axis of the scores.",
                "softmax 沿着键计算，即沿分数的最后一个轴。",
            ),
        ),
        Case(
            name=("causal: earlier tokens only", "因果：只看过去的词元"),
            driver="on_tensors",
            args=(zeros, zeros, values, None, 0.0, True),
            expected=np.array([1.0, 2.0, 4.0]).reshape(1, 3, 1, 1),
            hint=(
                "With is_causal the first token sees itself, the second two, the third three. Every other key has a score "
                "of minus infinity before the softmax.",
                "设了 is_causal 时，第一个词元只看自己，第二个看两个，第三个看三个；其余的键在 softmax 之前分数为负无穷。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="nn.functional.conv2d",
        hints=(
            (
                "Do not move the filter over the image: shift the image under each of the filter's few numbers. For a 3 x 3 "
                "filter that is nine shifted images.",
                "不要让滤波器在图像上移动：滤波器只有几个数，让图像在每个数下面移动。3 x 3 "
                "的滤波器对应九张平移后的图像。",
            ),
            (
                "First pad. The result has (height - kh) // stride + 1 rows. For each i and j of the filter, the numbers that "
                "it multiplies are a slice of the image that starts at row i and column j, in steps of the stride.",
                "先填充。结果有 (height - kh) // stride + 1 行。对滤波器的每个 "
                "i 和 j，它所乘的数是图像的一个切片：从第 i 行、第 j 列开始，间隔为 stride。",
            ),
            (
                "Each slice is [batch, channels, rows, columns], and weight[:, :, i, j] is [out, channels]: "
                'paddle.einsum("nchw,oc->nohw", slice, weight[:, :, i, j]) adds over the channels. Add all of these up.',
                "每个切片是 [批，通道，行，列]，weight[:, :, i, j] 是 [输出通道，"
                '通道]：paddle.einsum("nchw,oc->nohw", slice, '
                "weight[:, :, i, j]) 会对通道求和。把它们全部相加。",
            ),
        ),
        cases=_convolution,
    ),
    Lesson(
        slot="nn.LSTMCell.forward",
        hints=(
            (
                "Everything is computed from one long row of numbers: the input times weight_ih plus the state h times weight_hh, and both "
                "biases. Split it in four.",
                "一切都由一长行数算出：输入乘 weight_ih，加上状态 h 乘 weight_hh，"
                "再加两个偏置。把它切成四段。",
            ),
            (
                "The four pieces are i, f, g, o, in this order: sigmoid for i, f and o, tanh for g. Then a part of c is forgotten, and "
                "a part of g is added.",
                "四段依次是 i、f、g、o：i、f、o 用 sigmoid，g 用 tanh。然后遗忘 c "
                "的一部分，加入 g 的一部分。",
            ),
            (
                "c = f * c + i * g, and h = o * tanh(c). weight_ih is [4 size, inputs]: multiply by its transpose. Return "
                "h, (h, c).",
                "c = f * c + i * g，h = o * tanh(c)。weight_ih 是 "
                "[4 size, inputs]：要乘它的转置。返回 h, (h, c)。",
            ),
        ),
        cases=_cell,
    ),
    Lesson(
        slot="nn.functional.scaled_dot_product_attention",
        hints=(
            (
                "The score of a query and a key is the product of two vectors. Softmax turns scores into weights of "
                "the values.",
                "一个查询与一个键的分数，是两个向量的内积。softmax 把分数变成各个值的权重。",
            ),
            (
                "Each head is computed separately, so move the heads forward: [batch, heads, time, features]. Then scores = q @ k.mT, divided by the square "
                "root of the number of features, and softmax along the last axis.",
                "各个头分别计算，所以把头的轴移到前面：[批，头，时间，特征]。然后 scores = "
                "q @ k.mT，除以特征数的平方根，再沿最后一个轴做 softmax。",
            ),
            (
                "paddle.triu(paddle.ones([n, m]), 1) is 1 where a key is later than the query: subtract a very large number from these "
                "scores. An attn_mask is added to the scores. At the end, move the axes back.",
                "paddle.triu(paddle.ones([n, m]), 1) "
                "在键晚于查询的位置上为 1：从这些分数中减去一个很大的数。若有 attn_mask，"
                "把它加到分数上。最后把轴移回原处。",
            ),
        ),
        cases=_attention,
    ),
)

PREDICTIONS = (
    Prediction(
        name="networks.convolution",
        question=(
            "A convolution with filters of 3 x 3 from 16 channels to 32, with a bias. How many parameters, for images of "
            "any size?",
            "一个从 16 通道到 32 通道的卷积，滤波器为 3 x 3，带偏置。图像大小不限，它有多少个参数？",
        ),
        answer=32 * 16 * 9 + 32,
        unit=(" parameters", " 个参数"),
        why=(
            "32 filters of 16 x 3 x 3 numbers and one bias each. A fully connected layer between two images of 16 x 28 x 28 and "
            "32 x 28 x 28 numbers would need 315 million.",
            "32 个滤波器，每个有 16 x 3 x 3 个数和一个偏置。若用全连接层连接 16 x "
            "28 x 28 和 32 x 28 x 28 两组数，要 3.15 亿个参数。",
        ),
    ),
    Prediction(
        name="networks.scores",
        question=(
            "Attention over 1,024 tokens with 8 heads, float32: how many bytes do all scores take, for one text?",
            "对 1,024 个词元做注意力，8 个头，float32：一段文本的全部分数占多少字节？",
        ),
        answer=8 * 1024 * 1024 * 4,
        unit=(" bytes", " 字节"),
        why=(
            "Each token looks at each token, in every head. Twice as long a text takes four times as much: that is why fused "
            "kernels never keep the whole table.",
            "在每个头里，每个词元都要看每个词元。文本长一倍，内存就是四倍："
            "所以融合的计算核从不保存整张分数表。",
        ),
        tolerance=0.01,
    ),
    Prediction(
        name="networks.first_loss",
        question=(
            "A new GPT gives each of 65 characters the same probability. What is its loss, in nats?",
            "一个新的 GPT 给 65 个字符相同的概率。它的损失是多少（单位 nat）？",
        ),
        answer=math.log(65),
        why=(
            "-ln(1/65) = ln 65. Using the frequencies of the characters would bring it down to about 3.3.",
            "-ln(1/65) = ln 65。若利用各字符的频率，可降到约 3.3。",
        ),
        tolerance=0.03,
    ),
)
