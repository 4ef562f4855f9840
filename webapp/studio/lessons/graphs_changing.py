"""Notebook 08: rows that grow, counts of paths, attention over meta-paths, edges before a moment."""

from __future__ import annotations

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F, L = np.float32, np.int64


def _grown() -> list[Case]:
    batches = [(np.array([0, 2, 0]), np.array([5, 6, 7])), (np.array([2]), np.array([8]))]
    return [
        Case(
            name=("two batches", "两批"),
            driver="rows_grown",
            args=(3, batches),
            expected=(np.array([5, 7, 6, 8]), np.array([0, 2, 1, 3]), np.array([2, 0, 2])),
            hint=(
                "Row 0 has the neighbours 5 and 7, row 1 none, row 2 has 6 and 8, in the order in which they were added.",
                "第 0 行的邻居是 5 和 7，第 1 行没有，第 2 行是 6 和 8，按加入的次序排列。",
            ),
        ),
        Case(
            name=("a row that has to move", "需要搬移的行"),
            driver="rows_grown",
            args=(2, [(np.array([0, 1, 0, 0, 0, 0]), np.arange(6))]),
            expected=(np.array([0, 2, 3, 4, 5, 1]), np.array([0, 2, 3, 4, 5, 1]), np.array([5, 1])),
            hint=(
                "Row 0 has 4 places, and row 1 the 4 behind them. The fifth edge of row 0 does not fit: the row moves to the end of the pool, with all "
                "its edges.",
                "第 0 行有 4 个位置，后面 4 个属于第 1 行。第 0 行的第五条边放不下：整行连同所有边搬到池的末尾。",
            ),
        ),
    ]


def _multiplied() -> list[Case]:
    # 0 -> {0: 1, 1: 1}, 1 -> {1: 2}; then 0 -> {2: 1}, 1 -> {0: 1, 2: 3}
    left = [np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([1, 1, 2])]
    right = [np.array([0, 1, 3]), np.array([2, 0, 2]), np.array([1, 1, 3])]
    single = [np.array([0, 1]), np.array([0]), np.array([5])]
    return [
        Case(
            name=("two ways to one node", "通向同一节点的两条路"),
            driver="counts_multiplied",
            args=(left, right, [2, 3]),
            expected=(np.array([0, 2, 4]), np.array([0, 2, 0, 2]), np.array([1, 4, 2, 6])),
            hint=(
                "From 0 to 2 there is 1 way through node 0 and 3 ways through node 1: 4 together, in one entry. From 1 to 2 there are 2 x 3.",
                "从 0 到 2 经节点 0 有 1 条路，经节点 1 有 3 条：合计 4，只占一项。从 1 到 2 有 2 x 3 条。",
            ),
        ),
        Case(
            name=("one entry", "只有一项"),
            driver="counts_multiplied",
            args=(single, [np.array([0, 1]), np.array([3]), np.array([7])], [1, 4]),
            expected=(np.array([0, 1]), np.array([3]), np.array([35])),
            hint=(
                "Five ways to the middle and seven from there: 35 ways.",
                "到中间有五条路，从中间出发有七条：共 35 条。",
            ),
        ),
    ]


def _attended() -> list[Case]:
    loops = np.array([[0, 0], [1, 1]])
    swapped = np.array([[0, 1], [1, 0]])
    x, g = np.array([[1.0], [-1.0]], F), np.array([[1.0], [0.0]], F)
    one, zero = np.ones((1, 1), F), np.zeros((1, 1), F)
    slope = (1 - np.tanh(1.0) ** 2).astype(F)
    return [
        Case(
            name=("one path", "只有一条路径"),
            driver="paths_attended",
            args=([loops], x, [one, one, np.zeros(1, F), one], g),
            expected=(np.tanh(x), np.ones(1, F), np.array([[slope], [0.0]], F), np.zeros((1, 1), F)),
            hint=(
                "With one path its weight is 1, and the output is what that path found.",
                "只有一条路径时权重为 1，输出就是该路径的结果。",
            ),
        ),
        Case(
            name=("q = 0: two paths of equal weight", "q = 0：两条路径权重相同"),
            driver="paths_attended",
            args=([loops, swapped], x, [one, one, np.zeros(1, F), zero], g),
            expected=(
                np.zeros((2, 1), F),
                np.full(2, 0.5, F),
                np.array([[slope / 2], [slope / 2]], F),
                np.zeros((1, 1), F),
            ),
            hint=(
                "All scores are 0, so both paths count half: the mean of [tanh(1), tanh(-1)] and [tanh(-1), tanh(1)].",
                "所有得分为 0，两条路径各占一半：[tanh(1), tanh(-1)] 与 [tanh(-1), tanh(1)] 的平均。",
            ),
        ),
    ]


