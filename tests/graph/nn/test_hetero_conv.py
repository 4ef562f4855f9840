"""Layers on graphs with types against their formulas with dense matrices in float64; PyTorch Geometric beside
them where it is installed."""

from typing import Any

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.graph import Graph, HeteroGraph
from sampan.graph import nn as gnn

WRITES, CITES, HAS = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "has", "word")
SIZES = {"author": 7, "paper": 9, "word": 4}
KINDS = [WRITES, CITES, HAS]


@pytest.fixture(autouse=True)
def float64():
    paddle.set_default_dtype("float64")
    paddle.seed(0)
    yield
    paddle.set_default_dtype("float32")


@pytest.fixture
def graph():
    """With repeated edges, and nodes that no edge leads to."""
    rng = np.random.default_rng(0)
    edges = {k: np.stack([rng.integers(0, SIZES[k[0]], 20), rng.integers(0, SIZES[k[2]] - 1, 20)], 1) for k in KINDS}  # fmt: skip
    path = ["paper", "written_by", "author", "writes", "paper"]
    return HeteroGraph(SIZES, edges, [path, ["paper", "cites", "paper"]], {"written_by": "writes"})


@pytest.fixture
def features():
    rng = np.random.default_rng(1)
    return {kind: paddle.to_tensor(rng.normal(size=(count, 6))) for kind, count in SIZES.items()}


def counts(edges):
    """[targets, sources]"""
    made = np.zeros((edges.sizes[1], edges.sizes[0]))
    np.add.at(made, (edges.targets, edges.sources), 1)
    return made


def mean_of(edges, x):
    matrix = counts(edges)
    return matrix @ x / np.maximum(matrix.sum(1, keepdims=True), 1)


def softmax(x, axis=0):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def matrices(layer):
    """W of each edge type, written out."""
    weight = layer.weight.numpy()
    if layer.w_comp is not None:
        return np.einsum("rb,bio->rio", layer.w_comp.numpy(), weight)
    if layer.num_blocks is None:
        return weight
    found = np.zeros((layer.num_rels, layer.in_dim, layer.out_dim))
    a, b = weight.shape[2:]
    for block in range(layer.num_blocks):
        found[:, block * a : (block + 1) * a, block * b : (block + 1) * b] = weight[:, block]
    return found


@pytest.mark.parametrize("size", [4, 8])
@pytest.mark.parametrize("settings", [{}, {"num_bases": 2}, {"num_bases": 3}, {"num_blocks": 2}])
@pytest.mark.parametrize("root", [False, True])
def test_rgcn(graph, features, settings, root, size):
    layer = gnn.RGCNConv(6, size, KINDS, root_weight=root, bias=root, **settings)
    assert (layer.w_comp is not None) == (settings.get("num_bases") == 2)
    found, weights = layer(graph, features), matrices(layer)
    assert set(found) == ({"author", "paper", "word"} if root else {"paper", "word"})
    for kind, values in found.items():
        expected = np.zeros((SIZES[kind], size))
        for weight, edge_type in zip(weights, KINDS, strict=True):
            if edge_type[2] == kind:
                expected += mean_of(graph[edge_type], features[edge_type[0]].numpy()) @ weight
        if root:
            expected += features[kind].numpy() @ layer.root.numpy() + layer.bias.numpy()
        np.testing.assert_allclose(values.numpy(), expected, atol=1e-12)


def test_rgcn_on_a_dictionary_of_graphs(graph, features):
    graphs = {name: Graph(np.random.default_rng(n).integers(0, 9, (15, 2)), 9) for n, name in enumerate("ab")}
    layer = gnn.RGCNConv(6, 3, list(graphs), aggr="sum")
    x = features["paper"]
    expected = np.zeros((9, 3))
    for name, weight in zip("ab", layer.weight.numpy(), strict=True):
        matrix = np.zeros((9, 9))
        np.add.at(matrix, (graphs[name].targets, graphs[name].sources), 1)
        expected += matrix @ x.numpy() @ weight
    np.testing.assert_allclose(layer(graphs, x).numpy(), expected, atol=1e-12)


