"""Layer and batch normalisation. torch's fused kernels for the first order, formulas for the higher ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ..operator import operator
from ..tape import written
from ..tensor import Tensor
from .elementwise import Buffer, aten

_FORMATS = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")
layer_norm_backward = aten.native_layer_norm_backward.default._op
batch_norm_backward = aten.native_batch_norm_backward.default._op


@operator(reference=lambda x, w, b, e: torch.nn.functional.layer_norm(x, w.shape, w, b, e), samples=[((2, 3, 4), (4,), (4,), 1e-5), ((2, 3, 4), (3, 4), (3, 4), 1e-3)])  # fmt: skip
def normalize_layer(x, weight, bias, epsilon):  # type: ignore[no-untyped-def]
    """Layer normalisation of the last axes of x, those of `weight` and `bias` (Ba, Kiros and Hinton, 2016)."""
    shape = list(weight.shape)
    value, mean, rstd = torch.native_layer_norm(x, shape, weight, bias, epsilon)

    return (
        value,
        lambda g, s=shape, m=mean, r=rstd, b=bias, e=epsilon: (
            layer_norm_backward(g, x, s, m, r, weight, b, [True, True, True])
            if g.__class__ is Buffer
            else _layer_gradients(g, x, weight, e)
        ),
    )


def _layer_gradients(g: Any, x: Any, weight: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """The three gradients by operators."""
    inner = list(range(x.ndim - weight.ndim, x.ndim))
    outer = list(range(x.ndim - weight.ndim))
    centred = x - x.mean(axis=inner, keepdim=True)
    scale = ((centred * centred).mean(axis=inner, keepdim=True) + epsilon).rsqrt()
    unit = centred * scale
    gw = g * weight
    dx = scale * (gw - gw.mean(axis=inner, keepdim=True) - unit * (gw * unit).mean(axis=inner, keepdim=True))
    product = g * unit
    return dx, product.sum(axis=outer) if outer else product, g.sum(axis=outer) if outer else g


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


@operator(reference=lambda x, w, b, m, v, t, e: torch.nn.functional.batch_norm(x, None if t else m, None if t else v, w, b, t, 0.0, e), samples=[])  # fmt: skip
def normalize_batch(x, weight, bias, mean, variance, training, epsilon):  # type: ignore[no-untyped-def]
    """Batch normalisation of axis 1 of x [n, c, ...]: by the batch's own statistics in training, else by those given."""
    if training:
        mean = variance = None  # in training they only take part afterwards, and are overwritten then
    value, saved_mean, saved_rstd = torch.native_batch_norm(
        x, weight, bias, mean, variance, training, 0.0, epsilon
    )
    return (
        value,
        lambda g, m=mean, v=variance, sm=saved_mean, sr=saved_rstd, t=training, e=epsilon: (
            batch_norm_backward(g, x, weight, m, v, sm, sr, t, e, [True, True, True])
            if g.__class__ is Buffer
            else _batch_gradients(g, x, weight, m, v, t, e)
        ),
    )


def _batch_gradients(
    g: Any, x: Any, weight: Any, mean: Any, variance: Any, training: bool, epsilon: float
) -> Any:
    """The three gradients by operators."""
    axes = [0, *range(2, x.ndim)]
    shape = [1, -1] + [1] * (x.ndim - 2)
    if training:
        centred = x - x.mean(axis=axes, keepdim=True)
        scale = ((centred * centred).mean(axis=axes, keepdim=True) + epsilon).rsqrt()
    else:
        centred = x - mean.reshape(shape)
        scale = (variance.reshape(shape) + epsilon).rsqrt()
    unit = centred * scale
    gw = g * weight.reshape(shape)
    dx = gw
    if training:
        dx = gw - gw.mean(axis=axes, keepdim=True) - unit * (gw * unit).mean(axis=axes, keepdim=True)
    return dx * scale, (g * unit).sum(axis=axes), g.sum(axis=axes)


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