def _past() -> list[Case]:
    starts, times = np.array([0, 3, 5]), np.array([10.0, 20.0, 30.0, 5.0, 25.0])
    return [
        Case(
            name=("before 25", "25 之前"),
            driver="past_found",
            args=(starts, times, np.array([0]), np.array([-np.inf]), np.array([25.0])),
            expected=(np.array([0]), np.array([2])),
            hint=(
                "Row 0 has the times 10, 20 and 30; two of them are before 25, from place 0 on.",
                "第 0 行的时刻是 10、20、30；其中两个早于 25，从位置 0 开始。",
            ),
        ),
        Case(
            name=("from 15 to below 40", "从 15 到 40 之前"),
            driver="past_found",
            args=(starts, times, np.array([0, 1]), np.array([15.0, 15.0]), np.array([40.0, 40.0])),
            expected=(np.array([1, 4]), np.array([2, 1])),
            hint=(
                "Row 1 has the places 3 and 4: only place 4, with the time 25, is from 15 on.",
                "第 1 行占位置 3 和 4：只有位置 4（时刻 25）不早于 15。",
            ),
        ),
    ]


LESSONS = (
    Lesson(
        slot="graph.growing_rows.GrowingRows.insert",
        hints=(
            (
                "Two cases: the row has a free place behind its last edge, or it is full (lengths[row] == capacities[row]) and must move first.",
                "两种情形：这一行的最后一条边之后还有空位；或者已满（lengths[row] == "
                "capacities[row]），要先搬移。",
            ),
            (
                "A move: room = max(4, 2 * capacities[row]) places from state[0] on; copy the edges of the row; then change offsets[row], "
                "capacities[row] and state[0]. Leave the old places as they are: snapshots read them.",
                "搬移：从 state[0] 起占 room = max(4, 2 * "
                "capacities[row]) 个位置；复制这一行的边；再修改 offsets[row]、"
                "capacities[row] 和 state[0]。旧位置保持原样：快照还要读它们。",
            ),
            (
                "place = offsets[row] + lengths[row]; neighbours[place] = others[i]; edges[place] = numbers[i]; lengths[row] += 1. A new edge "
                "always goes behind the last one, to a place that no snapshot reads.",
                "place = offsets[row] + lengths[row]；"
                "neighbours[place] = others[i]；edges[place] = "
                "numbers[i]；lengths[row] += 1。新边总是放在最后一条之后，"
                "那个位置没有快照会读。",
            ),
        ),
        cases=_grown,
    ),
    Lesson(
        slot="graph.meta_path.product",
        hints=(
            (
                "For each middle node of the left row, and each end node in the right row of that middle node: left count times right count "
                "are added to the end node's total.",
                "对左矩阵这一行的每个中间节点，以及右矩阵中该节点那一行的每个终点：把左边的计数乘右边的计数，"
                "加到终点的总数上。",
            ),
            (
                "totals has a number for each end node, all 0. The first time that an end node is reached (its total is still 0), it is "
                "written to reached.",
                "totals 为每个终点存一个数，开始时全为 0。第一次到达某个终点时（它的总数还是 0），"
                "把它写入 reached。",
            ),
            (
                "for k: for place from starts[mids[k]] to starts[mids[k] + 1]: end = ends[place]; if totals[end] == 0: reached[found] = "
                "end and found += 1; totals[end] += many[k] * more[place]. Return found.",
                "对每个 k：对从 starts[mids[k]] 到 starts[mids[k] + "
                "1] 的 place：end = ends[place]；若 totals[end] == "
                "0：reached[found] = end，found += 1；totals[end] "
                "+= many[k] * more[place]。返回 found。",
            ),
        ),
        cases=_multiplied,
    ),
    Lesson(
        slot="graph.nn.HANConv.forward",
        hints=(
            (
                "One score for each path, the same for all nodes: softmax makes weights of them, and the output is the weighted sum.",
                "每条路径一个得分，对所有节点都相同：softmax 把它们变成权重，输出是加权和。",
            ),
            (
                "F.tanh(self.k_lin(found)) is [paths, nodes, size]; times self.q and summed over the size, it is a score for each path and "
                "node. Then the mean over the nodes.",
                "F.tanh(self.k_lin(found)) 是 [路径，节点，大小]；乘 "
                "self.q 再沿大小求和，得到每条路径、每个节点的得分。然后对节点取平均。",
            ),
            (
                "scores = (F.tanh(self.k_lin(found)) * self.q).sum(-1).mean(1); beta = F.softmax(scores, axis=-1); output = (found * "
                "beta.reshape([-1, 1, 1])).sum(0).",
                "依次计算："
                "scores = (F.tanh(self.k_lin(found)) * "
                "self.q).sum(-1).mean(1)；beta = "
                "F.softmax(scores, axis=-1)；output = (found * "
                "beta.reshape([-1, 1, 1])).sum(0)。",
            ),
        ),
        cases=_attended,
    ),
    Lesson(
        slot="kernels.graph.rows_between",
        hints=(
            (
                "The times of a row ascend, so the edges from `after` on and before `before` are neighbours: find where they begin and end.",
                "一行的时刻递增，所以不早于 `after` 且早于 `before` 的边是连续的一段："
                "找出它从哪里开始，到哪里结束。",
            ),
            (
                "A binary search for the first place of the row whose time is not less than a moment. Twice: with `after` and with `before`.",
                "用二分查找找出这一行中时刻不小于某个值的第一个位置。做两次：一次用 `after`，一次用 "
                "`before`。",
            ),
            (
                "while low < high: middle = (low + high) // 2; if times[middle] < moment: low = middle + 1, else high = middle. An edge at "
                "the moment `before` itself does not count: it may be what is to be predicted.",
                "while low < high：middle = (low + high) // 2；若 "
                "times[middle] < moment：low = middle + 1，否则 "
                "high = middle。恰好在 `before` 时刻的边不算："
                "它可能正是要预测的那一条。",
            ),
        ),
        cases=_past,
    ),
)

