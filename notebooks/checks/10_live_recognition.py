"""Hidden checks of notebook 10. Oracles: loops over frames, torch over the whole signal, the library's encoder over all features at
once, a prefix beam search of its own, and a clock that runs in steps of a tenth of a millisecond."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise
from studio.lessons.drivers_live import encoded_at_once, recognised_at_once

F, L = np.float32, np.int64
COMPILING = 20.0  # seconds: the first call waits for numba
SEARCH = 90.0  # and for the loop of the prefix beam, which is long
CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


# --- the mask -----------------------------------------------------------------------------------------------------


def sees(time: int, chunk: int, left: int) -> np.ndarray:
    found = np.zeros((time, time), bool)
    for i in range(time):
        begin = (i // chunk) * chunk
        first = 0 if left < 0 else max(begin - left * chunk, 0)
        found[i, first : begin + chunk] = True
    return found


def chunk_mask(rng: np.random.Generator) -> Iterator[Case]:
    left: Text = (
        "`left` counts chunks, and not frames: all frames of a chunk see the same ones. -1 means all before it.",
        "`left` 数的是块，而不是帧：同一块的各帧看到的相同。-1 表示之前的全部。",
    )
    short: Text = (
        "A frame also sees the later frames of its own chunk. The number of its chunk is i // chunk, also where the last chunk is shorter.",
        "一帧也看得到自己这一块中更晚的帧。块号是 i // chunk，最后一块较短时也是。",
    )
    for name, name_zh, chunk, back, hint in (
        ("everything before", "之前的全部", int(rng.integers(3, 6)), -1, short),
        ("a few chunks before", "之前的几块", int(rng.integers(2, 5)), int(rng.integers(1, 4)), left),
        ("its own chunk alone", "只有自己的块", int(rng.integers(3, 7)), 0, left),
        ("chunks of one frame", "每块一帧", 1, int(rng.integers(2, 5)), left),
        ("one chunk for all", "全部是一块", 60, 1, short),
    ):
        time = int(rng.integers(15, 40))
        yield Case((name, name_zh), "mask_made", (time, chunk, back), sees(time, chunk, back), hint)
    time, lengths = 18, rng.integers(8, 18, 3)
    seen = sees(time, 4, 1)[None] & (np.arange(time) < lengths[:, None])[:, None]
    expected = np.where(seen | np.eye(time, dtype=bool), 0.0, -np.inf)[:, None].astype(F)
    names = "what is added to the scores, through the library", "加到分数上的数，经过库"
    yield Case(names, "frames_encoded", (lengths, time, 4, 1), expected, left)


# --- the convolution ----------------------------------------------------------------------------------------------


def module(weights: dict[str, np.ndarray], x: np.ndarray, kernel: int) -> np.ndarray:
    """The convolution module over the whole signal, by torch in float64."""
    w = {name: torch.from_numpy(value).double() for name, value in weights.items()}
    width, functional = x.shape[2], torch.nn.functional
    h = functional.layer_norm(
        torch.from_numpy(x).double(), (width,), w["layer_norm.weight"], w["layer_norm.bias"]
    )
    h = functional.glu(h @ w["pointwise1.weight"] + w["pointwise1.bias"], -1)
    h = functional.pad(h.transpose(1, 2), (kernel - 1, 0))
    h = functional.conv1d(h, w["depthwise.weight"], w["depthwise.bias"], groups=width).transpose(1, 2)
    h = functional.silu(functional.layer_norm(h, (width,), w["norm.weight"], w["norm.bias"]))
    return (h @ w["pointwise2.weight"] + w["pointwise2.bias"]).numpy()


def convolve(rng: np.random.Generator) -> Iterator[Case]:
    joined: Text = (
        "The past of the next call are the last frames of the joined signal: a short piece does not hold them all.",
        "下一次调用的 past 是拼接后信号的最后几帧：一段很短时，它自己不够。",
    )
    none: Text = (
        "A convolution over one frame has no past: 0 frames. joined[:, -0:] is all of it.",
        "跨一帧的卷积没有 past：0 帧。joined[:, -0:] 是全部。",
    )
    before: Text = (
        "The past comes first, then x, in every call but the first one, which has silence. Nothing comes behind: the convolution sees no later frame.",
        "先是 past，然后是 x；只有第一次调用用静音。后面不加任何帧：卷积看不到更晚的帧。",
    )
    for name, name_zh, sizes, kernel, hint in (
        ("long pieces", "较长的段", [9, 12, 7], 5, before),
        ("pieces of one frame", "每段一帧", [1] * 12, 6, joined),
        ("pieces that are shorter than the past", "比 past 短的段", [3, 2, 1, 8, 2], 8, joined),
        ("a convolution over one frame", "跨一帧的卷积", [5, 4, 9], 1, none),
    ):
        width, batch = int(rng.integers(2, 5)) * 2, 2
        shapes = {
            "layer_norm.weight": (width,), "layer_norm.bias": (width,), "pointwise1.weight": (width, 2 * width),
            "pointwise1.bias": (2 * width,), "pointwise2.weight": (width, width), "pointwise2.bias": (width,),
            "depthwise.weight": (width, 1, kernel), "depthwise.bias": (width,), "norm.weight": (width,), "norm.bias": (width,),
        }  # fmt: skip
        weights = {key: draw(rng, *shape) for key, shape in shapes.items()}
        x = draw(rng, batch, sum(sizes), width)
        expected = kernel - 1, module(weights, x, kernel)
        yield Case((name, name_zh), "pieces_convolved", (weights, x, sizes, kernel), expected, hint, **CLOSE)


# --- the stream ---------------------------------------------------------------------------------------------------


def feed(rng: np.random.Generator) -> Iterator[Case]:
    several: Text = (
        "One piece may complete several chunks: take chunks while there are enough rows.",
        "一段可能完成好几块：只要行数够，就继续取块。",
    )
    shared: Text = (
        "The next chunk begins self.steps rows further on: it needs the last three rows of this one again.",
        "下一块从 self.steps 行之后开始：它还要用到这一块的最后三行。",
    )
    at_once: Text = (
        "A chunk is computed as soon as its last row has come, and gets just the rows that it needs.",
        "一块的最后一行一到就计算，并且只给它所需的行。",
    )
    for name, name_zh, sizes, chunk, left, hint in (
        ("everything at once", "一次全部", [90], 3, -1, several),
        ("one row at a time", "每次一行", [1] * 40, 2, 1, shared),
        ("pieces of any size", "任意大小的段", [0, 30, 1, 2, 47, 13, 0, 9], 2, 2, several),
        ("chunks of one frame", "每块一帧", [5, 6, 7, 8, 9, 10], 1, 4, at_once),
        ("a large chunk", "很大的块", [40, 40, 40], 9, 0, shared),
    ):
        seed, features = int(rng.integers(1, 1000)), draw(rng, sum(sizes), 8)
        whole, rows = encoded_at_once(features, chunk, left, seed), np.cumsum(sizes)
        expected = np.maximum((rows - 3) // (4 * chunk), 0) * chunk, whole
        args = features, sizes, chunk, left, seed
        yield Case((name, name_zh), "pieces_encoded", args, expected, hint, **CLOSE)

    sizes, seed = [int(n) for n in rng.integers(0, 40, 6)], int(rng.integers(1, 1000))
    features = draw(rng, sum(sizes), 8)
    names = "log probabilities, through StreamingRecognizer", "对数概率，经过 StreamingRecognizer"
    expected = recognised_at_once(features, 2, 3, seed)
    yield Case(names, "pieces_recognised", (features, sizes, 2, 3, seed), expected, shared, **CLOSE)


# --- final text ---------------------------------------------------------------------------------------------------


def way(node: int, parent: np.ndarray) -> list[int]:
    found = [node]
    while found[-1] != 0:
        found.append(int(parent[found[-1]]))
    return found[::-1]


def beams(logs: np.ndarray, size: int) -> Iterator[list[tuple[int, ...]]]:
    """The texts that a beam of that size keeps after each frame, best first."""
    beam = {(): (1.0, 0.0)}
    for row in np.exp(logs.astype(np.float64)):
        texts = set(beam) | {(*text, k) for text in beam for k in range(1, len(row))}
        new = {}
        for text in texts:
            spoken = beam.get(text, (0.0, 0.0))[1]
            if text and text[:-1] in beam:
                shorter = beam[text[:-1]]
                spoken += shorter[0] if text[-2:-1] == text[-1:] else sum(shorter)
            new[text] = sum(beam.get(text, (0.0, 0.0))) * row[0], spoken * row[text[-1]] if text else 0.0
        beam = dict(sorted(new.items(), key=lambda item: -sum(item[1]))[:size])
        yield list(beam)


def shared_node(rng: np.random.Generator) -> Iterator[Case]:
    every: Text = (
        "The result lies on the way of all texts, not only of the first two or of the best and the last one.",
        "结果在所有文字的路上，而不只是前两段，或最好和最差的两段。",
    )
    itself: Text = (
        "A text is its own beginning: if one text is the beginning of all others, it is the result. One text alone is final as a whole.",
        "一段文字也是它自己的开头：如果它是其他所有文字的开头，它就是结果。只有一段文字时，整段都已确定。",
    )
    for name, name_zh, count, hint in (
        ("many texts", "许多文字", 8, every),
        ("three texts", "三段文字", 3, every),
        ("one text", "一段文字", 1, itself),
    ):
        parent = np.array([-1, 0, 1] + [int(rng.integers(max(1, n - 4), n)) for n in range(3, 60)])
        nodes = np.sort(rng.choice(np.arange(30, 60), count, replace=False))[::-1].copy()
        ways = [way(int(n), parent) for n in nodes]
        expected = max(set(ways[0]).intersection(*ways))
        yield Case((name, name_zh), "shared_found", (nodes, parent), expected, hint)
    parent = np.array([-1, 0, 1, 2, 2, 3, 3, 0])
    for name, name_zh, nodes, expected in (
        ("the third goes apart first", "第三段最先分开", [5, 6, 4], 2),
        ("the third has nothing in common", "第三段毫无共同之处", [5, 6, 7], 0),
        ("the one in the middle goes apart first", "中间的一段最先分开", [5, 7, 6], 0),
    ):
        yield Case((name, name_zh), "shared_found", (np.array(nodes), parent), expected, every)
    for name, name_zh, size in (("after each frame, through PrefixBeam", "每一帧之后，经过 PrefixBeam", 4), ("a wide beam, through PrefixBeam", "很宽的束，经过 PrefixBeam", 9)):  # fmt: skip
        logits = rng.normal(size=(24, 4)) * 3
        logs = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).astype(F)
        final, texts = np.zeros(24, L), np.full((24, 24), -1)
        for t, kept in enumerate(beams(logs, size)):
            texts[t, : len(kept[0])] = kept[0]
            columns = zip(*kept, strict=False)
            final[t] = next(
                (n for n, tokens in enumerate(columns) if len(set(tokens)) > 1), min(map(len, kept))
            )
        yield Case((name, name_zh), "partials_read", (logs, size), (final, texts), every)


# --- delay --------------------------------------------------------------------------------------------------------


def clocked(times: np.ndarray, chunk: int, lookahead: int, work: np.ndarray) -> np.ndarray:
    """Delays in tenths of a millisecond: a clock runs, chunks wait in a queue, one is worked on at a time."""
    done: list[int] = []
    now = left = 0
    while len(done) < len(work):
        now += 1
        if left == 0 and now > (len(done) + 1) * chunk + lookahead:
            left = int(work[len(done)])
        if left:
            left -= 1
            if left == 0:
                done.append(now)
    return np.array(done)[times // chunk] - times


def text_delays(rng: np.random.Generator) -> Iterator[Case]:
    queue: Text = (
        "The work for a chunk begins when its sound has come and the chunk before is done: the later of the two moments.",
        "一块的声音到齐，并且前一块已经算完，才开始算这一块：取两个时刻中较晚的。",
    )
    idle: Text = (
        "The work begins when the chunk and its look-ahead have come. A computer that is done early waits for them: time is not saved up.",
        "这一块的声音和它的前瞻都到齐，才开始计算。提前算完的计算机要等它们：省下的时间不能累积。",
    )
    for name, name_zh, low, high, hint in (
        ("quick work", "计算很快", 50, 400, idle),
        ("slow work", "计算很慢", 1500, 2600, queue),
        ("work now quick, now slow", "计算时快时慢", 50, 3000, queue),
    ):
        chunk, lookahead = int(rng.integers(800, 1800)), int(rng.integers(0, 500))
        work, times = rng.integers(low, high, 25), rng.integers(0, 25 * chunk, 140)
        times += times % chunk == 0  # not on an edge
        expected = clocked(times, chunk, lookahead, work) / 1e4
        args: Any = times / 1e4, chunk / 1e4, lookahead / 1e4, work / 1e4
        yield Case((name, name_zh), "delays_found", args, expected, hint, atol=1e-7)
    work, times = rng.integers(50, 2500, 20), rng.integers(1, 20 * 800 - 1, 120)
    times += times % 800 == 0
    names = "through the library's StreamingRecognizer", "经过库的 StreamingRecognizer"
    expected = clocked(times, 800, 450, work) / 1e4
    yield Case(names, "recogniser_timed", (times / 1e4, 2, work / 1e4), expected, queue, atol=1e-7)


EXERCISES = [
    Exercise("speech.nn.masks.chunk_mask", 2, "Chunked attention", "分块注意力", chunk_mask, ("chunk_mask", "attention_mask", "masks"), seconds=COMPILING),
    Exercise("speech.nn.conformer.ConvolutionModule.forward", 3, "A convolution with a cache", "带缓存的卷积", convolve, ("ConvolutionModule", "ConformerBlock", "ConformerEncoder", "forward", "super"), seconds=COMPILING),
    Exercise("speech.nn.streaming.EncoderStream.feed", 3, "The stream of an encoder", "编码器的流", feed, ("EncoderStream", "encoder_stream", "feed", "self.encoder"), seconds=COMPILING),
    Exercise("kernels.speech.shared_node", 2, "Final text", "确定的文字", shared_node, ("shared_node", "cpu_speech_beam", "commonprefix"), seconds=SEARCH),
    Exercise("speech.delays.text_delays", 3, "The delay of each sample", "每个样本的延迟", text_delays, ("text_delays", "delays"), seconds=COMPILING),
]  # fmt: skip  # a table
