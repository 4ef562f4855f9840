"""Link prediction on a knowledge graph: which entity completes (head, relation, ?) or (?, relation, tail).

The network is ComplEx (Trouillon et al. 2016, "Complex Embeddings for Simple Link Prediction"): vectors of
complex numbers, and the score of a triple is Re(sum(h * r * conj(t))). It is trained as in Lacroix et al.
2018, "Canonical Tensor Decomposition for Knowledge Base Completion": each relation also has an inverse, so
that every question asks for a tail, and the cubes of the moduli are the penalty (N3). The cross-entropy is
over a sample of the entities, new for each batch and shared by its questions: a step costs its sample and
not all entities, and gradients are row-sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import nn, optimizer
from ..datasets.graphs import GraphSet
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import functional as F
from ..nn.initializer import Normal
from ..ops import concat
from ..random import seed as set_seed

__all__ = ["ComplEx", "Epoch", "Metrics", "filtered_ranks", "train_knowledge_graph", "triples_of"]

Array = np.ndarray[Any, Any]
ASKED = 500  # questions whose scores for all entities are in memory at once


class ComplEx(nn.Layer):
    """Vectors of `dim` complex numbers, stored as [rows, 2 * dim], real parts first.

    Relations 0 to num_relations - 1 are those of the graph; relation r + num_relations is the inverse of r.
    Raises ValueError for sizes below 1.
    """

    def __init__(self, num_entities: int, num_relations: int, dim: int = 64) -> None:
        super().__init__()
        if min(num_entities, num_relations, dim) < 1:
            raise InvalidArgument(
                "ComplEx: num_entities, num_relations, dim: expected 1 or more of each, "
                f"got {num_entities}, {num_relations}, {dim}"
            )
        self.dim, self.num_relations = dim, num_relations
        self.entities = nn.Embedding(num_entities, 2 * dim, sparse=True, weight_attr=Normal(0.0, 1e-3))
        self.relations = nn.Embedding(2 * num_relations, 2 * dim, weight_attr=Normal(0.0, 1e-3))

    def forward(self, heads: Tensor, relations: Tensor) -> Tensor:
        """Scores of all entities as tails, float32 [batch, entities], for int64 [batch] each."""
        return self.scores(self.entities(heads), self.relations(relations), self.entities.weight)

    def scores(self, h: Tensor, r: Tensor, tails: Tensor) -> Tensor:
        """float32 [batch, candidates], for rows [batch, 2 * dim] of heads and relations and rows
        [candidates, 2 * dim] of tails. Re((h r) conj(t)) is the inner product of (h r) and t as vectors of
        2 * dim real numbers, so the scores are one matrix product."""
        (a, b), (c, d) = ((x[:, : self.dim], x[:, self.dim :]) for x in (h, r))
        product = concat([a * c - b * d, a * d + b * c], axis=-1)  # (a + bi)(c + di)
        scores: Tensor = product.matmul(tails, transpose_y=True)
        return scores

    def n3(self, *rows: Tensor) -> Tensor:
        """The sum of the cubes of the moduli, divided by the size of the batch (Lacroix et al. 2018,
        section 4)."""
        cubes = [(x[:, : self.dim] ** 2 + x[:, self.dim :] ** 2 + 1e-20) ** 1.5 for x in rows]
        total: Tensor = sum((cube.sum() for cube in cubes[1:]), cubes[0].sum()) / rows[0].shape[0]
        return total


def triples_of(data: GraphSet, part: str) -> Array:
    """Heads, relations and tails of "train", "valid" or "test", int64 [triples, 3]."""
    if part not in ("train", "valid", "test"):
        raise InvalidArgument(f"triples_of: part: expected train, valid or test, got {part!r}")
    graph, rows = data.graph, getattr(data, part)
    return np.stack([graph.sources[rows], graph.edge_feat["relation"][rows], graph.targets[rows]], 1)


def with_inverses(triples: Array, num_relations: int) -> Array:
    """(h, r, t) of all triples, then (t, r + num_relations, h), int64 [2 * triples, 3]."""
    inverse = np.stack([triples[:, 2], triples[:, 1] + num_relations, triples[:, 0]], 1)
    return np.concatenate([triples, inverse])


@no_grad()
def filtered_ranks(network: ComplEx, questions: Array, known: Array) -> Array:
    """The rank, from 1, of the tail of each question (head, relation, tail) among all entities, float64
    [questions].

    Other tails that are right by `known` (triples, with inverses) are left out of the ranking: the filtered
    setting of Bordes et al. 2013. A tie counts half: the mean of the best and the worst rank, so that a
    constant score is not rewarded (Sun et al. 2020, "A Re-evaluation of Knowledge Graph Completion
    Methods"). A score that is not finite has the worst rank. Raises ValueError for an entity or relation
    that the network does not have.
    """
    entities, relations = network.entities.weight.shape[0], 2 * network.num_relations
    for name, triples in (("questions", questions), ("known", known)):
        for column, limit in ((0, entities), (1, relations), (2, entities)):
            values = triples[:, column]
            if len(values) and not 0 <= values.min() <= values.max() < limit:
                raise InvalidArgument(
                    f"filtered_ranks: {name}: expected numbers from 0 to {limit - 1} in column {column}, "
                    f"got {values.min()} to {values.max()}"
                )
    keys = known[:, 0] * relations + known[:, 1]
    order = np.argsort(keys, kind="stable")
    keys, tails = keys[order], known[order, 2]
    was_training = network.training
    network.eval()
    ranks = np.empty(len(questions))
    for begin in range(0, len(questions), ASKED):
        asked = questions[begin : begin + ASKED]
        scores = network(*(Tensor(torch.from_numpy(asked[:, c].copy())) for c in (0, 1))).numpy()
        rows = np.arange(len(asked))
        target = scores[rows, asked[:, 2]][:, None].copy()
        key = asked[:, 0] * relations + asked[:, 1]
        first, end = np.searchsorted(keys, key), np.searchsorted(keys, key, "right")
        counts = end - first
        hidden = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        scores[np.repeat(rows, counts), tails[hidden]] = -np.inf
        scores[rows, asked[:, 2]] = -np.inf
        better, worse = (scores > target).sum(1), (scores < target).sum(1)  # the target itself is worse now
        ranks[begin : begin + ASKED] = np.where(
            np.isfinite(target[:, 0]), 1 + better + (entities - better - worse) / 2, entities
        )
    if was_training:
        network.train()
    return ranks


@dataclass(frozen=True)
class Metrics:
    """MRR: the mean of 1 / rank; and the share of ranks that are at most 1, 3 and 10."""

    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float

    @classmethod
    def of(cls, ranks: Array) -> Metrics:
        return cls(float((1 / ranks).mean()), *(float((ranks <= k).mean()) for k in (1, 3, 10)))


@dataclass(frozen=True)
class Epoch:
    """One epoch of `train_knowledge_graph`: its number from 0, the mean loss, and the network."""

    number: int
    loss: float
    network: ComplEx


def train_knowledge_graph(
    data: GraphSet,
    dim: int = 64,
    epochs: int = 20,
    *,
    batch_size: int = 500,
    negatives: int = 4096,
    learning_rate: float = 0.1,
    penalty: float = 0.1,
    seed: int = 0,
) -> Iterator[Epoch]:
    """Train ComplEx on the training triples of `load_graph("wn18rr")`, an epoch at a time, by Adagrad.

    negatives: how many entities are sampled for a batch; the tails of the batch are candidates as well.
    penalty: the factor of N3. The caller chooses when to stop, and measures with `filtered_ranks`. Raises
    ValueError without training triples or for sizes below 1.
    """
    num_relations = int(data.graph.edge_feat["relation"].max()) + 1
    questions = with_inverses(triples_of(data, "train"), num_relations)
    if not len(questions) or min(epochs, batch_size) < 1:
        raise InvalidArgument(
            "train_knowledge_graph: data, epochs, batch_size: expected 1 or more triples, epochs and rows, "
            f"got {len(questions) // 2}, {epochs} and {batch_size}"
        )
    set_seed(seed)
    rng = np.random.default_rng(seed)
    network = ComplEx(data.graph.num_nodes, num_relations, dim)
    adagrad = optimizer.Adagrad(learning_rate, parameters=network.parameters(), epsilon=1e-10)
    for number in range(epochs):
        network.train()
        losses = []
        order = rng.permutation(len(questions))
        for begin in range(0, len(order), batch_size):
            batch = questions[order[begin : begin + batch_size]]
            sampled = rng.integers(0, data.graph.num_nodes, negatives)
            candidates, places = np.unique(np.concatenate([batch[:, 2], sampled]), return_inverse=True)
            heads, relations, tails, place = (
                Tensor(torch.from_numpy(a))
                for a in (*batch[:, :2].T.copy(), candidates, places[: len(batch)])
            )
            h, r, t = network.entities(heads), network.relations(relations), network.entities(tails)
            loss = F.cross_entropy(network.scores(h, r, t), place)
            (loss + penalty * network.n3(h, r, t[place])).backward()
            adagrad.step()
            adagrad.clear_grad()
            losses.append(float(loss))
        yield Epoch(number, float(np.mean(losses)), network)
