"""Images in other sizes, places and orders, with Paddle's arguments."""

import math
from typing import Any

import torch

from ...engine.tensor import InvalidArgument, InvalidType, Tensor, is_tensor
from ...ops.resampling import pixels_gathered, pixels_shuffled, resized, sampled, windows, windows_summed
from ...ops.shape import pad_constant, unshared
from .convolution import FORMATS, by_hand, channels_back, channels_first, ints
from .pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

# fmt: off
__all__ = [
    "affine_grid", "channel_shuffle", "fold", "grid_sample", "interpolate", "pixel_shuffle",
    "pixel_unshuffle", "unfold", "upsample",
]
# fmt: on

_AXES = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,), "nearest": (2, 3)}
_AXES["area"] = (1, 2, 3)


def plain(value: Any) -> Any:
    """Numbers in place of Tensors, also inside a list."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def interpolate(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format=None,
    recompute_scale_factor=None,
    antialias=False,
    name=None,
) -> Tensor:
    """x [batch, channels, ...] (or channels last) in another size.

    size: the new lengths; or scale_factor: what the old ones are multiplied by, a number or one for each
    axis.
    mode: "nearest" (images, volumes), "linear" (sequences), "bilinear", "bicubic" (images), "trilinear"
    (volumes), "area" (means). align_corners: the outer pixels' centres stay; else align_mode 0 takes pixels
    as squares, and 1 puts new pixel i at i / scale. antialias: "bilinear" and "bicubic" average where they
    shrink. Raises ValueError for modes that do not fit the shape, and for neither or both of size and
    scale_factor.
    """
    n, mode = x.ndim - 2, mode.lower()
    # the other order: (..., align_corners, recompute_scale_factor, antialias)
    if type(align_mode) is not int:
        recompute_scale_factor, antialias, align_mode, data_format = align_mode, bool(data_format), 0, None
    if mode not in _AXES or n not in _AXES[mode]:
        raise InvalidArgument(f"interpolate: mode {mode!r} does not fit x of shape {list(x.shape)}")
    if (size is None) == (scale_factor is None):
        raise InvalidArgument(f"interpolate: expected size or scale_factor, got {size} and {scale_factor}")
    if (
        align_mode not in (0, 1)
        or (align_corners and mode == "nearest")
        or (antialias and mode not in ("bilinear", "bicubic"))
    ):
        settings = f"{align_corners=}, {align_mode=}, {antialias=}"
        raise InvalidArgument(f"interpolate: {mode} does not go with {settings}")
    if not isinstance(align_corners, bool):
        raise InvalidType(f"align_corners: expected True or False, got {align_corners!r}")
    data_format = (data_format or FORMATS[n][0]).upper().replace("NCW", "NCL").replace("NWC", "NLC")
    x, last = channels_first(x, n, data_format)
    if size is None:
        factors = plain(scale_factor)
        factors = [float(f) for f in (factors if isinstance(factors, list) else [factors] * n)]
        if len(factors) != n or min(factors) <= 0:
            raise InvalidArgument(f"scale_factor: expected a positive number or {n}, got {scale_factor}")
        lengths = [int(m * f) for m, f in zip(x.shape[2:], factors, strict=True)]
    else:
        given = plain(size)  # whole floats are sizes too
        given = (
            [int(v) if type(v) is float and v.is_integer() else v for v in given]
            if isinstance(given, list)
            else given
        )
        factors, lengths = [None] * n, list(ints(given, n, "size"))
    if recompute_scale_factor:
        factors = [None] * n
    if min(lengths) < 1:
        raise InvalidArgument(f"interpolate: expected lengths of 1 or more, got {lengths}")
    if mode == "area":
        value = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[n - 1](x, lengths)
    elif mode == "nearest":
        exact = x if x.data.is_floating_point() or x.dtype is torch.uint8 else x.astype("float64")
        value = resized(exact, lengths, f"nearest{n}", tuple(factors))
        value = value if exact is x else value.astype(x.dtype)
    elif align_mode == 1 and not align_corners and mode != "bicubic":
        value = x
        for axis, (length, factor) in enumerate(zip(lengths, factors, strict=True), 2):
            value = (value.moveaxis(axis, -1) @ _mixing(value, axis, length, factor)).moveaxis(-1, axis)
    else:
        value = resized(x, lengths, mode + " smooth" * antialias, (align_corners, *factors))
    return channels_back(value, last)


def _mixing(x: Any, axis: int, length: int, factor: float | None) -> Tensor:
    """[old, new]: the shares by which new pixel i, at i / factor, mixes its two old neighbours."""
    old = x.shape[axis]
    at = torch.arange(length, dtype=x.data.dtype) * (1 / factor if factor else old / length)
    low = at.long().clamp(max=old - 1)
    high, share = (low + 1).clamp(max=old - 1), (at - low).clamp(0, 1)
    columns = torch.arange(length)
    matrix = torch.zeros(old, length, dtype=x.data.dtype)
    matrix[low, columns] = 1 - share
    matrix[high, columns] += share
    return Tensor(matrix.to(x.data.device))


def upsample(
    x,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=False,
    align_mode=0,
    data_format=None,
    name=None,
) -> Tensor:
    """The same as interpolate."""
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def affine_grid(theta, out_shape, align_corners=True, name=None) -> Tensor:
    """Where theta takes the pixels of an image or volume of `out_shape` [n, c, (d,) h, w]: [n, (d,) h, w,
    axes].

    theta: [n, axes, axes + 1], affine maps of coordinates from -1 to 1, x first (Jaderberg et al., 2015).
    align_corners: -1 and 1 are the centres of the outer pixels, else their outer edges.
    """
    if not is_tensor(theta):
        raise InvalidType(f"theta: expected a Tensor, got {type(theta).__name__}")
    shape = [int(m) for m in plain(out_shape)]
    axes = len(shape) - 2
    if theta.ndim != 3 or axes not in (2, 3) or theta.shape[1:] != [axes, axes + 1]:
        raise InvalidArgument(f"affine_grid: theta {[*theta.shape]} does not fit out_shape {shape}")
    ends = [1.0 if align_corners else 1 - 1 / m for m in shape[2:]]
    lines = [
        torch.linspace(-e, e, m, dtype=theta.data.dtype)
        if m > 1 or not align_corners
        else torch.zeros(1, dtype=theta.data.dtype)
        for e, m in zip(ends, shape[2:], strict=True)
    ]
    places = torch.meshgrid(*lines, indexing="ij")
    base = torch.stack([*reversed(places), torch.ones_like(places[0])], -1).reshape(-1, axes + 1)
    return (Tensor(base.to(theta.data.device)) @ theta.swapaxes(1, 2)).reshape([shape[0], *shape[2:], axes])


_SAMPLING = {"bilinear": 0, "nearest": 1}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=True, name=None) -> Tensor:
    """x [n, c, (d,) h, w] at the places grid [n, (d',) h', w', axes], coordinates from -1 to 1, x first.

    mode: "bilinear" or "nearest". padding_mode: what lies outside: "zeros", "border" or "reflection".
    First derivatives only. Raises ValueError for other modes and shapes that do not fit.
    """
    if mode not in _SAMPLING or padding_mode not in _OUTSIDE:
        raise InvalidArgument(f"grid_sample: unknown mode {mode!r} or padding_mode {padding_mode!r}")
    if x.ndim not in (4, 5) or grid.ndim != x.ndim or grid.shape[-1] != x.ndim - 2:
        raise InvalidArgument(f"grid_sample: grid {list(grid.shape)} does not fit x {list(x.shape)}")
    return sampled(x, grid, _SAMPLING[mode], _OUTSIDE[padding_mode], bool(align_corners))


def _rearranged(x: Any, factor: Any, name: str, data_format: str, function: Any) -> Any:
    """function(x [n, c, h, w], factor), channels last where they came last; the factor is a positive int."""
    if not isinstance(factor, int):
        raise InvalidType(f"{name}: expected an int, got {type(factor).__name__}")
    if factor < 1:
        raise InvalidArgument(f"{name}: expected a positive int, got {factor}")
    x, last = channels_first(x, 2, data_format)
    value = function(x, factor)
    return channels_back(value, last)


def pixel_shuffle(x, upscale_factor, data_format="NCHW", name=None) -> Tensor:
    """[n, c r^2, h, w] to [n, c, h r, w r]: channels become places (Shi et al., 2016)."""
    settings = (upscale_factor, "upscale_factor", data_format)
    return _rearranged(x, *settings, pixels_shuffled)


def pixel_unshuffle(x, downscale_factor, data_format="NCHW", name=None) -> Tensor:
    """[n, c, h r, w r] to [n, c r^2, h, w]: pixel_shuffle undone."""
    settings = (downscale_factor, "downscale_factor", data_format)
    return _rearranged(x, *settings, pixels_gathered)


def channel_shuffle(x, groups, data_format="NCHW", name=None) -> Tensor:
    """The channels of `groups` groups dealt out in turn (Zhang et al., 2018)."""
    return _rearranged(x, groups, "groups", data_format, _dealt)


def _dealt(x: Any, groups: int) -> Any:
    n, c, h, w = x.shape
    if c % groups:
        raise InvalidArgument(f"channel_shuffle: groups {groups} does not divide {c} channels")
    dealt = x.reshape([n, groups, c // groups, h, w]).swapaxes(1, 2).reshape([n, c, h, w])
    return unshared(dealt, x)  # of one group, or of groups of one channel


def _window_settings(kernel_sizes: Any, strides: Any, paddings: Any, dilations: Any) -> Any:
    """Kernel, stride and dilation as pairs, and (before, after) for height and width."""
    sizes = [
        list(ints(v, 2, name))
        for name, v in (("kernel_sizes", kernel_sizes), ("strides", strides), ("dilations", dilations))
    ]
    if not isinstance(paddings, int) and len(paddings) == 4:
        top, left, bottom, right = paddings
    else:
        (top, left), (bottom, right) = ints(paddings, 2, "paddings"), ints(paddings, 2, "paddings")
    return *sizes, [(top, bottom), (left, right)]


def unfold(x, kernel_sizes, strides=1, paddings=0, dilations=1, name=None) -> Tensor:
    """The windows of x [n, c, h, w] as columns: [n, c kh kw, number of windows].

    paddings: an int, [h, w] or [top, left, bottom, right].
    """
    if x.ndim != 4:
        raise InvalidArgument(f"unfold: expected x with 4 axes, got shape {list(x.shape)}")
    kernel, stride, dilation, pads = _window_settings(kernel_sizes, strides, paddings, dilations)
    (top, bottom), (left, right) = pads
    if top != bottom or left != right:
        x, top, left = pad_constant(x, by_hand(pads), 0.0), 0, 0
    return windows(x, kernel, stride, [top, left], dilation)


def fold(x, output_sizes, kernel_sizes, strides=1, paddings=0, dilations=1, name=None) -> Tensor:
    """An image [n, c, *output_sizes] from columns x [n, c kh kw, number of windows], added up where they
    overlap."""
    if x.ndim != 3:
        raise InvalidArgument(f"fold: expected x with 3 axes, got shape {list(x.shape)}")
    kernel, stride, dilation, pads = _window_settings(kernel_sizes, strides, paddings, dilations)
    if x.shape[1] % math.prod(kernel):
        raise InvalidArgument(
            f"fold: {x.shape[1]} rows of x are no multiple of a window's {math.prod(kernel)}"
        )
    size = [m + a + b for m, (a, b) in zip(ints(plain(output_sizes), 2, "output_sizes"), pads, strict=True)]
    grown = windows_summed(x, size, kernel, stride, [0, 0], dilation)
    return pad_constant(grown, [-v for v in by_hand(pads)], 0.0) if any(map(any, pads)) else grown
