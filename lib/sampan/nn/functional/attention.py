"""Attention over arrays [batch, time, heads, features]; `names/flash_attention.py` has its other forms."""

import math
from typing import Any

import torch

from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...ops.attention import attend, fused, fused_attention
from ...ops.joining import repeat_interleave
from .regularization import dropout as drop_out

__all__ = ["scaled_dot_product_attention"]


@operator(amp="as_is")
def attention_bias(mask, dtype, least):
    """What is added to attention scores for a mask: 0 where it holds (bool, or not 0), else `least`."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), least)


def attention(
    query, key, value, mask=None, p=0.0, causal=False, training=True, scale=None, weights=False
) -> tuple[Tensor, Any]:
    """(result, weights or None). mask: added to the scores, or bool: True where a key is seen. p: dropout."""
    heads, groups = query.shape[2], key.shape[2]
    if (groups and heads % groups) or groups != value.shape[2]:
        raise InvalidArgument(
            f"key, value: expected heads that divide {heads}, got {groups} and {value.shape[2]}"
        )
    if groups and heads != groups:  # a head of key and value serves several of query
        key, value = (repeat_interleave(x, heads // groups, 2) for x in (key, value))
    if mask is not None and mask.dtype == torch.bool:
        mask = attention_bias(mask, query.data.dtype, -math.inf)
    if mask is not None and mask.ndim == 3:
        mask = mask.unsqueeze(1)
    scale = float(scale or (query.shape[-1] or 1) ** -0.5)
    dropped = p > 0 and training
    plain = mask is None or (mask.stop_gradient and mask.ndim in (2, 4))
    if not weights and not dropped and plain and fused(query, key, value):
        return fused_attention(query, key, value, mask, bool(causal), scale), None
    drop = (lambda w: drop_out(w, p, training=training)) if dropped else None
    result, shares = attend(query, key, value, mask, causal, scale, drop)
    return result, shares if weights else None


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    training=True,
    backend=None,
    scale=None,
    enable_gqa=True,
    name=None,
) -> Tensor:
    """softmax(query key^T scale + attn_mask) value; scale is 1 / sqrt(features) unless given.

    attn_mask: bool (True: is seen) or added to the scores, broadcast to [batch, heads, queries, keys].
    is_causal: a query sees the keys up to its own place, and attn_mask is left out, as in Paddle. Without a
    batch axis: [time, heads, features]. Fewer heads in key and value are repeated (enable_gqa); else
    ValueError.
    """
    if query.ndim == 3:
        query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        return scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, training, None, scale, enable_gqa
        )[0]
    if not enable_gqa and not query.shape[2] == key.shape[2] == value.shape[2]:
        raise InvalidArgument(
            f"key, value: expected {query.shape[2]} heads, got {key.shape[2]}, {value.shape[2]}"
        )
    mask = None if is_causal else attn_mask
    return attention(query, key, value, mask, dropout_p, is_causal, training, scale)[0]


def flash_attention(
    query,
    key,
    value,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    *,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
    softmax_scale=None,
) -> tuple[Tensor, Any]:
    """(result, the weights with return_softmax, else None)."""
    return attention(query, key, value, None, dropout, causal, training, softmax_scale, return_softmax)
