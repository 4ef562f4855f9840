"""Notebooks 06 and 06b: a table's look-up and its gradient, coalesced ids, Adagrad on few rows, a cache of rows."""

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
                "moment 变为 9 + 16 = 25，权重变为 1 - 0.5 * 4 / 5 = 0.6。两者都原地修改，其余各行不变。",
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
                "第一步中 moment 的平方根等于 |g|，所以每个权重都恰好移动一个学习率，或增或减，不论梯度多小。",
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
            (
                "Nothing is computed here: rows are copied. Which loop runs over the ids, and which over the columns?",
                "这里什么也不计算，只是复制行。哪重循环遍历编号，哪重遍历列？",
            ),
            (
                "For each i: check ids[i] first. Is it a row of the table? Python and NumPy read -1 as the last row, machine "
                "code reads the memory before the table.",
                "对每个 i，先检查 ids[i]：它是表中的一行吗？Python 和 NumPy 把 -1 "
                "当作最后一行，机器码却会去读表之前的内存。",
            ),
            (
                "r = ids[i]; if r < 0 or r >= table.shape[0], raise IndexError. Else row = out[i]: zeros where r == padding, and "
                "otherwise the numbers of table[r], one after the other.",
                "r = ids[i]；若 r < 0 或 r >= table.shape[0]，抛出 "
                "IndexError。否则 row = out[i]：r == padding 时全为零，"
                "其他情况下逐个复制 table[r] 的数。",
            ),
        ),
        cases=_read,
    ),
    Lesson(
        slot="ops.embedding.rows_summed",
        hints=(
            (
                "It is the look-up in reverse: the gradient of a copied row goes back to that row.",
                "这是查表的逆过程：复制出去的行，梯度回到原来那一行。",
            ),
            (
                "The same two loops. But several i may have the same row, and then their gradients are added up.",
                "与前面相同的两重循环。但若干个 i 可能对应同一行，这时它们的梯度要相加。",
            ),
            (
                "for each i with ids[i] != padding: total = out[ids[i]], row = g[i], and for each j: total[j] += row[j]. Add one i after the "
                "other, so that no addition gets lost.",
                "对每个满足 ids[i] != padding 的 i：total = "
                "out[ids[i]]，row = g[i]，对每个 j：total[j] += "
                "row[j]。逐个 i 依次相加，这样不会漏掉任何一次。",
            ),
        ),
        cases=_added,
    ),
    Lesson(
        slot="row_sparse.RowSparse.coalesced",
        hints=(
            (
                "Equal ids must be found. Two ways: sort them so that they are adjacent, or remember where each was first seen.",
                "要找出相同的编号。有两种办法：排序，使它们相邻；或者记住每个编号第一次出现在哪里。",
            ),
            (
                "A stable sort makes them adjacent: order = np.argsort(ids, kind='stable'). Where a sorted id differs from the one "
                "before it, a new group starts. Or a dictionary: id to its index among the distinct ones. Drop the ids of -1 "
                "first.",
                "稳定排序使它们相邻：order = np.argsort(ids, "
                "kind='stable')。排序后，编号与前一个不同之处就是新的一组的起点。或者用字典："
                "从编号到它在不同编号中的序号。先去掉 -1 的编号。",
            ),
            (
                "With the sort: np.flatnonzero of 'differs from the one before' are the starts, and np.add.reduceat(rows, starts) adds "
                "up each group. With the dictionary: which[i] = "
                "places.setdefault(id, len(places)), then add row i to row which[i] of the sums.",
                "用排序：对“与前一个不同”取 np.flatnonzero 得到各组起点，"
                "np.add.reduceat(rows, starts) 求每组之和。用字典："
                "which[i] = places.setdefault(id, len(places))，"
                "再把第 i 行加到各和的第 which[i] 行。",
            ),
        ),
        cases=_merged,
    ),
    Lesson(
        slot="optimizer.Adagrad.update_rows",
        hints=(
            (
                "Two lines of the formula, two lines of code: first the moment, then the weights, only for the rows that have a gradient.",
                "公式两行，代码两行：先是累积的平方和 moment，再是权重，都只针对有梯度的行。",
            ),
            (
                "gradient.coalesced() is your merge: (ids, rows), each row of the table once. Only then may rows be squared: (a + b)^2 "
                "is not a^2 + b^2.",
                "gradient.coalesced() 就是你写的合并：(ids, rows)，"
                "表的每一行只出现一次。这之后才能对行求平方：(a + b)^2 不等于 a^2 + b^2。",
            ),
            (
                "moment[ids] += rows * rows, then table[ids] -= lr * rows / (moment[ids].sqrt() + settings['epsilon']). epsilon is added "
                "to the root, not under it.",
                "moment[ids] += rows * rows，然后 table[ids] -= "
                "lr * rows / (moment[ids].sqrt() + "
                "settings['epsilon'])。epsilon 加在平方根之外，不在根号里。",
            ),
        ),
        cases=_stepped,
    ),
    Lesson(
        slot="kernels.cpu_embedding_cache.ask",
        hints=(
            (
                "A queue of places, from the newest to the oldest. A row that is used moves to the front; the row at the end is evicted when "
                "a new row needs the place.",
                "一个由位置组成的队列，从最近使用到最久未用。用到的行移到队首；新行需要位置时，淘汰队尾的行。",
            ),
            (
                "To the front: if the place is there already, there is nothing to do. Else its two neighbours are linked (at the end of the "
                "queue there is only one, and ends[1] changes), and it is put before ends[0].",
                "移到队首：如果这个位置已经在队首，什么也不用做。"
                "否则把它的两个邻居连起来（在队尾只有一个邻居，ends[1] 随之改变），再把它放到 "
                "ends[0] 前面。",
            ),
            (
                "Out of the queue: before, after = newer[place], older[place]; older[before] = after; newer[after] = before, or, when "
                "after is -1, ends[1] = before. In front: older[place] = ends[0], newer[ends[0]] = place, newer[place] = -1, ends[0] = "
                "place. Eviction: place = ends[1]; store left[count] = row_at[place], set place_of of that row to 0, and gone += 1.",
                "移出队列：before, after = newer[place], "
                "older[place]；older[before] = after；"
                "newer[after] = before，若 after 为 -1，则 ends[1] "
                "= before。放到队首：older[place] = ends[0]，"
                "newer[ends[0]] = place，newer[place] = -1，"
                "ends[0] = place。淘汰：place = ends[1]；把 "
                "row_at[place] 存入 left[count]，把那一行的 place_of "
                "设为 0，gone += 1。",
            ),
        ),
        cases=_asked,
    ),
)


