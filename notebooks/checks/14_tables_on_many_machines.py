"""Hidden checks of notebook 14. Oracles: the hash in Python's integers, tables that are dictionaries, and a set of
the pushes that were counted.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sampan.learn.cases import Case, Text
from studio.grading.exercise import Exercise

F, L = np.float32, np.int64
DIM = 4


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Whole numbers in float32: their sums are exact in any order."""
    return rng.integers(-50, 50, shape).astype(F)


# --- which shard --------------------------------------------------------------------------------------------------


def mixed(number: int) -> int:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014) in Python's integers."""
    most = (1 << 64) - 1
    z = (number + 0x9E3779B97F4A7C15) & most
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & most
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & most
    return z ^ (z >> 31)


def owner(one: int, shards: int) -> int:
    quotient, rest = divmod(one, shards)
    return (rest + mixed(quotient % (1 << 64)) % shards) % shards


def placed(ids: np.ndarray, shards: int) -> list[list[int]]:
    """The places of each shard's ids, ascending."""
    found: list[list[int]] = [[] for _ in range(shards)]
    for place, one in enumerate(ids.tolist()):
        found[owner(one, shards)].append(place)
    return found


def counted(ids: np.ndarray, shards: int) -> list[int]:
    return [len(places) for places in placed(ids, shards)]


def divided_case(names: Text, ids: np.ndarray, shards: int, hint: Text) -> Case:
    places = placed(ids, shards)
    order = np.array([place for part in places for place in part], L)
    bounds = np.cumsum([0, *map(len, places)])
    return Case(names, "ids_divided", (ids, shards), (order, bounds), hint, rtol=0, atol=0)


