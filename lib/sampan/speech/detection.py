"""How well a score tells two cases apart: the equal error rate, and the area under the ROC curve."""

from typing import Any

import numpy as np

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor

Array = np.ndarray[Any, Any]


def _curve(scores: Any, positive: Any) -> tuple[Array, Array, Array]:
    """Float64 arrays (false positive rate, true positive rate, threshold) with a point for each different
    score from the highest on; the first is (0, 0, infinity)."""
    x = np.asarray(scores.numpy() if isinstance(scores, Tensor) else scores, np.float64)
    y = np.asarray(positive.numpy() if isinstance(positive, Tensor) else positive, bool)
    if x.ndim != 1 or x.shape != y.shape or not np.isfinite(x).all():
        raise InvalidArgument(
            f"scores, positive: expected finite [n] and bool [n], got {list(x.shape)} and {list(y.shape)}"
        )
    if y.all() or not y.any():
        raise InvalidArgument("positive: expected at least one True and one False")
    order = np.argsort(-x, kind="stable")
    x, y = x[order], y[order]
    last = np.append(np.flatnonzero(np.diff(x)), len(x) - 1)  # the last of equal scores
    true, false = np.cumsum(y)[last], np.cumsum(~y)[last]
    return (
        np.append(0.0, false / false[-1]),
        np.append(0.0, true / true[-1]),
        np.append(np.inf, x[last]),
    )


def area_under_curve(scores: Any, positive: Any) -> float:
    """The probability that a positive case has a higher score than a negative one, ties counted half.

    scores: [n] numbers. positive: [n] bools. Raises ValueError for other shapes, NaN, and one case only.
    Source: Hanley and McNeil, The meaning and use of the area under a ROC curve, 1982.
    """
    false, true, _ = _curve(scores, positive)
    return float(np.trapezoid(true, false))


def equal_error_rate(scores: Any, positive: Any) -> tuple[float, float]:
    """(rate, threshold): where as large a part of the positive cases is missed as of the negative ones is
    accepted, and the score from which a case is accepted there.

    Between two points of the ROC curve both are interpolated. Arguments and errors as in `area_under_curve`.
    """
    false, true, thresholds = _curve(scores, positive)
    gap = false - (1 - true)  # rises from -1 to 1
    at = int(np.argmax(gap >= 0))
    before, after = gap[at - 1], gap[at]
    part = -before / (after - before)
    rate = false[at - 1] + part * (false[at] - false[at - 1])
    if at == 1:
        return float(rate), float(thresholds[1])
    return float(rate), float(thresholds[at - 1] + part * (thresholds[at] - thresholds[at - 1]))