PREDICTIONS = (
    Prediction(
        name="embeddings.squares",
        question=("An id occurs three times in a batch, with the gradients 1, 2 and 3. By how much is the square of their sum larger than the sum of "
        "their squares?", "一个编号在一批里出现三次，梯度分别是 1、2、3。它们的和的平方比平方的和大多少？"),
        answer=22,
        why=("36 against 14. Adagrad squares the gradient of a row, so occurrences that are not added up first give another step.",
        "36 与 14 之差。Adagrad 要对一行的梯度求平方，所以不先相加，走出的一步就不同。"),
    ),
    Prediction(
        name="embeddings.step",
        question=("Adagrad with a learning rate of 0.1 and a tiny epsilon. A weight gets the gradient 5 in its first step and again in its second. "
        "How far does it move in the second?", "Adagrad，学习率 0.1，epsilon 极小。一个权重在第一步和第二步的梯度都是 5。第二步它走多远？"),
        answer=0.1 / math.sqrt(2),
        why=("h is 25 and then 50: 0.1 * 5 / sqrt(50). The size of the gradient cancels out, only how often it comes matters.",
        "h 先是 25，然后是 50：0.1 * 5 / sqrt(50)。梯度的大小被约去，只与它来过几次有关。"),
        tolerance=0.02,
    ),
    Prediction(
        name="embeddings.hits",
        question=("A cache of two rows evicts the least recently used one. Rows 1, 2, 1, 3, 2, 1 are looked up. How many hits?",
        "一个两行的缓存，淘汰最久未用的行。依次查找行 1、2、1、3、2、1。命中多少次？"),
        answer=1,
        unit=(" hits", " 次命中"),
        why=("Only the second look-up of row 1. Row 3 then evicts row 2, row 2 evicts row 1, and row 1 evicts row 3.",
        "只有第二次查找行 1 命中。之后行 3 淘汰行 2，行 2 淘汰行 1，行 1 淘汰行 3。"),
    ),
    Prediction(
        name="embeddings.bytes",
        question=("A table of ten million rows, 64 numbers of float32 each. A batch has 4,096 ids. How many bytes does the dense gradient take?", "一张表有一千万行，每行 64 个 float32。一批有 4,096 个编号。" "稠密梯度占多少字节？"),
        answer=10_000_000 * 64 * 4,
        unit=(" bytes", " 字节"),
        why=("As many as the table, whatever ids the batch has. The rows of the batch alone are 4,096 x 64 x 4, about a million: 2,400 times less.", "与整张表一样大，不论这一批有哪些编号。单是这一批的行，只有 4,096 x 64 x 4，" "约一百万字节：只有前者的 1/2,400。"),
        tolerance=0.01,
    ),
    Prediction(
        name="embeddings.distinct",
        question=("A batch of 1,000 ids, drawn evenly from a table of 1,000 rows. About how many different ids are among them?", "一批 1,000 个编号，从一张 1,000 行的表中均匀抽取。其中大约有多少个不同的编号？"),
        answer=1000 * (1 - math.exp(-1)),
        unit=(" ids", " 个编号"),
        why=("Each row is missed by all 1,000 draws with probability (1 - 1/1000)^1000, about 1/e: 368 rows do not occur at all. With Zipf's "
        "law there would be even fewer different ids.", "每一行在全部 1,000 次抽取中都没抽到的概率是 (1 - 1/1000)^1000，" "约为 1/e：有 368 行根本没有出现。若服从齐普夫定律，不同的编号还会更少。"),
        tolerance=0.02,
    ),
    Prediction(
        name="embeddings.round",
        question=("Rows 0 to 99 are looked up in order, again and again, 1,000 look-ups in total. A cache holds 90 of them and evicts the least recently "
        "used one. How many hits?", "反复依次查找第 0 到 99 行，共查找 1,000 次。缓存能装其中 90 行，" "淘汰最久未用的行。命中多少次？"),
        answer=0,
        unit=(" hits", " 次命中"),
        why=("Row 0 is needed again after 99 others, and the cache holds 90: each row was evicted just before it is needed again. LRU works well "
        "when recent rows are soon needed again, and fails on a cyclic scan.", "第 0 行再次用到之前，要先查 99 个别的行，而缓存只装 90 行：" "每一行都恰好在再次用到之前被淘汰。如果最近用过的行很快又会用到，LRU 就很有效；" "循环扫描时它完全失效。"),
    ),
)  # fmt: skip
