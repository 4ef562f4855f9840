"""The transformer (Vaswani et al. 2017): attention in several heads, encoder and decoder, with caches for
decoding.

Sequences are [batch, time, width]. Masks are added to the scores (0 or minus infinity), or bool or integers,
where False or 0 hides a key; they are broadcast to [batch, heads, queries, keys].
"""

import copy
import math
from typing import Any, NamedTuple

from ..creation import full
from ..dtype import DataType
from ..engine.tensor import InvalidArgument, Tensor
from ..ops.joining import concat
from ..ops.shape import triu
from . import functional as F
from .attr import ParamAttr
from .container import LayerList
from .dropout import Dropout
from .functional.attention import attention
from .layer import Layer
from .linear import Linear
from .norm import LayerNorm

# fmt: off
__all__ = [
    "MultiHeadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer",
    "TransformerEncoder", "TransformerEncoderLayer",
]
# fmt: on


def _added(mask: Any, dtype: DataType) -> Any:
    """A mask as what is added to the scores: hidden where it was False or 0."""
    if mask is None or mask.dtype == dtype:
        return mask
    if mask.dtype.is_floating_point:
        return mask.astype(dtype)
    return (mask.astype(dtype) - 1.0) * 1e9


def _attrs(given: Any, count: int, name: str) -> list[Any]:
    """One attr for each of `count` parts: a list as it is, a single one copied, its name with a number
    each."""
    if isinstance(given, list | tuple):
        if len(given) != count:
            raise InvalidArgument(f"{name}: expected {count} of them, got {len(given)}")
        return list(given)
    one: Any = ParamAttr.of(given) if isinstance(given, ParamAttr | str) else None
    if one and one.name:
        copies = [copy.copy(one) for _ in range(count)]
        for index, attr in enumerate(copies):
            attr.name = f"{attr.name}_{index}"
        return copies
    return [given] * count


def _positive(**sizes: int) -> None:
    for name, value in sizes.items():
        if value <= 0:
            raise InvalidArgument(f"{name}: expected a positive number, got {value}")


class Cache(NamedTuple):
    """Keys and values of the tokens so far, [batch, heads, time, features]: each call adds its own."""

    k: Any
    v: Any


class StaticCache(NamedTuple):
    """Keys and values that stay, of the encoder's result."""

    k: Any
    v: Any


class MultiHeadAttention(Layer):
    """Attention in `num_heads` heads between linear layers; returns the result, or a tuple with the weights
    [batch, heads, queries, keys] (need_weights) and the cache (if one is given) after it.

    query: [batch, queries, embed_dim], key [batch, keys, kdim], value [batch, keys, vdim]; both are query if
    None.
    """

    Cache, StaticCache = Cache, StaticCache

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        kdim=None,
        vdim=None,
        need_weights=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        _positive(embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise InvalidArgument(
                f"embed_dim: expected a multiple of num_heads ({num_heads}), got {embed_dim}"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Any) -> Any:
        return x.reshape([x.shape[0], x.shape[1], self.num_heads, self.head_dim])

    def compute_kv(self, key: Any, value: Any) -> tuple[Any, Any]:
        """Keys and values in heads, [batch, heads, time, features]."""
        k, v = self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        return k.transpose([0, 2, 1, 3]), v.transpose([0, 2, 1, 3])

    def gen_cache(self, key: Any, value: Any = None, type: Any = Cache) -> Any:
        """An empty Cache for the batch of `key`, one of given heads (key, value), or a StaticCache computed
        from them."""
        if type is StaticCache:
            return StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is not None:
            return Cache(key, value)
        empty = key.new_empty([key.shape[0], self.num_heads, 0, self.head_dim])
        return Cache(empty, empty)

    def forward(
        self, query: Any, key: Any = None, value: Any = None, attn_mask: Any = None, cache: Any = None
    ) -> Any:
        key, value = query if key is None else key, query if value is None else value
        q = self._heads(self.q_proj(query))
        if cache is None:
            k, v = self._heads(self.k_proj(key)), self._heads(self.v_proj(value))
        else:
            k, v = cache if isinstance(cache, StaticCache) else self.compute_kv(key, value)
            if isinstance(cache, Cache):
                cache = Cache(concat([cache.k, k], 2), concat([cache.v, v], 2))
                k, v = cache
            k, v = k.transpose([0, 2, 1, 3]), v.transpose([0, 2, 1, 3])
        mask = _added(attn_mask, q.dtype)
        mixed, weights = attention(q, k, v, mask, self.dropout, False, self.training, None, self.need_weights)
        out = self.out_proj(mixed.reshape([mixed.shape[0], mixed.shape[1], self.embed_dim]))
        outs = [out] + [weights] * self.need_weights + ([] if cache is None else [cache])
        return out if len(outs) == 1 else tuple(outs)


class _Block(Layer):
    """What the layers of encoder and decoder share: parts with a residual around each, then two linear
    layers."""

    parts: tuple[str, ...] = ()  # the names of the attentions

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        layer_norm_eps=1e-5,
    ):
        self._config = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        super().__init__()
        _positive(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        act_dropout = dropout if act_dropout is None else act_dropout
        self.normalize_before = normalize_before
        count = len(self.parts) + 1
        weights, biases = _attrs(weight_attr, count, "weight_attr"), _attrs(bias_attr, count, "bias_attr")
        for part, weight, bias in zip(self.parts, weights, biases, strict=False):
            made = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weight, bias_attr=bias)
            setattr(self, part, made)
        self.linear1 = Linear(d_model, dim_feedforward, weights[-1], biases[-1])
        self.dropout = Dropout(act_dropout, mode="upscale_in_train")
        self.linear2 = Linear(dim_feedforward, d_model, weights[-1], biases[-1])
        for k in range(count):
            setattr(self, f"norm{k + 1}", LayerNorm(d_model, layer_norm_eps))
        for k in range(count):
            setattr(self, f"dropout{k + 1}", Dropout(dropout, mode="upscale_in_train"))
        self.activation = getattr(F, activation)

    def _around(self, k: int, x: Any, part: Any) -> tuple[Any, Any]:
        """x + dropout(part(x)) with the k-th norm before or after; part gives its result, or a pair with a
        cache."""
        norm = getattr(self, f"norm{k}")
        found = part(norm(x) if self.normalize_before else x)
        result, cache = found if isinstance(found, tuple) else (found, None)
        x = x + getattr(self, f"dropout{k}")(result)
        return x if self.normalize_before else norm(x), cache

    def _feed(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Block):
    """Self-attention and two linear layers. weight_attr, bias_attr: one, or one for each of these two."""

    parts = ("self_attn",)
    self_attn: MultiHeadAttention

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        x, new = self._around(1, src, lambda x: self.self_attn(x, x, x, src_mask, cache))
        x, _ = self._around(2, x, self._feed)
        return x if cache is None else (x, new)

    def gen_cache(self, src: Any) -> Any:
        return self.self_attn.gen_cache(src)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention over the encoder's result `memory`, two linear layers; attrs as many."""

    parts = ("self_attn", "cross_attn")
    self_attn: MultiHeadAttention
    cross_attn: MultiHeadAttention

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None
    ) -> Any:
        own, other = (None, None) if cache is None else cache
        x, new = self._around(1, tgt, lambda x: self.self_attn(x, x, x, tgt_mask, own))
        x, kept = self._around(2, x, lambda x: self.cross_attn(x, memory, memory, memory_mask, other))
        x, _ = self._around(3, x, self._feed)
        return x if cache is None else (x, (new, kept))

    def gen_cache(self, memory: Any) -> Any:
        return self.self_attn.gen_cache(memory), self.cross_attn.gen_cache(memory, memory, StaticCache)


