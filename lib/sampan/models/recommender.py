"""Candidate retrieval of a recommender: a two-tower network trained with in-batch sampled softmax.

Retrieval finds the items nearest to the user's vector (this file); a ranking network then orders them
(recommender_ranking.py). Both stages: Covington, Adams and Sargin 2016, "Deep Neural Networks for YouTube
Recommendations". Towers and loss: Yi et al. 2019, "Sampling-Bias-Corrected Neural Modeling for Large Corpus
Item Recommendations". Used in notebooks 06 and 06b, and on
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
from ..engine.tensor import InvalidArgument, Tensor
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
HIDDEN = -1e30  # the score of a masked position


class TwoTower(nn.Layer):
    """Vectors [dim] of users and of items; their inner product scores how likely the item is the user's next
    one.

    An item's vector is its row of the item embedding. A user's vector is the row of the user id, plus a
    linear layer applied to a weighted sum of the embeddings of the newest `length` items. The weights are the
    softmax of a learned number for each position. Both towers share the item embedding, so a new user has a
    vector as soon as there are items in the history.

    table: function of (rows, dim) that makes an embedding; None: nn.Embedding. DynamicEmbedding takes ids of
    any size. sparse: False gives dense gradients, for comparison. Raises ValueError for sizes below 1.
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
            raise InvalidArgument(
                "num_users, num_items, dim, length: expected 1 or more of each, "
                f"got {num_users}, {num_items}, {dim}, {length}"
            )
        self.num_users, self.num_items, self.dim, self.length = num_users, num_items, dim, length
        self.sparse = sparse

        def default_table(rows: int, width: int) -> nn.Layer:
            return nn.Embedding(rows, width, sparse=sparse, weight_attr=Normal(0.0, 0.05))

        self.users = (table or default_table)(num_users, dim)
        # The last row is padding, at the start of a short history.
        self.items = (table or default_table)(num_items + 1, dim)
        self.mix = nn.Linear(dim, dim)
        self.recency = self.create_parameter([length], default_initializer=Constant(0.0))
        self.register_buffer("recent", Tensor(torch.full((num_users, length), num_items)))
        self._seen: tuple[Array, Array] = (np.zeros(num_users + 1, np.int64), np.empty(0, np.int64))

    def user_tower(self, users: Tensor, history: Tensor) -> Tensor:
        """users: int64 [batch]; history: int64 [batch, length], newest last, num_items for none; returns
        [batch, dim]."""
        valid = (history != self.num_items).astype(self.recency.dtype)
        # softmax over the positions with an item; zeros for an empty history
        weights = F.softmax(self.recency + (1 - valid) * HIDDEN, -1) * valid
        if isinstance(self.items, DynamicEmbedding):
            history_sum = (self.items(history) * weights.unsqueeze(-1)).sum(1)
        else:  # sums the rows without storing them
            history_sum = embedding_bag(
                history, self.items.weight, mode="sum", per_sample_weights=weights, sparse=self.sparse
            )
        return self.users(users) + self.mix(history_sum)

    def item_tower(self, items: Tensor) -> Tensor:
        """items: int64 [batch]; returns [batch, dim]."""
        return self.items(items)

    def forward(self, users: Tensor, history: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of users and of items, [batch, dim] each."""
        return self.user_tower(users, history), self.item_tower(items)

    # --- recommendations ---

    def remember(self, ratings: Ratings) -> None:
        """Store each user's history of this log: the newest items, which the user's vector depends on, and
        all items, which `recommend` leaves out."""
        if (ratings.num_users, ratings.num_items) != (self.num_users, self.num_items):
            raise InvalidArgument(
                f"ratings: expected {self.num_users} users and {self.num_items} items, "
                f"got {ratings.num_users} and {ratings.num_items}"
            )
        order = in_order(ratings)
        items = ratings.items[order]
        starts = np.searchsorted(ratings.users[order], np.arange(self.num_users + 1))
        self._seen = starts, items
        places = starts[1:, None] + np.arange(-self.length, 0)
        valid = places >= starts[:-1, None]
        recent = np.full(places.shape, self.num_items)
        recent[valid] = items[places[valid]]
        self.recent.data.copy_(torch.from_numpy(recent))

    def seen(self, user: int) -> Array:
        """The items of this user in the log of `remember`, oldest first."""
        starts, items = self._seen
        return items[starts[user] : starts[user + 1]]

    @no_grad()
    def user_vectors(self, users: Any = None, history: Any = None) -> Array:
        """float32 [n, dim]: vectors of these users (default: all), from the stored history or from `history`
        [n, length]."""
        ids = torch.arange(self.num_users) if users is None else torch.as_tensor(np.asarray(users))
        past = self.recent.data[ids] if history is None else torch.as_tensor(np.asarray(history))
        return self._in_eval_mode(lambda: self.user_tower(Tensor(ids), Tensor(past)))

    @no_grad()
    def item_vectors(self, items: Any = None) -> Array:
        """float32 [n, dim]: vectors of these items (default: all), for a `VectorIndex` with the metric
        "dot"."""
        ids = torch.arange(self.num_items) if items is None else torch.as_tensor(np.asarray(items))
        return self._in_eval_mode(lambda: self.item_tower(Tensor(ids)))

    def _in_eval_mode(self, call: Callable[[], Tensor]) -> Array:
        """The value of a call in eval mode, in which a lookup in a dynamic table inserts no rows."""
        was_training = self.training
        self.eval()
        try:
            return call().numpy()
        finally:
            if was_training:
                self.train()

    def recommend(
        self, user: int, most: int = 10, seen: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """(item, score) of the `most` best items for a user, best first. seen: items to leave out; None: the
        user's stored history.

        Raises ValueError for an unknown user or item.
        """
        if not 0 <= user < self.num_users:
            raise InvalidArgument(f"user: expected 0 to {self.num_users - 1}, got {user}")
        scores = self.item_vectors() @ self.user_vectors([user])[0]
        left_out = np.asarray(self.seen(user) if seen is None else list(seen), np.int64)
        if len(left_out) and not 0 <= left_out.min() <= left_out.max() < self.num_items:
            invalid = int(left_out[(left_out < 0) | (left_out >= self.num_items)][0])
            raise InvalidArgument(f"seen: expected items from 0 to {self.num_items - 1}, got {invalid}")
        scores[left_out] = -np.inf
        best = np.argsort(-scores, kind="stable")[: max(0, min(most, len(scores) - len(np.unique(left_out))))]
        return [(int(i), float(scores[i])) for i in best]


def sampled_softmax(users: Tensor, items: Tensor, log_q: Tensor) -> Tensor:
    """The mean over a batch of -log(e^s_ii / sum_j e^s_ij), s_ij = users_i . items_j - log_q_j (Yi et al.
    2019, section 3.1).

    In-batch negatives: the item of row i is the positive of row i, the items of the other rows are its
    negatives, and the sum over the batch estimates the sum over all items. Popular items are sampled more
    often; subtracting log_q [batch], the logarithm of the sampling probability, corrects this bias. users,
    items: [batch, dim].
    """
    logits = users.matmul(items, transpose_y=True) - log_q
    return F.cross_entropy(logits, Tensor(torch.arange(len(log_q.data))))


# --- metrics ------------------------------------------------------------------------------------------------


def ranks(scores: Array, targets: Array, seen: tuple[Array, Array] | None = None) -> Array:
    """int64 [n]: the rank, from 1, of the target item of each row among all items. Candidates are not
    sampled: sampling can change the order of two models (Krichene and Rendle 2020, "On Sampled Metrics for
    Item Recommendation").

    scores: [n, items]; targets: int64 [n]; seen: (rows, items), pairs that are not candidates, except
    targets. Ties count against the target, so a constant score has the worst rank. A target with a NaN score
    has the worst rank too.
    """
    rows = np.arange(len(targets))
    target_scores = scores[rows, targets][:, None]
    better = ~(scores < target_scores)
    if seen is not None:
        better[seen[0], seen[1]] = False
    better[rows, targets] = True
    return better.sum(1)


def hit_rate(ranks: Array, k: int = 10) -> float:
    """Hit rate at k: the fraction of ranks (from 1) that are at most k; nan without ranks."""
    ranks = np.asarray(ranks)
    return float((ranks <= k).mean()) if ranks.size else float("nan")


def two_tower_ranks(network: TwoTower, held: Ratings, candidates: Array | None = None) -> Array:
    """The rank of the item of each row of `held`, among all items that are not in the user's stored history.

    candidates: sorted ids to rank; None: all items.
    """
    scores = network.user_vectors(held.users) @ network.item_vectors(candidates).T
    place = np.arange(network.num_items) if candidates is None else candidates
    targets = np.searchsorted(place, held.items)
    seen_items = [np.searchsorted(place, network.seen(u)) for u in held.users]
    rows = np.repeat(np.arange(len(held)), [len(m) for m in seen_items])
    return ranks(scores, targets, (rows, np.concatenate([np.empty(0, np.int64), *seen_items])))


# --- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """Progress of training: the fraction done from 0 to 1, the epoch (from 0), the mean loss since the last
    report (nan at first), the hit rate at 10 of the held-out rows (at the end of the last epoch), and the
    network."""

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
    """Train on a log; yields Progress every `every` steps and after each epoch. The caller may stop the
    iteration early; the network is usable as trained so far.

    held: held-out rows for the hit rate, against all items (see `ranks`); None: the last item of each user,
    which is then left out of training (`leave_last_out`). network: continue the training of this network;
    None: a new TwoTower with `dim`. candidates: see two_tower_ranks. Other arguments: see `train_steps`. An
    incomplete last batch is dropped, because the other rows of a batch are the negatives. Raises ValueError
    for a log with fewer than two rows to train on.
    """
    if held is None:
        ratings, held = leave_last_out(ratings)
    if len(ratings) < 2:
        raise InvalidArgument(f"ratings: expected two rows or more to train on, got {len(ratings)}")
    if network is None:
        network = TwoTower(ratings.num_users, ratings.num_items, dim)
    network.remember(ratings)
    past = histories(ratings, network.length)
    past = np.where(past >= 0, ratings.items[past], ratings.num_items)
    _, place, counts = np.unique(ratings.items, return_inverse=True, return_counts=True)
    log_q = np.log(counts / len(ratings)).astype(np.float32)[place]  # log probability of each row's item

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
