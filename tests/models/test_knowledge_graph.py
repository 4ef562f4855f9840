"""ComplEx against complex arithmetic, ranks against a loop, and training on a made graph and on WN18RR."""

import os

import numpy as np
import pytest

import sampan as paddle
from sampan.datasets import load_graph
from sampan.datasets.graphs import GraphSet
from sampan.graph import Graph
from sampan.models import knowledge_graph as kg

REAL = os.environ.get("SAMPAN_DATA")


def made(people=60, seed=0):
    """Families of three: parent_of is the inverse of child_of, married is symmetric. A tenth is for testing."""
    rng = np.random.default_rng(seed)
    triples = []
    for first in range(0, people, 3):
        mother, father, child = first, first + 1, first + 2
        triples += [(mother, 0, father), (father, 0, mother)]
        for parent in (mother, father):
            triples += [(parent, 1, child), (child, 2, parent)]
    triples = np.array(triples)[rng.permutation(len(triples))]
    heads, relations, tails = triples.T
    graph = Graph((heads, tails), people, None, {"relation": relations.astype(np.int64)})
    parts = np.split(np.arange(len(triples)), [int(0.8 * len(triples)), int(0.9 * len(triples))])
    return GraphSet(graph, None, train=parts[0], valid=parts[1], test=parts[2])


def all_triples(data, num_relations=3):
    parts = [kg.triples_of(data, part) for part in ("train", "valid", "test")]
    return kg.with_inverses(np.concatenate(parts), num_relations)


def test_scores_are_those_of_complex_numbers():
    paddle.seed(1)
    network = kg.ComplEx(7, 2, dim=5)
    network.entities.weight.set_value(np.random.default_rng(0).standard_normal((7, 10)).astype("float32"))
    network.relations.weight.set_value(np.random.default_rng(1).standard_normal((4, 10)).astype("float32"))
    e, r = (
        t.weight.numpy()[:, :5] + 1j * t.weight.numpy()[:, 5:] for t in (network.entities, network.relations)
    )
    heads, relations = np.array([0, 3, 6]), np.array([1, 0, 3])
    found = network(paddle.to_tensor(heads), paddle.to_tensor(relations)).numpy()
    expected = np.einsum("bd,bd,td->bt", e[heads], r[relations], e.conj()).real
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    n3 = float(
        network.n3(network.entities(paddle.to_tensor(heads)), network.relations(paddle.to_tensor(relations)))
    )
    cubes = (np.abs(e[heads]) ** 3).sum() + (np.abs(r[relations]) ** 3).sum()
    assert n3 == pytest.approx(cubes / 3, rel=1e-4)


def test_an_inverse_swaps_head_and_tail():
    found = kg.with_inverses(np.array([[4, 1, 2], [0, 0, 3]]), 2)
    assert found.tolist() == [[4, 1, 2], [0, 0, 3], [2, 3, 4], [3, 2, 0]]


@pytest.mark.parametrize("constant", [False, True])
def test_ranks_are_those_of_a_loop(constant, monkeypatch):
    monkeypatch.setattr(kg, "ASKED", 7)
    data = made()
    network = kg.ComplEx(60, 3, dim=4)
    rng = np.random.default_rng(0)
    rows = np.zeros((60, 8)) if constant else rng.integers(-2, 3, (60, 8))  # whole numbers: there are ties
    network.entities.weight.set_value(rows.astype("float32"))
    network.relations.weight.set_value(rng.integers(-1, 2, (6, 8)).astype("float32"))
    questions, known = kg.with_inverses(kg.triples_of(data, "test"), 3), all_triples(data)
    expected = []
    for h, r, t in questions:
        scores = network(paddle.to_tensor([h]), paddle.to_tensor([r])).numpy()[0]
        right = {row[2] for row in known.tolist() if row[:2] == [h, r]} - {t}
        others = [scores[i] for i in range(60) if i not in right and i != t]
        better, equal = sum(s > scores[t] for s in others), sum(s == scores[t] for s in others)
        expected.append(1 + better + equal / 2)
    np.testing.assert_array_equal(kg.filtered_ranks(network, questions, known), expected)
    assert network.training


def test_a_score_that_is_not_a_number_has_the_worst_rank():
    network = kg.ComplEx(5, 1, dim=2)
    network.entities.weight.set_value(np.full((5, 4), np.nan, "float32"))
    triples = np.array([[0, 0, 1]])
    assert kg.filtered_ranks(network, triples, triples).tolist() == [5]


def test_metrics():
    found = kg.Metrics.of(np.array([1.0, 2.0, 4.0, 20.0]))
    assert found == kg.Metrics((1 + 1 / 2 + 1 / 4 + 1 / 20) / 4, 0.25, 0.5, 0.75)


def test_it_learns_that_parents_are_married():
    data = made()
    for epoch in kg.train_knowledge_graph(data, 8, 60, batch_size=32, negatives=30, penalty=0.01):
        last = epoch
    found = kg.filtered_ranks(
        last.network, kg.with_inverses(kg.triples_of(data, "test"), 3), all_triples(data)
    )
    assert kg.Metrics.of(found).mrr > 0.8  # by chance: 0.08
    assert last.number == 59 and last.loss < 1


def test_a_seeded_run_is_repeated():
    runs = [
        [e.loss for e in kg.train_knowledge_graph(made(), 4, 3, batch_size=16, seed=s)] for s in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_bad_input_is_named():
    data, network = made(), kg.ComplEx(60, 3, dim=2)
    with pytest.raises(
        ValueError, match=r"ComplEx: num_entities, .* expected 1 or more of each, got 0, 3, 2"
    ):
        kg.ComplEx(0, 3, 2)
    with pytest.raises(ValueError, match="triples_of: part: expected train, valid or test, got 'all'"):
        kg.triples_of(data, "all")
    with pytest.raises(ValueError, match=r"train_knowledge_graph: .* got 96, 0 and 500"):
        next(kg.train_knowledge_graph(data, 4, 0))
    good = np.array([[0, 0, 1]])
    for bad, column in (([[60, 0, 1]], 0), ([[0, 6, 1]], 1), ([[0, 0, -1]], 2)):
        with pytest.raises(
            ValueError, match=f"filtered_ranks: questions: expected numbers .* in column {column}"
        ):
            kg.filtered_ranks(network, np.array(bad), good)
        with pytest.raises(
            ValueError, match=f"filtered_ranks: known: expected numbers .* in column {column}"
        ):
            kg.filtered_ranks(network, good, np.array(bad))


@pytest.mark.skipif(not REAL, reason="needs SAMPAN_DATA with wn18rr")
def test_real_words():
    data = load_graph("wn18rr")
    count = 11
    known = np.concatenate([kg.triples_of(data, part) for part in ("train", "valid", "test")])
    questions = kg.with_inverses(kg.triples_of(data, "test")[:500], count)
    for epoch in kg.train_knowledge_graph(data, 16, 2, batch_size=1000, negatives=2000, learning_rate=0.3):
        last = epoch
    found = kg.Metrics.of(kg.filtered_ranks(last.network, questions, kg.with_inverses(known, count)))
    assert found.mrr > 0.2  # without training 0.0003
