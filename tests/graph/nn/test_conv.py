"""Layers against their formulas with dense matrices, written out in float64; PyTorch Geometric beside them
where it is installed."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import datasets
from sampan.graph import Graph
from sampan.graph import nn as gnn
from sampan.nn import functional as F


@pytest.fixture(autouse=True)
def float64():
    paddle.set_default_dtype("float64")
    paddle.seed(0)
    yield
    paddle.set_default_dtype("float32")


@pytest.fixture
def graph():
    """With a repeated edge, a self loop and a node without edges."""
    rng = np.random.default_rng(0)
    edges = np.concatenate([rng.integers(0, 8, (24, 2)), [[1, 2], [1, 2], [3, 3]]])
    return Graph(edges, 10)


@pytest.fixture
def x():
    return paddle.to_tensor(np.random.default_rng(1).normal(size=(10, 5)))


def adjacency(graph):
    made = np.zeros((10, 10))
    np.add.at(made, (graph.targets, graph.sources), 1)
    return made


def normalised(graph):
    scale = np.maximum(adjacency(graph).sum(1), 1) ** -0.5
    return adjacency(graph) * scale[:, None] * scale


def linear(layer, x):
    return x @ layer.weight.numpy() + (0 if layer.bias is None else layer.bias.numpy())


@pytest.mark.parametrize("size", [3, 7])
def test_gcn(graph, x, size):
    layer = gnn.GCNConv(5, size, activation="relu")
    layer.bias.set_value(paddle.randn([size]))
    expected = np.maximum(normalised(graph) @ linear(layer.linear, x.numpy()) + layer.bias.numpy(), 0)
    np.testing.assert_allclose(layer(graph, x).numpy(), expected)
    plain = gnn.GCNConv(5, size, norm=False)
    expected = adjacency(graph) @ linear(plain.linear, x.numpy())
    np.testing.assert_allclose(plain(graph, x).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
def test_graph_sage(graph, x, op):
    layer = gnn.GraphSageConv(5, 4, op)
    received = np.zeros((10, 5))
    for node in range(10):
        into = x.numpy()[graph.sources[graph.targets == node]]
        if len(into):
            received[node] = getattr(np, op)(into, axis=0)
    expected = linear(layer.self_linear, x.numpy()) + linear(layer.neigh_linear, received)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(layer(graph, x).numpy(), expected)


def attention(graph, logits, x):
    """logits: [edges, heads], x: [nodes, heads, size]."""
    made = np.zeros_like(x)
    for node in range(len(x)):
        edges = np.flatnonzero(graph.targets == node)
        if len(edges):
            weights = np.exp(logits[edges] - logits[edges].max(0))
            made[node] = ((weights / weights.sum(0))[:, :, None] * x[graph.sources[edges]]).sum(0)
    return made


@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("kind", [gnn.GATConv, gnn.GATv2Conv])
def test_attention(graph, x, kind, concat):
    layer = kind(5, 4, num_heads=3, concat=concat)
    layer.eval()
    z = linear(layer.linear, x.numpy()).reshape(10, 3, 4)

    def leaky(a):
        return np.where(a > 0, a, 0.2 * a)

    if kind is gnn.GATConv:
        logits = (z * layer.weight_src.numpy()).sum(-1)[graph.sources]
        logits = leaky(logits + (z * layer.weight_dst.numpy()).sum(-1)[graph.targets])
    else:
        logits = (leaky(z[graph.sources] + z[graph.targets]) * layer.attn.numpy()).sum(-1)
    expected = attention(graph, logits, z)
    expected = expected.reshape(10, 12) if concat else expected.mean(1)
    np.testing.assert_allclose(layer(graph, x).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("settings", [{}, {"concat": False}, {"gate": True}, {"skip_feat": False}, {"layer_norm": False}])  # fmt: skip
@pytest.mark.parametrize("edges", [False, True])
def test_transformer(graph, x, settings, edges):
    layer = gnn.TransformerConv(5, 4, 3, activation=None, **settings)
    layer.eval()
    q, k, v = (linear(part, x.numpy()).reshape(10, 3, 4) for part in (layer.q, layer.k, layer.v))
    e = np.random.default_rng(2).normal(size=(27, 12)) if edges else np.zeros((27, 12))
    e = e.reshape(27, 3, 4)
    logits = (q[graph.targets] * (k[graph.sources] + e)).sum(-1) / 2
    expected = np.zeros((10, 3, 4))
    for node in range(10):
        into = np.flatnonzero(graph.targets == node)
        if len(into):
            weights = np.exp(logits[into])
            sent = v[graph.sources[into]] + e[into]
            expected[node] = ((weights / weights.sum(0))[:, :, None] * sent).sum(0)
    expected = expected.mean(1) if layer.concat is False else expected.reshape(10, 12)
    if layer.skip_feat is not None:
        own = linear(layer.skip_feat, x.numpy())
        share = 0.5
        if layer.gate is not None:
            share = 1 / (1 + np.exp(-linear(layer.gate, np.concatenate([own, expected, own - expected], 1))))
            expected = share * own + (1 - share) * expected
        else:
            expected = own + expected
    if layer.layer_norm is not None:
        spread = np.sqrt(expected.var(1, keepdims=True) + 1e-5)
        expected = (expected - expected.mean(1, keepdims=True)) / spread
    given = paddle.to_tensor(e.reshape(27, 12)) if edges else None
    np.testing.assert_allclose(layer(graph, x, given).numpy(), expected, atol=1e-12)


def test_transformer_beside_pytorch_geometric(graph, x):
    theirs = pytest.importorskip("torch_geometric.nn")
    layer, peer = gnn.TransformerConv(5, 4, 3, layer_norm=False, activation=None), theirs.TransformerConv(5, 4, 3).double()  # fmt: skip
    layer.eval()
    pairs = (layer.q, peer.lin_query), (layer.k, peer.lin_key), (layer.v, peer.lin_value), (layer.skip_feat, peer.lin_skip)  # fmt: skip
    with torch.no_grad():
        for mine, other in pairs:
            mine.bias.set_value(paddle.randn(mine.bias.shape))
            other.weight.copy_(torch.from_numpy(mine.weight.numpy().T))
            other.bias.copy_(torch.from_numpy(mine.bias.numpy()))
        expected = peer(torch.from_numpy(x.numpy()), torch.from_numpy(graph.edges.T.copy())).numpy()
    np.testing.assert_allclose(layer(graph, x).numpy(), expected, atol=1e-12)


def test_gin(graph, x):
    layer = gnn.GINConv(5, 4, activation="relu", init_eps=0.3, train_eps=True)
    hidden = linear(layer.linear1, adjacency(graph) @ x.numpy() + 1.3 * x.numpy())
    hidden = (hidden - hidden.mean(1, keepdims=True)) / np.sqrt(hidden.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(layer(graph, x).numpy(), linear(layer.linear2, np.maximum(hidden, 0)))
    assert not layer.epsilon.stop_gradient
    plain = gnn.GINConv(5, 4, init_eps=0.3)  # PGL's has no parameter for it either
    assert plain.epsilon == 0.3 and "epsilon" not in plain.state_dict()


@pytest.mark.parametrize("self_loop", [False, True])
def test_appnp_and_lightgcn(graph, x, self_loop):
    # As PGL and PyTorch Geometric: one loop at each node, also where there was one already.
    matrix = normalised(graph.remove_self_loops().add_self_loops() if self_loop else graph)
    expected = x.numpy()
    for _ in range(3):
        expected = 0.9 * matrix @ expected + 0.1 * x.numpy()
    np.testing.assert_allclose(gnn.APPNP(0.1, 3, self_loop)(graph, x).numpy(), expected)
    np.testing.assert_allclose(gnn.LightGCNConv()(graph, x).numpy(), normalised(graph) @ x.numpy())


@pytest.mark.parametrize(
    "kind", [gnn.GCNConv, gnn.GraphSageConv, gnn.GATConv, gnn.GATv2Conv, gnn.GINConv, gnn.TransformerConv]
)
def test_every_parameter_and_the_features_get_a_gradient(graph, x, kind):
    layer = kind(5, 4)
    layer.eval()
    x.stop_gradient = False
    found = layer(graph, x)
    (found * paddle.randn(found.shape)).sum().backward()
    for parameter in [x, *layer.parameters()]:
        if not parameter.stop_gradient:
            assert np.isfinite(parameter.grad.numpy()).all() and (parameter.grad.numpy() != 0).any()


def test_beside_pytorch_geometric(graph, x):
    theirs = pytest.importorskip("torch_geometric.nn")
    edges = torch.from_numpy(graph.edges.T.copy())
    layer, peer = gnn.GATConv(5, 4, num_heads=3), theirs.GATConv(5, 4, 3, add_self_loops=False).double()
    layer.eval()
    with torch.no_grad():
        peer.lin.weight.copy_(torch.from_numpy(layer.linear.weight.numpy().T))
        peer.att_src.copy_(torch.from_numpy(layer.weight_src.numpy())[None])
        peer.att_dst.copy_(torch.from_numpy(layer.weight_dst.numpy())[None])
        peer.bias.zero_()
        expected = peer(torch.from_numpy(x.numpy()), edges).numpy()
    layer.linear.bias.set_value(paddle.zeros([12]))
    np.testing.assert_allclose(layer(graph, x).numpy(), expected, atol=1e-12)


def test_bad_input(graph, x):
    with pytest.raises(
        ValueError, match="GraphSageConv: aggr_func: expected sum, mean, max or min, got 'var'"
    ):
        gnn.GraphSageConv(5, 4, "var")
    with pytest.raises(ValueError, match="degree_norm: mode: expected 'indegree' or 'outdegree', got 'both'"):
        gnn.functional.degree_norm(graph, "both")
    with pytest.raises(ValueError, match="edge_softmax: expected 27 rows, one for each"):
        gnn.functional.edge_softmax(graph, x)


def test_two_layers_learn_the_classes_of_cora():
    if "cora" not in datasets.available():
        pytest.skip("needs cora in SAMPAN_DATA")
    paddle.set_default_dtype("float32")
    paddle.seed(1)
    data = datasets.load_graph("cora")
    graph = data.graph.add_self_loops()
    words, labels = paddle.to_tensor(graph.node_feat["x"]), paddle.to_tensor(data.labels)
    first, second = gnn.GCNConv(1433, 16, "relu"), gnn.GCNConv(16, 7)
    model = paddle.nn.LayerList([first, second])
    decay = paddle.regularizer.L2Decay(5e-4)
    optimizer = paddle.optimizer.Adam(0.01, parameters=model.parameters(), weight_decay=decay)
    train, test = paddle.to_tensor(data.train), paddle.to_tensor(data.test)

    def predict(training):
        return second(
            graph, F.dropout(first(graph, F.dropout(words, 0.5, training=training)), 0.5, training=training)
        )

    for _ in range(100):
        F.cross_entropy(predict(True)[train], labels[train]).backward()
        optimizer.step()
        optimizer.clear_grad()
    with paddle.no_grad():
        right = float((predict(False).argmax(1)[test] == labels[test]).astype("float32").mean())
    assert right > 0.78  # published: 0.815 after 200 epochs
