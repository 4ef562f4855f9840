"""DeepFM and DIN against the same in torch and term by term, AUC against scikit-learn, and training that can be stopped."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import sampan as paddle
from benchmarks import recommender_torch as peers
from sampan.datasets.interactions import made_log
from sampan.models.recommender_ranking import (
    DIN,
    DeepFM,
    auc,
    behaviour,
    grouped_auc,
    liked,
    predict,
    ranking_fields,
    train_ranking,
)
from sampan.nn import functional as F

SIZES = [7, 4, 5]


def networks(name, dtype):
    """Ours, theirs with the same weights, and what both take."""
    paddle.seed(0)
    rng = np.random.default_rng(1)
    if name == "DeepFM":
        ours, theirs = DeepFM(SIZES, 3, (6, 4)), peers.DeepFM(SIZES, 3, (6, 4), True)
        given = [np.stack([rng.integers(0, n, 10) for n in SIZES], 1)]
    else:
        ours, theirs = DIN(9, 4, SIZES, 3, (5,), (6, 4)), peers.DIN(9, 4, SIZES, 3, (5,), (6, 4), True)
        history = rng.integers(0, 10, (10, 6))
        history[0] = 9  # nothing before
        context = np.stack([rng.integers(0, n, 10) for n in SIZES], 1)
        given = [rng.integers(0, 9, 10), history, rng.integers(0, 4, (10, 6)), context]
    ours.to(dtype=dtype)
    for parameter in ours.parameters():
        parameter.data.normal_()
    return ours, peers.copied(theirs.to(getattr(torch, dtype)), ours), given


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["DeepFM", "DIN"])
def test_values_and_gradients_are_torchs(name, dtype):
    ours, theirs, given = networks(name, dtype)
    labels = np.random.default_rng(2).integers(0, 2, 10).astype(dtype)
    loss = F.binary_cross_entropy_with_logits(ours(*map(paddle.to_tensor, given)), paddle.to_tensor(labels))
    loss.backward()
    logits = theirs(*map(torch.from_numpy, given))
    torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.from_numpy(labels)).backward()
    close = {"rtol": 2e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(predict(ours, given), logits.detach().numpy(), **close)
    found = peers.gradients(theirs)
    assert set(found) == {key for key, _ in ours.named_parameters()}
    for key, parameter in ours.named_parameters():
        np.testing.assert_allclose(parameter.grad.numpy(), found[key], err_msg=key, **close)


@pytest.mark.parametrize("name", ["DeepFM", "DIN"])
def test_gradients_are_finite_differences(name):
    ours, _, given = networks(name, "float64")
    rng = np.random.default_rng(3)
    tensors = [paddle.to_tensor(a) for a in given]
    ours(*tensors).sum().backward()
    for key, parameter in ours.named_parameters():
        way = torch.from_numpy(rng.normal(size=parameter.shape))
        slope, values = (parameter.grad.data * way).sum(), []
        for sign in (1, -1):
            parameter.data += sign * 1e-7 * way
            values.append(float(ours(*tensors).sum()))
            parameter.data -= sign * 1e-7 * way
        np.testing.assert_allclose(
            (values[0] - values[1]) / 2e-7, float(slope), rtol=1e-4, atol=1e-6, err_msg=key
        )


def test_deepfm_is_its_formula():
    """All pairs of fields one by one, in NumPy."""
    ours, _, (ids,) = networks("DeepFM", "float64")
    tables = [ours.tables.table(f).numpy() for f in range(3)]
    for row, found in zip(ids, predict(ours, [ids]), strict=True):
        w, v = zip(*((t[i, 0], t[i, 1:]) for t, i in zip(tables, row, strict=True)), strict=True)
        x = np.concatenate(v)
        for layer in ours.deep:
            x = (
                np.maximum(x, 0)
                if not list(layer.parameters())
                else x @ layer.weight.numpy() + layer.bias.numpy()
            )
        pairs = v[0] @ v[1] + v[0] @ v[2] + v[1] @ v[2]
        np.testing.assert_allclose(found, ours.bias.numpy()[0] + sum(w) + pairs + x[0], rtol=1e-10)


def test_din_does_not_look_at_what_is_not_there():
    ours, _, (items, history, marks, context) = networks("DIN", "float64")
    before = predict(ours, [items, history, marks, context])
    gone = np.where(history == 9, 3, marks)  # another mark where there is no item
    np.testing.assert_array_equal(predict(ours, [items, history, gone, context]), before)
    longer = [np.pad(a, ((0, 0), (4, 0)), constant_values=fill) for a, fill in ((history, 9), (marks, 0))]
    np.testing.assert_allclose(predict(ours, [items, *longer, context]), before, rtol=1e-10)
    turned = history[:, ::-1].copy(), marks[:, ::-1].copy()
    np.testing.assert_allclose(
        predict(ours, [items, *turned, context]), before, rtol=1e-10
    )  # a set, no sequence
    bare = DIN(9, 4, (), 3)
    assert predict(bare, [items, history, marks]).shape == (10,)


# --- the metrics ----------------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(-3, 3), st.booleans()), min_size=1, max_size=40))
def test_auc_is_scikit_learns(pairs):
    scores, labels = np.array([p[0] for p in pairs], np.float32), np.array([p[1] for p in pairs], np.float32)
    if labels.min() == labels.max():
        assert math.isnan(auc(scores, labels))
    else:
        np.testing.assert_allclose(auc(scores, labels), roc_auc_score(labels, scores), atol=1e-12)


def test_grouped_auc_weighs_by_rows():
    rng = np.random.default_rng(0)
    scores, labels, groups = rng.normal(size=60), rng.integers(0, 2, 60), rng.integers(0, 5, 60)
    groups[:3], labels[:3] = 7, 1  # a group of one label alone does not count
    expected, total = 0.0, 0
    for g in range(5):
        mine = groups == g
        expected += mine.sum() * roc_auc_score(labels[mine], scores[mine])
        total += mine.sum()
    np.testing.assert_allclose(grouped_auc(scores, labels, groups), expected / total, rtol=1e-12)
    assert math.isnan(grouped_auc(scores[:3], labels[:3], groups[:3]))


def test_bad_scores_are_named():
    with pytest.raises(ValueError, match=r"scores, labels: expected \[n\] each, got \[2\] and \[3\]"):
        auc(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="scores: expected numbers, got nan"):
        auc(np.array([1.0, np.nan]), np.array([0, 1]))


# --- what they see, and training ------------------------------------------------------------------------------


def test_bad_input_is_named():
    ids = paddle.to_tensor(np.zeros((2, 1), np.int64))
    with pytest.raises(ValueError, match=r"context: expected int64 \[batch, fields\], got NoneType"):
        DIN(3, field_sizes=[2], dim=2)(ids[:, 0], ids, ids)
    with pytest.raises(ValueError, match="context: expected None without field_sizes, got Tensor"):
        DIN(3, dim=2)(ids[:, 0], ids, ids, ids)
    for wrong in ({"batch_size": 0}, {"every": 0}):
        with pytest.raises(ValueError, match="batch_size, every: expected 1 or more"):
            next(
                train_ranking(DeepFM([2], 2), [np.zeros((4, 1), np.int64)], np.zeros(4, np.float32), **wrong)
            )


def test_fields_and_behaviour_of_a_log():
    log = made_log(60, 9)
    fields = ranking_fields(log)
    assert fields.names == ["user", "item"] and fields.sizes == [log.num_users, 9]
    np.testing.assert_array_equal(fields.ids, np.stack([log.users, log.items], 1))
    titles = [f"Film {i} ({1990 + i % 3})" for i in range(8)] + ["Without a year"]
    log = type(log)(**{**vars(log), "titles": titles, "genres": [("A",), ("A", "B"), ()] * 3})
    fields = ranking_fields(log)
    assert fields.names == ["user", "item", "year", "genres"] and fields.sizes[2:] == [4, 3]
    years = np.array([1990 + i % 3 for i in range(8)] + [0])
    np.testing.assert_array_equal(np.unique(years)[fields.ids[:, 2]], years[log.items])
    np.testing.assert_array_equal(fields.ids[:, 3] == fields.ids[0, 3], log.items % 3 == log.items[0] % 3)
    items, marks = behaviour(log, 4)
    row = int(np.flatnonzero(log.users == 0)[3])
    before = np.flatnonzero((log.users == 0) & (log.times < log.times[row]))
    before = before[np.argsort(log.times[before])]
    assert items[row].tolist() == [9, *log.items[before]] and marks[row].tolist() == [
        0,
        *(log.values[before] * 2),
    ]
    none = log.pick(np.empty(0, np.int64))
    assert behaviour(none, 3, log)[0].tolist() == [[9] * 3] * 60
    np.testing.assert_array_equal(liked(log), log.values >= 4)


@pytest.mark.parametrize("name", ["DeepFM", "DIN"])
def test_what_can_be_known_is_learned(name):
    """Made so that each network can find the answer alone: a product of two fields; whether the item was had before."""
    rng = np.random.default_rng(0)
    count = 1500
    paddle.seed(0)
    if name == "DeepFM":
        ids = rng.integers(0, 6, (count, 2))
        inputs, labels = [ids], ((ids[:, 0] + ids[:, 1]) % 2).astype(np.float32)
        network = DeepFM([6, 6], 4, (16,))
    else:
        items, history = rng.integers(0, 8, count), rng.integers(0, 8, (count, 4))
        inputs, labels = [items, history, np.zeros((count, 4), np.int64)], (history == items[:, None]).any(1)
        labels, network = labels.astype(np.float32), DIN(8, 1, (), 8, (16,), (16,))
    half = count // 2
    held = [a[half:] for a in inputs], labels[half:]
    reports = list(
        train_ranking(
            network, [a[:half] for a in inputs], labels[:half], 14, held, batch_size=50, learning_rate=0.03
        )
    )
    assert reports[-1].done == 1.0 and not network.training
    assert reports[-1].auc > 0.95
    assert reports[-1].auc == auc(predict(network, held[0]), held[1])


def test_a_training_can_be_stopped():
    network = DeepFM([6, 6], 4, (16,))
    ids = np.random.default_rng(0).integers(0, 6, (100, 2))
    running = train_ranking(network, [ids], (ids[:, 0] > 2).astype(np.float32), 50, every=1, batch_size=10)
    assert 0 < next(running).done < next(running).done < 0.01
    running.close()
    assert not network.training and predict(network, [ids]).shape == (100,)
    for inputs, labels in (([ids[:9]], np.zeros(10, np.float32)), ([ids[:0]], np.zeros(0, np.float32))):
        with pytest.raises(ValueError, match="inputs: expected"):
            next(train_ranking(network, inputs, labels))
