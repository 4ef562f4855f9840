"""Alarms on a stream of ratings: predicts from the graph of earlier ratings whether a new one is negative.

`FraudDetector` keeps the ratings in a `DynamicGraph`. For each new rating it computes features of the two
people and of their common neighbours (fraud_features.py), and a small network gives a probability: `score`,
then `observe`. `reason` lists the earlier ratings that contribute to a score. `load_graph("bitcoin_otc")` has
real ratings; `benchmarks/graph_results.py fraud` measures the accuracy on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch

from .. import nn
from ..datasets.graphs import GraphSet
from ..engine.backward import no_grad
from ..engine.tensor import Tensor
from ..graph import DynamicGraph
from ..nn import functional as F
from ..random import seed as set_seed
from .fraud_features import GROUPS, Neighbourhood, Side, columns, features
from .recommender_steps import train_steps

__all__ = [
    "Classifier",
    "Event",
    "FraudDetector",
    "Progress",
    "Reason",
    "ReasonEdge",
    "alarm_threshold",
    "events_of",
    "fit_classifier",
    "train_fraud",
]

Array = np.ndarray[Any, Any]


class Event(NamedTuple):
    """One person rates another. rating: -1 to 1, not 0; nan while it is not known. time: seconds."""

    giver: int
    receiver: int
    time: float
    rating: float = float("nan")


def events_of(ratings: GraphSet) -> list[Event]:
    """The ratings of a data set such as `load_graph("bitcoin_otc")` in order of time, scaled from -10 to 10
    to -1 to 1."""
    graph = ratings.graph
    parts = graph.sources, graph.targets, graph.edge_feat["time"], graph.edge_feat["rating"] / 10
    return [Event(*event) for event in zip(*(np.asarray(part).tolist() for part in parts), strict=True)]


class Classifier(nn.Layer):
    """Logits [batch] of features [batch, columns]: columns are standardised by their means and standard
    deviations (buffers) and clipped to -5 to 5; then one hidden layer."""

    mean: Any
    scale: Any

    def __init__(self, mean: Array, deviation: Array, hidden: int = 32) -> None:
        super().__init__()
        scale = np.where(deviation > 0, deviation, 1)
        self.register_buffer("mean", Tensor(torch.from_numpy(mean.astype(np.float32))))
        self.register_buffer("scale", Tensor(torch.from_numpy(scale.astype(np.float32))))
        self.layers = nn.Sequential(nn.Linear(len(mean), hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(((x - self.mean) / self.scale).clip(-5.0, 5.0)).squeeze(-1)
        return logits

    @no_grad()
    def predict(self, rows: Array) -> Array:
        """float32 [n]: the logits of rows [n, columns]."""
        found: Array = self(Tensor(torch.from_numpy(np.asarray(rows, np.float32)))).numpy()
        return found


def fit_classifier(rows: Array, negative: Array, epochs: int = 20, seed: int = 0) -> Classifier:
    """A Classifier trained on rows [n, columns] and labels `negative` [n].

    Raises ValueError without rows, for lengths that differ, and if all labels are equal.
    """
    rows, negative = np.asarray(rows, np.float32), np.asarray(negative, bool)
    if rows.ndim != 2 or rows.shape[0] != negative.size or negative.all() or not negative.any():
        raise ValueError(
            "fit_classifier: expected rows [n, columns] and n labels of both kinds, got "
            f"{list(rows.shape)} and {negative.size} with {int(negative.sum())} negative"
        )
    set_seed(seed)
    network, labels = Classifier(rows.mean(0), rows.std(0)), negative.astype(np.float32)

    def loss_of(chosen: Array) -> Tensor:
        logits = network(Tensor(torch.from_numpy(rows[chosen])))
        loss: Tensor = F.binary_cross_entropy_with_logits(logits, Tensor(torch.from_numpy(labels[chosen])))
        return loss

    for _ in train_steps(
        network, loss_of, len(rows), whole=False, epochs=epochs, batch_size=256, learning_rate=3e-3,
        weight_decay=0.1, seed=seed, every=1000,
    ):  # fmt: skip
        pass
    network.eval()
    return network


def alarm_threshold(scores: Array, negative: Array) -> float:
    """The threshold at which the number of alarms equals the number of negative ratings."""
    count = max(int(np.sum(negative)), 1)
    return float(np.sort(scores)[-count])


class ReasonEdge(NamedTuple):
    """An earlier rating that contributes to a score. contribution: the decrease of the score's log-odds
    without this rating; negative if the rating lowers the score."""

    source: int
    target: int
    rating: float
    time: float
    contribution: float


@dataclass(frozen=True)
class Reason:
    """The contributions to the score of an event.

    nodes: the people in `edges`, giver and receiver first, int64. edges: the earlier ratings with the largest
    contributions, the largest first. features: (name, value, contribution) of every feature, the largest
    contribution first; it is the decrease of the log-odds with the feature's mean in place of its value.
    """

    event: Event
    score: float
    nodes: Array
    edges: list[ReasonEdge]
    features: list[tuple[str, float, float]]


class FraudDetector:
    """Scores each rating of a stream by the graph of the earlier ones: `score`, `reason`, then `observe`.

    num_people: the initial number of people; new ones are added when they first occur. groups: the groups of
    features (fraud_features.py). `network` and `threshold` are set by `train_fraud`, or by the caller with
    `fit_classifier` and `alarm_threshold`. Not thread-safe.

    A score depends on the observed ratings and on the event's people and time, never on its rating. Fairness
    and goodness are stored as features of the nodes; a rating updates those of its two ends.
    """

    def __init__(self, num_people: int = 0, groups: Sequence[str] = tuple(GROUPS)) -> None:
        unknown = [group for group in groups if group not in GROUPS]
        if unknown or not groups:
            raise ValueError(f"FraudDetector: groups: expected some of {list(GROUPS)}, got {list(groups)}")
        self.groups, self.columns = tuple(groups), columns(tuple(groups))
        ends = {"fairness": np.ones(num_people), "goodness": np.zeros(num_people)}
        self.graph = DynamicGraph(num_people, (), [], ends, {"rating": np.zeros(0)})
        self.network: Classifier | None = None
        self.threshold = 0.5
        self.latest = -np.inf  # the time of the newest event observed

    # --- updates

    def observe(self, event: Event) -> None:
        """Add a rating to the graph. Raises ValueError for one that is earlier than the latest, outside -1 to
        1, or 0."""
        self._check("observe", event)
        if not 0 < abs(event.rating) <= 1:
            raise ValueError(f"observe: rating: expected -1 to 1 and not 0, got {event.rating}")
        giver, receiver = int(event.giver), int(event.receiver)
        more = max(giver, receiver) + 1 - self.graph.num_nodes
        if more > 0:
            self.graph.add_nodes(more, {"fairness": np.ones(more), "goodness": np.zeros(more)})
        self.graph.add_edge(giver, receiver, float(event.time), rating=event.rating)
        self.latest = float(event.time)
        (received,) = self._sides(self.graph.predecessors([receiver]), "fairness", [receiver], self.latest)
        self.graph.update_node_feat("goodness", [receiver], [received.goodness])
        (given,) = self._sides(self.graph.successors([giver]), "goodness", [giver], self.latest)
        self.graph.update_node_feat("fairness", [giver], [given.fairness])  # by the new goodness

    def neighbourhood(self, event: Event) -> Neighbourhood:
        """The observed ratings of the event's two people."""
        self._check("neighbourhood", event)
        ends = int(event.giver), int(event.receiver)
        known = [end for end in ends if end < self.graph.num_nodes]
        time = float(event.time)
        after = self._sides(self.graph.successors(known), "goodness", ends, time)
        before = self._sides(self.graph.predecessors(known), "fairness", ends, time)
        return Neighbourhood(*ends, time, after[0], before[0], before[1], after[1])

    def _sides(self, read: Any, worth: str, ends: Sequence[int], now: float) -> list[Side]:
        """The rows of these people; a person who is not in the graph yet has none."""
        others, edges, counts = read
        parts = (
            others, self.graph.edge_feat("rating", edges), self.graph.edge_times(edges), edges,
            self.graph.node_feat(worth, others),
        )  # fmt: skip
        sizes, rows = iter(counts.tolist()), [0]
        for end in ends:
            rows.append(rows[-1] + (next(sizes) if end < self.graph.num_nodes else 0))
        return [Side(now, *(part[a:b] for part in parts)) for a, b in pairwise(rows)]

    def _check(self, function: str, event: Event) -> None:
        if min(event.giver, event.receiver) < 0:
            raise ValueError(f"{function}: expected people from 0 on, got {event.giver} and {event.receiver}")
        if not self.latest <= event.time < np.inf:
            raise ValueError(f"{function}: time: expected {self.latest} or later, got {event.time}")

    # --- scores

    def features(self, event: Event) -> Array:
        """float32 [columns]: the features of the event before it is observed."""
        return np.array(features(self.neighbourhood(event), self.groups), np.float32)

    def score(self, event: Event) -> float:
        """The probability that the rating is negative. Raises RuntimeError without a network."""
        return _probability(self._logits(self.features(event)[None], "score")[0])

    def is_alarm(self, score: float) -> bool:
        """Whether a score is `threshold` or more."""
        return score >= self.threshold

    def reason(self, event: Event, most: int = 12, depth: int = 10) -> Reason:
        """The earlier ratings and the features that contribute to the event's score.

        The score is computed again without each rating (occlusion). most: the largest number of ratings in
        the result. depth: how many are tried, the newest of each side and the newest that link giver and
        receiver.
        """
        seen = self.neighbourhood(event)
        tried = _evidence(seen, depth)
        own = np.array(features(seen, self.groups), np.float32)
        less = [np.array(features(seen.without(edge), self.groups), np.float32) for edge in tried]
        usual = np.repeat(own[None], len(own), 0)
        if self.network is not None:
            np.fill_diagonal(usual, self.network.mean.numpy())
        logits = self._logits(np.stack([own, *less, *usual]), "reason").astype(np.float64)
        moved = logits[0] - logits[1:]
        edges = [
            ReasonEdge(*tried[edge], float(change))
            for edge, change in zip(tried, moved, strict=False)
            if change
        ]
        edges = sorted(edges, key=lambda edge: -abs(edge.contribution))[:most]
        people = dict.fromkeys([seen.giver, seen.receiver, *(end for edge in edges for end in edge[:2])])
        parts = zip(self.columns, own.tolist(), moved[len(tried) :].tolist(), strict=True)
        named = sorted(parts, key=lambda part: -abs(part[2]))
        return Reason(event, _probability(logits[0]), np.array(list(people), np.int64), edges, named)

    def _logits(self, rows: Array, function: str) -> Array:
        if self.network is None:
            raise RuntimeError(f"{function}: expected a network: see train_fraud")
        return self.network.predict(rows)


