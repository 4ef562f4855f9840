"""The metrics that a teacher can choose. scikit-learn and the library compute them where they have them.

Each takes the labels and the submitted values of the same rows: texts, numbers, or for the log loss probabilities
`[rows, classes]` with the classes in sorted order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

# What a submitted cell must be. "items": identifiers with spaces between them, the best first.
Kind = Literal["class", "number", "probability", "items", "text"]
OWN = "own"  # the teacher's own function


@dataclass(frozen=True)
class Metric:
    """`several`: it takes more than one column of labels and averages them."""

    kind: Kind
    lower: bool
    score: Callable[..., float]
    several: bool = False


def _accuracy(truth: Sequence[str], submitted: Sequence[str]) -> float:
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(truth, submitted))


def _macro_f1(truth: Sequence[str], submitted: Sequence[str]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(truth, submitted, average="macro", zero_division=0))


def _log_loss(truth: Sequence[str], submitted: np.ndarray, classes: Sequence[str]) -> float:
    """Each row is divided by its sum first; a probability of 0 counts as the smallest positive float."""
    from sklearn.metrics import log_loss

    sums = submitted.sum(1, keepdims=True)
    even = np.full_like(submitted, 1 / len(classes))
    scaled = np.divide(submitted, sums, out=even, where=sums > 0)
    return float(log_loss(truth, scaled, labels=list(classes)))


def _auc(truth: Sequence[str], submitted: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    classes = sorted(set(truth))
    if len(classes) != 2:
        raise ValueError(f"AUC needs labels of both classes in each part, got {classes[:5]}")
    return float(roc_auc_score(np.array(truth) == classes[1], submitted))


def _rmse(truth: np.ndarray, submitted: np.ndarray) -> float:
    from sklearn.metrics import root_mean_squared_error

    return float(root_mean_squared_error(truth, submitted))


def _mae(truth: np.ndarray, submitted: np.ndarray) -> float:
    from sklearn.metrics import mean_absolute_error

    return float(mean_absolute_error(truth, submitted))


def _map_at_k(truth: Sequence[str], submitted: Sequence[str], k: int) -> float:
    """Mean over rows of sum_i precision(i) relevant(i) / min(relevant items, k), over the first k items; an item
    counts once."""
    return float(
        np.mean([_average_precision(t.split(), s.split(), k) for t, s in zip(truth, submitted, strict=True)])
    )


def _average_precision(relevant: Sequence[str], ranked: Sequence[str], k: int) -> float:
    wanted = set(relevant)
    hits, total = 0, 0.0
    for place, item in enumerate(ranked[:k], 1):
        if item in wanted and item not in ranked[: place - 1]:
            hits += 1
            total += hits / place
    return total / min(len(wanted), k) if wanted else 0.0


def _cer(truth: Sequence[str], submitted: Sequence[str]) -> float:
    from sampan.speech import cer

    return float(cer(truth, submitted))


def _wer(truth: Sequence[str], submitted: Sequence[str]) -> float:
    from sampan.speech import wer

    return float(wer(truth, submitted))


METRICS: dict[str, Metric] = {
    "accuracy": Metric("class", False, _accuracy),
    "macro_f1": Metric("class", False, _macro_f1),
    "log_loss": Metric("probability", True, _log_loss),
    "auc": Metric("number", False, _auc),
    "rmse": Metric("number", True, _rmse, several=True),
    "mae": Metric("number", True, _mae, several=True),
    "map_at_k": Metric("items", False, _map_at_k),
    "cer": Metric("text", True, _cer),
    "wer": Metric("text", True, _wer),
}


def warm_up() -> None:
    """Imports what the metrics need, which takes a second or two."""
    import sklearn.metrics  # noqa: F401  imported for later


def score(name: str, truth: Any, submitted: Any, k: int, classes: Sequence[str]) -> float:
    """The score of one part. Raises `ValueError` if the metric is not defined for these labels."""
    options: dict[str, dict[str, Any]] = {"log_loss": {"classes": classes}, "map_at_k": {"k": k}}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # scikit-learn suspects a regression where most classes differ
        value = METRICS[name].score(truth, submitted, **options.get(name, {}))
    if not np.isfinite(value):
        raise ValueError(f"{name} of these rows is {value}, not a finite number")
    return value
