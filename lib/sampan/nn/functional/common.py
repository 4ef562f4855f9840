"""Padding, look-up of rows, distances, masks and samples of labels, with Paddle's arguments."""

import math
from typing import Any

import torch

from ...dtype import as_dtype
from ...engine.apply import observer_of, observers
from ...engine.operator import operator
from ...engine.tape import written
from ...engine.tensor import InvalidArgument, InvalidType, Tensor
from ...ops.embedding import rows_at
from ...ops.norms import p_norm
from ...ops.shape import number, pad_constant, unshared
from ...row_sparse import check_ids
from .convolution import FORMATS
from .vision import plain

# fmt: off
__all__ = [
    "bilinear", "cosine_similarity", "embedding", "embedding_renorm_", "label_smooth", "pad",
    "pairwise_distance", "sequence_mask", "zeropad2d",
]
# fmt: on


def pad(x, pad, mode="constant", value=0.0, data_format=None, pad_from_left_axis=True, name=None) -> Tensor:
    """x grown at its ends.

    pad: an int or [before, after, ...]. With one pair for each axis between batch and channels, from the last
    such axis backwards (so [left, right, top, bottom] for images), as data_format ("NCHW", "NHWC", ...)
    places them. Any other number of pairs, for mode "constant" alone: one for each axis of x from the first
    (the last with pad_from_left_axis False), or of fewer, from the last axis backwards.
    mode: "constant" (`value`), "reflect" (without repeating the edge), "replicate" (the edge), "circular".
    """
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise InvalidArgument(f"pad: expected mode constant, reflect, replicate or circular, got {mode!r}")
    given, n = plain(pad), x.ndim
    if any(isinstance(v, float) for v in (given if isinstance(given, list | tuple) else [given])):
        raise InvalidType(f"pad: expected ints, got {given}")
    inner = n - 2
    given = [given] * (2 * inner) if isinstance(given, int) else [int(v) for v in given]
    if not given:
        return x.clone()
    if len(given) % 2 or len(given) > 2 * n:
        raise InvalidArgument(f"pad: expected pairs for at most {n} axes, got {given}")
    pairs = list(zip(given[::2], given[1::2], strict=True))
    widths = [(0, 0)] * n
    if len(pairs) == inner and inner in FORMATS:
        formats = (*FORMATS[inner], "NCW", "NWC")[: 4 if inner == 1 else 2]
        data_format = (data_format or formats[0]).upper()
        if data_format not in formats:
            raise InvalidArgument(f"data_format: expected one of {', '.join(formats)}, got {data_format!r}")
        first = 1 if data_format[-1] == "C" else 2
        widths[first : first + inner] = pairs[::-1]
    elif mode != "constant":
        raise InvalidArgument(f"pad: mode {mode!r} needs {inner} pairs for x {list(x.shape)}, got {given}")
    elif len(pairs) == n and pad_from_left_axis:
        widths = pairs
    else:
        widths[n - len(pairs) :] = pairs[::-1]
    if mode == "constant":
        return pad_constant(x, [v for pair in reversed(widths) for v in pair], plain(value))
    grown = x
    for axis, (before, after) in enumerate(widths):
        if before or after:
            grown = grown.index_select(_around(grown, axis, before, after, mode), axis)
    return unshared(grown, x)


def _around(x: Any, axis: int, before: int, after: int, mode: str) -> Tensor:
    """For each place of the padded axis, the index of the entry that it copies."""
    m = x.shape[axis]
    longest = m - 1 if mode == "reflect" else m if mode == "circular" else math.inf
    if max(before, after) > longest or m == 0:
        raise InvalidArgument(f"pad: mode {mode!r} cannot pad {before} and {after} about {m} entries")
    at = torch.arange(-before, m + after, device=x.data.device)
    if mode == "reflect":
        at = (m - 1) - ((m - 1) - at.abs()).abs()
    return Tensor(at % m if mode == "circular" else at.clamp(0, m - 1))


def zeropad2d(x, padding, data_format="NCHW", name=None) -> Tensor:
    """Images with zeros about them: padding [left, right, top, bottom]."""
    return pad(x, padding, "constant", 0.0, data_format)


AUTOMATIC: Any = 0  # equals the False of Paddle's signature, but can be distinguished from an explicit False


