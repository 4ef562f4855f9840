"""Pooling with Paddle's arguments. Sequences are pooled as images of height 1."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...ops.pooling import ADAPTIVE_MAX, MAX, adaptive_pool, at_places, avg_pool, max_pool, put_at_places
from ...ops.shape import pad_constant
from .convolution import FORMATS, by_hand, channels_back, channels_first, ints, paddings

# fmt: off
__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "fractional_max_pool2d", "fractional_max_pool3d", "lp_pool1d", "lp_pool2d", "max_pool1d", "max_pool2d",
    "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]
# fmt: on

Pads = list[tuple[int, int]]


class _Windows:
    """The windows of a pooling: x as [n, c, ...], padded by hand where torch cannot, and its settings as
    tuples."""

    def __init__(
        self,
        n: int,
        x: Any,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        data_format: str,
        fill: float,
        places: bool = False,
    ) -> None:
        self.n, self.ceil_mode = n, ceil_mode
        if isinstance(padding, str) and padding.upper() == "VALID" and ceil_mode:
            raise InvalidArgument("expected ceil_mode False with padding 'VALID', got True")
        x, self.last = channels_first(x, n, data_format)
        self.size = x.shape[2:]
        kernel = ints(kernel_size, n, "kernel_size")
        step = kernel if stride is None else ints(stride, n, "stride")
        if min(*kernel, *step) < 1:
            raise InvalidArgument(f"expected kernel_size and stride of 1 or more, got {kernel} and {step}")
        if places and isinstance(padding, str):
            padding = 0  # as Paddle does
        pads = paddings(padding, self.size, kernel, step, self.last)
        if n == 1:
            x, kernel, step, pads = x.unsqueeze(2), (1, *kernel), (1, *step), [(0, 0), *pads]
        # Rounded towards 0, as in Paddle: a window that is larger than x by less than a step has a place.
        whole = [
            (int((m + a + b - k + ceil_mode * (s - 1)) / s) + 1, m, k, s, a, b)
            for m, k, s, (a, b) in zip(x.shape[2:], kernel, step, pads, strict=True)
        ]
        self.counts = [count for count, *_ in whole]
        self.by_hand: Pads | None = None
        if any(a != b or a > k // 2 or (o - 1) * s >= m + a or m + a + b < k for o, m, k, s, a, b in whole):
            self.by_hand = [(a, max((o - 1) * s + k - m - a, 0)) for o, m, k, s, a, _ in whole]
            if fill < 0 and x.dtype.is_floating_point:
                fill = max(torch.finfo(torch.float32).min, torch.finfo(x.data.dtype).min)
            x, pads, self.ceil_mode = (
                pad_constant(x, by_hand(self.by_hand), fill),
                [(0, 0)] * len(pads),
                False,
            )
        self.x, self.kernel, self.step = x, kernel, step
        self.pads = tuple(a for a, _ in pads)

    def divisors(self, exclusive: bool) -> torch.Tensor:
        """What the sum of each window is divided by when x is padded by hand: the entries of x in it
        (exclusive), or those of x and of as much padding behind it as there is before it."""
        found = torch.ones((), dtype=self.x.data.dtype, device=self.x.data.device)
        axes = zip(self.counts, self.kernel, self.step, self.x.shape[2:], self.by_hand or [], strict=True)
        for o, k, s, m, (a, b) in axes:
            begin = torch.arange(o, device=found.device) * s - a
            end = (begin + k).clamp(max=m - a - b + a * (not exclusive))
            found = found.unsqueeze(-1) * (end - (begin.clamp(min=0) if exclusive else begin))
        return found

    def given_back(self, value: Any) -> Any:
        """`value` in the format that x came in."""
        value = value.squeeze(2) if self.n == 1 else value
        return channels_back(value, self.last)


@operator()
def largest_places(x, kernel, step, pads, ceil_mode, added):
    """The flat place in an image of the largest entry of each window. added: how much of x [n, c, ...] is
    padding, before and after along each axis, or None; the place is -1 where padding is the largest."""
    found = MAX[x.ndim - 2](x, kernel, step, pads, 1, ceil_mode)[1]
    if added is None:
        return found
    flat, stride = torch.zeros_like(found), 1  # counted in the padded image: count again in x
    outside = torch.zeros_like(found, dtype=torch.bool)
    for m, (before, after) in zip(reversed(x.shape[2:]), reversed(added), strict=True):
        place, size = found % m - before, m - before - after
        outside |= (place < 0) | (place >= size)
        flat += place * stride
        found, stride = found // m, stride * size
    return flat.masked_fill(outside, -1)


def _largest(
    n: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    return_mask: bool,
    ceil_mode: bool,
    data_format: str,
) -> Any:
    if return_mask and data_format[-1] == "C":
        raise InvalidArgument(f"return_mask needs data_format with channels first, got {data_format!r}")
    w = _Windows(n, x, kernel_size, stride, padding, ceil_mode, data_format, -math.inf, return_mask)
    if not return_mask:
        return w.given_back(max_pool(w.x, w.kernel, w.step, w.pads, w.ceil_mode))
    places = largest_places(w.x, w.kernel, w.step, w.pads, w.ceil_mode, w.by_hand)
    value = at_places(w.x, places) if w.by_hand is None else max_pool(w.x, w.kernel, w.step, w.pads, False)
    return w.given_back(value), w.given_back(places.astype("int32"))


def max_pool1d(x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None) -> Any:
    """The largest entry of each window of x [batch, channels, length]; see max_pool2d."""
    return _largest(1, x, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


def max_pool2d(
    x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCHW", name=None
) -> Any:
    """The largest entry of each window: x [batch, channels, height, width] (or "NHWC").

    stride: the kernel's size when None. padding: as in conv2d; padded places never win.
    return_mask: also the flat index of each winner within its channel (int32; "NCHW" only).
    """
    return _largest(2, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def max_pool3d(
    x, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NCDHW", name=None
) -> Any:
    """The largest entry of each window of x [batch, channels, depth, height, width] (or "NDHWC"); see
    max_pool2d."""
    return _largest(3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def _mean(
    n: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    exclusive: bool,
    divisor: Any,
    data_format: str,
) -> Any:
    w = _Windows(n, x, kernel_size, stride, padding, ceil_mode, data_format, 0.0)
    if w.by_hand is None:
        value = avg_pool(w.x, w.kernel, w.step, w.pads, ceil_mode, exclusive)
    else:
        value = avg_pool(w.x, w.kernel, w.step, w.pads, False, False, 1) / Tensor(w.divisors(exclusive))
    if divisor is not None:
        value = value * (math.prod(w.kernel) / divisor)
    return w.given_back(value)


def avg_pool1d(x, kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None) -> Tensor:
    """The mean of each window of x [batch, channels, length]; see avg_pool2d."""
    return _mean(1, x, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


def avg_pool2d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCHW",
    name=None,
) -> Tensor:
    """The mean of each window: x [batch, channels, height, width] (or "NHWC").

    exclusive: divide by the number of entries that are not padding. divisor_override: the mean is taken times
    the window's size and divided by this instead (as Paddle has it, also where windows hold padding).
    """
    return _mean(2, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format)


def avg_pool3d(
    x,
    kernel_size,
    stride=None,
    padding=0,
    ceil_mode=False,
    exclusive=True,
    divisor_override=None,
    data_format="NCDHW",
    name=None,
) -> Tensor:
    """The mean of each window of x [batch, channels, depth, height, width] (or "NDHWC"); see avg_pool2d."""
    return _mean(3, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format)


def _lp(
    n: int,
    x: Any,
    norm_type: float,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    data_format: str,
) -> Any:
    if norm_type == 0:
        raise InvalidArgument("expected norm_type other than 0")
    if isinstance(padding, bool):
        padding, ceil_mode = 0, padding  # as torch has them
    p = float(norm_type)
    if p == math.inf:
        return _largest(n, x, kernel_size, stride, padding, False, ceil_mode, data_format)
    w = _Windows(n, x, kernel_size, stride, padding, ceil_mode, data_format, 0.0)
    sums = avg_pool(w.x**p, w.kernel, w.step, w.pads, w.ceil_mode, False, 1)
    return w.given_back(sums ** (1.0 / p))


def lp_pool1d(
    x, norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCL", name=None
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of x [batch, channels, length] (or "NLC"), p = norm_type."""
    return _lp(1, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def lp_pool2d(
    x, norm_type, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NCHW", name=None
) -> Tensor:
    """(sum of x^p)^(1/p) over each window of x [batch, channels, height, width] (or "NHWC"), p =
    norm_type."""
    return _lp(2, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def _sizes(output_size: Any, size: Sequence[int]) -> tuple[int, ...]:
    """The lengths of an output: an int for all, or one for each axis, of which None keeps that axis."""
    if hasattr(output_size, "tolist"):
        output_size = output_size.tolist()
    if isinstance(output_size, (list, tuple)) and len(output_size) == len(size):
        output_size = [m if want is None else int(want) for want, m in zip(output_size, size, strict=True)]
    return ints(output_size, len(size), "output_size")


@operator()
def adaptive_places(x, size):
    """The flat place of the largest entry in each of the windows that cover x [n, c, ...] evenly."""
    return ADAPTIVE_MAX[len(size)](x, size)[1]


def _adaptive(
    n: int, x: Any, output_size: Any, data_format: str, largest: bool = False, return_mask: bool = False
) -> Any:
    x, last = channels_first(x, n, data_format)
    size = _sizes(output_size, x.shape[2:])
    if n == 1:
        x, size = x.unsqueeze(2), (1, *size)
    if not largest:
        value = adaptive_pool(x, size)
        return channels_back(value.squeeze(2) if n == 1 else value, last)
    places = adaptive_places(x, size)
    found = [at_places(x, places)] + ([places.astype("int32")] if return_mask else [])
    found = [f.squeeze(2) for f in found] if n == 1 else found
    return tuple(found) if return_mask else found[0]


def adaptive_avg_pool1d(x, output_size, name=None) -> Tensor:
    """The mean of `output_size` windows that cover x [batch, channels, length] evenly."""
    return _adaptive(1, x, output_size, "NCL")


def adaptive_avg_pool2d(x, output_size, data_format="NCHW", name=None) -> Tensor:
    """The mean of [height', width'] windows that cover x evenly; None keeps a length."""
    return _adaptive(2, x, output_size, data_format)


def adaptive_avg_pool3d(x, output_size, data_format="NCDHW", name=None) -> Tensor:
    """The mean of [depth', height', width'] windows that cover x evenly; None keeps a length."""
    return _adaptive(3, x, output_size, data_format)


def adaptive_max_pool1d(x, output_size, return_mask=False, name=None) -> Any:
    """The largest entry of `output_size` windows that cover x evenly; with return_mask also its index
    (int32)."""
    return _adaptive(1, x, output_size, "NCL", True, return_mask)


def adaptive_max_pool2d(x, output_size, return_mask=False, name=None) -> Any:
    """As adaptive_avg_pool2d, the largest entries; with return_mask also their flat indices (int32)."""
    return _adaptive(2, x, output_size, "NCHW", True, return_mask)


def adaptive_max_pool3d(x, output_size, return_mask=False, name=None) -> Any:
    """As adaptive_avg_pool3d, the largest entries; with return_mask also their flat indices (int32)."""
    return _adaptive(3, x, output_size, "NCDHW", True, return_mask)


def _unpooled(
    n: int,
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    data_format: str,
    output_size: Any,
) -> Any:
    if data_format != FORMATS[n][0]:
        raise InvalidArgument(f"data_format: expected {FORMATS[n][0]!r}, got {data_format!r}")
    if x.ndim != n + 2 or indices.shape != x.shape:
        came = f"{[*x.shape]} and {[*indices.shape]}"
        raise InvalidArgument(f"expected {n + 2} axes and indices of x's shape, got {came}")
    kernel = ints(kernel_size, n, "kernel_size")
    step = kernel if stride is None else ints(stride, n, "stride")
    around = ints(padding, n, "padding")
    usual = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(x.shape[2:], step, kernel, around, strict=True)]
    size = usual
    if output_size is not None:
        size = [int(m) for m in output_size][-n:]
        if len(output_size) not in (n, n + 2) or any(
            abs(m - u) >= s for m, u, s in zip(size, usual, step, strict=True)
        ):
            raise InvalidArgument(
                f"output_size: expected about {usual}, within {list(step)}, got {output_size}"
            )
    return put_at_places(x, checked_places(indices, size), size)


@operator()
def checked_places(indices, size):
    """indices as int64, all of them places in an image of this size."""
    if indices.numel() and not 0 <= int(indices.min()) <= int(indices.max()) < math.prod(size):
        raise InvalidArgument(f"expected indices from 0 to {math.prod(size) - 1} for an output of {size}")
    return indices.long()


def max_unpool1d(
    x, indices, kernel_size, stride=None, padding=0, data_format="NCL", output_size=None, name=None
) -> Tensor:
    """x [batch, channels, length] put back where max_pool1d found it, zeros elsewhere; see max_unpool2d."""
    return _unpooled(1, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool2d(
    x, indices, kernel_size, stride=None, padding=0, data_format="NCHW", output_size=None, name=None
) -> Tensor:
    """x put back at the `indices` that max_pool2d gave, zeros elsewhere (Zeiler et al., 2011).

    output_size: the pooled image's, where several fit. Raises ValueError for indices outside and sizes that
    do not fit.
    """
    return _unpooled(2, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool3d(
    x, indices, kernel_size, stride=None, padding=0, data_format="NCDHW", output_size=None, name=None
) -> Tensor:
    """x [batch, channels, depth, height, width] put back where max_pool3d found it; see max_unpool2d."""
    return _unpooled(3, x, indices, kernel_size, stride, padding, data_format, output_size)


def _fractions(length: int, count: int, width: int, u: float) -> list[range]:
    """The `count` windows over an axis, of fixed `width` or, with width 0, touching: where steps of alpha,
    the first shifted by u, cross whole numbers (Graham, 2014)."""
    alpha = (length - width) / (count - 1) if count > 1 else 0.0
    if not width:
        alpha, base = length / count, length // count
        u *= min((base + 2) / alpha - 1, (length + 1 - base) / alpha - (count - 1))
    u, alpha = np.float32(u), np.float32(alpha)  # type: ignore[assignment]  # windows hang on its rounding
    edges = [int((i + u) * alpha) - int(u * alpha) for i in range(count + 1)]
    return [range(a, min(a + width if width else b, length)) for a, b in pairwise(edges)]


def _fractional(n: int, x: Any, output_size: Any, kernel_size: Any, random_u: Any, return_mask: bool) -> Any:
    x, _ = channels_first(x, n, FORMATS[n][0])
    if random_u is not None and not 0 < random_u < 1:
        raise InvalidArgument(f"expected random_u between 0 and 1, got {random_u}")
    u = float(torch.rand(())) if random_u is None else float(random_u)
    lengths = x.shape[2:]
    widths = (0,) * n if kernel_size is None else ints(kernel_size, n, "kernel_size")
    picked = torch.zeros((1,) * 2 * n, dtype=torch.int64)  # [h', kh, w', kw]: flat places in the image
    for axis, (m, count, width) in enumerate(zip(lengths, _sizes(output_size, lengths), widths, strict=True)):
        windows = _fractions(m, count, width, u)
        longest = max(len(w) for w in windows)
        rows = torch.tensor([[w[min(j, len(w) - 1)] for j in range(longest)] for w in windows])
        shape = [1] * (2 * n)
        shape[2 * axis : 2 * axis + 2] = rows.shape
        picked = picked * m + rows.reshape(shape)
    picked = picked.permute(*range(0, 2 * n, 2), *range(1, 2 * n, 2)).flatten(n).to(x.data.device)
    places = best_places(x, Tensor(picked))
    value = at_places(x, places)
    return (value, places.astype("int32")) if return_mask else value


@operator()
def best_places(x, picked):
    """The flat place of the largest entry of x [n, c, ...] in each window, picked [h', w', k]."""
    best = x.flatten(2)[:, :, picked].argmax(-1)  # [n, c, h', w'] of [n, c, h', w', k]
    return picked.expand(*best.shape[:2], *picked.shape).gather(-1, best.unsqueeze(-1)).squeeze(-1)


def fractional_max_pool2d(
    x, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
) -> Any:
    """The largest entries of windows of random lengths that give x the length output_size (Graham, 2014).

    kernel_size: the windows' length, so that they overlap; touching windows when None. random_u: the random
    number in (0, 1) that decides where they lie; drawn when None. return_mask: also the winners' flat indices
    (int32).
    """
    return _fractional(2, x, output_size, kernel_size, random_u, return_mask)


def fractional_max_pool3d(
    x, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
) -> Any:
    """As fractional_max_pool2d, for x [batch, channels, depth, height, width]."""
    return _fractional(3, x, output_size, kernel_size, random_u, return_mask)
