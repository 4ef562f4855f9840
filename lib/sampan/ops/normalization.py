"""Layer, group, batch and root-mean-square normalisation. torch's fused kernels for the first order, formulas
for the higher ones."""

import math
from typing import Any

import torch

from ..engine.operator import operator
from ..engine.tape import written
from .elementwise import Buffer, aten

layer_norm_backward = aten.native_layer_norm_backward.default._op
batch_norm_backward = aten.native_batch_norm_backward.default._op
group_norm_backward = aten.native_group_norm_backward.default._op


def _unit(x: Any, axes: list[int], epsilon: float) -> tuple[Any, Any]:
    """x with mean 0 and variance 1 along `axes`, and the factor that made it so."""
    centred = x - x.mean(axis=axes, keepdim=True)
    scale = ((centred * centred).mean(axis=axes, keepdim=True) + epsilon).rsqrt()
    return centred * scale, scale


def _through(g: Any, unit: Any, scale: Any, axes: list[int]) -> Any:
    """The gradient g of `unit` taken back through `_unit`."""
    return scale * (g - g.mean(axis=axes, keepdim=True) - unit * (g * unit).mean(axis=axes, keepdim=True))


def _layer_back(
    g: Any, x: Any, weight: Any, bias: Any, epsilon: float, saved: Any, needed: list[bool]
) -> tuple[Any, ...]:
    if g.__class__ is Buffer:
        return layer_norm_backward(g, x, x.shape[-1:], *saved, weight, bias, needed[:3])
    unit, scale = _unit(x, [-1], epsilon)
    outer = list(range(x.ndim - 1))
    dx = _through(g if weight is None else g * weight, unit, scale, [-1])
    product = g * unit
    return dx, product.sum(axis=outer) if outer else product, g.sum(axis=outer) if outer else g


@operator(joint=_layer_back, amp="float32")
def normalize_layer(x, weight, bias, epsilon):
    """Layer normalisation of the last axis of x (Ba, Kiros and Hinton, 2016); weight and bias may be None."""
    value, *statistics = torch.native_layer_norm(x, x.shape[-1:], weight, bias, epsilon)
    return value, tuple(statistics)


def _rms_back(g: Any, x: Any, weight: Any, epsilon: float) -> tuple[Any, Any]:
    scale = ((x * x).mean(axis=-1, keepdim=True) + epsilon).rsqrt()
    unit = x * scale
    gw = g if weight is None else g * weight
    dx = scale * (gw - unit * (gw * unit).mean(axis=-1, keepdim=True))
    return dx, (g * unit).sum(axis=list(range(x.ndim - 1))) if x.ndim > 1 else g * unit


@operator(joint=_rms_back)
def normalize_rms(x, weight, epsilon):
    """x / sqrt(mean(x^2) + epsilon) weight along the last axis (Zhang and Sennrich, 2019); weight may be
    None."""
    return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, epsilon)


def _groups_back(
    g: Any, x: Any, weight: Any, groups: int, epsilon: float, saved: Any, needed: list[bool]
) -> tuple[Any, ...]:
    if g.__class__ is not Buffer:
        grouped = [x.shape[0], groups, -1]
        unit, scale = _unit(x.reshape(grouped), [-1], epsilon)
        gw = g if weight is None else g * weight.reshape([-1] + [1] * (x.ndim - 2))
        dx = _through(gw.reshape(grouped), unit, scale, [-1]).reshape(x.shape)
        axes = [0, *range(2, x.ndim)]
        return dx, (g * unit.reshape(x.shape)).sum(axis=axes), g.sum(axis=axes)
    affine = needed[1] or needed[2]  # torch takes both sums at once, and needs a place and a weight for them
    rows, mean, rstd, sizes = saved
    if weight is not None:
        weight = weight.contiguous()
    elif affine:
        weight = rows.new_ones(sizes[1])
    return group_norm_backward(g.contiguous(), rows, mean, rstd, weight, *sizes, (needed[0], affine, affine))


@operator(joint=_groups_back, amp="float32")
def normalize_groups(x, weight, bias, groups, epsilon):
    """Normalisation of x [n, c, ...] over `groups` of its channels and their places (Wu and He, 2018)."""
    x, weight, bias = (None if v is None else v.contiguous() for v in (x, weight, bias))
    n, c = x.shape[:2]
    sizes = (n, c, math.prod(x.shape[2:]), groups)
    value, mean, rstd = torch.native_group_norm(x, weight, bias, *sizes, epsilon)
    return value, (x, mean, rstd, sizes)


def _batch_back(
    g: Any, x: Any, weight: Any, training: bool, epsilon: float, saved: Any, needed: list[bool]
) -> tuple[Any, ...]:
    if g.__class__ is Buffer and x.numel():  # without samples torch's kernel divides by 0: the process ends
        if len(x) == 1 and g.stride() != x.stride():  # torch 2.13 then reads one of the two in a wrong order
            g = torch.empty_like(x).copy_(g)
        return batch_norm_backward(g, x, weight, *saved, training, epsilon, needed[:3])
    axes, shape = [0, *range(2, x.ndim)], [1, -1] + [1] * (x.ndim - 2)
    gw = g if weight is None else g * weight.reshape(shape)
    if training:
        unit, scale = _unit(x, axes, epsilon)
        dx = _through(gw, unit, scale, axes)
    else:
        mean, variance, *_ = saved
        scale = (variance.reshape(shape) + epsilon).rsqrt()
        unit = (x - mean.reshape(shape)) * scale
        dx = gw * scale
    return dx, (g * unit).sum(axis=axes), g.sum(axis=axes)


@operator(joint=_batch_back, amp="as_is")
def normalize_batch(x, weight, bias, mean, variance, training, momentum, epsilon):
    """Batch normalisation of axis 1 of x [n, c, ...]: by the batch's own statistics in training, else by
    those given.

    Training moves mean and variance, in place: momentum of the old value and 1 - momentum of the batch's.
    """
    value, batch_mean, batch_rstd = torch.native_batch_norm(
        x, weight, bias, None if training else mean, None if training else variance, training, 0.0, epsilon
    )
    # Training does not need the old statistics again, so that later steps may overwrite them.
    kept = (None, None) if training else (mean, variance)
    if training and x.numel():
        for running, batch in ((mean, batch_mean), (variance, batch_rstd.pow(-2).sub_(epsilon))):
            running.mul_(momentum).add_(batch, alpha=1 - momentum)
            written(running)
    return value, (*kept, batch_mean, batch_rstd)
