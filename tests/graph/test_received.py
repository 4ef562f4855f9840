"""Functions of a user over messages, against loops over networkx's edges."""

import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph, routes


@pytest.fixture
def graph():
    rng = np.random.default_rng(0)
    return Graph(
        rng.integers(0, 9, (30, 2)), 11, {"x": rng.normal(size=(11, 3))}, {"w": rng.normal(size=(30, 1))}
    ).tensor()


def rows(graph, messages, reduce):
    """reduce(messages into a node) for each, zeros without any."""
    made = np.zeros((graph.num_nodes, *messages.shape[1:]))
    for node in range(graph.num_nodes):
        into = messages[graph.targets == node]
        if len(into):
            made[node] = reduce(into)
    return made


def test_send_gathers_what_is_read(graph):
    x, w = graph.node_feat["x"], graph.edge_feat["w"]
    made = graph.send(lambda s, d, e: {"m": s["x"] * e["w"] + d["x"]}, node_feat={"x": x}, edge_feat={"w": w})
    expected = x.numpy()[graph.sources] * w.numpy() + x.numpy()[graph.targets]
    np.testing.assert_allclose(made["m"].numpy(), expected)
    read = graph.send(lambda s, d, e: {"names": len(s), "other": list(d)}, src_feat={"x": x})
    assert read == {"names": 1, "other": []}


@pytest.mark.parametrize("op", ["sum", "mean", "max", "min"])
def test_reductions(graph, op):
    message = graph.send(lambda s, d, e: {"m": s["x"]}, src_feat={"x": graph.node_feat["x"]})
    sent = graph.node_feat["x"].numpy()[graph.sources]
    reduce = getattr(np, op)
    found = graph.recv(lambda m: getattr(m, f"reduce_{op}")(m["m"]), message)
    np.testing.assert_allclose(found.numpy(), rows(graph, sent, lambda a: reduce(a, axis=0)))
    np.testing.assert_allclose(found.numpy(), graph.send_recv(graph.node_feat["x"], op).numpy())
    back = graph.reverse().recv(lambda m: m.reduce(m["m"], op), message)
    np.testing.assert_allclose(
        graph.recv(lambda m: m.reduce(m["m"], op), message, "src").numpy(), back.numpy()
    )


def test_softmax_and_expansion(graph):
    message = graph.send(lambda s, d, e: {"m": s["x"]}, src_feat={"x": graph.node_feat["x"]})

    def reduce(m):
        shifted = m["m"] - m.edge_expand(m.reduce_max(m["m"]))
        weights = shifted.exp() / m.edge_expand(m.reduce_sum(shifted.exp()))
        np.testing.assert_allclose(m.reduce_softmax(m["m"]).numpy(), weights.numpy())
        return m.reduce_sum(weights) + 5.0  # not where nothing is received

    found = graph.recv(reduce, message).numpy()
    reached = np.isin(np.arange(11), graph.targets)
    np.testing.assert_allclose(found, np.where(reached[:, None], 6.0, 0.0) * np.ones(3))


def test_messages_have_gradients(graph):
    x = graph.node_feat["x"]
    x.stop_gradient = False
    message = graph.send(lambda s, d, e: {"m": s["x"] * d["x"]}, node_feat={"x": x})
    graph.recv(lambda m: m.reduce_sum(m["m"]), message).sum().backward()
    values, expected = x.numpy(), np.zeros((11, 3))
    np.add.at(expected, graph.sources, values[graph.targets])
    np.add.at(expected, graph.targets, values[graph.sources])
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_both_ends_of_other_sizes(graph):
    x = paddle.to_tensor(np.random.default_rng(1).normal(size=(20, 2)))
    found = graph.send_recv(x, "sum", out_size=9)
    np.testing.assert_allclose(found.numpy(), rows(graph, x.numpy()[graph.sources], lambda a: a.sum(0))[:9])


def test_routes_to_other_sizes_are_made_once(graph, monkeypatch):
    copies = []
    copy = routes._owned
    monkeypatch.setattr(routes, "_owned", lambda *given: copies.append(given) or copy(*given))
    x = paddle.ones([20, 2])
    first, second = (graph.send_recv(x, "sum", out_size=9).numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(copies) == 2  # sources and targets, in the first call


def test_bad_input(graph):
    x = {"x": graph.node_feat["x"]}
    for call, error, text in [
        (
            lambda: graph.send(lambda s, d, e: s["x"], src_feat=x),
            TypeError,
            "send: expected a dictionary of messages",
        ),
        (
            lambda: graph.send(lambda s, d, e: {}, src_feat=x, node_feat=x),
            ValueError,
            "send: expected node_feat or",
        ),
        (lambda: graph.recv(lambda m: m, [1]), TypeError, "recv: msg: expected a dictionary, got list"),
        (lambda: graph.recv(lambda m: m, {}, "both"), ValueError, "recv: recv_mode: expected 'dst' or 'src'"),
    ]:
        with pytest.raises(error, match=text):
            call()