def embedding(
    x,
    weight,
    padding_idx=None,
    max_norm=None,
    norm_type=2.0,
    sparse=AUTOMATIC,
    scale_grad_by_freq=False,
    name=None,
) -> Tensor:
    """The rows x, ints of any shape, of weight [count, d]: [*x.shape, d].

    padding_idx: this row reads as zeros and gets no gradient. max_norm: longer rows (in the norm norm_type)
    are first shortened to it, in place. scale_grad_by_freq: a row's gradient is divided by how often it was
    looked up.
    The gradient of a table is a RowSparse, whatever the flag says: the rows that were read; to other
    code it is a Tensor. An explicit sparse=False makes it dense. Raises ValueError for ids and padding_idx
    outside, TypeError for ids of another kind.
    """
    if not isinstance(x, Tensor):
        raise InvalidType(f"x: expected a Tensor of int32 or int64, got {type(x).__name__}")
    count = weight.data.shape[0]
    if isinstance(padding_idx, float):
        raise InvalidType(f"embedding: padding_idx: expected an int, got {padding_idx}")
    if padding_idx is not None and count and not -count <= padding_idx < count:
        raise InvalidArgument(f"padding_idx: expected {-count} to {count - 1}, got {padding_idx}")
    if sparse and scale_grad_by_freq:
        raise AttributeError("embedding: scale_grad_by_freq does not go with sparse=True")
    padding = -1 if padding_idx is None else padding_idx % count if count else -1
    # Before anything is changed. A GPU would not say what was wrong; a recording has no values to look at.
    if max_norm or (weight.data.is_cuda and observer_of("forward") is None):
        check_ids(x.data, count, "x")
    if max_norm and weight.size:
        embedding_renorm_(x, weight, max_norm, norm_type)
    try:
        rows = rows_at(x, weight, padding, scale_grad_by_freq, sparse is not False and weight.node is None)
        half = observers and observer_of("cast") and rows.data.itemsize == 2
        return rows.astype("float32") if half else rows  # not the whole table
    except ValueError:
        check_ids(x.data, count, "x")  # only now: it costs as much as the look-up
        raise


def embedding_renorm_(x, weight, max_norm, norm_type=2.0) -> Tensor:
    """Shorten the rows x, ints of any shape, of weight [count, d] to max_norm in the norm norm_type where
    they are longer, in place; returns weight. ValueError for ids outside."""
    check_ids(x.data, weight.shape[0], "x")
    torch.embedding_renorm_(weight.data, x.data.long().unique(), max_norm, norm_type)
    written(weight.data)
    return weight


def bilinear(x1, x2, weight, bias=None, name=None) -> Tensor:
    """x1^T W_k x2 for each k: x1 [n, a], x2 [n, b], weight [out, a, b], bias [1, out] or None; [n, out]."""
    out, a, b = weight.shape
    if x1.shape[1:] != [a] or x2.shape != [x1.shape[0], b]:
        raise InvalidArgument(
            f"bilinear: weight {[*weight.shape]} does not fit {[*x1.shape]} and {[*x2.shape]}"
        )
    between = (x1 @ weight.permute([1, 0, 2]).reshape([a, out * b])).reshape([-1, out, b])
    value = (between @ x2.unsqueeze(-1)).squeeze(-1)
    return value if bias is None else value + bias


def cosine_similarity(x1, x2, axis=1, eps=1e-08) -> Tensor:
    """x1 . x2 / max(|x1| |x2|, eps) along `axis`."""
    along, n = x1 * x2, max(x1.shape[axis], x2.shape[axis])
    squares = [(x * x).sum(axis=axis) * (n / max(x.shape[axis], 1)) for x in (x1, x2)]
    return along.sum(axis=axis) / (squares[0] * squares[1]).clip(min=eps * eps).sqrt()


def pairwise_distance(x, y, p=2.0, epsilon=1e-6, keepdim=False, name=None) -> Tensor:
    """The length of x - y + epsilon along the last axis, in the p-norm."""
    difference = x - y
    return p_norm(
        difference + epsilon if epsilon else difference, float(number(p, "p")), [difference.ndim - 1], keepdim
    )


def label_smooth(label, prior_dist=None, epsilon=0.1, name=None) -> Tensor:
    """(1 - epsilon) label + epsilon prior, the prior uniform over the last axis unless given (Szegedy et al.,
    2016)."""
    if not 0 <= epsilon <= 1:
        raise InvalidArgument(f"epsilon: expected 0 to 1, got {epsilon}")
    prior = 1 / max(label.shape[-1], 1) if prior_dist is None else prior_dist.detach()
    return label * (1 - epsilon) + prior * epsilon


def sequence_mask(x, maxlen=None, dtype="int64", name=None) -> Tensor:
    """[*x.shape, maxlen]: 1 at the places below each length in x, 0 behind. maxlen: the longest of x unless
    given."""
    longest = int(plain(maxlen)) if maxlen is not None else -1
    if longest < 0:
        longest = int(x.data.max()) if x.data.numel() else 0
    return below(x, longest, as_dtype(dtype))


@operator()
def below(x, count, dtype):
    """[*x.shape, count]: 1 at the places below each length in x, 0 behind."""
    return (torch.arange(count, device=x.device) < x.unsqueeze(-1)).to(dtype)