def _probability(logit: float) -> float:
    return float(1 / (1 + np.exp(-np.float64(logit))))


def _evidence(seen: Neighbourhood, depth: int) -> dict[int, tuple[int, int, float, float]]:
    """Edge number -> (source, target, rating, time) of the ratings that `reason` tries."""
    mine, found = np.concatenate([seen.given.others, seen.returned.others]), {}
    for place, side in enumerate(seen.sides):
        end = seen.giver if place < 2 else seen.receiver
        chosen = np.arange(len(side.edges))[-depth:]
        if place >= 2:
            links = np.flatnonzero(np.isin(side.others, mine))[-depth:]
            chosen = np.union1d(chosen, links)
        parts = side.others, side.ratings, side.times, side.edges
        for other, rating, time, edge in zip(*(part[chosen].tolist() for part in parts), strict=True):
            ends = (end, other) if place in (0, 3) else (other, end)  # outgoing edges
            found[edge] = (*ends, rating, time)
    return found


# --- training -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Progress:
    """Progress of `train_fraud`: the fraction `done`, and the detector, which has a network at done = 1."""

    done: float
    detector: FraudDetector


def train_fraud(
    events: Sequence[Event],
    train: float = 0.6,
    valid: float = 0.2,
    *,
    groups: Iterable[str] = tuple(GROUPS),
    epochs: int = 20,
    seed: int = 0,
    every: int = 500,
) -> Iterator[Progress]:
    """Train on the first part of a stream and choose the threshold on the second; the third is not used.

    events: in order of time. train, valid: fractions of them. Afterwards the detector has observed the first
    two parts. Yields Progress every `every` events. Raises ValueError if one of the three parts is empty.
    """
    first, end = int(len(events) * train), int(len(events) * (train + valid))
    if not 0 < first < end < len(events):
        raise ValueError(
            f"train_fraud: expected shares that leave events for three parts, got {train} and {valid} of "
            f"{len(events)}"
        )
    detector, rows = FraudDetector(groups=tuple(groups)), []
    for number, event in enumerate(events[:end]):
        rows.append(detector.features(event))
        detector.observe(event)
        if number % every == 0:
            yield Progress(0.9 * number / end, detector)
    negative = np.array([event.rating < 0 for event in events[:end]])
    network = fit_classifier(np.stack(rows[:first]), negative[:first], epochs, seed)
    logits = network.predict(np.stack(rows[first:]))
    detector.network = network
    detector.threshold = _probability(alarm_threshold(logits, negative[first:]))
    yield Progress(1.0, detector)