PREDICTIONS = (
    Prediction(
        name="changing.moves",
        question=(
            "A row starts with 4 places and doubles when it is full. 1,000 edges are added one after another. How many edges are copied "
            "by all moves together?",
            "一行开始时有 4 个位置，满了就加倍。一条接一条地加入 1,000 条边。所有搬移合计复制多少条边？",
        ),
        answer=4 + 8 + 16 + 32 + 64 + 128 + 256 + 512,
        unit=(" edges", " 条边"),
        why=(
            "It moves when it has 4, 8, ... 512 edges: 1,020 copies, about one for each edge. With one place more at each move it would be half a "
            "million.",
            "它在有 4、8……512 条边时搬移：共复制 1,020 次，约为每条边一次。"
            "若每次搬移只多留一个位置，就要复制约五十万次。",
        ),
    ),
    Prediction(
        name="changing.coauthors",
        question=(
            "A paper has 6 authors. How many instances of the meta-path author, paper, author go through it?",
            "一篇论文有 6 位作者。经过它的元路径“作者、论文、作者”有多少个实例？",
        ),
        answer=36,
        unit=(" instances", " 个实例"),
        why=(
            "Each of the 6 may be the first, and each the last, also the same person: 6 x 6. This is why one paper with 1,000 authors has a "
            "million.",
            "6 位作者中每一位都可以是起点，每一位也都可以是终点，包括同一个人：6 x 6。所以一篇有 "
            "1,000 位作者的论文就有一百万个实例。",
        ),
    ),
    Prediction(
        name="changing.leak",
        question=(
            "A sampler also takes edges from after the moment of prediction. Is the accuracy that you measure on old data higher (1) or "
            "lower (0) than without them?",
            "采样器也取预测时刻之后的边。与不取相比，在旧数据上测得的准确率是更高（1）还是更低（0）？",
        ),
        answer=1,
        why=(
            "The future gives the answer away, and the measured accuracy is too good. In use there is no future to look at, and it "
            "falls.",
            "未来泄露了答案，测得的准确率就虚高。实际使用时看不到未来，准确率随之下降。",
        ),
    ),
)
