from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sampan import datasets
from sampan.graph import DeepWalk, Graph, HeteroGraph, MetaPath2Vec, Node2Vec


def blocks(nodes: int = 60, parts: int = 3, seed: int = 0) -> tuple[Graph, np.ndarray]:
    """Parts with many edges inside and few between."""
    rng = np.random.default_rng(seed)
    part = np.arange(nodes) % parts
    chance = np.where(part[:, None] == part, 0.4, 0.02)
    sources, targets = np.nonzero(np.triu(rng.random((nodes, nodes)) < chance, 1))
    return Graph((sources, targets), nodes).to_undirected(), part


def purity(vectors: np.ndarray, part: np.ndarray) -> float:
    """Of how many nodes the nearest other node is of the same part."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    scores = unit @ unit.T
    np.fill_diagonal(scores, -np.inf)
    return float((part[scores.argmax(1)] == part).mean())


@pytest.mark.parametrize("made", [DeepWalk, lambda **s: Node2Vec(p=0.5, q=2.0, **s)])
def test_nodes_of_one_part_are_near_one_another(made: Callable[..., DeepWalk]) -> None:
    graph, part = blocks()
    model = made(dim=16, walk_length=20, walks_per_node=40, learning_rate=0.1)
    reports = list(model.train(graph))
    assert purity(model.vectors, part) > 0.95
    assert model.vectors.shape == (60, 16) and model.vectors.dtype == np.float32
    assert reports[-1].done == 1.0 and reports[-1].steps == 60 * 20 * 40
    assert reports[-1].loss < 6 * np.log(2) * 0.9
    near = [node for node, _ in model.similar(7, 5)]
    assert 7 not in near and np.mean(part[near] == part[7]) >= 0.8


def test_products_of_vectors_are_the_shifted_pointwise_information() -> None:
    """Of input and output vectors (Levy and Goldberg 2014), with the powers of the transition matrix that
    windows of 1 to 3 places give (Qiu et al. 2018)."""
    graph, _ = blocks(24, 2, 1)
    model = DeepWalk(24, 30, 1_500, window=3, negative=2, learning_rate=0.05).fit(graph)
    adjacency = np.zeros((24, 24))
    adjacency[graph.sources, graph.targets] = 1
    step = adjacency / adjacency.sum(1, keepdims=True)
    visits = adjacency.sum(1) / adjacency.sum()
    pairs = visits[:, None] * (step + step @ step * 2 / 3 + step @ step @ step / 3) / 2
    drawn = visits**0.75 / (visits**0.75).sum()
    ratio = pairs / pairs.sum() / (visits[:, None] * drawn) / 2
    often = ratio > 0.1
    expected = np.log(ratio[often])
    found = (model._inputs[:, :24] @ model._outputs[:, :24].T)[often]
    assert np.corrcoef(found, expected)[0, 1] > 0.9
    assert abs(np.median(found - expected)) < 0.15


def test_a_seed_gives_the_same_vectors_and_later_training_goes_on() -> None:
    graph, _ = blocks()
    first, again, other = (DeepWalk(8, 10, 2, seed=seed).fit(graph) for seed in (1, 1, 2))
    assert (first.vectors == again.vectors).all() and (first.vectors != other.vectors).any()
    before = first.vectors
    first.fit(graph)
    assert (first.vectors != before).any()
    again.fit(graph)
    assert (first.vectors == again.vectors).all()


def test_stopping_keeps_the_vectors_so_far() -> None:
    graph, _ = blocks(2_000, 4)
    model = DeepWalk(32, 40, 200)
    training = model.train(graph)
    assert 0 < next(training).done < 0.5
    training.close()  # type: ignore[attr-defined]
    assert np.isfinite(model.vectors).all() and (model._outputs != 0).any()


def test_dead_ends_and_isolated_nodes() -> None:
    graph = Graph([(0, 1), (1, 2)], num_nodes=4)
    model = DeepWalk(4, 5, 3).fit(graph)
    assert np.isfinite(model.vectors).all() and model.vectors.shape == (4, 4)


def academic() -> tuple[HeteroGraph, np.ndarray]:
    """Authors of three fields, their papers, and venues of the fields."""
    rng = np.random.default_rng(0)
    field = np.arange(45) % 3
    of_paper = np.arange(120) % 3
    writes = [(a, p) for a in range(45) for p in rng.choice(np.flatnonzero(of_paper == field[a]), 4)]
    venue = [(p, of_paper[p] * 2 + rng.integers(2)) for p in range(120)]
    kinds: dict[Any, Any] = {("author", "writes", "paper"): writes, ("paper", "in", "venue"): venue}
    path = ["author", "writes", "paper", "in", "venue", "has", "paper", "by", "author"]
    inverse = {"has": "in", "by": "writes"}
    return HeteroGraph({"author": 45, "paper": 120, "venue": 6}, kinds, [path], inverse), field


def test_meta_paths() -> None:
    graph, field = academic()
    model = MetaPath2Vec(None, 16, 17, 30, learning_rate=0.1).fit(graph)
    assert purity(model.vectors("author"), field) > 0.95
    assert purity(model.vectors("paper"), np.arange(120) % 3) > 0.95
    assert model.vectors("venue").shape == (6, 16)
    assert model.similar("venue", 0, 1)[0][0] == 1
    alone = MetaPath2Vec(["author", "paper"], 16, 9, 5).fit(graph)
    untouched = MetaPath2Vec(["author", "paper"], 16, 9, 5)
    next(untouched.train(graph))
    assert (alone.vectors("venue") == untouched.vectors("venue")).all()  # no walk comes there


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda: DeepWalk(0), ValueError, "DeepWalk: dim: expected a whole number of at least 1, got 0"),
        (lambda: DeepWalk(4, 1), ValueError, "DeepWalk: walk_length: expected a whole number of at least 2"),
        (lambda: DeepWalk(4, learning_rate=0), ValueError, "DeepWalk: learning_rate"),
        (lambda: Node2Vec(4, p=0), ValueError, "Node2Vec: expected a finite number above 0 for p"),
        (lambda: DeepWalk(4).vectors, ValueError, "DeepWalk: expected `fit` or `train` before"),
        (lambda: DeepWalk(4).fit([(0, 1)]), TypeError, "DeepWalk: expected a Graph"),
        (lambda: DeepWalk(4).fit(Graph([], 0)), ValueError, "expected a graph with nodes to start from"),
        (lambda: DeepWalk(4).fit(Graph([], 2)).fit(Graph([], 3)), ValueError, "expected a graph with 2 nodes"),
        (lambda: DeepWalk(4).fit(Graph([], 2)).similar(2), ValueError, "expected an id below 2, got 2"),
        (lambda: MetaPath2Vec().fit(Graph([], 2)), TypeError, "MetaPath2Vec: expected a HeteroGraph"),
        (lambda: MetaPath2Vec([]).fit(academic()[0]), ValueError, "expected a meta-path, here or of the graph"),
        (lambda: MetaPath2Vec(["author", "city"]).fit(academic()[0]), ValueError, "got"),
        (lambda: MetaPath2Vec().fit(academic()[0]).vectors("city"), ValueError, "expected a node type"),
    ],
)  # fmt: skip
def test_bad_input(made: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        made()


def ridge(vectors: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    x = np.c_[vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.ones(len(vectors))]
    wanted = np.eye(labels.max() + 1)[labels[train]]
    weights = np.linalg.solve(x[train].T @ x[train] + 0.1 * np.eye(x.shape[1]), x[train].T @ wanted)
    return float(((x[test] @ weights).argmax(1) == labels[test]).mean())


def test_vectors_of_cora_tell_its_classes() -> None:
    if "cora" not in datasets.available():
        pytest.skip("needs cora in SAMPAN_DATA")
    data = datasets.load_graph("cora")
    model = DeepWalk(64, 40, 5, learning_rate=0.05).fit(data.graph)
    assert ridge(model.vectors, data.labels, data.train, data.test) > 0.62  # published: 0.67 to 0.70
