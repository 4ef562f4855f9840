"""Attention: softmax(q k^T scale + mask) v in each head (Vaswani et al. 2017, formula 1).

Arrays are [batch, time, heads, features]; key and value may have another time than query.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from ..engine.operator import operator
from ..engine.tensor import Tensor
from .activation import softmax
from .linalg import batched_matmul
from .recorded import recorded
from .shape import permute

aten = torch.ops.aten
_flash = aten._scaled_dot_product_flash_attention_for_cpu.default
_flash_back = aten._scaled_dot_product_flash_attention_for_cpu_backward.default


def _later(queries: int, keys: int, like: torch.Tensor) -> Tensor:
    """Minus infinity where a key lies after its query."""
    return Tensor(like.new_full((queries, keys), -math.inf).triu(1))


def attend(query, key, value, mask, causal, scale, drop: Callable[[Any], Any] | None = None):
    """(result, weights [batch, heads, queries, keys]), step by step. drop: what is done to the weights."""
    q, k, v = (permute(x, [0, 2, 1, 3]) for x in (query, key, value))
    scores = batched_matmul(q * scale, k, False, True)
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = scores + _later(scores.shape[2], scores.shape[3], scores.data)
    weights = softmax(scores)
    weights = weights if drop is None else drop(weights)
    return permute(batched_matmul(weights, v), [0, 2, 1, 3]), weights


def fused(query: Any, key: Any, value: Any) -> bool:
    """Whether torch has a fused kernel for these: on the CPU, one size of head, nothing empty."""
    q, k, v = query.data, key.data, value.data
    there = not q.is_cuda and q.numel() > 0 and k.numel() > 0
    return there and q.shape[-1] == v.shape[-1] and q.dtype is k.dtype


def _fused_back(
    g: Any, query: Any, key: Any, value: Any, causal: bool, scale: float, out: Any, saved: Any
) -> tuple[Any, ...]:
    sums, bias = saved
    if not isinstance(g, torch.Tensor):
        return recorded(lambda *inputs: attend(*inputs)[0], (query, key, value, bias, causal, scale), g)
    inputs = [_rows(x) for x in (g, query, key, value)]
    made = _flash_back(*inputs, out.transpose(1, 2), sums, 0.0, causal, attn_mask=bias, scale=scale)
    return *(x.transpose(1, 2) for x in made), None


@operator(joint=_fused_back, amp="half")
def fused_attention(query, key, value, mask, causal, scale):
    """Attention by torch's fused kernel, which never holds all the weights; the mask gets no gradient.

    mask: added to the scores, [queries, keys] or with [batch, heads] before it, broadcast; or None. causal: a
    query sees the keys up to its own place.
    """
    q, k, v = _rows(query), _rows(key), _rows(value)
    bias = None if mask is None else mask.to(q.dtype)
    out, sums = _flash(q, k, v, 0.0, causal, attn_mask=bias, scale=scale)
    return out.transpose(1, 2), (sums, bias)


def _rows(x: torch.Tensor) -> torch.Tensor:
    """Heads before time, and features side by side: the kernel silently takes that for granted."""
    return (x if x.stride(-1) == 1 else x.contiguous()).transpose(1, 2)
