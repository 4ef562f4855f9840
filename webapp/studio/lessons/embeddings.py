"""Notebook 06: a table's look-up and its gradient, coalesced ids, Adagrad on few rows, a cache of rows."""

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
            name=("the padding row reads as zeros", "填充行读出全零"),
            driver="table_read",
            args=(np.array([1, 3]), _TABLE, 3),
            expected=np.array([[1.0, 1.5], [0.0, 0.0]], F),
            hint=(
                "Here padding is 3: row 3 reads as zeros, whatever the table has there.",
                "此处 padding 为 3：第 3 行读出全零，不论表中存的是什么。",
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
                "Row i of g is added to row ids[i] of out: row 0 of g to row 3. Id 2 does not occur, so row 2 stays zero.",
                "g 的第 i 行加到 out 的第 ids[i] 行：g 的第 0 行加到第 3 行。编号 2 没有出现，第 2 行保持为零。",
            ),
        ),
        Case(
            name=("the padding row gets nothing", "填充行没有梯度"),
            driver="rows_added",
            args=(g, np.array([3, 0, 1]), 4, 0),
            expected=np.array([[0.0, 0.0], [3.0, 30.0], [0.0, 0.0], [1.0, 10.0]], F),
            hint=(
                "Here padding is 0: the gradient of row 0 is dropped.",
                "此处 padding 为 0：第 0 行的梯度被丢弃。",
            ),
        ),
    ]


def _merged() -> list[Case]:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [10.0, 10.0]], F)
    return [
        Case(
            name=("one id twice", "一个编号出现两次"),
            driver="rows_merged",
            args=(np.array([7, 2, 7]), rows, 9),
            expected=(np.array([2, 7]), np.array([[0.0, 1.0], [11.0, 10.0]], F)),
            hint=(
                "Id 7 is at positions 0 and 2: it is in the answer once, with the sum of both rows. Item 0 has the ids, item 1 a row for each.",
                "编号 7 出现在位置 0 和 2：答案中只出现一次，对应两行之和。第 0 项是编号，第 1 项是每个编号的一行。",
            ),
        ),
        Case(
            name=("different ids", "各不相同的编号"),
            driver="rows_merged",
            args=(np.array([5, 8, 0]), rows, 9),
            expected=(np.array([0, 5, 8]), rows[[2, 0, 1]]),
            hint=(
                "There is nothing to add here. The check sorts your answer by id before it compares.",
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
                "In the first step the root of moment is |g|, so every weight moves by the full learning rate, up or down, however small its "
                "gradient.",
                "第一步中 moment 的平方根等于 |g|，所以每个权重都移动一个完整的学习率，不论梯度多小。",
            ),
        ),
    ]  # fmt: skip


def _asked() -> list[Case]:
    none = np.zeros(0, L)
    return [
        Case(
            name=("the cache is not full", "缓存未满"),
            driver="cache_asked",
            args=([np.array([5, 3]), np.array([3, 8])], 4, 10),
            expected=[
                [0, 0, np.array([5, 3]), np.array([-1, -1]), np.array([5, 3])],
                [1, 0, np.array([8]), np.array([-1]), np.array([3, 8])],
            ],
            hint=(
                "For each batch: hits, number of evicted rows, loaded rows, the row that each of them replaced (-1: none), and the row "
                "at each place that you returned. In the second batch row 3 is cached: a hit.",
                "每批依次为：命中数、淘汰的行数、载入的行、各自替换掉的行（-1 表示没有）、返回的每个位置上的行。第二批中第 3 行已在缓存，是一次命中。",
            ),
        ),
        Case(
            name=("the oldest row is evicted", "淘汰最久未用的行"),
            driver="cache_asked",
            args=([np.array([1, 2]), np.array([3]), np.array([2, 3])], 2, 10),
            expected=[
                [0, 0, np.array([1, 2]), np.array([-1, -1]), np.array([1, 2])],
                [0, 1, np.array([3]), np.array([1]), np.array([3])],
                [2, 0, none, none, np.array([2, 3])],
            ],
            hint=(
                "Two places. When row 3 is loaded, row 1 is the least recently used one: it is evicted, and row 3 takes its place.",
                "只有两个位置。载入第 3 行时，第 1 行最久未用：它被淘汰，第 3 行占用它的位置。",
            ),
        ),
    ]  # fmt: skip


