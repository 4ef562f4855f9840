"""Notebook 02: optimizer steps, and the training loop."""

from __future__ import annotations

import math

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F = np.float32


def _sgd() -> list[Case]:
    return [
        Case(
            name=("two numbers, lr 0.5", "两个数，lr 为 0.5"),
            driver="updates",
            args=([0], [np.array([1.0, 2.0], F)], [np.array([4.0, -2.0], F)], 0.5),
            expected=[[np.array([-1.0, 3.0])]],
            hint=(
                "1 - 0.5 * 4 and 2 - 0.5 * (-2), written into the memory of the parameter (sub_ or [...] =).",
                "1 - 0.5 * 4 和 2 - 0.5 * (-2)，写入参数自己的内存（用 sub_ 或 [...] =）。",
            ),
        ),
        Case(
            name=("a matrix and a bias", "一个矩阵和一个偏置"),
            driver="updates",
            args=(
                [0],
                [np.ones((2, 2), F), np.zeros(1, F)],
                [np.full((2, 2), 10, F), np.array([1.0], F)],
                0.1,
            ),
            expected=[[np.zeros((2, 2)), np.array([-0.1])]],
            hint=("Every parameter in the list is updated.", "列表中每个参数都要更新。"),
        ),
    ]


def _adam() -> list[Case]:
    zeros = [np.zeros(2, F)]
    return [
        Case(
            name=("the first step", "第一步"),
            driver="updates",
            args=(
                [0, 2, 3],
                [np.array([1.0, 1.0], F)],
                [np.array([0.25, -4.0], F)],
                zeros,
                zeros,
                0.1,
                0.9,
                0.99,
                1e-8,
                1,
            ),
            expected=[[np.array([0.9, 1.1])], [np.array([0.025, -0.4])], [np.array([0.000625, 0.16])]],
            hint=(
                "In its first step Adam moves by lr against the sign of the gradient, however large the gradient is. The moments "
                "are needed in the next step: update them in place.",
                "第一步中，不论梯度多大，Adam 都逆着梯度的符号移动 lr。下一步还要用到两个矩：请原地更新。",
            ),
        ),
        Case(
            name=("the third step", "第三步"),
            driver="updates",
            args=(
                [0, 2, 3],
                [np.array([1.0, 1.0], F)],
                [np.array([1.0, -1.0], F)],
                [np.array([0.19, 0.0], F)],
                [np.array([0.0199, 0.01], F)],
                0.1,
                0.9,
                0.99,
                1e-8,
                3,
            ),
            expected=[
                [np.array([1 - 0.1, 1 + 0.1 * (0.1 / 0.271) / math.sqrt(0.0199 / 0.029701)])],
                [np.array([0.271, -0.1])],
                [np.array([0.029701, 0.0199])],
            ],
            hint=(
                "The correction depends on the step: divide by 1 - beta1**step and 1 - beta2**step.",
                "修正取决于步数：分别除以 1 - beta1**step 和 1 - beta2**step。",
            ),
        ),
    ]


