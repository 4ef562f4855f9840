"""Convolution and pooling of sparse tensors with channels as dense axis: [batch, (depth,) height, width,
channels]."""

from typing import Any

import numpy as np
import torch

from ..dtype import as_dtype, name_of
from ..engine.errors import with_name
from ..engine.operator import operator
from ..engine.spelling import spelled
from ..engine.tensor import InvalidArgument, Tensor
from ..kernels import sparse as kernels
from ..kernels.device import array, buffer
from ..nn.functional.convolution import ints, paddings
from .rulebook import Book, book
from .tensor import SparseTensor, expect_sparse

__all__ = [
    "avg_pool2d",
    "avg_pool3d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "global_avg_pool",
    "inverse_conv2d",
    "inverse_conv3d",
    "max_pool2d",
    "max_pool3d",
    "subm_conv2d",
    "subm_conv2d_igemm",
    "subm_conv3d",
    "subm_conv3d_igemm",
]


_HALF = (torch.float16, torch.bfloat16)  # kept as such, summed in float32
_BITS = {torch.bfloat16: torch.uint16, torch.float32: torch.uint32, torch.float64: torch.uint64}


def _summed_in(kind: torch.dtype) -> torch.dtype:
    return torch.float32 if kind in _HALF else kind


def _words(x: torch.Tensor) -> np.ndarray:
    """The bits of x's values, as the loops read them; float16, for which there are no loops, as float32."""
    x = x.float() if x.dtype is torch.float16 else x
    return x.contiguous().view(_BITS[x.dtype]).numpy()


def _expect(x: torch.Tensor, entries: int, channels: int, what: str) -> None:
    """The loops do not check these lengths; the values' memory may have been replaced, or returned by a
    hook."""
    if x.shape != (entries, channels):
        raise ValueError(
            f"{what}: expected {[entries, channels]}, a row for each entry, got shape {list(x.shape)}"
        )


def _in_loops(x: torch.Tensor, book: Book, groups: int) -> bool:
    return groups == 1 and isinstance(book.near, np.ndarray) and _summed_in(x.dtype) in _BITS


def _product(x: torch.Tensor, weight: torch.Tensor, groups: int) -> torch.Tensor:
    """[n, in] times [in / groups, out], group by group."""
    if groups == 1:
        return x @ weight
    inputs = x.reshape(x.shape[0], groups, -1).transpose(0, 1)
    weights = weight.reshape(weight.shape[0], groups, -1).transpose(0, 1)
    return torch.bmm(inputs, weights).transpose(0, 1).reshape(x.shape[0], -1)


