"""Convolutions against their formulas with dense matrices in float64."""

import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph
from sampan.graph import nn as gnn


@pytest.fixture(autouse=True)
def float64():
    paddle.set_default_dtype("float64")
    paddle.seed(0)
    yield
    paddle.set_default_dtype("float32")


RNG = np.random.default_rng(0)
GRAPH = Graph(np.concatenate([RNG.integers(0, 8, (24, 2)), [[1, 2], [1, 2], [3, 3]]]), 10)
X = RNG.normal(size=(10, 5))


def adjacency(graph):
    made = np.zeros((10, 10))
    np.add.at(made, (graph.targets, graph.sources), 1)
    return made


def normalised(matrix):
    scale = np.maximum(matrix.sum(1), 1) ** -0.5
    return matrix * scale[:, None] * scale


def linear(layer, x):
    return x @ layer.weight.numpy() + (0 if layer.bias is None else layer.bias.numpy())


P = normalised(adjacency(GRAPH))


@pytest.mark.parametrize("cached", [False, True])
def test_sgc_and_ssgc(cached):
    x = paddle.to_tensor(X)
    layer = gnn.SGCConv(5, 3, 3, cached, bias=True)
    layer.bias.set_value(paddle.randn([3]))
    other = gnn.SSGCConv(5, 3, 4, 0.1, cached)
    total = sum(0.9**k * np.linalg.matrix_power(P, k) @ X for k in range(5)) / 4 + 0.1 * X
    for _ in range(2):
        expected = linear(layer.linear, P @ P @ P @ X) + layer.bias.numpy()
        np.testing.assert_allclose(layer(GRAPH, x).numpy(), expected, atol=1e-12)
        np.testing.assert_allclose(other(GRAPH, x).numpy(), linear(other.linear, total), atol=1e-12)
    turned = GRAPH.reverse()
    found = layer(turned, x).numpy()  # another graph is not answered from the cache
    power = np.linalg.matrix_power(normalised(adjacency(turned)), 3)
    np.testing.assert_allclose(found, linear(layer.linear, power @ X) + layer.bias.numpy(), atol=1e-12)


@pytest.mark.parametrize("method", ["SGC", "PPR", "NPPR", "Random", "WS"])
def test_gpr(method):
    gamma = np.array([0.3, 0.2, 0.1, 0.4])
    layer = gnn.GPRConv(
        5, 6, 3, alpha=2 if method == "SGC" else 0.1, k_hop=3, init_method=method, gamma=gamma
    )
    layer.eval()
    hops = layer.temp.numpy()
    known = {"SGC": [0, 0, 1, 0], "PPR": [0.1, 0.09, 0.081, 0.729], "WS": gamma}
    if method in known:
        np.testing.assert_allclose(hops, known[method])
    else:
        np.testing.assert_allclose(np.abs(hops).sum(), 1)
    hidden = linear(layer.linear_2, np.maximum(linear(layer.linear_1, X), 0))
    expected = sum(hops[k] * np.linalg.matrix_power(P, k) @ hidden for k in range(4))
    np.testing.assert_allclose(layer(GRAPH, paddle.to_tensor(X)).numpy(), expected, atol=1e-12)


def test_gpr_with_self_loops():
    layer = gnn.GPRConv(5, 6, 3, k_hop=1, self_loop=True, activation=None)
    layer.eval()
    matrix = adjacency(GRAPH)
    np.fill_diagonal(matrix, 1)
    hidden = linear(layer.linear_2, linear(layer.linear_1, X))
    expected = 0.1 * hidden + 0.9 * normalised(matrix) @ hidden
    np.testing.assert_allclose(layer(GRAPH, paddle.to_tensor(X)).numpy(), expected, atol=1e-12)


def test_gcnii():
    layer = gnn.GCNII(5, "tanh", 0.7, 0.3, 3)
    layer.eval()
    y = X
    for k in range(1, 4):
        beta = np.log(0.7 / k + 1)
        mixed = 0.3 * X + 0.7 * P @ y
        y = np.tanh(beta * linear(layer.mlps[k - 1], mixed) + (1 - beta) * mixed)
    np.testing.assert_allclose(layer(GRAPH, paddle.to_tensor(X)).numpy(), y, atol=1e-12)


def test_fa():
    layer = gnn.FAConv(5)
    layer.eval()
    scale = np.maximum(adjacency(GRAPH).sum(1), 1) ** -0.5
    expected = np.zeros((10, 5))
    for a, b in zip(GRAPH.sources, GRAPH.targets, strict=True):
        factor = np.tanh(linear(layer.gate, np.concatenate([X[a], X[b]])))
        expected[b] += factor * scale[a] * scale[b] * X[a]
    np.testing.assert_allclose(layer(GRAPH, paddle.to_tensor(X)).numpy(), expected, atol=1e-12)


def test_ngcf():
    layer = gnn.NGCFConv(5, 3)
    y = (adjacency(GRAPH) @ X + X) * (np.maximum(adjacency(GRAPH).sum(1), 1) ** -0.5)[:, None]
    expected = linear(layer.linear, y) + linear(layer.linear2, X * y)
    expected = np.where(expected > 0, expected, 0.2 * expected)
    np.testing.assert_allclose(layer(GRAPH, paddle.to_tensor(X)).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize(
    "made",
    [
        lambda: gnn.SGCConv(5, 3),
        lambda: gnn.SSGCConv(5, 3),
        lambda: gnn.GPRConv(5, 4, 3),
        lambda: gnn.GCNII(5),
        lambda: gnn.FAConv(5),
        lambda: gnn.NGCFConv(5, 3),
    ],
)
def test_every_parameter_and_the_features_get_a_gradient(made):
    layer, x = made(), paddle.to_tensor(X, stop_gradient=False)
    layer.eval()
    for _ in range(2):
        found = layer(GRAPH, x)
        (found * paddle.randn(found.shape)).sum().backward()
        for parameter in [x, *layer.parameters()]:
            assert np.isfinite(parameter.grad.numpy()).all() and (parameter.grad.numpy() != 0).any()


def test_bad_input():
    with pytest.raises(ValueError, match="GPRConv: init_method: expected SGC, PPR, NPPR, Random or WS"):
        gnn.GPRConv(5, 4, 3, init_method="PR")
    with pytest.raises(ValueError, match=r"GPRConv: gamma: expected shape .11., got .2."):
        gnn.GPRConv(5, 4, 3, init_method="WS", gamma=[1, 2])