def large(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(-(2**62), 2**62, count)


def divided(rng: np.random.Generator) -> Iterator[Case]:
    rule: Text = (
        "The shard of an id is (id % shards + mixed(id // shards) % shards) % shards. What `mixed` gives is unsigned: take the remainder "
        "as uint64, before you change the dtype.",
        "一个 id 的分片是 (id % shards + mixed(id // shards) % shards) % shards。`mixed` 给出的是无符号数：先以 uint64 取余数，再改变 dtype。",
    )
    stable: Text = (
        "Within a shard, places ascend, whatever the ids are: a stable sort by shard. NumPy's default sort is not stable for more than 16 "
        'elements; `kind="stable"` is.',
        '同一分片内，位置是递增的，与 id 的大小无关：按分片做稳定排序。超过 16 个元素时，NumPy 默认的排序不稳定；`kind="stable"` 才稳定。',
    )
    exact: Text = (
        "Ids are any int64. Through float64 they lose their last bits above 2^53, int32 has too few bits, and `//` rounds negative ids "
        "down, as `%` needs it.",
        "id 可以是任意 int64。转成 float64，超过 2^53 的 id 会丢失末几位；int32 的位数不够；`//` 对负的 id 向下取整，与 `%` 相配。",
    )
    empty: Text = (
        "`bounds` has shards + 1 numbers, also where a shard has no id: it then begins where it ends.",
        "`bounds` 有 shards + 1 个数，没有 id 的分片也算：它的起点就是终点。",
    )
    for shards in (3, 8):
        names = f"200 ids, {shards} shards", f"200 个 id，{shards} 个分片"
        yield divided_case(names, rng.permutation(5000)[:200].astype(L), shards, stable)
    names = "ids at equal distances, 16 shards", "等距的 id，16 个分片"
    yield divided_case(names, rng.permutation(np.arange(400)) * 16 * rng.integers(3, 9), 16, rule)
    yield divided_case(
        ("large and negative ids", "很大的 id 和负的 id"), large(rng, 150) // 2 * 2 + 1, 5, exact
    )
    yield divided_case(("more shards than ids", "分片比 id 多"), rng.permutation(60)[:5].astype(L), 12, empty)
    yield divided_case(("one shard", "只有一个分片"), large(rng, 40), 1, rule)
    yield divided_case(("no ids", "没有 id"), np.empty(0, L), 4, empty)
    ids, rows = rng.permutation(9000)[:120].astype(L), draw(rng, 120, DIM)
    expected = rows[::-1], np.array(counted(ids, 6))
    names = "rows of six shards, through the library", "六个分片的行，经过库"
    yield Case(names, "rows_divided", (ids, rows, 6), expected, rule)


# --- pull ---------------------------------------------------------------------------------------------------------


def messages(batches: list[np.ndarray], shards: int, size: int, empty: bool) -> np.ndarray:
    """How many messages each shard gets, how many different ids are in them, and their bytes, `size` for each id:
    [3, shards]. empty: a shard without ids gets a message, too."""
    ids = np.array([counted(np.unique(batch), shards) for batch in batches])
    calls = np.full(shards, len(batches)) if empty else (ids > 0).sum(0)
    return np.stack([calls, ids.sum(0), ids.sum(0) * size])


def zipf(rng: np.random.Generator, count: int, rows: int) -> np.ndarray:
    return np.minimum(rng.zipf(1.4, count), rows).astype(L) - 1


def pulled(rng: np.random.Generator) -> Iterator[Case]:
    back: Text = (
        "Row i of the result is that of ids[i]. Rows come in the order of the shards: write them to the places of their ids among the "
        "different ones, then repeat them with the inverse of `np.unique`.",
        "结果的第 i 行是 ids[i] 的行。行按分片的次序到来：先写到各自 id 在不同 id 中的位置，再用 `np.unique` 的 inverse 展开。",
    )
    once: Text = (
        "An id that occurs several times is asked for once. A shard without ids gets no message. All messages are one request, so that the "
        "shards work at the same time. Their step is self.step: a shard answers when the others have pushed up to it.",
        "出现多次的 id 只请求一次。没有 id 的分片不发消息。所有消息是一个请求，这样各分片可以同时工作。步号是 self.step：其他工作者推送到这一步之后，分片才回答。",
    )
    reading: Text = (
        "`train` belongs to the message. With train=False an id without a row reads as zeros, and the shard does not make a row for it.",
        "`train` 是消息的一部分。train=False 时，没有行的 id 读作零，分片也不会为它建行。",
    )
    for count, shards in ((150, 4), (90, 7)):
        different = rng.permutation(400)[:50].astype(L)
        rows = draw(rng, 50, DIM)
        which = rng.integers(0, 50, count)
        names = f"{count} ids of 50, {shards} shards", f"50 个不同的 id 共 {count} 次，{shards} 个分片"
        expected = rows[which]
        yield Case(
            names, "rows_pulled", (different[which], different, rows, shards), expected, back, dtype="float32"
        )
    ids = zipf(rng, 200, 60)
    rows = draw(rng, 60, DIM)
    second = np.array([2])  # the step: one push came before
    expected = rows[ids], 1, messages([ids], 5, 8, False), second
    names = "messages for Zipf's ids, 5 shards", "Zipf 分布的 id 的消息，5 个分片"
    yield Case(names, "pulls_counted", (ids, np.arange(60), rows, 5), expected, once)
    ids = rng.permutation(60)[:3].astype(L)
    names = "messages for three ids, 9 shards", "三个 id 的消息，9 个分片"
    yield Case(
        names,
        "pulls_counted",
        (ids, np.arange(60), rows, 9),
        (rows[ids], 1, messages([ids], 9, 8, False), second),
        once,
    )
    none = np.empty(0, L)
    names = "no ids", "没有 id"
    yield Case(names, "rows_pulled", (none, np.arange(60), rows, 3), np.empty((0, DIM), F), back)
    known, ids = rng.permutation(100)[:30].astype(L), np.arange(100).repeat(2)
    table = np.zeros((100, DIM), F)
    rows = draw(rng, 30, DIM)
    table[known] = rows
    names = "rows are only read", "只读取行"
    yield Case(names, "rows_read", (ids, known, rows, 3), (table[ids], 30), reading)
    yield Case(
        ("a layer with rows of its own, through the library", "有自己的行的层，经过库"),
        *cached(rng, 6, 24, 40, 3, 2),
        back,
        rtol=1e-4,
        atol=1e-5,
    )


def cached(rng: np.random.Generator, steps: int, count: int, known: int, shards: int, every: int) -> Any:
    """A driver, its arguments, and what a plain table gives: one worker, so what it pulls is what it has."""
    different = rng.permutation(500)[:known].astype(L)
    rows, which = draw(rng, known, DIM), rng.integers(0, known, (steps, count))
    weights = draw(rng, steps, count, DIM)
    table, sent, outputs = rows.astype(np.float64), rows.astype(np.float64), []
    for step in range(steps):
        outputs.append(table[which[step]])
        np.subtract.at(table, which[step], 0.5 * weights[step])
        if (step + 1) % every == 0:
            sent = table.copy()
    args = different[which], weights, different, rows, shards, every
    return "rows_cached", args, (outputs, sent)


# --- push ---------------------------------------------------------------------------------------------------------


def stepped(batches: Any, different: np.ndarray, rule: str = "SGD") -> np.ndarray:
    """Rows that begin as zeros, stepped with the sum of the gradients of equal ids."""
    place = {one: k for k, one in enumerate(different.tolist())}
    table = np.zeros((len(different), DIM))
    squares = np.zeros((len(different), DIM))
    for ids, gradients, rate in batches:
        total: dict[int, np.ndarray] = {}
        for one, gradient in zip(ids.tolist(), gradients.astype(np.float64), strict=True):
            total[place[one]] = total.get(place[one], 0) + gradient
        for row, gradient in total.items():
            squares[row] += gradient**2
            scale = np.sqrt(squares[row]) + 1e-6 if rule == "Adagrad" else 1.0
            table[row] -= rate * gradient / scale
    return table.astype(F)


def push_case(names: Text, batches: Any, different: np.ndarray, shards: int, rule: str, hint: Text) -> Case:
    expected = (
        stepped(batches, different, rule),
        len(batches),
        messages([ids for ids, _, _ in batches], shards, 8 + 4 * DIM, True),
        np.arange(1, len(batches) + 1),
        np.concatenate([gradients for _, gradients, _ in batches]),
    )
    args = batches, different, shards, rule
    return Case(names, "pushes_counted", args, expected, hint, rtol=1e-4, atol=1e-5)


def pushed(rng: np.random.Generator) -> Iterator[Case]:
    merge: Text = (
        "Equal ids are sent once, with the sum of their gradients; they need not be neighbours. `sums[places] += rows` keeps one of several "
        "equal places; `np.add.at(sums, places, rows)` adds them all.",
        "相同的 id 只发送一次，梯度是它们的和；它们不一定相邻。`sums[places] += rows` 在位置重复时只留下一个；`np.add.at(sums, places, rows)` 才全部相加。",
    )
    whole_step: Text = (
        "A step is one request with one message for each shard: each different id once, also where equal ids are not neighbours, with the "
        "sum of its gradients in float32. All messages have the number self.step, 1 in the first step; it goes up by 1 after them. The arrays in "
        "`gradients` must not change.",
        "一步是一个请求，其中每个分片一条消息：每个不同的 id 一次（相同的 id 不一定相邻），行是它的梯度之和，float32。所有消息的步号都是 self.step，第一步是 1；发送之后加 "
        "1。`gradients` 里的数组不得改变。",
    )
    every: Text = (
        "Each shard gets a message in each step, one with empty arrays where it has no ids: it tells the shard that this worker has taken "
        "the step. Others may wait for that.",
        "每一步每个分片都要收到一条消息，没有 id 时用空数组：它告诉分片，这个工作者完成了这一步。别的工作者可能在等。",
    )
    tables: Text = (
        "A step has one number for all tables: `self.step += 1` belongs behind the loop. A table that is not named in `gradients` gets "
        "empty messages.",
        "一步对所有表只有一个号：`self.step += 1` 要在循环之后。`gradients` 里没有的表，得到空消息。",
    )
    for count, shards in ((120, 3), (80, 6)):
        different = np.sort(rng.permutation(900)[:40]).astype(L)
        ids = different[rng.integers(0, 40, count)]
        gradients = whole(rng, count, DIM)
        expected = stepped([(ids, gradients, 0.25)], different)
        names = f"{count} gradients of 40 rows, {shards} shards", f"40 行的 {count} 个梯度，{shards} 个分片"
        yield Case(names, "rows_pushed", (ids, gradients, 0.25, different, shards), expected, merge)
    different = np.arange(50)
    batches = [(zipf(rng, 60, 50), draw(rng, 60, DIM), float(rate)) for rate in rng.uniform(0.1, 0.3, size=4)]
    yield push_case(("four steps of Adagrad", "四步 Adagrad"), batches, different, 4, "Adagrad", whole_step)
    batches = [
        (rng.permutation(50)[:2].repeat(3).astype(L), whole(rng, 6, DIM), 0.5),
        (np.empty(0, L), np.empty((0, DIM), F), 0.5),
        (zipf(rng, 40, 50), whole(rng, 40, DIM), 0.5),
    ]
    yield push_case(
        ("few ids, no ids, many ids; 8 shards", "少量 id、没有 id、许多 id；8 个分片"),
        batches,
        different,
        8,
        "SGD",
        every,
    )
    ids = [zipf(rng, 30, 50) for _ in range(4)]
    rows = [whole(rng, 30, DIM) for _ in range(4)]
    steps = [
        {"a": (ids[0], rows[0], 0.5), "b": (ids[1], rows[1], 0.25)},
        {"b": (ids[2], rows[2], 0.5)},
        {"a": (ids[3], rows[3], 0.5)},
    ]
    found = [
        stepped([step[name] for step in steps if name in step], different).reshape(50, DIM) for name in "ab"
    ]
    names = "two tables, three steps", "两张表，三步"
    expected = found, np.arange(1, 4), np.arange(1, 4)
    yield Case(names, "tables_pushed", (steps, different, 3, DIM), expected, tables)
    _, args, (_, sent) = cached(rng, 5, 20, 30, 4, 1)
    names = "a layer with rows of its own, through the library", "有自己的行的层，经过库"
    yield Case(names, "pushes_of_the_library", args[:5], sent, merge, rtol=1e-4, atol=1e-5)


# --- counting once ------------------------------------------------------------------------------------------------


def journey(rng: np.random.Generator, workers: int, steps: int) -> np.ndarray:
    """(worker, step) of pushes as they reach a shard: each worker's steps in order, workers at different speeds, and
    half of the pushes once more, behind this worker's next pushes too: a message that was late."""
    speed = rng.uniform(0.2, 2, workers)
    events = []
    for worker in range(workers):
        times = np.cumsum(rng.exponential(1 / speed[worker], steps))
        late = times + rng.choice([0.0, 1e-9, 3.0], steps)
        events += [(t, worker, step + 1) for step, t in enumerate(times)]
        events += [
            (t, worker, step + 1) for step, t in enumerate(late) if t > times[step] and rng.random() < 0.8
        ]
    return np.array([event[1:] for event in sorted(events)], L)


def taken(stream: np.ndarray, gradients: np.ndarray, workers: int) -> tuple[np.ndarray, np.ndarray]:
    """Which pushes count, by a set; and the rows."""
    seen: set[tuple[int, int]] = set()
    counted, rows = [], np.zeros((workers, gradients.shape[1]))
    for (worker, step), gradient in zip(stream.tolist(), gradients.astype(np.float64), strict=True):
        if (worker, step) in seen:
            counted.append(0)
        elif not np.isfinite(gradient).all():
            counted.append(-1)
        else:
            seen.add((worker, step))
            rows[worker] -= gradient
            counted.append(1)
    return np.array(counted), rows


def taken_case(
    names: Text, stream: np.ndarray, gradients: np.ndarray, workers: int, hint: Text, together: bool = False
) -> Case:
    """together: workers take each step together, with the mean of their gradients."""
    counted, rows = taken(stream, gradients, workers)
    args = stream, gradients, workers, 0 if together else None
    expected = counted, (rows / workers if together else rows).astype(F)
    return Case(names, "pushes_taken", args, expected, hint, rtol=1e-4, atol=1e-4)


def once(rng: np.random.Generator) -> Iterator[Case]:
    each: Text = (
        "Workers are at different steps: worker 2's step 5 is new although worker 0 has reached step 40. Compare with the last step of this "
        "worker only, `self.applied[worker]`.",
        "各工作者处在不同的步：即使 0 号已到第 40 步，2 号的第 5 步仍是新的。只与这个工作者自己的最后一步 `self.applied[worker]` 比较。",
    )
    late: Text = (
        "A retry may come late, behind newer pushes of the same worker. Its steps come in order, so every step up to its last one is known.",
        "重试可能迟到，排在同一工作者更新的 push 之后。它的各步依次到来，所以不超过最后一步的都是已知的。",
    )
    asks: Text = (
        "The check only asks. If it noted the step, a push that is refused afterwards, for NaN or a full disk, would be lost: when it "
        "comes again, it looks known.",
        "检查只是询问。如果它记下步号，之后因 NaN 或磁盘已满被拒绝的 push 就丢了：再来时看起来是已知的。",
    )
    gap: Text = (
        "Steps may be missing: a table that is made later begins with a later step. New is what is greater than the last step, by how much "
        "does not matter. A worker that is not in `applied` has pushed nothing.",
        "步号可能有缺：后来才建的表从较后的步开始。大于最后一步的就是新的，大多少无关紧要。不在 `applied` 里的工作者还没有 push 过。",
    )
    stream = journey(rng, 1, 60)
    yield taken_case(
        ("one worker, late retries", "一个工作者，迟到的重试"), stream, whole(rng, len(stream), DIM), 1, late
    )
    stream = journey(rng, 3, 40)
    yield taken_case(
        ("three workers at different speeds", "三个速度不同的工作者"),
        stream,
        whole(rng, len(stream), DIM),
        3,
        each,
    )
    stream = np.array([(w, step) for step in range(1, 16) for w in rng.permutation(2)], L).repeat(2, 0)
    gradients = whole(rng, len(stream), DIM)
    bad = rng.permutation(15)[:6] * 4
    gradients[bad] = np.where(rng.random((6, DIM)) < 0.5, np.nan, np.inf)
    names = "pushes that are refused, and then sent again", "被拒绝后又重发的 push"
    yield taken_case(names, stream, gradients, 2, asks)
    steps = np.cumsum(rng.integers(1, 9, 30))
    stream = np.stack([np.zeros(60, L), steps.repeat(2)], 1)
    names = "steps that are missing", "有缺的步号"
    yield taken_case(names, stream, whole(rng, 60, DIM), 1, gap)
    stream = np.array([(w, s) for s in range(1, 21) for w in [0, *rng.permutation([1, 2]), 0]], L)
    names = "workers that take each step together", "每一步一起走的工作者"
    yield taken_case(names, stream, whole(rng, len(stream), DIM), 3, late, True)
    workers = rng.permutation(100)[:40]
    applied = np.stack([workers, rng.integers(0, 30, 40)], 1)
    asked = np.stack([rng.integers(0, 100, 300), rng.integers(1, 40, 300)], 1)
    last = dict(applied.tolist())
    known = np.array([int(step <= last.get(worker, 0)) for worker, step in asked.tolist()])
    names = "asked only, also of workers that are new", "只询问，包括新的工作者"
    expected = known, applied[np.argsort(applied[:, 0])]
    yield Case(names, "pushes_known", (applied, asked), expected, gap)


LIBRARY = ("sampan.kernels", "cpu_embedding_shards", "planner", "inspect")
EXERCISES = [
    Exercise("distributed.parameter_server.client.divided", 3, "Ids to shards", "id 到分片", divided, (*LIBRARY, "divided", "ids_of", "Client", ".ask_rows")),
    Exercise("distributed.parameter_server.client.Client.pull", 4, "Rows from shards", "从分片取行", pulled, (*LIBRARY, ".pull", "ask_rows", "Rows", "RemoteEmbedding", "GeoEmbedding")),
    Exercise("distributed.parameter_server.client.Client.push", 4, "Gradients to shards", "梯度送到分片", pushed, (*LIBRARY, ".push", "RemoteEmbedding", "ServedOptimizer", "GeoEmbedding", "RowGradient", "coalesced", "row_sparse")),
    Exercise("distributed.parameter_server.turns.Turns.is_known", 2, "Counting once", "只算一次", once, (*LIBRARY, "is_known", "Turns", "Shard", "Part")),
]  # fmt: skip  # a table
