"""Notebook 10: the mask of chunked attention, a convolution with a cache, a stream of an encoder, final text and its delay."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

from .drivers_live import encoded_at_once

F, D = np.float32, np.float64


def _masks() -> list[Case]:
    return [
        Case(
            name=("four frames in chunks of two", "四帧，每块两帧"),
            driver="mask_made",
            args=(4, 2, -1),
            expected=np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]], bool),
            hint=(
                "Frames 0 and 1 are chunk 0 and see each other, frames 2 and 3 are chunk 1 and see chunk 0 as well. Frame 0 sees frame 1, though "
                "it is later: it waits for its chunk.",
                "第 0、1 帧是第 0 块，互相看得到；第 2、3 帧是第 1 块，也看得到第 0 块。第 0 帧看得到后面的第 1 帧：它等自己的块结束。",
            ),
        ),
        Case(
            name=("three frames, the last chunk is short", "三帧，最后一块较短"),
            driver="mask_made",
            args=(3, 2, -1),
            expected=np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1]], bool),
            hint=(
                "The chunk of frame i is i // chunk: 0, 0, 1.",
                "第 i 帧所在的块是 i // chunk：0、0、1。",
            ),
        ),
    ]


def _convolution() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """(weights of the module, an input). The convolution gives 4 x[t - 2] + 2 x[t - 1] + x[t], of which the norm behind it
    leaves the sign."""
    eye = np.eye(2, dtype=F)
    weights = {
        "layer_norm.weight": np.ones(2, F),
        "layer_norm.bias": np.zeros(2, F),
        "pointwise1.weight": np.concatenate([eye, np.zeros((2, 2), F)], 1),
        "pointwise1.bias": np.zeros(4, F),
        "pointwise2.weight": eye,
        "pointwise2.bias": np.zeros(2, F),
        "depthwise.weight": np.array([[[4.0, 2.0, 1.0]]] * 2, F),
        "depthwise.bias": np.zeros(2, F),
        "norm.weight": np.ones(2, F),
        "norm.bias": np.zeros(2, F),
    }
    return weights, np.array([[[2.0, -2.0], [-1.0, 1.0], [-3.0, 3.0], [1.0, -1.0]]], F)


_HIGH, _LOW = 0.73105726, -0.26894143  # SiLU of the normalised 1 and -1


def _convolutions() -> list[Case]:
    weights, x = _convolution()
    expected = np.array([[[_HIGH, _LOW]] * 3 + [[_LOW, _HIGH]]], F)
    return [
        Case(
            name=("one piece of four frames", "一段，四帧"),
            driver="pieces_convolved",
            args=(weights, x, [4], 3),
            expected=(2, expected),
            hint=(
                "Zeros stand for the frames before the first one, so four frames go in and four come out. Two frames are kept for the next piece.",
                "第一帧之前的帧用零代替，所以进四帧，出四帧。为下一段保留两帧。",
            ),
            rtol=1e-3,
            atol=1e-3,
        ),
        Case(
            name=("two pieces of two frames", "两段，每段两帧"),
            driver="pieces_convolved",
            args=(weights, x, [2, 2], 3),
            expected=(2, expected),
            hint=(
                "The two frames of the first piece are the past of the second one. The result is that of one piece of four frames.",
                "第一段的两帧就是第二段的 past。结果与一段四帧相同。",
            ),
            rtol=1e-3,
            atol=1e-3,
        ),
    ]


_FEATURES = np.sin(np.arange(88, dtype=F).reshape(11, 8))


def _streams() -> list[Case]:
    whole = encoded_at_once(_FEATURES, 2, -1, 1)
    hint = (
        "A chunk of two frames needs 4 · 2 + 3 = 11 features: with the 11th it is complete, and not before. One frame instead of two: the chunk "
        "was given less than 11 rows.",
        "两帧的块需要 4 · 2 + 3 = 11 个特征：第 11 个到来时完整，之前不完整。若只有一帧而不是两帧：给这一块的不足 11 行。",
    )
    return [
        Case(
            name=("eleven features at once", "一次十一个特征"),
            driver="pieces_encoded",
            args=(_FEATURES, [11], 2, -1, 1),
            expected=(np.array([2]), whole),
            hint=hint,
            rtol=1e-3,
            atol=1e-4,
        ),
        Case(
            name=("ten features, and one more", "十个特征，再来一个"),
            driver="pieces_encoded",
            args=(_FEATURES, [10, 1], 2, -1, 1),
            expected=(np.array([0, 2]), whole),
            hint=hint,
            rtol=1e-3,
            atol=1e-4,
        ),
    ]


def _shared() -> list[Case]:
    # 0 the empty text, 1 = "a", 2 = "b", 3 = "a b", 4 = "a c", 5 = "a b c"
    parent = np.array([-1, 0, 0, 1, 1, 3])
    return [
        Case(
            name=("two texts that go apart", "两段分开的文字"),
            driver="shared_found",
            args=(np.array([5, 4]), parent),
            expected=1,
            hint=(
                "Node 5 goes 5, 3, 1, 0 and node 4 goes 4, 1, 0. The deepest node on both ways is 1.",
                "节点 5 的路是 5、3、1、0，节点 4 的路是 4、1、0。两条路上最深的共同节点是 1。",
            ),
        ),
        Case(
            name=("a text and its beginning", "一段文字和它的开头"),
            driver="shared_found",
            args=(np.array([5, 3]), parent),
            expected=3,
            hint=(
                "Node 3 is on the way of node 5: the shorter text is all that they share.",
                "节点 3 在节点 5 的路上：较短的文字就是它们共有的全部。",
            ),
        ),
    ]


def _delays() -> list[Case]:
    return [
        Case(
            name=("one chunk, with look-ahead", "一块，有前瞻"),
            driver="delays_found",
            args=(np.array([0.0, 0.05, 0.1]), 0.2, 0.04, np.array([0.01])),
            expected=np.array([0.25, 0.2, 0.15]),
            hint=(
                "The chunk ends at 0.2 s, its look-ahead has come at 0.24 s, the work is done at 0.25 s. A sample that arrived at 0.05 s has waited "
                "0.2 s then.",
                "块在 0.2 s 结束，前瞻在 0.24 s 到齐，0.25 s 算完。0.05 s 到来的样本这时已等了 0.2 s。",
            ),
        ),
        Case(
            name=("two chunks, and no work", "两块，不计计算"),
            driver="delays_found",
            args=(np.array([0.1, 0.25, 0.39]), 0.2, 0.0, np.array([0.0, 0.0])),
            expected=np.array([0.1, 0.15, 0.01]),
            hint=(
                "The second chunk ends at 0.4 s: 0.4 - 0.25 = 0.15.",
                "第二块在 0.4 s 结束：0.4 - 0.25 = 0.15。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="speech.nn.masks.chunk_mask",
        hints=(
            ("In which chunk is frame i? Write it as a number.", "第 i 帧在哪一块？写成一个数。"),
            (
                "Frame i is in chunk i // chunk. It sees frame j if the chunk of j is not later, and, unless left is -1, at most `left` chunks "
                "earlier.",
                "第 i 帧在第 i // chunk 块。如果 j 所在的块不更晚，并且（left 不是 -1 时）至多早 `left` 块，就看得到第 j 帧。",
            ),
            (
                "In code: number = np.arange(time) // chunk; behind = number[:, None] - number; (behind >= 0) & ((left < 0) | (behind <= left)).",
                "写成代码：number = np.arange(time) // chunk；behind = number[:, None] - number；(behind >= 0) & ((left < 0) | (behind <= left))。",
            ),
        ),
        cases=_masks,
    ),
    Lesson(
        slot="speech.nn.conformer.ConvolutionModule.forward",
        hints=(
            (
                "The past and x are one signal, in this order. What does the next call need of it?",
                "past 和 x 按这个次序是一段信号。下一次调用需要它的哪一部分？",
            ),
            (
                "If past is None: paddle.zeros([batch, around, width]). Then paddle.concat([past, x], 1). Take the last `around` frames of the joined "
                "signal, not of x: x may be shorter.",
                "past 为 None 时：paddle.zeros([batch, around, width])。然后 paddle.concat([past, x], 1)。取拼接后信号的最后 `around` 帧，而不是 x 的：x 可能更短。",
            ),
            (
                "return joined, joined[:, joined.shape[1] - around :]. With around = 0, joined[:, -0:] would be all of it.",
                "return joined, joined[:, joined.shape[1] - around :]。around = 0 时，joined[:, -0:] 会是全部。",
            ),
        ),
        cases=_convolutions,
    ),
    Lesson(
        slot="speech.nn.streaming.EncoderStream.feed",
        hints=(
            (
                "How many rows does a chunk need, and by how many rows does the next one begin later? The two numbers differ by three.",
                "一块需要多少行？下一块晚多少行开始？这两个数相差三。",
            ),
            (
                "needed = self.steps - Subsampling4.RATE + Subsampling4.WINDOW. One call may complete several chunks: repeat while there are enough.",
                "needed = self.steps - Subsampling4.RATE + Subsampling4.WINDOW。一次调用可能完成好几块：只要行数够，就重复。",
            ),
            (
                "In code: while len(self._waiting) >= needed: made.append(self._step(self._waiting[:needed])); self._waiting = self._waiting[self.steps :].",
                "写成代码：while len(self._waiting) >= needed: made.append(self._step(self._waiting[:needed])); self._waiting = self._waiting[self.steps :]。",
            ),
        ),
        cases=_streams,
    ),
    Lesson(
        slot="kernels.speech.shared_node",
        hints=(
            (
                "Begin with two nodes. If they are not the same, one of them has to go up. Which one, so that they cannot miss each other?",
                "先看两个节点。如果不相同，其中一个要向上走。走哪一个，才不会错过？",
            ),
            (
                "A parent has a smaller number than its children: the larger of two numbers goes up, until both are equal. Then do the same with the "
                "result and the next node.",
                "父节点的编号比子节点小：让编号较大的向上走，直到两者相等。然后用这个结果与下一个节点重复。",
            ),
            (
                "at = nodes[0]; for other in nodes[1:]: while at != other: if at > other: at = parent[at] else: other = parent[other].",
                "at = nodes[0]；for other in nodes[1:]：while at != other：若 at > other，at = parent[at]，否则 other = parent[other]。",
            ),
        ),
        cases=_shared,
    ),
    Lesson(
        slot="speech.delays.text_delays",
        hints=(
            (
                "When has the sound of chunk c come, look-ahead included? When is the computer free for it?",
                "第 c 块的声音（含前瞻）何时到齐？计算机何时有空算它？",
            ),
            (
                "The sound has come at (c + 1) chunk + lookahead. The computer is free when the chunk before is done. The later of the two is the "
                "beginning of the work.",
                "声音在 (c + 1) chunk + lookahead 到齐。前一块算完，计算机才有空。两者中较晚的时刻开始计算。",
            ),
            (
                "done = 0.0; for c, took in enumerate(seconds): done = max(done, (c + 1) * chunk + lookahead) + took; ends[c] = done. The delay is "
                "ends[where] - times.",
                "done = 0.0；for c, took in enumerate(seconds): done = max(done, (c + 1) * chunk + lookahead) + took；ends[c] = done。延迟是 "
                "ends[where] - times。",
            ),
        ),
        cases=_delays,
    ),
)

PREDICTIONS = (
    Prediction(
        name="live.wait",
        question=(
            "Chunks of 4 frames of 40 ms, features of 25 ms every 10 ms, three features beyond the chunk. No work at all. How many seconds does "
            "the sample wait that arrives first in its chunk?",
            "每块 4 帧，每帧 40 ms；特征窗长 25 ms，每 10 ms 一个；还需要块之后的三个特征。不计计算时间。一块中最先到来的样本要等多少秒？",
        ),
        answer=0.205,
        tolerance=1e-6,
        unit=(" s", " s"),
        why=(
            "The whole chunk, 0.16 s, and the look-ahead, 0.03 + 0.025 - 0.01 = 0.045 s. The last sample of the chunk waits for the look-ahead only.",
            "整块 0.16 s，加上前瞻 0.03 + 0.025 - 0.01 = 0.045 s。块中最后一个样本只需等前瞻。",
        ),
    ),
    Prediction(
        name="live.cache",
        question=(
            "Two Conformer blocks with a convolution over 7 frames and attention that sees 2 chunks of 4 frames to the left, width 32. How many numbers "
            "do the caches of keys, values and convolutions hold, once they are full?",
            "两个 Conformer 块，卷积跨 7 帧，注意力向左看 2 块、每块 4 帧，宽度 32。缓存满了以后，键、值和卷积的缓存共有多少个数？",
        ),
        answer=1408,
        unit=(" numbers", " 个数"),
        why=(
            "In each block keys and values of 8 frames, 2 · 8 · 32 = 512, and 6 frames for the convolution, 192. It does not grow with the sound.",
            "每个块中，8 帧的键和值：2 · 8 · 32 = 512；卷积的 6 帧：192。它不随声音变长而增长。",
        ),
    ),
    Prediction(
        name="live.backlog",
        question=(
            "Each chunk of 160 ms takes 200 ms of work. How many seconds later is the text of the 100th chunk than that of the first one?",
            "每个 160 ms 的块要算 200 ms。第 100 块的文字的延迟比第一块多多少秒？",
        ),
        answer=3.96,
        unit=(" s", " s"),
        why=(
            "Every chunk adds 0.2 - 0.16 = 0.04 s to the delay: 99 times that. After an hour it would be a quarter of an hour.",
            "每一块使延迟增加 200 - 160 = 40 ms：99 · 0.04 s。一小时之后会晚一刻钟。",
        ),
        tolerance=0.001,
    ),
)