def test_han(graph, features):
    layer = gnn.HANConv(6, 8, 2, heads=2)
    x = features["paper"].numpy()
    z = (x @ layer.proj.weight.numpy() + layer.proj.bias.numpy()).reshape(9, 2, 4)
    along = []
    for place, one in enumerate(graph.path_graphs):
        made = np.zeros((9, 2, 4))
        for node in range(9):
            sources = one.sources[one.targets == node]
            if len(sources):
                logits = (z[sources] * layer.lin_src.numpy()[place]).sum(-1)
                logits = logits + (z[node] * layer.lin_dst.numpy()[place]).sum(-1)
                logits = np.where(logits > 0, logits, 0.2 * logits)
                made[node] = (softmax(logits)[:, :, None] * z[sources]).sum(0)
        along.append(np.maximum(made.reshape(9, 8), 0))
    scores = [
        (np.tanh(values @ layer.k_lin.weight.numpy() + layer.k_lin.bias.numpy()) @ layer.q.numpy()[0]).mean()
        for values in along
    ]
    beta = softmax(np.array(scores))
    output, weights = layer(graph, features["paper"], return_semantic_attention_weights=True)
    np.testing.assert_allclose(weights.numpy(), beta)
    np.testing.assert_allclose(output.numpy(), beta[0] * along[0] + beta[1] * along[1], atol=1e-12)
    np.testing.assert_allclose(layer(graph.path_graphs, features["paper"]).numpy(), output.numpy())


def gelu(x):
    return torch.nn.functional.gelu(torch.from_numpy(x)).numpy()


@pytest.mark.parametrize("size", [6, 4])
def test_hgt(graph, features, size):
    layer = gnn.HGTConv(6, size, (list(SIZES), KINDS), heads=2)
    for parameter in [layer.p_rel, *layer.skip.values()]:
        parameter.set_value(paddle.randn(parameter.shape))
    each = size // 2
    kqv = {
        kind: (x.numpy() @ layer.kqv_lin[kind].weight.numpy() + layer.kqv_lin[kind].bias.numpy()).reshape(-1, 3, 2, each)
        for kind, x in features.items()
    }  # fmt: skip
    found = layer(graph, features)
    assert set(found) == {"paper", "word"}
    for target, values in found.items():
        total = np.zeros((SIZES[target], 2, each))
        for node in range(SIZES[target]):
            logits, sent = [], []
            for place, kind in enumerate(KINDS):
                if kind[2] != target:
                    continue
                for source in graph[kind].sources[graph[kind].targets == node]:
                    k, _, v = kqv[kind[0]][source]
                    k = np.einsum("hi,hio->ho", k, layer.k_rel.numpy()[place])
                    logit = (k * kqv[target][node, 1]).sum(-1) * layer.p_rel.numpy()[place] / np.sqrt(each)
                    logits.append(logit)
                    sent.append(np.einsum("hi,hio->ho", v, layer.v_rel.numpy()[place]))
            if logits:
                total[node] = (softmax(np.array(logits))[:, :, None] * np.array(sent)).sum(0)
        out = layer.out_lin[target]
        expected = gelu(total.reshape(-1, size)) @ out.weight.numpy() + out.bias.numpy()
        if size == 6:
            share = 1 / (1 + np.exp(-layer.skip[target].numpy()))
            expected = share * expected + (1 - share) * features[target].numpy()
        np.testing.assert_allclose(values.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["rgcn", "bases", "blocks", "han", "hgt"])
