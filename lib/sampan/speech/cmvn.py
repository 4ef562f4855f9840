"""Mean and variance normalization of features: over a whole corpus, over a sliding window, and online.

All sums are kept in float64 from the first frame on.
Source: Kaldi, transform/cmvn.cc, feat/feature-functions.cc (SlidingWindowCmn) and feat/online-feature.cc
(OnlineCmvn).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..ops import concat, maximum
from ..ops.reduction import cumsum
from .deltas import feature_tensor
from .waveform import whole

Array = np.ndarray[Any, Any]
LEAST_VARIANCE = 1e-10


@dataclass(frozen=True)
class CmvnStats:
    """The frames of a corpus: how many, and of each column the sum and the sum of squares, float64
    [columns]."""

    count: float
    sums: Array
    squares: Array

    @property
    def mean(self) -> Array:
        """float64 [columns]."""
        made: Array = self.sums / self.count
        return made

    @property
    def std(self) -> Array:
        """float64 [columns], at least 1e-5."""
        made: Array = np.sqrt(np.maximum(self.squares / self.count - self.mean**2, LEAST_VARIANCE))
        return made


def cmvn_stats(features: Iterable[Any]) -> CmvnStats:
    """The statistics of several recordings. features: arrays or Tensors [frames, columns]; ValueError without
    a frame, and for NaN."""
    count, sums, squares = 0, np.empty(0), np.empty(0)
    for number, each in enumerate(features):
        rows = feature_tensor(each).numpy().astype(np.float64)
        if rows.ndim != 2 or (count and rows.shape[1] != len(sums)):
            raise InvalidArgument(f"features: expected [frames, columns], got shape {list(rows.shape)}")
        if not np.isfinite(rows).all():
            raise InvalidArgument(f"features: expected finite numbers, recording {number} has others")
        sums = rows.sum(0) + (sums if count else 0)
        squares = (rows**2).sum(0) + (squares if count else 0)
        count += len(rows)
    if not count:
        raise InvalidArgument("features: expected at least one frame, got none")
    return CmvnStats(count, sums, squares)


def _constant(array: Any, like: Tensor) -> Tensor:
    return Tensor(torch.as_tensor(np.asarray(array), dtype=like.data.dtype, device=like.data.device))


def cmvn(features: Any, stats: CmvnStats | None = None, norm_vars: bool = True) -> Tensor:
    """(features - mean) / std by the statistics of a corpus, or of these frames alone when None.

    features: [..., frames, columns]. norm_vars: False leaves the variance. Differentiable, also through the
    statistics when they are of these frames.
    """
    x = feature_tensor(features)
    if stats is not None:
        if len(stats.sums) != x.shape[-1]:
            raise InvalidArgument(f"stats: expected {x.shape[-1]} columns, got {len(stats.sums)}")
        centred = x - _constant(stats.mean, x)
        return centred / _constant(stats.std, x) if norm_vars else centred
    if x.shape[-2] == 0:
        return x
    centred = x - x.mean(-2, keepdim=True)
    if not norm_vars:
        return centred
    variance = (centred * centred).mean(-2, keepdim=True)
    return centred / maximum(variance, _constant(LEAST_VARIANCE, x)).sqrt()


def _window_ends(frames: int, window: int, least: int, center: bool) -> tuple[Array, Array]:
    """The first frame of each window, and the one behind its last."""
    t = np.arange(frames)
    start = t - window // 2 if center else t - window
    stop = start + window if center else t + 1
    stop = np.where(start < 0, stop - start, stop)
    start = np.maximum(start, 0)
    if not center:
        stop = np.where(stop > t, np.maximum(t + 1, least), stop)
    start = np.maximum(np.where(stop > frames, start - (stop - frames), start), 0)
    return start, np.minimum(stop, frames)


def sliding_cmvn(
    features: Any, window: int = 600, min_window: int = 100, center: bool = False, norm_vars: bool = False
) -> Tensor:
    """Each frame less the mean of a window of frames around it (center) or before it.

    features: [frames, columns]. window: frames. min_window: a window that begins at the first frame has at
    least so many. norm_vars: divide by the window's standard deviation; a window of one frame then gives 0.
    Differentiable.
    Source: Kaldi, feat/feature-functions.cc, SlidingWindowCmn.
    """
    x = feature_tensor(features)
    whole("window", window)
    whole("min_window", min_window)
    if x.ndim != 2:
        raise InvalidArgument(f"features: expected [frames, columns], got shape {list(x.shape)}")
    if x.shape[0] == 0:
        return x
    ends = _window_ends(x.shape[0], window, min_window, center)
    start, stop = (torch.from_numpy(end).to(x.data.device) for end in ends)
    wide = x.astype("float64")
    zero = wide[:1] * 0
    count = _constant(ends[1] - ends[0], wide).unsqueeze(1)

    def means(values: Tensor) -> Tensor:
        sums = concat([zero, cumsum(values, 0)])
        return (sums[stop] - sums[start]) / count

    mean = means(wide)
    found = wide - mean
    if norm_vars:
        variance = maximum(means(wide * wide) - mean * mean, _constant(LEAST_VARIANCE, wide))
        found = found / variance.sqrt() * _constant(ends[1] - ends[0] > 1, wide).unsqueeze(1)
    return found.astype(x.dtype)


class OnlineCmvn:
    """Each frame less the mean of the last `window` frames up to it, for features that arrive in pieces.

    While there are fewer frames than `window`, up to global_frames frames of `stats` are added to them, where
    there are such. norm_vars: divide by the standard deviation too. The numbers do not depend on the pieces.
    Source: Kaldi, feat/online-feature.cc, OnlineCmvn.
    """

    def __init__(
        self,
        stats: CmvnStats | None = None,
        window: int = 600,
        global_frames: int = 200,
        norm_vars: bool = False,
    ) -> None:
        self.stats, self.norm_vars = stats, norm_vars
        self.window, self.global_frames = whole("window", window), whole("global_frames", global_frames, 0)
        self.reset()

    def reset(self) -> None:
        """Forget the frames."""
        self._frames = 0
        self._sums: Array | None = (
            None  # running sums and sums of squares, [up to window + 1 frames, 2, columns]
        )

    def feed(self, features: Any) -> Array:
        """The normalized frames [frames, columns], float32, of the next features of that shape."""
        rows = feature_tensor(features).numpy()
        columns = rows.shape[1] if self._sums is None else self._sums.shape[2]
        if rows.ndim != 2 or rows.shape[1] != columns:
            raise InvalidArgument(f"features: expected [frames, {columns}], got shape {list(rows.shape)}")
        if not np.isfinite(rows).all():
            raise InvalidArgument("features: expected finite numbers, got NaN or infinity")
        if self.stats is not None and len(self.stats.sums) != columns:
            raise InvalidArgument(
                f"features: expected {len(self.stats.sums)} columns, as in stats, got {columns}"
            )
        wide = rows.astype(np.float64)
        held = np.zeros((1, 2, columns)) if self._sums is None else self._sums
        new = np.stack([wide, wide * wide], 1)  # [frames, 2, columns]
        sums = np.concatenate([held, np.cumsum(np.concatenate([held[-1:], new]), 0)[1:]])
        place = np.arange(len(held), len(sums))  # of each new frame
        first = self._frames - (len(held) - 1)  # frames before those held
        size = np.minimum(self.window, place + first)
        totals = sums[place] - sums[place - size]
        counts = size.astype(np.float64)
        if self.stats is not None:
            added = np.minimum(np.maximum(self.window - counts, 0), self.global_frames)
            share = np.stack([self.stats.sums, self.stats.squares]) / self.stats.count
            totals, counts = totals + added[:, None, None] * share, counts + added
        means = totals / counts[:, None, None]
        made = wide - means[:, 0]
        if self.norm_vars:
            made /= np.sqrt(np.maximum(means[:, 1] - means[:, 0] ** 2, LEAST_VARIANCE))
        self._sums, self._frames = sums[-(self.window + 1) :].copy(), self._frames + len(rows)
        return made.astype(np.float32)


def online_cmvn(features: Any, stats: CmvnStats | None = None, **settings: Any) -> Tensor:
    """`OnlineCmvn` of features [frames, columns] that are all there: float32."""
    return Tensor(torch.from_numpy(OnlineCmvn(stats, **settings).feed(features)))
