"""Activations as layers."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .layer import Layer

# fmt: off
__all__ = [
    "GELU", "LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh",
]
# fmt: on


class ReLU(Layer):
    """max(x, 0)."""

    def forward(self, x: Any) -> Any:
        return F.relu(x)


class Sigmoid(Layer):
    """1 / (1 + exp(-x))."""

    def forward(self, x: Any) -> Any:
        return F.sigmoid(x)


class Tanh(Layer):
    """tanh(x)."""

    def forward(self, x: Any) -> Any:
        return F.tanh(x)


class GELU(Layer):
    """x times the normal distribution function of x; with approximate=True its tanh form (Hendrycks, Gimpel 2016)."""

    def __init__(self, approximate: bool = False, name: str | None = None) -> None:
        super().__init__(name)
        self.approximate = approximate

    def forward(self, x: Any) -> Any:
        return F.gelu(x, self.approximate)


class Softmax(Layer):
    """exp(x) / sum(exp(x)) along an axis."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        return F.softmax(x, self.axis)


class LogSoftmax(Layer):
    """log(softmax(x)) along an axis, without overflow."""

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        super().__init__(name)
        self.axis = axis

    def forward(self, x: Any) -> Any:
        return F.log_softmax(x, self.axis)
