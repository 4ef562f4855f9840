import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph
from sampan.graph.nn import functional as GF


def graphs():
    rng = np.random.default_rng(0)
    return [Graph(rng.integers(0, n, (2 * n, 2)), n, {"x": rng.normal(size=(n, 3))}) for n in (4, 1, 6)]


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
def test_graph_pool(op):
    batch = Graph.batch(graphs()).tensor()
    expected = [getattr(np, op)(graph.node_feat["x"], axis=0) for graph in graphs()]
    np.testing.assert_allclose(GF.graph_pool(batch, batch.node_feat["x"], op).numpy(), expected)
    alone = graphs()[2].tensor()
    np.testing.assert_allclose(GF.graph_pool(alone, alone.node_feat["x"], op).numpy(), expected[2:])


def test_graph_without_nodes_and_gradient():
    first, *others = graphs()
    empty = Graph([], 0, {"x": np.zeros((0, 3))})
    batch = Graph.batch([empty, first, empty, *others, empty]).tensor()
    x = batch.node_feat["x"]
    x.stop_gradient = False
    found = GF.graph_pool(batch, x, "mean")
    assert (found.numpy()[[0, 2, 5]] == 0).all() and (found.numpy()[[1, 3, 4]] != 0).all()
    found.sum().backward()
    counts = np.array([4] * 4 + [1] + [6] * 6)
    np.testing.assert_allclose(x.grad.numpy(), np.repeat(1 / counts[:, None], 3, 1))


def test_graph_norm():
    batch = Graph.batch(graphs()).tensor()
    expected = np.concatenate([g.node_feat["x"] / np.sqrt(g.num_nodes) for g in graphs()])
    np.testing.assert_allclose(GF.graph_norm(batch, batch.node_feat["x"]).numpy(), expected)


@pytest.mark.parametrize("side", ["dst", "src"])
def test_edge_softmax(side):
    graph = graphs()[2]
    logits = np.random.default_rng(1).normal(size=(12, 2))
    ends = graph.targets if side == "dst" else graph.sources
    totals = np.zeros((6, 2))
    np.add.at(totals, ends, np.exp(logits))
    found = GF.edge_softmax(graph, paddle.to_tensor(logits), side)
    np.testing.assert_allclose(found.numpy(), np.exp(logits) / totals[ends])


def test_bad_input():
    graph = graphs()[0].tensor()
    with pytest.raises(ValueError, match="graph_pool: pool_type: expected one of sum, mean, max, min"):
        GF.graph_pool(graph, graph.node_feat["x"], "median")
    with pytest.raises(ValueError, match="edge_softmax: norm_by: expected 'dst' or 'src', got 'in'"):
        GF.edge_softmax(graph, graph.node_feat["x"], "in")
