"""Precision, recall and the area under the curve against scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics as sklearn

import sampan as paddle
from sampan import metric


@pytest.mark.parametrize(
    ("kind", "reference"), [("Precision", sklearn.precision_score), ("Recall", sklearn.recall_score)]
)
def test_shares_over_batches(kind, reference):
    random = np.random.default_rng(0)
    measure = getattr(metric, kind)()
    probabilities, labels = random.random((3, 20, 1)), random.integers(0, 2, (3, 20, 1))
    measure.update(probabilities[0], labels[0])
    measure.update(paddle.to_tensor(probabilities[1]), paddle.to_tensor(labels[1]))
    measure.update(probabilities[2].ravel(), labels[2].ravel())
    assert measure.accumulate() == pytest.approx(reference(labels.ravel(), probabilities.ravel() > 0.5))
    state = measure.state_dict()
    measure.reset()
    assert measure.accumulate() == 0 and measure.name() == kind.lower()
    measure.set_state_dict(state)
    assert measure.accumulate() > 0
    with pytest.raises(ValueError, match="preds"):
        measure.update([0.5], [1])


def test_area_under_the_curve():
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 400)
    scores = np.floor(np.clip(labels * 0.3 + random.random(400) * 0.7, 0, 1) * 4095) / 4095
    area = metric.Auc()
    for half in (slice(200), slice(200, 400)):
        area.update(np.stack([1 - scores[half], scores[half]], 1), labels[half, None])
    assert area.accumulate() == pytest.approx(sklearn.roc_auc_score(labels, scores), abs=1e-3)
    area.reset()
    assert area.accumulate() == 0
    with pytest.raises(ValueError, match="probabilities"):
        area.update(np.array([[0.0, 1.5]]), np.array([1]))
