"""A recommender's recall: two towers whose vectors meet in a product, trained on a log by softmax within
batches.

Of millions of items the nearest to a person's vector are found first (this file), and ordered by a network
that looks closer then (recommender_ranking.py). Covington, Adams and Sargin 2016, "Deep Neural Networks for
YouTube Recommendations", has both stages; the towers and their loss are Yi et al. 2019,
"Sampling-Bias-Corrected Neural Modeling for Large Corpus Item Recommendations". Used in notebook 06 and on
the Studio's page "Embeddings".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .. import nn
from ..datasets.interactions import Ratings, histories, in_order, leave_last_out
from ..embedding import DynamicEmbedding, embedding_bag
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..nn import functional as F
from ..nn.initializer import Constant, Normal
from .recommender_steps import train_steps

__all__ = [
    "Progress",
    "TwoTower",
    "hit_rate",
    "ranks",
    "sampled_softmax",
    "train_two_tower",
    "two_tower_ranks",
]

Array = np.ndarray[Any, Any]
HIDDEN = -1e30  # the score of what must not be chosen


class TwoTower(nn.Layer):
    """Vectors [dim] of people and of items; the larger their product, the likelier the item comes next.

    An item's vector is its row of a table. A person's is the row of their id, plus a linear layer over the
    rows of their newest `length` items, weighted by their age (softmax of a learned number for
    each place). Both towers share the table of items, so that a new person has a vector with their first
    items.

    table: makes a table of (rows, dim); None: nn.Embedding. DynamicEmbedding serves ids of any size.
    sparse: False gives dense gradients, for comparison. Raises ValueError for sizes below 1.
    """

    users: Any
    items: Any
    recency: Any
    recent: Any

    def __init__(
        self,
        num_users: int,
        num_items: int,
        dim: int = 32,
        length: int = 20,
        table: Callable[[int, int], nn.Layer] | None = None,
        sparse: bool = True,
    ) -> None:
        super().__init__()
        if min(num_users, num_items, dim, length) < 1:
            raise ValueError(
                "num_users, num_items, dim, length: expected 1 or more of each, "
                f"got {num_users}, {num_items}, {dim}, {length}"
            )
        self.num_users, self.num_items, self.dim, self.length = num_users, num_items, dim, length
        self.sparse = sparse

        def plain(rows: int, width: int) -> nn.Layer:
            return nn.Embedding(rows, width, sparse=sparse, weight_attr=Normal(0.0, 0.05))

        self.users = (table or plain)(num_users, dim)
        self.items = (table or plain)(num_items + 1, dim)  # the last is none: a history has it in front
        self.mix = nn.Linear(dim, dim)
        self.recency = self.create_parameter([length], default_initializer=Constant(0.0))
        self.register_buffer("recent", Tensor(torch.full((num_users, length), num_items)))
        self._seen: tuple[Array, Array] = (np.zeros(num_users + 1, np.int64), np.empty(0, np.int64))

    def user_tower(self, users: Tensor, history: Tensor) -> Tensor:
        """users: int64 [batch]; history: int64 [batch, length], newest last, num_items for none; returns
        [batch, dim]."""
        there = (history.data != self.num_items).to(self.recency.data.dtype)
        # softmax over the places that are filled; a person without items gets zeros
        weights = F.softmax(self.recency + Tensor((1 - there) * HIDDEN), -1) * Tensor(there)
        if isinstance(self.items, DynamicEmbedding):
            taken = (self.items(history) * weights.unsqueeze(-1)).sum(1)
        else:  # the rows are added up without being written down
            taken = embedding_bag(
                history, self.items.weight, mode="sum", per_sample_weights=weights, sparse=self.sparse
            )
        return self.users(users) + self.mix(taken)

    def item_tower(self, items: Tensor) -> Tensor:
        """items: int64 [batch]; returns [batch, dim]."""
        return self.items(items)

    def forward(self, users: Tensor, history: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of people and of items, [batch, dim] each."""
        return self.user_tower(users, history), self.item_tower(items)

    # --- what it recommends ---

    def remember(self, ratings: Ratings) -> None:
        """Keep what everyone had in this log: their newest items, which their vector is made of, and all of
        them, which are not recommended again."""
        if (ratings.num_users, ratings.num_items) != (self.num_users, self.num_items):
            raise ValueError(
                f"ratings: expected {self.num_users} people and {self.num_items} items, "
                f"got {ratings.num_users} and {ratings.num_items}"
            )
        order = in_order(ratings)
        items = ratings.items[order]
        starts = np.searchsorted(ratings.users[order], np.arange(self.num_users + 1))
        self._seen = starts, items
        places = starts[1:, None] + np.arange(-self.length, 0)
        there = places >= starts[:-1, None]
        recent = np.full(places.shape, self.num_items)
        recent[there] = items[places[there]]
        self.recent.data.copy_(torch.from_numpy(recent))

    def seen(self, user: int) -> Array:
        """The items that this person had in the log that was remembered, oldest first."""
        starts, items = self._seen
        return items[starts[user] : starts[user + 1]]

    @no_grad()
    def user_vectors(self, users: Any = None, history: Any = None) -> Array:
        """float32 [n, dim]: of these people, all by default, from what is remembered of them or from
        `history` [n, length]."""
        chosen = torch.arange(self.num_users) if users is None else torch.as_tensor(np.asarray(users))
        past = self.recent.data[chosen] if history is None else torch.as_tensor(np.asarray(history))
        return self._still(lambda: self.user_tower(Tensor(chosen), Tensor(past)))

    @no_grad()
    def item_vectors(self, items: Any = None) -> Array:
        """float32 [n, dim]: of these items, all by default. Those of a `VectorIndex` with the metric
        "dot"."""
        chosen = torch.arange(self.num_items) if items is None else torch.as_tensor(np.asarray(items))
        return self._still(lambda: self.item_tower(Tensor(chosen)))

    def _still(self, call: Callable[[], Tensor]) -> Array:
        """The value of a call in eval mode: a dynamic table makes no rows by being looked at."""
        before = self.training
        self.eval()
        try:
            return call().numpy()
        finally:
            if before:
                self.train()

    def recommend(
        self, user: int, most: int = 10, seen: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """(item, score) of the best items for a person, best first. seen: items that are left out; None: what
        they had.

        Raises ValueError for a person or an item that there is not.
        """
        if not 0 <= user < self.num_users:
            raise ValueError(f"user: expected 0 to {self.num_users - 1}, got {user}")
        scores = self.item_vectors() @ self.user_vectors([user])[0]
        left_out = np.asarray(self.seen(user) if seen is None else list(seen), np.int64)
        if len(left_out) and not 0 <= left_out.min() <= left_out.max() < self.num_items:
            wrong = int(left_out[(left_out < 0) | (left_out >= self.num_items)][0])
            raise ValueError(f"seen: expected items from 0 to {self.num_items - 1}, got {wrong}")
        scores[left_out] = -np.inf
        best = np.argsort(-scores, kind="stable")[: max(0, min(most, len(scores) - len(np.unique(left_out))))]
        return [(int(i), float(scores[i])) for i in best]


def sampled_softmax(users: Tensor, items: Tensor, log_q: Tensor) -> Tensor:
    """The mean over a batch of -log(e^s_ii / sum_j e^s_ij), s_ij = users_i . items_j - log_q_j (Yi et al.
    2019, section 3.1).

    Each row's item is the right one, the others' are the wrong ones, and the sum over the batch stands for
    that over all items (so an item that two rows have counts twice). An item comes into a batch as often as
    people have it, which log_q [batch], the logarithm of that probability, takes away again. users, items:
    [batch, dim].
    """
    logits = users.matmul(items, transpose_y=True) - log_q
    return F.cross_entropy(logits, Tensor(torch.arange(len(log_q.data))))


# --- how good it is -----------------------------------------------------------------------------------------


def ranks(scores: Array, wanted: Array, seen: tuple[Array, Array] | None = None) -> Array:
    """int64 [n]: the place of the wanted item of each row among all items, from 1. None is left out by
    chance: sampled candidates would change which of two models is better (Krichene and Rendle 2020, "On
    Sampled Metrics for Item Recommendation").

    scores: [n, items]; wanted: int64 [n]; seen: (rows, items), pairs that are not candidates, unless wanted.
    An equal score counts against the wanted item, so that a constant score is the worst; so does a wanted
    NaN score.
    """
    rows = np.arange(len(wanted))
    own = scores[rows, wanted][:, None]
    better = ~(scores < own)
    if seen is not None:
        better[seen[0], seen[1]] = False
    better[rows, wanted] = True
    return better.sum(1)


def hit_rate(ranks: Array, k: int = 10) -> float:
    """The share of ranks (from 1) that are k or less; nan for none."""
    ranks = np.asarray(ranks)
    return float((ranks <= k).mean()) if ranks.size else float("nan")


def two_tower_ranks(network: TwoTower, held: Ratings, candidates: Array | None = None) -> Array:
    """The rank of each row of `held` for its person, among all items that they did not have in what is
    remembered.

    candidates: ids that are ranked, where not all are in use.
    """
    scores = network.user_vectors(held.users) @ network.item_vectors(candidates).T
    place = np.arange(network.num_items) if candidates is None else candidates
    wanted = np.searchsorted(place, held.items)
    mine = [np.searchsorted(place, network.seen(u)) for u in held.users]
    rows = np.repeat(np.arange(len(held)), [len(m) for m in mine])
    return ranks(scores, wanted, (rows, np.concatenate([np.empty(0, np.int64), *mine])))


# --- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """How far a training is: `done` from 0 to 1, the epoch (from 0), the mean loss since the last report (nan
    at first), the share of held people whose item is among ten (as of the end of the last epoch), and the
    network itself."""

    done: float
    epoch: int
    loss: float
    hit_rate: float
    network: TwoTower


def train_two_tower(
    ratings: Ratings,
    epochs: int = 10,
    network: TwoTower | None = None,
    held: Ratings | None = None,
    *,
    dim: int = 32,
    batch_size: int = 512,
    learning_rate: float = 6e-3,
    weight_decay: float = 0.01,
    seed: int = 0,
    every: int = 25,
    candidates: Array | None = None,
) -> Iterator[Progress]:
    """Train on a log, reporting every so many steps and after each epoch; stopping the iteration early leaves
    a network that recommends, as trained so far.

    held: what the hit rate is measured on, against all items (see `ranks`); None: everyone's last item, which
    is then not trained on (`leave_last_out`). network: continue training this one; None: a TwoTower of `dim`.
    candidates: see two_tower_ranks.
    The rest: see `train_steps`; batches are whole, as a row's wrong answers are the others of its batch.
    Raises ValueError for a log without rows to train on.
    """
    if held is None:
        ratings, held = leave_last_out(ratings)
    if len(ratings) < 2:
        raise ValueError(f"ratings: expected two rows or more to train on, got {len(ratings)}")
    if network is None:
        network = TwoTower(ratings.num_users, ratings.num_items, dim)
    network.remember(ratings)
    past = histories(ratings, network.length)
    past = np.where(past >= 0, ratings.items[past], ratings.num_items)
    _, place, counts = np.unique(ratings.items, return_inverse=True, return_counts=True)
    log_q = np.log(counts / len(ratings)).astype(np.float32)[place]  # of each row's item

    def loss_of(rows: Array) -> Tensor:
        batch = (ratings.users[rows], past[rows], ratings.items[rows])
        users, items = network(*(Tensor(torch.from_numpy(a)) for a in batch))
        return sampled_softmax(users, items, Tensor(torch.from_numpy(log_q[rows])))

    steps = train_steps(
        network,
        loss_of,
        len(ratings),
        whole=True,
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        seed=seed,
        every=every,
    )
    try:
        rate = hit_rate(two_tower_ranks(network, held, candidates))
        yield Progress(0.0, 0, float("nan"), rate, network)
        for step in steps:
            if step.last:
                rate = hit_rate(two_tower_ranks(network, held, candidates))
            yield Progress(step.done, step.epoch, step.loss, rate, network)
    finally:
        network.eval()
