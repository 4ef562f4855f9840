"""Convolution with Paddle's arguments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...engine.tensor import InvalidArgument, Tensor
from ...ops.convolution import convolve
from ...ops.shape import pad_constant

__all__ = ["conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]

FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def ints(value: Any, n: int, name: str) -> tuple[int, ...]:
    """`n` ints from one or n."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * n
    values = list(value) if isinstance(value, (Sequence, np.ndarray)) else []
    if len(values) != n or not all(isinstance(v, (int, np.integer)) for v in values):
        raise InvalidArgument(f"{name}: expected an int or {n}, got {value!r}")
    return tuple(int(v) for v in values)


def channels_first(x: Any, n: int, data_format: str) -> tuple[Any, bool]:
    """x [n, c, ...] over `n` axes from x in `data_format`, and whether its channels came last."""
    if data_format not in FORMATS[n]:
        expected = " or ".join(repr(f) for f in FORMATS[n])
        raise InvalidArgument(f"data_format: expected {expected}, got {data_format!r}")
    if len(x.shape) != n + 2:
        raise InvalidArgument(f"expected x with {n + 2} axes, got shape {list(x.shape)}")
    last = data_format[-1] == "C"
    return (x.moveaxis(-1, 1) if last else x), last


def channels_back(value: Any, last: bool) -> Any:
    """`value` [n, c, ...] with its channels at the end again if they came last."""
    return value.moveaxis(1, -1) if last else value


