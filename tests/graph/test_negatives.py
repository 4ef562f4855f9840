import itertools

import numpy as np
import pytest

from sampan.graph import Graph, HeteroGraph, negative_edges, negative_targets
from tests.graph.chances import fits, with_threads

GRAPH = Graph([(0, 1), (0, 2), (0, 2), (1, 1)], num_nodes=3)
EDGES = {(0, 1), (0, 2), (1, 1)}


def test_each_pair_that_is_no_edge_is_equally_likely() -> None:
    pairs = set(itertools.product(range(3), repeat=2)) - EDGES
    for loops in (True, False):
        sources, targets = negative_edges(GRAPH, 9_000, loops, seed=1)
        expected = {pair for pair in pairs if loops or pair[0] != pair[1]}
        fits(zip(sources.tolist(), targets.tolist(), strict=True), dict.fromkeys(expected, 1.0))


def test_a_graph_of_nearly_all_pairs() -> None:
    missing = [(3, 5), (39, 0)]
    pairs = [pair for pair in itertools.product(range(60), repeat=2) if pair not in missing]
    sources, targets = negative_edges(Graph(pairs, num_nodes=60), 500, True, seed=2)
    fits(zip(sources.tolist(), targets.tolist(), strict=True), dict.fromkeys(missing, 1.0))
    everything = Graph(list(itertools.product(range(9), repeat=2)), num_nodes=9)
    with pytest.raises(ValueError, match="a pair that is no edge"):
        negative_edges(everything, 1)
    with pytest.raises(ValueError, match="got 4, which has all"):
        negative_targets(everything, [4])


def test_targets_of_sources() -> None:
    found = negative_targets(GRAPH, np.zeros((3_000, 1), np.int64), 2, self_loops=True, seed=3)
    assert found.shape == [3_000, 1, 2]
    assert (found.numpy() == 0).all()
    found = negative_targets(GRAPH, np.full(6_000, 2), seed=3)
    fits(found.numpy().ravel().tolist(), {0: 1.0, 1: 1.0})
    one, two = (with_threads(n, lambda: negative_targets(GRAPH, np.full(50_000, 2), seed=3)) for n in (1, 2))
    assert (one == two).all()


def test_between_types_a_number_names_two_nodes() -> None:
    graph = HeteroGraph({"a": 2, "b": 3}, {("a", "to", "b"): [(0, 1), (1, 0), (1, 2)]})
    sources, targets = negative_edges(graph["to"], 3_000, seed=1)
    fits(zip(sources.tolist(), targets.tolist(), strict=True), dict.fromkeys([(0, 0), (0, 2), (1, 1)], 1.0))


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="at least 0 for count, got -1"):
        negative_edges(GRAPH, -1)
    with pytest.raises(ValueError, match="from 0 to 2, got 3"):
        negative_targets(GRAPH, [3])
    with pytest.raises(ValueError, match="a graph with nodes"):
        negative_edges(Graph([], num_nodes=0), 1)
    with pytest.raises(TypeError, match="expected a Graph"):
        negative_edges([(0, 1)], 1)
    assert negative_edges(GRAPH, 0)[0].shape == [0]
