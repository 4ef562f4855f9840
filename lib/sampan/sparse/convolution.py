"""Convolution and pooling of sparse tensors with channels as dense axis: [batch, (depth,) height, width, channels]."""

from typing import Any

import numpy as np
import torch

from ..kernels import cpu_sparse_conv as loops
from ..nn.functional.convolution import ints, paddings
from ..operator import operator
from ..tensor import Tensor
from .elementwise import sparse
from .operators import entries_placed
from .rulebook import Book, book
from .tensor import SparseTensor

__all__ = [
    "avg_pool3d", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose", "global_avg_pool", "inverse_conv2d",
    "inverse_conv3d", "max_pool2d", "max_pool3d", "subm_conv2d", "subm_conv2d_igemm", "subm_conv3d", "subm_conv3d_igemm",
]  # fmt: skip


def _product(x: torch.Tensor, weight: torch.Tensor, groups: int) -> torch.Tensor:
    """[n, in] times [in / groups, out], group by group."""
    if groups == 1:
        return x @ weight
    apart = x.reshape(x.shape[0], groups, -1).transpose(0, 1)
    grouped = weight.reshape(weight.shape[0], groups, -1).transpose(0, 1)
    return torch.bmm(apart, grouped).transpose(0, 1).reshape(x.shape[0], -1)


