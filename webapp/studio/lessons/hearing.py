"""Notebook 09: a window, frames and their frequencies, the mel filter bank, CTC and its gradient, prefix beam search."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F, D, L = np.float32, np.float64, np.int64


def _windows() -> list[Case]:
    return [
        Case(
            name=("four samples of a periodic Hann window", "四个样本的周期 Hann 窗"),
            driver="window_made",
            args=("hann", 4, True),
            expected=np.array([0.0, 0.5, 1.0, 0.5]),
            hint=(
                "The cosine goes round once in 4 samples: 1, 0, -1, 0. Then 0.5 - 0.5 cos gives 0, 0.5, 1, 0.5. 0.75 in the place of 0.5: the "
                "period is 3, that of a symmetric window.",
                "余弦在 4 个样本中转一圈：1、0、-1、0。0.5 - 0.5 cos 得 0、0.5、1、0.5。若 0.5 处是 0.75，说明周期用了 3，那是对称窗。",
            ),
        ),
        Case(
            name=("six samples", "六个样本"),
            driver="window_made",
            args=("hann", 6, True),
            expected=np.array([0.0, 0.25, 0.75, 1.0, 0.75, 0.25]),
            hint=(
                "The largest sample is the fourth one, in the middle of the period: cos(pi) = -1.",
                "最大的是第四个样本，位于周期的中点：cos(pi) = -1。",
            ),
        ),
    ]


def _transforms() -> list[Case]:
    wave = np.array([[1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0, 1.0]])
    g = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]])
    return [
        Case(
            name=("three frames of a wave, and a gradient", "一个波的三帧，以及梯度"),
            driver="powers_and_gradient",
            args=(wave, 4, 2, g),
            expected=(
                np.array([[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]),
                np.array([[0.0, -1.0, -2.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]]),
            ),
            hint=(
                "Nine samples have frames from 0, 2 and 4 on. Times the window the first one is [0, 0, -1, 0]: a single sample has the power "
                "1 at every frequency. More than three frequencies: those above length / 2 are a mirror image and are left out.",
                "九个样本有从 0、2、4 开始的三帧。第一帧乘上窗函数是 [0, 0, -1, 0]：只有一个非零样本，各频率的功率都是 1。若频率多于三个：高于 length / 2 的是镜像，不要。",
            ),
        ),
        Case(
            name=("a wave of one turn", "转一圈的波"),
            driver="powers_and_gradient",
            args=(np.array([[1.0, 1.0, 1.0, 1.0, 5.0]]), 4, 4, np.ones((1, 3, 1))),
            expected=(np.array([[[4.0], [1.0], [0.0]]]), np.array([[0.0, 2.0, 6.0, 2.0, 0.0]])),
            hint=(
                "The fifth sample is left over. Four ones times the window are [0, 0.5, 1, 0.5]. k = 0 adds them up: 2, power 4. k = 1: 0 - 1 + i (0.5 - 0.5) = -1, power 1. "
                "k = 2: 0 - 0.5 + 1 - 0.5 = 0.",
                "第五个样本剩余不用。四个 1 乘窗函数是 [0, 0.5, 1, 0.5]。k = 0 是相加：2，功率 4。k = 1：0 - 1 + i (0.5 - 0.5) = -1，功率 1。k = 2：0 - 0.5 + 1 - 0.5 = 0。",
            ),
        ),
    ]


def _banks() -> list[Case]:
    return [
        Case(
            name=("one filter from 0 to 4,000 Hz", "从 0 到 4,000 Hz 的一个滤波器"),
            driver="bank_made",
            args=(8000, 8, 1, 0.0, 4000.0),
            expected=np.array([[0.0, 0.89779847, 0.692961246, 0.346480623, 0.0]]),
            hint=(
                "4,000 Hz are 2146.06 mel. Half of it are 1113.84 Hz: there the triangle is 1. At 1,000 Hz it has risen to 1000 / 1113.84, at "
                "2,000 Hz it has fallen to 2000 / 2886.16.",
                "4,000 Hz 是 2146.06 梅尔，它的一半是 1113.84 Hz：三角形在那里为 1。1,000 Hz 处上升到 1000 / 1113.84，2,000 Hz 处下降到 2000 / 2886.16。",
            ),
        ),
        Case(
            name=("one filter up to 3,000 Hz, eight samples", "到 3,000 Hz 为止的一个滤波器，八个样本"),
            driver="bank_made",
            args=(6000, 8, 1, 0.0, 3000.0),
            expected=np.array([[0.0, 0.824767034, 0.717479418, 0.358739709, 0.0]]),
            hint=(
                "The frequencies are 0, 750, 1500, 2250 and 3000 Hz. `edges_in_hertz` has three edges here: 0, 909.35 and 3000 Hz.",
                "各频率为 0、750、1500、2250、3000 Hz。这里 `edges_in_hertz` 有三个边界：0、909.35 和 3000 Hz。",
            ),
        ),
    ]


def _paths() -> list[Case]:
    return [
        Case(
            name=("one token in two equal frames", "两个相同的帧，一个词元"),
            driver="occupancies",
            args=(np.zeros((2, 1, 2)), np.array([[1]]), np.array([2]), np.array([1]), 0),
            expected=(np.array([-np.log(0.75)]), np.array([[[1 / 3, 2 / 3]], [[1 / 3, 2 / 3]]])),
            hint=(
                "Of the four paths three spell the token: token token, token blank, blank token. Each has 1/4, together 3/4. In the first frame two "
                "of the three are in the token. A loss of -log(0.5): a path may also begin in state 1.",
                "四条路径中有三条拼出这个词元：词元词元、词元空白、空白词元。每条 1/4，合计 3/4。第一帧中，三条里有两条在词元上。若损失是 -log(0.5)：路径也可以从状态 1 开始。",
            ),
        ),
        Case(
            name=("two tokens in three equal frames", "三个相同的帧，两个词元"),
            driver="occupancies",
            args=(np.zeros((3, 1, 3)), np.array([[1, 2]]), np.array([3]), np.array([2]), 0),
            expected=(
                np.array([-np.log(5 / 27)]),
                np.array([[[0.2, 0.8, 0.0]], [[0.2, 0.4, 0.4]], [[0.2, 0.0, 0.8]]]),
            ),
            hint=(
                "Five paths spell `1 2`: 112, 122, -12, 1-2, 12-. Each has 1/27. Without the step from state 1 to state 3, over the blank, 112 and "
                "122 are missing.",
                "五条路径拼出 `1 2`：112、122、-12、1-2、12-。每条 1/27。如果没有从状态 1 跳过空白到状态 3 的一步，就缺了 112 和 122。",
            ),
        ),
    ]


def _slopes() -> list[Case]:
    return [
        Case(
            name=("one token in two equal frames", "两个相同的帧，一个词元"),
            driver="slopes",
            args=(
                np.zeros((2, 1, 2)),
                np.array([[1]]),
                np.array([2]),
                np.array([1]),
                0,
                False,
                np.ones(1),
            ),
            expected=np.array([[[1 / 6, -1 / 6]], [[1 / 6, -1 / 6]]]),
            hint=(
                "Each class has the probability 1/2; the occupancy of the blank is 1/3, that of the token 2/3. 1/2 - 1/3 = 1/6. The opposite signs: "
                "it is the probability minus the occupancy.",
                "每个类别的概率是 1/2；空白的占据概率是 1/3，词元的是 2/3。1/2 - 1/3 = 1/6。若符号相反：应是概率减去占据概率。",
            ),
        ),
        Case(
            name=("two tokens in three equal frames", "三个相同的帧，两个词元"),
            driver="slopes",
            args=(
                np.zeros((3, 1, 3)),
                np.array([[2, 1]]),
                np.array([3]),
                np.array([2]),
                0,
                False,
                np.ones(1),
            ),
            expected=np.array(
                [
                    [[2 / 15, 1 / 3, -7 / 15]],
                    [[2 / 15, -1 / 15, -1 / 15]],
                    [[2 / 15, -7 / 15, 1 / 3]],
                ]
            ),
            hint=(
                "Column 1 of `occupied` belongs to the first token of the label, here class 2: 1/3 - 0.8 = -7/15 in the first frame.",
                "`occupied` 的第 1 列属于标签的第一个词元，这里是类别 2：第一帧为 1/3 - 0.8 = -7/15。",
            ),
        ),
    ]


_TWO = np.log(np.array([[[0.6, 0.4], [0.6, 0.4]]]))


def _beams() -> list[Case]:
    return [
        Case(
            name=("a token whose three paths win", "三条路径之和胜出的词元"),
            driver="texts_found",
            args=(_TWO, 4, 0, 2),
            expected=(np.array([[0.64, 0.36]]), np.array([[[1, -1], [-1, -1]]])),
            hint=(
                "Text (1,) has the paths 1 1 (0.16), 1 blank (0.24) and blank 1 (0.24): 0.64. Less: they are not all added, or the repeat 1 1 does "
                "not lead back to the same text.",
                "文字 (1,) 有路径 1 1（0.16）、1 空白（0.24）、空白 1（0.24）：0.64。若更小：没有全部相加，或者重复 1 1 没有回到同一段文字。",
            ),
        ),
        Case(
            name=("two tokens in one frame", "一帧，两个词元"),
            driver="texts_found",
            args=(np.log(np.array([[[0.2, 0.5, 0.3]]])), 4, 0, 3),
            expected=(np.array([[0.5, 0.3, 0.2]]), np.array([[[1], [2], [-1]]])),
            hint=(
                "From the empty text, which ends in a blank, there are three ways: blank, token 1, token 2.",
                "空文字以空白结尾，从它出发有三种走法：空白、词元 1、词元 2。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="speech.spectrogram.get_window",
        hints=(
            (
                "Put n = 0, 1, ..., length - 1 into the formula. In which of the two cases does the window begin again right behind its last sample?",
                "把 n = 0、1……length - 1 代入公式。两种情况中，哪一种在最后一个样本之后正好重新开始？",
            ),
            (
                "The period P is `length` for a periodic window and `length - 1` for a symmetric one. `a` is a parameter: it is 0.54 for Hamming.",
                "周期窗的 P 是 `length`，对称窗的 P 是 `length - 1`。`a` 是参数：Hamming 窗用 0.54。",
            ),
            (
                "In code: period = length if periodic else length - 1; return a - (1 - a) * np.cos(2 * np.pi * np.arange(length) / period).",
                "写成代码：period = length if periodic else length - 1；return a - (1 - a) * np.cos(2 * np.pi * np.arange(length) / period)。",
            ),
        ),
        cases=_windows,
    ),
    Lesson(
        slot="speech.spectrogram.stft",
        hints=(
            (
                "How many frames fit? The last one begins at hop (count - 1) and ends at most at the last sample.",
                "能放下几帧？最后一帧从 hop (count - 1) 开始，最晚在最后一个样本处结束。",
            ),
            (
                "places = hop * np.arange(count)[:, None] + np.arange(length) are the numbers of the samples of each frame; x[..., "
                "paddle.to_tensor(places)] reads them. The matrix of angles [length, length // 2 + 1] is 2 pi n k / length.",
                "places = hop * np.arange(count)[:, None] + np.arange(length) 是每帧各样本的编号；用 x[..., paddle.to_tensor(places)] "
                "读取。角度矩阵 [length, length // 2 + 1] 为 2 pi n k / length。",
            ),
            (
                "count = 1 + (x.shape[-1] - length) // hop. real = frames @ cosines, imaginary = -(frames @ sines), both matrices by "
                "paddle.to_tensor(..., dtype=frames.dtype).",
                "count = 1 + (x.shape[-1] - length) // hop。real = frames @ cosines，imaginary = -(frames @ sines)，两个矩阵都用 "
                "paddle.to_tensor(..., dtype=frames.dtype) 得到。",
            ),
        ),
        cases=_transforms,
    ),
    Lesson(
        slot="speech.spectrogram.compute_fbank_matrix",
        hints=(
            (
                "Edges: from Hz to mel, equal steps there, and back to Hz. What is the inverse of 2595 log10(1 + f / 700)?",
                "边界：从 Hz 变到梅尔，在梅尔上等距取点，再变回 Hz。2595 log10(1 + f / 700) 的反函数是什么？",
            ),
            (
                "At a frequency f the rising side is (f - left) / (middle - left), the falling one (right - f) / (right - middle). The smaller "
                "one counts, and never less than 0.",
                "在频率 f 处，上升边是 (f - left) / (middle - left)，下降边是 (right - f) / (right - middle)。取较小的一个，且不小于 0。",
            ),
            (
                "left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]; np.maximum(0, np.minimum(rising, falling)). Back "
                "from mel: 700 * (10 ** (m / 2595) - 1).",
                "left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]；np.maximum(0, np.minimum(rising, "
                "falling))。从梅尔变回：700 * (10 ** (m / 2595) - 1)。",
            ),
        ),
        cases=_banks,
    ),
    Lesson(
        slot="kernels.cpu_speech_ctc.ctc_paths",
        hints=(
            (
                "In the first frame a path is in state 0 or 1. From then on each state collects from itself, the one before and, where skip says "
                "so, the second before.",
                "第一帧路径在状态 0 或 1。此后每个状态从自己、前一个状态，以及（skip 允许时）前面第二个状态收集。",
            ),
            (
                "Put two entries of NEVER before the row of the frame before: then the three terms are three slices of it. For the occupancy: "
                "alpha + beta counts the emission of the frame twice.",
                "在前一帧的那一行前面放两个 NEVER：三项就是它的三个切片。求占据概率时：alpha + beta 把这一帧的发射概率算了两次。",
            ),
            (
                "alpha[t] = np.logaddexp(np.logaddexp(before[2:], before[1:-1]), np.where(skip, before[:-2], NEVER)) + logs[t]. Occupancy: "
                "both = alpha + beta - logs; np.exp(both - np.logaddexp.reduce(both, axis=1, keepdims=True)).",
                "alpha[t] = np.logaddexp(np.logaddexp(before[2:], before[1:-1]), np.where(skip, before[:-2], NEVER)) + logs[t]。占据概率："
                "both = alpha + beta - logs；np.exp(both - np.logaddexp.reduce(both, axis=1, keepdims=True))。",
            ),
        ),
        cases=_paths,
    ),
    Lesson(
        slot="kernels.cpu_speech_ctc.ctc_slopes",
        hints=(
            (
                "Begin with a copy of y. From which of its columns is which column of `occupied` subtracted?",
                "从 y 的副本开始。`occupied` 的哪一列要从 y 的哪一列减去？",
            ),
            (
                "Column 0 belongs to the class `blank`, column u + 1 to the class label[u]. If a token is in the label twice, both are subtracted.",
                "第 0 列属于类别 `blank`，第 u + 1 列属于类别 label[u]。同一个词元在标签中出现两次，就两次都要减。",
            ),
            (
                "slopes = y.copy(); slopes[:, blank] -= occupied[:, 0]; for u, token in enumerate(label): slopes[:, token] -= occupied[:, u + 1]. "
                "An index array (slopes[:, label] -= ...) subtracts only once for equal tokens.",
                "slopes = y.copy()；slopes[:, blank] -= occupied[:, 0]；for u, token in enumerate(label): slopes[:, token] -= occupied[:, u + "
                "1]。用下标数组（slopes[:, label] -= ...）时，相同的词元只减一次。",
            ),
        ),
        cases=_slopes,
    ),
    Lesson(
        slot="kernels.speech.beam_search",
        hints=(
            (
                "For every text: its total is the sum of both numbers. The blank takes the total and keeps the text. What do the tokens do?",
                "对每段文字：两个数之和是它的总概率。空白取总概率，文字不变。各词元呢？",
            ),
            (
                "A token that is not the last one takes the total and makes the text longer. The last token again: paths that ended in it stay "
                "in the text, only paths that ended in a blank make it longer.",
                "不是最后一个的词元：取总概率，文字变长。又是最后那个词元：以它结尾的路径文字不变，只有以空白结尾的路径使文字变长。",
            ),
            (
                "new[text][ENDS_IN_BLANK] gets both + row[blank]; for token == text[-1]: new[text][ENDS_IN_TOKEN] gets spoken + row[token] and "
                "new[(*text, token)][ENDS_IN_TOKEN] gets quiet + row[token]; for others both + row[token]. Each by np.logaddexp of what is "
                "there already.",
                "new[text][ENDS_IN_BLANK] 得 both + row[blank]；若 token == text[-1]：new[text][ENDS_IN_TOKEN] 得 spoken + row[token]，"
                "new[(*text, token)][ENDS_IN_TOKEN] 得 quiet + row[token]；其他词元得 both + row[token]。都用 np.logaddexp 与已有的数相加。",
            ),
        ),
        cases=_beams,
    ),
)

PREDICTIONS = (
    Prediction(
        name="hearing.frames",
        question=(
            "A second of sound at 16,000 Hz is cut into frames of 400 samples, 160 apart, only those that lie within it. How many frames are there?",
            "把 16,000 Hz 的一秒声音切成每帧 400 个样本、相隔 160 个样本的帧，只算完全落在声音之内的。共有多少帧？",
        ),
        answer=98,
        unit=(" frames", " 帧"),
        why=(
            "The last frame begins at most at sample 15,600: 1 + 15600 // 160 = 98. It is not 100: a frame is longer than its step.",
            "最后一帧最晚从第 15,600 个样本开始：1 + 15600 // 160 = 98。不是 100：帧比步长更长。",
        ),
    ),
    Prediction(
        name="hearing.one_token",
        question=(
            "Three frames, one token with probability 0.5 in each, else blank. What is the probability of the text of exactly this one token?",
            "三帧，每帧某个词元的概率为 0.5，其余为空白。文字恰好是这一个词元的概率是多少？",
        ),
        answer=0.75,
        why=(
            "All 8 paths have 1/8. Only three blanks spell nothing, and token, blank, token spells it twice. The other 6 spell it once: 6/8.",
            "8 条路径每条 1/8。全空白什么也没拼出，词元、空白、词元拼出两个。其余 6 条恰好拼出一个：6/8。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="hearing.fewest",
        question=(
            "A label has 5 tokens, and two neighbouring ones are equal once. What is the smallest number of frames that can spell it?",
            "一个标签有 5 个词元，其中有一处相邻的两个相同。最少要多少帧才能拼出它？",
        ),
        answer=6,
        unit=(" frames", " 帧"),
        why=(
            "One frame for each token, and one blank between the equal ones: without it they would be merged.",
            "每个词元一帧，两个相同的词元之间还要一个空白：没有它就会被合并。",
        ),
    ),
)
