"""A recogniser: an encoder with a CTC head, and an attention decoder that rescores its texts.

The head gives each frame a distribution over tokens and a blank, token 0. The loss of both is
ctc_weight * CTC + (1 - ctc_weight) * attention.
Source: Graves et al., Connectionist Temporal Classification, 2006; Watanabe et al. 2017, equation 10; Zhang
et al. (U2), 2020, equation 1.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import nn
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from .decoder import AttentionDecoder, _check_labels
from .streaming import EncoderStream

__all__ = ["CTCHead", "SpeechModel", "SpeechOutput"]


class CTCHead(nn.Layer):
    """A linear layer from frames [batch, time, width] to logits [..., vocabulary]; token 0 is the blank."""

    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__()
        if vocabulary < 2:
            raise InvalidArgument(f"vocabulary: expected 2 or more tokens, blank included, got {vocabulary}")
        self.vocabulary = vocabulary
        self.linear = nn.Linear(width, vocabulary)

    def forward(self, encoded: Any) -> Tensor:
        return self.linear(encoded)

    def log_probs(self, encoded: Any) -> Tensor:
        """log softmax of the logits, [..., vocabulary]."""
        return F.log_softmax(self(encoded), -1)

    def loss(self, encoded: Any, lengths: Any, labels: Any, label_lengths: Any) -> Tensor:
        """The CTC loss in nats, averaged over the batch.

        Raises InvalidArgument where a label sequence needs more frames than there are: one for each label,
        and a blank between two equal ones.
        """
        labels, counts = _check_labels(labels, label_lengths, encoded.shape[0], self.vocabulary)
        repeated = (labels[:, 1:] == labels[:, :-1]) & (labels[:, 1:] > 0)
        needed, frames = counts + repeated.sum(1), lengths.data.cpu()
        if bool((needed > frames).any()):
            row = int((needed > frames).nonzero()[0])
            raise InvalidArgument(
                f"labels: row {row} needs at least {int(needed[row])} frames, "
                f"the encoder gave {int(frames[row])}"
            )
        logits = self(encoded).transpose([1, 0, 2])
        total = F.ctc_loss(logits, Tensor(labels), lengths, Tensor(counts), 0, reduction="sum")
        return total / encoded.shape[0]


class SpeechOutput(NamedTuple):
    """logits: float [batch, frames, vocabulary]; lengths: int64 [batch], the frames of each sequence."""

    logits: Tensor
    lengths: Tensor


class SpeechModel(nn.Layer):
    """Encoder, CTC head, and a decoder or None.

    encoder: a ConformerEncoder, RecurrentEncoder or a layer with their `forward`, `step` and `width`.
    ctc_weight: the share of CTC in the loss; without a decoder it is 1. forward takes what the encoder takes
    and returns a SpeechOutput.
    """

    def __init__(
        self,
        encoder: Any,
        vocabulary: int,
        decoder: AttentionDecoder | None = None,
        ctc_weight: float = 0.3,
    ) -> None:
        super().__init__()
        if not 0 <= ctc_weight <= 1:
            raise InvalidArgument(f"ctc_weight: expected 0 to 1, got {ctc_weight}")
        if decoder is not None and (decoder.vocabulary, decoder.width) != (vocabulary, encoder.width):
            raise InvalidArgument(
                f"decoder: expected vocabulary {vocabulary} and width {encoder.width}, "
                f"got {decoder.vocabulary} and {decoder.width}"
            )
        self.encoder, self.decoder = encoder, decoder
        self.head = CTCHead(encoder.width, vocabulary)
        self.vocabulary, self.ctc_weight = vocabulary, ctc_weight

    def forward(
        self, features: Any, lengths: Any = None, chunk: int | None = None, left_chunks: int = -1
    ) -> SpeechOutput:
        encoded, lengths = self.encoder(features, lengths, chunk, left_chunks)
        return SpeechOutput(self.head(encoded), lengths)

    def loss(
        self, features: Any, lengths: Any, labels: Any, label_lengths: Any, smoothing: float = 0.1
    ) -> Tensor:
        """The loss in nats for each sequence. labels: ints [batch, n], 1 to vocabulary - 1."""
        encoded, lengths = self.encoder(features, lengths)
        by_ctc = self.head.loss(encoded, lengths, labels, label_lengths)
        if self.decoder is None:
            return by_ctc
        by_attention = self.decoder.loss(encoded, lengths, labels, label_lengths, smoothing)
        return by_ctc * self.ctc_weight + by_attention * (1 - self.ctc_weight)

    def rescore(
        self, encoded: Any, hypotheses: Sequence[tuple[Sequence[int], float]], ctc_weight: float = 0.5
    ) -> list[tuple[list[int], float]]:
        """The hypotheses by decoder score + ctc_weight * CTC score, the best first.

        encoded: the encoder's frames of one recording, [time, width]. hypotheses: (token ids, CTC log
        probability), as prefix beam search gives them. Source: Zhang et al. 2020, section 2.4.
        """
        if self.decoder is None:
            raise InvalidArgument("this model has no attention decoder")
        scores = self.decoder.score(encoded, [ids for ids, _ in hypotheses])
        joined = [
            (list(ids), score + ctc_weight * ctc)
            for (ids, ctc), score in zip(hypotheses, scores, strict=True)
        ]
        return sorted(joined, key=lambda found: -found[1])

    def stream(self, chunk: int = 16, left_chunks: int = 4) -> EncoderStream:
        """A stream over this model's encoder; `head.log_probs` of its frames go to a decoder."""
        return EncoderStream(self.encoder, chunk, left_chunks)