def paddings(
    padding: Any, size: Sequence[int], kernel: Sequence[int], stride: Sequence[int], last: bool
) -> list[tuple[int, int]]:
    """(before, after) for each axis from Paddle's spellings.

    An int; one for each axis; [before, after, ...] for all; pairs for batch, channels and axes in the order
    of the format (last: the channels come last); "VALID" (none); "SAME" (as much as makes the output
    ceil(size / stride) long, the odd one after).
    """
    n = len(kernel)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise InvalidArgument(f"padding: expected 'SAME' or 'VALID', got {padding!r}")
        if padding.upper() == "VALID":
            return [(0, 0)] * n
        totals = [max((-(-m // s) - 1) * s + k - m, 0) for m, k, s in zip(size, kernel, stride, strict=True)]
        return [(t // 2, t - t // 2) for t in totals]
    values = list(padding) if isinstance(padding, (list, tuple, np.ndarray)) else [padding] * n
    if len(values) == n + 2 and all(isinstance(v, (list, tuple)) and len(v) == 2 for v in values):
        inner, outer = (values[1:-1], values[:: n + 1]) if last else (values[2:], values[:2])
        if any(v for pair in outer for v in pair):
            raise InvalidArgument(f"padding: batch and channels cannot be padded, got {padding!r}")
        values = [v for pair in inner for v in pair]
    if len(values) not in (n, 2 * n) or not all(isinstance(v, (int, np.integer)) for v in values):
        known = f"an int, {n} or {2 * n}, {n + 2} pairs, 'SAME' or 'VALID'"
        raise InvalidArgument(f"padding: expected {known}, got {padding!r}")
    if len(values) == n:
        values = [v for v in values for _ in range(2)]
    if min(values) < 0:
        raise InvalidArgument(f"padding: expected 0 or more, got {padding!r}")
    return list(zip(values[::2], values[1::2], strict=True))


def by_hand(pads: Sequence[tuple[int, int]]) -> list[int]:
    """Paddings as `pad_constant` takes them: from the last axis backwards."""
    return [v for pair in reversed(pads) for v in pair]


def _convolution(
    n: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_format: str,
    rest: Any = None,
    output_size: Any = None,
) -> Any:
    """Every convolution; a transposed one has `rest`, its output_padding."""
    transposed = rest is not None
    x, last = channels_first(x, n, data_format)
    if len(weight.shape) != n + 2:
        raise InvalidArgument(f"expected weight with {n + 2} axes, got shape {list(weight.shape)}")
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if groups < 1 or x.shape[1] != channels or weight.shape[0] % groups:
        why = f"should have {channels} channels for weight {[*weight.shape]}, groups={groups}"
        raise InvalidArgument(f"x {[*x.shape]} {why}")
    step, spread = ints(stride, n, "stride"), ints(dilation, n, "dilation")
    kernel, size = weight.shape[2:], x.shape[2:]
    if isinstance(padding, str) and padding.upper() == "SAME":
        spread = (1,) * n  # as Paddle does
    pads = paddings(padding, size, kernel, step, last)
    uneven = any(a != b for a, b in pads)
    around = (0,) * n if uneven else tuple(a for a, _ in pads)
    extra = ints(rest or 0, n, "output_padding")
    if transposed and output_size is not None:
        if any(extra):
            raise InvalidArgument("expected output_padding or output_size, got both")
        smallest = [
            (m - 1) * s - a - b + d * (k - 1) + 1
            for m, s, (a, b), d, k in zip(size, step, pads, spread, kernel, strict=True)
        ]
        wanted = output_size.tolist() if hasattr(output_size, "tolist") else output_size
        wanted = [int(m) for m in wanted] if isinstance(wanted, (list, tuple)) else wanted
        extra = tuple(w - m for w, m in zip(ints(wanted, n, "output_size"), smallest, strict=True))
        if any(not 0 <= e < s for e, s in zip(extra, step, strict=True)):
            fits = f"in {smallest} to less than {step} more"
            raise InvalidArgument(f"expected output_size {fits}; got {wanted}")
    if uneven and not transposed:
        x = pad_constant(x, by_hand(pads), 0.0)
    value = convolve(x, weight, bias, (step, around, spread, transposed, extra, groups))
    if uneven and transposed:
        value = pad_constant(value, [-v for v in by_hand(pads)], 0.0)
    return channels_back(value, last)


def conv1d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCL", name=None
) -> Tensor:
    """The convolution of sequences x [batch, channels, length] (or "NLC") with filters; see conv2d."""
    return _convolution(1, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv2d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCHW", name=None
) -> Tensor:
    """The convolution (cross-correlation) of images with filters.

    x: [batch, channels, height, width], or [batch, height, width, channels] with data_format="NHWC".
    weight: [out, channels / groups, kh, kw]; bias: [out] or None.
    padding: an int, [h, w], [top, bottom, left, right], pairs for all four axes, "SAME" (dilation is then 1),
    "VALID". Returns [batch, out, height', width'], height' = (height + pads - dilation (kh - 1) - 1) //
    stride + 1. Raises ValueError when the shapes do not fit.
    """
    return _convolution(2, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv3d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NCDHW", name=None
) -> Tensor:
    """The convolution of volumes x [batch, channels, depth, height, width] (or "NDHWC") with filters; see
    conv2d."""
    return _convolution(3, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv1d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCL",
    name=None,
) -> Tensor:
    """The transpose of conv1d; see conv2d_transpose."""
    return _convolution(
        1, x, weight, bias, stride, padding, dilation, groups, data_format, output_padding, output_size
    )


def conv2d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    dilation=1,
    groups=1,
    output_size=None,
    data_format="NCHW",
    name=None,
) -> Tensor:
    """The transpose of conv2d: the map by which its gradient goes from output to input (Zeiler et al., 2010).

    weight: [channels, out / groups, kh, kw].
    Returns [batch, out, height', width'], height' = (height - 1) stride - pads + dilation (kh - 1) + 1 +
    output_padding; or, as stride lengths fit one output, of the given output_size. Raises ValueError when
    that is not possible.
    """
    return _convolution(
        2, x, weight, bias, stride, padding, dilation, groups, data_format, output_padding, output_size
    )


def conv3d_transpose(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
    output_size=None,
    data_format="NCDHW",
    name=None,
) -> Tensor:
    """The transpose of conv3d; see conv2d_transpose."""
    return _convolution(
        3, x, weight, bias, stride, padding, dilation, groups, data_format, output_padding, output_size
    )
