"""Pooling of images: the largest or the mean of each window."""

from __future__ import annotations

import torch

from ..operator import operator
from .elementwise import aten
from .indexing import take_along_axis

max_pool2d_with_indices = torch._C._nn.max_pool2d_with_indices
max_pool2d_backward = aten.max_pool2d_with_indices_backward.default._op
avg_pool2d_backward = aten.avg_pool2d_backward.default._op
adaptive_backward = aten._adaptive_avg_pool2d_backward.default._op


@operator(reference=lambda x, k, s, p, c: torch.nn.functional.max_pool2d(x, k, s, p, 1, c), samples=[((2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False), ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True)])  # fmt: skip
def max_pool(x, kernel, stride, padding, ceil_mode):  # type: ignore[no-untyped-def]
    """The largest entry of each window of x [n, c, h, w]; the gradient goes to its place."""
    value, places = max_pool2d_with_indices(x, kernel, stride, padding, (1, 1), ceil_mode)
    return value, (lambda g, i=places, s=(kernel, stride, padding, ceil_mode): max_unpool(g, x, i, s),)


@operator()
def max_unpool(g, x, places, settings):  # type: ignore[no-untyped-def]
    """Zeros like x with g added at the places (flat, per channel) that a max pooling of x chose."""
    kernel, stride, padding, ceil_mode = settings
    value = max_pool2d_backward(g, x, kernel, stride, padding, (1, 1), ceil_mode, places)
    flat = places.flatten(2)
    return value, (
        lambda gg, i=flat, s=g.shape: take_along_axis(gg.flatten(2), i, 2, False).reshape(s),
        lambda gg: None,
    )


@operator(reference=lambda x, k, s, p, c, e, d=None: torch.nn.functional.avg_pool2d(x, k, s, p, c, not e, d), samples=[((2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False, True), ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True, False), ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True, False, 5)])  # fmt: skip
def avg_pool(x, kernel, stride, padding, ceil_mode, exclusive, divisor=None):  # type: ignore[no-untyped-def]
    """The mean of each window of x [n, c, h, w]; padding is not counted when `exclusive`. Or its sum over `divisor`."""
    settings = (kernel, stride, padding, ceil_mode, not exclusive, divisor)
    return torch._C._nn.avg_pool2d(x, *settings), (
        lambda g, shape=x.shape, s=settings: avg_unpool(g, shape, s),
    )


@operator()
def avg_unpool(x, shape, settings):  # type: ignore[no-untyped-def]
    """The transpose of `avg_pool`: each entry spread evenly over its window."""
    value = avg_pool2d_backward(x, x.new_empty(1).expand(shape), *settings)
    return value, (lambda g, s=settings: avg_pool(g, *s[:4], not s[4], s[5]),)


@operator(
    reference=torch.nn.functional.adaptive_avg_pool2d,
    samples=[((2, 3, 7, 5), (3, 2)), ((1, 2, 4, 4), (1, 1))],
)
def adaptive_pool(x, size):  # type: ignore[no-untyped-def]
    """The mean of `size` windows of x [n, c, h, w] that cover it as evenly as they can."""
    return torch.nn.functional.adaptive_avg_pool2d(x, size), (
        lambda g, shape=x.shape, size=size: adaptive_unpool(g, shape, size),
    )


@operator()
def adaptive_unpool(x, shape, size):  # type: ignore[no-untyped-def]
    """The transpose of `adaptive_pool`."""
    return adaptive_backward(x, x.new_empty(1).expand(shape)), (lambda g, size=size: adaptive_pool(g, size),)
