"""The network that reads Chinese reviews, and how a text becomes its input. This module imports the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sampan
from sampan import nn

WIDTH, HEADS = 64, 4


class Letters:
    """Ids of characters: 0 is behind the end of a text, 1 any character that is not among the most frequent ones."""

    def __init__(self, texts: Iterable[str], most: int, longest: int) -> None:
        counts = Counter(letter for text in texts for letter in text)
        self.number = {letter: i for i, (letter, _) in enumerate(counts.most_common(most - 2), 2)}
        self.longest = longest

    def __len__(self) -> int:
        return len(self.number) + 2

    def ids(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """int64 [texts, longest]; what is behind the longest text is left out."""
        rows = [[self.number.get(letter, 1) for letter in text[: self.longest]] for text in texts]
        found = np.zeros((len(rows), self.longest), np.int64)
        for row, numbers in zip(found, rows, strict=True):
            row[: len(numbers)] = numbers
        return found

    def unknown(self, text: str) -> list[str]:
        """The characters of a text that all have the id 1, each once."""
        return list(dict.fromkeys(letter for letter in text if letter not in self.number))


class Reader(nn.Layer):
    """An encoder of characters (Vaswani et al. 2017): embeddings with their places, a layer of a Transformer, the mean over
    the places with a character, logits [batch, classes] of ids [batch, length]."""

    def __init__(self, characters: int, length: int, classes: int = 2) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.places = nn.Embedding(length, WIDTH)
        self.encoder = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, 0.1, "gelu", normalize_before=True)
        self.norm, self.answer = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, classes)

    def forward(self, ids: Any) -> Any:
        there = (ids > 0).astype("float32").unsqueeze(-1)  # [batch, length, 1]
        x = self.characters(ids) + self.places(sampan.arange(ids.shape[1]))
        x = self.norm(self.encoder(x)) * there
        return self.answer(x.sum(1) / there.sum(1).clip(min=1.0))
