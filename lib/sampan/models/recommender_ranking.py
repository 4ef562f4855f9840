"""Ranking stage of a recommender: predicts from features of user and item whether the user likes the item.

DeepFM (Guo et al. 2017, "DeepFM: A Factorization-Machine based Neural Network for CTR Prediction") reads
categorical fields. DIN (Zhou et al. 2018, "Deep Interest Network for Click-Through Rate Prediction") also
reads the user's history, with attention from the candidate item. The retrieval stage is recommender.py.
`benchmarks/recommender.py` measures both stages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from .. import nn, ops
from ..datasets.interactions import Ratings, histories
from ..embedding import EmbeddingTables
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import functional as F
from ..nn.initializer import Normal
from ..ops.shape import expand_view
from .recommender_steps import train_steps

__all__ = [
    "DIN",
    "DeepFM",
    "Fields",
    "Report",
    "auc",
    "behaviour",
    "grouped_auc",
    "liked",
    "predict",
    "ranking_fields",
    "train_ranking",
]

Array = np.ndarray[Any, Any]
Arrays = Sequence[Array]
START = Normal(0.0, 0.01)


def tower(width: int, hidden: Sequence[int], dropout: float) -> nn.Sequential:
    """Multilayer perceptron with ReLU, [batch, width] to [batch, 1]."""
    layers: list[nn.Layer] = []
    for a, b in pairwise([width, *hidden]):
        layers += [nn.Linear(a, b), nn.ReLU(), *([nn.Dropout(dropout)] if dropout else [])]
    return nn.Sequential(*layers, nn.Linear([width, *hidden][-1], 1))


class DeepFM(nn.Layer):
    """logit = b + sum_f w_f + sum_(f<g) v_f . v_g + deep(v_1, v_2, ...): linear terms, pairwise products of
    the fields' vectors, and a multilayer perceptron of the vectors (Guo et al. 2017, equations 1 to 4).

    field_sizes: the number of ids of each field. A table's row holds w, then v [dim]: one lookup reads both.
    forward: ids int64 [batch, fields] to logits [batch].
    """

    def __init__(
        self,
        field_sizes: Sequence[int],
        dim: int = 16,
        hidden: Sequence[int] = (64, 32),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tables = EmbeddingTables(field_sizes, 1 + dim, START)
        self.deep = tower(len(field_sizes) * dim, hidden, dropout)
        self.bias = self.create_parameter([1], is_bias=True)

    def rows(self, ids: Tensor) -> Tensor:
        """w and v of each id, [batch, fields, 1 + dim]."""
        return self.tables(ids)

    def forward(self, ids: Tensor) -> Tensor:
        rows = self.rows(ids)
        vectors = rows[:, :, 1:]  # [batch, fields, dim]
        total = vectors.sum(1)
        # sum over pairs f < g of v_f . v_g = (|sum of v|^2 - sum of |v|^2) / 2 (Rendle 2010)
        products = 0.5 * (total.square().sum(1) - vectors.square().sum([1, 2]))
        deep = self.deep(vectors.reshape([vectors.shape[0], -1])).squeeze(-1)
        return rows[:, :, 0].sum(1) + products + deep + self.bias


class DIN(nn.Layer):
    """Deep interest network: a multilayer perceptron of the item's embedding, the context's embeddings, and a
    weighted sum of the history's embeddings. A small network computes the weight of each history item from
    its embedding and the candidate's (Zhou et al. 2018, equation 3). As in the paper the weights are not
    normalised by softmax, so the norm of the sum keeps the strength of the interest.

    Each history item has a mark, here its rating; the embeddings of item and mark are added. field_sizes:
    the number of ids of each context field.
    forward: items int64 [batch]; history int64 [batch, length], num_items for none; marks int64 [batch,
    length]; context int64 [batch, fields], None without field_sizes; to logits [batch].
    """

    def __init__(
        self,
        num_items: int,
        num_marks: int = 1,
        field_sizes: Sequence[int] = (),
        dim: int = 16,
        attention: Sequence[int] = (32,),
        hidden: Sequence[int] = (64, 32),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_items = num_items
        self.items = nn.Embedding(num_items + 1, dim, weight_attr=START)
        self.marks = nn.Embedding(num_marks, dim, weight_attr=START)
        self.context = EmbeddingTables(field_sizes, dim, START) if field_sizes else None
        self.attention = tower(4 * dim, attention, 0.0)
        self.deep = tower((3 + len(field_sizes)) * dim, hidden, dropout)

    def rows(self, ids: Tensor) -> Tensor:
        """Embeddings of these items, [..., dim]."""
        return self.items(ids)

    def interest(self, past: Tensor, item: Tensor, valid: Tensor) -> Tensor:
        """The weighted sum of the history. past: [batch, length, dim]; item: [batch, dim]; valid: [batch,
        length], 0 for padding, else 1; returns [batch, dim]."""
        candidate = expand_view(item.unsqueeze(1), past.shape)
        pairs = ops.concat(
            [past, candidate, past - candidate, past * candidate], -1
        )  # [batch, length, 4 dim]
        return (self.attention(pairs) * valid.unsqueeze(-1) * past).sum(1)

    def forward(self, items: Tensor, history: Tensor, marks: Tensor, context: Tensor | None = None) -> Tensor:
        length = history.shape[1]
        if (context is None) != (self.context is None):
            expected = "None without field_sizes" if self.context is None else "int64 [batch, fields]"
            raise InvalidArgument(f"context: expected {expected}, got {type(context).__name__}")
        # one lookup of history and item: [batch, length + 1, dim]
        rows = self.rows(ops.concat([history, items.unsqueeze(1)], 1))
        item = rows[:, length]
        valid = (history != self.num_items).astype(rows.dtype)
        past = self.interest(rows[:, :length] + self.marks(marks), item, valid)
        parts = [item, past, item * past]
        if self.context is not None and context is not None:
            parts.append(self.context(context).reshape([item.shape[0], -1]))
        return self.deep(ops.concat(parts, -1)).squeeze(-1)


# --- features -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fields:
    """Categorical features. ids: int64 [N, fields]; sizes: the number of ids of each field; names: of the
    fields."""

    ids: Array
    sizes: list[int]
    names: list[str]


def ranking_fields(ratings: Ratings) -> Fields:
    """The fields user and item of each row; with titles also the film's year and its set of genres."""
    columns, names = [ratings.users, ratings.items], ["user", "item"]
    sizes = [ratings.num_users, ratings.num_items]
    if ratings.titles:
        found = [re.search(r"\((\d{4})\D*\)\s*$", title) for title in ratings.titles]
        for name, of_items in (
            ("year", [int(m[1]) if m else 0 for m in found]),
            ("genres", ["|".join(g) for g in ratings.genres]),
        ):
            kinds, kind_ids = np.unique(np.array(of_items), return_inverse=True)
            columns.append(kind_ids[ratings.items])
            sizes.append(len(kinds))
            names.append(name)
    return Fields(np.stack(columns, 1), sizes, names)


