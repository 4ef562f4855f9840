"""Which topic a paper has, from its words and its citations: GCN, GAT and GraphSAGE on Cora and Citeseer.

Of 1,433 or 3,703 words a paper has some thirty, so the first product is sparse: an epoch costs what the words
cost that are there. Settings are those of the papers: Kipf and Welling 2017, Velickovic et al. 2018, and for
GraphSAGE (Hamilton et al. 2017, mean aggregation) those of GCN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import nn, optimizer, sparse
from ..datasets.graphs import GraphSet
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..graph import Graph
from ..graph.nn import GATConv, GCNConv, GraphSageConv
from ..nn import functional as F
from ..random import seed as set_seed
from ..sparse import SparseTensor

__all__ = ["GAT", "GCN", "Epoch", "GraphSAGE", "SparseLinear", "sparse_features", "train_citations"]

Array = np.ndarray[Any, Any]


class SparseLinear(nn.Linear):
    """x W + b of a sparse x [n, size], whose entries are dropped with probability `dropout` first."""

    def __init__(self, input_size: int, output_size: int, dropout: float = 0.0, bias: bool = False) -> None:
        super().__init__(input_size, output_size, bias_attr=None if bias else False)
        self.dropout = dropout

    def forward(self, x: SparseTensor) -> Tensor:
        kept = x.like(F.dropout(x.values(), self.dropout, training=self.training))
        product: Tensor = sparse.matmul(kept, self.weight)
        return product if self.bias is None else product + self.bias


class GCN(nn.Layer):
    """Two GCNConv; the graph has self loops. forward: graph, sparse features [nodes, words] to logits."""

    def __init__(self, num_words: int, num_classes: int, hidden: int = 16, dropout: float = 0.5) -> None:
        super().__init__()
        self.first = GCNConv(num_words, hidden, "relu")
        self.first.linear = SparseLinear(num_words, hidden, dropout)
        self.dropout = nn.Dropout(dropout)
        self.second = GCNConv(hidden, num_classes)

    def forward(self, graph: Graph, words: Any) -> Tensor:
        logits: Tensor = self.second(graph, self.dropout(self.first(graph, words)))
        return logits


class GAT(nn.Layer):
    """Two GATConv, the first of several heads; the graph has self loops. forward: as GCN's."""

    def __init__(
        self, num_words: int, num_classes: int, hidden: int = 8, heads: int = 8, dropout: float = 0.6
    ) -> None:
        super().__init__()
        self.first = GATConv(num_words, hidden, 0.0, dropout, heads, activation="elu")
        self.first.linear = SparseLinear(num_words, hidden * heads, dropout, bias=True)
        self.second = GATConv(hidden * heads, num_classes, dropout, dropout, 1)

    def forward(self, graph: Graph, words: Any) -> Tensor:
        logits: Tensor = self.second(graph, self.first(graph, words))
        return logits


class GraphSAGE(nn.Layer):
    """Two layers X W_1 + mean(X of the neighbours) W_2 + b, the first with the product before the mean, which
    is the same and sends fewer numbers; the graph has no self loops. forward: as GCN's."""

    def __init__(self, num_words: int, num_classes: int, hidden: int = 64, dropout: float = 0.5) -> None:
        super().__init__()
        self.hidden = hidden
        self.first = SparseLinear(num_words, 2 * hidden, dropout, bias=True)
        self.dropout = nn.Dropout(dropout)
        self.second = GraphSageConv(hidden, num_classes, "mean", normalize=False)

    def forward(self, graph: Graph, words: Any) -> Tensor:
        both = self.first(words)
        x = F.relu(both[:, : self.hidden] + graph.send_recv(both[:, self.hidden :], "mean"))
        logits: Tensor = self.second(graph, self.dropout(x))
        return logits


@dataclass(frozen=True)
class Recipe:
    network: Callable[[int, int], nn.Layer]
    loops: bool  # whether the graph has an edge from each node to itself
    epochs: int = 200
    learning_rate: float = 0.01
    weight_decay: float = 5e-4
    decayed: str = ""  # only parameters whose names begin so have weight decay


RECIPES = {
    "GCN": Recipe(GCN, True, decayed="first."),
    "GAT": Recipe(GAT, True, learning_rate=0.005),
    "GraphSAGE": Recipe(GraphSAGE, False),
}


def sparse_features(features: Array) -> SparseTensor:
    """CSR of a mostly empty array [n, words], float32."""
    values = np.asarray(features, np.float32)
    rows, columns = np.nonzero(values)
    places, shape = np.stack([rows, columns]), list(values.shape)
    return sparse.sparse_coo_tensor(places, values[rows, columns], shape).to_sparse_csr()


@dataclass(frozen=True)
class Epoch:
    """One epoch of `train_citations`: its number from 0, the loss, the accuracy on the validation and the
    test nodes after it, `best`: the test accuracy of the epoch with the best validation so far, and the
    network."""

    number: int
    loss: float
    valid: float
    test: float
    best: float
    network: nn.Layer


def train_citations(papers: GraphSet, name: str = "GCN", seed: int = 0) -> Iterator[Epoch]:
    """Train "GCN", "GAT" or "GraphSAGE" on the split of `load_graph("cora")`, an epoch at a time.

    The epoch is chosen by the accuracy on the validation nodes, then by their loss; test nodes are only
    counted. Raises ValueError for another name.
    """
    if name not in RECIPES:
        raise ValueError(f"train_citations: name: expected one of {', '.join(RECIPES)}, got {name!r}")
    recipe, graph = RECIPES[name], papers.graph
    words = sparse_features(graph.node_feat["x"])
    ends = Graph((graph.sources, graph.targets), graph.num_nodes)
    edges = ends.add_self_loops() if recipe.loops else ends
    set_seed(seed)
    network = recipe.network(words.shape[1], int(papers.labels.max()) + 1)
    adam = _adam(network, recipe)
    train, labels = (torch.from_numpy(a) for a in (papers.train.astype(np.int64), papers.labels))
    best, best_test = (-1.0, -np.inf), 0.0
    for number in range(recipe.epochs):
        network.train()
        loss = F.cross_entropy(network(edges, words)[Tensor(train)], Tensor(labels[train]))
        loss.backward()
        adam.step()
        adam.clear_grad()
        valid, test, valid_loss = _measured(network, edges, words, papers)
        if (valid, -valid_loss) > best:
            best, best_test = (valid, -valid_loss), test
        yield Epoch(number, float(loss), valid, test, best_test, network)


def _adam(network: nn.Layer, recipe: Recipe) -> optimizer.Adam:
    groups: dict[float, list[Any]] = {}
    for name, parameter in network.named_parameters():
        decay = recipe.weight_decay if name.startswith(recipe.decayed) else 0.0
        groups.setdefault(decay, []).append(parameter)
    listed = [{"params": params, "weight_decay": decay} for decay, params in groups.items()]
    return optimizer.Adam(recipe.learning_rate, parameters=listed)


@no_grad()
def _measured(network: nn.Layer, edges: Graph, words: Any, papers: GraphSet) -> tuple[float, float, float]:
    """Accuracy on the validation and the test nodes, and the loss on the former."""
    network.eval()
    logits = network(edges, words)
    right = logits.numpy().argmax(1) == papers.labels
    chosen = torch.from_numpy(papers.valid.astype(np.int64))
    loss = F.cross_entropy(logits[Tensor(chosen)], Tensor(torch.from_numpy(papers.labels)[chosen]))
    return float(right[papers.valid].mean()), float(right[papers.test].mean()), float(loss)
