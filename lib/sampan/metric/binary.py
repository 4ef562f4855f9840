"""Measures of two classes: precision, recall, and the area under the ROC curve."""

from typing import Any

import numpy as np

from ..engine.tensor import InvalidArgument, Tensor
from .metric import Metric


def _array(value: Any, name: str) -> np.ndarray:
    if not isinstance(value, Tensor | np.ndarray):
        raise InvalidArgument(f"{name}: expected an array or a Tensor, got {type(value).__name__}")
    return np.array(value)


class _Named(Metric):
    def __init__(self, name: str) -> None:
        self._name = name
        self.reset()

    def name(self) -> str:
        return self._name


class _Share(_Named):
    """A share of right answers among those that `_counted` picks; predictions are probabilities, rounded."""

    _rounded: Any
    _counted: Any

    def reset(self) -> None:
        self.tp = self.others = 0

    def update(self, preds: Any, labels: Any) -> None:
        guessed = self._rounded(_array(preds, "preds")).astype(np.int32).reshape(-1)
        wanted = _array(labels, "labels").reshape(-1)
        guessed = guessed[: len(wanted)]
        right = int(((guessed == 1) & (wanted == 1)).sum())
        self.tp += right
        self.others += int((self._counted(guessed, wanted) == 1).sum()) - right

    def accumulate(self) -> float:
        return self.tp / (self.tp + self.others) if self.tp + self.others else 0.0


class Precision(_Share):
    """Of those taken for 1, the share that is 1."""

    def __init__(self, name="precision", *args, **kwargs):
        super().__init__(name)

    _rounded = staticmethod(lambda p: np.floor(p + 0.5))
    _counted = staticmethod(lambda guessed, wanted: guessed)
    fp = property(lambda self: self.others)


class Recall(_Share):
    """Of those that are 1, the share taken for 1."""

    def __init__(self, name="recall", *args, **kwargs):
        super().__init__(name)

    _rounded = staticmethod(np.rint)
    _counted = staticmethod(lambda guessed, wanted: wanted)
    fn = property(lambda self: self.others)


class Auc(_Named):
    """The area under the curve of true over false positives, from counts in num_thresholds + 1 bins.

    preds [batch, 2]: probabilities; labels: 0 or 1.
    """

    def __init__(self, curve="ROC", num_thresholds=4095, name="auc", *args, **kwargs):
        self._curve, self._num_thresholds = curve, num_thresholds
        super().__init__(name)

    def reset(self) -> None:
        self._stat_pos, self._stat_neg = np.zeros((2, self._num_thresholds + 1))

    def update(self, preds: Any, labels: Any) -> None:
        scores, wanted = _array(preds, "preds")[:, 1], _array(labels, "labels").reshape(-1)
        if scores.size and not 0 <= scores.min() <= scores.max() <= 1:
            raise InvalidArgument(f"preds: expected probabilities, got {scores.min():g} to {scores.max():g}")
        places = (scores[: len(wanted)] * self._num_thresholds).astype(np.int64)
        np.add.at(self._stat_pos, places[wanted != 0], 1.0)
        np.add.at(self._stat_neg, places[wanted == 0], 1.0)

    def accumulate(self) -> float:
        positive, negative = (np.cumsum(s[::-1]) for s in (self._stat_pos, self._stat_neg))
        if not (positive[-1] and negative[-1]):
            return 0.0
        area = np.trapezoid(np.append(0, positive), np.append(0, negative))
        return float(area / positive[-1] / negative[-1])
