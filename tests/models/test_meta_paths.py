"""Attention over meta-paths: the mean along a path by counting, F1 against a hand count, training, and DBLP."""

import os

import numpy as np
import pytest

import sampan as paddle
from sampan.datasets import load_graph
from sampan.graph import HeteroGraph
from sampan.models import meta_paths

REAL = os.environ.get("SAMPAN_DATA")


def made(seed=0):
    """Authors of three areas; an area has venues of its own, and terms say little."""
    rng = np.random.default_rng(seed)
    authors, papers, venues, terms = 90, 200, 6, 30
    labels = rng.integers(0, 3, authors)
    writers = rng.integers(0, authors, papers)
    places = 2 * labels[writers] + rng.integers(0, 2, papers)
    words = rng.integers(0, terms, (papers, 3))
    graph = HeteroGraph(
        node_types={"paper": papers, "author": authors, "venue": venues, "term": terms},
        edge_types={
            ("author", "writes", "paper"): np.stack([writers, np.arange(papers)], 1),
            ("paper", "published_in", "venue"): np.stack([np.arange(papers), places], 1),
            ("paper", "contains", "term"): np.stack([np.repeat(np.arange(papers), 3), words.ravel()], 1),
        },
    )
    return graph, labels


def test_a_path_brings_the_mean_of_means():
    graph, _ = made()
    routes = meta_paths.path_routes(graph, meta_paths.DBLP_PATHS["APCPA"])
    network = meta_paths.MetaPathAttention({"APCPA": routes}, 30, 3)
    x = np.random.default_rng(1).standard_normal((90, 4)).astype(np.float32)
    expected = x.astype(np.float64)
    for step in reversed(graph.steps(meta_paths.DBLP_PATHS["APCPA"])):
        side = graph.along(step)
        dense = np.zeros((len(side.degrees), side.width))
        np.add.at(dense, (np.repeat(np.arange(len(side.degrees)), side.degrees), side.neighbours), 1)
        expected = dense @ expected / np.maximum(dense.sum(1, keepdims=True), 1)
    np.testing.assert_allclose(network.along(paddle.to_tensor(x), routes).numpy(), expected, atol=1e-5)


def test_words_are_shares():
    graph, labels = made()
    words = meta_paths.author_words(graph).to_dense().numpy()
    sums = words.sum(1)
    assert words.shape == (90, 30) and np.allclose(sums[sums > 0], 1) and (sums > 0).sum() > 60
    plain, everyone, classes = meta_paths.without_types(graph, labels)
    everyone = everyone.to_dense().numpy()
    np.testing.assert_array_equal(everyone[200:290], words)
    np.testing.assert_array_equal(everyone[296:], np.eye(30))
    contains = graph.relations["paper", "contains", "term"]
    dense = np.zeros((200, 30))
    np.add.at(dense, (contains.sources, contains.targets), 1)
    np.testing.assert_allclose(everyone[:200], dense / dense.sum(1, keepdims=True), atol=1e-6)
    venue = graph.relations["paper", "published_in", "venue"]
    at = np.zeros((6, 30))
    np.add.at(at, venue.targets, dense[venue.sources])
    np.testing.assert_allclose(everyone[290:296], at / at.sum(1, keepdims=True), atol=1e-6)
    assert (classes[200:290] == labels).all() and (classes >= 0).sum() == 90
    both = sum(relation.num_edges for relation in graph.relations.values()) * 2
    assert plain.num_nodes == 326 and plain.num_edges <= both + 326 and (plain.by_target.degrees > 0).all()


def test_a_gcn_without_types_learns_and_names_its_arguments():
    graph, labels = made()
    plain, words, classes = meta_paths.without_types(graph, labels)
    paddle.seed(0)
    network = meta_paths.DeepGCN(plain, words.shape[1], 3, layers=4, hidden=16, dropout=0.0)
    parts = meta_paths.split_labelled(classes, 0.5)
    epochs = list(meta_paths.train_authors(network, words, classes, parts, 60))
    assert epochs[-1].loss < 0.7 * epochs[0].loss and epochs[-1].weights == {}
    # The layers are four products with the normalised matrix: by dense arrays.
    dense = np.zeros((326, 326))
    np.add.at(dense, (plain.targets, plain.sources), 1)
    scale = dense.sum(1) ** -0.5
    dense *= scale[:, None] * scale
    x = words.to_dense().numpy().astype(np.float64)
    layers = [network.first, *network.rest]
    for layer in layers:
        x = dense @ x @ layer.linear.weight.numpy() + layer.bias.numpy()
        x = np.maximum(x, 0) if layer is not layers[-1] else x
    network.eval()
    np.testing.assert_allclose(network(words).numpy(), x, atol=1e-4)
    with pytest.raises(ValueError, match="DeepGCN: layers: expected 2 or more, got 1"):
        meta_paths.DeepGCN(plain, 30, 3, layers=1)


def test_f1_by_hand():
    found, labels = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0])
    # class 0: 1 right, 1 false, 1 missed; class 1: 2 right, 1 missed
    assert meta_paths.f1(found, labels) == pytest.approx((2 / 4 + 4 / 5) / 2)
    assert meta_paths.f1(found, labels, "micro") == pytest.approx(2 * 3 / (4 + 5))


def test_venues_tell_the_area():
    graph, labels = made()
    words = meta_paths.author_words(graph)
    scores = {}
    for name in ("APCPA", "APTPA"):
        paddle.seed(0)
        routes = {name: meta_paths.path_routes(graph, meta_paths.DBLP_PATHS[name])}
        network = meta_paths.MetaPathAttention(routes, 30, 3, hidden=16, dropout=0.0)
        *_, last = meta_paths.train_authors(
            network, words, labels, meta_paths.split_labelled(labels, 0.5), 40
        )
        assert last.weights == {name: 1.0}
        scores[name] = last.macro
    assert scores["APCPA"] > 0.7 > scores["APTPA"]


def test_parts_share_no_node():
    labels = np.array([-1, 0, 1, 2] * 25)
    parts = meta_paths.split_labelled(labels, 0.2, 0.1)
    assert [len(part) for part in parts] == [15, 7, 53]
    assert sorted(np.concatenate(parts)) == np.flatnonzero(labels >= 0).tolist()
    with pytest.raises(ValueError, match="MetaPathAttention: paths: expected one path or more"):
        meta_paths.MetaPathAttention({}, 3, 2)


@pytest.mark.skipif(not REAL, reason="needs dblp_four_area in SAMPAN_DATA")
def test_paths_beat_the_graph_without_types_on_dblp():
    authors = load_graph("dblp_four_area")
    graph, labels = authors.graph, authors.labels
    plain, words, classes = meta_paths.without_types(graph, labels)
    paddle.seed(0)
    gcn = meta_paths.DeepGCN(plain, words.shape[1], 4)
    *_, without = meta_paths.train_authors(gcn, words, classes, meta_paths.split_labelled(classes), 40)
    routes = {"APCPA": meta_paths.path_routes(graph, meta_paths.DBLP_PATHS["APCPA"])}
    network = meta_paths.MetaPathAttention(routes, words.shape[1], 4)
    *_, last = meta_paths.train_authors(
        network, meta_paths.author_words(graph), labels, meta_paths.split_labelled(labels), 40
    )
    assert last.macro > 0.88 and last.macro > without.macro + 0.02
