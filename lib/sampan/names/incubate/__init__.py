"""Paddle's `incubate`: fused layers, derivatives of functions, and wrappers of optimizers."""

import torch as _torch

from ...engine.tensor import InvalidArgument as _InvalidArgument
from ...engine.tensor import Tensor as _Tensor
from ...geometric import segment_max as segment_max
from ...geometric import segment_mean as segment_mean
from ...geometric import segment_min as segment_min
from ...geometric import segment_sum as segment_sum
from ...graph.messages import _send_u_recv
from ...graph.sampling import graph_khop_sampler as graph_khop_sampler
from ...graph.sampling import graph_reindex as graph_reindex
from ...graph.sampling import graph_sample_neighbors as graph_sample_neighbors
from ...nn.functional import softmax as _softmax
from . import autograd as autograd
from . import nn as nn
from . import optimizer as optimizer
from .optimizer import LookAhead as LookAhead
from .optimizer import ModelAverage as ModelAverage


def identity_loss(x: _Tensor, reduction: str | int = "none") -> _Tensor:
    """The loss x: its sum ("sum" or 0), its mean ("mean" or 1), or x itself ("none" or 2)."""
    names = ("sum", "mean", "none")
    chosen = names[reduction] if type(reduction) is int and 0 <= reduction < 3 else str(reduction).lower()
    if chosen not in names:
        raise TypeError(f"identity_loss: reduction: expected sum, mean, none or 0 to 2, got {reduction!r}")
    return x.clone() if chosen == "none" else x.sum() if chosen == "sum" else x.mean()


def softmax_mask_fuse(x: _Tensor, mask: _Tensor, name: str | None = None) -> _Tensor:
    """softmax(x + mask) along the last axis; x: [batch, heads, n, m], mask: [batch, 1, n, m]."""
    return _softmax(x + mask)


def softmax_mask_fuse_upper_triangle(x: _Tensor) -> _Tensor:
    """softmax along the last axis of x [batch, heads, n, n], over the entries up to the diagonal; 0 above it.

    Unlike in Paddle n may be of any size.
    """
    if x.ndim != 4 or x.shape[2] != x.shape[3]:
        raise _InvalidArgument(f"x: expected [batch, heads, n, n], got {list(x.shape)}")
    later = _torch.full(x.shape[2:], -_torch.inf, dtype=x.data.dtype, device=x.data.device).triu(1)
    return _softmax(x + _Tensor(later))


def graph_send_recv(
    x: _Tensor,
    src_index: _Tensor,
    dst_index: _Tensor,
    pool_type: str = "sum",
    out_size: int | _Tensor | None = None,
    name: str | None = None,
) -> _Tensor:
    """The former name of `geometric.send_u_recv`."""
    return _send_u_recv("graph_send_recv", "pool_type", x, src_index, dst_index, pool_type, out_size)
