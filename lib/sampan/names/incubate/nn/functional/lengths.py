"""Attention over sequences of several lengths."""

import math
from typing import Any

import torch

from .....engine.operator import operator
from .....engine.tensor import InvalidArgument, Tensor
from .....nn.functional.attention import attention, attention_bias
from .....ops.indexing import where


@operator(amp="as_is")
def places_before(lengths, more, size):
    """bool [batch, size]: whether a place lies before lengths + more; lengths: [batch] or [batch, 1]."""
    return torch.arange(size, device=lengths.device) < lengths.reshape(-1, 1) + more


def variable_length_memory_efficient_attention(
    query,
    key,
    value,
    seq_lens,
    kv_seq_lens,
    mask=None,
    scale=None,
    causal=False,
    pre_cache_length=0,
) -> Tensor:
    """softmax(query key^T scale + mask) value of the first seq_lens queries and the first kv_seq_lens +
    pre_cache_length keys of each sample; the rows after them are 0.

    query: [batch, heads, queries, d]; key, value: [batch, heads or a divisor, keys, d]. seq_lens,
    kv_seq_lens: int32 [batch] or [batch, 1]. mask: added to the scores, broadcast to [batch, heads, queries,
    keys]. scale: 1 / sqrt(d) unless given. causal: a query sees the keys up to its own place.
    """
    for name, given in (("query", query), ("key", key), ("value", value)):
        if given.ndim != 4:
            raise InvalidArgument(f"{name}: expected [batch, heads, time, d], got {list(given.shape)}")
    for name, given in (("seq_lens", seq_lens), ("kv_seq_lens", kv_seq_lens)):
        if given.size != query.shape[0]:
            raise InvalidArgument(f"{name}: expected {query.shape[0]} lengths, got shape {list(given.shape)}")
    queries, keys = query.shape[2], key.shape[2]
    seen: Any = places_before(kv_seq_lens, pre_cache_length, keys)[:, None, None, :]
    if causal:
        seen = seen.logical_and(
            Tensor(torch.ones(queries, keys, dtype=torch.bool, device=query.data.device).tril())
        )
    if mask is not None:
        seen = attention_bias(seen, query.data.dtype, -math.inf) + mask
    query, key, value = (x.transpose([0, 2, 1, 3]) for x in (query, key, value))
    result = attention(query, key, value, seen, scale=scale)[0].transpose([0, 2, 1, 3])
    own = places_before(seq_lens, 0, queries)[:, None, :, None]
    return where(own, result, result._full_like(0))
