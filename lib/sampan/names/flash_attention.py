"""Variants of attention: packed, variable-length, masked by rows (FlashMask), and with a sparse pattern.

Arrays are [batch, time, heads, features]; "varlen" arrays are [all tokens, heads, features], split at
cu_seqlens.
"""

import math
from typing import Any

import torch

from ..engine.spelling import spell
from ..engine.tensor import InvalidArgument, Tensor
from ..nn.functional.attention import attention
from ..nn.functional.attention import flash_attention as flash_attention
from ..nn.functional.attention import scaled_dot_product_attention as scaled_dot_product_attention
from ..ops.indexing import where
from ..ops.joining import concat

# fmt: off
__all__ = [
    "flash_attention_v3_varlen", "flash_attn_qkvpacked", "flash_attn_varlen_qkvpacked", "flashmask_attention",
    "sparse_attention",
]
# fmt: on


def flash_attn_qkvpacked(
    qkv,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    *,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
) -> tuple[Tensor, Any]:
    """qkv: [batch, time, groups + 2, key heads, features], the last two groups being key and value."""
    return attention(*_unpacked(qkv), None, dropout, causal, training, None, return_softmax)


def _unpacked(qkv: Any) -> tuple[Any, Any, Any]:
    query = qkv[..., :-2, :, :]
    return query.reshape([*query.shape[:-3], -1, query.shape[-1]]), qkv[..., -2, :, :], qkv[..., -1, :, :]


def flash_attn_unpadded(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    scale,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
) -> tuple[Tensor, Any]:
    """Attention within each sequence: sequence i is rows cu_seqlens[i] to cu_seqlens[i + 1]."""
    cuts = [[int(n) for n in cu.tolist()] for cu in (cu_seqlens_q, cu_seqlens_k)]
    results = []
    for q, q_end, k, k_end in zip(cuts[0], cuts[0][1:], cuts[1], cuts[1][1:], strict=False):
        part = (query[q:q_end].unsqueeze(0), key[k:k_end].unsqueeze(0), value[k:k_end].unsqueeze(0))
        results.append(attention(*part, None, dropout, causal, training, scale)[0][0])
    return concat(results, 0), None


def flash_attn_varlen_qkvpacked(
    qkv,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    scale,
    dropout=0.0,
    causal=False,
    return_softmax=False,
    fixed_seed_offset=None,
    rng_name="",
    varlen_padded=True,
    training=True,
    name=None,
) -> tuple[Tensor, Any]:
    """flash_attn_unpadded of qkv [tokens, groups + 2, key heads, features]."""
    given = (*_unpacked(qkv), cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, scale)
    return flash_attn_unpadded(*given, dropout, causal, return_softmax, training=training)


def flash_attention_v3_varlen(
    query,
    key,
    value,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q,
    max_seqlen_k,
    seqused_q=None,
    seqused_k=None,
    softmax_scale=None,
    causal=False,
    qv=None,
    q_descale=None,
    k_descale=None,
    v_descale=None,
    window_size=(-1, -1),
    softcap=0.0,
    num_splits=1,
    pack_gqa=None,
    sm_margin=0,
) -> tuple[Tensor, Any]:
    """flash_attn_unpadded in float32 or less, without dropout. Arguments of GPU kernels are
    ignored."""
    for label, given, usual in (
        ("qv", qv, None),
        ("seqused_q", seqused_q, None),
        ("seqused_k", seqused_k, None),
        ("softcap", softcap, 0.0),
        ("window_size", tuple(window_size), (-1, -1)),
    ):
        if given != usual:
            raise InvalidArgument(f"{label}: expected {usual}, got {given}")
    cuts = (cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k)
    return flash_attn_unpadded(query, key, value, *cuts, softmax_scale, causal=causal)


