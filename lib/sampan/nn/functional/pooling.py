"""Pooling with Paddle's arguments."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...operator import wrap
from ...ops.elementwise import aten
from ...ops.pooling import adaptive_pool, avg_pool, max_pool
from ...ops.shape import pad_constant
from .convolution import paddings, pair

# fmt: off
__all__ = [
    "adaptive_avg_pool2d", "avg_pool2d", "max_pool2d",
]
# fmt: on


def _arranged(
    of: str, x: Any, kernel_size: Any, stride: Any, padding: Any, data_format: str, fill: float
) -> Any:
    """x as [n, c, h, w], padded by hand where the two sides differ, the settings as pairs, and that padding or None."""
    if len(x.shape) != 4:
        raise ValueError(f"{of}: expected x with 4 axes, got shape {list(x.shape)}")
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"data_format: expected 'NCHW' or 'NHWC', got {data_format!r}")
    if data_format == "NHWC":
        x = x.permute([0, 3, 1, 2])
    kernel = pair(kernel_size, "kernel_size")
    step = kernel if stride is None else pair(stride, "stride")
    (top, bottom), (left, right) = paddings(padding, x.shape[2:], kernel, step, data_format)
    if min(top, bottom, left, right) < 0:
        raise ValueError(f"{of}: expected padding of 0 or more, got {padding!r}")
    by_hand = None
    if top != bottom or left != right or top > kernel[0] // 2 or left > kernel[1] // 2:
        by_hand = [left, right, top, bottom]
        x, top, left = pad_constant(x, by_hand, fill), 0, 0
    return x, kernel, step, (top, left), by_hand


def _begun(value: Any, x: Any, step: tuple[int, int], by_hand: list[int]) -> Any:
    """`value` without the windows, which ceil_mode adds, that begin in the padding behind x: as torch drops its own."""
    _, right, _, bottom = by_hand
    return value[:, :, : -(-(x.shape[2] - bottom) // step[0]), : -(-(x.shape[3] - right) // step[1])]


def max_pool2d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """The largest entry of each window: x [batch, channels, height, width] (or "NHWC").

    stride: the kernel's size when None. padding: as in conv2d; padded places never win.
    return_mask: also the flat index of each winner within its channel (int32; "NCHW" only).
    """
    if return_mask and data_format != "NCHW":
        raise ValueError(f"max_pool2d: return_mask needs data_format 'NCHW', got {data_format!r}")
    x, kernel, step, pads, by_hand = _arranged(
        "max_pool2d", x, kernel_size, stride, padding, data_format, -math.inf
    )
    value = max_pool(x, kernel, step, pads, ceil_mode)
    if by_hand is not None and ceil_mode:
        value = _begun(value, x, step, by_hand)
    if data_format == "NHWC":
        value = value.permute([0, 2, 3, 1])
    if not return_mask:
        return value
    places = aten.max_pool2d_with_indices(x.data, kernel, step, pads, (1, 1), ceil_mode)[1][
        :, :, : value.shape[2], : value.shape[3]
    ]
    if by_hand is not None:  # counted in the padded image: count again in x
        left, right, top, _ = by_hand
        width = x.shape[3]
        places = (places // width - top) * (width - left - right) + places % width - left
    return value, wrap(places.to(torch.int32))


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, divisor_override=None, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """The mean of each window: x [batch, channels, height, width] (or "NHWC").

    exclusive: divide by the number of entries that are no padding. divisor_override: divide the sum by this instead.
    """
    plain = x
    x, kernel, step, pads, by_hand = _arranged(
        "avg_pool2d", x, kernel_size, stride, padding, data_format, 0.0
    )
    value = avg_pool(x, kernel, step, pads, ceil_mode, exclusive, divisor_override)
    if by_hand is not None and ceil_mode:
        value = _begun(value, x, step, by_hand)
    if by_hand is not None and exclusive and divisor_override is None:
        height, width = plain.shape[1:3] if data_format == "NHWC" else plain.shape[2:]
        inside = torch.ones(1, 1, height, width, dtype=x.dtype, device=x.data.device)
        inside = torch.nn.functional.pad(inside, by_hand)
        counted = aten.avg_pool2d(inside, kernel, step, pads, ceil_mode, False)
        value = value / wrap(counted[:, :, : value.shape[2], : value.shape[3]])
    return value.permute([0, 2, 3, 1]) if data_format == "NHWC" else value


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]
    """The mean of [height', width'] windows that cover x evenly; None keeps a length."""
    if data_format == "NHWC":
        x = x.permute([0, 3, 1, 2])
    given = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    size = tuple(n if want is None else int(want) for want, n in zip(given, x.shape[2:], strict=True))
    value = adaptive_pool(x, size)
    return value.permute([0, 2, 3, 1]) if data_format == "NHWC" else value
