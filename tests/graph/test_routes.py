"""Routes: both directions, what is kept, and index tensors that are overwritten."""

import gc
import threading
import weakref

import numpy as np
import pytest
import torch

from sampan.graph import Adjacency, Graph
from sampan.graph.routes import Routes, routes_of_indices

SOURCES, TARGETS = np.array([0, 2, 2, 4, 1, 0, 0], np.int32), np.array([1, 3, 3, 0, 1, 3, 1], np.int32)


def routes():
    return Routes(SOURCES, TARGETS, 5, 4)


def test_both_directions_are_made_once_and_shared():
    forward = routes()
    back = forward.turned
    assert (back.num_sources, back.num_targets) == (4, 5)
    assert back.by_target is back.by_target is forward.turned.by_target
    assert back.turned.by_target is forward.by_target
    for made, rows, columns in ((forward, TARGETS, SOURCES), (back, SOURCES, TARGETS)):
        order = np.argsort(rows, kind="stable")
        np.testing.assert_array_equal(made.by_target.edges, order)
        np.testing.assert_array_equal(made.by_target.neighbours, columns[order])


def test_a_graph_and_its_routes_have_the_same_rows():
    graph = Graph((SOURCES, TARGETS), 5)
    assert graph.by_target is graph.routes.by_target
    assert graph.by_source is graph.routes.turned.by_target


def test_of_an_adjacency():
    made = Routes.of(Adjacency.from_edges(TARGETS, SOURCES, 4, 5))
    np.testing.assert_array_equal(made.sources, SOURCES)
    np.testing.assert_array_equal(made.targets, TARGETS)
    assert (made.num_sources, made.num_targets) == (5, 4)


def test_arriving_leads_from_the_edges_to_their_targets():
    made = routes().arriving
    np.testing.assert_array_equal(made.sources, np.arange(7))
    for each in (made, made.turned):
        expected = Adjacency.from_edges(each.targets, each.sources, each.num_targets, each.num_sources)
        for name in ("starts", "neighbours", "edges"):
            np.testing.assert_array_equal(getattr(each.by_target, name), getattr(expected, name))


def test_segments():
    made = Routes.into_segments(np.array([0, 2, 2, 5], np.int32))
    assert made.targets.tolist() == [0, 0, 2, 2, 2]
    expected = Adjacency.from_edges(made.targets, made.sources, 3, 5)
    np.testing.assert_array_equal(made.by_target.starts, expected.starts)
    np.testing.assert_array_equal(made.by_target.edges, expected.edges)


def test_weights_of_means():
    made, like = routes(), np.zeros(1, np.float32)
    order = made.by_target.edges
    np.testing.assert_allclose(
        made.weights("targets", like), 1 / np.bincount(TARGETS)[TARGETS][order], rtol=1e-6
    )
    np.testing.assert_allclose(
        made.weights("sources", like), 1 / np.bincount(SOURCES)[SOURCES][order], rtol=1e-6
    )
    assert made.weights("", like).tolist() == [1] * 7


def test_indices_are_looked_at_again_and_taken_when_they_are_the_same():
    sources, targets = (torch.from_numpy(a.astype(np.int64)) for a in (SOURCES, TARGETS))
    first = routes_of_indices("f", sources, targets, 5, 4)
    assert routes_of_indices("f", sources.clone(), targets, 5, 4) is first
    assert routes_of_indices("f", sources, targets, 6, 4) is not first
    for index in (sources, targets):
        before = routes_of_indices("f", sources, targets, 5, 4)
        index[3] = 2
        after = routes_of_indices("f", sources, targets, 5, 4)
        assert after is not before
        np.testing.assert_array_equal(after.sources, sources.numpy())
        np.testing.assert_array_equal(after.targets, targets.numpy())
    assert first.sources.tolist() == SOURCES.tolist()  # its own copy


def test_what_is_kept_goes_with_the_index():
    sources, targets = torch.zeros(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)
    kept = weakref.ref(routes_of_indices("f", sources, targets, 1, 1))
    gc.collect()
    assert kept() is not None
    del targets
    gc.collect()
    assert kept() is None


def test_indices_are_in_range_while_they_are_overwritten():
    given, stop = torch.zeros(1_000_000, dtype=torch.int64), threading.Event()

    def overwrite():
        while not stop.is_set():
            given.fill_(10**9)
            given.fill_(0)

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        for _ in range(10):
            try:
                made = routes_of_indices("f", given, given, 7, 7)
            except IndexError:
                continue
            assert made.sources.max() < 7 and made.targets.max() < 7
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(
    ("sources", "targets", "error", "text"),
    [
        ([0.0], [0], ValueError, "expected int32 or int64, the same for both indices, for src_index"),
        ([0], [True], ValueError, "for dst_index, got torch.bool"),
        ([[0, 1]], [0], ValueError, r"expected shape \[edges\] for src_index, got \[1, 2\]"),
        ([0, 1], [0], ValueError, "expected 2 for the length of dst_index, got 1"),
        ([0, 5], [0, 1], IndexError, "src_index: expected nodes from 0 to 4, got 5 at place 1"),
        ([0, 1], [0, -1], IndexError, "dst_index: expected nodes from 0 to 3, got -1 at place 1"),
    ],
)
def test_wrong_indices_are_refused(sources, targets, error, text):
    with pytest.raises(error, match=text):
        routes_of_indices("f", torch.tensor(sources), torch.tensor(targets), 5, 4)
