"""Notebook 06: a table's look-up and its gradient, repeated ids as one, Adagrad that touches few rows, a cache of rows."""

from __future__ import annotations

import math

import numpy as np

from sampan.learn.cases import Case
from sampan.learn.lessons import Lesson, Prediction

F, L = np.float32, np.int64

_TABLE = np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5], [3.0, 3.5]], F)


def _read() -> list[Case]:
    return [
        Case(
            name=("three ids", "三个编号"),
            driver="table_read",
            args=(np.array([2, 0, 3]), _TABLE, -1),
            expected=_TABLE[[2, 0, 3]],
            hint=(
                "Row i of out is row ids[i] of the table: row 2, then row 0, then row 3.",
                "out 的第 i 行是表的第 ids[i] 行：先第 2 行，再第 0 行，再第 3 行。",
            ),
            dtype="float32",
        ),
        Case(
            name=("the row that stands for nothing", "代表“无”的那一行"),
            driver="table_read",
            args=(np.array([1, 3]), _TABLE, 3),
            expected=np.array([[1.0, 1.5], [0.0, 0.0]], F),
            hint=(
                "Here padding is 3: whoever asks for row 3 gets zeros, whatever the table has there.",
                "此处 padding 为 3：查询第 3 行得到全零，不论表中存的是什么。",
            ),
        ),
    ]


def _added() -> list[Case]:
    g = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]], F)
    return [
        Case(
            name=("three rows into a table of four", "三行加入四行的表"),
            driver="rows_added",
            args=(g, np.array([3, 0, 1]), 4, -1),
            expected=np.array([[2.0, 20.0], [3.0, 30.0], [0.0, 0.0], [1.0, 10.0]], F),
            hint=(
                "Row i of g belongs to row ids[i] of out: row 0 of g to row 3. Nobody asked for row 2, it stays zero.",
                "g 的第 i 行归到 out 的第 ids[i] 行：g 的第 0 行归到第 3 行。没有人查询第 2 行，它保持为零。",
            ),
        ),
        Case(
            name=("the padding row gets nothing", "填充行没有梯度"),
            driver="rows_added",
            args=(g, np.array([3, 0, 1]), 4, 0),
            expected=np.array([[0.0, 0.0], [3.0, 30.0], [0.0, 0.0], [1.0, 10.0]], F),
            hint=(
                "Here padding is 0: what came for row 0 is dropped.",
                "此处 padding 为 0：归到第 0 行的梯度被丢弃。",
            ),
        ),
    ]


def _merged() -> list[Case]:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [10.0, 10.0]], F)
    return [
        Case(
            name=("one id that comes twice", "一个编号出现两次"),
            driver="rows_merged",
            args=(np.array([7, 2, 7]), rows, 9),
            expected=(np.array([2, 7]), np.array([[0.0, 1.0], [11.0, 10.0]], F)),
            hint=(
                "Id 7 comes at places 0 and 2: once in the answer, with both rows added up. Item 0 has the ids, item 1 a row for each.",
                "编号 7 出现在位置 0 和 2：答案中只出现一次，对应两行之和。第 0 项是编号，第 1 项是每个编号的一行。",
            ),
        ),
        Case(
            name=("different ids", "各不相同的编号"),
            driver="rows_merged",
            args=(np.array([5, 8, 0]), rows, 9),
            expected=(np.array([0, 5, 8]), rows[[2, 0, 1]]),
            hint=(
                "Nothing is to be added here. The check sorts your answer by id before it compares.",
                "这里无需相加。检查会先按编号排序再比较。",
            ),
        ),
    ]  # fmt: skip


def _stepped() -> list[Case]:
    table, moment = np.full((3, 2), 1.0, F), np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 0.0]], F)
    return [
        Case(
            name=("one row of three", "三行中的一行"),
            driver="adagrad_rows",
            args=(table, moment, np.array([1]), np.array([[4.0, 0.0]], F), 0.5, 1e-6),
            expected=(
                np.array([[1.0, 1.0], [0.6, 1.0], [1.0, 1.0]], F),
                np.array([[0.0, 0.0], [25.0, 9.0], [0.0, 0.0]], F),
            ),
            hint=(
                "moment becomes 9 + 16 = 25, and the weight 1 - 0.5 * 4 / 5 = 0.6. Both in place; the other rows stay as they are.",
                "moment 变为 9 + 16 = 25，权重变为 1 - 0.5 * 4 / 5 = 0.6。两者都就地修改，其余各行不变。",
            ),
        ),
        Case(
            name=("two rows, the first step", "两行，第一步"),
            driver="adagrad_rows",
            args=(table, np.zeros((3, 2), F), np.array([2, 0]), np.array([[3.0, -3.0], [8.0, 0.5]], F), 0.5, 1e-6),
            expected=(
                np.array([[0.5, 0.5], [1.0, 1.0], [0.5, 1.5]], F),
                np.array([[64.0, 0.25], [0.0, 0.0], [9.0, 9.0]], F),
            ),
            hint=(
                "In the first step the root of moment is |g|, so every weight moves by the whole rate, up or down, however small its "
                "gradient.",
                "第一步中 moment 的平方根等于 |g|，所以每个权重都移动一个完整的学习率，不论梯度多小。",
            ),
        ),
    ]  # fmt: skip


