"""Hidden checks of notebook 01. Oracles: NumPy in float64, and the definition of a topological order."""

from collections.abc import Iterator

import numpy as np

from sampan.learn.cases import Case, Text
from sampan.learn.plain import Strided
from studio.grading.exercise import Exercise
from studio.lessons.tensors import ordered


def summed_back(gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """For each element of the input, the sum over all its copies, at the positions where broadcasting put them."""
    size = int(np.prod(shape, dtype=int))
    owner = np.broadcast_to(np.arange(size).reshape(shape), gradient.shape)
    sums = np.bincount(owner.ravel(), gradient.astype(np.float64).ravel(), minlength=size)
    return sums.astype(np.float64).reshape(shape)  # of nothing, bincount gives integers


def unbroadcast(rng: np.random.Generator) -> Iterator[Case]:
    hint = (
        "Every axis along which the input was repeated is summed, however many there are, and axes of length 1 are kept.",
        "每个被重复的轴都要求和，无论有几个；长度为 1 的轴要保留。",
    )
    cases: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...]], ...] = (
        ("nothing was repeated", "没有重复", (40, 5), (40, 5)),
        ("two new axes on the left", "左边多出两个轴", (3, 4, 150), (150,)),
        ("one axis in the middle", "中间一个轴", (4, 5, 6), (4, 1, 6)),
        ("two axes of length 1", "两个长度为 1 的轴", (6, 7, 30), (1, 7, 1)),
        ("new axes and an axis of length 1 together", "新轴与长度为 1 的轴同时出现", (2, 3, 4, 50), (4, 1)),
        ("a length of 1 that was not repeated", "长度为 1 但没有重复的轴", (1, 8), (1, 1)),
        ("a single number", "单独一个数", (3, 5), ()),
        ("an empty gradient", "空的梯度", (0, 4), (4,)),
    )
    for name, name_zh, big, small in cases:
        g = rng.normal(size=big).astype(np.float32)
        yield Case((name, name_zh), "call", (g, small), summed_back(g, small), hint, rtol=1e-4, atol=1e-4)
    g = rng.normal(size=(4, 6, 10))
    yield Case(
        name=("a gradient that is a view with gaps", "有间隔的视图梯度"),
        driver="call",
        args=(Strided(g), (6, 1)),
        expected=summed_back(g, (6, 1)),
        hint=(
            "A gradient need not be contiguous: .reshape works, .view does not.",
            "梯度不一定连续：用 reshape，不用 view。",
        ),
    )
    x, w, b = rng.normal(size=(5, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)
    weights = rng.normal(size=(5, 4))
    yield Case(
        name=("a bias, through the library's tape", "经过磁带的偏置"),
        driver="expression",
        args=([x, w, b], weights, "affine"),
        expected=(x @ w + b, [weights @ w.T, x.T @ weights, weights.sum(0)]),
        hint=("The bias was added to every row of the batch.", "偏置加到了这一批的每一行。"),
    )


def multiply(rng: np.random.Generator) -> Iterator[Case]:
    chain: Text = (
        "The chain rule: the incoming gradient multiplies the local derivative.",
        "链式法则：上游传来的梯度要乘上局部导数。",
    )
    x, y, g = (rng.normal(size=(12, 15)).astype(np.float32) for _ in range(3))
    yield Case(
        ("a gradient that is not one", "不为一的梯度"),
        "pullback",
        ([x, y], g),
        (x * y, [g * y, g * x]),
        chain,
    )
    x, y, g = rng.normal(size=(6, 8)), rng.normal(size=(1, 8)), rng.normal(size=(6, 8))
    yield Case(
        name=("a row times a matrix, through the tape", "行乘矩阵，经过磁带"),
        driver="gradient",
        args=([x, y], g),
        expected=(x * y, [g * y, (g * x).sum(0, keepdims=True)]),
        hint=(
            "Leave shapes to the tape: it sums back what broadcasting repeated.",
            "形状交给磁带处理：广播重复过的，它会求和还原。",
        ),
    )
    x, y, g = (rng.normal(size=(4, 4)) for _ in range(3))
    yield Case(
        name=("two products and a sum, through the tape", "两个乘积与一个和，经过磁带"),
        driver="expression",
        args=([x, y], g, "diamond"),
        expected=((x * y) * (x + y), [g * (2 * x * y + y * y), g * (x * x + 2 * x * y)]),
        hint=chain,
    )
    yield Case(
        name=("second derivatives", "二阶导数"),
        driver="second",
        args=([x, y], g, "diamond"),
        expected=[2 * g * y + 2 * g * (x + y), 2 * g * x + 2 * g * (x + y)],
        hint=(
            "In a second derivative your pullback runs on Tensors: plain * on x, y and the gradient is enough.",
            "求二阶导数时，拉回函数在 Tensor 上运行：对 x、y 和梯度直接用 * 即可。",
        ),
    )


def topological_order(rng: np.random.Generator) -> Iterator[Case]:
    late: Text = (
        "A node passes its gradient on only after every consumer has sent its part: paths of different length meet.",
        "节点要等所有使用它的节点都传来梯度之后才能继续：长短不同的路径会汇合。",
    )
    deep: Text = (
        "A tape may be thousands of nodes long: use your own stack instead of recursion.",
        "磁带可能有上万个节点：不要用递归。",
    )
    short = [[1, 3], [2], [3], [None]]
    yield Case(
        ("a short way and a long way to one node", "长短两条路"),
        "order",
        (short, [0]),
        ordered(short, [0]),
        late,
    )
    for size in (60, 400):
        graph = random_tape(rng, size)
        roots = [0, *rng.choice(np.arange(1, size), 2, replace=False).tolist()]
        name = (f"a random tape of {size} nodes, three roots", f"{size} 个节点、三个根的随机磁带")
        yield Case(name, "order", (graph, roots), ordered(graph, roots), late)
    chain: list[list[int | None]] = [[i + 1] for i in range(20_000)]
    chain.append([None])
    yield Case(("a chain of 20,000 nodes", "两万节点的链"), "order", (chain, [0]), ordered(chain, [0]), deep)
    ladder: list[list[int | None]] = [[i + 1, i + 1] for i in range(60)]
    ladder.append([None])
    yield Case(
        name=("60 squares in a row", "连续平方 60 次"),
        driver="order",
        args=(ladder, [0]),
        expected=ordered(ladder, [0]),
        hint=("Visit each node once: there are 2^60 paths.", "每个节点只访问一次：路径有 2^60 条。"),
    )
    x, y, g = rng.normal(1, 0.1, (6, 6)), rng.normal(0.5, 0.1, (6, 6)), rng.normal(size=(6, 6))
    base, slope_x, slope_y = x * y, y, x
    deep_value, deep_x, deep_y = base, slope_x, slope_y
    for _ in range(6):
        deep_x, deep_y = deep_x * y + slope_x, deep_y * y + deep_value + slope_y
        deep_value = deep_value * y + base
    yield Case(
        name=("a gradient through the library's tape", "经过库的磁带求梯度"),
        driver="expression",
        args=([x, y], g, "shared"),
        expected=(
            deep_value * base + base,
            [
                g * (deep_x * base + deep_value * slope_x + slope_x),
                g * (deep_y * base + deep_value * slope_y + slope_y),
            ],
        ),
        hint=late,
    )


def random_tape(rng: np.random.Generator, size: int) -> list[list[int | None]]:
    """Node i is made from 0 to 3 later ones, with shuffled labels except for the root 0; some inputs are leaves."""
    label = [0, *(1 + rng.permutation(size - 1)).tolist()]
    graph: list[list[int | None]] = [[] for _ in range(size)]
    for i in range(size - 1):
        picks = [i + 1 + int(rng.integers(min(6, size - i - 1))) for _ in range(int(rng.integers(1, 4)))]
        graph[label[i]] = [None if rng.random() < 0.15 else label[pick] for pick in picks]
    graph[label[-1]] = [None]
    return graph


# Other automatic differentiation, which would do the exercise.
BACKWARD = (
    *(
        "backward",
        "vjp",
        "jvp",
        "jacobian",
        "jacrev",
        "jacfwd",
        "grad",
        "grad_fn",
        "torch.func",
        "torch.autograd",
    ),
    *(
        "requires_grad",
        "requires_grad_",
        "sampan.ops",
        "sampan.autograd",
        "sampan.engine",
        "paddle.autograd",
        "jax",
        "autograd",
    ),
)
EXERCISES = [
    Exercise(
        "autograd.unbroadcast",
        3,
        "Undo a broadcast",
        "撤销广播",
        unbroadcast,
        forbid=(*BACKWARD, "sum_to_size", "_unbroadcast", "_sum_to_size", "sum_to"),
    ),
    Exercise(
        "ops.multiply",
        2,
        "The pullback of a product",
        "乘积的拉回函数",
        multiply,
        forbid=(*BACKWARD, "multiply", "multiply_"),
    ),
    Exercise(
        "autograd.topological_order",
        3,
        "In which order?",
        "按什么次序？",
        topological_order,
        forbid=(
            *BACKWARD,
            "sequence",
            "_by_sequence",
            "graphlib",
            "TopologicalSorter",
            "networkx",
            "topological_sort",
        ),
    ),
]