def _turned(weight: Any, groups: int) -> Any:
    """The weight of the transposed product: [offsets, in / groups, out] to [offsets, out / groups, in]."""
    k, n, m = weight.shape
    if groups == 1:
        return weight.transpose(1, 2) if isinstance(weight, torch.Tensor) else weight.transpose([0, 2, 1])
    apart = weight.reshape([k, n, groups, m // groups])
    order = [0, 3, 2, 1]
    apart = apart.permute(order) if isinstance(weight, torch.Tensor) else apart.transpose(order)
    return apart.reshape([k, m // groups, groups * n])


@operator
def sparse_conv(x, weight, book, groups):  # type: ignore[no-untyped-def]
    """out[o] = the sum over the pairs (i, o) of each offset k of x[i] weight[k].

    x: [inputs, in], weight: [offsets, in / groups, out]; returns [outputs, out].
    """
    kind = (
        torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    )  # sums are kept in float32
    out = torch.zeros(book.outputs.nnz, weight.shape[2], dtype=kind)
    for matrix, (inside, outside) in zip(weight, book.pairs, strict=True):
        if len(inside) == len(out) == len(x) and book.outputs is book.inputs:
            out += _product(x, matrix, groups)  # the centre of a submanifold: each entry meets itself
        elif len(inside):
            part = _product(x.index_select(0, inside), matrix, groups).to(kind)
            loops.add_rows(out.numpy(), outside.numpy(), part.contiguous().numpy())
    return out.to(x.dtype), (
        lambda g, book=book, groups=groups: sparse_conv(g, _turned(weight, groups), book.turned, groups),
        lambda g, book=book, groups=groups: sparse_conv_weight(x, g, book, groups),
    )


@operator
def sparse_conv_weight(x, g, book, groups):  # type: ignore[no-untyped-def]
    """The gradient of the weight: for each offset the sum over its pairs (i, o) of x[i]^T g[o], group by group."""
    width = x.shape[1] // groups
    out = x.new_zeros((len(book.pairs), width, g.shape[1]))
    for matrix, (inside, outside) in zip(out, book.pairs, strict=True):
        a, b = x.index_select(0, inside), g.index_select(0, outside)
        if groups == 1:
            torch.mm(a.t(), b, out=matrix)
        else:
            apart = (t.reshape(t.shape[0], groups, -1).transpose(0, 1) for t in (a, b))
            left, right = apart
            matrix.copy_(torch.bmm(left.mT, right).transpose(0, 1).reshape(width, -1))
    return out, (
        lambda h, book=book, groups=groups: sparse_conv(g, _turned(h, groups), book.turned, groups),
        lambda h, book=book, groups=groups: sparse_conv(x, h, book, groups),
    )


@operator
def sparse_max_pool(x, book):  # type: ignore[no-untyped-def]
    """The largest of the entries that each output's window holds, channel by channel. x: [inputs, channels]."""
    kind = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    out, winner = loops.largest(book.near, x.to(kind).contiguous().numpy())
    places = torch.from_numpy(winner)
    return torch.from_numpy(out).to(x.dtype), (
        lambda g, places=places, count=x.shape[0]: channels_placed(g, places, count),
    )


@operator
def channels_placed(g, places, count):  # type: ignore[no-untyped-def]
    """Zeros [count, channels] with g[o, c] added at [places[o, c], c]."""
    out = g.new_zeros((count, g.shape[1])).scatter_add_(0, places, g)
    return out, lambda h, places=places: (channels_picked(h, places),)


@operator
def channels_picked(h, places):  # type: ignore[no-untyped-def]
    """h[places[o, c], c]."""
    return h.gather(0, places), lambda g, places=places, count=h.shape[0]: (
        channels_placed(g, places, count),
    )


# --- Paddle's functions ---------------------------------------------------------------------------------------


def _channels_last(x: Any, axes: int, data_format: str) -> SparseTensor:
    expected = "NDHWC" if axes == 3 else "NHWC"
    if data_format != expected:
        raise ValueError(f"data_format: expected {expected!r}, got {data_format!r}")
    if sparse(x).ndim != axes + 2 or x.dense_dim() != 1 or not x.is_sparse_coo():
        raise ValueError(
            f"x: expected coordinates over batch and {axes} axes with the channels dense, got shape {list(x.shape)} "
            f"with {x.sparse_dim()} sparse axes"
        )
    return x.coalesce()


def _three(values: tuple[Any, ...], fill: Any) -> tuple[Any, ...]:
    return values if len(values) == 3 else (fill, *values)


def _book(
    x: SparseTensor, axes: int, kernel: Any, stride: Any, padding: Any, dilation: Any, kind: str
) -> Book:
    steps, apart = ints(stride, axes, "stride"), ints(dilation, axes, "dilation")
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, apart, strict=True)]
    pads = tuple(paddings(padding, x.shape[1:-1], spans, steps, True))
    return book(
        x.pattern, _three(tuple(kernel), 1), _three(steps, 1), _three(pads, (0, 0)), _three(apart, 1), kind
    )


def _with_key(x: SparseTensor, key: str | None, made: Book) -> None:
    """Books by key go along with the patterns, so that an inverse convolution finds the one to undo."""
    keys = x.pattern.__dict__.setdefault("keys", {})
    if key is not None:
        keys[key] = made
    made.outputs.__dict__.setdefault("keys", keys)
    made.outputs.keys.update(keys)  # type: ignore[attr-defined]


def _run(x: SparseTensor, weight: Tensor, bias: Tensor | None, made: Book, groups: int) -> SparseTensor:
    cells, inside = len(made.near), weight.shape[-2]
    if x.shape[-1] != inside * groups or weight.shape[-1] % groups:
        raise ValueError(
            f"weight: expected [..., {x.shape[-1]} / groups, out] for x with {x.shape[-1]} channels and {groups} groups, "
            f"got {list(weight.shape)}"
        )
    entries = sparse_conv(x.entries, weight.reshape([cells, inside, weight.shape[-1]]), made, groups)
    return SparseTensor(made.outputs, entries if bias is None else entries + bias.astype(entries.dtype))


def _convolution(axes: int, kind: str, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, data_format: str, key: str | None = None) -> SparseTensor:  # fmt: skip
    x = _channels_last(x, axes, data_format)
    if weight.ndim != axes + 2:
        raise ValueError(f"weight: expected {axes} kernel axes, in and out, got shape {list(weight.shape)}")
    made = _book(x, axes, weight.shape[:axes], stride, padding, dilation, kind)
    _with_key(x, key, made)
    return _run(x, weight, bias, made, groups)


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", name=None, key=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """Convolution whose output has an entry wherever the kernel reaches one of x's.

    x: [batch, D, H, W, in], weight: [kd, kh, kw, in / groups, out], bias: [out]. key: a name under which an inverse
    convolution finds its rulebook.
    """
    return _convolution(3, "strided", x, weight, bias, stride, padding, dilation, groups, data_format, key)


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", name=None, key=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """As conv3d over two axes: x [batch, H, W, in], weight [kh, kw, in / groups, out]."""
    return _convolution(2, "strided", x, weight, bias, stride, padding, dilation, groups, data_format, key)


def subm_conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", key=None, name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """Submanifold convolution: entries stay where they are, so that the pattern never thickens (Graham et al. 2018).

    As conv3d; the kernel is centred whatever `padding` and `stride` say, as in Paddle. key: a name under which an
    inverse convolution finds its rulebook; layers over one pattern share it without.
    """
    return _convolution(3, "submanifold", x, weight, bias, 1, 0, dilation, groups, data_format, key)


def subm_conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", key=None, name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """As subm_conv3d over two axes."""
    return _convolution(2, "submanifold", x, weight, bias, 1, 0, dilation, groups, data_format, key)


subm_conv3d_igemm, subm_conv2d_igemm = subm_conv3d, subm_conv2d  # Paddle's other ways to the same values


def conv3d_transpose(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NDHWC", name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """The transpose of conv3d: its output has an entry wherever one of x's reaches. weight: [kd, kh, kw, in / groups, out]."""
    return _convolution(3, "transposed", x, weight, bias, stride, padding, dilation, groups, data_format)


def conv2d_transpose(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, data_format="NHWC", name=None):  # type: ignore[no-untyped-def]  # fmt: skip
    """As conv3d_transpose over two axes."""
    return _convolution(2, "transposed", x, weight, bias, stride, padding, dilation, groups, data_format)


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


def inverse_conv3d(x, weight, key, bias=None, groups=1, data_format="NDHWC", name=None):  # type: ignore[no-untyped-def]
    """Back to the entries that the convolution named `key` started from, along its pairs (Paddle has none)."""
    return _inverse(3, x, weight, key, bias, groups, data_format)


def inverse_conv2d(x, weight, key, bias=None, groups=1, data_format="NHWC", name=None):  # type: ignore[no-untyped-def]
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


def max_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC", name=None):  # type: ignore[no-untyped-def]
    """The largest entry of each window that holds one; places without an entry take no part."""
    x, made = _window(3, x, kernel_size, stride, padding, ceil_mode, data_format)
    return SparseTensor(made.outputs, sparse_max_pool(x.entries, made))


def max_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NHWC", name=None):  # type: ignore[no-untyped-def]
    """As max_pool3d over two axes."""
    x, made = _window(2, x, kernel_size, stride, padding, ceil_mode, data_format)
    return SparseTensor(made.outputs, sparse_max_pool(x.entries, made))


def avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, data_format="NDHWC", name=None):  # type: ignore[no-untyped-def]
    """The mean of the entries of each window that holds one; places without an entry do not count."""
    x, made = _window(3, x, kernel_size, stride, padding, ceil_mode, data_format)
    width = x.shape[-1]
    ones = Tensor(torch.eye(width, dtype=x.dtype).expand(len(made.near), width, width).contiguous())
    counts = torch.from_numpy((made.near >= 0).sum(0)).to(x.dtype)
    return SparseTensor(made.outputs, sparse_conv(x.entries, ones, made, 1) / Tensor(counts[:, None]))


def global_avg_pool(x: Any, name: str | None = None) -> Tensor:
    """The mean of each sample's entries, dense: [batch, channels]; 0 for a sample without entries."""
    x = sparse(x).coalesce()
    batch = x.pattern.indices[0].long()
    counts = torch.bincount(batch, minlength=x.shape[0]).clamp(min=1).to(x.dtype)
    return entries_placed(x.entries, batch, x.shape[0]) / Tensor(counts[:, None])
