"""Images resampled: windows as columns, other sizes, sampling along a grid."""

from typing import Any

import torch

from ..engine.operator import operator
from .elementwise import Buffer, aten

_GRID = {4: aten.grid_sampler_2d.default._op, 5: aten.grid_sampler_3d.default._op}
_GRID_BACK = {4: aten.grid_sampler_2d_backward.default._op, 5: aten.grid_sampler_3d_backward.default._op}
_KERNELS = {
    "linear": "upsample_linear1d",
    "bilinear": "upsample_bilinear2d",
    "trilinear": "upsample_trilinear3d",
    "bicubic": "upsample_bicubic2d",
    "nearest2": "upsample_nearest2d",
    "nearest3": "upsample_nearest3d",
    "bilinear smooth": "_upsample_bilinear2d_aa",
    "bicubic smooth": "_upsample_bicubic2d_aa",
}
_RESIZE = {
    kind: (getattr(aten, name).default._op, getattr(aten, f"{name}_backward").default._op)
    for kind, name in _KERNELS.items()
}


@operator(
    lambda g, kernel, stride, padding, dilation, saved: windows_summed(
        g, saved, kernel, stride, padding, dilation
    )
)
def windows(x, kernel, stride, padding, dilation):
    """The windows of x [n, c, h, w] as columns: [n, c kh kw, number of windows]."""
    return aten.im2col(x, kernel, dilation, padding, stride), list(x.shape[2:])


@operator(lambda g, kernel, stride, padding, dilation: windows(g, kernel, stride, padding, dilation))
def windows_summed(x, size, kernel, stride, padding, dilation):
    """The transpose of `windows`: an image [n, c, *size] of columns, added up where they overlap."""
    return aten.col2im(x, size, kernel, dilation, padding, stride)


@operator(lambda g, size, kind, more, saved: resized_back(g, size, saved, kind, more), amp="float32_always")
def resized(x, size, kind, more):
    """x [n, c, ...] in another size. more: what torch's kernel takes besides (align_corners, a scale for each
    axis)."""
    return _RESIZE[kind][0](x, size, *more), list(x.shape)


@operator(lambda g, size, kind, more: resized(g, size, kind, more))
def resized_back(g, size, shape, kind, more):
    """The transpose of `resized`."""
    return _RESIZE[kind][1](g, size, shape, *more)


@operator(lambda g, r: pixels_gathered(g, r))
def pixels_shuffled(x, r):
    """[n, c r^2, h, w] to [n, c, h r, w r]."""
    return torch.pixel_shuffle(x, r)


@operator(lambda g, r: pixels_shuffled(g, r))
def pixels_gathered(x, r):
    """[n, c, h r, w r] to [n, c r^2, h, w]."""
    n, c, h, w = x.shape[-4:]
    return torch.pixel_unshuffle(x, r) if x.numel() else x.new_empty(n, c * r * r, h // r, w // r)


def _sampled_back(
    g: Any, x: Any, grid: Any, mode: int, outside: int, align_corners: bool, needed: list[bool]
) -> Any:
    if g.__class__ is not Buffer:
        raise NotImplementedError("grid_sample has no second derivative")
    return _GRID_BACK[x.ndim](g, x, grid, mode, outside, align_corners, needed[:2])


@operator(joint=_sampled_back)
def sampled(x, grid, mode, outside, align_corners):
    """x [n, c, ...] at the places of `grid`, by torch's numbers for the mode and for what lies outside."""
    return _GRID[x.ndim](x, grid, mode, outside, align_corners)
