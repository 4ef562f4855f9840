import numpy as np
import pytest
import torch

import sampan as paddle
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
def batch():
    rng = np.random.default_rng(0)
    graphs = [Graph(rng.integers(0, n, (3 * n, 2)), n, {"x": rng.normal(size=(n, 4))}) for n in (5, 2, 7)]
    return Graph.batch(graphs).tensor()


def test_pool_and_norm(batch):
    x = batch.node_feat["x"]
    expected = gnn.functional.graph_pool(batch, x, "max").numpy()
    assert (gnn.GraphPool("max")(batch, x).numpy() == expected).all()
    assert (gnn.GraphPool()(batch, x, "max").numpy() == expected).all()
    assert (gnn.GraphNorm()(batch, x).numpy() == gnn.functional.graph_norm(batch, x).numpy()).all()


@pytest.mark.parametrize("own", [False, True])
def test_global_attention(batch, own):
    x, gate, inner = batch.node_feat["x"], paddle.nn.Linear(4, 1), paddle.nn.Linear(4, 6)
    found = gnn.GlobalAttention(gate, inner if own else None)(batch, x).numpy()
    for graph in range(3):
        rows = x.numpy()[batch.graph_node_id.numpy() == graph]
        weights = np.exp(rows @ gate.weight.numpy() + gate.bias.numpy())
        values = rows @ inner.weight.numpy() + inner.bias.numpy() if own else rows
        np.testing.assert_allclose(found[graph], (weights / weights.sum() * values).sum(0))


@pytest.mark.parametrize("layers", [1, 2])
def test_set2set(batch, layers):
    """Beside the same with torch's LSTM."""
    x, layer = batch.node_feat["x"], gnn.Set2Set(4, 3, layers)
    lstm = torch.nn.LSTM(8, 4, layers).double()
    with torch.no_grad():
        for name, parameter in lstm.named_parameters():
            parameter.copy_(torch.from_numpy(getattr(layer.lstm, name).numpy()))
        both, state = torch.zeros(1, 3, 8).double(), None
        for _ in range(3):
            q, state = lstm(both, state)
            parts = []
            for graph in range(3):
                rows = torch.from_numpy(x.numpy()[batch.graph_node_id.numpy() == graph])
                parts.append(torch.softmax(rows @ q[0, graph], 0) @ rows)
            both = torch.cat([q, torch.stack(parts)[None]], -1)
    np.testing.assert_allclose(layer(batch, x).numpy(), both[0].numpy(), atol=1e-12)


def test_sag_pool(batch):
    x, layer = batch.node_feat["x"], gnn.SAGPool(4, 0.5)
    rows, ids, graph = layer(batch, x)
    scores = np.tanh(layer.gnn(batch, x).numpy()[:, 0])
    of, kept = batch.graph_node_id.numpy(), []
    for number, count in enumerate((3, 1, 4)):
        own = np.flatnonzero(of == number)
        kept += own[np.argsort(-scores[own])][:count].tolist()
    assert ids.tolist() == [0, 0, 0, 1, 2, 2, 2, 2] == graph.graph_node_id.tolist()
    np.testing.assert_allclose(rows.numpy(), x.numpy()[kept] * scores[kept][:, None])
    whole = {(a, b) for a, b in zip(batch.sources.tolist(), batch.targets.tolist(), strict=True)}
    inner = {(kept[a], kept[b]) for a, b in zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)}
    assert inner == {(a, b) for a, b in whole if a in kept and b in kept}
    assert graph.num_graph == 3 and (graph.node_feat["attr"].numpy() == rows.numpy()).all()
    rows, _, _ = gnn.SAGPool(4, min_score=0.2)(batch, x)
    assert 3 <= rows.shape[0] < 14


def test_a_batch_of_graphs_learns_what_shape_they_have():
    paddle.set_default_dtype("float32")
    rng = np.random.default_rng(0)

    def made():
        """A ring (0) or a star (1)."""
        n, kind = int(rng.integers(5, 12)), int(rng.integers(2))
        edges = [(a, (a + 1) % n) for a in range(n)] if kind == 0 else [(a, 0) for a in range(1, n)]
        return Graph(edges, n, {"x": np.ones((n, 1), "float32")}).to_undirected(), kind

    first, second = gnn.GraphSageConv(1, 8, "sum", False), gnn.GraphSageConv(8, 8, "sum", False)
    head = paddle.nn.Linear(8, 2)
    pool, layers = gnn.GraphPool("mean"), paddle.nn.LayerList([first, second, head])
    optimizer = paddle.optimizer.Adam(0.02, parameters=layers.parameters())
    for _ in range(40):
        graphs, labels = zip(*[made() for _ in range(32)], strict=True)
        batch = Graph.batch(graphs).tensor()
        output = head(pool(batch, F.relu(second(batch, F.relu(first(batch, batch.node_feat["x"]))))))
        labels = paddle.to_tensor(labels)
        F.cross_entropy(output, labels).backward()
        optimizer.step()
        optimizer.clear_grad()
    assert float((output.argmax(1) == labels).astype("float32").mean()) > 0.9
