"""Notebook 14: which shard has a row, pulls, pushes, and counting each push once."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F, L = np.float32, np.int64
CLIENT = "distributed.parameter_server.client"


def _divided() -> list[Case]:
    return [
        Case(
            name=("four ids, two shards", "四个 id，两个分片"),
            driver="ids_divided",
            args=(np.array([6, 8, 9, 15], L), 2),
            expected=(np.array([1, 3, 0, 2], L), np.array([0, 2, 4], L)),
            hint=(
                "The quotients are 3, 4, 4, 7, and `mixed` of them modulo 2 is 1, 0, 0, 1. So the shards are (0 + 1) % 2 = 1, 0, 1, (1 + 1) % 2 = "
                "0: shard 0 has the places 1 and 3, shard 1 the places 0 and 2.",
                "商是 3、4、4、7，它们的 `mixed` 对 2 取余是 1、0、0、1。所以分片是 (0 + 1) % 2 = 1、0、1、(1 + 1) % 2 = 0：0 号分片有位置 1 和 "
                "3，1 号分片有位置 0 和 2。",
            ),
            rtol=0,
            atol=0,
        ),
        Case(
            name=("four ids, three shards", "四个 id，三个分片"),
            driver="ids_divided",
            args=(np.array([9, 10, 11, 15], L), 3),
            expected=(np.array([0, 1, 2, 3], L), np.array([0, 1, 2, 4], L)),
            hint=(
                "The quotients are 3, 3, 3, 5, and `mixed` of them modulo 3 is 0, 0, 0, 2: the shards are 0, 1, 2, 2. `bounds` has one number "
                "more than there are shards; shard 2 begins at 2 and ends at 4.",
                "商是 3、3、3、5，它们的 `mixed` 对 3 取余是 0、0、0、2：分片是 0、1、2、2。`bounds` 比分片多一个数；2 号分片从 2 开始，到 4 结束。",
            ),
            rtol=0,
            atol=0,
        ),
    ]


def _pull() -> list[Case]:
    different = np.array([6, 7, 8, 9], L)
    rows = np.array([[60, 61], [70, 71], [80, 81], [90, 91]], F)
    return [
        Case(
            name=("four ids, one of them twice, two shards", "四个 id，其中一个两次，两个分片"),
            driver="rows_pulled",
            args=(np.array([9, 6, 8, 9], L), different, rows, 2),
            expected=rows[[3, 0, 2, 3]],
            hint=(
                "The row of id 6 is [60, 61], and so on. The different ids are [6, 8, 9]. Shard 0 has 8, shard 1 has 6 and 9. So the rows come as "
                "[80, 81] and [[60, 61], [90, 91]], and belong to the places 1, 0 and 2 of the different ids.",
                "id 6 的行是 [60, 61]，其余类推。不同的 id 是 [6, 8, 9]。0 号分片有 8，1 号分片有 6 和 9。所以到来的行是 [80, 81] 和 [[60, 61], "
                "[90, 91]]，属于不同 id 中的位置 1、0 和 2。",
            ),
        ),
        Case(
            name=("ids that descend, three shards", "递减的 id，三个分片"),
            driver="rows_pulled",
            args=(np.array([9, 8, 7], L), different, rows, 3),
            expected=rows[[3, 2, 1]],
            hint=(
                "Row i of the result belongs to ids[i]: first that of id 9, then of 8, then of 7. `np.unique` sorts; its inverse brings the order "
                "of the ids back.",
                "结果的第 i 行属于 ids[i]：先是 id 9 的，再是 8 的，然后是 7 的。`np.unique` 会排序；用它的 inverse 恢复 ids 的次序。",
            ),
        ),
    ]


def _push() -> list[Case]:
    gradients = np.array([[1, 2], [3, 4], [10, 20], [30, 40]], F)
    return [
        Case(
            name=("four gradients of three rows, two shards", "三行的四个梯度，两个分片"),
            driver="rows_pushed",
            args=(np.array([6, 6, 8, 9], L), gradients, 0.5, np.array([6, 8, 9], L), 2),
            expected=np.array([[-2, -3], [-5, -10], [-15, -20]], F),
            hint=(
                "The gradient of id 6 is [1, 2] + [3, 4] = [4, 6]. Shard 0 gets id 8 with [10, 20]; shard 1 gets ids 6 and 9. Rows begin as zeros, "
                "and each shard subtracts 0.5 times the gradient.",
                "id 6 的梯度是 [1, 2] + [3, 4] = [4, 6]。0 号分片得到 id 8 和 [10, 20]；1 号分片得到 id 6 和 9。行的初值是零，每个分片减去 0.5 倍的梯度。",
            ),
        ),
    ]


def _known() -> list[Case]:
    ones = np.array([[1], [1], [2], [2]], F)
    return [
        Case(
            name=("one worker, each push comes twice", "一个工作者，每个 push 来两次"),
            driver="pushes_taken",
            args=(np.array([[0, 1], [0, 1], [0, 2], [0, 2]], L), ones, 1, None),
            expected=(np.array([1, 0, 1, 0]), np.array([[-3]], F)),
            hint=(
                "After step 1 is taken, `self.applied[0]` is 1: step 1 is known, step 2 is not.",
                "第 1 步被接受后，`self.applied[0]` 是 1：第 1 步已知，第 2 步未知。",
            ),
        ),
        Case(
            name=("two workers", "两个工作者"),
            driver="pushes_taken",
            args=(np.array([[0, 1], [1, 1], [1, 1], [0, 2]], L), ones, 2, None),
            expected=(np.array([1, 1, 0, 1]), np.array([[-3], [-1]], F)),
            hint=(
                "Each worker has numbers of its own: step 1 of worker 1 is new, although step 1 of worker 0 was taken.",
                "每个工作者有自己的编号：即使 0 号的第 1 步已被接受，1 号的第 1 步仍是新的。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot=f"{CLIENT}.divided",
        hints=(
            (
                "Compute the shard of every id first, as an array. `order` is then a stable sort by shard, and `bounds` says how many ids come "
                "before each shard's.",
                "先算出每个 id 的分片，得到一个数组。`order` 就是按分片的稳定排序，`bounds` 说明每个分片的 id 之前有多少个。",
            ),
            (
                "`mixed` gives uint64. Its remainder must be taken with np.uint64(shards), and only then be added to int64 numbers. Bounds are "
                "sums of counts; `np.bincount(owner, minlength=shards)` counts empty shards too.",
                "`mixed` 给出 uint64。要用 np.uint64(shards) 取余，然后才能与 int64 的数相加。bounds 是个数的累加；`np.bincount(owner, "
                "minlength=shards)` 也会数到空的分片。",
            ),
            (
                "In order: quotient = ids // shards; turn = (mixed(quotient) % np.uint64(shards)).astype(np.int64); owner = (ids % shards + turn) % "
                'shards; order = np.argsort(owner, kind="stable"); bounds = np.searchsorted(owner[order], np.arange(shards + 1)).',
                "依次写：quotient = ids // shards；turn = (mixed(quotient) % np.uint64(shards)).astype(np.int64)；owner = (ids % shards + turn) "
                '% shards；order = np.argsort(owner, kind="stable")；bounds = np.searchsorted(owner[order], np.arange(shards + 1))。',
            ),
        ),
        cases=_divided,
    ),
    Lesson(
        slot=f"{CLIENT}.Client.pull",
        hints=(
            (
                "Three steps: the different ids and the inverse; one request with a message for each shard that has ids; the answers to the places "
                "of their ids.",
                "三步：不同的 id 和 inverse；一个请求，其中每个有 id 的分片一条消息；把答案放到各自 id 的位置。",
            ),
            (
                "`client.divided(different, shards)` gives places in `different`. The places of a shard are order[bounds[s] : bounds[s + 1]]; use them "
                "twice: to take the ids for the message, and to write the rows of the answer.",
                "`client.divided(different, shards)` 给出 `different` 中的位置。一个分片的位置是 order[bounds[s] : bounds[s + "
                "1]]；要用两次：取出消息里的 id，写入答案中的行。",
            ),
            (
                "In order: different, inverse = np.unique(ids, return_inverse=True); order, bounds = client.divided(different, shards); for each shard "
                'with places: calls.append((shard, "pull", (name, different[places], self.step, train))); answers = self.transport.request(calls); '
                'rows[places] = answer["rows"]; return rows[inverse].',
                "依次写：different, inverse = np.unique(ids, return_inverse=True)；order, bounds = client.divided(different, "
                'shards)；对每个有位置的分片：calls.append((shard, "pull", (name, different[places], self.step, train)))；answers = '
                'self.transport.request(calls)；rows[places] = answer["rows"]；return rows[inverse]。',
            ),
        ),
        cases=_pull,
    ),
    Lesson(
        slot=f"{CLIENT}.Client.push",
        hints=(
            (
                "Merge, divide, send. The inverse of `np.unique` says to which sum each gradient belongs.",
                "合并，划分，发送。`np.unique` 的 inverse 说明每个梯度属于哪个和。",
            ),
            (
                "`sums[inverse] += rows` keeps one gradient of several equal ids: use `np.add.at`. Append a message for each shard, also where it "
                "has no ids. Number and request are of the whole step, so they stand behind the loop over tables.",
                "`sums[inverse] += rows` 对相同的 id 只留下一个梯度：用 `np.add.at`。给每个分片加一条消息，没有 id 的也要。步号和请求属于整个一步，所以在表的循环之后。",
            ),
            (
                "In order: different, inverse = np.unique(ids, return_inverse=True); sums = np.zeros((len(different), settings.dim), np.float32); "
                "np.add.at(sums, inverse, rows); order, bounds = client.divided(different, shards); for each shard: places = order[bounds[shard] : "
                'bounds[shard + 1]]; calls.append((shard, "push", (name, different[places], sums[places], rate, self.worker, self.step))).',
                "依次写：different, inverse = np.unique(ids, return_inverse=True)；sums = np.zeros((len(different), settings.dim), "
                "np.float32)；np.add.at(sums, inverse, rows)；order, bounds = client.divided(different, shards)；对每个分片：places = "
                'order[bounds[shard] : bounds[shard + 1]]；calls.append((shard, "push", (name, different[places], sums[places], rate, '
                "self.worker, self.step)))。",
            ),
        ),
        cases=_push,
    ),
    Lesson(
        slot="distributed.parameter_server.turns.Turns.is_known",
        hints=(
            (
                "One comparison is enough: of this step with the last step of this worker.",
                "一次比较就够了：这一步，与这个工作者的最后一步。",
            ),
            (
                "Only ask, note nothing. A late retry may be older than the last step. A worker without an entry has pushed nothing: `dict.get` with "
                "a default.",
                "只询问，不记录。迟到的重试可能比最后一步更早。没有条目的工作者还没有 push 过：用带默认值的 `dict.get`。",
            ),
            (
                "Return whether step is at most self.applied.get(worker, 0).",
                "返回 step 是否不大于 self.applied.get(worker, 0)。",
            ),
        ),
        cases=_known,
    ),
)

PREDICTIONS = (
    Prediction(
        name="tables.modulo",
        question=(
            "Every id of a table is a multiple of 64, and there are 16 shards. Shard number: id % 16. How many times the mean load does the "
            "busiest shard have?",
            "一张表的 id 都是 64 的倍数，共有 16 个分片。分片号：id % 16。最忙的分片的负载是平均负载的几倍？",
        ),
        answer=16.0,
        why=(
            "64 is a multiple of 16, so every id has the remainder 0: shard 0 has all of them and 15 machines have nothing to do.",
            "64 是 16 的倍数，所以每个 id 的余数都是 0：全部落在 0 号分片，另外 15 台机器无事可做。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="tables.waits",
        question=(
            "Two workers; a worker may be 2 steps ahead of the slowest. Worker 1 has pushed nothing yet. Worker 0 pulls and pushes step 1, then step "
            "2, and so on. Before which step must it wait?",
            "两个工作者；一个工作者最多比最慢的领先 2 步。1 号还没有 push 过。0 号拉取并推送第 1 步，然后第 2 步，依此类推。它必须在第几步之前等待？",
        ),
        answer=4.0,
        why=(
            "Before step s worker 0 has pushed s - 1 steps and worker 1 none, so it is s - 1 ahead. 2 is allowed: step 3 may begin, step 4 waits.",
            "第 s 步之前，0 号推送了 s - 1 步，1 号一步也没有，所以领先 s - 1 步。允许 2 步：第 3 步可以开始，第 4 步要等待。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="tables.row",
        question=(
            "A row has 64 numbers in float32, and Adam keeps two more arrays as wide. A shard spends 93 further bytes on each row (its id, its place "
            "in the hash table, when it was last used). How many bytes does a row take?",
            "一行有 64 个 float32，Adam 另外保存两个同样宽的数组。分片为每行再花 93 字节（id、在哈希表中的位置、最近何时用过）。一行共占多少字节？",
        ),
        answer=64 * 4 * 3 + 93,
        unit=(" bytes", " 字节"),
        why=(
            "64 x 4 bytes, three times: the row and two arrays of Adam make 768. With 93 it is 861. The state of the optimizer is two thirds of the "
            "memory; SGD would need 349.",
            "64 x 4 字节，共三份：行本身和 Adam 的两个数组，是 768。加上 93 得 861。优化器的状态占内存的三分之二；用 SGD 只要 349。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="tables.machines",
        question=(
            "The table has 1,000,000,000 such rows, and a fifth more memory is kept free (times 1.2). A machine has 256 GB (256e9 bytes). How many "
            "machines?",
            "这张表有 1,000,000,000 行，另外要留出五分之一的内存（乘以 1.2）。一台机器有 256 GB（256e9 字节）。需要几台机器？",
        ),
        answer=5.0,
        why=(
            "1e9 x 861 x 1.2 = 1.03e12 bytes, which is 4.04 machines: five. Four would do without the spare memory.",
            "1e9 x 861 x 1.2 = 1.03e12 字节，是 4.04 台机器：要五台。不留余量的话四台就够。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="tables.network",
        question=(
            "A batch looks 100,000 ids up, of which 46,673 are different. An id is 8 bytes, a number 4. How many MB (1e6 bytes) does a step pull and "
            "push, ids counted both times?",
            "一批要查 100,000 个 id，其中 46,673 个不同。一个 id 占 8 字节，一个数占 4 字节。一步拉取和推送共多少 MB（1e6 字节）？两次都要算 id。",
        ),
        answer=2 * 46_673 * (8 + 64 * 4) / 1e6,
        unit=(" MB", " MB"),
        why=(
            "2 x 46,673 x (8 + 64 x 4) bytes. A dense gradient of this table would be 256,000 MB. Bytes of a step depend on the batch, and not on the "
            "table.",
            "2 x 46,673 x (8 + 64 x 4) 字节。这张表的稠密梯度是 256,000 MB。一步的字节数取决于批，与表的大小无关。",
        ),
        tolerance=0.005,
    ),
)
