"""Self-attention that knows how far apart two frames are, but not where they are.

The score of query i and key j is ((q_i + u) . k_j + (q_i + v) . r_{i-j}) / sqrt(d): what the key holds, and
a learned function of the distance i - j. It is the same anywhere in a recording, so a network that was
trained on sentences runs over an hour of sound.
Source: Dai et al., Transformer-XL, 2019, section 3.3 and appendix B.
"""

from typing import Any, NamedTuple

import torch

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat

__all__ = ["KeyCache", "RelativeAttention", "distance_encoding"]


class KeyCache(NamedTuple):
    """Keys and values of earlier frames, each [batch, time, heads, size of a head]."""

    key: Any
    value: Any


def distance_encoding(queries: int, keys: int, width: int, like: Any) -> Tensor:
    """[keys + queries - 1, width]: sines and cosines of the distances keys - 1 down to 1 - queries.

    The queries are the last frames of the keys. Entry [n, 2 k] is sin(distance / 10000^(2 k / width)), entry
    [n, 2 k + 1] its cosine. like: a tensor of the result's dtype and place.
    """
    if width % 2:
        raise InvalidArgument(f"width: expected an even number, got {width}")
    distance = torch.arange(keys - 1, -queries, -1, dtype=torch.float64)
    angle = distance[:, None] * 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    return Tensor(table.to(like.data.device, like.data.dtype))


def shift(scores: Any) -> Any:
    """Scores by distance [batch, heads, queries, keys + queries - 1] to scores by key [..., queries, keys].

    Row i of the result is row i of the input from column queries - 1 - i on: one frame later means one column
    less. A column of zeros and a reshape move every row at once (Dai et al. 2019, appendix B).
    """
    batch, heads, queries, distances = scores.shape
    padded = F.pad(scores, [0, 0, 0, 0, 0, 0, 1, 0])  # [batch, heads, queries, distances + 1]
    turned = padded.reshape([batch, heads, distances + 1, queries])[:, :, 1:]
    return turned.reshape([batch, heads, queries, distances])[..., : distances - queries + 1]


class RelativeAttention(nn.MultiHeadAttention):
    """Self-attention in `num_heads` heads with relative positions: [batch, time, width] to the same shape.

    forward(x, distances, mask, cache): distances, from `distance_encoding`; mask, added to the scores,
    [batch, 1, queries, keys] or None; cache, a KeyCache of earlier frames or None. Returns (result, KeyCache
    of the earlier frames and these).
    """

    content_bias: Any
    position_bias: Any

    def __init__(self, width: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__(width, num_heads, dropout)
        self.pos_proj = nn.Linear(width, width, bias_attr=False)
        self.content_bias = self.create_parameter([num_heads, self.head_dim])  # u
        self.position_bias = self.create_parameter([num_heads, self.head_dim])  # v

    def forward(  # type: ignore[override]
        self, x: Any, distances: Any, mask: Any = None, cache: KeyCache | None = None
    ) -> tuple[Any, KeyCache]:
        q, k, v = (self._heads(projected(x)) for projected in (self.q_proj, self.k_proj, self.v_proj))
        if cache is not None:
            k, v = concat([cache.key, k], 1), concat([cache.value, v], 1)
        r = self.pos_proj(distances).reshape([-1, self.num_heads, self.head_dim])
        by_distance = (q + self.position_bias).transpose([0, 2, 1, 3]) @ r.transpose([1, 2, 0])
        bias = shift(by_distance) * self.head_dim**-0.5  # [batch, heads, queries, keys]
        bias = bias if mask is None else bias + mask
        drop = {"dropout_p": self.dropout, "training": self.training}
        mixed = F.scaled_dot_product_attention(q + self.content_bias, k, v, attn_mask=bias, **drop)
        return self.out_proj(mixed.flatten(2)), KeyCache(k, v)
