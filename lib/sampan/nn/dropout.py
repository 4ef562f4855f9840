"""Dropout (Srivastava et al. 2014)."""

from __future__ import annotations

from typing import Any

from . import functional as F
from .layer import Layer

# fmt: off
__all__ = [
    "Dropout",
]
# fmt: on


class Dropout(Layer):
    """In training sets each value to 0 with probability p and, by default, scales the others by 1 / (1 - p).

    axis: draw once along the other axes. mode: "upscale_in_train", or "downscale_in_infer" (scale by 1 - p in
    evaluation instead).
    """

    def __init__(
        self, p: float = 0.5, axis: Any = None, mode: str = "upscale_in_train", name: str | None = None
    ) -> None:
        super().__init__(name)
        if not 0 <= p <= 1:
            raise ValueError(f"p: expected a probability from 0 to 1, got {p}")
        self.p, self.axis, self.mode = p, axis, mode

    def forward(self, x: Any) -> Any:
        return F.dropout(x, self.p, self.axis, self.training, self.mode)

    def extra_repr(self) -> str:
        return f"p={self.p}, axis={self.axis}, mode={self.mode}"
