"""The Conformer: attention for what is far apart, convolution for what is near.

A block is half a feed-forward network, self-attention, a convolution module, the other half and a norm, each
with a residual around it. Shapes stay [batch, time, width]; the encoder maps features [batch, time, input
size] to [batch, time / 4, width].
Source: Gulati et al., Conformer: Convolution-augmented Transformer for Speech Recognition, 2020. Chunks,
causal convolution and caches: Zhang et al. (U2), 2020, and Yao et al. (WeNet), 2021.
"""

from typing import Any, NamedTuple

from ... import nn
from ...engine.backward import no_grad
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat, where
from ...ops.normalization import normalize_layer
from .attention import KeyCache, Projection, RelativeAttention, distance_encoding
from .masks import _check_chunk, all_full, attention_mask, draw_chunk, length_mask
from .operators import depthwise, residual
from .subsampling import Subsampling4, _check_features

__all__ = [
    "BlockCache",
    "ConformerBlock",
    "ConformerEncoder",
    "ConvolutionModule",
    "EncoderCache",
    "FeedForward",
]


class Dropout(nn.Dropout):
    """Dropout that returns its input itself in evaluation, and no copy."""

    def forward(self, x: Any) -> Any:
        return super().forward(x) if self.training else x


class LayerNorm(nn.LayerNorm):
    """Layer normalisation of the last axis, in one call."""

    def forward(self, x: Any) -> Tensor:
        return normalize_layer(x, self.weight, self.bias, self.epsilon)


