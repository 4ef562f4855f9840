"""Path counts against products of SciPy's matrices, and against walks counted one by one."""

import numpy as np
import pytest
import scipy.sparse as sp

from sampan.graph import HeteroGraph
from sampan.graph.meta_path import PathCounts, product


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    sizes = {"a": 40, "p": 60, "v": 5}
    edges = {
        (s, r, t): np.stack([rng.integers(0, sizes[s], n), rng.integers(0, sizes[t], n)], 1)
        for s, r, t, n in (("a", "writes", "p", 150), ("p", "at", "v", 60), ("p", "cites", "p", 90))
    }
    return HeteroGraph(sizes, edges)


def matrix(graph, name):
    relation = graph[name]
    ones = np.ones(relation.num_edges, np.int64)  # repeated edges add up
    return sp.coo_matrix((ones, (relation.sources, relation.targets)), relation.sizes).tocsr()


def test_counts_are_products(graph):
    writes, at, cites = (matrix(graph, name) for name in ("writes", "at", "cites"))
    for path, expected in [
        (["a", "p"], writes),
        (["a", "p", "a"], writes @ writes.T),
        (["a", "p", "v", "p", "a"], writes @ at @ at.T @ writes.T),
        (["v", "at_which", "p", "cites", "p", "written_by", "a"], at.T @ cites @ writes.T),
        (["p", "cites", "p", "cites", "p"], cites @ cites),
    ]:
        found = graph.path_counts(path)
        np.testing.assert_array_equal(found.to_dense(), expected.toarray())
        assert found.num_pairs == expected.nnz and (found.counts > 0).all()


def test_a_path_graph(graph):
    made = graph.path_graph(["a", "p", "a"])
    writes = matrix(graph, "writes")
    dense = np.zeros((40, 40), np.int64)
    np.add.at(dense, tuple(made.edges.T), made.edge_feat["count"])
    np.testing.assert_array_equal(dense, (writes @ writes.T).toarray())
    with pytest.raises(ValueError, match="path_graph: expected a path that ends where it begins, at a"):
        graph.path_graph(["a", "p"])


def test_no_edges():
    graph = HeteroGraph({"a": 3, "b": 2}, {("a", "to", "b"): []})
    assert graph.path_counts(["a", "b", "a"]).to_dense().tolist() == [[0] * 3] * 3


def test_counts_that_do_not_fit_are_refused():
    big = PathCounts(np.array([0, 1], np.int32), np.zeros(1, np.int32), np.array([2**40]), 1)
    with pytest.raises(ValueError, match=r"path_counts: expected fewer than 2\^62 instances"):
        product(big, big)
    assert product(big, big._replace(counts=np.array([2**20]))).counts.tolist() == [2**60]