def test_every_parameter_and_the_features_get_a_gradient(graph, features, name):
    layer: Any = {
        "rgcn": lambda: gnn.RGCNConv(6, 4, KINDS, root_weight=True, bias=True),
        "bases": lambda: gnn.RGCNConv(6, 8, KINDS, num_bases=2),
        "blocks": lambda: gnn.RGCNConv(6, 4, KINDS, num_blocks=2),
        "han": lambda: gnn.HANConv(6, 4, 2, heads=2, activation="elu"),
        "hgt": lambda: gnn.HGTConv(6, 6, (list(SIZES), KINDS), heads=2),
    }[name]()
    for x in features.values():
        x.stop_gradient = False
    found = layer(graph, features["paper"] if name == "han" else features)
    found = {"paper": found} if name == "han" else found
    sum((values * paddle.randn(values.shape)).sum() for values in found.values()).backward()
    given = [features["paper"]] if name == "han" else list(features.values())[:2]
    unused = {"skip.author", "out_lin.author.weight", "out_lin.author.bias"}  # no edge leads to authors
    parameters = [value for key, value in layer.named_parameters() if key not in unused]
    for parameter in [*given, *parameters]:
        assert np.isfinite(parameter.grad.numpy()).all() and (parameter.grad.numpy() != 0).any()


def theirs_of(graph):
    return {k: torch.from_numpy(np.stack([r.sources, r.targets]).astype(np.int64)) for k, r in graph.relations.items()}  # fmt: skip


def put(parameter, value, transposed=False):
    array = value.numpy()
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(array.T if transposed else array).reshape(parameter.shape))


@pytest.mark.parametrize("settings", [{}, {"num_bases": 2}, {"num_blocks": 2}])
def test_rgcn_beside_pytorch_geometric(settings):
    theirs = pytest.importorskip("torch_geometric.nn")
    rng = np.random.default_rng(3)
    edges, types, x = rng.integers(0, 10, (40, 2)), rng.integers(0, 3, 40), rng.normal(size=(10, 6))
    layer = gnn.RGCNConv(6, 4, ["0", "1", "2"], root_weight=True, bias=True, **settings)
    layer.bias.set_value(paddle.randn([4]))
    peer = theirs.RGCNConv(6, 4, 3, **settings).double()
    put(peer.weight, layer.weight)
    put(peer.root, layer.root)
    put(peer.bias, layer.bias)
    if layer.w_comp is not None:
        put(peer.comp, layer.w_comp)
    graphs = {str(r): Graph(edges[types == r], 10) for r in range(3)}
    expected = peer(torch.from_numpy(x), torch.from_numpy(edges.T), torch.from_numpy(types))
    found = layer(graphs, paddle.to_tensor(x)).numpy()
    np.testing.assert_allclose(found, expected.detach().numpy(), atol=1e-12)


