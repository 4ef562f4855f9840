"""Notebook 01: strides, broadcasting and the tape."""

from __future__ import annotations

from typing import Any

import numpy as np

from sampan.learn.cases import Case, Holds, Text
from sampan.learn.lessons import Lesson, Prediction

ONES = np.ones


def _unbroadcast() -> list[Case]:
    gradient = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
    return [
        Case(
            name=("nothing was repeated", "没有重复"),
            driver="call",
            args=(gradient, (2, 3)),
            expected=gradient,
            hint=("The shapes are equal: the gradient stays as it is.", "形状相同：梯度保持不变。"),
        ),
        Case(
            name=("a row of shape [3] repeated over 2 rows", "形状 [3] 的一行重复成 2 行"),
            driver="call",
            args=(gradient, (3,)),
            expected=np.array([5.0, 7.0, 9.0]),
            hint=(
                "Each element was used once in every row: its gradients from all rows add up.",
                "每个元素在各行都用了一次：来自各行的梯度要相加。",
            ),
        ),
        Case(
            name=("a column of shape [2, 1] repeated over 3 columns", "形状 [2, 1] 的一列重复成 3 列"),
            driver="call",
            args=(gradient, (2, 1)),
            expected=np.array([[6.0], [15.0]]),
            hint=(
                "Sum along each row, and keep the axis: the shape is [2, 1], not [2].",
                "沿每一行求和并保留该轴：形状是 [2, 1]，不是 [2]。",
            ),
        ),
        Case(
            name=("one number of shape [] repeated everywhere", "形状 [] 的一个数到处重复"),
            driver="call",
            args=(gradient, ()),
            expected=np.array(21.0),
            hint=("A single number was used six times.", "同一个数用了六次。"),
        ),
        Case(
            name=("a gradient on the tape", "磁带上的梯度"),
            driver="on_tensors",
            args=(gradient, (3,)),
            expected=np.array([5.0, 7.0, 9.0]),
            hint=(
                "In a second derivative the gradient is a Tensor. Use methods that buffers and Tensors share: .sum(axis=..., "
                "keepdim=True), .reshape, .ndim, .shape.",
                "求二阶导数时，梯度是 Tensor。请用缓冲区和 Tensor 共有的方法：.sum(axis=..., keepdim=True)、.reshape、.ndim、.shape。",
            ),
        ),
    ]


def _multiply() -> list[Case]:
    x, y = np.array([1.0, 2.0, 3.0], np.float32), np.array([10.0, 20.0, 30.0], np.float32)
    return [
        Case(
            name=("three products, a gradient of ones", "三个乘积，梯度全为一"),
            driver="pullback",
            args=([x, y], ONES(3, np.float32)),
            expected=(np.array([10.0, 40.0, 90.0]), [y, x]),
            hint=(
                "If x grows by a little, x * y grows by y times as much.",
                "x 增加一点，x * y 的增量就是它的 y 倍。",
            ),
        ),
        Case(
            name=("the library's tape multiplies with it", "库的磁带用它做乘法"),
            driver="gradient",
            args=([x, y], ONES(3, np.float32)),
            expected=(np.array([10.0, 40.0, 90.0]), [y, x]),
            hint=(
                "The pullback returns a tuple with one gradient for each input, in the order x, y.",
                "拉回函数返回一个元组，每个输入一个梯度，次序为 x、y。",
            ),
        ),
    ]


def fault_of_order(parents: list[list[int | None]], roots: list[int], came: Any) -> Text | None:
    """What is wrong with an order of the nodes that `roots` were made from, or None when it is a right one."""
    reached, todo = set(roots), list(roots)
    while todo:
        for parent in parents[todo.pop()]:
            if parent is not None and parent not in reached:
                reached.add(parent)
                todo.append(parent)
    if not isinstance(came, (list, tuple)) or any(type(label) is not int for label in came):
        return "expected a list of nodes", "应返回节点列表"
    if len(came) != len(set(came)):
        return "a node is in the list twice", "有节点出现两次"
    if set(came) != reached:
        return (
            f"expected {len(reached)} nodes, got {len(came)}",
            f"应有 {len(reached)} 个节点，得到 {len(came)} 个",
        )
    place = {label: index for index, label in enumerate(came)}
    for label in came:
        for parent in parents[label]:
            if parent is not None and place[parent] < place[label]:
                return (
                    f"node {parent} is before node {label}, which still has to send it a gradient",
                    f"节点 {parent} 排在节点 {label} 之前，而后者还要向它传梯度",
                )
    return None


def ordered(parents: list[list[int | None]], roots: list[int]) -> Holds:
    """Expected of `topological_order`: any order in which every node comes after all that consume its output."""
    return Holds(
        lambda came: fault_of_order(parents, roots, came),
        ("every node after all nodes that use its output", "每个节点都排在所有使用其输出的节点之后"),
    )


def _order_case(name: Text, parents: list[list[int | None]], hint: Text) -> Case:
    return Case(name, "order", (parents, [0]), ordered(parents, [0]), hint)


