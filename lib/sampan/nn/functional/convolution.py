"""Convolution with Paddle's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.convolution import convolve
from ...ops.shape import pad_constant

# fmt: off
__all__ = [
    "conv2d",
]
# fmt: on


def pair(value: Any, name: str) -> tuple[int, int]:
    """Two ints from one or two."""
    if isinstance(value, int):
        return value, value
    if isinstance(value, Sequence) and len(value) == 2 and all(isinstance(v, int) for v in value):
        return int(value[0]), int(value[1])
    raise ValueError(f"{name}: expected an int or two, got {value!r}")


def paddings(padding: Any, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], data_format: str) -> list[tuple[int, int]]:  # fmt: skip
    """(before, after) for height and width from Paddle's spellings.

    An int; [h, w]; [top, bottom, left, right]; pairs for all four axes in the order of data_format; "VALID" (none);
    "SAME" (as much as makes the output ceil(size / stride) long, the odd one after).
    """
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return [(0, 0), (0, 0)]
        if padding.upper() != "SAME":
            raise ValueError(f"padding: expected 'SAME' or 'VALID', got {padding!r}")
        result = []
        for n, k, s in zip(size, kernel, stride, strict=True):
            total = max((-(-n // s) - 1) * s + k - n, 0)
            result.append((total // 2, total - total // 2))
        return result
    if isinstance(padding, int):
        return [(padding, padding)] * 2
    values = list(padding) if isinstance(padding, (list, tuple)) else []
    if len(values) == 2 and all(isinstance(v, int) for v in values):
        return [(values[0], values[0]), (values[1], values[1])]
    if len(values) == 4 and all(isinstance(v, int) for v in values):
        return [(values[0], values[1]), (values[2], values[3])]
    if len(values) == 4 and all(isinstance(v, (list, tuple)) and len(v) == 2 for v in values):
        first = 2 if data_format == "NCHW" else 1
        if any(n for i, v in enumerate(values) for n in v if i not in (first, first + 1)):
            raise ValueError(
                f"padding: only height and width can be padded, got {padding!r} for {data_format}"
            )
        return [(values[i][0], values[i][1]) for i in (first, first + 1)]
    raise ValueError(f"padding: expected an int, 2 or 4 ints, 4 pairs, 'SAME' or 'VALID', got {padding!r}")


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", name=None):  # type: ignore[no-untyped-def]
    """The convolution (cross-correlation) of images with filters.

    x: [batch, channels, height, width], or [batch, height, width, channels] with data_format="NHWC".
    weight: [out, channels / groups, kh, kw]; bias: [out] or None.
    padding: an int, [h, w], [top, bottom, left, right], pairs for all four axes, "SAME" (dilation is then 1), "VALID".
    Returns [batch, out, height', width'], height' = (height + pads - dilation (kh - 1) - 1) // stride + 1.
    Raises ValueError when the shapes do not fit.
    """
    if data_format not in ("NCHW", "NHWC"):
        raise ValueError(f"data_format: expected 'NCHW' or 'NHWC', got {data_format!r}")
    if len(x.shape) != 4 or len(weight.shape) != 4:
        raise ValueError(
            f"conv2d: expected x and weight with 4 axes, got {list(x.shape)} and {list(weight.shape)}"
        )
    if data_format == "NHWC":
        x = x.permute([0, 3, 1, 2])
    if x.shape[1] != weight.shape[1] * groups:
        raise ValueError(
            f"conv2d: x {list(x.shape)} has {x.shape[1]} channels, weight {list(weight.shape)} with groups={groups} "
            f"expects {weight.shape[1] * groups}"
        )
    stride, dilation = pair(stride, "stride"), pair(dilation, "dilation")
    if isinstance(padding, str) and padding.upper() == "SAME":
        dilation = (1, 1)  # as Paddle does
    (top, bottom), (left, right) = paddings(padding, x.shape[2:], weight.shape[2:], stride, data_format)
    if top != bottom or left != right:
        x, top, left = pad_constant(x, [left, right, top, bottom], 0.0), 0, 0
    value = convolve(x, weight, bias, (stride, (top, left), dilation, groups))
    return value.permute([0, 2, 3, 1]) if data_format == "NHWC" else value
