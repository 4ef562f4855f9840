"""Notebook 07: compressed rows of edges, sums of messages and their gradient, sampled neighbours, the graph convolution."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case, Holds, Text
from sampan.learn.lessons import Lesson, Prediction

F, L = np.float32, np.int64


def _compressed() -> list[Case]:
    return [
        Case(
            name=("three edges, four rows", "三条边，四行"),
            driver="edges_compressed",
            args=(np.array([3, 1, 2]), np.array([0, 5, 4]), 4),
            expected=(np.array([0, 0, 1, 2, 3]), np.array([5, 4, 0]), np.array([1, 2, 0])),
            hint=(
                "Row 0 has no edge: it starts at 0 and ends at 0. Rows 1, 2 and 3 have one each: edges 1, 2 and 0.",
                "第 0 行没有边：从 0 开始到 0 结束。第 1、2、3 行各有一条：边 1、2、0。",
            ),
        ),
        Case(
            name=("two edges of one row", "同一行的两条边"),
            driver="edges_compressed",
            args=(np.array([1, 0, 1]), np.array([7, 2, 3]), 2),
            expected=(np.array([0, 1, 3]), np.array([2, 7, 3]), np.array([1, 0, 2])),
            hint=(
                "Edges 0 and 2 belong to row 1 and keep their order: first neighbour 7, then neighbour 3. If both are written to one place, "
                "the next free place of the row did not move on.",
                "边 0 和边 2 属于第 1 行并保持原来的次序：先邻居 7，后邻居 3。若两者写到同一位置，说明该行的下一个空位没有前移。",
            ),
        ),
    ]


_X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], F)


def _summed() -> list[Case]:
    sources, targets = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2])
    g = np.array([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], F)
    return [
        Case(
            name=("a cycle and one more edge", "一个环，另加一条边"),
            driver="messages_summed",
            args=([_X], sources, targets, [3, 3], "", g),
            expected=(
                np.array([[3.0, 30.0], [1.0, 10.0], [3.0, 30.0]], F),
                [np.array([[5.0, 6.0], [5.0, 5.0], [1.0, 0.0]], F)],
            ),
            hint=(
                "Node 0 sends to nodes 1 and 2, so it gets back the gradients of nodes 1 and 2: [0, 1] + [5, 5]. Each message's "
                "gradient travels from the target to the source. nan in the value: a row of out began with what was there instead of zeros.",
                "节点 0 发给节点 1 和 2，所以收回节点 1 和 2 的梯度：[0, 1] + [5, 5]。每条消息的梯度从目标回到来源。值中出现 nan：out 的行没有从零开始累加。",
            ),
        ),
        Case(
            name=("two sources, one target", "两个来源，一个目标"),
            driver="messages_summed",
            args=([_X[:2]], np.array([0, 1]), np.array([0, 0]), [2, 1], "", g[:1]),
            expected=(np.array([[3.0, 30.0]], F), [np.array([[1.0, 0.0], [1.0, 0.0]], F)]),
            hint=(
                "Both sources get the whole gradient of the target: a sum passes its gradient on to each of its terms.",
                "两个来源都得到目标的全部梯度：求和把梯度原样传给每一项。",
            ),
        ),
    ]


def _outside(came: object) -> Text | None:
    array = np.asarray(came)
    if array.shape != (5, 2):
        return "expected five rows of two places", "应为五行，每行两个位置"
    if (array < 0).any() or (array >= 6).any():
        return "a place lies outside of the row", "有位置在这一行之外"
    if (array[:, 0] == array[:, 1]).any():
        return "a place was drawn twice", "同一位置抽到两次"
    return None


def _drawn() -> list[Case]:
    return [
        Case(
            name=("all places of a row", "一行的全部位置"),
            driver="places_drawn",
            args=(np.array([4, 0]), np.array([3, 2]), np.array([3, 2]), np.arange(10), 1),
            expected=(np.array([4, 5, 6, 0, 1]), np.array([3, 2])),
            hint=(
                "The row of degree 3 begins at place 4: if three are drawn, they are 4, 5 and 6 in some order.",
                "度为 3 的行从位置 4 开始：抽三个就是 4、5、6，次序不限。",
            ),
        ),
        Case(
            name=("two of six, five times", "六个中抽两个，共五次"),
            driver="places_repeated",
            args=(6, 2, 5, 3),
            expected=Holds(
                _outside, ("two different places from 0 to 5 in each row", "每行有 0 到 5 之间的两个不同位置")
            ),
            hint=(
                "Places are begin + 0 to begin + degree - 1 (the check subtracts begin), and the two differ.",
                "位置为 begin + 0 到 begin + degree - 1（检查时已减去 begin），且两者不同。",
            ),
        ),
    ]


_RING = np.array([[0, 1], [1, 2], [2, 0], [0, 0], [1, 1], [2, 2]])


def _convolved() -> list[Case]:
    weight, g = np.array([[2.0], [0.1]], F), np.ones((3, 1), F)
    return [
        Case(
            name=("a ring of three with self loops", "三个节点的环，带自环"),
            driver="convolved",
            args=(_RING, 3, [_X, weight, np.zeros(1, F)], {}, None, g),
            expected=(
                np.array([[6.0], [4.5], [7.5]], F),
                np.tile(np.array([[2.0, 0.1]], F), (3, 1)),
                np.array([[6.0], [60.0]], F),
                np.array([3.0], F),
            ),
            hint=(
                "Each node has two edges into it, so each message is divided by sqrt(2) sqrt(2) = 2. X W is [3, 6, 9]; node 0 receives "
                "from nodes 2 and 0: (9 + 3) / 2 = 6.",
                "每个节点有两条入边，所以每条消息除以 sqrt(2) sqrt(2) = 2。X W 为 [3, 6, 9]；节点 0 收到节点 2 和 0 的消息：(9 + 3) / 2 = 6。",
            ),
        ),
        Case(
            name=("norm=False, with a bias", "norm=False，带偏置"),
            driver="convolved",
            args=(_RING, 3, [_X, weight, np.ones(1, F)], {"norm": False}, None, g),
            expected=(
                np.array([[13.0], [10.0], [16.0]], F),
                np.tile(np.array([[4.0, 0.2]], F), (3, 1)),
                np.array([[12.0], [120.0]], F),
                np.array([3.0], F),
            ),
            hint=(
                "Without normalisation node 0 has 9 + 3, and then the bias of 1.",
                "不做归一化时节点 0 得 9 + 3，再加偏置 1。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="kernels.graph.compress",
        hints=(
            (
                "Two passes over the edges: the first counts how many each row has, the second writes each edge to its place.",
                "对边扫描两遍：第一遍统计每行有多少条，第二遍把每条边写到它的位置。",
            ),
            (
                "Count into starts[row + 1], then add up from left to right: starts[r] is the number of edges of all rows before r.",
                "计数存入 starts[row + 1]，再从左到右累加：starts[r] 就是 r 之前所有行的边数。",
            ),
            (
                "free = starts[:-1].copy(); for each edge e in order: place = free[rows[e]]; neighbours[place] = columns[e]; edges[place] = "
                "e; free[rows[e]] += 1.",
                "free = starts[:-1].copy()；按次序对每条边 e：place = "
                "free[rows[e]]；neighbours[place] = columns[e]；"
                "edges[place] = e；free[rows[e]] += 1。",
            ),
        ),
        cases=_compressed,
    ),
    Lesson(
        slot="graph.messages.neighbour_sum",
        hints=(
            (
                "Row t of `out` is the sum over the places starts[t] to starts[t + 1] of x[neighbours[place]] times the factor of the place.",
                "`out` 的第 t 行是一个和：对从 starts[t] 到 starts[t + 1] "
                "的位置，把 x[neighbours[place]] 乘该位置的系数，再相加。",
            ),
            (
                "The gradient of a message goes from the target back to the source. Which operator sums along edges that are turned round?",
                "消息的梯度从目标回到来源。哪个算子沿反向的边求和？",
            ),
            (
                "out[t] begins with zeros, also when t receives nothing. Backward: send(g, routes.turned, ...). A factor that belonged to the "
                "target belongs to the source of the turned edge: OTHER_END[mean].",
                "out[t] 从零开始，即使 t 什么也没收到。反向：send(g, "
                "routes.turned, ...)。原来属于目标的系数，在反向的边上属于来源："
                "OTHER_END[mean]。",
            ),
        ),
        cases=_summed,
    ),
    Lesson(
        slot="kernels.graph.drawn",
        hints=(
            (
                "below(state, n) is a number from 0 to n - 1, all equally likely. The same number may come twice: how do you avoid that "
                "without making some choices more likely?",
                "below(state, n) 给出 0 到 n - 1 之间的一个数，概率都相等。"
                "同一个数可能出现两次：怎样避免，又不让某些选择更容易出现？",
            ),
            (
                "Reservoir: fill `chosen` with the first places. Then for each further place i: j = below(state, i + 1); if j < chosen.size, "
                "it replaces chosen[j].",
                "蓄水池抽样：先用最前面的位置填满 `chosen`。然后对之后的每个位置 i：j = "
                "below(state, i + 1)；若 j < chosen.size，就用它替换 "
                "chosen[j]。",
            ),
            (
                "Or Floyd's algorithm, with as many steps as draws: for j, last = degree - chosen.size + j; draw from 0 to last; if it was "
                "drawn already, take `last` itself. Add `begin` to each.",
                "或者 Floyd 算法，抽几个就走几步：对 j，last = degree - "
                "chosen.size + j；从 0 到 last 抽一个；若已经抽到过，就取 "
                "`last` 本身。每个都要加上 `begin`。",
            ),
        ),
        cases=_drawn,
    ),
    Lesson(
        slot="graph.nn.GCNConv.forward",
        hints=(
            (
                "D^-1/2 A D^-1/2 X W + b, from right to left: each node's row of X W is multiplied by its factor, sent along the edges and "
                "summed, and the sum is multiplied by the factor of the receiving node.",
                "D^-1/2 A D^-1/2 X W + b，从右往左算：每个节点的 X W "
                "那一行乘上它的系数，沿边发送并求和，和再乘上接收节点的系数。",
            ),
            (
                "The factor is 1 / sqrt(indegree), with graph.by_target.degrees; a node without edges counts as one with one edge. "
                "graph.send_recv(x) is A x. The bias is added last, before the activation.",
                "系数是 1 / sqrt(入度)，用 graph.by_target.degrees；"
                "没有入边的节点按有一条算。graph.send_recv(x) 就是 A x。偏置最后加，"
                "在激活函数之前。",
            ),
            (
                "norm = paddle.to_tensor(np.maximum(degrees, 1) ** -0.5 as float32, shape [nodes, 1]); out = graph.send_recv("
                "self.linear(feature) * norm) * norm + self.bias; return self.activation(out). Without norm leave out both products.",
                "norm = paddle.to_tensor(np.maximum(degrees, "
                "1) ** -0.5，类型 float32，形状 [节点数，1])；out = "
                "graph.send_recv(self.linear(feature) * norm) "
                "* norm + self.bias；return "
                "self.activation(out)。不归一化时去掉这两次乘法。",
            ),
        ),
        cases=_convolved,
    ),
)

PREDICTIONS = (
    Prediction(
        name="graphs.bytes",
        question=(
            "A graph has 1,000,000 nodes and 10,000,000 edges. Ids and places are int32. How many bytes do `starts` and `neighbours` take?",
            "一张图有 1,000,000 个节点、10,000,000 条边。编号和位置都是 "
            "int32。`starts` 和 `neighbours` 占多少字节？",
        ),
        answer=4 * (1_000_001 + 10_000_000),
        unit=(" bytes", " 字节"),
        why=(
            "One start more than there are nodes, and one neighbour an edge: 44 MB. A dense matrix of float32 would take 4 TB.",
            "起点比节点多一个，每条边一个邻居：44 MB。float32 的稠密矩阵要占 4 TB。",
        ),
        tolerance=0.001,
    ),
    Prediction(
        name="graphs.fan_out",
        question=(
            "1,024 seeds, fan-out [15, 10], every node has at least 15 edges. At most how many edges does the sample have?",
            "1,024 个种子节点，扇出为 [15, 10]，每个节点至少有 15 条边。样本最多有多少条边？",
        ),
        answer=1024 * 15 + 1024 * 15 * 10,
        unit=(" edges", " 条边"),
        why=(
            "15 edges for each seed, and 10 for each of up to 15,360 nodes that were found. Nodes that are found twice are expanded once, so it "
            "is usually less. A seed that is also a neighbour of another seed is not expanded again.",
            "每个种子 15 条边，由此找到的至多 15,360 个节点各 10 条。"
            "被找到两次的节点只扩展一次，所以通常会少一些。种子节点若又是另一个种子的邻居，也不会再次扩展。",
        ),
    ),
    Prediction(
        name="graphs.hub",
        question=(
            "A node with 100 edges receives from a node with 4 edges. With what factor does GCN multiply this message (degrees include the "
            "self loops)?",
            "一个有 100 条边的节点收到来自一个有 4 条边的节点的消息。GCN "
            "用什么系数乘这条消息（度数包含自环）？",
        ),
        answer=0.05,
        why=(
            "1 / sqrt(100 x 4) = 1 / 20. The mean would divide by 100 and ignore how many others the sender sends to.",
            "1 / sqrt(100 x 4) = 1 / 20。取平均则除以 100，不考虑发送者还要发给多少个别的节点。",
        ),
        tolerance=0.01,
    ),
)
