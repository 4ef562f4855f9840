"""Convolution of images. torch's (oneDNN, cuDNN) does the work; the three operators below are each other's gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import grad as torch_grad

from ..operator import operator
from .elementwise import Buffer

convolution_backward = torch.ops.aten.convolution_backward.default._op


def _backward(g: Any, x: Any, weight: Any, settings: tuple[Any, ...], mask: list[bool]) -> Any:
    """The gradients of input, weight and bias that `mask` asks for, in one call."""
    stride, padding, dilation, groups = settings
    outs = [weight.shape[0]]
    return convolution_backward(g, x, weight, outs, stride, padding, dilation, False, (0, 0), groups, mask)


@operator(reference=lambda x, w, b, s: torch.conv2d(x, w, b, *s), samples=[((2, 3, 5, 5), (4, 3, 3, 3), (4,), ((1, 1), (1, 1), (1, 1), 1)), ((1, 4, 6, 5), (4, 2, 3, 2), None, ((2, 1), (0, 1), (1, 2), 2))])  # fmt: skip
def convolve(x, weight, bias, settings):  # type: ignore[no-untyped-def]
    """The convolution of x [n, c, h, w] with weight [out, c / groups, kh, kw], plus bias [out] unless None.

    settings: (stride, padding, dilation, groups), the first three as pairs.
    """
    return (
        torch.conv2d(x, weight, bias, *settings),
        lambda g, needed, s=settings: (
            tuple(_backward(g, x, weight, s, needed[:3]))
            if g.__class__ is Buffer
            else (
                convolve_input(g, weight, tuple(x.shape), s) if needed[0] else None,
                convolve_weight(g, x, tuple(weight.shape), s) if needed[1] else None,
                g.sum(axis=[0, 2, 3]) if needed[2] else None,
            )
        ),
    )


def _input_twin(g: Any, weight: Any, shape: Any, s: Any) -> Any:
    return torch_grad.conv2d_input(shape, weight, g, *s)


def _weight_twin(g: Any, x: Any, shape: Any, s: Any) -> Any:
    return torch_grad.conv2d_weight(x, shape, g, *s)


@operator(
    reference=_input_twin, samples=[((2, 4, 5, 5), (4, 3, 3, 3), (2, 3, 5, 5), ((1, 1), (1, 1), (1, 1), 1))]
)
def convolve_input(g, weight, shape, settings):  # type: ignore[no-untyped-def]
    """The gradient of `convolve` for an input of `shape`: itself linear in `g` and in `weight`."""
    like = g.new_empty(1).expand(shape)
    value = _backward(g, like, weight, settings, [True, False, False])[0]
    return value, (
        lambda gg, s=settings: convolve(gg, weight, None, s),
        lambda gg, s=settings, shape=weight.shape: convolve_weight(g, gg, shape, s),
    )


@operator(
    reference=_weight_twin, samples=[((2, 4, 5, 5), (2, 3, 5, 5), (4, 3, 3, 3), ((1, 1), (1, 1), (1, 1), 1))]
)
def convolve_weight(g, x, shape, settings):  # type: ignore[no-untyped-def]
    """The gradient of `convolve` for a weight of `shape`: itself linear in `g` and in `x`."""
    like = g.new_empty(1).expand(shape)
    value = _backward(g, x, like, settings, [False, True, False])[1]
    return value, (
        lambda gg, s=settings: convolve(x, gg, None, s),
        lambda gg, s=settings, shape=x.shape: convolve_input(g, gg, shape, s),
    )
