"""The steps of the pictures in the notebooks (`pictures.py`), made by small computations on small arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from .pictures import Picture, Row, Step, Text

KEYS = (2, 0, 2, 1, 0)
ROWS_READ, PLACES = (4, 7, 4, 9, 2, 7), 3
GRADIENTS, BETA1, BETA2 = (1.0, 1.0, -1.0, 1.0, -1.0, 1.0), 0.9, 0.999
ARRIVES = ((1, 2, 3), (10, 20, 30))


def _cells(values: Iterable[object], empty: str = "·") -> list[str]:
    return [empty if value is None else str(value) for value in values]


def counting_sort() -> Picture:
    """Keys are counted, the counts summed, and the entries put into their places."""
    groups = max(KEYS) + 1
    counts = [0] * (groups + 1)
    order: list[int | None] = [None] * len(KEYS)
    steps: list[Step] = []

    def seen(said: Text, free: list[int] | None = None, **marks: tuple[int, set[int]]) -> None:
        names = ["keys", "starts", *(["free"] if free is not None else []), "order"]
        values = [KEYS, list(counts), *([list(free)] if free is not None else []), list(order)]
        hot, read = marks.get("hot", (-1, set())), marks.get("read", (-1, set()))
        rows = [
            Row(
                name,
                _cells(its),
                frozenset(hot[1] if k == hot[0] else ()),
                frozenset(read[1] if k == read[0] else ()),
            )
            for k, (name, its) in enumerate(zip(names, values, strict=True))
        ]
        link = None
        if hot[1] and read[1] and read[0] < hot[0]:
            link = ((read[0], min(read[1])), (hot[0], min(hot[1])))
        steps.append(Step(rows, said, link))

    seen(
        ("Five entries with keys from 0 to 2. Nothing is counted yet.", "五个元素，键从 0 到 2。还没有计数。")
    )
    for entry, key in enumerate(KEYS):
        counts[key + 1] += 1
        seen(
            (
                f"First pass: entry {entry} has key {key}. It is counted one place further.",
                f"第一遍：元素 {entry} 的键是 {key}，记在后一个位置上。",
            ),
            read=(0, {entry}),
            hot=(1, {key + 1}),
        )
    for k in range(groups):
        counts[k + 1] += counts[k]
    seen(
        ("The cumulative sum: key k now starts at starts[k].", "求累加和：键 k 现在从 starts[k] 开始。"),
        hot=(1, set(range(1, groups + 1))),
    )
    free: list[int] = counts[:]
    for entry, key in enumerate(KEYS):
        place = free[key]
        order[place] = entry
        free[key] = place + 1
        seen(
            (
                f"Second pass: entry {entry} has key {key}, whose next free place is {place}. Equal keys keep their order.",
                f"第二遍：元素 {entry} 的键是 {key}，它的下一个空位是 {place}。键相同的元素保持原来的次序。",
            ),
            free,
            read=(0, {entry}),
            hot=(3, {place}),
        )
    return Picture("counting_sort", ("Counting sort", "计数排序"), steps)


def lru_queue() -> Picture:
    """Rows are looked up through a cache of three places, whose queue begins with the newest."""
    queue: list[int] = []  # rows, the newest first
    steps = [
        Step(
            [Row("look-ups", _cells(ROWS_READ)), Row("queue", ["·"] * PLACES)],
            (
                "A cache of three places, empty. The queue goes from the newest to the oldest.",
                "缓存有三个位置，是空的。队列从最近使用的排到最久未用的。",
            ),
        )
    ]
    for at, row in enumerate(ROWS_READ):
        before = list(queue)
        if row in queue:
            from_place = queue.index(row)
            queue.insert(0, queue.pop(from_place))
            said: Text = (
                f"Row {row} is cached: a hit. It becomes the newest.",
                f"第 {row} 行在缓存里：命中。它变成最近使用的。",
            )
        elif len(queue) < PLACES:
            queue.insert(0, row)
            said = (
                f"Row {row} is not cached: it is loaded into a free place.",
                f"第 {row} 行不在缓存里：载入一个空位。",
            )
        else:
            gone = queue.pop()
            queue.insert(0, row)
            said = (
                f"Row {row} is not cached and no place is free: row {gone}, the least recently used, is evicted.",
                f"第 {row} 行不在缓存里，也没有空位：淘汰最久未用的第 {gone} 行。",
            )
        padded = [*before, *[None] * (PLACES - len(before))]
        leaving = {k for k, old in enumerate(padded) if old is not None and old not in queue}
        rows = [
            Row("look-ups", _cells(ROWS_READ), read=frozenset({at})),
            Row("before", _cells(padded), frozenset(leaving)),
            Row("queue", _cells([*queue, *[None] * (PLACES - len(queue))]), frozenset({0})),
        ]
        link = (
            ((1, padded.index(row)), (2, 0))
            if row in before
            else ((0, at), (1, min(leaving)))
            if leaving
            else None
        )
        steps.append(Step(rows, said, link))
    return Picture("lru_queue", ("Least recently used", "最久未用"), steps)


def adam_averages() -> Picture:
    """Adam's two averages of a gradient that changes its sign, and of one that does not."""
    steps = []
    moments, variances = [0.0, 0.0], [0.0, 0.0]
    for t, turning in enumerate(GRADIENTS, 1):
        gradients = (1.0, turning)
        moments = [BETA1 * m + (1 - BETA1) * g for m, g in zip(moments, gradients, strict=True)]
        variances = [BETA2 * v + (1 - BETA2) * g * g for v, g in zip(variances, gradients, strict=True)]
        hats = [m / (1 - BETA1**t) for m in moments]
        sizes = [math.sqrt(v / (1 - BETA2**t)) for v in variances]
        ratios = [m / s for m, s in zip(hats, sizes, strict=True)]
        rows = [
            Row("gradient", [f"{g:+.0f}" for g in gradients], read=frozenset({0, 1})),
            Row("m", [f"{m:.2f}" for m in moments], frozenset({0, 1})),
            Row("v", [f"{v:.4f}" for v in variances], frozenset({0, 1})),
            Row("m̂ / √v̂", [f"{r:.2f}" for r in ratios], frozenset({0, 1})),
        ]
        said: Text = (
            f"Step {t}: the first gradient keeps its sign, its ratio is {ratios[0]:.2f}. The second has changed it, its ratio is {ratios[1]:.2f}.",
            f"第 {t} 步：第一个梯度保持同号，比值是 {ratios[0]:.2f}；第二个变过号，比值是 {ratios[1]:.2f}。",
        )
        if t == 1:
            said = (
                "Step 1: m and v start at 0, so they are far too small. Divided by the weights so far, the ratio is 1.",
                "第 1 步：m 与 v 从 0 开始，所以小得多。除以到目前为止的权重之和，比值是 1。",
            )
        elif t == 2:
            said = (
                f"Step 2: both gradients are still the same. m is {moments[0]:.2f}, v is {variances[0]:.4f}; corrected, both are 1.",
                f"第 2 步：两个梯度仍然一样。m 是 {moments[0]:.2f}，v 是 {variances[0]:.4f}；修正后都是 1。",
            )
        steps.append(Step(rows, said))
    return Picture("adam_averages", ("Adam's two averages", "Adam 的两个平均"), steps)