def test_han_beside_pytorch_geometric(graph, features):
    theirs = pytest.importorskip("torch_geometric.nn")
    kinds = [("paper", str(n), "paper") for n in range(2)]
    layer, peer = gnn.HANConv(6, 8, 2, heads=4), theirs.HANConv(6, 8, (["paper"], kinds), heads=4).double()
    put(peer.proj["paper"].weight, layer.proj.weight, True)
    put(peer.proj["paper"].bias, layer.proj.bias)
    put(peer.k_lin.weight, layer.k_lin.weight, True)
    put(peer.k_lin.bias, layer.k_lin.bias)
    put(peer.q, layer.q)
    for place, kind in enumerate(kinds):
        put(peer.lin_src["__".join(kind)], layer.lin_src[place])
        put(peer.lin_dst["__".join(kind)], layer.lin_dst[place])
    edges = {k: torch.from_numpy(np.stack([g.sources, g.targets]).astype(np.int64)) for k, g in zip(kinds, graph.path_graphs, strict=True)}  # fmt: skip
    x = torch.from_numpy(features["paper"].numpy())
    expected, weights = peer({"paper": x}, edges, return_semantic_attention_weights=True)
    found, beta = layer(graph, features["paper"], return_semantic_attention_weights=True)
    np.testing.assert_allclose(found.numpy(), expected["paper"].detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(beta.numpy(), weights["paper"].detach().numpy(), atol=1e-12)


def test_hgt_beside_pytorch_geometric(graph, features):
    theirs = pytest.importorskip("torch_geometric.nn")
    metadata = list(SIZES), KINDS
    layer, peer = gnn.HGTConv(6, 6, metadata, heads=3), theirs.HGTConv(6, 6, metadata, heads=3).double()
    for kind in SIZES:
        for mine, other in ((layer.kqv_lin[kind], peer.kqv_lin.lins[kind]), (layer.out_lin[kind], peer.out_lin.lins[kind])):  # fmt: skip
            put(other.weight, mine.weight, True)
            put(other.bias, mine.bias)
        layer.skip[kind].set_value(paddle.randn([1]))
        put(peer.skip[kind], layer.skip[kind])
    for mine, other in ((layer.k_rel, peer.k_rel), (layer.v_rel, peer.v_rel)):
        put(other.weight, mine.transpose([1, 0, 2, 3]))
    layer.p_rel.set_value(paddle.randn([3, 3]))
    for place, kind in enumerate(KINDS):
        put(peer.p_rel["__".join(kind)], layer.p_rel[place])
    x = {kind: torch.from_numpy(values.numpy()) for kind, values in features.items()}
    expected, found = peer(x, theirs_of(graph)), layer(graph, features)
    for kind in ("paper", "word"):
        np.testing.assert_allclose(found[kind].numpy(), expected[kind].detach().numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda g, x: gnn.RGCNConv(6, 4, KINDS, num_bases=2, num_blocks=2), "expected num_bases or num_blocks"),
        (lambda g, x: gnn.RGCNConv(6, 4, KINDS, num_blocks=3), "num_blocks that divides 2, got 3"),
        (lambda g, x: gnn.RGCNConv(6, 4, KINDS, aggr="max"), "aggr: expected mean or sum, got 'max'"),
        (lambda g, x: gnn.RGCNConv(6, 4, KINDS)(g, {"paper": x["paper"]}), "features of node type 'author'"),
        (lambda g, x: gnn.HANConv(6, 4, 3)(g, x["paper"]), "HANConv: expected 3 meta-paths, got 2"),
        (lambda g, x: gnn.HANConv(6, 4, 3, heads=3), "HANConv: expected heads that divides 4, got 3"),
        (lambda g, x: gnn.HGTConv({"paper": 6}, 6, (list(SIZES), KINDS)), "features of node type 'author'"),
        (lambda g, x: gnn.HGTConv(6, 6, (list(SIZES), KINDS))(g, {}), "HGTConv: expected features of node type"),
        (
            lambda g, x: gnn.HGTConv(6, 6, (list(SIZES), [("word", "in", "paper")]))(g, x),
            "HGTConv: expected edges of type .'word', 'in', 'paper'.",
        ),
    ],
)  # fmt: skip
def test_bad_input(graph, features, made, text):
    with pytest.raises(ValueError, match=text):
        made(graph, features)


def test_graphs_of_another_kind(graph, features):
    plain = Graph([(0, 1)], 9)
    with pytest.raises(TypeError, match="HANConv: expected a HeteroGraph for graph, got Graph"):
        gnn.HANConv(6, 4, 1)(plain, features["paper"])
    with pytest.raises(TypeError, match="HGTConv: expected a HeteroGraph for graph, got Graph"):
        gnn.HGTConv(6, 6, (list(SIZES), KINDS))(plain, features)
    for given in (plain, {"b": plain}):
        with pytest.raises(ValueError, match="RGCNConv: expected a graph with edges of type 'a', got"):
            gnn.RGCNConv(6, 4, ["a"])(given, features["paper"])
    with pytest.raises(ValueError, match="RGCNConv: expected a graph with edges of type 'cites_no', got"):
        gnn.RGCNConv(6, 4, ["cites_no"])(graph, features)
