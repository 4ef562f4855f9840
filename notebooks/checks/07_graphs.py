"""Hidden checks of notebook 07. Oracles: a stable sort, dense adjacency matrices in float64 with torch's autograd, exhaustive
subsets with a chi-square test, and breadth-first search."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import torch
from scipy.stats import chi2

from sampan.learn.cases import Case, Holds, Text
from studio.grading.exercise import Exercise

F, L = np.float32, np.int64
COMPILING = 20.0  # seconds: the first call waits for numba
TIGHT = {"rtol": 1e-4, "atol": 1e-4}
SORTS = ("sorted", "argsort", "lexsort", "sort", "argpartition", "unique", "heapq", "groupby", "scipy", "networkx", "pandas", "torch_geometric", "sparse", "to_sparse")  # fmt: skip
LIBRARY = ("sampan.kernels", "sampan.graph", "sampan.geometric", "sampan.sparse", "sampan.engine", "torch.sparse", "scipy", "networkx", "torch_geometric")  # fmt: skip
CHANCE = 1e-12  # of a fair sampler to fail a test


def draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(F)


# --- compressed rows ----------------------------------------------------------------------------------------------


def compressed(rows: np.ndarray, columns: np.ndarray, height: int) -> tuple[np.ndarray, ...]:
    """(starts, neighbours, edges), by a stable sort."""
    order = np.argsort(rows, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=height)))
    return starts, columns[order], order


def compress(rng: np.random.Generator) -> Iterator[Case]:
    order: Text = (
        "The edges of a row keep the order in which they were given, and repeated edges stay.",
        "同一行的边保持给出的次序，重复的边也保留。",
    )
    empty: Text = (
        "A row without edges starts where the next one starts. starts has height + 1 numbers, also where the last rows are empty.",
        "没有边的行与下一行起点相同。starts 共有 height + 1 个数，末尾几行为空时也是。",
    )
    for name, name_zh, height, width, count, hint in (
        ("edges in any order", "次序打乱的边", 12, 40, 150, order),
        ("edges that repeat", "重复的边", 5, 4, 200, order),
        ("one row", "只有一行", 1, 30, 110, order),
        ("more rows than edges", "行比边多", 400, 9, 60, empty),
    ):
        rows, columns = rng.integers(0, height, count), rng.integers(0, width, count)
        args = rows, columns, height
        yield Case((name, name_zh), "edges_compressed", args, compressed(*args), hint)
    rows, columns = rng.choice([2, 3, 6], 80), rng.integers(0, 50, 80)
    args = rows, columns, 11
    names = "empty rows at the beginning, in the middle and at the end", "开头、中间和末尾的空行"
    yield Case(names, "edges_compressed", args, compressed(*args), empty)
    none = np.zeros(0, L)
    yield Case(("no edges", "没有边"), "edges_compressed", (none, none, 7), compressed(none, none, 7), empty)
    args = rng.integers(0, 3000, 20_000), rng.integers(0, 3000, 20_000), 3000
    names = "twenty thousand edges", "两万条边"
    yield Case(names, "edges_compressed", args, compressed(*args), order)
    rows, columns = rng.integers(0, 9, 40), rng.integers(0, 9, 40)
    unspoilt: Text = ("Do not write into the given rows and columns.", "不要改写传入的 rows 和 columns。")
    yield Case(
        ("the inputs are unchanged", "不改动输入"),
        "edges_unspoilt",
        (rows, columns, 9),
        (rows, columns),
        unspoilt,
    )
    yield graph_made(rng, order)


def graph_made(rng: np.random.Generator, hint: Text) -> Case:
    """Sums of messages through a Graph that the slot has built; the dense matrix is the oracle."""
    count, size = 25, 130
    sources, targets, x = rng.integers(0, count, size), rng.integers(0, count, size), draw(rng, count, 6)
    matrix = np.zeros((count, count))
    np.add.at(matrix, (targets, sources), 1)
    expected = matrix @ x, np.argsort(targets, kind="stable")
    args = sources, targets, count, x
    return Case(
        ("through the library's Graph", "经过库的 Graph"), "graph_made", args, expected, hint, **TIGHT
    )


# --- messages -----------------------------------------------------------------------------------------------------


def mixing(sources: np.ndarray, targets: np.ndarray, sizes: list[int], mean: str) -> torch.Tensor:
    """The dense matrix [targets, sources] of a sum of messages."""
    factors = np.ones(sources.size)
    if mean == "targets":
        factors /= np.bincount(targets, minlength=sizes[1])[targets]
    elif mean == "sources":
        factors /= np.bincount(sources, minlength=sizes[0])[sources]
    matrix = np.zeros((sizes[1], sizes[0]))
    np.add.at(matrix, (targets, sources), factors)
    return torch.from_numpy(matrix)


def neighbour_sum(rng: np.random.Generator) -> Iterator[Case]:
    each: Text = (
        "Row t of out is the sum over all places of row t, repeated edges included; its gradient goes back along the turned edges.",
        "out 的第 t 行是第 t 行所有位置之和，重复的边也算；梯度沿反向的边返回。",
    )
    nothing: Text = (
        "A node that receives nothing has zeros: out holds other numbers before.",
        "没有收到消息的节点为零：out 中原先是别的数。",
    )
    factor: Text = (
        "Each message is multiplied by the factor of its place. For the turned edges the factor belongs to the other end: "
        "OTHER_END[mean].",
        "每条消息乘以所在位置的系数。边反向后，系数属于另一端：OTHER_END[mean]。",
    )
    for name, name_zh, sizes, count, width, mean, hint in (
        ("a sum", "求和", [20, 20], 90, 7, "", each),
        ("repeated edges and self loops", "重复的边和自环", [4, 4], 60, 30, "", each),
        ("nodes that send or receive nothing", "不发或不收的节点", [60, 50], 30, 5, "", nothing),
        ("a mean over the edges of the target", "按目标的边取平均", [15, 12], 80, 9, "targets", factor),
        ("a mean over the edges of the source", "按来源的边取平均", [15, 12], 80, 9, "sources", factor),
        ("one number a node", "每个节点一个数", [130, 120], 300, 1, "targets", factor),
    ):
        sources, targets = rng.integers(0, sizes[0], count), rng.integers(0, sizes[1], count)
        x, g = draw(rng, sizes[0], width), draw(rng, sizes[1], width)
        matrix = mixing(sources, targets, sizes, mean).numpy()
        expected = matrix @ x, [matrix.T @ g]
        args = [x], sources, targets, sizes, mean, g
        yield Case((name, name_zh), "messages_summed", args, expected, hint, **TIGHT)
    x, sources, targets = draw(rng, 12, 10) / 4, rng.integers(0, 12, 40), rng.integers(0, 12, 40)
    matrix = mixing(sources, targets, [12, 12], "targets")
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(((matrix @ leaf) ** 3).sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad((first**2).sum(), leaf)
    args = x, sources, targets, "targets"
    names = "second derivatives, through the library", "二阶导数，经过库"
    yield Case(names, "messages_twice", args, second.numpy(), factor, rtol=1e-3, atol=1e-3)


# --- samples ------------------------------------------------------------------------------------------------------


def uniform(degree: int, count: int, rounds: int) -> Holds:
    """Every subset of `count` of `degree` places comes equally often: a chi-square test over all subsets, or over single places
    where there are too many subsets."""
    subsets = (
        {subset: k for k, subset in enumerate(combinations(range(degree), count))} if degree <= 9 else {}
    )

    def fault(came: Any) -> Text | None:
        array = np.asarray(came)
        if array.shape != (rounds, count) or array.dtype.kind not in "iu":
            return f"expected places of shape [{rounds}, {count}]", f"位置的形状应为 [{rounds}, {count}]"
        if (array < 0).any() or (array >= degree).any():
            return "a place lies outside of the row", "有位置在这一行之外"
        if (np.diff(array, axis=1) == 0).any():
            return "a place was drawn twice in one row", "同一行中某位置抽到两次"
        seen = [subsets[tuple(row)] for row in array.tolist()] if subsets else array.ravel()
        often = np.bincount(seen, minlength=len(subsets) or degree)
        expected = often.sum() / often.size
        distance = float(((often - expected) ** 2).sum() / expected)
        if distance <= chi2.isf(CHANCE, often.size - 1):
            return None
        rare, common = often.min() / expected, often.max() / expected
        what, what_zh = ("sets of places", "位置的组合") if subsets else ("places", "位置")
        return (
            f"some {what} come {common:.2f} times as often as they should, others {rare:.2f} times",
            f"有的{what_zh}出现次数是应有的 {common:.2f} 倍，有的只有 {rare:.2f} 倍",
        )

    return Holds(fault, ("each set of places equally likely", "每组位置的概率相同"))


def reached(sources: np.ndarray, targets: np.ndarray, seeds: np.ndarray, hops: int) -> np.ndarray:
    """Numbers of all edges into nodes less than `hops` away from a seed."""
    frontier, known, found = set(seeds.tolist()), set(seeds.tolist()), []
    for _ in range(hops):
        into = np.flatnonzero(np.isin(targets, list(frontier)))
        found.append(into)
        frontier = set(sources[into].tolist()) - known
        known |= frontier
    return np.sort(np.concatenate(found))


def fanned(targets: np.ndarray, seeds: np.ndarray, size: int) -> Holds:
    """One hop: of each seed min(degree, size) different edges, the same ones for the same seed of the generator."""

    def fault(came: Any) -> Text | None:
        one, again, other = (np.asarray(part) for part in came)
        if one.shape != again.shape or (one != again).any():
            return "the same seed gives two different samples", "同一个种子得到两个不同的样本"
        if one.shape == other.shape and (one == other).all():
            return "another seed gives the same sample", "另一个种子得到同样的样本"
        if np.unique(one).size != one.size:
            return "an edge was sampled twice", "同一条边抽到两次"
        wanted = np.minimum(np.bincount(targets, minlength=targets.max() + 1)[seeds], size)
        if (np.bincount(targets[one], minlength=targets.max() + 1)[seeds] != wanted).any():
            return "a node has another number of sampled edges", "某节点抽到的边数不对"
        return None

    return Holds(
        fault,
        (
            "min(degree, size) different edges of each seed, the same for the same seed",
            "每个种子节点 min(degree, size) 条不同的边，相同随机种子结果相同",
        ),
    )


def drawn(rng: np.random.Generator) -> Iterator[Case]:
    likely: Text = (
        "Each set of `count` different places of the row has the same probability. Each draw must be over all places that are "
        "still allowed, and a collision must not favour a neighbour.",
        "一行中每个由 count 个不同位置组成的集合概率相同。每次都要在所有仍允许的位置中均匀抽取，冲突时不能偏向相邻位置。",
    )
    whole: Text = (
        "Where as many are drawn as the row has, all of its places come, each once, from begin on.",
        "抽取个数等于度时，该行每个位置恰好出现一次，从 begin 开始。",
    )
    degrees = rng.integers(0, 12, 60)
    begins = np.cumsum(degrees) - degrees + 2
    expected = np.repeat(begins, degrees) + np.concatenate([np.arange(d) for d in degrees])
    args = begins, degrees, degrees, rng.integers(0, 99, int(degrees.sum()) + 5), int(rng.integers(1, 10**6))
    yield Case(
        ("every place of every row", "每行的每个位置"), "places_drawn", args, (expected, degrees), whole
    )
    for name, name_zh, degree, count, rounds in (
        ("one of seven", "七个中抽一个", 7, 1, 5000),
        ("two of five", "五个中抽两个", 5, 2, 8000),
        ("three of six", "六个中抽三个", 6, 3, 8000),
        ("seven of eight", "八个中抽七个", 8, 7, 6000),
        ("twenty-five of four hundred", "四百个中抽二十五个", 400, 25, 3000),
    ):
        args = degree, count, rounds, int(rng.integers(1, 10**6))
        yield Case((name, name_zh), "places_repeated", args, uniform(degree, count, rounds), likely)
    sources, targets = rng.integers(0, 200, 900), rng.integers(0, 200, 900)
    seeds = rng.choice(200, 30, replace=False)
    args = sources, targets, 200, seeds, [900, 900], int(rng.integers(1, 10**6))
    names = "two hops of all edges, through the library's k_hop", "两跳的全部边，经过库的 k_hop"
    yield Case(names, "hops_sampled", args, reached(sources, targets, seeds, 2), whole)
    args = sources, targets, 200, seeds, [3], int(rng.integers(1, 10**6))
    names = "three of each node, and the same again", "每个节点抽三条，重复一次结果相同"
    yield Case(names, "hops_repeated", args, fanned(targets, seeds, 3), likely)


# --- the convolution ----------------------------------------------------------------------------------------------


def gcn(edges: np.ndarray, count: int, norm: Any, x: Any, weight: Any, bias: Any) -> Any:
    """norm * (A (norm * X W)) + b over a dense matrix, in float64; norm: True, False or factors [nodes, 1]."""
    matrix = mixing(edges[:, 0], edges[:, 1], [count, count], "")
    if norm is True:
        norm = matrix.sum(1).clamp(min=1)[:, None] ** -0.5
    factor = 1.0 if norm is False else torch.as_tensor(norm, dtype=torch.float64)
    return (matrix @ (x @ weight * factor)) * factor + bias


def gcn_case(
    rng: np.random.Generator, names: Text, hint: Text, count: int, size: int, widths: tuple[int, int], norm: Any = True,
    activation: str | None = None,
) -> Case:  # fmt: skip
    edges = rng.integers(0, count, (size, 2))
    arrays = [draw(rng, count, widths[0]), draw(rng, *widths), draw(rng, widths[1])]
    g = draw(rng, count, widths[1])
    x, weight, bias = (torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays)
    output = gcn(edges, count, norm, x, weight, bias)
    output = torch.tanh(output) if activation else output
    output.backward(torch.tensor(g).double())
    settings: dict[str, Any] = {"activation": activation} if activation else {}
    given = None if isinstance(norm, bool) else norm
    if norm is False:
        settings["norm"] = False
    expected = tuple(t.detach().numpy() for t in (output, x.grad, weight.grad, bias.grad))
    return Case(
        names, "convolved", (edges, count, arrays, settings, given, g), expected, hint, rtol=1e-3, atol=1e-3
    )


def gcn_forward(rng: np.random.Generator) -> Iterator[Case]:
    both: Text = (
        "Divide by sqrt(degree) twice: by the sender's before the sum, by the receiver's after it. The degree is the number of edges "
        "into the node.",
        "两次除以 sqrt(度)：求和前除以发送者的，求和后除以接收者的。度是进入节点的边数。",
    )
    none: Text = (
        "The degree of a node that no edge enters counts as 1: otherwise 1 / sqrt(0) is infinite, and what it sends is too.",
        "没有入边的节点按度为 1 计算：否则 1 / sqrt(0) 为无穷，它发出的消息也是。",
    )
    last: Text = (
        "The bias is added after the normalisation, and the activation is applied to all of it.",
        "偏置在归一化之后相加，激活函数作用于整个结果。",
    )
    given: Text = (
        "Where `norm` is given, its factors are used instead of those of the degrees.",
        "给出 norm 时，用它的系数代替由度数得到的系数。",
    )
    yield gcn_case(rng, ("many edges", "边较多"), both, 20, 160, (7, 6))
    yield gcn_case(rng, ("a wider output", "更宽的输出"), both, 14, 90, (3, 9))
    yield gcn_case(rng, ("nodes without edges", "没有边的节点"), none, 40, 30, (5, 4))
    yield gcn_case(rng, ("an activation", "激活函数"), last, 18, 90, (5, 8), activation="tanh")
    yield gcn_case(rng, ("norm=False", "不归一化"), last, 15, 60, (4, 8), norm=False)
    factors = rng.uniform(0.2, 2, (16, 1)).astype(F)
    yield gcn_case(rng, ("factors of your own", "自己给的系数"), given, 16, 70, (4, 7), norm=factors)
    yield trained(rng, both)


def trained(rng: np.random.Generator, hint: Text) -> Case:
    """Two layers after three steps of SGD; torch over the dense matrix is the oracle."""
    count, edges = 30, rng.integers(0, 30, (120, 2))
    x, labels = draw(rng, count, 6), rng.integers(0, 4, count)
    weights = [draw(rng, 6, 8) / 3, draw(rng, 8, 4) / 3]
    leaves = [torch.tensor(w, dtype=torch.float64, requires_grad=True) for w in weights]
    leaves += [torch.zeros(8, dtype=torch.float64, requires_grad=True), torch.zeros(4, dtype=torch.float64, requires_grad=True)]  # fmt: skip
    wide = torch.tensor(x, dtype=torch.float64)

    def logits() -> Any:
        hidden = torch.relu(gcn(edges, count, True, wide, leaves[0], leaves[2]))
        return gcn(edges, count, True, hidden, leaves[1], leaves[3])

    for _ in range(3):
        gradients = torch.autograd.grad(
            torch.nn.functional.cross_entropy(logits(), torch.tensor(labels)), leaves
        )
        leaves = [
            (leaf - 0.5 * g).detach().requires_grad_() for leaf, g in zip(leaves, gradients, strict=True)
        ]
    names = "two layers, three steps of training", "两层网络训练三步"
    args = edges, count, x, weights, labels
    return Case(names, "network_trained", args, logits().detach().numpy(), hint, rtol=1e-3, atol=1e-3)


EXERCISES = [
    Exercise("kernels.graph.compress", 2, "Compressed rows", "压缩行", compress, (*SORTS, *LIBRARY, "compress", "compressed", "grouped", "sparse_coo_tensor", "sparse_csr_tensor"), seconds=COMPILING),
    Exercise("graph.messages.neighbour_sum", 3, "Messages and their gradient", "消息及其梯度", neighbour_sum, ("kernels", "to_sparse", "sparse_coo_tensor", "index_add", "index_add_", "scatter_add", "scatter_add_", "at", "sparse", "scipy", "send_u_recv", "send_recv", "receive", "weighted_sum", "torch.sparse", "matmul", "mm", "backward", "autograd"), seconds=COMPILING),
    Exercise("kernels.graph.drawn", 3, "Neighbours by chance", "随机抽取邻居", drawn, (*LIBRARY, "drawn", "choice", "permutation", "sample", "randperm", "multinomial", "sample_neighbors", "shuffle"), seconds=COMPILING),
    Exercise("graph.nn.GCNConv.forward", 2, "The graph convolution", "图卷积", gcn_forward, ("degree_norm", "GCNConv", "LightGCNConv", "APPNP", "forward", "torch_geometric", "scipy", "sparse", "super"), seconds=COMPILING),
]  # fmt: skip  # a table
