"""A recurrent encoder: subsampling, then LSTM or GRU layers, in one direction or in both.

Shapes: features [batch, time, input size] to [batch, time / 4, width]. It is the generation before the
Conformer, and what that is compared with.
Source: Graves, Mohamed and Hinton, Speech Recognition with Deep Recurrent Neural Networks, 2013; Cho et al.,
2014 (GRU).
"""

from typing import Any

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from .masks import _check_chunk
from .subsampling import Subsampling4, _check_features

__all__ = ["RecurrentEncoder"]


class RecurrentEncoder(nn.Layer):
    """Convolutional subsampling by four, `num_layers` recurrent layers, and a norm.

    kind: "lstm" or "gru". bidirectional: each layer also runs from the end; such an encoder cannot stream.
    hidden: states of one direction. width: of the result, hidden or 2 * hidden. forward(features, lengths) is
    as in ConformerEncoder; chunk and left_chunks are accepted and change nothing.
    """

    def __init__(
        self,
        input_size: int = 80,
        hidden: int = 256,
        num_layers: int = 4,
        kind: str = "lstm",
        bidirectional: bool = True,
        dropout: float = 0.1,
        subsampling_channels: int | None = None,
    ) -> None:
        super().__init__()
        if kind not in ("lstm", "gru"):
            raise InvalidArgument(f"kind: expected 'lstm' or 'gru', got {kind!r}")
        self.input_size, self.bidirectional = input_size, bidirectional
        self.width = hidden * (2 if bidirectional else 1)
        self.subsampling = Subsampling4(input_size, hidden, subsampling_channels)
        layers = nn.LSTM if kind == "lstm" else nn.GRU
        direction = "bidirect" if bidirectional else "forward"
        self.rnn = layers(hidden, hidden, num_layers, direction, dropout=dropout)
        self.norm = nn.LayerNorm(self.width)

    def forward(
        self, features: Any, lengths: Any = None, chunk: int | None = None, left_chunks: int = -1
    ) -> tuple[Tensor, Tensor]:
        lengths = _check_features(features, lengths, self.input_size, self.norm.weight)
        _check_chunk(chunk, left_chunks)
        lengths = self.subsampling.frames(lengths)
        x, _ = self.rnn(self.subsampling(features), None, lengths)
        return self.norm(x), lengths

    def step(self, features: Any, caches: Any, keep: int | None) -> tuple[Tensor, Any]:
        """One chunk of a stream, as in ConformerEncoder; the caches are the states of the layers."""
        if self.bidirectional:
            raise InvalidArgument("a stream needs one direction: RecurrentEncoder(bidirectional=False)")
        x, states = self.rnn(self.subsampling(features), caches)
        return self.norm(x), states
