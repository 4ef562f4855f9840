"""Rows that grow and shrink against lists."""

import numpy as np

from sampan.graph import growing_rows
from sampan.graph.growing_rows import Compaction, GrowingRows


def lists(rows, count):
    neighbours, edges, counts = rows.live(count).read(np.arange(count, dtype=np.int32))
    ends = np.cumsum(counts)[:-1]
    return [
        list(zip(a.tolist(), b.tolist(), strict=True))
        for a, b in zip(np.split(neighbours, ends), np.split(edges, ends), strict=True)
    ]


def insert(rows, expected, pairs, dead, version=1):
    numbers = np.arange(len(dead), len(dead) + len(pairs), dtype=np.int32)
    ends = np.array(pairs, np.int32).reshape(-1, 2).T.copy()
    rows.reserve(ends[0])
    rows.insert(ends[0], ends[1], numbers, version)
    for (row, other), number in zip(pairs, numbers.tolist(), strict=True):
        expected[row].append((other, number))
    return np.append(dead, np.zeros(len(pairs), bool))


def test_inserted_moved_removed_and_compacted():
    rng = np.random.default_rng(0)
    rows, expected, dead = GrowingRows(), [[] for _ in range(20)], np.zeros(0, bool)
    rows.add_rows(20)
    view = before = None
    for step in range(60):
        dead = insert(rows, expected, rng.integers(0, 20, (15, 2)).tolist(), dead, version=step)
        visible = -1
        if step == 20:  # seen until the end
            view, before = rows.view(20), lists(rows, 20)
        if view is not None:
            visible = 20
        places = [(row, number) for row, edges in enumerate(expected) for _, number in edges]
        chosen = rng.permutation(len(places))[:10]
        picked = np.array([places[i] for i in chosen], np.int32)
        dead[picked[:, 1]] = True
        rows.reserve_copies(picked[:, 0].copy())
        rows.remove(picked[:, 0].copy(), picked[:, 1].copy(), dead, step, visible)
        for row in expected:
            row[:] = [pair for pair in row if not dead[pair[1]]]
        if step % 7 == 3:
            job = Compaction(rows)
            dead = insert(rows, expected, rng.integers(0, 20, (5, 2)).tolist(), dead, version=step)
            job.copy()
            job.finish(step)
        assert lists(rows, 20) == expected
    neighbours, edges, _ = view.read(np.arange(20, dtype=np.int32))
    assert list(zip(neighbours.tolist(), edges.tolist(), strict=True)) == [
        pair for row in before for pair in row
    ]


def test_a_reservation_can_be_undone():
    rows, expected, dead = GrowingRows(), [[], []], np.zeros(0, bool)
    rows.add_rows(2)
    many = np.zeros(5000, np.int32)
    rows.reserve(many)
    rows.cancel(many)
    insert(rows, expected, [(0, 1), (1, 1)], dead)
    assert lists(rows, 2) == expected


def test_wasteful_pools_are_named(monkeypatch):
    monkeypatch.setattr(growing_rows, "COMPACT_FROM", 10)
    rows, dead, absent = GrowingRows(), np.zeros(0, bool), np.array([-1], np.int32)
    rows.add_rows(1)
    assert not rows.wasteful
    for _ in range(5):  # 4 places, then 8, 16, 32: each time the row moves
        dead = insert(rows, [[]], [(0, 0)] * 4, dead)
    assert not rows.wasteful and rows._state.tolist() == [60, 28]
    rows.remove(np.zeros(1, np.int32), absent, dead, 5, -1)
    rows.reserve_copies(np.zeros(1, np.int32))
    rows.remove(np.zeros(1, np.int32), absent, dead, 6, 6)
    assert rows.wasteful
