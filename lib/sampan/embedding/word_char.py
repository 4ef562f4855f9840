"""Words of a language without spaces by two channels: a row of their own, and the rows of their
characters."""

from __future__ import annotations

from typing import Any

import torch

from .. import nn, ops
from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..row_sparse import check_ids
from .bag import embedding_bag
from .operators import integers

JOINTS = ("concat", "gate", "sum")
POOLINGS = ("mean", "max", "conv")


@operator(amp="as_is")
def known_ids(x, argument, count):
    """The ids of a Tensor as int64. Raises ValueError unless each is from 0 to below `count`."""
    check_ids(x, count, argument)
    return x.to(torch.int64, copy=True)


def _ids(x: Any, name: str, count: int) -> Tensor:
    """`known_ids`; TypeError unless x is a Tensor of ints."""
    integers(x, name)
    return known_ids(x, name, count)


def _check_padding(name: str, count: int, padding_idx: int) -> None:
    if not 0 <= padding_idx < count:
        raise ValueError(
            f"{name}, padding_idx: expected an id from 0 to below {name}, got {count} and {padding_idx}"
        )


class CharEmbedding(nn.Layer):
    """A vector [embedding_dim] for each word, from the rows of its characters alone.

    pooling: their "mean" (as in Chen et al. 2015), their "max", column by column, or "conv": a convolution
    over three neighbouring characters, then the largest over the word's places (dos Santos and Zadrozny 2014,
    formulas 2 and 3).
    padding_idx: no character, at any position; its row is zeros and never trains, and a word without
    characters is zeros. The gradient of the table is a RowSparse. Raises ValueError for another pooling, a
    padding_idx or ids outside, TypeError for ids that are no ints.
    """

    def __init__(
        self, num_chars: int, embedding_dim: int, pooling: str = "mean", padding_idx: int = 0
    ) -> None:
        super().__init__()
        if pooling not in POOLINGS:
            raise ValueError(f"pooling: expected one of {', '.join(POOLINGS)}, got {pooling!r}")
        _check_padding("num_chars", num_chars, padding_idx)
        self.table = nn.Embedding(num_chars, embedding_dim, padding_idx)
        self.conv = nn.Conv1D(embedding_dim, embedding_dim, 3, padding=1) if pooling == "conv" else None
        self.pooling, self.padding_idx = pooling, padding_idx

    def forward(self, chars: Tensor) -> Tensor:
        """chars: int32 or int64 [..., C], the characters of each word; returns [..., embedding_dim]."""
        count, width = self.table.weight.shape
        ids = _ids(chars, "chars", count)
        if ids.ndim < 1 or not ids.shape[-1]:
            raise ValueError(f"chars: expected [..., characters of a word], got shape {list(ids.shape)}")
        *places, most = ids.shape
        flat = ids.reshape([-1, most])  # [words, C]
        if self.conv is None:
            found = embedding_bag(flat, self.table.weight, mode=self.pooling, padding_idx=self.padding_idx)
        else:
            found = self._largest(flat, self.conv)
        return found.reshape([*places, width])

    def _largest(self, flat: Tensor, conv: nn.Layer) -> Any:
        there = flat != self.padding_idx  # [words, C]
        seen = conv(self.table(flat).transpose([0, 2, 1]))  # [words, d, C]
        least = Tensor(torch.tensor(-torch.inf, dtype=seen.data.dtype))
        top = ops.where(there.unsqueeze(1), seen, least).max(axis=2)  # [words, d]
        return ops.where(there.any(1, keepdim=True), top, Tensor(torch.zeros((), dtype=seen.data.dtype)))

    def extra_repr(self) -> str:
        return f"pooling={self.pooling!r}"


class WordCharEmbedding(nn.Layer):
    """The row of a word joined with what CharEmbedding makes of its characters: [embedding_dim] for each
    word.

    A word that the vocabulary lacks has the row of "unknown", and still characters that are known; a word
    with a row keeps what its characters do not say (Chen, Xu, Liu, Sun and Luan 2015, "Joint Learning of
    Character and Word Embeddings"). combine, with w the row and c the vector of the characters:

    - "concat": [w, c], half of embedding_dim each (c the smaller half), so the tables have half the numbers
    - "gate": g w + (1 - g) c, each column with its g = sigmoid(W [w, c] + b), W [2 embedding_dim,
      embedding_dim], which learns when to trust the row (Rei, Crichton and Pyysalo 2016, with one layer in
      their formula for z)
    - "sum": w + c

    pooling: "mean", "max" or "conv", see CharEmbedding. padding_idx: the id of no word, and of no character:
    its rows never train, and where a word is padding and so are its characters the result is zeros. Both
    tables' gradients are RowSparse. Raises ValueError for ids outside and shapes that do not fit, TypeError
    for ids that are no ints.
    """

    def __init__(
        self,
        num_words: int,
        num_chars: int,
        embedding_dim: int,
        combine: str = "concat",
        pooling: str = "mean",
        padding_idx: int = 0,
    ) -> None:
        super().__init__()
        if combine not in JOINTS:
            raise ValueError(f"combine: expected one of {', '.join(JOINTS)}, got {combine!r}")
        _check_padding("num_words", num_words, padding_idx)
        least = 2 if combine == "concat" else 1
        if embedding_dim < least:
            raise ValueError(f"embedding_dim: expected {least} or more for {combine!r}, got {embedding_dim}")
        of_chars = embedding_dim // 2 if combine == "concat" else embedding_dim
        of_words = embedding_dim - of_chars if combine == "concat" else embedding_dim
        self.words = nn.Embedding(num_words, of_words, padding_idx)
        self.chars = CharEmbedding(num_chars, of_chars, pooling, padding_idx)
        self.gate = nn.Linear(2 * embedding_dim, embedding_dim) if combine == "gate" else None
        self.combine = combine

    def forward(self, words: Tensor, chars: Tensor) -> Tensor:
        """words: int32 or int64 [B, T]; chars: [B, T, C], the characters of each; returns [B, T,
        embedding_dim]."""
        shape = list(_ids(words, "words", self.words.weight.shape[0]).shape)
        w, c = self.words(words), self.chars(chars)
        if list(chars.shape[:-1]) != shape:
            raise ValueError(
                f"chars: expected shape {[*shape, 'C']}, characters of each word, got {list(chars.shape)}"
            )
        if self.combine == "sum":
            return w + c
        both = ops.concat([w, c], -1)
        if self.gate is None:
            return both
        g = F.sigmoid(self.gate(both))
        return g * w + (1 - g) * c

    def extra_repr(self) -> str:
        return f"combine={self.combine!r}"
