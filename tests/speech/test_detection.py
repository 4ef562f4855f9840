"""Error rates of scores beside scikit-learn's ROC curve, and by hand."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from sampan.speech import area_under_curve, equal_error_rate


def scored(seed: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    positive = rng.random(300) < 0.3
    scores = rng.standard_normal(300) + 1.2 * positive
    return (np.round(scores * 2) / 2 if ties else scores), positive


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_beside_scikit_learn(seed, ties) -> None:
    scores, positive = scored(seed, ties)
    assert area_under_curve(scores, positive) == pytest.approx(roc_auc_score(positive, scores), abs=1e-12)
    false, true, _ = roc_curve(positive, scores, drop_intermediate=False)
    level = np.linspace(0, 1, 200_001)
    missed = 1 - np.interp(level, false, true)  # the curve itself, on a fine grid
    expected = level[np.abs(level - missed).argmin()]
    rate, threshold = equal_error_rate(scores, positive)
    if ties or rate in false:
        assert rate == pytest.approx(expected, abs=0.02)
    else:
        assert rate == pytest.approx(expected, abs=1e-2)
    accepted, refused = (scores[~positive] >= threshold).mean(), (scores[positive] < threshold).mean()
    if not ties:
        assert abs(accepted - refused) < 0.02


def test_by_hand() -> None:
    rate, threshold = equal_error_rate([0.9, 0.8, 0.4, 0.3], [True, True, False, False])
    assert rate == 0 and 0.4 < threshold <= 0.8
    assert equal_error_rate([1.0, 2.0], [True, False])[0] == 1
    assert equal_error_rate([1.0, 1.0], [True, False])[0] == 0.5
    assert area_under_curve([1.0, 1.0], [True, False]) == 0.5


def test_errors() -> None:
    for scores, positive, message in [
        ([1.0], [True], "positive: expected at least one True and one False"),
        ([1.0, np.nan], [True, False], r"scores, positive: expected finite \[n\] and bool \[n\]"),
        ([1.0, 2.0], [True], r"got \[2\] and \[1\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            equal_error_rate(scores, positive)
