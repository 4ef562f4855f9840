"""Attention with one of the masks of `attn_bias`."""

from typing import Any

from ....engine.spelling import spell
from ....engine.tensor import InvalidArgument, InvalidType, Tensor
from ....nn.functional.attention import attention
from .attn_bias import AttentionBias, LowerTriangularMask, LowerTriangularMaskWithTensorBias


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None, training=True) -> Tensor:
    """softmax(query key^T scale + attn_bias) value for arrays [batch, time, heads, d].

    attn_bias: a Tensor that broadcasts to [batch, heads, queries, keys], or a mask of `attn_bias`; masks of
    blocks expect one row, [1, all places, heads, d]. p: dropout of the weights in training. scale: None or
    less than 0 for 1 / sqrt(d).
    """
    for name, given in (("query", query), ("key", key), ("value", value)):
        if given.ndim != 4:
            raise InvalidArgument(f"{name}: expected [batch, time, heads, d], got {list(given.shape)}")
    if not isinstance(attn_bias, Tensor | AttentionBias | None):
        raise InvalidType(f"attn_bias: expected a Tensor, a mask or None, got {type(attn_bias).__name__}")
    scale = None if scale is None or scale < 0 else scale
    bias: Any = attn_bias
    causal = type(attn_bias) is LowerTriangularMask
    if isinstance(attn_bias, AttentionBias):
        size = [query.shape[1], key.shape[1]]
        if isinstance(attn_bias, LowerTriangularMaskWithTensorBias):
            size = [*attn_bias._bias.shape[:-2], *size]
        elif not causal and query.shape[0] != 1:
            raise InvalidArgument(f"query: expected one row with this mask, got {list(query.shape)}")
        bias = None if causal else attn_bias.materialize(size, query.dtype)
        if bias is not None and query.data.is_cuda:
            bias = bias.to(query.place)
    return attention(query, key, value, bias, p, causal, training, scale)[0]


spell(globals(), __name__)
