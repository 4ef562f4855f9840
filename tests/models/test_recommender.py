"""The two towers against the same in torch, the metrics against their definitions, and training that can be stopped."""

import math
import os
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan as paddle
from benchmarks import recommender_throughput as throughput
from benchmarks import recommender_torch as peers
from sampan import datasets
from sampan.datasets.interactions import Ratings, leave_last_out, made_log
from sampan.embedding import DynamicEmbedding
from sampan.models.recommender import (
    TwoTower,
    hit_rate,
    ranks,
    sampled_softmax,
    train_two_tower,
    two_tower_ranks,
)

REAL = os.environ.get("SAMPAN_DATA")


def log_of(users, items, times=None, num_users=None, num_items=None):
    users, items = np.array(users, np.int64), np.array(items, np.int64)
    times = np.arange(len(users)) if times is None else np.array(times, np.int64)
    none = np.empty(0, np.int64)
    sizes = num_users or int(users.max()) + 1, num_items or int(items.max()) + 1
    return Ratings(users, items, np.ones(len(users), np.float32), times, *sizes, [], [], none, none, "made")


def tastes(people=60, items=40, each=12, seed=0):
    """People of four tastes, each of a quarter of the items, in a random order: what one has tells what comes next."""
    rng = np.random.default_rng(seed)
    quarter = items // 4
    had = np.stack([rng.permutation(quarter)[:each] % quarter + (u % 4) * quarter for u in range(people)])
    return log_of(np.repeat(np.arange(people), had.shape[1]), had.ravel(), num_items=items)


def batch(rng, people=9, items=13, length=5, size=8):
    history = rng.integers(0, items + 1, (size, length))
    history[0] = items  # a user without history
    return [rng.integers(0, people, size), history, rng.integers(0, items, size)]


# --- the networks ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients_are_torchs(sparse, dtype):
    paddle.seed(1)
    ours = TwoTower(9, 13, dim=4, length=5, sparse=sparse)
    ours.recency.data.normal_()
    ours.to(dtype=dtype)
    theirs = peers.TwoTower(9, 13, 4, 5, sparse).to(getattr(torch, dtype))
    peers.copied(theirs, ours)
    users, history, items = batch(np.random.default_rng(0))
    log_q = np.random.default_rng(1).normal(size=8).astype(dtype)
    given = [paddle.to_tensor(a) for a in (users, history, items)]
    loss = sampled_softmax(*ours(*given), paddle.to_tensor(log_q))
    loss.backward()
    others = [torch.from_numpy(a) for a in (users, history, items)]
    expected = peers.sampled_softmax(*theirs(*others), torch.from_numpy(log_q))
    expected.backward()
    close = {"rtol": 1e-4, "atol": 1e-6} if dtype == "float32" else {"rtol": 1e-10, "atol": 1e-13}
    np.testing.assert_allclose(loss.numpy(), expected.detach().numpy(), **close)
    found = peers.gradients(theirs)
    assert set(found) == {name for name, _ in ours.named_parameters()}
    for name, parameter in ours.named_parameters():
        np.testing.assert_allclose(parameter.grad.numpy(), found[name], err_msg=name, **close)


def test_gradients_are_finite_differences():
    paddle.seed(2)
    network = TwoTower(9, 13, dim=3, length=5)
    network.recency.data.normal_()
    network.to(dtype="float64")
    rng = np.random.default_rng(3)
    given = [paddle.to_tensor(a) for a in batch(rng)]
    log_q = paddle.to_tensor(rng.normal(size=8))

    def loss():
        return sampled_softmax(*network(*given), log_q)

    loss().backward()
    for name, parameter in network.named_parameters():
        way = torch.from_numpy(rng.normal(size=parameter.shape))
        slope = (parameter.grad.data * way).sum()
        values = []
        for sign in (1, -1):
            parameter.data += sign * 1e-6 * way
            values.append(float(loss()))
            parameter.data -= sign * 1e-6 * way
        np.testing.assert_allclose(
            (values[0] - values[1]) / 2e-6, float(slope), rtol=1e-5, atol=1e-9, err_msg=name
        )


def test_the_loss_is_the_papers_formula():
    """In float64 NumPy, term by term."""
    rng = np.random.default_rng(0)
    users, items, log_q = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), np.log([0.5, 0.1, 0.1, 0.3])
    terms = [[math.exp(users[i] @ items[j] - log_q[j]) for j in range(4)] for i in range(4)]
    expected = -np.mean([math.log(terms[i][i] / sum(terms[i])) for i in range(4)])
    found = sampled_softmax(*(paddle.to_tensor(a) for a in (users, items, log_q)))
    np.testing.assert_allclose(float(found), expected, rtol=1e-12)


