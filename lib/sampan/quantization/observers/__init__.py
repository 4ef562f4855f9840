"""Observers: they watch weights and activations during calibration and choose the scales.

Paddle has `AbsmaxObserver` and `GroupWiseWeightObserver`; the others have the names of PaddleSlim.
Sources: Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
Inference, 2018; Migacz, 8-bit Inference with TensorRT, 2017 (the histogram cut by its divergence).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ..base import BaseObserver, QuanterFactory, channel_axis, largest, number_of_bits

__all__ = [
    "AVGObserver",
    "AbsMaxChannelWiseWeightObserver",
    "AbsmaxObserver",
    "GroupWiseWeightObserver",
    "HistObserver",
    "KLObserver",
]


class _Observer(BaseObserver):
    """Keeps what `_observe` makes of the buffers; the scales are found when they are first asked for."""

    def __init__(self, layer: Layer | None, quant_bits: int = 8) -> None:
        super().__init__()
        self._quant_bits = number_of_bits(quant_bits, "quant_bits")
        self._scale: Tensor | None = None
        self._zero_point: Tensor | None = None
        self._seen = 0

    def forward(self, input: Any) -> Any:
        if input.data.numel():
            self._observe(input.data.detach())
            self._seen += 1
            self._scale = None
        return input

    def _observe(self, data: torch.Tensor) -> None:
        raise NotImplementedError

    def _chosen(self) -> torch.Tensor:
        raise NotImplementedError

    def cal_thresholds(self) -> None:
        """Find the scales. InvalidArgument without a sample, or where one was NaN or infinite."""
        if not self._seen:
            raise InvalidArgument(
                f"{type(self).__name__}: no sample was observed: call the layer on data before convert"
            )
        found = self._chosen().float()
        if not bool(found.isfinite().all()):
            raise InvalidArgument(f"{type(self).__name__}: the samples have NaN or infinite numbers")
        self._scale, self._zero_point = Tensor(found), Tensor(torch.zeros_like(found))

    def scales(self) -> Tensor:
        if self._scale is None:
            self.cal_thresholds()
        assert self._scale is not None
        return self._scale

    def zero_points(self) -> Tensor | None:
        if self._seen and self._scale is None:
            self.cal_thresholds()
        return self._zero_point

    def bit_length(self) -> int:
        return self._quant_bits

    def quant_axis(self) -> int:
        return -1


class AbsmaxObserverLayer(_Observer):
    """The largest magnitude of all samples."""

    _max: torch.Tensor | None = None

    def _observe(self, data: torch.Tensor) -> None:
        most = data.abs().amax()
        self._max = most if self._max is None else torch.maximum(most, self._max)

    def _chosen(self) -> torch.Tensor:
        assert self._max is not None
        return self._max


class AVGObserverLayer(AbsmaxObserverLayer):
    """The mean of the samples' largest magnitudes: one outlier counts little."""

    def _observe(self, data: torch.Tensor) -> None:
        most = data.abs().amax()
        self._max = most if self._max is None else self._max + most

    def _chosen(self) -> torch.Tensor:
        return super()._chosen() / self._seen


class AbsMaxChannelWiseWeightObserverLayer(AbsmaxObserverLayer):
    """The largest magnitude of each output channel of a weight. quant_axis: the axis of the channels; 1 for a
    linear layer, else 0."""

    def __init__(self, layer: Layer | None, quant_bits: int = 8, quant_axis: int | None = None) -> None:
        super().__init__(layer, quant_bits)
        self._axis = channel_axis(layer) if quant_axis is None else quant_axis

    def _observe(self, data: torch.Tensor) -> None:
        if not -1 < self._axis < data.ndim:
            raise InvalidArgument(f"quant_axis: expected 0 to {data.ndim - 1}, got {self._axis}")
        self._max = data.abs().amax([a for a in range(data.ndim) if a != self._axis])

    def quant_axis(self) -> int:
        return self._axis


class GroupWiseWeightObserverLayer(AbsmaxObserverLayer):
    """The largest magnitude of each group of rows, by column: [in / group_size, out] for [in, out]."""

    def __init__(self, layer: Layer | None, quant_bits: int = 8, group_size: int = 128) -> None:
        super().__init__(layer, quant_bits)
        if group_size not in (64, 128):
            raise InvalidArgument(f"group_size: expected 64 or 128, got {group_size!r}")
        self.group_size = group_size

    def _observe(self, data: torch.Tensor) -> None:
        if data.ndim != 2 or data.shape[0] % self.group_size:
            raise InvalidArgument(
                f"expected a matrix whose rows are a multiple of group_size {self.group_size}, "
                f"got shape {[*data.shape]}"
            )
        most = data.reshape(-1, self.group_size, data.shape[1]).abs().amax(1)
        self._max = torch.where(most == 0, torch.full_like(most, 1e-8), most)