def _epoch() -> list[Case]:
    x, y = np.array([[1.0], [2.0]], F), np.array([[2.0], [4.0]], F)
    return [
        Case(
            name=("one batch of two points on the line y = 2 x", "一批：直线 y = 2 x 上的两个点"),
            driver="epoch",
            args=(np.zeros((1, 1), F), np.zeros(1, F), [(x, y)], 0.1),
            expected={
                "weight": np.array([[1.0]]),
                "bias": np.array([0.6]),
                "losses": [10.0],
                "outputs": [np.zeros((2, 1))],
                "labels": [y],
            },
            hint=(
                "The line starts flat at zero, so the loss is (2*2 + 4*4) / 2 = 10. One step later the weight is 1 and the "
                "bias 0.6. after_batch gets the loss, the outputs and the list of labels of this batch.",
                "直线开始时是平的，恒为零，所以损失是 (2*2 + 4*4) / 2 = 10。走一步后，权重为 1，偏置为 0.6。after_batch 得到损失、输出和这一批的标签列表。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="kernels.sgd_step",
        hints=(
            (
                "The loss grows in the direction of the gradient. In which direction should the step go, and how far?",
                "沿着梯度的方向，损失会增大。那么这一步应该朝哪个方向走，走多远？",
            ),
            (
                "Loop over parameters and gradients together with `zip`. The function returns nothing: it changes the "
                "parameters in place.",
                "用 `zip` 同时遍历参数和梯度。函数什么也不返回：它原地修改参数。",
            ),
            (
                "A buffer has `sub_` (subtract in place), and its keyword `alpha=` is a factor.",
                "缓冲区有方法 `sub_`（原地相减），它的关键字参数 `alpha=` 是一个系数。",
            ),
        ),
        cases=_sgd,
    ),
    Lesson(
        slot="kernels.adam_step",
        hints=(
            (
                "Adam keeps two running averages for each number: of its gradient, and of the square of its gradient.",
                "Adam 为每个数保存两个滑动平均：梯度的平均，以及梯度平方的平均。",
            ),
            (
                "moment: beta1 * moment + (1 - beta1) * gradient; variance the same with beta2 and gradient squared. Both "
                "start at zero, so early averages are too small: divide by 1 - beta1**step, 1 - beta2**step.",
                "一阶矩：beta1 * moment + (1 - beta1) * gradient；"
                "二阶矩（variance）同理，用 beta2 和梯度的平方。两者都从零开始，所以起初偏小：分别除以 1 - "
                "beta1**step 和 1 - beta2**step。",
            ),
            (
                "In place: `moment.mul_(beta1).add_(gradient, alpha=1 - beta1)`. The step is lr times the corrected moment, "
                "divided by (the square root of the corrected variance, plus epsilon).",
                "原地修改：`moment.mul_(beta1).add_(gradient, "
                "alpha=1 - beta1)`。这一步是 lr 乘修正后的一阶矩，"
                "再除以（修正后二阶矩的平方根加 epsilon）。",
            ),
        ),
        cases=_adam,
    ),
    Lesson(
        slot="hapi.train_epoch",
        hints=(
            (
                "Every batch needs outputs, a loss, gradients, a step, cleared gradients, and a call of after_batch.",
                "每一批都需要：输出、损失、梯度、走一步、清零梯度，以及调用 after_batch。",
            ),
            (
                "A batch is a pair (inputs, labels) of lists: the network takes `*inputs`, the loss takes the outputs and "
                "`*labels`. And gradients accumulate in a parameter until they are cleared.",
                "一批是一对列表 (inputs, labels)：网络接收 `*inputs`，"
                "损失函数接收输出和 `*labels`。另外，梯度会在参数里累加，直到清零为止。",
            ),
            (
                "In order: call the network, call the loss function, backward on the loss, step of the optimizer, clear_grad of "
                "the optimizer, after_batch with (loss, outputs, labels).",
                "依次是：调用网络，调用损失函数，从损失反向传播，优化器走一步，优化器的 "
                "clear_grad，最后用 (loss, outputs, labels) 调用 after_batch。",
            ),
        ),
        cases=_epoch,
    ),
)

PREDICTIONS = (
    Prediction(
        name="training.adam_bytes",
        question=(
            "A network of 784 inputs, 256 hidden numbers and 10 outputs has 203,530 float32 parameters. How many "
            "bytes does Adam need on top of them?",
            "一个有 784 个输入、256 个隐藏单元和 10 个输出的网络有 203,530 个 "
            "float32 参数。除此之外，Adam 还需要多少字节？",
        ),
        answer=203_530 * 4 * 2,
        unit=(" bytes", " 字节"),
        why=(
            "Two averages for every parameter, 4 bytes each: with gradients, training takes four times the memory of "
            "the network.",
            "每个参数要多存两个数，各 4 字节：连同梯度，训练占用的内存是网络本身的四倍。",
        ),
        tolerance=0.02,
    ),
    Prediction(
        name="training.forward_flops",
        question=(
            "How many multiplications and additions does that network need for one image?",
            "对一张图片，这个网络需要多少次乘法和加法？",
        ),
        answer=2 * (784 * 256 + 256 * 10),
        unit=(" operations", " 次运算"),
        why=(
            "Each weight is used once: one multiplication, one addition. Backward costs about twice as much again.",
            "每个权重用一次：一次乘法，一次加法。反向传播大约还要两倍于此。",
        ),
        tolerance=0.05,
    ),
    Prediction(
        name="training.first_loss",
        question=(
            "Before it has learned anything, the network gives all ten digits about the same probability. What is "
            "the cross-entropy?",
            "网络什么都没学到时，给十个数字差不多相同的概率。这时的交叉熵是多少？",
        ),
        answer=math.log(10),
        why=(
            "-ln(1/10) = ln 10. A first loss far above it means that the new network is confident in wrong answers.",
            "-ln(1/10) = ln 10。如果最初的损失远高于它，说明新网络对错误的答案很有把握。",
        ),
        tolerance=0.05,
    ),
)