def _transposed(weight: Any, groups: int) -> Any:
    """The weight of the transposed product: [offsets, in / groups, out] to [offsets, out / groups, in]."""
    k, n, m = weight.shape
    if groups == 1:
        return weight.transpose(1, 2) if isinstance(weight, torch.Tensor) else weight.transpose([0, 2, 1])
    split = weight.reshape([k, n, groups, m // groups])
    order = [0, 3, 2, 1]
    split = split.permute(order) if isinstance(weight, torch.Tensor) else split.transpose(order)
    return split.reshape([k, m // groups, groups * n])


@operator(
    lambda g, weight, book, groups: sparse_conv(g, _transposed(weight, groups), None, book.turned, groups),
    lambda g, x, book, groups: sparse_conv_weight(x, g, book, groups),
    lambda g: g.sum(0),
    amp="half",
)
def sparse_conv(x, weight, bias, book, groups):
    """out[o] = bias + the sum over the pairs (i, o) of each offset k of x[i] weight[k].

    x: [inputs, in], weight: [offsets, in / groups, out], bias: [out] or None; returns [outputs, out] in the
    dtype of x. Half precision is summed in float32.
    """
    if weight.dtype is not x.dtype:
        raise TypeError(
            f"expected x and weight of one dtype, got {name_of(x.dtype)} and {name_of(weight.dtype)}"
        )
    _expect(x, book.inputs.nnz, weight.shape[1] * groups, "x")
    kind = _summed_in(x.dtype)
    wide, start = weight.to(kind), None if bias is None else bias.to(kind)
    out = x.new_empty((book.outputs.nnz, weight.shape[2]), dtype=kind)
    if _in_loops(x, book, groups):
        wide = book.ordered(wide)
        added = None if start is None else start.contiguous().numpy()
        kernels.gathered_products(book.near, _words(x), wide.contiguous().numpy(), added, out.numpy())
    else:
        out.copy_(start) if start is not None else out.zero_()
        for matrix, (inside, outside) in zip(wide, book.pairs, strict=True):
            if len(inside):
                part = _product(x.index_select(0, inside).to(kind), matrix, groups)
                kernels.add_rows(array(out), array(outside), array(part.contiguous()))
    return out.to(x.dtype)


@operator(
    lambda h, g, book, groups: sparse_conv(g, _transposed(h, groups), None, book.turned, groups),
    lambda h, x, book, groups: sparse_conv(x, h, None, book, groups),
)
def sparse_conv_weight(x, g, book, groups):
    """The gradient of the weight: for each offset the sum over its pairs (i, o) of x[i]^T g[o], group by
    group."""
    _expect(x, book.inputs.nnz, x.shape[-1], "x")
    _expect(g, book.outputs.nnz, g.shape[-1], "gradient")
    width, kind = x.shape[1] // groups, _summed_in(x.dtype)
    if _in_loops(x, book, groups):
        out = book.ordered(torch.from_numpy(kernels.outer_products(book.near, _words(x), _words(g))))
    else:
        out = x.new_zeros((len(book.pairs), width, g.shape[1]), dtype=kind)
        for matrix, (inside, outside) in zip(out, book.pairs, strict=True):
            a, b = x.index_select(0, inside).to(kind), g.index_select(0, outside).to(kind)
            left, right = (t.reshape(len(t), groups, t.shape[1] // groups).transpose(0, 1) for t in (a, b))
            matrix.copy_(torch.bmm(left.mT, right).transpose(0, 1).reshape(width, -1))
    return out.to(x.dtype)


@operator(lambda g, saved: channels_placed(g, *saved))
def sparse_max_pool(x, book):
    """The largest of the entries that each output's window holds, channel by channel. x: [inputs,
    channels]."""
    _expect(x, book.inputs.nnz, x.shape[-1], "x")
    out, winner = kernels.largest(book.near, array(x.to(_summed_in(x.dtype)).contiguous()))
    return buffer(out).to(x.dtype), (buffer(winner), x.shape[0])


@operator(lambda h, places: channels_picked(h, places))
def channels_placed(g, places, count):
    """Zeros [count, channels] with g[o, c] added at [places[o, c], c]."""
    out = g.new_zeros((count, g.shape[1]), dtype=_summed_in(g.dtype))
    out.scatter_add_(0, places.long(), g.to(out.dtype))
    return out.to(g.dtype)


@operator(lambda g, places, saved: channels_placed(g, places, saved))
def channels_picked(h, places):
    """h[places[o, c], c]."""
    return h.gather(0, places.long()), h.shape[0]


@operator(lambda g, book: sparse_sum_pool(g, book.turned))
def sparse_sum_pool(x, book):
    """The sum of the entries that each output's window holds, channel by channel. x: [inputs, channels]."""
    _expect(x, book.inputs.nnz, x.shape[-1], "x")
    wide = x.to(_summed_in(x.dtype)).contiguous()
    if isinstance(book.near, np.ndarray):
        out = buffer(kernels.neighbour_sums(book.near, array(wide)))
    else:
        out = wide.new_zeros((book.outputs.nnz, x.shape[1]))
        for inside, outside in book.pairs:
            out.index_add_(0, outside, wide.index_select(0, inside))
    return out.to(x.dtype)


@operator(lambda g, pattern, scale: means_spread(g, pattern, scale))
def sample_means(x, pattern, scale):
    """scale times the sum of each sample's entries. x: [entries, channels], scale: [batch]."""
    wide = x.to(scale.dtype)
    out = wide.new_zeros((len(scale), x.shape[1])).index_add_(0, pattern.indices[0], wide) * scale[:, None]
    return out.to(x.dtype)


@operator(lambda h, pattern, scale: sample_means(h, pattern, scale))
def means_spread(g, pattern, scale):
    """For each entry scale times what its sample has: the transpose of `sample_means`."""
    out = (g.to(scale.dtype) * scale[:, None]).index_select(0, pattern.indices[0])
    return out.to(g.dtype)


# --- Paddle's functions -------------------------------------------------------------------------------------


def with_channels(x: Any) -> SparseTensor:
    """`x` with no place twice, which must be sparse with its channels as the one dense axis. Raises
    ValueError otherwise."""
    if expect_sparse(x).dense_dim() != 1 or not x.is_sparse_coo():
        raise ValueError(
            f"x: expected the channels as the one dense axis of coordinates, got {x.dense_dim()} dense axes "
            f"and layout {x.pattern.layout.upper()}, of shape {list(x.shape)}"
        )
    return x.distinct()


def _channels_last(x: Any, axes: int, data_format: str) -> SparseTensor:
    expected = "NDHWC" if axes == 3 else "NHWC"
    if data_format != expected:
        raise InvalidArgument(f"data_format: expected {expected!r}, got {data_format!r}")
    x = with_channels(x).ordered()
    if x.ndim != axes + 2:
        raise ValueError(f"x: expected coordinates over batch and {axes} axes, got shape {list(x.shape)}")
    return x


def _three(values: tuple[Any, ...], fill: Any) -> tuple[Any, ...]:
    return values if len(values) == 3 else (fill, *values)


def _book(
    x: SparseTensor, axes: int, kernel: Any, stride: Any, padding: Any, dilation: Any, kind: str
) -> Book:
    steps, gaps = ints(stride, axes, "stride"), ints(dilation, axes, "dilation")
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, gaps, strict=True)]
    pads = tuple(paddings(padding, x.shape[1:-1], spans, steps, True))
    return book(
        x.pattern, _three(tuple(kernel), 1), _three(steps, 1), _three(pads, (0, 0)), _three(gaps, 1), kind
    )


def _with_key(x: SparseTensor, key: str | None, made: Book) -> None:
    """Store a rulebook by its key with both patterns, so that an inverse convolution finds it."""
    keys = x.pattern.__dict__.setdefault("keys", {})
    if key is not None:
        keys[key] = made
    made.outputs.__dict__.setdefault("keys", keys)
    made.outputs.keys.update(keys)  # type: ignore[attr-defined]  # set in __dict__ above


def _run(x: SparseTensor, weight: Tensor, bias: Tensor | None, made: Book, groups: int) -> SparseTensor:
    cells, inside = len(made.near), weight.shape[-2]
    if x.shape[-1] != inside * groups or weight.shape[-1] % groups:
        raise ValueError(
            f"weight: expected [..., {x.shape[-1]} / groups, out] for x with {x.shape[-1]} channels and "
            f"{groups} groups, got {list(weight.shape)}"
        )
    added = bias if bias is None or bias.dtype == x.dtype else bias.astype(x.dtype)
    matrices = weight.reshape([cells, inside, weight.shape[-1]])
    return SparseTensor(made.outputs, sparse_conv(x.entries, matrices, added, made, groups))


def _convolution(
    axes: int,
    kind: str,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_format: str,
    key: str | None = None,
) -> SparseTensor:
    x = _channels_last(x, axes, data_format)
    if weight.ndim != axes + 2:
        raise ValueError(f"weight: expected {axes} kernel axes, in and out, got shape {list(weight.shape)}")
    made = _book(x, axes, weight.shape[:axes], stride, padding, dilation, kind)
    _with_key(x, key, made)
    return _run(x, weight, bias, made, groups)


def conv3d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", name=None, key=None
):
    """Convolution whose output has an entry wherever the kernel reaches one of x's.

    x: [batch, D, H, W, in], weight: [kd, kh, kw, in / groups, out], bias: [out]. key: a name under which an
    inverse convolution finds its rulebook.
    """
    return _convolution(3, "strided", x, weight, bias, stride, padding, dilation, groups, data_format, key)


def conv2d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", name=None, key=None
):
    """As conv3d over two axes: x [batch, H, W, in], weight [kh, kw, in / groups, out]."""
    return _convolution(2, "strided", x, weight, bias, stride, padding, dilation, groups, data_format, key)


def subm_conv3d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", key=None, name=None
):
    """Submanifold convolution: entries stay where they are, so that the pattern never thickens (Graham et al.
    2018).

    As conv3d; the kernel is centred and `padding` and `stride` are ignored, as in Paddle. key: a name under
    which an inverse convolution finds its rulebook; layers over one pattern share it without.
    """
    return _convolution(3, "submanifold", x, weight, bias, 1, 0, dilation, groups, data_format, key)


def subm_conv2d(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", key=None, name=None
):
    """As subm_conv3d over two axes."""
    return _convolution(2, "submanifold", x, weight, bias, 1, 0, dilation, groups, data_format, key)


# Paddle's other ways to the same values.
subm_conv3d_igemm = spelled()(with_name("subm_conv3d_igemm", subm_conv3d))
subm_conv2d_igemm = spelled()(with_name("subm_conv2d_igemm", subm_conv2d))


def conv3d_transpose(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", name=None, key=None
):
    """The transpose of conv3d: its output has an entry wherever one of x's reaches. weight: [kd, kh, kw, in /
    groups, out]."""
    return _convolution(3, "transposed", x, weight, bias, stride, padding, dilation, groups, data_format, key)


def conv2d_transpose(
    x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", name=None, key=None
):
    """As conv3d_transpose over two axes."""
    return _convolution(2, "transposed", x, weight, bias, stride, padding, dilation, groups, data_format, key)


def _inverse(
    axes: int, x: Any, weight: Any, key: str, bias: Any, groups: int, data_format: str
) -> SparseTensor:
    x = _channels_last(x, axes, data_format)
    made = x.pattern.__dict__.get("keys", {}).get(key)
    if made is None or made.outputs.nnz != x.nnz() or len(made.near) != int(np.prod(weight.shape[:axes])):
        raise ValueError(
            f"key: expected that of a convolution with this kernel that led to x, got {key!r}; x knows "
            f"{sorted(x.pattern.__dict__.get('keys', {}))}"
        )
    return _run(x, weight, bias, made.turned, groups)


def inverse_conv3d(x, weight, key, bias=None, groups=1, data_format="NDHWC", name=None):
    """Back to the entries that the convolution named `key` started from, along its pairs (Paddle has
    none)."""
    return _inverse(3, x, weight, key, bias, groups, data_format)


def inverse_conv2d(x, weight, key, bias=None, groups=1, data_format="NHWC", name=None):
    """As inverse_conv3d over two axes."""
    return _inverse(2, x, weight, key, bias, groups, data_format)


def _window(
    axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, data_format: str
) -> Any:
    x = _channels_last(x, axes, data_format)
    kernel = ints(kernel_size, axes, "kernel_size")
    steps = kernel if stride is None else ints(stride, axes, "stride")
    pads = paddings(padding, x.shape[1:-1], kernel, steps, True)
    if ceil_mode:
        short = [-(n + sum(p) - k) % s for n, p, k, s in zip(x.shape[1:-1], pads, kernel, steps, strict=True)]
        pads = [(p[0], p[1] + more) for p, more in zip(pads, short, strict=True)]
    return x, _book(x, axes, kernel, steps, [v for p in pads for v in p], 1, "strided")


def max_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC", name=None):
    """The largest entry of each window that holds one; places without an entry take no part."""
    x, made = _window(3, x, kernel_size, stride, padding, ceil_mode, data_format)
    return SparseTensor(made.outputs, sparse_max_pool(x.entries, made))


def max_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NHWC", name=None):
    """As max_pool3d over two axes."""
    x, made = _window(2, x, kernel_size, stride, padding, ceil_mode, data_format)
    return SparseTensor(made.outputs, sparse_max_pool(x.entries, made))


def _mean_pool(
    axes: int, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, data_format: str
) -> SparseTensor:
    x, made = _window(axes, x, kernel_size, stride, padding, ceil_mode, data_format)
    counts = buffer(made.near >= 0).sum(0).to(as_dtype(x.dtype))
    return SparseTensor(made.outputs, sparse_sum_pool(x.entries, made) / Tensor(counts[:, None]))


def avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC", name=None):
    """The mean of the entries of each window that holds one; places without an entry do not count."""
    return _mean_pool(3, x, kernel_size, stride, padding, ceil_mode, data_format)


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NHWC", name=None):
    """As avg_pool3d over two axes."""
    return _mean_pool(2, x, kernel_size, stride, padding, ceil_mode, data_format)


def global_avg_pool(x: Any, name: str | None = None) -> Tensor:
    """The mean of each sample's entries, dense: [batch, channels]; 0 for a sample without entries. x: [batch,
    ..., channels]."""
    x = with_channels(x)
    counts = torch.bincount(x.pattern.indices[0], minlength=x.shape[0]).clamp(min=1)
    return sample_means(x.entries, x.pattern, counts.to(_summed_in(as_dtype(x.dtype))).reciprocal())