class FeedForward(nn.Layer):
    """Norm, linear layer to `hidden`, Swish, dropout, linear layer back, dropout (Gulati 2020, 2.3)."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm = LayerNorm(width)
        self.linear1, self.linear2 = Projection(width, hidden), Projection(hidden, width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Any) -> Any:
        hidden = self.dropout(F.silu(self.linear1(self.norm(x))))
        return self.dropout(self.linear2(hidden))


class ConvolutionModule(nn.Layer):
    """Norm, pointwise layer with a gate (GLU), depthwise convolution, norm, Swish, pointwise layer, dropout.

    causal: the convolution sees earlier frames alone, as a stream needs; else it sees as many on both sides
    (kernel_size odd). norm: "batch", as in the paper, or "layer", which does not depend on the batch.
    Source: Gulati et al. 2020, figure 2.
    """

    def __init__(self, width: int, kernel_size: int, causal: bool, norm: str, dropout: float) -> None:
        super().__init__()
        if kernel_size < 1 or (kernel_size % 2 == 0 and not causal):
            raise InvalidArgument(f"kernel_size: expected an odd number of frames, got {kernel_size}")
        if norm not in ("batch", "layer"):
            raise InvalidArgument(f"norm: expected 'batch' or 'layer', got {norm!r}")
        self.kernel_size, self.causal = kernel_size, causal
        self.layer_norm = LayerNorm(width)
        self.pointwise1, self.pointwise2 = Projection(width, 2 * width), Projection(width, width)
        self.depthwise = nn.Conv1D(width, width, kernel_size, groups=width)
        self.norm = nn.BatchNorm1D(width, data_format="NLC") if norm == "batch" else LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Any, valid: Any = None, past: Any = None) -> tuple[Any, Any]:
        """x: [batch, time, width]. valid: bool [batch, time, 1], False in padding, or None.

        past: the kernel_size - 1 frames before x as the convolution saw them, [batch, kernel_size - 1,
        width], or None for silence. Returns (result, the past of the next call).
        """
        time = x.shape[1]
        x = F.glu(self.pointwise1(self.layer_norm(x)), -1)
        if valid is not None:  # padding must not enter the frames beside it
            x = where(valid, x, x * 0.0)
        around = self.kernel_size - 1
        if past is not None:
            x = concat([past, x], 1)
        else:
            before = around if self.causal else around // 2
            x = F.pad(x, [0, 0, before, around - before, 0, 0])
        past = Tensor(x.data[:, time:]) if self.causal and not self.training else None
        x = self.norm(depthwise(x, self.depthwise.weight, self.depthwise.bias))
        return self.dropout(self.pointwise2(F.silu(x))), past


class BlockCache(NamedTuple):
    """What a block keeps of earlier frames: keys and values, and the input of its convolution."""

    keys: KeyCache | None
    past: Any


class EncoderCache(NamedTuple):
    """What an encoder keeps between two chunks of a stream.

    places: of each block for the distances keep + frames - 1 down to 1 - frames, see
    `RelativeAttention.places`; every chunk of up to `frames` frames takes its own from these.
    """

    blocks: list[BlockCache]
    places: list[Any]
    frames: int


class ConformerBlock(nn.Layer):
    """x + FFN(x) / 2, + attention, + convolution, + FFN / 2, and a norm (Gulati et al. 2020, equation 1)."""

    def __init__(
        self,
        width: int,
        num_heads: int,
        hidden: int,
        kernel_size: int = 31,
        causal: bool = False,
        norm: str = "batch",
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        self.feed1, self.feed2 = FeedForward(width, hidden, dropout), FeedForward(width, hidden, dropout)
        self.attention_norm = LayerNorm(width)
        self.attention = RelativeAttention(width, num_heads, dropout)
        self.dropout = Dropout(dropout)
        self.convolution = ConvolutionModule(width, kernel_size, causal, norm, dropout)
        self.norm = LayerNorm(width)

    def forward(
        self, x: Any, distances: Any, mask: Any = None, valid: Any = None, cache: BlockCache | None = None
    ) -> tuple[Any, BlockCache]:
        """x: [batch, time, width]; distances, mask: as RelativeAttention takes them; valid, as
        ConvolutionModule. Returns (result, what the next call may get as `cache`)."""
        keys, past = (None, None) if cache is None else cache
        x = residual(x, self.feed1(x), 0.5)
        mixed, keys = self.attention(self.attention_norm(x), distances, mask, keys)
        x = x + self.dropout(mixed)
        mixed, past = self.convolution(x, valid, past)
        x = x + mixed
        x = residual(x, self.feed2(x), 0.5)
        return self.norm(x), BlockCache(keys, past)


class ConformerEncoder(nn.Layer):
    """Convolutional subsampling by four, and `num_layers` Conformer blocks.

    The defaults are the encoder of the paper's small network (table 1): 8.7 M parameters. dynamic_chunk: each
    training call draws the chunk of its attention (`draw_chunk`); causal: for streams, see ConvolutionModule.
    subsampling_channels: as `channels` of Subsampling4.

    forward(features, lengths, chunk, left_chunks): features float [batch, time, input_size]; lengths, ints
    [batch], None: all `time`; chunk, in frames of the result, None: every frame sees all; left_chunks: how
    many chunks before its own a frame sees, -1: all. Returns (Tensor [batch, frames, width], lengths int64
    [batch]); what is behind a sequence's end is undefined.
    """

    def __init__(
        self,
        input_size: int = 80,
        width: int = 144,
        num_layers: int = 16,
        num_heads: int = 4,
        hidden: int | None = None,
        kernel_size: int = 31,
        causal: bool = False,
        norm: str = "batch",
        dropout: float = 0.1,
        dynamic_chunk: bool = False,
        subsampling_channels: int | None = None,
    ) -> None:
        super().__init__()
        if num_layers < 1:
            raise InvalidArgument(f"num_layers: expected 1 or more, got {num_layers}")
        self.input_size, self.width = input_size, width
        self.causal, self.dynamic_chunk = causal, dynamic_chunk
        self.subsampling = Subsampling4(input_size, width, subsampling_channels)
        self.dropout = Dropout(dropout)
        settings = (width, num_heads, hidden or 4 * width, kernel_size, causal, norm, dropout)
        self.blocks = nn.LayerList([ConformerBlock(*settings) for _ in range(num_layers)])

    def forward(
        self, features: Any, lengths: Any = None, chunk: int | None = None, left_chunks: int = -1
    ) -> tuple[Tensor, Tensor]:
        whole = lengths is None
        lengths = _check_features(features, lengths, self.input_size, self.blocks[0].norm.weight)
        _check_chunk(chunk, left_chunks)
        x = self.dropout(self.subsampling(features))
        time, lengths = x.shape[1], self.subsampling.frames(lengths)
        if chunk is None and self.dynamic_chunk and self.training:
            chunk = draw_chunk(time)
        whole = whole or all_full(lengths, time)
        mask = None
        if chunk is not None or not whole:
            mask = attention_mask(lengths, time, chunk, left_chunks, x)
        valid = None if whole else length_mask(lengths, time).unsqueeze(-1)
        distances = distance_encoding(time, time, self.width, x)
        for block in self.blocks:
            x, _ = block(x, distances, mask, valid)
        return x, lengths

    @no_grad()
    def step(self, features: Any, cache: EncoderCache | None, keep: int | None) -> tuple[Tensor, Any]:
        """One chunk of a stream: features [1, time, input_size], of which the last 3 frames are repeated as
        the first ones of the next call. Returns (Tensor [1, frames, width], the next call's cache), without
        gradients.

        cache: None at the beginning. keep: how many earlier frames stay in the cache, None: all.
        """
        if not self.causal:
            raise InvalidArgument("a stream needs causal convolutions: ConformerEncoder(causal=True)")
        x = self.dropout(self.subsampling(features))
        time, blocks = x.shape[1], cache.blocks if cache else [None] * len(self.blocks)
        keys = cache.blocks[0].keys if cache else None
        earlier = keys.key.shape[1] if keys else 0
        longest = earlier if keep is None else keep
        if cache and keep is not None and time <= cache.frames:
            places, frames = cache.places, cache.frames
        else:
            distances, frames = distance_encoding(time, longest + time, self.width, x), time
            places = [block.attention.places(distances) for block in self.blocks]
        first, end = longest - earlier + frames - time, longest + frames + time - 1
        made = []
        for k, block in enumerate(self.blocks):
            own = Tensor(places[k].data[first:end])
            x, left = block(x, own, cache=blocks[k])
            made.append(BlockCache(_last(left.keys, keep), left.past))
        return x, EncoderCache(made, places, frames)


def _last(keys: KeyCache, keep: int | None) -> KeyCache | None:
    """The last `keep` frames of a cache, outside the tape."""
    first = 0 if keep is None else max(keys.key.shape[1] - keep, 0)
    if keep == 0:
        return None
    return KeyCache(Tensor(keys.key.data[:, first:]), Tensor(keys.value.data[:, first:]))
