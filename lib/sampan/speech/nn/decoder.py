"""The second pass: a transformer decoder that reads the encoder's frames and the tokens before.

CTC assumes that the frames are independent given the sound, so it has no model of the language. The decoder
has one: it gives log P(token | tokens before, sound). It is trained beside CTC and chooses among the few
texts that CTC proposes (rescoring).
Source: Zhang et al. (U2), 2020, sections 2.1 and 2.4; Watanabe et al., Hybrid CTC/Attention, 2017.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ... import nn
from ...engine.backward import no_grad
from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...nn import functional as F
from .attention import distance_encoding
from .masks import _check_lengths, length_mask

__all__ = ["AttentionDecoder"]


def _check_labels(
    labels: Any, lengths: Any, batch: int, vocabulary: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels int64 [batch, n] with 0 behind each end, and their lengths int64 [batch].

    Raises InvalidArgument for another shape, and for labels outside 1 to vocabulary - 1 (0 is the blank).
    """
    given = labels.data if isinstance(labels, Tensor) else torch.as_tensor(labels)
    if given.ndim != 2 or len(given) != batch or given.dtype.is_floating_point:
        raise InvalidArgument(
            f"labels: expected integers of shape [{batch}, n], got {given.dtype} {list(given.shape)}"
        )
    counts = _check_lengths(lengths, batch, given.shape[1], "label_lengths")
    inside = torch.arange(given.shape[1]) < counts[:, None]
    given = given.cpu().long()
    named = given[inside]
    if len(named) and not 1 <= int(named.min()) <= int(named.max()) < vocabulary:
        raise InvalidArgument(
            f"labels: expected 1 to {vocabulary - 1}, got {int(named.min())} to {int(named.max())}"
        )
    return given.masked_fill(~inside, 0), counts


@operator()
def begun(labels, lengths, batch, vocabulary):
    """The checked labels with the begin, number `vocabulary`, before each row."""
    found, _ = _check_labels(labels, lengths, batch, vocabulary)
    return torch.cat([found.new_full((batch, 1), vocabulary), found], 1)


class AttentionDecoder(nn.Layer):
    """A transformer decoder over `vocabulary` tokens and one more, number `vocabulary`: begin and end.

    forward(encoded, lengths, labels, label_lengths): encoded float [batch, time, width], lengths ints
    [batch]; labels ints [batch, n]. Returns logits [batch, n + 1, vocabulary + 1]; entry [b, k] predicts
    label k from labels 0 to k - 1, and the end from all of them.
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        num_layers: int = 3,
        num_heads: int = 4,
        hidden: int | None = None,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if vocabulary < 2:
            raise InvalidArgument(f"vocabulary: expected 2 or more tokens, blank included, got {vocabulary}")
        self.vocabulary, self.width = vocabulary, width
        self.embedding = nn.Embedding(vocabulary + 1, width)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerDecoderLayer(
            width, num_heads, hidden or 4 * width, dropout, normalize_before=True
        )
        self.decoder = nn.TransformerDecoder(layer, num_layers, nn.LayerNorm(width))
        self.output = nn.Linear(width, vocabulary + 1)

    def forward(self, encoded: Any, lengths: Any, labels: Any, label_lengths: Any) -> Tensor:
        batch, time = encoded.shape[:2]
        labels, label_lengths = (
            t if t is None or isinstance(t, Tensor) else Tensor(torch.as_tensor(t))
            for t in (labels, label_lengths)
        )
        read = begun(labels, label_lengths, batch, self.vocabulary)  # [batch, n + 1]
        count = read.shape[1]
        # The positions 0 to n, as distances from the begin.
        positions = distance_encoding(1, count, self.width, encoded).flip(0)
        x = self.dropout(self.embedding(read) * self.width**0.5 + positions)
        earlier = Tensor(torch.ones(count, count, dtype=torch.bool).tril())
        heard = length_mask(lengths, time).unsqueeze([1, 2])  # [batch, 1, 1, time]
        return self.output(self.decoder(x, encoded, earlier, heard))

    def loss(
        self, encoded: Any, lengths: Any, labels: Any, label_lengths: Any, smoothing: float = 0.1
    ) -> Tensor:
        """The cross-entropy in nats, summed over labels and end, averaged over the batch.

        smoothing: this share of each target is spread over all tokens (Szegedy et al. 2016, section 7).
        """
        logits = self(encoded, lengths, labels, label_lengths)
        labels, counts = _check_labels(labels, label_lengths, encoded.shape[0], self.vocabulary)
        targets = torch.cat([labels, labels.new_zeros(len(labels), 1)], 1)
        targets[torch.arange(len(labels)), counts] = self.vocabulary
        inside = torch.arange(targets.shape[1]) <= counts[:, None]
        each = F.cross_entropy(
            logits.flatten(0, 1), Tensor(targets.flatten()), reduction="none", label_smoothing=smoothing
        )
        kept = Tensor(inside.flatten().to(logits.data.dtype))
        return (each.flatten() * kept).sum() / logits.shape[0]

    @no_grad()
    def score(self, encoded: Any, hypotheses: Sequence[Sequence[int]]) -> list[float]:
        """log P(text, end | sound) of each hypothesis. encoded: one recording's frames, [time, width]."""
        if not hypotheses:
            return []
        counts = torch.tensor([len(ids) for ids in hypotheses])
        labels = torch.zeros(len(hypotheses), int(counts.max()), dtype=torch.int64)
        for row, ids in zip(labels, hypotheses, strict=True):
            row[: len(ids)] = torch.tensor(ids, dtype=torch.int64)
        batch = encoded.unsqueeze(0).expand([len(hypotheses), *encoded.shape])
        lengths = torch.full((len(hypotheses),), encoded.shape[0])
        logs = F.log_softmax(self(batch, lengths, labels, counts), -1).data
        targets = torch.cat([labels, labels.new_zeros(len(labels), 1)], 1)
        targets[torch.arange(len(labels)), counts] = self.vocabulary
        picked = logs.gather(2, targets.to(logs.device)[..., None])[..., 0]
        inside = torch.arange(targets.shape[1]) <= counts[:, None]
        return picked.double().masked_fill(~inside.to(logs.device), 0.0).sum(1).tolist()