class HistObserverLayer(_Observer):
    """A scale that covers `percent` of the magnitudes, by a histogram: outliers are cut off.

    bins: of the histogram from 0 to the largest magnitude; where a later sample has a larger one, the counts
    move to wider bins.
    """

    def __init__(
        self, layer: Layer | None, quant_bits: int = 8, bins_count: int = 2048, percent: float = 0.99999
    ) -> None:
        super().__init__(layer, quant_bits)
        if not 0 < percent <= 1 or bins_count < 2 * largest(quant_bits):
            raise InvalidArgument(
                f"percent, bins_count: expected 0 < percent <= 1 and {2 * largest(quant_bits)} or more, "
                f"got {percent} and {bins_count}"
            )
        self.percent, self.bins = percent, bins_count
        self._counts, self._top = np.zeros(bins_count), 0.0

    def _observe(self, data: torch.Tensor) -> None:
        sizes = data.abs().float().flatten().cpu().numpy()
        most = float(sizes.max())
        if not np.isfinite(most):
            self._top = most
            return
        if not np.isfinite(self._top):
            return
        if most > self._top:
            middles = (np.arange(self.bins) + 0.5) * self._top / self.bins
            counts = np.histogram(middles, self.bins, (0, most), weights=self._counts)[0]
            self._counts, self._top = counts, most
        if self._top > 0:
            self._counts += np.histogram(sizes, self.bins, (0, self._top))[0]

    def _chosen(self) -> torch.Tensor:
        if self._top == 0 or not np.isfinite(self._top):
            return torch.tensor(self._top)
        return torch.tensor(self._top * (self._kept() / self.bins))

    def _kept(self) -> int:
        """How many of the bins are within the scale."""
        share = np.cumsum(self._counts) / self._counts.sum()
        return int(np.searchsorted(share, self.percent)) + 1


class KLObserverLayer(HistObserverLayer):
    """The cut of the histogram whose quantised form has the least divergence from the cut histogram."""

    def __init__(self, layer: Layer | None, quant_bits: int = 8, bins_count: int = 2048) -> None:
        super().__init__(layer, quant_bits, bins_count)

    def _kept(self) -> int:
        levels = largest(self._quant_bits) + 1
        cuts = range(levels, self.bins + 1, max(1, self.bins // 256))
        return min(cuts, key=lambda kept: _divergence(self._counts, kept, levels))


def _divergence(counts: np.ndarray, kept: int, levels: int) -> float:
    """KL divergence of the first `kept` bins, the rest in the last of them, from the same in `levels` steps.

    A step's count is spread over those of its bins that are not empty.
    """
    whole = counts[:kept].copy()
    whole[-1] += counts[kept:].sum()
    step = np.arange(kept) * levels // kept
    filled = counts[:kept] > 0
    sums = np.bincount(step, counts[:kept], levels)
    share = np.bincount(step, filled, levels)
    spread = np.where(filled, sums[step] / np.maximum(share[step], 1), 0)
    both = (whole > 0) & (spread > 0)
    lost = whole[(whole > 0) & (spread == 0)].sum()  # nothing stands for them: as improbable as 1e-12
    p, q = whole / whole.sum(), spread / max(spread.sum(), 1e-12)
    certain = float((p[both] * np.log(p[both] / q[both])).sum())
    return certain + float(lost / whole.sum() * np.log(1e12))


class AbsmaxObserver(QuanterFactory):
    """Of `AbsmaxObserverLayer`: one scale, the largest magnitude. quant_bits: 2 to 16."""

    _target = AbsmaxObserverLayer

    def __init__(self, quant_bits: int = 8) -> None:
        super().__init__(quant_bits=quant_bits)


class AVGObserver(QuanterFactory):
    """Of `AVGObserverLayer`: one scale, the mean of the largest magnitudes of the samples."""

    _target = AVGObserverLayer

    def __init__(self, quant_bits: int = 8) -> None:
        super().__init__(quant_bits=quant_bits)


class AbsMaxChannelWiseWeightObserver(QuanterFactory):
    """Of `AbsMaxChannelWiseWeightObserverLayer`: a scale for each output channel."""

    _target = AbsMaxChannelWiseWeightObserverLayer

    def __init__(self, quant_bits: int = 8, quant_axis: int | None = None) -> None:
        super().__init__(quant_bits=quant_bits, quant_axis=quant_axis)


class GroupWiseWeightObserver(QuanterFactory):
    """Of `GroupWiseWeightObserverLayer`: a scale for each `group_size` rows of each column."""

    _target = GroupWiseWeightObserverLayer

    def __init__(self, quant_bits: int = 8, group_size: int = 128) -> None:
        super().__init__(quant_bits=quant_bits, group_size=group_size)


class HistObserver(QuanterFactory):
    """Of `HistObserverLayer`: one scale that covers `percent` of the magnitudes."""

    _target = HistObserverLayer

    def __init__(self, quant_bits: int = 8, bins_count: int = 2048, percent: float = 0.99999) -> None:
        super().__init__(quant_bits=quant_bits, bins_count=bins_count, percent=percent)


class KLObserver(QuanterFactory):
    """Of `KLObserverLayer`: one scale, by the least divergence."""

    _target = KLObserverLayer

    def __init__(self, quant_bits: int = 8, bins_count: int = 2048) -> None:
        super().__init__(quant_bits=quant_bits, bins_count=bins_count)
