"""Convolution over one, two or three axes, and its transpose. torch's (oneDNN, cuDNN) does the work.

The gradient of a convolution by its input is the transposed convolution with the same weight, and the other
way round; so the two operators below are each other's gradients, of any order.
"""

from typing import Any

import torch

from ..engine.operator import operator
from .elementwise import Buffer

convolution_backward = torch.ops.aten.convolution_backward.default._op


def _backward(g: Any, x: Any, weight: Any, settings: tuple[Any, ...], mask: list[bool]) -> Any:
    """The gradients of input, weight and bias selected by `mask`, in one call."""
    transposed, groups = settings[3], settings[5]
    outs = [weight.shape[1] * groups if transposed else weight.shape[0]]
    return convolution_backward(g, x, weight, outs, *settings, mask)


def _transposed(settings: tuple[Any, ...], x: Any, g: Any, weight: Any) -> tuple[Any, ...]:
    """The settings of the transposed convolution, which maps an output's gradient to one of x's shape."""
    stride, padding, dilation, transposed, _, groups = settings
    if transposed:
        return (stride, padding, dilation, False, (0,) * len(stride), groups)
    sides = zip(x.shape[2:], g.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True)
    # what the last stride did not reach
    rest = tuple(n - ((m - 1) * s - 2 * p + d * (k - 1) + 1) for n, m, k, s, p, d in sides)
    return (stride, padding, dilation, True, rest, groups)


def _convolve_back(g: Any, x: Any, weight: Any, settings: Any, saved: Any, needed: list[bool]) -> Any:
    if g.__class__ is Buffer:
        return tuple(_backward(g, saved, weight, settings, needed[:3]))
    forward = settings if not settings[3] else _transposed(settings, x, g, weight)
    # of the convolution that is not transposed: output, input
    small, large = (x, g) if settings[3] else (g, x)
    return (
        convolve(g, weight, None, _transposed(settings, x, g, weight)) if needed[0] else None,
        convolve_weight(small, large, tuple(weight.shape), forward) if needed[1] else None,
        g.sum(axis=[0, *range(2, g.ndim)]) if needed[2] else None,
    )


@operator(joint=_convolve_back, product=True, amp="half")
def convolve(x, weight, bias, settings):
    """The convolution of x [n, c, ...] with weight [out, c / groups, ...], plus bias [out] unless None.

    settings: (stride, padding, dilation, transposed, output_padding, groups); tuples with one int for each
    axis. The transposed one takes weight [c, out / groups, ...].
    """
    if settings[5] == weight.shape[0] > 1 and x.ndim == 4 and x.device.type == "cpu":
        # A convolution of each channel alone is twice as fast with the channels innermost, and what follows
        # keeps that.
        x = x.contiguous(memory_format=torch.channels_last)
    return torch.convolution(x, weight, bias, *settings), x


@operator(
    lambda gg, x, settings: convolve(x, gg, None, settings),
    lambda gg, g, x, settings: convolve(g, gg, None, _transposed(settings, x, g, gg)),
)
def convolve_weight(g, x, shape, settings):
    """The gradient of a convolution, not transposed, by a weight of `shape`: linear in `g` and in `x`."""
    like = g.new_empty(1).expand(shape)
    return _backward(g, x, like, settings, [False, True, False])[1]
