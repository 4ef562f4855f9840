"""Images resampled: windows as columns, other sizes, sampling along a grid; rows of a table."""

from typing import Any

import torch

from ..engine.operator import operator
from ..kernels.cpu_embedding import all_inside, rows_read
from ..row_sparse import RowGradient
from .elementwise import Buffer, aten

embedding_backward = aten.embedding_dense_backward.default._op
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


def _rows_at_by_weight(g: Any, x: Any, padding: int, by_frequency: bool, as_rows: bool, saved: int) -> Any:
    return (rows_named if as_rows else rows_summed)(g, x, saved, padding, by_frequency)


@operator(lambda g: None, _rows_at_by_weight, amp="as_is")
def rows_at(x, weight, padding=-1, by_frequency=False, as_rows=False):
    """The rows `x`, any shape of ints, of weight [n, d]; zeros for the row `padding`, which gets no gradient.

    by_frequency: a row's gradient is divided by how often it was looked up. as_rows: weight is a leaf, and
    its first gradient is a RowGradient.
    """
    value = rows_read(weight, x)
    if padding >= 0:
        value.masked_fill_((x == padding).unsqueeze(-1), 0)
    return value, weight.shape[0]


@operator(lambda g, x, padding, saved: rows_at(x, g, padding) * saved)
def rows_summed(g, x, count, padding, by_frequency):
    """[count, d]: the rows of g added up where `x` says; the transpose of `rows_at`."""
    share = _share(x, count).unsqueeze(-1).to(g.dtype) if by_frequency else 1.0
    return embedding_backward(g, x, count, padding, by_frequency), share


def rows_named(g, x, count, padding, by_frequency):
    """`rows_summed`, without adding anything up yet where nothing is recorded."""
    if g.__class__ is not Buffer:
        return rows_summed(g, x, count, padding, by_frequency)
    ids, scale = x.flatten().long(), _share(x, count).flatten() if by_frequency else None
    ids = ids.masked_fill(ids == padding, -1) if padding >= 0 else ids
    return RowGradient([(ids, g.reshape(-1, g.shape[-1]), None, scale)], (count, g.shape[-1]))


def _share(x: Any, count: int) -> Any:
    """One over how often each id occurs. Raises ValueError for ids that were overwritten since they were
    checked."""
    if not all_inside(x, count):
        raise ValueError(
            f"embedding: expected ids from 0 to {count - 1} as in the look-up; they were overwritten since"
        )
    return 1.0 / torch.bincount(x.flatten()).double()[x]
