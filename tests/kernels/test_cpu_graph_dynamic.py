"""Loops over rows that grow: what the callers rely on."""

import numpy as np

from sampan.kernels import cpu_graph_dynamic as loops


def arrays(count):
    return (
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        np.zeros(64, np.int32),
        np.zeros(64, np.int32),
    )


def test_every_loop_compiles_in_the_warm_up():
    loops.warm_up()
    for name in ("needed", "insert", "find", "kept_places", "mark", "remove", "gather", "copy_rows"):
        assert getattr(loops, name).signatures, name


def test_room_is_counted_once_for_each_row():
    _, lengths, capacities, *_ = arrays(3)
    counts = np.zeros(3, np.int32)
    rows = np.array([1, 1, 1, 1, 1, 2], np.int32)
    assert loops.needed(rows, lengths, capacities, counts) == 8 + 4
    assert counts.tolist() == [0, -5, -1]
    lengths[1], capacities[1] = 3, 8
    assert loops.kept_places(rows, lengths, np.zeros(3, np.int32)) == 4 + 4


def test_the_newest_edge_that_is_alive_is_found():
    state, counts, dead = np.zeros(2, np.int64), np.zeros(2, np.int32), np.zeros(4, bool)
    offsets, lengths, capacities, versions, neighbours, edges = arrays(2)
    rows, others, numbers = (
        np.zeros(4, np.int32),
        np.array([1, 0, 1, 1], np.int32),
        np.arange(4, dtype=np.int32),
    )
    loops.needed(rows, lengths, capacities, counts)
    loops.insert(
        rows, others, numbers, counts, state, 1, *(offsets, lengths, capacities, versions), neighbours, edges
    )
    assert state.tolist() == [4, 0] and not counts.any()
    found = np.zeros(3, np.int32)
    pairs = np.zeros(3, np.int32), np.ones(3, np.int32)
    assert loops.find(*pairs, offsets, lengths, neighbours, edges, dead, found) == -1
    assert found.tolist() == [3, 2, 0]
    assert loops.find(*(p[:1] for p in pairs), offsets, lengths, neighbours, edges, dead, found) == 0