class _Layers(Layer):
    """`num_layers` layers made like the given one, which is the first, and a norm at the end."""

    def __init__(self, layer: Any, num_layers: int, norm: Any) -> None:
        super().__init__()
        others = [type(layer)(**layer._config) for _ in range(num_layers - 1)]
        self.layers = LayerList([layer, *others][:num_layers])
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Any, cache: Any, *given: Any) -> Any:
        new = []
        for k, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, *given)
            else:
                x, kept = layer(x, *given, cache=cache[k])
                new.append(kept)
        x = x if self.norm is None else self.norm(x)
        return x if cache is None else (x, new)


class TransformerEncoder(_Layers):
    """Encoder layers one after the other. With a cache (`gen_cache`), (result, new caches)."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        return self._through(src, cache, src_mask)

    def gen_cache(self, src: Any) -> list[Any]:
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(_Layers):
    """Decoder layers one after the other. With a cache (`gen_cache`), (result, new caches)."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, cache: Any = None
    ) -> Any:
        return self._through(tgt, cache, memory, tgt_mask, memory_mask)

    def gen_cache(self, memory: Any, do_zip: bool = False) -> list[Any]:
        """A pair (Cache, StaticCache) for each layer; do_zip: all Caches and all StaticCaches."""
        made = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*made, strict=True)) if do_zip else made


class Transformer(Layer):
    """Encoder and decoder: called with (src, tgt, src_mask, tgt_mask, memory_mask).

    weight_attr, bias_attr: one; or two (attention, linear); or three (self-attention, cross-attention,
    linear).
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        custom_encoder=None,
        custom_decoder=None,
    ):
        super().__init__()
        dropouts = (dropout, activation, attn_dropout, act_dropout)
        settings = (d_model, nhead, dim_feedforward, *dropouts, normalize_before)
        _positive(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        self.d_model, self.nhead = d_model, nhead
        (weight, decoder_weight), (bias, decoder_bias) = _shared(weight_attr), _shared(bias_attr)
        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*settings, weight, bias)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is None:
            other = TransformerDecoderLayer(*settings, decoder_weight, decoder_bias)
            self.decoder = TransformerDecoder(other, num_decoder_layers, LayerNorm(d_model))

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None) -> Tensor:
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, memory_mask)

    def generate_square_subsequent_mask(self, length: Any) -> Tensor:
        """[length, length]: 0 where a token may look, minus infinity above the diagonal."""
        return triu(full([int(length), int(length)], -math.inf, self._dtype), 1)


def _shared(attr: Any) -> tuple[Any, Any]:
    """The attrs of the encoder's two parts and of the decoder's three."""
    if not isinstance(attr, list | tuple):
        return attr, attr
    if not 1 <= len(attr) <= 3:
        raise InvalidArgument(f"weight_attr, bias_attr: expected one, two or three, got {len(attr)}")
    return [attr[0], attr[-1]], [attr[0], attr[1] if len(attr) == 3 else attr[0], attr[-1]]
