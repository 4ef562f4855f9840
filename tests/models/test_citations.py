"""Networks on citations: the sparse first product against a dense one, and training on a made graph and on Cora."""

import os

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.datasets import load_graph
from sampan.datasets.card_file import Card
from sampan.datasets.graphs import GraphSet
from sampan.graph import Graph
from sampan.graph.nn import GCNConv, GraphSageConv
from sampan.models import citations

REAL = os.environ.get("SAMPAN_DATA")


def made(count=120, words=40, seed=0):
    """Papers of three topics that mostly cite their own topic, with few words that say it."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    x = (rng.random((count, words)) < 0.05).astype(np.float32)
    x[np.arange(count), labels] += rng.random(count) < 0.3
    pairs = rng.integers(0, count, (2, 3000))
    pairs = pairs[:, (labels[pairs[0]] == labels[pairs[1]]) | (rng.random(3000) < 0.02)]
    graph = Graph((pairs[0], pairs[1]), count, {"x": x})
    parts = np.split(rng.permutation(count), [30, 60])
    return GraphSet(graph, None, labels, "", *parts)


def last(papers, name, **settings):
    for epoch in citations.train_citations(papers, name, **settings):
        found = epoch
    return found


def test_the_sparse_product_is_the_dense_one():
    papers = made()
    x = papers.graph.node_feat["x"]
    sparse = citations.sparse_features(x)
    np.testing.assert_array_equal(sparse.to_dense().numpy(), x)
    layer = citations.SparseLinear(x.shape[1], 5, bias=True)
    layer(sparse).square().sum().backward()
    found = layer.weight.grad.numpy()
    np.testing.assert_allclose(
        layer(sparse).numpy(), x @ layer.weight.numpy() + layer.bias.numpy(), atol=1e-6
    )
    expected = 2 * x.T @ (x @ layer.weight.numpy() + layer.bias.numpy())
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_entries_are_dropped_in_training_only():
    sparse = citations.sparse_features(np.ones((50, 8), np.float32))
    layer = citations.SparseLinear(8, 1, dropout=0.5)
    layer.weight.set_value(np.ones((8, 1), np.float32))
    dropped = layer(sparse).numpy()
    assert set(np.unique(dropped).tolist()) <= set(range(0, 17, 2)) and dropped.std() > 0
    layer.eval()
    assert (layer(sparse).numpy() == 8).all()


def test_gcn_is_two_gcn_convolutions():
    papers = made()
    x, graph = (
        papers.graph.node_feat["x"],
        Graph((papers.graph.sources, papers.graph.targets), 120).add_self_loops(),
    )
    network = citations.GCN(x.shape[1], 3)
    network.eval()
    first, second = GCNConv(x.shape[1], 16, "relu"), GCNConv(16, 3)
    first.linear.weight.set_value(network.first.linear.weight)
    second.linear.weight.set_value(network.second.linear.weight)
    expected = second(graph, first(graph, paddle.to_tensor(x)))
    np.testing.assert_allclose(
        network(graph, citations.sparse_features(x)).numpy(), expected.numpy(), atol=1e-5
    )


def test_graph_sage_is_two_mean_convolutions():
    papers = made()
    x, graph = papers.graph.node_feat["x"], papers.graph
    network = citations.GraphSAGE(x.shape[1], 3, hidden=8)
    network.eval()
    conv = GraphSageConv(x.shape[1], 8, "mean", normalize=False)
    weight, bias = network.first.weight.numpy(), network.first.bias.numpy()
    for linear, part in ((conv.self_linear, slice(None, 8)), (conv.neigh_linear, slice(8, None))):
        linear.weight.set_value(weight[:, part])
        linear.bias.set_value(bias[part])
    expected = network.second(graph, nn.functional.relu(conv(graph, paddle.to_tensor(x))))
    np.testing.assert_allclose(
        network(graph, citations.sparse_features(x)).numpy(), expected.numpy(), atol=1e-5
    )


@pytest.mark.parametrize("name", citations.RECIPES)
def test_it_learns(name):
    papers = made()
    found = last(papers, name)
    assert found.number == citations.RECIPES[name].epochs - 1
    assert found.best > 0.85 and found.valid > 0.85


def test_a_seeded_run_is_repeated():
    papers = made()
    runs = [
        [e.loss for e, _ in zip(citations.train_citations(papers, "GCN", seed), range(5), strict=False)]
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_only_the_first_layer_of_gcn_decays():
    network = citations.GCN(6, 3)
    adam = citations._adam(network, citations.RECIPES["GCN"])
    before = {name: parameter.numpy().copy() for name, parameter in network.named_parameters()}
    sum((parameter * 0.0).sum() for parameter in network.parameters()).backward()
    adam.step()
    moved = {name for name, p in network.named_parameters() if (p.numpy() != before[name]).any()}
    assert moved == {"first.linear.weight"}  # biases begin at 0


def test_another_name_is_refused():
    with pytest.raises(
        ValueError, match="train_citations: name: expected one of GCN, GAT, GraphSAGE, got 'GIN'"
    ):
        next(citations.train_citations(made(), "GIN"))


@pytest.mark.skipif(not REAL, reason="needs SAMPAN_DATA with cora")
def test_real_papers():
    papers = load_graph("cora")
    assert isinstance(papers.card, Card)
    assert last(papers, "GCN").best > 0.80
