"""Pooling of images and volumes: the largest or the mean of each window. Kernels of torch, by the number of axes."""

import math

import torch

from ..operator import operator
from .elementwise import aten

torch_nn = torch._C._nn
MAX = {2: torch_nn.max_pool2d_with_indices, 3: torch_nn.max_pool3d_with_indices}
ADAPTIVE_MAX = {2: torch_nn.adaptive_max_pool2d, 3: torch_nn.adaptive_max_pool3d}
_AVG = {2: torch_nn.avg_pool2d, 3: torch_nn.avg_pool3d}
_ADAPTIVE = {2: torch_nn.adaptive_avg_pool2d, 3: torch_nn.adaptive_avg_pool3d}
_MAX_BACK, _AVG_BACK, _ADAPTIVE_BACK = (
    {n: getattr(aten, name.format(n)).default._op for n in (2, 3)}
    for name in (
        "max_pool{}d_with_indices_backward",
        "avg_pool{}d_backward",
        "_adaptive_avg_pool{}d_backward",
    )
)


@operator
def max_pool(x, kernel, stride, padding, ceil_mode):  # type: ignore[no-untyped-def]
    """The largest entry of each window of x [n, c, ...]; the gradient goes to its place."""
    n = len(kernel)
    value, places = MAX[n](x, kernel, stride, padding, (1,) * n, ceil_mode)
    return value, (lambda g, i=places, s=(kernel, stride, padding, ceil_mode): max_unpool(g, x, i, s),)


@operator
def max_unpool(g, x, places, settings):  # type: ignore[no-untyped-def]
    """Zeros like x with g added at the places (flat, per channel) that a max pooling of x chose."""
    kernel, stride, padding, ceil_mode = settings
    n = len(kernel)
    value = _MAX_BACK[n](g, x, kernel, stride, padding, (1,) * n, ceil_mode, places)
    return value, (lambda gg, i=places: at_places(gg, i), lambda gg: None)


@operator
def at_places(x, places):  # type: ignore[no-untyped-def]
    """The entries of x [n, c, ...] at flat places per channel, in the shape of `places`: a max pooling's value."""
    value = x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)
    return value, (lambda g, i=places, size=list(x.shape[2:]): put_at_places(g, i, size, True),)


@operator
def put_at_places(x, places, size, add=False):  # type: ignore[no-untyped-def]
    """Zeros [n, c, *size] with x [n, c, ...] written, or added, at flat places per channel."""
    empty = x.new_zeros([*x.shape[:2], math.prod(size)])
    write = empty.scatter_add_ if add else empty.scatter_
    value = write(2, places.flatten(2), x.flatten(2)).reshape([*x.shape[:2], *size])
    return value, (lambda g, i=places: at_places(g, i),)


@operator
def avg_pool(x, kernel, stride, padding, ceil_mode, exclusive, divisor=None):  # type: ignore[no-untyped-def]
    """The mean of each window of x [n, c, ...]; padding is not counted when `exclusive`. Or its sum over `divisor`."""
    settings = (kernel, stride, padding, ceil_mode, not exclusive, divisor)
    return _AVG[len(kernel)](x, *settings), (lambda g, shape=x.shape, s=settings: avg_unpool(g, shape, s),)


@operator
def avg_unpool(x, shape, settings):  # type: ignore[no-untyped-def]
    """The transpose of `avg_pool`: each entry spread evenly over its window."""
    value = _AVG_BACK[len(settings[0])](x, x.new_empty(1).expand(shape), *settings)
    return value, (lambda g, s=settings: avg_pool(g, *s[:4], not s[4], s[5]),)


@operator
def adaptive_pool(x, size):  # type: ignore[no-untyped-def]
    """The mean of `size` windows of x [n, c, ...] that cover it as evenly as they can."""
    return _ADAPTIVE[len(size)](x, size), (lambda g, shape=x.shape, n=size: adaptive_unpool(g, shape, n),)


@operator
def adaptive_unpool(x, shape, size):  # type: ignore[no-untyped-def]
    """The transpose of `adaptive_pool`."""
    value = _ADAPTIVE_BACK[len(size)](x, x.new_empty(1).expand(shape))
    return value, (lambda g, size=size: adaptive_pool(g, size),)
