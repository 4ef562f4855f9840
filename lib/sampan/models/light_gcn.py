"""A recommender on the graph of users and items: LightGCN with the pairwise loss of BPR.

Networks: He et al. 2020, "LightGCN: Simplifying and Powering Graph Convolution Network for Recommendation";
with `layers=0` it is matrix factorization. Loss: Rendle et al. 2009, "BPR: Bayesian Personalized Ranking
from Implicit Feedback". Split and ranks are those of `recommender.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import nn, optimizer
from ..datasets.interactions import Ratings, leave_last_out
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..graph import Graph
from ..graph.nn import LightGCNConv
from ..nn import functional as F
from ..nn.initializer import Normal
from ..random import seed as set_seed
from .recommender import hit_rate, ranks

__all__ = ["Epoch", "LightGCN", "light_gcn_ranks", "train_light_gcn", "user_item_graph"]

Array = np.ndarray[Any, Any]


class LightGCN(nn.Layer):
    """Vectors [dim] of users and items: the mean of a row and of its results after 1 to `layers`
    convolutions (He et al. 2020, (4) and (8)). Raises ValueError for sizes below 1 or layers below 0."""

    rows: Any  # the parameter [users + items, dim]

    def __init__(self, num_users: int, num_items: int, dim: int = 64, layers: int = 3) -> None:
        super().__init__()
        if min(num_users, num_items, dim) < 1 or layers < 0:
            raise InvalidArgument(
                "LightGCN: num_users, num_items, dim, layers: expected 1, 1, 1 and 0 or more, "
                f"got {num_users}, {num_items}, {dim}, {layers}"
            )
        self.num_users, self.num_items, self.layers = num_users, num_items, layers
        self.rows = self.create_parameter([num_users + num_items, dim], default_initializer=Normal(0.0, 0.1))
        self.convolution = LightGCNConv()

    def forward(self, graph: Graph) -> Tensor:
        """Vectors of all users, then of all items, float32 [users + items, dim]."""
        total: Any = self.rows
        x = total
        for _ in range(self.layers):
            x = self.convolution(graph, x)
            total = total + x
        mean: Tensor = total / (self.layers + 1)
        return mean


def user_item_graph(ratings: Ratings) -> Graph:
    """An edge in each direction for each user and item that occur together; item i is node num_users + i."""
    pairs = np.unique(ratings.users * ratings.num_items + ratings.items)
    users, items = pairs // ratings.num_items, ratings.num_users + pairs % ratings.num_items
    edges = np.concatenate([users, items]), np.concatenate([items, users])
    return Graph(edges, ratings.num_users + ratings.num_items)


@no_grad()
def light_gcn_ranks(network: LightGCN, graph: Graph, ratings: Ratings, held: Ratings) -> Array:
    """The rank of the item of each row of `held` among all items that its user has not in `ratings`,
    int64."""
    vectors = network(graph).numpy()
    scores = vectors[held.users] @ vectors[network.num_users :].T
    order = np.argsort(ratings.users, kind="stable")
    first, end = (np.searchsorted(ratings.users[order], held.users, side) for side in ("left", "right"))
    counts = end - first
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    seen = ratings.items[order[np.repeat(first, counts) + within]]
    return ranks(scores, held.items, (np.repeat(np.arange(len(held)), counts), seen))


@dataclass(frozen=True)
class Epoch:
    """One epoch of `train_light_gcn`: its number from 0, the mean loss, the hit rate at 10 of the held-out
    rows, and the network."""

    number: int
    loss: float
    hit_rate: float
    network: LightGCN


def train_light_gcn(
    ratings: Ratings,
    epochs: int = 60,
    held: Ratings | None = None,
    *,
    dim: int = 64,
    layers: int = 3,
    batch_size: int = 4096,
    learning_rate: float = 5e-3,
    penalty: float = 1e-4,
    seed: int = 0,
) -> Iterator[Epoch]:
    """Train on a log, an epoch at a time, by Adam; every step convolves the whole graph.

    held: as in `train_two_tower`; None: the last item of each user, which is then left out of training.
    penalty: the factor of the squared norms of a batch's rows. A negative is an item that the user has not,
    drawn uniformly: a draw that the user has is drawn again, at most 20 times. Raises ValueError for an
    empty log or sizes below 1.
    """
    if held is None:
        ratings, held = leave_last_out(ratings)
    if not len(ratings) or min(epochs, batch_size) < 1:
        raise InvalidArgument(
            "train_light_gcn: ratings, epochs, batch_size: expected 1 or more of each, "
            f"got {len(ratings)}, {epochs}, {batch_size}"
        )
    set_seed(seed)
    rng = np.random.default_rng(seed)
    network = LightGCN(ratings.num_users, ratings.num_items, dim, layers)
    graph = user_item_graph(ratings)
    known = np.unique(ratings.users * ratings.num_items + ratings.items)
    users, items = known // ratings.num_items, known % ratings.num_items
    adam = optimizer.Adam(learning_rate, parameters=network.parameters())
    for number in range(epochs):
        network.train()
        losses = []
        order = rng.permutation(len(known))
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            negatives = _not_known(users[rows], known, ratings.num_items, rng)
            nodes = (users[rows], ratings.num_users + items[rows], ratings.num_users + negatives)
            places = [Tensor(torch.from_numpy(nodes_of)) for nodes_of in nodes]
            vectors = network(graph)
            user, item, other = (vectors[place] for place in places)
            loss = F.softplus((user * (other - item)).sum(-1)).mean()
            norms = sum((network.rows[place] ** 2).sum() for place in places) / (2 * len(rows))
            (loss + penalty * norms).backward()
            adam.step()
            adam.clear_grad()
            losses.append(float(loss))
        network.eval()
        rate = hit_rate(light_gcn_ranks(network, graph, ratings, held))
        yield Epoch(number, float(np.mean(losses)), rate, network)


def _not_known(users: Array, known: Array, num_items: int, rng: np.random.Generator) -> Array:
    """An item for each user, uniformly among those whose pair is not in the sorted `known`."""
    items = rng.integers(0, num_items, len(users))
    again = np.arange(len(users))
    for _ in range(20):
        keys = users[again] * num_items + items[again]
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        again = again[known[place] == keys]
        if not len(again):
            break
        items[again] = rng.integers(0, num_items, len(again))
    return items
