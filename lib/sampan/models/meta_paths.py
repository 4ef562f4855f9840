"""The area of an author, by paths through papers, venues and terms: attention over meta-paths on DBLP.

A network weighs what different meta-paths bring as HAN does (Wang et al. 2019, "Heterogeneous Graph Attention
Network", equations 7 to 9). Along a path each node takes the mean of what it receives, in place of HAN's
attention between nodes, so the edges of a path, millions for some, are not made.
`load_graph("dblp_four_area")` has the authors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import nn, ops, optimizer
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..graph import Graph, HeteroGraph
from ..graph.messages import receive
from ..graph.nn import GCNConv
from ..graph.routes import Routes
from ..nn import functional as F
from ..sparse import SparseTensor, sparse_coo_tensor
from .citations import SparseLinear

__all__ = [
    "DBLP_PATHS",
    "DeepGCN",
    "Epoch",
    "MetaPathAttention",
    "author_words",
    "path_routes",
    "split_labelled",
    "train_authors",
    "without_types",
]

Array = np.ndarray[Any, Any]
DBLP_PATHS = {
    "APA": ["author", "paper", "author"],
    "APCPA": ["author", "paper", "venue", "paper", "author"],
    "APTPA": ["author", "paper", "term", "paper", "author"],
}


def author_words(graph: HeteroGraph) -> SparseTensor:
    """CSR float32 [authors, terms]: the share of each term among those of the author's papers."""
    rows, terms, shares = _word_shares(graph, ["author", "paper", "term"])
    shape = [graph.node_types["author"], graph.node_types["term"]]
    return sparse_coo_tensor(np.stack([rows, terms]), shares, shape).to_sparse_csr()


def _word_shares(graph: HeteroGraph, path: Sequence[str]) -> tuple[Array, Array, Array]:
    """(rows, terms, shares): where a path to the terms leads from each node; a row adds up to 1."""
    counts = graph.path_counts(list(path))
    totals = np.bincount(counts.rows, counts.counts, graph.node_types[path[0]])
    shares = (counts.counts / totals[counts.rows]).astype(np.float32)
    return counts.rows.astype(np.int64), counts.neighbours.astype(np.int64), shares


def path_routes(graph: HeteroGraph, path: Sequence[str]) -> list[Routes]:
    """The steps of a meta-path from its end to its begin: a node of the first type receives along them."""
    return [Routes.of(graph.along(step)) for step in reversed(graph.steps(list(path)))]


def without_types(graph: HeteroGraph, labels: Array) -> tuple[Graph, SparseTensor, Array]:
    """(graph, words, labels) of all nodes, with edges in both directions and a self loop each: what a network
    sees that knows no types. Every node has words: a paper its terms, an author and a venue those of their
    papers, a term itself. Only authors have labels."""
    ends = np.cumsum([0, *graph.node_types.values()])
    first = dict(zip(graph.node_types, ends.tolist(), strict=False))
    everyone = np.full(graph.num_nodes, -1, np.int64)
    everyone[first["author"] : first["author"] + graph.node_types["author"]] = labels
    terms = np.arange(graph.node_types["term"])
    parts = [(terms + first["term"], terms, np.ones(len(terms), np.float32))]
    for path in (["paper", "term"], ["author", "paper", "term"], ["venue", "paper", "term"]):
        rows, found, shares = _word_shares(graph, path)
        parts.append((rows + first[path[0]], found, shares))
    rows, found, shares = (np.concatenate(part) for part in zip(*parts, strict=True))
    words = sparse_coo_tensor(np.stack([rows, found]), shares, [graph.num_nodes, len(terms)])
    return graph.to_homogeneous().to_undirected().add_self_loops(), words.to_sparse_csr(), everyone


class DeepGCN(nn.Layer):
    """`layers` GCNConv with ReLU and dropout between them, over a graph that is given once. forward: sparse
    features [nodes, words] to logits [nodes, classes]."""

    def __init__(
        self,
        graph: Graph,
        num_words: int,
        num_classes: int,
        layers: int = 3,
        hidden: int = 64,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if layers < 2:
            raise InvalidArgument(f"layers: expected 2 or more, got {layers}")
        self.graph = graph
        self.first = GCNConv(num_words, hidden, "relu")
        self.first.linear = SparseLinear(num_words, hidden, dropout)
        between = [GCNConv(hidden, hidden, "relu") for _ in range(layers - 2)]
        self.rest = nn.LayerList([*between, GCNConv(hidden, num_classes)])
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Any) -> Tensor:
        x: Tensor = self.first(self.graph, words)
        for layer in self.rest:
            x = layer(self.graph, self.dropout(x))
        return x


