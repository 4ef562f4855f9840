"""Pooling of images: the largest or the mean of each window."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..operator import operator, wrap
from .convolution import paddings, pair
from .elementwise import aten
from .shape import pad_constant

max_pool2d_backward = aten.max_pool2d_with_indices_backward.default._op
avg_pool2d_backward = aten.avg_pool2d_backward.default._op
adaptive_backward = aten._adaptive_avg_pool2d_backward.default._op


@operator(reference=lambda x, k, s, p, c: torch.nn.functional.max_pool2d(x, k, s, p, 1, c), samples=[((2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False), ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True)])  # fmt: skip
def max_pool(x, kernel, stride, padding, ceil_mode):  # type: ignore[no-untyped-def]
    """The largest entry of each window of x [n, c, h, w]; the gradient goes to its place."""
    value, places = aten.max_pool2d_with_indices(x, kernel, stride, padding, (1, 1), ceil_mode)
    return value, (
        lambda g, i=places, shape=x.shape, s=(kernel, stride, padding, ceil_mode): max_unpool(g, i, shape, s),
    )


@operator()
def max_unpool(x, places, shape, settings):  # type: ignore[no-untyped-def]
    """Zeros of `shape` with x added at the places (flat, per channel) that a max pooling chose."""
    kernel, stride, padding, ceil_mode = settings
    like = x.new_empty(1).expand(shape)
    value = max_pool2d_backward(x, like.contiguous(), kernel, stride, padding, (1, 1), ceil_mode, places)
    return value, (
        lambda g, i=places, s=x.shape: g.flatten(2).take_along_axis(wrap(i.flatten(2)), 2).reshape(s),
    )


@operator(reference=lambda x, k, s, p, c, e: torch.nn.functional.avg_pool2d(x, k, s, p, c, not e), samples=[((2, 3, 6, 5), (2, 2), (2, 2), (0, 0), False, True), ((1, 2, 5, 5), (3, 2), (2, 1), (1, 0), True, False)])  # fmt: skip
def avg_pool(x, kernel, stride, padding, ceil_mode, exclusive):  # type: ignore[no-untyped-def]
    """The mean of each window of x [n, c, h, w]; padding is not counted when `exclusive`."""
    settings = (kernel, stride, padding, ceil_mode, not exclusive, None)
    return aten.avg_pool2d(x, *settings), (lambda g, shape=x.shape, s=settings: avg_unpool(g, shape, s),)


@operator()
def avg_unpool(x, shape, settings):  # type: ignore[no-untyped-def]
    """The transpose of `avg_pool`: each entry spread evenly over its window."""
    value = avg_pool2d_backward(x, x.new_empty(1).expand(shape), *settings)
    return value, (lambda g, s=settings: avg_pool(g, *s[:4], not s[4]),)


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


def _arranged(x: Any, kernel_size: Any, stride: Any, padding: Any, data_format: str, fill: float) -> Any:
    """x as [n, c, h, w], padded by hand where the two sides differ, and the settings as pairs."""
    if len(x.shape) != 4:
        raise ValueError(f"x: expected 4 axes, got shape {list(x.shape)}")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"data_format: expected 'NCHW' or 'NHWC', got {data_format!r}")
    if data_format == "NHWC":
        x = x.permute([0, 3, 1, 2])
    kernel = pair(kernel_size, "kernel_size")
    step = kernel if stride is None else pair(stride, "stride")
    (top, bottom), (left, right) = paddings(padding, x.shape[2:], kernel, step, (1, 1))
    if top != bottom or left != right or top > kernel[0] // 2 or left > kernel[1] // 2:
        x, top, left = pad_constant(x, [left, right, top, bottom], fill), 0, 0
    return x, kernel, step, (top, left)


def max_pool2d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """The largest entry of each window: x [batch, channels, height, width] (or "NHWC").

    stride: the kernel's size when None. padding: as in conv2d; padded places never win.
    return_mask: also the flat index of each winner within its channel.
    """
    x, kernel, step, pads = _arranged(x, kernel_size, stride, padding, data_format, -math.inf)
    value = max_pool(x, kernel, step, pads, ceil_mode)
    if data_format == "NHWC":
        value = value.permute([0, 2, 3, 1])
    if not return_mask:
        return value
    places = aten.max_pool2d_with_indices(x.data, kernel, step, pads, (1, 1), ceil_mode)[1]
    return value, wrap(places.to(torch.int32))


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, divisor_override=None, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """The mean of each window: x [batch, channels, height, width] (or "NHWC").

    exclusive: divide by the number of entries that are no padding. divisor_override: divide by this instead.
    """
    x, kernel, step, pads = _arranged(x, kernel_size, stride, padding, data_format, 0.0)
    value = avg_pool(x, kernel, step, pads, ceil_mode, exclusive and divisor_override is None)
    if divisor_override is not None:
        value = value * (kernel[0] * kernel[1] / divisor_override)
    return value.permute([0, 2, 3, 1]) if data_format == "NHWC" else value


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]
    """The mean of [height', width'] windows that cover x evenly; None keeps a length."""
    if data_format == "NHWC":
        x = x.permute([0, 3, 1, 2])
    given = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    size = tuple(n if want is None else int(want) for want, n in zip(given, x.shape[2:], strict=True))
    value = adaptive_pool(x, size)
    return value.permute([0, 2, 3, 1]) if data_format == "NHWC" else value
