"""LightGCN against its formula with dense matrices, its ranks against a loop, its negatives, and training."""

import os

import numpy as np
import pytest

from sampan.datasets import load_ratings
from sampan.datasets.interactions import leave_last_out, made_log
from sampan.models import light_gcn
from sampan.models.recommender import hit_rate

REAL = os.environ.get("SAMPAN_DATA")


def groups(people=60, films=40, seed=0):
    """A log in which even people see even films and odd people see odd ones."""
    log = made_log(people * 25, films, seed=seed)
    items = log.items - log.items % 2 + log.users % 2
    return type(log)(**{**log.__dict__, "items": items})


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_the_vectors_are_those_of_the_formula(layers):
    log = groups()
    network = light_gcn.LightGCN(log.num_users, log.num_items, 8, layers)
    graph = light_gcn.user_item_graph(log)
    count = log.num_users + log.num_items
    adjacency = np.zeros((count, count))
    adjacency[log.users, log.num_users + log.items] = 1
    adjacency += adjacency.T
    norm = np.maximum(adjacency.sum(1), 1) ** -0.5
    step = norm[:, None] * adjacency * norm
    x = network.rows.numpy().astype(np.float64)
    expected = sum(np.linalg.matrix_power(step, k) @ x for k in range(layers + 1)) / (layers + 1)
    np.testing.assert_allclose(network(graph).numpy(), expected, rtol=1e-4, atol=1e-6)


def test_ranks_leave_out_what_the_user_has():
    log = groups()
    train, held = leave_last_out(log)
    network = light_gcn.LightGCN(log.num_users, log.num_items, 4, 1)
    graph = light_gcn.user_item_graph(train)
    vectors = network(graph).numpy()
    expected = []
    for user, item in zip(held.users, held.items, strict=True):
        scores = vectors[log.num_users :] @ vectors[user]
        seen = set(train.items[train.users == user].tolist()) - {item}
        expected.append(
            1 + sum(scores[i] >= scores[item] for i in range(log.num_items) if i not in seen and i != item)
        )
    np.testing.assert_array_equal(light_gcn.light_gcn_ranks(network, graph, train, held), expected)


def test_negatives_are_uniform_among_those_that_the_user_has_not():
    known = np.array([0, 1, 5, 7 + 2])  # user 0 has 0, 1, 5 of 7; user 1 has 2
    found = light_gcn._not_known(np.repeat([0, 1], 6000), known, 7, np.random.default_rng(0))
    first, second = (np.bincount(part, minlength=7) for part in (found[:6000], found[6000:]))
    assert (first[[0, 1, 5]] == 0).all() and second[2] == 0
    assert np.abs(first[[2, 3, 4, 6]] - 1500).max() < 150 and np.abs(np.delete(second, 2) - 1000).max() < 130


def test_it_learns_the_groups_and_a_seeded_run_is_repeated():
    log = groups()
    train, held = leave_last_out(log)
    runs = [
        list(light_gcn.train_light_gcn(train, 20, held, dim=8, layers=2, seed=seed)) for seed in (1, 1, 2)
    ]
    assert [e.loss for e in runs[0]] == [e.loss for e in runs[1]] != [e.loss for e in runs[2]]
    network, graph = runs[0][-1].network, light_gcn.user_item_graph(train)
    vectors = network(graph).numpy()
    scores = vectors[: log.num_users] @ vectors[log.num_users :].T
    even = np.arange(log.num_items) % 2 == 0
    of_group = np.where(np.arange(log.num_users)[:, None] % 2 == 0, even, ~even)
    assert scores[of_group].mean() > 0.05 > -0.05 > scores[~of_group].mean()
    assert runs[0][-1].loss < runs[0][0].loss
    found = light_gcn.light_gcn_ranks(network, graph, train, held)
    assert runs[0][-1].hit_rate == hit_rate(found)


def test_bad_input_is_named():
    with pytest.raises(
        ValueError, match=r"LightGCN: num_users, .*: expected 1, 1, 1 and 0 or more, got 3, 0, 4, 1"
    ):
        light_gcn.LightGCN(3, 0, 4, 1)
    with pytest.raises(
        ValueError, match=r"train_light_gcn: ratings, epochs, batch_size: .* got \d+, 0, 4096"
    ):
        next(light_gcn.train_light_gcn(groups(), 0))


@pytest.mark.skipif(not REAL, reason="needs SAMPAN_DATA with movielens_latest_small")
def test_real_ratings():
    log = load_ratings("movielens_latest_small")
    for epoch in light_gcn.train_light_gcn(log, 2, layers=2):
        last = epoch
    assert last.hit_rate > 0.02  # by chance: 0.001
