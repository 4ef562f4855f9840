"""Hidden checks of notebook 08. Oracles: Python lists for rows that grow, dense integer products for path counts, HAN's formula in
torch over dense matrices, and a plain look at every edge for the past."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from sampan.learn.cases import Case, Holds, Text
from studio.grading.exercise import Exercise

F, L = np.float32, np.int64
COMPILING = 20.0  # seconds: the first call waits for numba
LIBRARY = ("sampan.kernels", "sampan.graph", "scipy", "networkx", "torch_geometric", "torch.sparse", "sparse", "to_sparse", "sparse_coo_tensor")  # fmt: skip


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


# --- rows that grow -----------------------------------------------------------------------------------------------


def flat(rows: list[list[int]]) -> np.ndarray:
    """All rows, one after another."""
    return np.concatenate([np.array(row, L) for row in rows])


def listed(count: int, batches: list[Any]) -> tuple[list[list[int]], list[list[int]], list[np.ndarray]]:
    """(neighbours of each row, its edges, all neighbours after each batch), by Python lists."""
    neighbours: list[list[int]] = [[] for _ in range(count)]
    edges: list[list[int]] = [[] for _ in range(count)]
    seen, number = [], 0
    for rows, others in batches:
        for row, other in zip(rows.tolist(), others.tolist(), strict=True):
            neighbours[row].append(other)
            edges[row].append(number)
            number += 1
        seen.append(flat(neighbours))
    return neighbours, edges, seen


def grown(count: int, batches: list[Any]) -> tuple[np.ndarray, ...]:
    neighbours, edges, _ = listed(count, batches)
    return flat(neighbours), flat(edges), np.array([len(row) for row in neighbours])


def updated(count: int, updates: list[Any]) -> list[list[np.ndarray]]:
    """Successors and predecessors of all nodes after each update; of equal edges the newest is removed."""
    out: list[list[int]] = [[] for _ in range(count)]
    into: list[list[int]] = [[] for _ in range(count)]
    found = []
    for kind, sources, targets in updates:
        for s, t in zip(sources.tolist(), targets.tolist(), strict=True):
            for row, other in ((out[s], t), (into[t], s)):
                if kind == "add":
                    row.append(other)
                else:
                    del row[len(row) - 1 - row[::-1].index(other)]
        found.append([flat(out), flat(into)])
    return found


def few_places(most: int) -> Holds:
    def fault(came: Any) -> Text | None:
        if isinstance(came, int) and 0 < came <= most:
            return None
        if came == 0:
            return (
                "no place of the pool is reserved: state[0] is still 0, so no row has moved. A new row has no places: its first edge "
                "moves it",
                "池中没有保留任何位置：state[0] 仍为 0，没有任何行搬移过。新行没有位置：它的第一条边就要搬移",
            )
        return (
            f"{came} places of the pool were used, at most {most} are needed",
            f"池中用了 {came} 个位置，最多需要 {most} 个",
        )

    return Holds(fault, (f"at most {most} places", f"至多 {most} 个位置"))


def insert(rng: np.random.Generator) -> Iterator[Case]:
    behind: Text = (
        "New edges go behind the last one of their row, in the order given; the same row may come several times in a batch. A row that moves takes all of its edges along.",
        "新边按给出的次序放在该行最后一条边之后；同一行在一批中可出现多次。搬移的行要带上所有边。",
    )
    moves: Text = (
        "A full row moves to state[0], with all of its neighbours and edges, and offsets, capacities and state[0] change with it.",
        "满的行搬到 state[0]，连同所有邻居和边，并更新 offsets、capacities 和 state[0]。",
    )
    stays: Text = (
        "Places that a snapshot reads are never written again: copy the row when it moves, and only write behind its last edge.",
        "快照会读取的位置不可再写：搬移时复制整行，只写在最后一条边之后。",
    )
    twice: Text = (
        "Twice the room at each move: then n edges use less than 4 n places in all. One place more at each move uses n^2 / 2.",
        "每次搬移容量加倍：n 条边总共用不到 4 n 个位置。若每次只多一个位置，则需 n^2 / 2 个。",
    )
    adds = int(rng.integers(700, 900))
    yield Case(("room doubles", "容量加倍"), "places_used", (adds,), few_places(4 * adds), twice)
    for name, name_zh, count, sizes, hint in (
        ("many rows", "许多行", 30, (60, 80), behind),
        ("three rows that grow long", "三行越来越长", 3, (5, 70, 200), moves),
        ("one row, edge after edge", "一行，逐条加入", 1, (1,) * 110, moves),
        ("small batches", "小批", 12, (3,) * 60, moves),
    ):
        batches = [(rng.integers(0, count, size), rng.integers(0, 1000, size)) for size in sizes]
        yield Case((name, name_zh), "rows_grown", (count, batches), grown(count, batches), hint)
    batches = [(rng.integers(0, 6, 8), rng.integers(0, 1000, 8)) for _ in range(20)]
    names = "a view after each batch, read at the end", "每批之后的视图，最后读取"
    yield Case(names, "rows_seen", (6, batches), listed(6, batches)[2], stays)
    updates = []
    ends: list[list[int]] = []
    for step in range(12):
        if step % 3 == 2:
            gone = rng.choice(len(ends), 10, replace=False)
            updates.append(("remove", *np.array([ends[i] for i in gone]).T))
            ends = [pair for i, pair in enumerate(ends) if i not in set(gone.tolist())]
        else:
            # Different pairs: of equal ones it would be open in which order they are removed.
            free = np.setdiff1d(np.arange(144), [12 * s + t for s, t in ends])
            pairs = rng.choice(free, 15, replace=False)
            updates.append(("add", pairs // 12, pairs % 12))
            ends += [[int(p // 12), int(p % 12)] for p in pairs]
    names = "snapshots of the library's DynamicGraph", "库中 DynamicGraph 的快照"
    yield Case(names, "graph_changed", (12, updates), updated(12, updates), stays)


# --- path counts --------------------------------------------------------------------------------------------------


def compressed(dense: np.ndarray) -> list[np.ndarray]:
    rows, columns = np.nonzero(dense)
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=len(dense))))
    return [starts, columns, dense[rows, columns]]


def scattered(rng: np.random.Generator, height: int, width: int, share: float, most: int = 4) -> np.ndarray:
    return rng.integers(1, most, (height, width)) * (rng.random((height, width)) < share)


def path_product(rng: np.random.Generator) -> Iterator[Case]:
    added: Text = (
        "The count from a to c is the sum over all middle nodes b of left count times right count, in one entry.",
        "a 到 c 的计数是对所有中间节点 b 求左计数乘右计数之和，只占一项。",
    )
    once: Text = (
        "Each end node is written to reached once, when its total is still 0; totals is cleared after each row.",
        "每个终点只在其总数仍为 0 时写入 reached 一次；每行之后清零 totals。",
    )
    for name, name_zh, sizes, shares, most, hint in (
        ("few edges", "边很少", (60, 50, 70), (0.05, 0.05), 4, once),
        ("many ways to each node", "每个节点有许多条路", (20, 15, 18), (0.5, 0.5), 4, added),
        ("one middle node", "只有一个中间节点", (15, 1, 12), (0.9, 0.9), 9, added),
        ("rows without entries", "没有元素的行", (80, 30, 40), (0.02, 0.3), 3, once),
        ("large counts", "很大的计数", (12, 10, 11), (0.6, 0.6), 2**20, added),
    ):
        left = scattered(rng, sizes[0], sizes[1], shares[0], most)
        right = scattered(rng, sizes[1], sizes[2], shares[1], most)
        args = compressed(left), compressed(right), [sizes[1], sizes[2]]
        yield Case(
            (name, name_zh), "counts_multiplied", args, tuple(compressed(left @ right)), hint, rtol=0, atol=0
        )
    left, right = np.zeros((6, 5), L), scattered(rng, 5, 30, 0.5)
    args = compressed(left), compressed(right), [5, 30]
    yield Case(
        ("nothing at all", "空的左矩阵"), "counts_multiplied", args, tuple(compressed(left @ right)), once
    )
    sizes = {"author": 20, "paper": 35, "venue": 4}
    writes = np.stack([rng.integers(0, 20, 90), rng.integers(0, 35, 90)], 1)
    appears = np.stack([np.arange(35), rng.integers(0, 4, 35)], 1)
    links = {"author writes paper": writes, "paper appears_in venue": appears}
    a, b = np.zeros((20, 35), L), np.zeros((35, 4), L)
    np.add.at(a, tuple(writes.T), 1)
    np.add.at(b, tuple(appears.T), 1)
    for name, name_zh, path, expected in (
        (
            "coauthors, through the library's HeteroGraph",
            "合著者，经过库的 HeteroGraph",
            ["author", "paper", "author"],
            a @ a.T,
        ),
        (
            "authors of the same venue",
            "同一会议的作者",
            ["author", "paper", "venue", "paper", "author"],
            a @ b @ b.T @ a.T,
        ),
    ):
        yield Case((name, name_zh), "paths_counted", (sizes, links, path), expected, added, rtol=0, atol=0)


# --- attention over paths -----------------------------------------------------------------------------------------


def han(paths: list[np.ndarray], x: Any, weight: Any, v: Any, b: Any, q: Any) -> tuple[Any, Any]:
    """(output, weights of the paths), by the formula, where all neighbours of a node count the same."""
    found = []
    for ends in paths:
        matrix = np.zeros((len(x), len(x)))
        np.add.at(matrix, (ends[:, 1], ends[:, 0]), 1)
        mean = torch.from_numpy(matrix / np.maximum(matrix.sum(1, keepdims=True), 1))
        found.append(torch.tanh(mean @ (x @ weight)))
    z = torch.stack(found)
    beta = torch.softmax((torch.tanh(z @ v + b) @ q.T)[..., 0].mean(1), 0)
    return (beta[:, None, None] * z).sum(0), beta


def attended(rng: np.random.Generator, names: Text, hint: Text, count: int, ways: int, size: int, edges: int, scale: float = 1.0) -> Case:  # fmt: skip
    paths = [rng.integers(0, count, (edges, 2)) for _ in range(ways)]
    x, g = draw(rng, count, 5), draw(rng, count, size)
    arrays = [draw(rng, 5, size), draw(rng, size, size), draw(rng, size), scale * draw(rng, 1, size)]
    leaves = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, *arrays)]
    output, beta = han(paths, *leaves)
    output.backward(torch.tensor(g).double())
    expected = tuple(t.detach().numpy() for t in (output, beta, leaves[0].grad, leaves[4].grad))
    return Case(names, "paths_attended", (paths, x, arrays, g), expected, hint, rtol=2e-3, atol=2e-3)


def han_forward(rng: np.random.Generator) -> Iterator[Case]:
    one: Text = (
        "A path has one weight for all nodes: the mean of its scores over the nodes goes into the softmax, which is over the paths.",
        "一条路径对所有节点只有一个权重：先对节点取得分的平均，再在路径之间做 softmax。",
    )
    squashed: Text = (
        "score = q . tanh(V z + b), with tanh before the product with q; then the mean, not the sum, over the nodes.",
        "score = q . tanh(V z + b)：先 tanh 再与 q 相乘；对节点取平均而不是求和。",
    )
    summed: Text = ("The output is the sum of weight times z of each path.", "输出是各路径权重乘 z 之和。")
    yield attended(rng, ("two paths", "两条路径"), one, 20, 2, 6, 60)
    yield attended(rng, ("five paths", "五条路径"), summed, 12, 5, 9, 40)
    yield attended(rng, ("many nodes", "许多节点"), squashed, 150, 3, 4, 600)
    yield attended(rng, ("large scores", "得分很大"), squashed, 30, 3, 8, 90, scale=3.0)


# --- the past -----------------------------------------------------------------------------------------------------


def timed_rows(
    rng: np.random.Generator, count: int, size: int, moments: int
) -> tuple[np.ndarray, np.ndarray]:
    """(starts, times), the times of each row ascending; few different ones, so that many are equal."""
    rows = np.sort(rng.integers(0, count, size))
    times = rng.integers(0, moments, size).astype(float)
    return np.append(0, np.cumsum(np.bincount(rows, minlength=count))), times[np.lexsort((times, rows))]


def between(
    starts: np.ndarray, times: np.ndarray, nodes: np.ndarray, after: np.ndarray, before: np.ndarray
) -> Any:
    """(begins, degrees), by a look at every edge."""
    begins, degrees = [], []
    for node, low, high in zip(nodes.tolist(), after.tolist(), before.tolist(), strict=True):
        row = times[starts[node] : starts[node + 1]]
        begins.append(starts[node] + int((row < low).sum()))
        degrees.append(int(((row >= low) & (row < high)).sum()))
    return np.array(begins), np.array(degrees)


def latest(
    ends: np.ndarray,
    times: np.ndarray,
    seeds: np.ndarray,
    moments: np.ndarray,
    sizes: list[int],
    window: float | None,
) -> np.ndarray:
    """Numbers of the edges that a temporal sample has: hop after hop the latest before the seed's moment."""
    found = []
    for seed, moment in zip(seeds.tolist(), moments.tolist(), strict=True):
        frontier = [seed]
        for size in sizes:
            reached = []
            for node in frontier:
                low = -np.inf if window is None else moment - window
                into = np.flatnonzero((ends[:, 1] == node) & (times < moment) & (times >= low))
                chosen = into[np.argsort(times[into], kind="stable")][-size:]
                found += chosen.tolist()
                reached += ends[chosen, 0].tolist()
            frontier = reached
    return np.sort(np.array(found, L))


