"""Features of a rating before its value is known: of its two people and of their neighbours in the graph of
all earlier ratings.

Three groups: "own" uses counts and times of the two people's ratings; "history" the values that the two gave
and received; "neighbours" what links the two: the rating in the other direction, common acquaintances, and
fairness and goodness (Kumar et al. 2016, "Edge Weight Prediction in Weighted Signed Networks", equations 1
and 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

__all__ = ["GROUPS", "Neighbourhood", "Side", "columns", "features"]

Array = np.ndarray[Any, Any]
HOUR, DAY, WEEK = 3600.0, 86400.0, 604800.0
NEVER = 12.0  # log of the hours since an event that has never happened: about 18 years


@dataclass(frozen=True, eq=False)
class Side:
    """The edges of one person in one direction, in order of time.

    others: the person at the other end. ratings: -1 to 1. edges: edge numbers. worth: of the other person,
    goodness for outgoing edges (the rated), fairness for incoming ones (the raters). now: the time at which
    the features are computed."""

    now: float
    others: Array
    ratings: Array
    times: Array
    edges: Array
    worth: Array

    def without(self, edge: int) -> Side:
        """A copy without this edge; the object itself if it does not have the edge."""
        kept = self.edges != edge
        if kept.all():
            return self
        parts = self.others, self.ratings, self.times, self.edges, self.worth
        return Side(self.now, *(part[kept] for part in parts))

    def since(self, which: Any = slice(None)) -> float:
        """log(1 + hours since the latest of these edges)."""
        times = self.times[which]
        return math.log1p((self.now - times[-1]) / HOUR) if len(times) else NEVER

    @cached_property
    def account(self) -> list[float]:
        """Features that do not depend on the values of ratings, named in `_OF_ACCOUNT`."""
        age = math.log1p((self.now - self.times[0]) / DAY) if len(self.times) else -1.0
        return [math.log1p(len(self.times)), age, self.since()]

    @cached_property
    def history(self) -> list[float]:
        """Features of the ratings' values, named in `_OF_SIDE`."""
        count = len(self.ratings)
        if not count:
            return [0.0, 0.1, 0.0, NEVER, 0.0, 0.0]
        negative = self.ratings < 0
        recent = np.exp((self.times - self.now) / WEEK)  # exponential decay with a time constant of one week
        bad = float(recent[negative].sum())
        return [
            float(self.ratings.sum())
            / (count + 1),  # smoothed by one pseudo-rating: mean 0, share of negative ones 0.1
            (np.count_nonzero(negative) + 0.1) / (count + 1),
            float(self.ratings[-1]),
            self.since(negative),
            bad,
            float(recent.sum()) - bad,
        ]

    @cached_property
    def fairness(self) -> float:
        """Fairness of the rater: 1 - half the mean distance of the ratings from the goodness of the rated."""
        if not len(self.ratings):
            return 1.0
        return 1.0 - float(np.abs(self.ratings - self.worth).mean()) / 2

    @cached_property
    def goodness(self) -> float:
        """Goodness of the receiver: the mean of the ratings, each times the fairness of its rater."""
        return float((self.ratings * self.worth).mean()) if len(self.ratings) else 0.0


class Neighbourhood(NamedTuple):
    """The earlier ratings from which the features of a rating from `giver` to `receiver` at `time` are
    computed: two sides of each person."""

    giver: int
    receiver: int
    time: float
    given: Side  # by the giver
    returned: Side  # to the giver
    received: Side  # by the receiver
    passed: Side  # given by the receiver

    @property
    def sides(self) -> tuple[Side, Side, Side, Side]:
        return self.given, self.returned, self.received, self.passed

    def without(self, edge: int) -> Neighbourhood:
        """A copy without the rating of this edge number."""
        return self._replace(
            **{
                name: getattr(self, name).without(edge)
                for name in ("given", "returned", "received", "passed")
            }
        )


_SIDES = ("giver's given", "giver's received", "receiver's received", "receiver's given")
_OF_SIDE = (
    "mean",
    "share negative",
    "latest rating",
    "time since negative",
    "negative this week",
    "positive this week",
)
_OF_ACCOUNT = ("count", "age", "time since latest")
GROUPS = {
    "own": [
        "hour, sine", "hour, cosine", "weekday, sine", "weekday, cosine",
        *(f"{side}: {what}" for side in _SIDES for what in _OF_ACCOUNT),
    ],
    "history": [f"{side}: {what}" for side in _SIDES for what in _OF_SIDE],
    "neighbours": [
        "rating in return", "rating in return is negative", "rating in return is positive",
        "time since rating in return",
        "those whom the giver rated, of the receiver", "weight of those whom the giver rated",
        "those who rated the giver, of the receiver", "weight of those who rated the giver",
        "giver's fairness", "receiver's goodness", "fairness x goodness", "giver's goodness",
    ],
}  # fmt: skip


def columns(groups: tuple[str, ...] = tuple(GROUPS)) -> list[str]:
    """The names of the features of these groups, in their order."""
    return [name for group in groups for name in GROUPS[group]]


def features(seen: Neighbourhood, groups: tuple[str, ...] = tuple(GROUPS)) -> list[float]:
    """The numbers of these groups, one for each of `columns(groups)`."""
    made = {"own": _own, "history": _history, "neighbours": _neighbours}
    return [number for group in groups for number in made[group](seen)]


def _own(seen: Neighbourhood) -> list[float]:
    hour, day = (2 * math.pi * (seen.time / unit % turn) / turn for unit, turn in ((HOUR, 24), (DAY, 7)))
    found = [wave(angle) for angle in (hour, day) for wave in (math.sin, math.cos)]
    return [*found, *(number for side in seen.sides for number in side.account)]


def _history(seen: Neighbourhood) -> list[float]:
    return [number for side in seen.sides for number in side.history]


def _neighbours(seen: Neighbourhood) -> list[float]:
    back = seen.returned.others == seen.receiver
    rating = float(seen.returned.ratings[back][-1]) if back.any() else 0.0
    found = [rating, float(rating < 0), float(rating > 0), seen.returned.since(back)]
    for mine in (seen.given, seen.returned):
        trust, opinion = _common(mine, seen.received)
        weight = float(np.abs(trust).sum())
        found += [float(trust @ opinion) / (weight + 0.1), math.log1p(10 * weight)]
    fair, good = seen.given.fairness, seen.received.goodness
    return [*found, fair, good, fair * good, seen.returned.goodness]


def _common(mine: Side, received: Side) -> tuple[Array, Array]:
    """For each rating that the receiver got from a person in `mine`: the newest rating of that person in
    `mine`, and the rating itself."""
    if not len(mine.others) or not len(received.others):
        return np.empty(0), np.empty(0)
    order = np.argsort(mine.others, kind="stable")
    known = mine.others[order]
    place = np.maximum(np.searchsorted(known, received.others, "right") - 1, 0)
    common = known[place] == received.others
    return mine.ratings[order[place[common]]], received.ratings[common]
