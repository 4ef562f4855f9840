"""Graphs of other libraries, there and back."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from sampan import graph as graphs
from sampan.graph import Graph


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 12, (40, 2))
    return Graph(edges, 13, {"x": rng.normal(size=(13, 3))}, {"w": rng.normal(size=40)})


def same(a, b):
    assert (a.num_nodes, a.num_edges) == (b.num_nodes, b.num_edges)
    for mine, theirs in ((a.node_feat, b.node_feat), (a.edge_feat, b.edge_feat)):
        assert mine.keys() == theirs.keys()

    def rows(g):
        columns = [
            g.edges.astype(float),
            *(np.asarray(v).reshape(g.num_edges, -1) for v in g.edge_feat.values()),
        ]
        return sorted(map(tuple, np.concatenate(columns, 1).tolist()))

    assert rows(a) == rows(b)
    for name, values in a.node_feat.items():
        np.testing.assert_array_equal(values, b.node_feat[name])


def test_networkx_and_back(graph):
    there = graphs.to_networkx(graph)
    assert isinstance(there, nx.MultiDiGraph) and there.number_of_edges() == 40
    same(graphs.from_networkx(there), graph)
    same(graphs.from_networkx(graphs.to_networkx(graph.tensor(inplace=False))), graph)


def test_an_undirected_graph_of_networkx():
    made = graphs.from_networkx(nx.karate_club_graph())
    assert (made.num_nodes, made.num_edges) == (34, 156)
    assert set(made.node_feat) == {"club"} and made.edge_feat["weight"].shape == (156,)
    assert made.indegree().tolist() == made.outdegree().tolist()
    named = nx.Graph([("a", "b"), ("b", "b")])
    made = graphs.from_networkx(named)
    assert made.edges.tolist() == [[0, 1], [1, 1], [1, 0]] and made.node_feat["label"].tolist() == ["a", "b"]
    named.nodes["a"]["x"] = 1
    with pytest.raises(
        ValueError, match="from_networkx: expected 'x' at every node or at none, got it at 1 of 2"
    ):
        graphs.from_networkx(named)


def test_scipy_and_back(graph):
    there = graphs.to_scipy(graph)
    dense = np.zeros((13, 13), np.int64)
    np.add.at(dense, tuple(graph.edges.T), 1)
    np.testing.assert_array_equal(there.toarray(), dense)
    weighted = graphs.to_scipy(graph, "w").toarray()
    expected = np.zeros((13, 13))
    np.add.at(expected, tuple(graph.edges.T), graph.edge_feat["w"])
    np.testing.assert_allclose(weighted, expected)
    back = graphs.from_scipy(there)
    assert back.num_nodes == 13 and (graphs.to_scipy(back, "weight") != there).nnz == 0
    with pytest.raises(ValueError, match=r"from_scipy: expected a square matrix, got shape \[2, 3\]"):
        graphs.from_scipy(sp.csr_array((2, 3)))


def test_pandas_and_back(graph):
    pandas = pytest.importorskip("pandas")
    nodes, edges = graphs.to_pandas(graph)
    assert list(edges.columns) == ["source", "target", "w"] and len(nodes) == 13
    back = graphs.from_pandas(edges, num_nodes=13)
    assert back.edges.tolist() == graph.edges.tolist()
    np.testing.assert_array_equal(back.edge_feat["w"], graph.edge_feat["w"])
    table = pandas.DataFrame({"a": [0, 1], "b": [1, 0]})
    made = graphs.from_pandas(table, "a", "b", pandas.DataFrame({"age": [3, 4, 5]}))
    assert made.num_nodes == 3 and made.node_feat["age"].tolist() == [3, 4, 5]


def test_pytorch_geometric_and_back(graph):
    pytest.importorskip("torch_geometric")
    there = graphs.to_pyg(graph)
    assert there.num_nodes == 13 and there.edge_index.shape == (2, 40)
    same(graphs.from_pyg(there), graph)
    graph.edge_feat["x"] = graph.edge_feat.pop("w")
    with pytest.raises(ValueError, match=r"to_pyg: expected different names .* got both with \['x'\]"):
        graphs.to_pyg(graph)