LESSONS = (
    Lesson(
        slot="ops.embedding.rows_at",
        hints=(
            "Nothing is computed here: rows are copied. Which loop runs over the ids, and which over the columns?",
            "For each i: check ids[i] first. Is it a row of the table? Python and NumPy read -1 as the last row, machine "
            "code reads the memory before the table.",
            "r = ids[i]; if r < 0 or r >= table.shape[0], raise IndexError. Else row = out[i]: zeros where r == padding, and "
            "otherwise the numbers of table[r], one after the other.",
        ),
        cases=_read,
    ),
    Lesson(
        slot="ops.embedding.rows_summed",
        hints=(
            "It is the look-up in reverse: the gradient of a copied row goes back to that row.",
            "The same two loops. But several i may have the same row, and then their gradients are added up.",
            "for each i with ids[i] != padding: total = out[ids[i]], row = g[i], and for each j: total[j] += row[j]. Add one i after the "
            "other, so that no addition gets lost.",
        ),
        cases=_added,
    ),
    Lesson(
        slot="row_sparse.RowSparse.coalesced",
        hints=(
            "Equal ids must be found. Two ways: sort them so that they are adjacent, or remember where each was first seen.",
            "A stable sort makes them adjacent: order = np.argsort(ids, kind='stable'). Where a sorted id differs from the one "
            "before it, a new group starts. Or a dictionary: id to its index among the distinct ones. Drop the ids of -1 "
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
            "Two lines of the formula, two lines of code: first the moment, then the weights, only for the rows that have a gradient.",
            "gradient.coalesced() is your merge: (ids, rows), each row of the table once. Only then may rows be squared: (a + b)^2 "
            "is not a^2 + b^2.",
            "moment[ids] += rows * rows, then table[ids] -= lr * rows / (moment[ids].sqrt() + settings['epsilon']). epsilon is added "
            "to the root, not under it.",
        ),
        cases=_stepped,
    ),
    Lesson(
        slot="kernels.cpu_embedding_cache.ask",
        hints=(
            "A queue of places, from the newest to the oldest. A row that is used moves to the front; the row at the end is evicted when "
            "a new row needs the place.",
            "To the front: if the place is there already, there is nothing to do. Else its two neighbours are linked (at the end of the "
            "queue there is only one, and ends[1] changes), and it is put before ends[0].",
            "Out of the queue: before, after = newer[place], older[place]; older[before] = after; newer[after] = before, or, when "
            "after is -1, ends[1] = before. In front: older[place] = ends[0], newer[ends[0]] = place, newer[place] = -1, ends[0] = "
            "place. Eviction: place = ends[1]; store left[count] = row_at[place], set place_of of that row to 0, and gone += 1.",
        ),
        cases=_asked,
    ),
)


PREDICTIONS = (
    Prediction(
        name="embeddings.bytes",
        question="A table of ten million rows, 64 numbers of float32 each. A batch has 4,096 ids. How many bytes does the dense gradient take?",
        answer=10_000_000 * 64 * 4,
        unit=" bytes",
        why="As many as the table, whatever ids the batch has. The rows of the batch alone are 4,096 x 64 x 4, about a million: 2,400 times less.",
        tolerance=0.01,
    ),
    Prediction(
        name="embeddings.distinct",
        question="A batch of 1,000 ids, drawn evenly from a table of 1,000 rows. About how many different ids are among them?",
        answer=1000 * (1 - math.exp(-1)),
        unit=" ids",
        why="Each row is missed by all 1,000 draws with probability (1 - 1/1000)^1000, about 1/e: 368 rows do not occur at all. With Zipf's "
        "law there would be even fewer different ids.",
        tolerance=0.02,
    ),
    Prediction(
        name="embeddings.round",
        question="Rows 0 to 99 are looked up in order, again and again, 1,000 look-ups in total. A cache holds 90 of them and evicts the least recently "
        "used one. How many hits?",
        answer=0,
        unit=" hits",
        why="Row 0 is needed again after 99 others, and the cache holds 90: each row was evicted just before it is needed again. LRU works well "
        "when recent rows are soon needed again, and fails on a cyclic scan.",
    ),
)  # fmt: skip
