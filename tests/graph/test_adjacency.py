"""Compressed rows, and ids that a caller passed in."""

import numpy as np
import pytest

import sampan as paddle
from sampan.graph.adjacency import Adjacency, ids
from sampan.kernels import cpu_graph_structure


def edges(seed, count, height, width):
    rng = np.random.default_rng(seed)
    return rng.integers(0, height, count).astype(np.int32), rng.integers(0, width, count).astype(np.int32)


def test_rows_of_edges():
    rows, columns = edges(3, 1000, 40, 77)
    made = Adjacency.from_edges(rows, columns, 50, 77)
    order = np.argsort(rows, kind="stable")
    np.testing.assert_array_equal(made.edges, order)
    np.testing.assert_array_equal(made.degrees, np.bincount(rows, minlength=50))
    np.testing.assert_array_equal(made.rows, rows[order])
    assert (made.height, made.width, made.num_edges) == (50, 77, 1000)
    assert made.cuts[0] == 0 and made.cuts[-1] == 50


def test_places_of_some_rows():
    rows, columns = edges(1, 50, 9, 9)
    made = Adjacency.from_edges(rows, columns, 9, 9)
    places, counts = made.places_of(np.array([4, 0, 4, 8]))
    expected = [np.flatnonzero(rows == r) for r in (4, 0, 4, 8)]
    np.testing.assert_array_equal(made.edges[places], np.concatenate(expected))
    assert counts.tolist() == [len(e) for e in expected]


def test_ids_are_copied_and_checked_at_each_place():
    count = 2 * cpu_graph_structure.CHUNK + 5
    given = np.zeros(count, np.int64)
    owned = ids(given, 1, "f: x")
    given[:] = 9
    assert owned.dtype == np.int32 and not owned.any()
    for place in (0, cpu_graph_structure.CHUNK, count - 1):
        given = np.zeros(count, np.int64)
        given[place] = 3
        with pytest.raises(ValueError, match=f"f: x: expected ids from 0 to 2, got 3 at place {place}"):
            ids(given, 3, "f: x")
    with pytest.raises(ValueError, match="got -1 at place 1"):
        ids([[0, -1], [1, 1]], 3, "f: x")
    with pytest.raises(ValueError, match="got 4294967296 at place 0"):
        ids(np.array([2**32]), 3, "f: x")
    with pytest.raises(ValueError, match="got 18446744073709551615"):
        ids(np.array([2**64 - 1], np.uint64), 3, "f: x")
    with pytest.raises(TypeError, match=r"f: x: expected whole numbers, got dtype float64"):
        ids([0.5], 3, "f: x")
    assert ids(paddle.to_tensor([[2, 1]]), 3, "f: x").tolist() == [[2, 1]]
    assert ids([], 0, "f: x").dtype == np.int32
