"""Batch normalisation over the batches of all processes: what `nn.SyncBatchNorm` computes with several.

One exchange forward, [processes, 3, channels], and one backward, [2, channels]. The processes may have
batches of different lengths; one may have none.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as c10d

from ..engine.operator import operator
from ..engine.tape import written
from ..engine.tensor import Tensor
from ..nn import SyncBatchNorm
from ..nn import functional as F
from ..nn.functional.normalization import channels_back, channels_first
from ..ops import stack
from . import traffic
from .row_exchange import started_sum


@operator(lambda g: over_processes(g))
def over_processes(x):
    """The sum of x, of any shape, over all processes. Its gradient is the sum of theirs."""
    total = x.clone(memory_format=torch.contiguous_format)
    started_sum(total, None).wait()
    return total


def _axes(x: Any) -> tuple[list[int], list[int]]:
    """The axes of x [n, c, ...] without that of the channels, and the shape of one value for each channel."""
    return [a for a in range(x.ndim) if a != 1], [1, x.shape[1], *[1] * (x.ndim - 2)]


def statistics(x: torch.Tensor) -> tuple[Any, Any, Any]:
    """Mean and (biased) variance of each channel over all processes, and how many values a channel has.

    Each process gives its count, its mean and its sum of squared differences, which Chan's formula joins
    (Chan, Golub and LeVeque, 1979): sums of squares would lose digits.
    """
    axes, _ = _axes(x)
    wide = x if x.dtype is torch.float64 else x.float()
    count = wide.new_tensor(x.numel() // max(1, x.shape[1]))
    if x.numel():
        variance, mean = torch.var_mean(wide, axes, correction=0)
    else:
        variance = mean = wide.new_zeros(x.shape[1])
    own = torch.stack([count.expand_as(mean), mean, variance * count])
    heard = [torch.empty_like(own) for _ in range(c10d.get_world_size())]
    traffic.count("all_gather", own.nbytes, own.nbytes * (len(heard) - 1))
    c10d.all_gather(heard, own)
    counts, means, squares = torch.stack(heard).unbind(1)
    total = counts.sum(0).clamp_(min=1)
    mean = (counts * means).sum(0) / total
    squares = squares.sum(0) + (counts * (means - mean).square()).sum(0)
    return mean, squares / total, total


def _back(g: Any, x: Any, weight: Any, epsilon: float, saved: Any) -> tuple[Any, ...]:
    """Gradients of x, weight and bias. Those of weight and bias are this process's part of a sum."""
    axes, shape = _axes(x)
    mean, variance, total = saved
    recorded = isinstance(g, Tensor)
    kind = total.dtype
    wide, gradient = (part.astype(kind) if recorded else part.to(kind) for part in (x, g))
    if recorded:  # the statistics depend on x too
        total = Tensor(total)
        mean = over_processes(wide.sum(axes)) / total
        variance = over_processes(((wide - mean.reshape(shape)) ** 2).sum(axes)) / total
    from_mean = wide - mean.reshape(shape)
    scale = (variance + epsilon) ** -0.5
    sums = gradient.sum(axes), (gradient * from_mean).sum(axes)
    both = over_processes(stack(sums)) / total
    factor = scale if weight is None else scale * weight
    inner = gradient - both[0].reshape(shape) - from_mean * (both[1] * scale * scale).reshape(shape)
    dx = inner * factor.reshape(shape)
    return dx.astype(g.dtype) if recorded else dx.to(g.dtype), sums[1] * scale, sums[0]


@operator(joint=_back, amp="as_is")
def normalize_over_processes(x, weight, bias, mean, variance, momentum, epsilon):
    """x [n, c, ...] normalised by the statistics of all processes' x. Moves mean and variance, in place:
    momentum of the old value and 1 - momentum of the batches'."""
    found_mean, found_variance, total = statistics(x)
    for running, found in ((mean, found_mean), (variance, found_variance)):
        running.mul_(momentum).add_(found, alpha=1 - momentum)
        written(running)
    value = torch.batch_norm(
        x, weight, bias, found_mean.to(mean.dtype), found_variance.to(mean.dtype), False, 0.0, epsilon, False
    )
    return value, (found_mean, found_variance, total)


def forward(layer: Any, x: Tensor, data_format: str) -> Tensor:
    """What a SyncBatchNorm returns for x, with its channels where data_format says."""
    parts = layer._mean, layer._variance, layer.weight, layer.bias
    connected = c10d.is_available() and c10d.is_initialized() and c10d.get_world_size() > 1
    if not connected or not (
        layer.training if layer.use_global_stats is None else not layer.use_global_stats
    ):
        how = layer.training, layer.momentum, layer.epsilon, data_format, layer.use_global_stats
        return F.batch_norm(x, *parts, *how)
    x, last = channels_first(x, data_format)
    value = normalize_over_processes(
        x, layer.weight, layer.bias, parts[0].data, parts[1].data, layer.momentum, layer.epsilon
    )
    return channels_back(value, last)


SyncBatchNorm.over_processes = forward
