"""Text classifier by words, by characters, or by both, to compare the three.

The network is fastText's classifier (Joulin, Grave, Bojanowski and Mikolov 2017, "Bag of Tricks for Efficient
Text Classification"): the mean of the words' vectors, then a linear layer. `benchmarks/word_char.py` compares
the three kinds of vectors on texts with words that are not in the training texts.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from .. import nn, optimizer
from ..embedding.word_char import JOINTS, CharEmbedding, WordCharEmbedding
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..io import Dataset
from ..nn import functional as F
from ..text.vocabulary import Vocabulary

__all__ = ["CHANNELS", "WordCharClassifier", "WordCharTexts", "predict", "train"]

CHANNELS = ("word", "char", *JOINTS)


class WordCharTexts(Dataset):
    """Tokenized texts as ids: a batch is words [B, T], chars [B, T, C] and labels [B], all int64.

    T is the length of the longest text of the batch, C is `most_chars`. Texts are truncated after
    `most_words` words, words after C characters. Id 0 is padding, id 1 is for unknown words and characters.
    Raises ValueError unless there is one label for each text.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[str]],
        labels: Any,
        words: Vocabulary,
        chars: Vocabulary,
        most_words: int = 100,
        most_chars: int = 4,
    ) -> None:
        self.labels = np.asarray(labels, np.int64)
        if self.labels.shape != (len(sentences),):
            raise InvalidArgument(
                f"labels: expected {len(sentences)}, one for each text, got shape {[*self.labels.shape]}"
            )
        if most_words < 1 or most_chars < 1:
            raise InvalidArgument(
                f"most_words, most_chars: expected 1 or more, got {most_words} and {most_chars}"
            )
        truncated = [sentence[:most_words] for sentence in sentences]
        self.lengths = np.array([len(sentence) for sentence in truncated], np.int64)
        self.words = np.zeros((len(truncated), self.lengths.max(initial=1)), np.int32)
        self.chars = np.zeros((*self.words.shape, most_chars), np.int32)
        word_ids: dict[str, tuple[int, list[int]]] = {}  # cache: most words occur many times
        for row, sentence in enumerate(truncated):
            for position, word in enumerate(sentence):
                if word not in word_ids:
                    word_ids[word] = words[word], [chars[c] for c in word[:most_chars]]
                self.words[row, position], ids = word_ids[word]
                self.chars[row, position, : len(ids)] = ids

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        words, chars, labels = self.__getitems__([index])
        return words[0], chars[0], labels[0]

    def __getitems__(self, indices: Any) -> tuple[Any, Any, Any]:
        chosen = np.asarray(indices, np.int64)
        longest = int(self.lengths[chosen].max(initial=1))
        words, chars = self.words[chosen, :longest], self.chars[chosen, :longest]
        return words.astype(np.int64), chars.astype(np.int64), self.labels[chosen]


class WordCharClassifier(nn.Layer):
    """Logits [B, num_classes] of words [B, T] and their characters [B, T, C], with 0 for padding in both.

    channels: "word" or "char" for one channel; "concat", "gate" or "sum" for both, see WordCharEmbedding.
    pooling: of the characters, see CharEmbedding. dropout: of the text's vector. Raises ValueError for other
    channels or pooling, and sizes below 1.
    """

    def __init__(
        self,
        num_words: int,
        num_chars: int,
        num_classes: int,
        embedding_dim: int = 64,
        channels: str = "concat",
        pooling: str = "mean",
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        if channels not in CHANNELS:
            raise InvalidArgument(f"channels: expected one of {', '.join(CHANNELS)}, got {channels!r}")
        if num_classes < 1:
            raise InvalidArgument(f"num_classes: expected 1 or more, got {num_classes}")
        self.channels = channels
        self.embedding: nn.Layer
        if channels == "word":
            self.embedding = nn.Embedding(num_words, embedding_dim, 0)
        elif channels == "char":
            self.embedding = CharEmbedding(num_chars, embedding_dim, pooling)
        else:
            self.embedding = WordCharEmbedding(num_words, num_chars, embedding_dim, channels, pooling)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(embedding_dim, num_classes)

    def forward(self, words: Any, chars: Any) -> Any:
        inputs = {"word": (words,), "char": (chars,)}.get(self.channels, (words, chars))
        count = (words != 0).sum(1, keepdim=True).clip(min=1)  # [B, 1]
        text = self.embedding(*inputs).sum(1) / count  # [B, d]; padding has zero vectors
        return self.head(self.dropout(text))


def train(
    network: nn.Layer,
    data: WordCharTexts,
    epochs: int = 5,
    batch_size: int = 64,
    learning_rate: float = 5e-3,
    seed: int = 0,
) -> Iterator[float]:
    """Train by Adam with lazy_mode, which updates only the rows of the batch; yields each batch's
    cross-entropy."""
    rng = np.random.default_rng(seed)
    adam = optimizer.Adam(learning_rate, parameters=network.parameters(), lazy_mode=True)
    network.train()
    for _ in range(epochs):
        order = rng.permutation(len(data))
        for start in range(0, len(order), batch_size):
            words, chars, labels = map(_tensor, data.__getitems__(order[start : start + batch_size]))
            loss = F.cross_entropy(network(words, chars), labels)
            loss.backward()
            adam.step()
            adam.clear_grad()
            yield float(loss)


@no_grad()
def predict(network: nn.Layer, data: WordCharTexts, batch_size: int = 256) -> Any:
    """The predicted class of each text, int64 [texts], in eval mode."""
    network.eval()
    predicted = np.empty(len(data), np.int64)
    order = np.argsort(data.lengths, kind="stable")  # batches of similar length have little padding
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        words, chars, _ = map(_tensor, data.__getitems__(chosen))
        predicted[chosen] = network(words, chars).data.argmax(1).cpu().numpy()
    return predicted


def _tensor(array: Any) -> Tensor:
    return Tensor(torch.from_numpy(array))
