"""Accuracy against scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import top_k_accuracy_score

import sampan as paddle
from sampan.metric import Accuracy, Metric, accuracy

GENERATOR = np.random.default_rng(2)
SCORES = GENERATOR.normal(size=(50, 6)).astype(np.float32)
LABELS = GENERATOR.integers(0, 6, 50)


def expected(k):
    return top_k_accuracy_score(LABELS, SCORES, k=k, labels=range(6))


@pytest.mark.parametrize("k", [1, 3])
def test_functional(k):
    got = accuracy(paddle.to_tensor(SCORES), paddle.to_tensor(LABELS[:, None]), k)
    assert got.item() == pytest.approx(expected(k))


def test_over_batches_with_several_k():
    metric = Accuracy(topk=(1, 3))
    for part in (slice(0, 20), slice(20, 50)):
        metric.update(metric.compute(paddle.to_tensor(SCORES[part]), paddle.to_tensor(LABELS[part])))
    assert metric.accumulate() == pytest.approx([expected(1), expected(3)])
    assert metric.name() == ["acc_top1", "acc_top3"]
    other = Accuracy(topk=(1, 3))
    other.set_state_dict(metric.state_dict())
    assert other.accumulate() == metric.accumulate()
    metric.reset()
    assert metric.accumulate() == [0.0, 0.0]


def test_one_hot_labels_and_the_batchs_own_value():
    metric = Accuracy()
    one_hot = np.eye(6, dtype=np.float32)[LABELS]
    share = metric.update(metric.compute(paddle.to_tensor(SCORES), paddle.to_tensor(one_hot)))
    assert share == metric.accumulate() == pytest.approx(expected(1)) and metric.name() == ["acc"]


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (lambda: Accuracy(topk=0), "topk"),
        (lambda: accuracy(paddle.to_tensor(SCORES), paddle.to_tensor(LABELS), 7), "input"),
        (lambda: accuracy(paddle.to_tensor(SCORES), paddle.to_tensor(LABELS[:4])), "label"),
        (lambda: accuracy(paddle.to_tensor(LABELS), paddle.to_tensor(LABELS)), "input"),
    ],
)
def test_bad_input_is_named(run, what):
    with pytest.raises(ValueError, match=what):
        run()


def test_what_a_metric_must_write():
    with pytest.raises(TypeError, match="accumulate, name, reset, update"):
        Metric()


def test_accuracy_counts_per_k_as_paddle_has_it() -> None:
    for topk, total in (((1,), [1.0]), ((1, 3), [1.0, 2.0])):
        metric = paddle.metric.Accuracy(topk=topk)
        assert (metric.total, metric.count, metric.maxk) == ([0.0] * len(topk), [0] * len(topk), max(topk))
        scores = paddle.to_tensor([[0.1, 0.2, 0.3, 0.4]] * 3)
        metric.update(metric.compute(scores, paddle.to_tensor([[3], [1], [0]])))
        assert metric.total == total and metric.count == [3] * len(topk)
