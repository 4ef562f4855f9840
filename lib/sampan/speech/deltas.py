"""Deltas: how features change from frame to frame, by Kaldi's weights.

d[t] = sum_j j x[t + j] / sum_j j^2, j = -window to window; the second order has the weights of this filter
applied twice. Frames before the first and behind the last repeat these.
Source: Kaldi, feat/feature-functions.cc, DeltaFeatures; the HTK Book, 5.9.
"""

from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument, InvalidType
from ..engine.tensor import Tensor
from ..ops import concat
from .waveform import whole

Array = np.ndarray[Any, Any]


def delta_weights(order: int, window: int) -> list[Array]:
    """float64 weights of each order from 0 on; those of order n reach n window frames to each side."""
    ramp = np.arange(-window, window + 1) / (2.0 * (np.arange(1, window + 1) ** 2).sum())
    made = [np.ones(1)]
    for _ in range(order):
        made.append(np.convolve(made[-1], ramp))
    return made


def feature_tensor(features: Any, name: str = "features") -> Tensor:
    """[..., frames, columns] as a floating Tensor; a TypeError or ValueError for anything else."""
    if isinstance(features, np.ndarray):
        features = Tensor(torch.from_numpy(np.ascontiguousarray(features).copy()))
    if not isinstance(features, Tensor) or not features.data.dtype.is_floating_point:
        given = features.dtype if isinstance(features, Tensor) else type(features).__name__
        raise InvalidType(f"{name}: expected a floating Tensor or NumPy array, got {given}")
    if features.ndim < 2:
        raise InvalidArgument(f"{name}: expected [..., frames, columns], got shape {list(features.shape)}")
    return features


def deltas(features: Any, order: int = 2, window: int = 2) -> Tensor:
    """Features with their deltas up to `order` beside them: [..., frames, columns (order + 1)].

    features: [..., frames, columns]. window: frames on each side of a delta. Differentiable. Raises
    ValueError for an order or a window below 1.

    >>> paddle.speech.deltas(paddle.to_tensor([[0.0], [1.0], [2.0], [3.0], [4.0]]), order=1).tolist()[2]
    [2.0, 1.0]
    """
    whole("order", order)
    whole("window", window)
    x = feature_tensor(features)
    frames, reach = x.shape[-2], order * window
    if frames == 0:
        return concat([x] * (order + 1), -1)
    places = torch.arange(-reach, frames + reach, device=x.data.device).clamp(0, frames - 1)
    return _weighted(x[..., places, :], order, window)


def _weighted(wide: Tensor, order: int, window: int) -> Tensor:
    """The result for all frames of wide but the first and the last order window ones."""
    reach = order * window
    frames = wide.shape[-2] - 2 * reach
    found = [wide[..., reach : reach + frames, :]]
    for weights in delta_weights(order, window)[1:]:
        side, total = len(weights) // 2, None
        for j, weight in enumerate(weights.tolist(), -side):
            if weight:
                term = wide[..., reach + j : reach + j + frames, :] * weight
                total = term if total is None else total + term
        found.append(total)
    return concat(found, -1)


class StreamingDeltas:
    """`deltas` of features that arrive in pieces: the same numbers, to the last bit, `order` times `window`
    frames late."""

    def __init__(self, order: int = 2, window: int = 2) -> None:
        self.order, self.window = whole("order", order), whole("window", window)
        self._held: Array | None = None

    def feed(self, features: Any) -> Array:
        """[new frames, columns (order + 1)] after the next features [any number of frames, columns]."""
        new = feature_tensor(features)
        if new.ndim != 2 or (self._held is not None and new.shape[1] != self._held.shape[1]):
            columns = "columns" if self._held is None else self._held.shape[1]
            raise InvalidArgument(f"features: expected [frames, {columns}], got shape {list(new.shape)}")
        rows = new.numpy()
        if self._held is None and len(rows):
            rows = np.concatenate([np.repeat(rows[:1], self.order * self.window, 0), rows])
        elif self._held is not None:
            rows = np.concatenate([self._held, rows])
        self._held = rows if len(rows) else self._held
        return self._take()

    def finish(self) -> Array:
        """The frames that are left when the signal ends; the next features begin another."""
        if self._held is None:
            return np.empty((0, 0), np.float32)
        self._held = np.concatenate([self._held, np.repeat(self._held[-1:], self.order * self.window, 0)])
        made, self._held = self._take(), None
        return made

    def _take(self) -> Array:
        reach = self.order * self.window
        held = self._held if self._held is not None else np.empty((0, 0), np.float32)
        count = len(held) - 2 * reach
        if count <= 0:
            return np.empty((0, held.shape[1] * (self.order + 1)), held.dtype)
        self._held = held[count:].copy()
        made: Array = _weighted(Tensor(torch.from_numpy(held.copy())), self.order, self.window).numpy()
        return made