def broadcast_back() -> Picture:
    """The gradient of a broadcast: forward the numbers are repeated, backward their gradients are added."""
    bias, blank = ["b0", "b1", "b2"], ["·"] * 3
    first, second = ([str(n) for n in row] for row in ARRIVES)
    sums = [a + b for a, b in zip(*ARRIVES, strict=True)]
    names = ("bias [3]", "row 0", "row 1", "gradient [3]")

    def step(
        cells: tuple[list[str], ...], said: Text, hot: dict[int, set[int]], read: dict[int, set[int]]
    ) -> Step:
        rows = [
            Row(name, its, frozenset(hot.get(k, ())), frozenset(read.get(k, ())))
            for k, (name, its) in enumerate(zip(names, cells, strict=True))
        ]
        return Step(rows, said)

    whole = {0, 1, 2}
    steps = [
        step(
            (bias, blank, blank, blank),
            (
                "A bias of shape [3] is added to a batch of shape [2, 3].",
                "形状为 [3] 的偏置加到形状为 [2, 3] 的一批数据上。",
            ),
            {},
            {0: whole},
        ),
        step(
            (bias, bias, bias, blank),
            ("Forward: each number is used twice, once in each row.", "前向：每个数用两次，每行一次。"),
            {1: whole, 2: whole},
            {0: whole},
        ),
        step(
            (bias, first, second, blank),
            (
                "Backward: each use sends back a gradient, of shape [2, 3] in total.",
                "反向：每用一次传回一份梯度，总的形状是 [2, 3]。",
            ),
            {1: whole, 2: whole},
            {},
        ),
    ]
    for k, total in enumerate(sums):
        done = [str(n) if i <= k else "·" for i, n in enumerate(sums)]
        steps.append(
            step(
                (bias, first, second, done),
                (
                    f"The gradients of b{k} add up: {first[k]} + {second[k]} = {total}.",
                    f"b{k} 的各份梯度相加：{first[k]} + {second[k]} = {total}。",
                ),
                {3: {k}},
                {1: {k}, 2: {k}},
            )
        )
    return Picture("broadcast_back", ("Broadcasting in reverse", "广播的反向"), steps)


PICTURES: dict[str, Callable[[], Picture]] = {
    picture.__name__: picture for picture in (counting_sort, lru_queue, adam_averages, broadcast_back)
}
