"""Layer and batch normalisation. torch's fused kernels for the first order, formulas for the higher ones."""

from __future__ import annotations

from typing import Any

import torch

from ..operator import operator
from .elementwise import Buffer, aten

layer_norm_backward = aten.native_layer_norm_backward.default._op
batch_norm_backward = aten.native_batch_norm_backward.default._op


@operator(reference=lambda x, w, b, e: torch.nn.functional.layer_norm(x, w.shape, w, b, e), samples=[((2, 3, 4), (4,), (4,), 1e-5), ((2, 3, 4), (3, 4), (3, 4), 1e-3)])  # fmt: skip
def normalize_layer(x, weight, bias, epsilon):  # type: ignore[no-untyped-def]
    """Layer normalisation of the last axes of x, those of `weight` and `bias` (Ba, Kiros and Hinton, 2016)."""
    shape = list(weight.shape)
    value, mean, rstd = torch.native_layer_norm(x, shape, weight, bias, epsilon)

    return (
        value,
        lambda g, needed, s=shape, m=mean, r=rstd, b=bias, e=epsilon: (
            layer_norm_backward(g, x, s, m, r, weight, b, needed[:3])
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
        lambda g, needed, m=mean, v=variance, sm=saved_mean, sr=saved_rstd, t=training, e=epsilon: (
            batch_norm_backward(g, x, weight, m, v, sm, sr, t, e, needed[:3])
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