def test_sampled_batches_lead_to_the_whole_softmax():
    """What the correction is for: with free scores s the shares e^s come to p. Without it, they would come to be equal."""
    p, count = np.array([0.55, 0.3, 0.1, 0.05]), 4
    shares = {}
    for corrected in (True, False):
        scores = paddle.to_tensor(np.zeros((count, 1)), stop_gradient=False)
        rng = np.random.default_rng(0)
        sgd = paddle.optimizer.SGD(4.0, parameters=[scores])
        ones = paddle.ones([256, 1], "float64")
        for _ in range(60):
            ids = rng.choice(count, 256, p=p)
            log_q = paddle.to_tensor(np.log(p)[ids] * corrected)
            sampled_softmax(ones, paddle.index_select(scores, paddle.to_tensor(ids)), log_q).backward()
            sgd.step()
            sgd.clear_grad()
        shares[corrected] = np.exp(scores.numpy()[:, 0]) / np.exp(scores.numpy()).sum()
    np.testing.assert_allclose(shares[True], p, atol=0.05)
    np.testing.assert_allclose(shares[False], 1 / count, atol=0.05)


def test_a_table_that_grows_serves_any_ids():
    """The towers on ids up to 1e9: rows for what was seen alone, and recommendations by them."""
    far = 1_000_000_007
    log = tastes()
    raw = np.sort(np.random.default_rng(0).choice(far, log.num_items, replace=False))
    wide = log_of(log.users, raw[log.items], num_items=far)

    def table(rows, dim):
        return DynamicEmbedding(rows, dim, far if rows > far else None, initializer=("normal", 0.05))

    network = TwoTower(wide.num_users, far, 8, 5, table)
    train, held = leave_last_out(wide)
    *_, last = train_two_tower(train, 12, network, held, batch_size=64, learning_rate=0.05, candidates=raw)
    assert len(network.items) == log.num_items
    assert network.items.statistics()["saved"] > 0.9999
    assert last.hit_rate > 0.7 and network.item_vectors(raw).shape == (40, 8)
    assert (two_tower_ranks(network, held, raw) <= 40).all()


# --- the metrics ----------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.data())
def test_a_rank_counts_all_that_is_not_worse(data):
    n, count = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 8))
    values = st.one_of(st.integers(-2, 2).map(float), st.just(float("nan")), st.just(float("-inf")))
    scores = np.array(
        data.draw(st.lists(st.lists(values, min_size=count, max_size=count), min_size=n, max_size=n))
    )
    wanted = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=n, max_size=n)))
    pairs = data.draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, count - 1)), max_size=10))
    seen = tuple(np.array(column, np.int64) for column in (zip(*pairs, strict=True) if pairs else ([], [])))
    kept = scores.copy()
    found = ranks(scores, wanted, seen)
    for i in range(n):
        others = [j for j in range(count) if j != wanted[i] and (i, j) not in pairs]
        assert found[i] == 1 + sum(not scores[i, j] < scores[i, wanted[i]] for j in others)
    np.testing.assert_array_equal(scores, kept)


def test_ties_count_against_the_wanted_item():
    assert ranks(np.zeros((1, 100)), np.array([3])).tolist() == [100]
    assert hit_rate(ranks(np.zeros((5, 100)), np.arange(5))) == 0.0


def test_hit_rate_is_a_share():
    assert hit_rate(np.array([1, 10, 11, 400])) == 0.5
    assert hit_rate(np.array([1, 10, 11, 400]), 1) == 0.25
    assert math.isnan(hit_rate(np.array([])))


# --- training -------------------------------------------------------------------------------------------------