def rows_between(rng: np.random.Generator) -> Iterator[Case]:
    never: Text = (
        "An edge at the moment `before` itself does not count: time < before. An edge at `after` counts: after <= time.",
        "恰在 before 时刻的边不算：时刻 < before。恰在 after 时刻的边要算：after <= 时刻。",
    )
    inside: Text = (
        "Search only between starts[node] and starts[node + 1]: times ascend within a row, not over all rows.",
        "只在 starts[node] 与 starts[node + 1] 之间查找：时刻只在行内递增。",
    )
    for name, name_zh, count, size, moments, nodes, hint in (
        ("many rows", "许多行", 40, 400, 1000, 150, inside),
        ("equal times", "相同的时刻", 10, 300, 6, 120, never),
        ("rows without edges", "没有边的行", 90, 40, 30, 110, inside),
        ("one long row", "一个长行", 1, 700, 300, 130, inside),
    ):
        starts, times = timed_rows(rng, count, size, moments)
        chosen = rng.integers(0, count, nodes)
        # Only where equal times are asked for is a moment also the time of an edge.
        before = rng.integers(0, moments + 1, nodes) + (0.0 if hint is never else 0.5)
        after = before - rng.integers(0, moments // 2 + 1, nodes)
        after[::4] = -np.inf
        args = starts, times, chosen, after, before
        yield Case((name, name_zh), "past_found", args, between(*args), hint)
    ends, times = rng.integers(0, 30, (300, 2)), rng.permutation(300).astype(float)
    seeds, moments = rng.integers(0, 30, 40), rng.integers(100, 301, 40).astype(float)
    for name, name_zh, sizes, window in (
        ("two hops of the library's Timeline", "库中 Timeline 的两跳", [3, 2], None),
        ("with a window", "带时间窗", [4, 4], 60.0),
    ):
        args = ends, times, 30, seeds, moments, sizes, window
        expected = latest(ends, times, seeds, moments, sizes, window)
        yield Case((name, name_zh), "past_sampled", args, expected, never)


EXERCISES = [
    Exercise("graph.growing_rows.GrowingRows.insert", 3, "Rows that grow", "会增长的行", insert, (*LIBRARY, "loops", "insert", "DynamicGraph"), seconds=COMPILING),
    Exercise("graph.meta_path.product", 3, "Counts of paths", "路径计数", path_product, (*LIBRARY, "spgemm_columns", "spgemm_values", "path_counts", "matmul", "dot", "@", "einsum", "to_dense"), seconds=COMPILING),
    Exercise("graph.nn.HANConv.forward", 2, "Attention over paths", "路径上的注意力", han_forward, ("HANConv", "forward", "torch_geometric", "super", "sampan.kernels"), seconds=COMPILING),
    Exercise("kernels.graph.rows_between", 2, "Only the past", "只看过去", rows_between, (*LIBRARY, "rows_between", "searchsorted", "bisect", "bisect_left", "bucketize", "digitize"), seconds=COMPILING),
]  # fmt: skip  # a table
