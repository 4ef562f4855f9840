"""Normalisation with Paddle's arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ...ops.normalization import normalize_batch, normalize_layer
from ...tape import written
from ...tensor import Tensor

# fmt: off
__all__ = [
    "batch_norm", "layer_norm",
]
# fmt: on

_FORMATS = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")


def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None):  # type: ignore[no-untyped-def]
    """(x - mean) / sqrt(var + epsilon) weight + bias, over the last axes `normalized_shape`.

    weight, bias: of shape normalized_shape, or None for 1 and 0. Raises ValueError when the shapes do not fit.
    """
    shape = [normalized_shape] if isinstance(normalized_shape, int) else [int(n) for n in normalized_shape]
    if list(x.shape)[-len(shape) :] != shape:
        raise ValueError(f"layer_norm: normalized_shape {shape} does not end the shape of x, {list(x.shape)}")
    size = math.prod(shape)
    weight = _vector(weight, shape, size, 1.0, x)
    bias = _vector(bias, shape, size, 0.0, x)
    return normalize_layer(x, weight, bias, float(epsilon))


def _vector(given: Any, shape: Sequence[int], size: int, value: float, like: Any) -> Any:
    if given is None:
        return Tensor(torch.full(shape, value, dtype=like.dtype, device=like.data.device))
    return given if list(given.shape) == list(shape) else given.reshape(shape)


def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.9, epsilon=1e-05, data_format="NCHW", use_global_stats=None, name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """(x - mean) / sqrt(var + epsilon) weight + bias for each channel (Ioffe and Szegedy, 2015).

    x: [batch, channels, ...], or channels last with data_format "NHWC", "NLC" or "NDHWC".
    In training, or with use_global_stats=False, the batch's statistics are used, and the running ones become
    momentum running + (1 - momentum) batch (the variance as the batch's own, divided by n, as Paddle has it).
    Else, or with use_global_stats=True, the running ones are used and stay.
    Raises ValueError when the channels do not fit.
    """
    if data_format not in _FORMATS:
        raise ValueError(
            f"batch_norm: expected data_format one of {', '.join(_FORMATS)}, got {data_format!r}"
        )
    last = data_format in ("NHWC", "NLC", "NDHWC")
    if last and x.ndim > 2:
        x = x.moveaxis(-1, 1)
    channels = x.shape[1] if x.ndim > 1 else -1
    for label, given in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):  # fmt: skip
        if given is not None and list(given.shape) != [channels]:
            raise ValueError(f"batch_norm: expected {label} of shape [{channels}], got {list(given.shape)}")
    own = training if use_global_stats is None else not use_global_stats
    weight = _vector(weight, [channels], channels, 1.0, x)
    bias = _vector(bias, [channels], channels, 0.0, x)
    value = normalize_batch(x, weight, bias, running_mean.data, running_var.data, bool(own), float(epsilon))
    if own:
        axes = [0, *range(2, x.ndim)]
        variance, mean = torch.var_mean(x.data, dim=axes, correction=0)
        for running, batch in ((running_mean.data, mean), (running_var.data, variance)):
            running.mul_(momentum).add_(batch.to(running.dtype), alpha=1 - momentum)
            written(running)
    return value.moveaxis(1, -1) if last and value.ndim > 2 else value