class MetaPathAttention(nn.Layer):
    """z = sum over paths p of beta_p z_p, where z_p = relu(mean of W x along p) and beta = softmax over the
    paths of the mean over nodes of q . tanh(V z_p + b) (HAN, equations 7 to 9); logits are linear in z.

    paths: name -> the steps of `path_routes`. forward: sparse features [nodes, words] to logits [nodes,
    classes]. weights: name -> beta of the last call.
    """

    def __init__(
        self,
        paths: dict[str, list[Routes]],
        num_words: int,
        num_classes: int,
        hidden: int = 64,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not paths:
            raise InvalidArgument("paths: expected one path or more, got none")
        self.paths = paths
        self.first = SparseLinear(num_words, hidden, dropout)
        self.score = nn.Sequential(
            nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1, bias_attr=False)
        )
        self.last = nn.Sequential(nn.Dropout(dropout), nn.Linear(hidden, num_classes))
        self.weights: dict[str, float] = {}

    def along(self, x: Tensor, steps: Sequence[Routes]) -> Tensor:
        """The mean along each step in turn."""
        for step in steps:
            x = receive(x, step, "mean")
        return x

    def forward(self, words: Any) -> Tensor:
        x = self.first(words)
        z = ops.stack([F.relu(self.along(x, steps)) for steps in self.paths.values()], 1)
        beta = F.softmax(self.score(z).mean(0).squeeze(-1), 0)  # [paths]
        self.weights = dict(zip(self.paths, beta.numpy().tolist(), strict=True))
        logits: Tensor = self.last((z * beta.reshape([1, -1, 1])).sum(1))
        return logits


def split_labelled(
    labels: Array, train: float = 0.2, valid: float = 0.1, seed: int = 0
) -> tuple[Array, Array, Array]:
    """(train, valid, test): nodes with a label of 0 or more in parts of these shares, drawn by `seed`."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    ends = int(train * len(order)), int((train + valid) * len(order))
    first, second, third = np.split(order, ends)
    return first, second, third


def f1(found: Array, labels: Array, average: str = "macro") -> float:
    """The mean over classes of 2 TP / (2 TP + FP + FN), or ("micro") that of all together."""
    kinds = np.unique(labels)
    right = np.array([((found == k) & (labels == k)).sum() for k in kinds])
    both = np.array([(found == k).sum() + (labels == k).sum() for k in kinds])
    return float((2 * right / both).mean() if average == "macro" else 2 * right.sum() / both.sum())


@dataclass(frozen=True)
class Epoch:
    """One epoch of `train_authors`: its number from 0, the loss, macro-F1 on the validation authors, macro-
    and micro-F1 on the test authors in the epoch with the best validation so far, and the weight of each
    path.
    """

    number: int
    loss: float
    valid: float
    macro: float
    micro: float
    weights: dict[str, float]


def train_authors(
    network: nn.Layer,
    words: SparseTensor,
    labels: Array,
    parts: Sequence[Array],
    epochs: int = 60,
    learning_rate: float = 0.01,
    weight_decay: float = 5e-4,
) -> Iterator[Epoch]:
    """Train a network of features to logits on the first of three parts of the nodes, an epoch at a time.

    The epoch is chosen by the second part; the third is only counted.
    """
    adam = optimizer.Adam(learning_rate, parameters=network.parameters(), weight_decay=weight_decay)
    train, classes = torch.from_numpy(np.asarray(parts[0])), torch.from_numpy(labels)
    best, macro, micro = -1.0, 0.0, 0.0
    for number in range(epochs):
        network.train()
        loss = F.cross_entropy(network(words)[Tensor(train)], Tensor(classes[train]))
        loss.backward()
        adam.step()
        adam.clear_grad()
        network.eval()
        with no_grad():
            found = network(words).numpy().argmax(1)
        valid = f1(found[parts[1]], labels[parts[1]])
        if valid > best:
            best = valid
            macro, micro = (f1(found[parts[2]], labels[parts[2]], kind) for kind in ("macro", "micro"))
        yield Epoch(number, float(loss), valid, macro, micro, dict(getattr(network, "weights", {})))