def _order() -> list[Case]:
    return [
        _order_case(
            ("a chain 0 <- 1 <- 2", "链 0 <- 1 <- 2"),
            [[1], [2], [None]],
            ("The root first, then its parents, and so on.", "先是根，再是它的父节点，依此类推。"),
        ),
        _order_case(
            ("a diamond: 0 is made from 1 and 2, both from 3", "菱形：0 由 1 和 2 算出，两者都由 3 算出"),
            [[1, 2], [3, None], [3], [None, None]],
            (
                "Node 3 gets gradients from 1 and from 2: it is listed once, after both.",
                "节点 3 从 1 和 2 得到梯度：它只列一次，排在两者之后。",
            ),
        ),
        _order_case(
            ("the same parent twice, as in x * x", "同一个父节点出现两次，如 x * x"),
            [[1, 1], [None]],
            (
                "A node can be the parent of both inputs; it is visited once.",
                "一个节点可以同时是两个输入的父节点；它只访问一次。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="autograd.unbroadcast",
        hints=(
            (
                "Broadcasting used one number in several places. Each use sends back a gradient, and they add up. "
                "So: along which axes was the input repeated?",
                "广播把一个数用在了几个地方。每用一次就传回一份梯度，这些梯度要相加。那么："
                "输入是沿哪些轴重复的？",
            ),
            (
                "There are two kinds: axes that the input did not have at all (on the left), and axes where it has "
                "length 1 and the gradient has more.",
                "有两种轴：输入根本没有的轴（在左边），以及输入长度为 1 而梯度更长的轴。",
            ),
            (
                "First sum over the leading axes until the number of axes is equal: `gradient.sum(axis=0)` in a loop. Then "
                "go over the axes of `shape` and, where the length is 1, sum with `keepdim=True`.",
                "先对最前面的轴求和，直到轴数相等：在循环里用 `gradient.sum(axis=0)`。"
                "再逐个检查 `shape` 的轴，长度为 1 的用 `keepdim=True` 求和。",
            ),
        ),
        cases=_unbroadcast,
    ),
    Lesson(
        slot="ops.multiply",
        hints=(
            (
                "A body returns two things: the value, and a function from the gradient of the value to the "
                "gradients of the inputs.",
                "函数体返回两样东西：值，以及一个函数，它由值的梯度算出各输入的梯度。",
            ),
            (
                "The derivative of x * y with respect to x is y, and with respect to y it is x. The gradient g of the "
                "value multiplies both: that is the chain rule.",
                "x * y 对 x 的导数是 y，对 y 的导数是 x。两者都要乘上值的梯度 g：这就是链式法则。",
            ),
            (
                "Return a pair: the product, and a `lambda g: (..., ...)` with one entry for x and one for y.",
                "返回一对：乘积，以及 `lambda g: (..., ...)`，其中一项对应 x，一项对应 y。",
            ),
        ),
        cases=_multiply,
    ),
    Lesson(
        slot="autograd.topological_order",
        hints=(
            (
                "A node may pass its gradient on only when all parts of it have arrived. Which nodes must come before it?",
                "一个节点要等它的梯度全部到齐，才能继续传下去。哪些节点必须排在它前面？",
            ),
            (
                "Search depth first: append a node to a list after all of its parents are done. Reversed, "
                "that list has every node after its consumers. Keep a set of the nodes that you have seen.",
                "深度优先搜索：一个节点的所有父节点都处理完之后，才把它加到列表末尾。把列表反过来，"
                "每个节点就都排在使用它的节点之后。用一个集合记录访问过的节点。",
            ),
            (
                "Recursion fails on a tape of thousands of nodes. Keep a stack of pairs (node, "
                "done?): pop one; when it is done, append it to the list; else push it again as done, then push its parents.",
                "磁带长达数千个节点时，递归会失败。改用一个栈，存放（节点，是否完成）这样的对：弹出一对，"
                "如果已完成，就把节点加到列表；否则先把它标为完成再压回去，然后压入它的父节点。",
            ),
        ),
        cases=_order,
    ),
)

PREDICTIONS = (
    Prediction(
        name="tensors.expand",
        question=(
            "x holds 1,000 float32 numbers. How many bytes of new memory for numbers does "
            "x.as_strided([1000, 1000], [0, 1]) take?",
            "x 存有 1,000 个 float32 数。x.as_strided([1000, 1000], [0, 1]) 需要多少字节的新内存来存放数？",
        ),
        answer=0,
        unit=(" bytes", " 字节"),
        why=(
            "A million elements read the same thousand cells: the new axis has stride 0. Only a few numbers "
            "that describe the view are new. (x.expand([1000, 1000]) copies, so that each element can be written.)",
            "一百万个元素读的是同样的一千个存储单元：新轴的步幅是 0。新增的只是描述视图的几个数。"
            "（x.expand([1000, 1000]) 会复制，好让每个元素都能单独写入。）",
        ),
    ),
    Prediction(
        name="tensors.matmul_flops",
        question=(
            "A [64, 64] matrix times a [64, 64] matrix: how many multiplications and additions, together?",
            "[64, 64] 的矩阵乘 [64, 64] 的矩阵：乘法和加法一共多少次？",
        ),
        answer=2 * 64**3,
        unit=(" operations", " 次运算"),
        why=(
            "64 * 64 results, each a sum of 64 products: 64 multiplications and about 64 additions.",
            "结果有 64 * 64 个数，每个是 64 个乘积之和：64 次乘法，约 64 次加法。",
        ),
        tolerance=0.02,
    ),
    Prediction(
        name="tensors.add_intensity",
        question=(
            "z = x + y with a million float32 elements each. How many bytes move between memory and processor "
            "for every addition?",
            "z = x + y，两者各有一百万个 float32 元素。每做一次加法，内存与处理器之间搬运多少字节？",
        ),
        answer=12,
        unit=(" bytes", " 字节"),
        why=(
            "Two numbers of 4 bytes are read and one is written, for one addition. A processor that could do 100 "
            "additions in that time waits for memory: this is why fused loops are fast.",
            "每次加法读两个 4 字节的数，写一个。处理器本可在这段时间里做 100 次加法，却在等内存："
            "融合的循环快，原因就在这里。",
        ),
    ),
)