def behaviour(ratings: Ratings, length: int, queries: Ratings | None = None) -> tuple[Array, Array]:
    """(items, marks), int64 [n, length] each: the items that the user of each row of `queries` rated before,
    newest last, padded with num_items; and their ratings in half stars, 0 to 10."""
    rows = histories(ratings, length, queries)
    if not len(ratings):
        return np.full(rows.shape, ratings.num_items), np.zeros(rows.shape, np.int64)
    items = np.where(rows >= 0, ratings.items[rows], ratings.num_items)
    marks = np.clip(np.rint(ratings.values[rows] * 2), 0, 10).astype(np.int64)
    return items, np.where(rows >= 0, marks, 0)


def liked(ratings: Ratings, least: float = 4.0) -> Array:
    """float32 [N]: 1 where the rating is `least` or more, else 0."""
    return (ratings.values >= least).astype(np.float32)


# --- metrics ------------------------------------------------------------------------------------------------


def auc(scores: Array, labels: Array) -> float:
    """Area under the ROC curve: the fraction of (positive, negative) pairs in which the positive has the
    higher score. A tie counts one half. nan if one of the classes is missing.

    Computed from the sum of ranks (Mann and Whitney 1947). scores, labels: [n]. Raises ValueError for other
    shapes, and for NaN scores.
    """
    scores, labels = np.asarray(scores), np.asarray(labels).astype(bool)
    if scores.shape != labels.shape or scores.ndim != 1:
        raise InvalidArgument(
            f"scores, labels: expected [n] each, got {list(scores.shape)} and {list(labels.shape)}"
        )
    if np.isnan(scores).any():
        raise InvalidArgument("scores: expected numbers, got nan")
    ones, zeros = int(labels.sum()), int((~labels).sum())
    if not ones or not zeros:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2  # the mean rank, from 1, of tied scores
    return float((mean_rank[place][labels].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def grouped_auc(scores: Array, labels: Array, groups: Array) -> float:
    """GAUC: the mean of the groups' `auc`, weighted by their numbers of rows. Groups with one class are left
    out (Zhou et al. 2018, equation 7). groups: int64 [n], usually the user."""
    order = np.argsort(groups, kind="stable")
    boundaries = np.flatnonzero(np.diff(groups[order])) + 1
    parts = [
        (auc(scores[rows], labels[rows]), len(rows)) for rows in np.split(order, boundaries) if len(rows)
    ]
    parts = [(value, count) for value, count in parts if not np.isnan(value)]
    total = sum(count for _, count in parts)
    return sum(value * count for value, count in parts) / total if total else float("nan")


# --- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Report:
    """Progress of training: the fraction done from 0 to 1, the epoch (from 0), the mean loss since the last
    report, and the AUC of the held-out rows (at the end of the last epoch; nan before, and without them)."""

    done: float
    epoch: int
    loss: float
    auc: float


def train_ranking(
    network: nn.Layer,
    inputs: Arrays,
    labels: Array,
    epochs: int = 2,
    held: tuple[Arrays, Array] | None = None,
    *,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.01,
    seed: int = 0,
    every: int = 25,
) -> Iterator[Report]:
    """Train a network on `inputs`, arrays of N rows that are its arguments, and `labels` [N] of 0 and 1, by
    binary cross-entropy; yields Report every `every` steps and after each epoch. held: (inputs, labels) for
    the AUC. Other arguments: see `train_steps`. Raises ValueError for lengths that differ, and no rows.
    """
    if not len(labels) or any(len(a) != len(labels) for a in inputs):
        raise InvalidArgument(
            f"inputs: expected {len(labels)} rows, as labels, 1 or more, got {[len(a) for a in inputs]}"
        )

    def loss_of(rows: Array) -> Tensor:
        logits = network(*(Tensor(torch.from_numpy(a[rows])) for a in inputs))
        return F.binary_cross_entropy_with_logits(logits, Tensor(torch.from_numpy(labels[rows])))

    steps = train_steps(
        network,
        loss_of,
        len(labels),
        whole=False,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        seed=seed,
        every=every,
    )
    score = float("nan")
    try:
        for step in steps:
            if step.last and held is not None:
                score = auc(predict(network, held[0]), held[1])
            yield Report(step.done, step.epoch, step.loss, score)
    finally:
        network.eval()


@no_grad()
def predict(network: nn.Layer, inputs: Arrays, batch_size: int = 4096) -> Array:
    """float32 [N]: the network's logits, in eval mode."""
    network.eval()
    found = [
        network(*(Tensor(torch.from_numpy(a[start : start + batch_size])) for a in inputs)).numpy()
        for start in range(0, len(inputs[0]), batch_size)
    ]
    return np.concatenate(found) if found else np.empty(0, np.float32)
