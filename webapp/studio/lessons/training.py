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
                "结果要原地写入参数的内存（sub_ 或 [...] =）。",
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
                "In its first step Adam moves by lr in the direction of the sign, however large the gradient is. The moments "
                "are needed in the next step: update them in place.",
                "第一步只看梯度的符号，步长为 lr；两个矩要原地更新。",
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
                "修正与步数有关：分别除以 1 - beta1**step 和 1 - beta2**step。",
            ),
        ),
    ]


def _epoch() -> list[Case]:
    x, y = np.array([[1.0], [2.0]], F), np.array([[2.0], [4.0]], F)
    return [
        Case(
            name=("one batch of two points on the line y = 2 x", "直线 y = 2x 上两个点的一批"),
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
                "起始损失为 10；走一步后权重为 1，偏置为 0.6。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="kernels.sgd_step",
        hints=(
            "The loss grows in the direction of the gradient. In which direction should the step go, and how far?",
            "Loop over parameters and gradients together with `zip`. The function returns nothing: it changes the "
            "parameters in place.",
            "A buffer has `sub_` (subtract in place), and its keyword `alpha=` is a factor.",
        ),
        cases=_sgd,
    ),
    Lesson(
        slot="kernels.adam_step",
        hints=(
            "Adam keeps two running averages for each number: of its gradient, and of the square of its gradient.",
            "moment: beta1 * moment + (1 - beta1) * gradient; variance the same with beta2 and gradient squared. Both "
            "start at zero, so early averages are too small: divide by 1 - beta1**step, 1 - beta2**step.",
            "In place: `moment.mul_(beta1).add_(gradient, alpha=1 - beta1)`. The step is lr times the corrected moment, "
            "divided by (the square root of the corrected variance, plus epsilon).",
        ),
        cases=_adam,
    ),
    Lesson(
        slot="hapi.train_epoch",
        hints=(
            "Every batch needs outputs, a loss, gradients, a step, cleared gradients, and a call of after_batch.",
            "A batch is a pair (inputs, labels) of lists: the network takes `*inputs`, the loss takes the outputs and "
            "`*labels`. And gradients accumulate in a parameter until they are cleared.",
            "In order: call the network, call the loss function, backward on the loss, step of the optimizer, clear_grad of "
            "the optimizer, after_batch with (loss, outputs, labels).",
        ),
        cases=_epoch,
    ),
)

PREDICTIONS = (
    Prediction(
        name="training.adam_bytes",
        question="A network of 784 inputs, 256 hidden numbers and 10 outputs has 203,530 float32 parameters. How many "
        "bytes does Adam need on top of them?",
        answer=203_530 * 4 * 2,
        unit=" bytes",
        why="Two averages for every parameter, 4 bytes each: with gradients, training takes four times the memory of "
        "the network.",
        tolerance=0.02,
    ),
    Prediction(
        name="training.forward_flops",
        question="How many multiplications and additions does that network need for one image?",
        answer=2 * (784 * 256 + 256 * 10),
        unit=" operations",
        why="Each weight is used once: one multiplication, one addition. Backward costs about twice as much again.",
        tolerance=0.05,
    ),
    Prediction(
        name="training.first_loss",
        question="Before it has learned anything, the network gives all ten digits about the same probability. What is "
        "the cross-entropy?",
        answer=math.log(10),
        why="-ln(1/10) = ln 10. A first loss far above it means that the new network is confident in wrong answers.",
        tolerance=0.05,
    ),
)
