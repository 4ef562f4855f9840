"""Self-attention that knows how far apart two frames are, but not where they are.

The score of query i and key j is ((q_i + u) . k_j + (q_i + v) . r_{i-j}) / sqrt(d): what the key holds, and
a learned function of the distance i - j. It is the same anywhere in a recording, so a network that was
trained on sentences runs over an hour of sound.
Source: Dai et al., Transformer-XL, 2019, section 3.3 and appendix B.
"""

from typing import Any, NamedTuple

import torch

from ... import nn
from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat
from .operators import project, scores_by_distance

__all__ = ["KeyCache", "Projection", "RelativeAttention", "distance_encoding"]


class KeyCache(NamedTuple):
    """Keys and values of earlier frames, each [batch, time, heads, size of a head]."""

    key: Any
    value: Any


@operator(amp="as_is")
def encoded_distances(queries, keys, width, like):
    """`distance_encoding`, unchecked."""
    distance = torch.arange(keys - 1, -queries, -1, dtype=torch.float64)
    angle = distance[:, None] * 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    table = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
    return table.to(like.device, like.dtype)


def distance_encoding(queries: int, keys: int, width: int, like: Any) -> Tensor:
    """[keys + queries - 1, width]: sines and cosines of the distances keys - 1 down to 1 - queries.

    The queries are the last frames of the keys. Entry [n, 2 k] is sin(distance / 10000^(2 k / width)), entry
    [n, 2 k + 1] its cosine. like: a tensor of the result's dtype and place.
    """
    if width % 2:
        raise InvalidArgument(f"width: expected an even number, got {width}")
    return encoded_distances(queries, keys, width, like)


class Projection(nn.Linear):
    """A linear layer over the last axis, in one call for any number of axes."""

    def forward(self, x: Any) -> Tensor:
        return project(x, self.weight, self.bias)


class RelativeAttention(nn.Layer):
    """Self-attention in `num_heads` heads with relative positions: [batch, time, width] to the same shape.

    forward(x, distances, mask, cache): distances, from `distance_encoding`, or `places` of them; mask, added
    to the scores, [batch, 1, queries, keys] or None; cache, a KeyCache of earlier frames or None. Returns
    (result, KeyCache of the earlier frames and these). Raises InvalidArgument for a width that the heads do
    not divide.
    """

    content_bias: Any
    position_bias: Any

    def __init__(self, width: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if num_heads < 1 or width % num_heads:
            raise InvalidArgument(f"num_heads: expected a divisor of {width}, got {num_heads}")
        self.num_heads, self.head_dim, self.dropout = num_heads, width // num_heads, dropout
        self.q_proj, self.k_proj = Projection(width, width), Projection(width, width)
        self.v_proj, self.out_proj = Projection(width, width), Projection(width, width)
        self.pos_proj = Projection(width, width, bias_attr=False)
        self.content_bias = self.create_parameter([num_heads, self.head_dim])  # u
        self.position_bias = self.create_parameter([num_heads, self.head_dim])  # v

    def places(self, distances: Any) -> Any:
        """r for each distance, [distances, heads, size of a head]: the same for every chunk of a stream."""
        return self.pos_proj(distances).reshape([-1, self.num_heads, self.head_dim])

    def forward(
        self, x: Any, distances: Any, mask: Any = None, cache: KeyCache | None = None
    ) -> tuple[Any, KeyCache]:
        heads = [*x.shape[:2], self.num_heads, self.head_dim]
        q, k, v = (proj(x).reshape(heads) for proj in (self.q_proj, self.k_proj, self.v_proj))
        if cache is not None:
            k, v = concat([cache.key, k], 1), concat([cache.value, v], 1)
        r = distances if distances.ndim == 3 else self.places(distances)
        bias = scores_by_distance(q, self.position_bias, r, self.head_dim**-0.5)
        bias = bias if mask is None else bias + mask
        given = (q + self.content_bias, k, v, bias, self.dropout, False, self.training)
        mixed = F.scaled_dot_product_attention(*given)
        return self.out_proj(mixed.reshape(heads[:2] + [-1])), KeyCache(k, v)
