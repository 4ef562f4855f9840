"""Quanters for training: numbers are rounded as int8 rounds them, and gradients pass as if they were not.

Sources: Jacob et al., 2018; Bengio et al., Estimating or Propagating Gradients Through Stochastic Neurons,
2013 (the gradient that passes straight through).
"""

from __future__ import annotations

from typing import Any

import torch

from ...engine.backward import no_grad
from ...engine.operator import operator
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ..base import BaseQuanter, QuanterFactory, channel_axis, largest, number_of_bits, rounded

__all__ = ["FakeQuanterChannelWiseAbsMaxObserver", "FakeQuanterWithAbsMaxObserver"]


@operator(lambda g: g)
def fake_quantize(x, scale, levels):
    """round(clip(x, -scale, scale) / scale * levels) * scale / levels, halves away from 0; the gradient is g.

    scale: [1], or as x with 1 for the other axes. Where it is 0 the value is 0.
    """
    safe = torch.where(scale == 0, torch.full_like(scale, 1e-30), scale)
    steps = torch.minimum(torch.maximum(x, -safe), safe) / safe * levels
    return rounded(steps) * safe / levels


class FakeQuanterWithAbsMaxObserverLayer(BaseQuanter):
    """One scale: the moving average of the largest magnitudes, accum / state after each training step with
    state = rate * state + 1 and accum = rate * accum + max |x|. It does not change in evaluation."""

    _scale: Any
    _count: Any
    _accum: Any

    def __init__(
        self,
        layer: Layer | None,
        moving_rate: float = 0.9,
        bit_length: int = 8,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._moving_rate, self._bit_length = moving_rate, number_of_bits(bit_length, "bit_length")
        for part, start in (("_scale", 0.001), ("_count", 1.0), ("_accum", 1.0)):
            self.register_buffer(part, Tensor(torch.full([1], start)))

    def forward(self, input: Any) -> Tensor:
        if self.training and input.data.numel():
            with no_grad():
                most = input.detach().abs().max()
                self._count.set_value(self._count * self._moving_rate + 1)
                self._accum.set_value(self._accum * self._moving_rate + most)
                self._scale.set_value(self._accum / self._count)
        return fake_quantize(input, self._scale, largest(self._bit_length))

    def scales(self) -> Tensor:
        return self._scale

    def zero_points(self) -> None:
        return None

    def quant_axis(self) -> int:
        return -1

    def bit_length(self) -> int:
        return self._bit_length


class FakeQuanterChannelWiseAbsMaxObserverLayer(BaseQuanter):
    """A scale for each output channel of a weight: its largest magnitude now."""

    def __init__(
        self, layer: Layer | None, bit_length: int = 8, dtype: str = "float32", name: str | None = None
    ) -> None:
        super().__init__()
        self._axis, self._bit_length = channel_axis(layer), number_of_bits(bit_length, "bit_length")
        self._scale: Any = None

    def forward(self, input: Any) -> Tensor:
        axes = [axis for axis in range(input.ndim) if axis != self._axis]
        most = input.detach().abs().amax(axes, keepdim=True)
        self._scale = most.flatten()
        return fake_quantize(input, most, largest(self._bit_length))

    def scales(self) -> Any:
        return self._scale

    def zero_points(self) -> None:
        return None

    def quant_axis(self) -> int:
        return self._axis

    def bit_length(self) -> int:
        return self._bit_length


class FakeQuanterWithAbsMaxObserver(QuanterFactory):
    """Of `FakeQuanterWithAbsMaxObserverLayer`. moving_rate: of the average; bit_length: 2 to 16."""

    _target = FakeQuanterWithAbsMaxObserverLayer

    def __init__(
        self,
        moving_rate: float = 0.9,
        bit_length: int = 8,
        dtype: str = "float32",
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, moving_rate=moving_rate, bit_length=bit_length, dtype=dtype)


class FakeQuanterChannelWiseAbsMaxObserver(QuanterFactory):
    """Of `FakeQuanterChannelWiseAbsMaxObserverLayer`, for weights (PaddleSlim's name)."""

    _target = FakeQuanterChannelWiseAbsMaxObserverLayer

    def __init__(self, bit_length: int = 8, dtype: str = "float32", name: str | None = None) -> None:
        super().__init__(name=name, bit_length=bit_length, dtype=dtype)
