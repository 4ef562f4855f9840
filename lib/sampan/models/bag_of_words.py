"""Texts as bags of n-grams: sparse rows of counts or tf-idf, and a classifier whose first product is sparse.

The row of a review has a few dozen nonzeros in a hundred thousand columns. The cost of the product with the
weights is proportional to the nonzeros. `benchmarks/bag_of_words.py` compares it with the dense product.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .. import nn, sparse
from ..engine.tensor import InvalidArgument, Tensor
from ..io import Dataset
from ..sparse import SparseTensor

__all__ = ["BagOfWords", "NGrams", "Rows"]

_BITS = 21  # bits of a code point; three code points fit into a key of 63 bits
_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: Knuth, The Art of Computer Programming 3, 6.4


class NGrams:
    """Vectorizer: texts to a CSR tensor [texts, features] of n-gram counts or tf-idf,
    `NGrams().fit(train)(test)`.

    orders: the values of n, from 1 to 3. pieces: None makes n-grams of characters, which suits Chinese; else
    a function that splits a text into tokens, such as `str.split`. features: None builds a vocabulary of the
    n-grams that occur in at least `least` texts; a power of two hashes the n-grams into that number of
    columns (feature hashing, Weinberger et al. 2009). weights: "counts", or "tfidf": the count times 1 +
    ln((1 + texts) / (1 + texts with the n-gram)), with rows scaled to Euclidean norm 1 (Manning, Raghavan and
    Schütze 2008, "Introduction to Information Retrieval", chapter 6).
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
            raise InvalidArgument(f"orders: expected some of 1, 2 and 3, got {orders}")
        if features is not None and (features < 1 or features & (features - 1)):
            raise InvalidArgument(f"features: expected None or a power of two, got {features}")
        if weights not in ("counts", "tfidf"):
            raise InvalidArgument(f"weights: expected 'counts' or 'tfidf', got {weights!r}")
        self.orders, self.features, self.least = tuple(orders), features, least
        self.weights, self.pieces = weights, pieces
        self._token_ids: dict[str, int] = {}  # token to id, for tokens that are not characters
        self.keys: np.ndarray | None = None  # the vocabulary, ascending
        self.idf: np.ndarray | None = None  # [features]

    def fit(self, texts: Sequence[str]) -> "NGrams":
        """Learn the vocabulary and the inverse document frequency of each n-gram."""
        if self.pieces is not None:
            for text in texts:
                for piece in self.pieces(text):
                    self._token_ids.setdefault(piece, len(self._token_ids))
        rows, keys = self._row_keys(texts)
        if self.features is None:
            vocabulary, columns = np.unique(keys, return_inverse=True)
            count = np.bincount(self._counts(rows, columns, len(texts), len(vocabulary)).cols().numpy())
            self.keys, count = vocabulary[count >= self.least], count[count >= self.least]
        else:
            counts = self._counts(*self._columns(rows, keys), len(texts), self.features)
            count = np.bincount(counts.cols().numpy(), minlength=self.features)
        self.idf = (1 + np.log((1 + len(texts)) / (1 + count))).astype(np.float32)
        return self

    def __call__(self, texts: Sequence[str]) -> SparseTensor:
        """float32 [texts, features]. Raises ValueError before `fit`."""
        if self.idf is None:
            raise InvalidArgument("texts: expected fit(texts) before this call, got no vocabulary")
        rows, columns = self._columns(*self._row_keys(texts))
        matrix_counts = self._counts(rows, columns, len(texts), len(self.idf))
        if self.weights == "counts":
            return matrix_counts
        crows, cols, values = (
            t.numpy() for t in (matrix_counts.crows(), matrix_counts.cols(), matrix_counts.values())
        )
        values = values * self.idf[cols]
        row = np.repeat(np.arange(len(texts)), np.diff(crows))
        length = np.sqrt(np.bincount(row, values.astype(np.float64) ** 2, len(texts)))
        return matrix_counts.like(Tensor(torch.from_numpy((values / length[row]).astype(np.float32))))

    def names(self) -> list[str]:
        """The n-gram of each column. Raises ValueError for hashed columns, which represent several."""
        if self.keys is None:
            raise InvalidArgument(
                "names: expected a fitted vocabulary, got hashed columns, which represent several n-grams"
            )
        words = list(self._token_ids)
        text_of = (lambda n: words[n]) if self.pieces is not None else chr
        separator = "" if self.pieces is None else " "
        parts = [[int(k) >> shift & (1 << _BITS) - 1 for shift in (42, 21, 0)] for k in self.keys]
        return [separator.join(text_of(n - 1) for n in part if n) for part in parts]

    @staticmethod
    def _counts(rows: np.ndarray, columns: np.ndarray, texts: int, features: int) -> SparseTensor:
        """CSR [texts, features]: how often each (row, column) occurs."""
        ones = np.ones(len(rows), np.float32)
        return sparse.sparse_coo_tensor(np.stack([rows, columns]), ones, [texts, features]).to_sparse_csr()

    def _row_keys(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Row and key of every n-gram. A key packs (token id + 1) of its tokens, 21 bits each."""
        if self.pieces is None:
            points = "".join(texts).encode("utf-32-le", "surrogatepass")
            ids = np.frombuffer(points, np.uint32).astype(np.int64)
            lengths = np.array([len(text) for text in texts], np.int64)
            known = np.ones(len(ids), bool)
        else:
            token_ids = [[self._token_ids.get(piece, -1) for piece in self.pieces(text)] for text in texts]
            ids = np.array([n for row in token_ids for n in row], np.int64)
            lengths = np.array([len(row) for row in token_ids], np.int64)
            known = ids >= 0
        rows = np.repeat(np.arange(len(texts)), lengths)
        ids = ids + 1
        row_keys = []
        for n in self.orders:
            last = max(len(rows) - n + 1, 0)
            key, valid = np.zeros(last, np.int64), rows[:last] == rows[n - 1 : n - 1 + last]
            for position in range(n):
                key = (key << _BITS) | ids[position : position + last]
                valid = valid & known[position : position + last]
            row_keys.append((rows[:last][valid], key[valid]))
        joined = [np.concatenate(part) for part in zip(*row_keys, strict=True)]
        return joined[0], joined[1]

    def _columns(self, rows: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of the n-grams that have a column."""
        if self.features is not None:
            shift = np.uint64(64 - (self.features.bit_length() - 1))
            hashed = keys.astype(np.uint64) * _MIX
            return rows, (hashed >> shift).astype(np.int64) if shift < 64 else np.zeros_like(keys)
        assert self.keys is not None
        position = np.minimum(np.searchsorted(self.keys, keys), max(len(self.keys) - 1, 0))
        in_vocabulary = self.keys[position] == keys if len(self.keys) else np.zeros(len(keys), bool)
        return rows[in_vocabulary], position[in_vocabulary]


class Rows(Dataset):
    """Data set of the rows of a CSR tensor [N, features] and their labels [N].

    A batch is a CSR tensor [batch, features] and labels [batch, 1]. dense: True gives dense batches.
    """

    def __init__(self, matrix: SparseTensor, labels: Any, dense: bool = False) -> None:
        self.crows, self.cols, self.values = (
            t.numpy() for t in (matrix.crows(), matrix.cols(), matrix.values())
        )
        self.labels, self.width, self.dense = np.asarray(labels, np.int64), matrix.shape[1], dense
        if len(self.labels) != matrix.shape[0]:
            raise InvalidArgument(
                f"labels: expected {matrix.shape[0]}, one for each row, got {len(self.labels)}"
            )

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
        valid = np.zeros((len(chosen), self.width), values.dtype)
        valid[np.repeat(np.arange(len(chosen)), counts), cols] = values
        return valid, labels


class BagOfWords(nn.Layer):
    """Logits [batch, classes] of rows [batch, features], sparse (CSR or COO) or dense, with the same weights.

    hidden: 0 for a linear classifier (logistic regression), else the width of one hidden layer with ReLU.
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
            raise InvalidArgument(
                f"x: expected {weight.shape[0]} features in each row, got shape {list(x.shape)}"
            )
        product = sparse.matmul(x, weight) if isinstance(x, SparseTensor) else x @ weight
        logits = product + self.first.bias
        return logits if self.rest is None else self.rest(logits)