def _asked() -> list[Case]:
    none = np.zeros(0, L)
    return [
        Case(
            name=("there is room for all", "空间足够"),
            driver="cache_asked",
            args=([np.array([5, 3]), np.array([3, 8])], 4, 10),
            expected=[
                [0, 0, np.array([5, 3]), np.array([-1, -1]), np.array([5, 3])],
                [1, 0, np.array([8]), np.array([-1]), np.array([3, 8])],
            ],
            hint=(
                "Of each batch: hits, how many had to leave, which rows came in, which left for each of them (-1: none), and which row "
                "lies at each place that you gave out. In the second batch row 3 is there: a hit.",
                "每批依次为：命中数、离开的行数、进入的行、各自替换掉的行（-1 表示没有）、给出的每个位置上的行。第二批中第 3 行已在缓存，是一次命中。",
            ),
        ),
        Case(
            name=("the oldest leaves", "最久未用者离开"),
            driver="cache_asked",
            args=([np.array([1, 2]), np.array([3]), np.array([2, 3])], 2, 10),
            expected=[
                [0, 0, np.array([1, 2]), np.array([-1, -1]), np.array([1, 2])],
                [0, 1, np.array([3]), np.array([1]), np.array([3])],
                [2, 0, none, none, np.array([2, 3])],
            ],
            hint=(
                "Two places. When row 3 comes, row 1 has been asked for longest ago: it leaves, and row 3 takes its place.",
                "只有两个位置。第 3 行到来时，第 1 行最久没有被查询：它离开，第 3 行占用它的位置。",
            ),
        ),
    ]  # fmt: skip


LESSONS = (
    Lesson(
        slot="ops.resampling.rows_at",
        hints=(
            "Nothing is computed here: rows are copied. Which loop runs over the ids, and which over the columns?",
            "For each i: look at ids[i] first. Is it a row of the table at all? Python and NumPy take -1 for the last row, machine "
            "code takes it for whatever lies before the table.",
            "r = ids[i]; if r < 0 or r >= table.shape[0], raise IndexError. Else row = out[i]: zeros where r == padding, and "
            "otherwise the numbers of table[r], one after the other.",
        ),
        cases=_read,
    ),
    Lesson(
        slot="ops.resampling.rows_summed",
        hints=(
            "It is the look-up run backwards: what was read from a row goes back to that row.",
            "The same two loops. But several i may name the same row, and then all that they bring is added up.",
            "for each i with ids[i] != padding: total = out[ids[i]], row = g[i], and for each j: total[j] += row[j]. One i after the "
            "other, so that no addition gets lost.",
        ),
        cases=_added,
    ),
    Lesson(
        slot="row_sparse.RowSparse.coalesced",
        hints=(
            "Equal ids have to find each other. Two ways: put them side by side, or remember where each was first seen.",
            "A stable sort puts them side by side: order = np.argsort(ids, kind='stable'). Where a sorted id differs from the one "
            "before it, a new group begins. Or a dictionary: id to its place among the distinct ones. Leave out the ids of -1 "
            "first.",
            "With the sort: np.flatnonzero of 'differs from the one before' are the starts, and np.add.reduceat(rows, starts) adds "
            "up each group. With the dictionary: which[i] = "
            "places.setdefault(id, len(places)), then add row i to row which[i] of the sums.",
        ),
        cases=_merged,
    ),
    Lesson(
        slot="optimizer.Adagrad.update_rows",
        hints=(
            "Two lines of the formula, two lines of code: first the moment, then the weights. For the rows that have a gradient alone.",
            "gradient.coalesced() is your merge: (ids, rows), each row of the table once. Only then may rows be squared: (a + b)^2 "
            "is not a^2 + b^2.",
            "moment[ids] += rows * rows, then table[ids] -= lr * rows / (moment[ids].sqrt() + settings['epsilon']). epsilon stands "
            "outside of the root.",
        ),
        cases=_stepped,
    ),
    Lesson(
        slot="kernels.cpu_embedding_cache.ask",
        hints=(
            "A queue of places, from the newest to the oldest. Who is asked for goes to its front; who stands at its end leaves when "
            "somebody new needs the place.",
            "To the front: if the place is there already, nothing is to be done. Else its two neighbours are joined (at the end of the "
            "queue there is just one, and ends[1] changes), and it is put before ends[0].",
            "Out of the queue: before, after = newer[place], older[place]; older[before] = after; newer[after] = before, or, when "
            "after is -1, ends[1] = before. In front: older[place] = ends[0], newer[ends[0]] = place, newer[place] = -1, ends[0] = "
            "place. Who leaves: place = ends[1]; note left[count] = row_at[place], set place_of of that row to 0, and gone += 1.",
        ),
        cases=_asked,
    ),
)


PREDICTIONS = (
    Prediction(
        name="embeddings.bytes",
        question="A table of ten million rows, 64 numbers of float32 each. A batch names 4,096 ids. How many bytes has the dense gradient?",
        answer=10_000_000 * 64 * 4,
        unit=" bytes",
        why="As many as the table, whatever the batch names. The rows of the batch alone are 4,096 x 64 x 4, about a million: 2,400 times less.",
        tolerance=0.01,
    ),
    Prediction(
        name="embeddings.distinct",
        question="A batch of 1,000 ids, drawn evenly from a table of 1,000 rows. How many different ones are among them, about?",
        answer=1000 * (1 - math.exp(-1)),
        unit=" ids",
        why="Each row is missed by all 1,000 draws with probability (1 - 1/1000)^1000, about 1/e: 368 rows are not named at all. With Zipf's "
        "law it would be far fewer yet.",
        tolerance=0.02,
    ),
    Prediction(
        name="embeddings.round",
        question="Rows 0 to 99 are asked for in order, again and again, 1,000 look-ups in all. A cache holds 90 of them, and the least recently "
        "used gives way. How many hits?",
        answer=0,
        unit=" hits",
        why="Row 0 is needed again after 99 others, and the cache remembers 90: each row has left just before it comes back. LRU is good "
        "where what was asked for lately is asked for soon, and of no use for going round in circles.",
    ),
)  # fmt: skip