def test_tastes_are_learned_and_recommended():
    log = tastes()
    paddle.seed(0)
    reports = list(train_two_tower(log, 12, dim=8, batch_size=64, learning_rate=0.05, every=4))
    first, last = reports[0], reports[-1]
    assert (first.done, last.done, last.epoch) == (0.0, 1.0, 11) and math.isnan(first.loss)
    assert all(a.done < b.done for a, b in pairwise(reports))
    assert last.loss < 0.8 * reports[1].loss
    # ten items a taste, nine of them had before: two of the taste are left for a user who had eight, so a hit is near certain
    assert last.hit_rate > 0.8 > 0.5 > first.hit_rate
    train, held = leave_last_out(log)
    assert hit_rate(two_tower_ranks(last.network, held)) == last.hit_rate
    best = last.network.recommend(5, most=3)
    assert [s for _, s in best] == sorted((s for _, s in best), reverse=True)
    assert not {i for i, _ in best} & set(train.items[train.users == 5].tolist())
    mine = last.network.recommend(5, most=10, seen=())
    assert sum(i // 10 == 5 % 4 for i, _ in mine) >= 8
    assert dict(last.network.recommend(5, most=40)).keys().isdisjoint(train.items[train.users == 5])
    assert len(last.network.recommend(5, most=99)) == 40 - (train.users == 5).sum()
    vectors = last.network.item_vectors()
    assert vectors.shape == (40, 8) and vectors.dtype == np.float32
    np.testing.assert_allclose(mine[0][1], (vectors @ last.network.user_vectors([5])[0]).max(), rtol=1e-5)


def test_a_training_can_be_stopped_and_goes_on():
    log = made_log(600, 300)
    paddle.seed(0)
    running = train_two_tower(log, 5, batch_size=32, every=2)
    network = next(running).network
    before = network.item_vectors().copy()
    next(running)
    assert network.training
    running.close()
    assert not network.training  # as after a whole training
    assert (network.item_vectors() != before).any() and len(network.recommend(0)) == 10
    *_, last = train_two_tower(log, 1, network, batch_size=32)
    assert last.network is network and last.done == 1.0


def test_the_same_seed_trains_the_same():
    log = made_log(150, 30)
    found = []
    for _ in range(2):
        paddle.seed(4)
        *_, last = train_two_tower(log, 2, batch_size=32, seed=9)
        found.append(last.network.item_vectors())
    np.testing.assert_array_equal(*found)


def test_what_is_remembered_is_kept_with_the_weights(tmp_path):
    *_, last = train_two_tower(tastes(), 1, dim=4, batch_size=64)
    paddle.save(last.network.state_dict(), str(tmp_path / "towers.pdparams"))
    other = TwoTower(60, 40, 4)
    other.set_state_dict(paddle.load(str(tmp_path / "towers.pdparams")))
    np.testing.assert_array_equal(other.user_vectors(), last.network.user_vectors())


def test_histories_have_nothing_of_what_is_to_come():
    """The newest items of everyone, oldest first, with num_items in front."""
    log = log_of([0, 0, 1, 0, 2], [3, 1, 2, 0, 3], [5, 4, 1, 6, 9], num_users=4)
    network = TwoTower(4, 4, 2, 2)
    network.remember(log)
    assert network.recent.numpy().tolist() == [[3, 0], [4, 2], [4, 3], [4, 4]]
    assert [network.seen(u).tolist() for u in range(4)] == [[1, 3, 0], [2], [3], []]


def test_bad_input_is_named():
    with pytest.raises(
        ValueError, match="num_users, num_items, dim, length: expected 1 or more of each, got 3, 0, 4, 5"
    ):
        TwoTower(3, 0, 4, 5)
    network = TwoTower(3, 6, 4, 5)
    with pytest.raises(ValueError, match="ratings: expected 3 users and 6 items, got 2 and 6"):
        network.remember(log_of([0, 1], [0, 5]))
    for user in (-1, 3):
        with pytest.raises(ValueError, match=f"user: expected 0 to 2, got {user}"):
            network.recommend(user)
    with pytest.raises(ValueError, match="ratings: expected two rows or more to train on, got 1"):
        next(train_two_tower(log_of([0, 0], [0, 1])))
    with pytest.raises(ValueError, match="seen: expected items from 0 to 5, got 6"):
        network.recommend(0, seen=[6])


def test_real_ratings_are_recommended_better_than_by_popularity(monkeypatch):
    monkeypatch.setenv("SAMPAN_DATA", REAL or "")
    if "movielens_latest_small" not in datasets.available():
        pytest.skip("needs movielens_latest_small in SAMPAN_DATA")
    train, held = leave_last_out(datasets.load_ratings())
    paddle.seed(0)
    *_, last = train_two_tower(train, 1, held=held, batch_size=256, learning_rate=0.02)
    counts = np.repeat(np.bincount(train.items, minlength=train.num_items)[None], 610, 0)
    seen = train.users, train.items
    popular = ranks(counts[held.users], held.items, (np.argsort(held.users)[seen[0]], seen[1]))
    assert last.hit_rate > 1.3 * hit_rate(popular) > 0.02


def test_the_benchmark_compares_like_with_like():
    """Its dense, sparse and torch programs have the same losses, which it checks itself; the growing one's are finite."""
    for case in throughput.cases(2000):
        steps = throughput.programs(case, 2000)
        assert set(steps) == {"sparse", "dense", "growing", "torch sparse", "torch dense"}
        assert math.isfinite(steps["growing"](3))
