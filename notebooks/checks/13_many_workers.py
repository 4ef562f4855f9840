"""Hidden checks of notebook 13. Oracles: sums in NumPy, a fold with rounding for each link, and gradients by hand.

Values that are rounded are computed with the same operations in the same order, so that the last bit is right too.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise

D, F, H, L = np.float64, np.float32, np.float16, np.int64


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


# --- all_reduce in a ring -----------------------------------------------------------------------------------------


def whole(rng: np.random.Generator, world: int, size: int, dtype: Any = F) -> list[np.ndarray]:
    """Vectors of whole numbers: their sums are exact in any order."""
    return [rng.integers(-1000, 1000, size).astype(dtype) for _ in range(world)]


def folded(vectors: list[np.ndarray]) -> np.ndarray:
    """Chunk c begins at worker c and goes round in float16; each worker adds its own numbers in float32."""
    world = len(vectors)
    pieces = [np.array_split(vector, world) for vector in vectors]
    chunks = []
    for c in range(world):
        total = pieces[c][c].astype(H)
        for hop in range(1, world):
            total = (total.astype(F) + pieces[(c + hop) % world][c]).astype(H)
        chunks.append(total.astype(F))
    return np.concatenate(chunks)


def summed_case(names: Text, vectors: list[np.ndarray], hint: Text, dtype: str = "float32") -> Case:
    expected = [np.sum(vectors, 0)] * len(vectors)
    return Case(names, "vectors_summed", (vectors,), expected, hint, dtype=dtype)


def counted_case(names: Text, vectors: list[np.ndarray], hint: Text, wire: str | None = None) -> Case:
    world, size = len(vectors), vectors[0].size
    width = vectors[0].itemsize if wire is None else 2
    sums = np.sum(vectors, 0) if wire is None else folded(vectors)
    messages = np.full(world, 2 * (world - 1), L)
    expected = [sums] * world, messages, 2 * (world - 1) * size * width
    args = (vectors,) if wire is None else (vectors, wire)
    return Case(names, "messages_counted", args, expected, hint, rtol=0, atol=0)


def ringed(rng: np.random.Generator) -> Iterator[Case]:
    order: Text = (
        "In step s of the first round worker r sends chunk r - s and adds what comes to chunk r - s - 1; in the second round it sends "
        "chunk r + 1 - s and writes what comes over chunk r - s. With two workers many other orders are right, too.",
        "第一轮第 s 步，r 号工作者发送第 r - s 块，把收到的加到第 r - s - 1 块；第二轮发送第 r + 1 - s 块，用收到的覆盖第 r - s 块。只有两个工作者时，许多别的顺序也对。",
    )
    uneven: Text = (
        "The length need not be a multiple of W. `tensor_split` makes chunks that differ by one number; with fewer numbers than workers "
        "some are empty, and an empty chunk is sent like any other.",
        "长度不必是 W 的倍数。`tensor_split` 切出的块最多相差一个数；数比工作者少时，有的块是空的，空块也照样发送。",
    )
    alone: Text = (
        "A worker alone has its sum already: it sends nothing, and waits for nothing.",
        "只有一个工作者时，和就是它自己的向量：不发送，也不等待。",
    )
    cost: Text = (
        "Each chunk is sent 2 (W - 1) times: W - 1 times while it grows, W - 1 times when it is complete. More messages or whole vectors "
        "give the same sum, but cost more.",
        "每一块发送 2 (W - 1) 次：累加时 W - 1 次，完成后 W - 1 次。多发消息或发送整个向量，和虽然一样，代价却更大。",
    )
    wired: Text = (
        "Only what is sent is rounded to `wire`. What comes is added in the dtype of `values`. The complete chunk of a worker is rounded, "
        "too, because the others get it rounded: all must have the same bits.",
        "只有发送的值才舍入到 `wire`。收到的值用 `values` 的 dtype 相加。工作者自己的完成块也要舍入，因为别人得到的是舍入后的：所有工作者的每一位都要相同。",
    )
    for world, size in ((3, 120), (4, 100), (8, 64)):
        names = f"{world} workers, {size} numbers", f"{world} 个工作者，{size} 个数"
        yield summed_case(names, whole(rng, world, size), order)
    yield summed_case(("5 workers, 103 numbers", "5 个工作者，103 个数"), whole(rng, 5, 103), uneven)
    yield summed_case(("5 workers, 3 numbers", "5 个工作者，3 个数"), whole(rng, 5, 3), uneven)
    yield summed_case(("a worker alone", "只有一个工作者"), whole(rng, 1, 20), alone)
    vectors = [vector + rng.random(30) * 2.0**-30 for vector in whole(rng, 3, 30, D)]
    yield Case(
        ("numbers in float64", "float64 的数"),
        "vectors_summed",
        (vectors,),
        [np.sum(vectors, 0)] * 3,
        order,
        rtol=1e-13,
        atol=1e-11,
        dtype="float64",
    )
    names = "how many messages and bytes, 6 workers", "消息数和字节数，6 个工作者"
    yield counted_case(names, whole(rng, 6, 72), cost)
    names = "how many messages and bytes, 3 workers, 32 numbers", "消息数和字节数，3 个工作者，32 个数"
    yield counted_case(names, whole(rng, 3, 32), cost)
    names = "numbers travel in float16", "数以 float16 传送"
    yield counted_case(names, [draw(rng, 101) * 10 for _ in range(4)], wired, "float16")
    large = rng.choice([-1, 1], 40) * rng.integers(1024, 2000, 40)
    half = rng.choice([0.25, 0.5, 0.75], 40)
    vectors = [np.empty(40, F), np.empty(40, F)]
    for start, first in (
        (0, 0),
        (20, 1),
    ):  # chunk 0 begins at worker 0: what is sent has a float16, the other has none
        here = slice(start, start + 20)
        vectors[first][here], vectors[1 - first][here] = large[here], -large[here] + half[here]
    names = "sums in float32 of numbers in float16", "float16 的数，用 float32 求和"
    yield counted_case(names, vectors, wired, "float16")
    x, y, weight = draw(rng, 24, 6), draw(rng, 24, 18), draw(rng, 6, 18)
    expected = [taught(x, y, weight, 3, 4)] * 3
    names = "three workers train, through the library", "三个工作者一起训练，经过库"
    yield Case(names, "workers_trained", (x, y, weight, 3, 4), expected, order, rtol=1e-3, atol=1e-4)


def taught(x: Any, y: Any, weight: Any, world: int, steps: int, share: float | None = None) -> np.ndarray:
    """The weight after steps of SGD on the mean square error of all rows; with a share each worker, which has every
    `world`-th row, sends the largest values of gradient and residual only."""
    weight = np.asarray(weight, D)
    left = np.zeros((world, weight.size))
    for _ in range(steps):
        total = np.zeros(weight.size)
        for rank in range(world):
            mine, wanted = np.asarray(x[rank::world], D), np.asarray(y[rank::world], D)
            slope = 2 * mine.T @ (mine @ weight - wanted) / wanted.size
            left[rank] += slope.ravel() / world
            sent = (
                left[rank] if share is None else only_largest(left[rank], max(1, round(share * weight.size)))
            )
            total += sent
            left[rank] = left[rank] - sent
        weight = weight - 0.1 * total.reshape(weight.shape)
    return weight


# --- error feedback -----------------------------------------------------------------------------------------------


def only_largest(values: np.ndarray, count: int) -> np.ndarray:
    kept = np.zeros_like(values)
    places = np.argsort(-np.abs(values), kind="stable")[:count]
    kept[places] = values[places]
    return kept


def compressed(values: np.ndarray, kind: str, size: int) -> np.ndarray:
    if kind == "largest":
        return only_largest(values, size)
    if kind == "signs":
        return np.where(values < 0, -size, size).astype(values.dtype)
    with np.errstate(over="ignore"):
        return values if kind == "same" else values.astype(kind)


def sent_case(
    names: Text, gradients: list[np.ndarray], residual: np.ndarray, kind: str, hint: Text, size: int = 0
) -> Case:
    sent, after, left = [], [], residual
    for gradient in gradients:
        wanted = gradient + left
        sent.append(compressed(wanted, kind, size))
        with np.errstate(invalid="ignore"):
            left = wanted - sent[-1]
        left = np.where(np.isfinite(left), left, 0).astype(residual.dtype)
        after.append(left)
    expected = sent, after, sent[-1].dtype.name, gradients
    args = gradients, residual, kind, size
    return Case(names, "gradients_sent", args, expected, hint, rtol=1e-6, atol=1e-9)


def fed_back(rng: np.random.Generator) -> Iterator[Case]:
    added: Text = (
        "What is sent is `compress(gradient + residual)`, and the residual becomes gradient + residual - sent: all that earlier steps "
        "have left out, and not only the last one.",
        "发送的是 `compress(gradient + residual)`，残差变成 gradient + residual - 发送的值：是以前各步留下的全部，不只是上一步的。",
    )
    narrow: Text = (
        "`compress` may give 16-bit numbers: they are what travels, so return them as they are. The residual keeps its dtype, and the "
        "difference is computed in it.",
        "`compress` 可能给出 16 位的数：传送的就是它们，照原样返回。残差保持自己的 dtype，差也用它来算。",
    )
    same: Text = (
        "`compress` may return the memory that it was given. What you return must not change when the residual is set.",
        "`compress` 可能返回传给它的那块内存。设置残差时，你返回的值不得改变。",
    )
    finite: Text = (
        "1e6 is infinite in float16, and 1e6 - inf would stay -inf in the residual for ever. Where the difference is not finite, the "
        "residual is 0.",
        "1e6 在 float16 中是无穷，而 1e6 - inf 会永远以 -inf 留在残差里。差不是有限数的地方，残差为 0。",
    )
    steps = [draw(rng, 150) for _ in range(6)]
    yield sent_case(
        ("six steps, the ten largest", "六步，最大的十个"), steps, np.zeros(150, F), "largest", added, 10
    )
    steps = [draw(rng, 40) for _ in range(5)]
    yield sent_case(
        ("with a residual from before", "带着先前的残差"), steps, draw(rng, 40) * 3, "largest", added, 3
    )
    steps = [draw(rng, 30) for _ in range(4)]
    yield sent_case(("signs only", "只发符号"), steps, np.zeros(30, F), "signs", added, 2)
    steps = [draw(rng, 60) * 100 for _ in range(3)]
    yield sent_case(("rounded to float16", "舍入到 float16"), steps, np.zeros(60, F), "float16", narrow)
    steps = [rng.normal(size=50) for _ in range(3)]
    yield sent_case(
        ("float64, rounded to float32", "float64，舍入到 float32"), steps, np.zeros(50), "float32", narrow
    )
    steps = [draw(rng, 25) for _ in range(2)]
    yield sent_case(("all is sent", "全部发送"), steps, draw(rng, 25), "same", same)
    steps = [draw(rng, 20) for _ in range(3)]
    steps[0][rng.permutation(20)[:4]] = [1e6, -1e7, np.nan, np.inf]
    yield sent_case(("an overflow, and NaN", "溢出和 NaN"), steps, np.zeros(20, F), "float16", finite)
    x, y, weight = draw(rng, 16, 6), draw(rng, 16, 20), draw(rng, 6, 20)
    expected = [taught(x, y, weight, 2, 5, 0.1)] * 2
    names = "two workers that send a tenth, through the library", "两个工作者只发十分之一，经过库"
    yield Case(names, "workers_saving", (x, y, weight, 2, 5, 0.1), expected, added, rtol=1e-3, atol=1e-4)


EXERCISES = [
    Exercise("distributed.ring.all_reduce", 4, "all_reduce in a ring", "环上的 all_reduce", ringed, ("all_reduce", "all_gather", "reduce_scatter", "all_reduce_coalesced", "ring", "RingAverage", "sampan.distributed", "paddle.distributed", "torch.distributed", "_queues", "get_objects"), seconds=20.0),
    Exercise("distributed.feedback.with_feedback", 2, "Error feedback", "误差反馈", fed_back, ("with_feedback", "RingAverage", "sampan.distributed", "paddle.distributed", "torch.distributed", "feedback")),
]  # fmt: skip  # a table
