"""The Conformer: attention for what is far apart, convolution for what is near.

A block is half a feed-forward network, self-attention, a convolution module, the other half and a norm, each
with a residual around it. Shapes stay [batch, time, width]; the encoder maps features [batch, time, input
size] to [batch, time / 4, width].
Source: Gulati et al., Conformer: Convolution-augmented Transformer for Speech Recognition, 2020. Chunks,
causal convolution and caches: Zhang et al. (U2), 2020, and Yao et al. (WeNet), 2021.
"""

from typing import Any, NamedTuple

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from ...ops import concat, where
from .attention import KeyCache, RelativeAttention, distance_encoding
from .masks import _check_chunk, attention_mask, draw_chunk, length_mask
from .subsampling import Subsampling4, _check_features

__all__ = ["BlockCache", "ConformerBlock", "ConformerEncoder", "ConvolutionModule", "FeedForward"]


class FeedForward(nn.Layer):
    """Norm, linear layer to `hidden`, Swish, dropout, linear layer back, dropout (Gulati 2020, 2.3)."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear1, self.linear2 = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.dropout = nn.Dropout(dropout)

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
        self.layer_norm = nn.LayerNorm(width)
        self.pointwise1, self.pointwise2 = nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.depthwise = nn.Conv1D(width, width, kernel_size, groups=width)
        self.norm = nn.BatchNorm1D(width, data_format="NLC") if norm == "batch" else nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Any, valid: Any = None, past: Any = None) -> tuple[Any, Any]:
        """x: [batch, time, width]. valid: bool [batch, time, 1], False in padding, or None.

        past: the kernel_size - 1 frames before x as the convolution saw them, [batch, kernel_size - 1,
        width], or None for silence. Returns (result, the past of the next call).
        """
        x = F.glu(self.pointwise1(self.layer_norm(x)), -1)
        if valid is not None:  # padding must not enter the frames beside it
            x = where(valid, x, x * 0.0)
        around = self.kernel_size - 1
        if past is not None:
            x = concat([past, x], 1)
        else:
            before = around if self.causal else around // 2
            x = F.pad(x, [0, 0, before, around - before, 0, 0])
        past = x[:, x.shape[1] - around :] if self.causal else None
        x = self.depthwise(x.transpose([0, 2, 1])).transpose([0, 2, 1])
        return self.dropout(self.pointwise2(F.silu(self.norm(x)))), past


class BlockCache(NamedTuple):
    """What a block keeps of earlier frames: keys and values, and the input of its convolution."""

    keys: KeyCache | None
    past: Any


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
        self.attention_norm = nn.LayerNorm(width)
        self.attention = RelativeAttention(width, num_heads, dropout)
        self.dropout = nn.Dropout(dropout)
        self.convolution = ConvolutionModule(width, kernel_size, causal, norm, dropout)
        self.norm = nn.LayerNorm(width)

    def forward(
        self, x: Any, distances: Any, mask: Any = None, valid: Any = None, cache: BlockCache | None = None
    ) -> tuple[Any, BlockCache]:
        """x: [batch, time, width]; distances, mask: as RelativeAttention takes them; valid, as
        ConvolutionModule. Returns (result, what the next call may get as `cache`)."""
        keys, past = (None, None) if cache is None else cache
        x = x + self.feed1(x) * 0.5
        mixed, keys = self.attention(self.attention_norm(x), distances, mask, keys)
        x = x + self.dropout(mixed)
        mixed, past = self.convolution(x, valid, past)
        x = x + mixed
        x = x + self.feed2(x) * 0.5
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
        self.dropout = nn.Dropout(dropout)
        settings = (width, num_heads, hidden or 4 * width, kernel_size, causal, norm, dropout)
        self.blocks = nn.LayerList([ConformerBlock(*settings) for _ in range(num_layers)])

    def forward(
        self, features: Any, lengths: Any = None, chunk: int | None = None, left_chunks: int = -1
    ) -> tuple[Tensor, Tensor]:
        lengths = _check_features(features, lengths, self.input_size, self.blocks[0].norm.weight)
        _check_chunk(chunk, left_chunks)
        x = self.dropout(self.subsampling(features))
        time, lengths = x.shape[1], self.subsampling.frames(lengths)
        if chunk is None and self.dynamic_chunk and self.training:
            chunk = draw_chunk(time)
        mask = attention_mask(lengths, time, chunk, left_chunks, x)
        full = int(lengths.min()) == time
        valid = None if full else length_mask(lengths, time).unsqueeze(-1)
        distances = distance_encoding(time, time, self.width, x)
        for block in self.blocks:
            x, _ = block(x, distances, mask, valid)
        return x, Tensor(lengths)

    def step(self, features: Any, caches: list[BlockCache] | None, keep: int | None) -> tuple[Tensor, Any]:
        """One chunk of a stream: features [1, time, input_size], of which the last 3 frames are repeated as
        the first ones of the next call. Returns (Tensor [1, frames, width], the next call's caches).

        caches: None at the beginning. keep: how many earlier frames stay in the caches, None: all.
        """
        if not self.causal:
            raise InvalidArgument("a stream needs causal convolutions: ConformerEncoder(causal=True)")
        x = self.dropout(self.subsampling(features))
        earlier = caches[0].keys.key.shape[1] if caches and caches[0].keys else 0
        distances = distance_encoding(x.shape[1], earlier + x.shape[1], self.width, x)
        made = []
        for k, block in enumerate(self.blocks):
            x, cache = block(x, distances, cache=caches[k] if caches else None)
            made.append(BlockCache(_last(cache.keys, keep), cache.past))
        return x, made


def _last(keys: KeyCache, keep: int | None) -> KeyCache | None:
    """The last `keep` frames of a cache."""
    first = 0 if keep is None else max(keys.key.shape[1] - keep, 0)
    if keep == 0:
        return None
    return KeyCache(keys.key[:, first:], keys.value[:, first:]) if first else keys
