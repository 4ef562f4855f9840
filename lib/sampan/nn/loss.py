"""Losses as layers. reduction: "mean", "sum" or "none"."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .layer import Layer

# fmt: off
__all__ = [
    "CrossEntropyLoss", "MSELoss", "NLLLoss",
]
# fmt: on


def _reduction(value: str) -> str:
    if value not in ("mean", "sum", "none"):
        raise ValueError(f"reduction: expected 'mean', 'sum' or 'none', got {value!r}")
    return value


class CrossEntropyLoss(Layer):
    """-log softmax(input)[label]: input [batch, ..., classes] (logits), label int64 [batch, ...] or [batch, ..., 1].

    soft_label: labels are probabilities of input's shape. use_softmax=False: input is probabilities already.
    weight: a factor per class. ignore_index: labels that do not count.
    """

    def __init__(
        self,
        weight: Any = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        soft_label: bool = False,
        axis: int = -1,
        use_softmax: bool = True,
        label_smoothing: float = 0.0,
        name: str | None = None,
    ) -> None:
        super().__init__(name)
        self.settings = {
            "weight": weight,
            "ignore_index": ignore_index,
            "reduction": _reduction(reduction),
            "soft_label": soft_label,
            "axis": axis,
            "use_softmax": use_softmax,
        }
        if label_smoothing:
            self.settings["label_smoothing"] = label_smoothing

    def forward(self, input: Any, label: Any) -> Any:
        return F.cross_entropy(input, label, **self.settings)


class MSELoss(Layer):
    """(input - label)^2, reduced."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _reduction(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.mse_loss(input, label, self.reduction)


class NLLLoss(Layer):
    """-input[label] for input [batch, classes, ...] of log-probabilities."""

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", name: str | None = None
    ) -> None:
        super().__init__(name)
        self.weight, self.ignore_index, self.reduction = weight, ignore_index, _reduction(reduction)

    def forward(self, input: Any, label: Any) -> Any:
        return F.nll_loss(input, label, self.weight, self.ignore_index, self.reduction)
