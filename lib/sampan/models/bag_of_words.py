"""Texts as bags of n-grams: sparse rows of counts or tf-idf, and a classifier whose first product is sparse.

A row of a review has a few dozen entries out of a hundred thousand features, so the product with the weights
costs what its entries cost. `benchmarks/bag_of_words.py` has it beside the dense path.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .. import nn, sparse
from ..engine.tensor import Tensor
from ..io import Dataset
from ..sparse import SparseTensor

__all__ = ["BagOfWords", "NGrams", "Rows"]

_BITS = 21  # a code point's; three of them fit into a key of 63 bits
_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: Knuth, The Art of Computer Programming 3, 6.4


class NGrams:
    """Texts to a CSR tensor [texts, features] of their n-grams: `NGrams().fit(train)(test)`.

    orders: which n, of 1 to 3. pieces: None takes the characters of a text, which suits Chinese; else a
    function that cuts it, like `str.split`. features: None keeps a vocabulary of the n-grams that are in
    `least` texts or more when fitted; a power of two hashes them into so many columns instead. weights:
    "counts", or "tfidf": the count times 1 + ln((1 + texts) / (1 + texts with it)), rows scaled to length 1
    (Manning, Raghavan and Schütze, chapter 6).
    """

    def __init__(
        self,
        orders: Sequence[int] = (1, 2),
        features: int | None = None,
        least: int = 2,
        weights: str = "tfidf",
        pieces: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        if not orders or not set(orders) <= {1, 2, 3}:
            raise ValueError(f"orders: expected some of 1, 2 and 3, got {orders}")
        if features is not None and (features < 1 or features & (features - 1)):
            raise ValueError(f"features: expected None or a power of two, got {features}")
        if weights not in ("counts", "tfidf"):
            raise ValueError(f"weights: expected 'counts' or 'tfidf', got {weights!r}")
        self.orders, self.features, self.least = tuple(orders), features, least
        self.weights, self.pieces = weights, pieces
        self._numbers: dict[str, int] = {}  # of the pieces, where they are not characters
        self.keys: np.ndarray | None = None  # the vocabulary, ascending
        self.idf: np.ndarray | None = None  # [features]

    def fit(self, texts: Sequence[str]) -> "NGrams":
        """Learn the vocabulary and how rare each n-gram is."""
        if self.pieces is not None:
            for text in texts:
                for piece in self.pieces(text):
                    self._numbers.setdefault(piece, len(self._numbers))
        rows, keys = self._found(texts)
        if self.features is None:
            every, columns = np.unique(keys, return_inverse=True)
            count = np.bincount(self._counted(rows, columns, len(texts), len(every)).cols().numpy())
            self.keys, count = every[count >= self.least], count[count >= self.least]
        else:
            counts = self._counted(*self._columns(rows, keys), len(texts), self.features)
            count = np.bincount(counts.cols().numpy(), minlength=self.features)
        self.idf = (1 + np.log((1 + len(texts)) / (1 + count))).astype(np.float32)
        return self

    def __call__(self, texts: Sequence[str]) -> SparseTensor:
        """float32 [texts, features]. Raises ValueError before `fit`."""
        if self.idf is None:
            raise ValueError("texts: call fit(texts) first, which assigns the columns")
        rows, columns = self._columns(*self._found(texts))
        made = self._counted(rows, columns, len(texts), len(self.idf))
        if self.weights == "counts":
            return made
        crows, cols, values = (t.numpy() for t in (made.crows(), made.cols(), made.values()))
        values = values * self.idf[cols]
        row = np.repeat(np.arange(len(texts)), np.diff(crows))
        length = np.sqrt(np.bincount(row, values.astype(np.float64) ** 2, len(texts)))
        return made.like(Tensor(torch.from_numpy((values / length[row]).astype(np.float32))))

    def names(self) -> list[str]:
        """The n-gram of each column. Raises ValueError for hashed columns, which represent several."""
        if self.keys is None:
            raise ValueError("names: hashed columns have none; expected a fitted vocabulary")
        words = list(self._numbers)
        spelt = (lambda n: words[n]) if self.pieces is not None else chr
        joint = "" if self.pieces is None else " "
        parts = [[int(k) >> shift & (1 << _BITS) - 1 for shift in (42, 21, 0)] for k in self.keys]
        return [joint.join(spelt(n - 1) for n in part if n) for part in parts]

    @staticmethod
    def _counted(rows: np.ndarray, columns: np.ndarray, texts: int, features: int) -> SparseTensor:
        """CSR [texts, features] of how often each place is named."""
        ones = np.ones(len(rows), np.float32)
        return sparse.sparse_coo_tensor(np.stack([rows, columns]), ones, [texts, features]).to_sparse_csr()

    def _found(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Row and key of every n-gram: the numbers of its pieces, each one up and 21 bits wide, one after the
        other."""
        if self.pieces is None:
            points = "".join(texts).encode("utf-32-le", "surrogatepass")
            numbers = np.frombuffer(points, np.uint32).astype(np.int64)
            lengths = np.array([len(text) for text in texts], np.int64)
            known = np.ones(len(numbers), bool)
        else:
            cut = [[self._numbers.get(piece, -1) for piece in self.pieces(text)] for text in texts]
            numbers = np.array([n for row in cut for n in row], np.int64)
            lengths = np.array([len(row) for row in cut], np.int64)
            known = numbers >= 0
        rows = np.repeat(np.arange(len(texts)), lengths)
        numbers = numbers + 1
        found = []
        for n in self.orders:
            last = max(len(rows) - n + 1, 0)
            key, whole = np.zeros(last, np.int64), rows[:last] == rows[n - 1 : n - 1 + last]
            for place in range(n):
                key = (key << _BITS) | numbers[place : place + last]
                whole = whole & known[place : place + last]
            found.append((rows[:last][whole], key[whole]))
        joined = [np.concatenate(part) for part in zip(*found, strict=True)]
        return joined[0], joined[1]

    def _columns(self, rows: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of the n-grams that have one."""
        if self.features is not None:
            shift = np.uint64(64 - (self.features.bit_length() - 1))
            mixed = keys.astype(np.uint64) * _MIX
            return rows, (mixed >> shift).astype(np.int64) if shift < 64 else np.zeros_like(keys)
        assert self.keys is not None
        place = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        there = self.keys[place] == keys if len(self.keys) else np.zeros(len(keys), bool)
        return rows[there], place[there]


class Rows(Dataset):
    """A data set of the rows of a CSR tensor [N, features] and their labels [N]: a batch is a CSR tensor
    [batch, features], or a dense one where `dense`, and labels [batch, 1]."""

    def __init__(self, matrix: SparseTensor, labels: Any, dense: bool = False) -> None:
        self.crows, self.cols, self.values = (
            t.numpy() for t in (matrix.crows(), matrix.cols(), matrix.values())
        )
        self.labels, self.width, self.dense = np.asarray(labels, np.int64), matrix.shape[1], dense
        if len(self.labels) != matrix.shape[0]:
            raise ValueError(f"labels: expected {matrix.shape[0]}, one a row, got {len(self.labels)}")

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        batch, labels = self.__getitems__([index])
        return batch, labels[0]

    def __getitems__(self, indices: Sequence[int]) -> tuple[Any, Any]:
        chosen = np.asarray(indices, np.int64)
        starts, counts = self.crows[chosen], self.crows[chosen + 1] - self.crows[chosen]
        crows = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(crows[-1]) + np.repeat(starts - crows[:-1], counts)
        cols, values, labels = self.cols[places], self.values[places], self.labels[chosen, None]
        if not self.dense:
            return sparse.sparse_csr_tensor(crows, cols, values, [len(chosen), self.width]), labels
        whole = np.zeros((len(chosen), self.width), values.dtype)
        whole[np.repeat(np.arange(len(chosen)), counts), cols] = values
        return whole, labels


class BagOfWords(nn.Layer):
    """Logits [batch, classes] of rows [batch, features], sparse (CSR or COO) or dense: the same weights, the
    same numbers.

    hidden: 0 is a linear classifier, that is logistic regression; else one hidden layer of so many with relu.
    """

    def __init__(self, num_features: int, num_classes: int, hidden: int = 0, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(num_features, hidden or num_classes)
        self.rest = (
            nn.Sequential(nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, num_classes)) if hidden else None
        )

    def forward(self, x: Any) -> Any:
        weight: Any = self.first.weight
        if x.shape[-1] != weight.shape[0]:
            raise ValueError(f"x: expected {weight.shape[0]} features a row, got shape {list(x.shape)}")
        product = sparse.matmul(x, weight) if isinstance(x, SparseTensor) else x @ weight
        logits = product + self.first.bias
        return logits if self.rest is None else self.rest(logits)
