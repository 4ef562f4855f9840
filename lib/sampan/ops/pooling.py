"""Pooling of images and volumes: the largest or the mean of each window. Kernels of torch, by the number of
axes."""

import math
from typing import Any

import torch

from ..engine.operator import operator
from ..engine.tensor import Tensor
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


def _max_pool_by_x(
    g: Any, x: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, saved: Any
) -> Any:
    return max_unpool(g, x, saved, (kernel, stride, padding, ceil_mode))


@operator(_max_pool_by_x, returns=tuple[Tensor, Tensor])
def max_pool(x, kernel, stride, padding, ceil_mode):
    """The largest entry of each window of x [n, c, ...]; the gradient goes to its place."""
    n = len(kernel)
    return MAX[n](x, kernel, stride, padding, (1,) * n, ceil_mode)  # the value and the places


@operator(lambda g, places: at_places(g, places), lambda g: None)
def max_unpool(g, x, places, settings):
    """Zeros like x with g added at the places (flat, per channel) that a max pooling of x chose."""
    kernel, stride, padding, ceil_mode = settings
    n = len(kernel)
    return _MAX_BACK[n](g, x, kernel, stride, padding, (1,) * n, ceil_mode, places)


@operator(lambda g, places, saved: put_at_places(g, places, saved, True))
def at_places(x, places):
    """The entries of x [n, c, ...] at flat places per channel, in the shape of `places`: a max pooling's
    value."""
    return x.flatten(2).gather(2, places.flatten(2)).reshape(places.shape), list(x.shape[2:])


@operator(lambda g, places: at_places(g, places))
def put_at_places(x, places, size, add=False):
    """Zeros [n, c, *size] with x [n, c, ...] written, or added, at flat places per channel."""
    empty = x.new_zeros([*x.shape[:2], math.prod(size)])
    write = empty.scatter_add_ if add else empty.scatter_
    return write(2, places.flatten(2), x.flatten(2)).reshape([*x.shape[:2], *size])


@operator(lambda g, saved: avg_unpool(g, *saved))
def avg_pool(x, kernel, stride, padding, ceil_mode, exclusive, divisor=None):
    """The mean of each window of x [n, c, ...]; padding is not counted when `exclusive`. Or its sum over
    `divisor`."""
    settings = (kernel, stride, padding, ceil_mode, not exclusive, divisor)
    return _AVG[len(kernel)](x, *settings), (x.shape, settings)


@operator(lambda g, settings: avg_pool(g, *settings[:4], not settings[4], settings[5]))
def avg_unpool(x, shape, settings):
    """The transpose of `avg_pool`: each entry spread evenly over its window."""
    return _AVG_BACK[len(settings[0])](x, x.new_empty(1).expand(shape), *settings)


@operator(lambda g, size, saved: adaptive_unpool(g, saved, size))
def adaptive_pool(x, size):
    """The mean of `size` windows of x [n, c, ...] that cover it as evenly as they can."""
    return _ADAPTIVE[len(size)](x, size), x.shape


@operator(lambda g, size: adaptive_pool(g, size))
def adaptive_unpool(x, shape, size):
    """The transpose of `adaptive_pool`."""
    return _ADAPTIVE_BACK[len(size)](x, x.new_empty(1).expand(shape))