def flashmask_attention(
    query,
    key,
    value,
    startend_row_indices=None,
    *,
    dropout=0.0,
    causal=False,
    window_size=None,
    return_softmax_lse=False,
    return_seed_offset=False,
    fixed_seed_offset=None,
    rng_name="",
    training=True,
    name=None,
    softmax_scale=None,
    block_mask=None,
) -> Any:
    """Attention with a mask given by rows (Wang et al. 2024, "FlashMask"): startend_row_indices int32 [batch,
    heads or 1, keys, n].

    Key j is hidden from the queries [start, end): causal, n = 1: start, to the last query; n = 2: start and
    end. Not causal, n = 2: start of the first range and end of the second; n = 4: two pairs of start and end.
    window_size (left, right): the number of keys on each side that a query attends to.
    """
    queries, keys = query.shape[1], key.shape[1]
    row = torch.arange(queries, device=query.data.device)[:, None]
    column = torch.arange(keys, device=query.data.device)
    if window_size is not None:
        if startend_row_indices is not None:
            raise InvalidArgument("window_size: expected None with startend_row_indices")
        left, right = (window_size, window_size) if isinstance(window_size, int) else window_size
        mask = Tensor((row <= column + left) & ((row >= column - right) | causal))
    elif startend_row_indices is not None:
        n = startend_row_indices.shape[-1]
        wanted = (1, 2) if causal else (2, 4)
        if n not in wanted:
            raise InvalidArgument(f"startend_row_indices: expected one of {wanted} at the end, got {n}")
        # each [batch, heads, 1, keys]
        bounds = [b.unsqueeze(2) for b in startend_row_indices.data.unbind(-1)]
        hidden = row >= bounds[0]
        if n == 4 or (causal and n == 2):
            hidden &= row < bounds[1]
        if not causal:
            hidden |= (row < bounds[1]) if n == 2 else (row >= bounds[2]) & (row < bounds[3])
        if hidden.shape[1] not in (1, query.shape[2]):
            hidden = hidden.repeat_interleave(query.shape[2] // hidden.shape[1], 1)
        mask = Tensor(~hidden)
    else:
        mask = None
    if causal and mask is not None:
        mask = Tensor(mask.data & (column <= row))
    result, _ = attention(query, key, value, mask, dropout, causal and mask is None, training, softmax_scale)
    extra = [_log_sums(query, key, mask, causal, softmax_scale)] if return_softmax_lse else []
    extra += [Tensor(torch.zeros(2, dtype=torch.int64))] if return_seed_offset else []
    return [result, *extra] if extra else result


def _log_sums(query: Any, key: Any, mask: Any, causal: bool, scale: float | None) -> Tensor:
    """log of the sum of e^score over the keys, [batch, heads, queries]."""
    q, k = (x.data.transpose(1, 2) for x in (query, key))
    scores = q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).mT * (scale or q.shape[-1] ** -0.5)
    seen = mask.data if mask is not None else torch.ones_like(scores, dtype=torch.bool)
    return Tensor(scores.masked_fill(~(seen.tril() if causal else seen), -math.inf).logsumexp(-1))


def sparse_attention(
    query, key, value, sparse_csr_offset, sparse_csr_columns, key_padding_mask=None, attn_mask=None, name=None
) -> Tensor:
    """Attention at the positions of a CSR pattern: arrays [batch, heads, time, features], offset [batch,
    heads, time + 1], columns [batch, heads, nonzeros]. key_padding_mask [batch, time] and attn_mask [time,
    time] mask positions where they are 0.
    """
    batch, heads, time, _ = query.shape
    offsets, columns = sparse_csr_offset.data.long(), sparse_csr_columns.data.long()
    seen = torch.zeros(batch, heads, time, time, dtype=torch.bool, device=query.data.device)
    for b in range(batch):
        for h in range(heads):
            rows = torch.repeat_interleave(torch.arange(time), offsets[b, h].diff().cpu())
            seen[b, h, rows, columns[b, h, : len(rows)]] = True
    if key_padding_mask is not None:
        seen &= (key_padding_mask.data != 0)[:, None, None, :]
    if attn_mask is not None:
        seen &= attn_mask.data != 0
    query, key, value = (x.transpose([0, 2, 1, 3]) for x in (query, key, value))
    result = attention(query, key, value, Tensor(seen))[0].transpose([0, 2, 1, 3])
    return where(Tensor(seen.any(-1, keepdim=True)), result, result * 0)


spell(globals(), __name__)
