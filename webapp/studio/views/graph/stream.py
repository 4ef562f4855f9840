"""A stream of ratings, and a detector that says of each whether it is suspicious. Independent of widgets."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..common.curves import Curve
from ..common.work import Work, one_core_less
from . import data

MADE, REAL = "made_stream", data.RATINGS
SOURCES = (REAL, MADE)
TRAIN, VALID = 0.6, 0.2  # shares: learned from, for the threshold; the rest is streamed
KEPT = 60  # alarms
_WINDOW = 400  # latencies of a percentile
_PEOPLE, _EVENTS, _BAD = 400, 6_000, 0.08  # of the generated stream


@dataclass(frozen=True, eq=False)
class Alarm:
    """number: of the rating in the stream; right: whether it really was negative; seconds: it took to find `reason`."""

    number: int
    reason: Any
    right: bool
    seconds: float


@dataclass(frozen=True)
class Tally:
    """What became of the ratings so far."""

    events: int
    alarms: int
    hits: int  # alarms that were right
    negative: int
    p50: float  # milliseconds from a rating's arrival until it is scored, explained if it is an alarm, and stored
    p99: float
    worst: float


def available() -> list[str]:
    """The streams on this machine, the real one first."""
    return [REAL, MADE] if REAL in data.available() else [MADE]


def events_of(source: str) -> list[Any]:
    """The ratings of a stream in the order of time. KeyError for an unknown one."""
    from sampan.datasets.graphs import load_graph
    from sampan.models import fraud

    if source == REAL:
        return fraud.events_of(load_graph(REAL))
    if source != MADE:
        raise KeyError(f"no stream {source}")
    return made_events()


def made_events(people: int = _PEOPLE, count: int = _EVENTS) -> list[Any]:
    """A market with some swindlers: honest people rate them down once they have dealt with them, and each swindler's
    friends rate them up."""
    from sampan.models.fraud import Event

    rng = np.random.default_rng(0)
    bad = rng.random(people) < _BAD
    swindlers = np.flatnonzero(bad)
    found = []
    for number in range(count):
        giver, receiver = rng.choice(people, 2, replace=False)
        if bad[giver] and rng.random() < 0.6:
            receiver = rng.choice(swindlers[swindlers != giver])
        worth = 0.3 if not bad[receiver] or bad[giver] else -0.8
        rating = float(np.clip(round(worth + 0.25 * rng.standard_normal(), 1), -1, 1))
        found.append(Event(int(giver), int(receiver), float(number), rating or 0.1))
    return found


class FraudRun(Work):
    """Trains a detector on the first ratings, then plays the others at `rate` a second (0: as fast as it can). Each is
    scored before it is stored. `on_change` is called a few times a second."""

    def __init__(
        self,
        source: str,
        rate: float,
        on_change: Callable[[Any], None] = lambda _: None,
        most: int | None = None,
    ) -> None:
        if source not in SOURCES:
            raise ValueError(f"source: expected one of {', '.join(SOURCES)}, got {source!r}")
        if rate < 0:
            raise ValueError(f"rate: expected 0 or more ratings a second, got {rate}")
        super().__init__("fraud", on_change)
        self.source, self.rate, self.most = source, rate, most
        self.learning = 0.0  # the fraction that is done
        self.curves = {name: Curve() for name in ("p50", "p99")}
        self.alarms: deque[Alarm] = deque(maxlen=KEPT)
        self.detector: Any = None
        self._latencies: deque[float] = deque(maxlen=_WINDOW)
        self._counts = [0, 0, 0, 0]  # events, alarms, hits, negative
        self._worst, self._whole = 0.0, 1

    @property
    def progress(self) -> float:
        return self._counts[0] / self._whole

    def tally(self) -> Tally:
        spent = np.array(self._latencies) if self._latencies else np.zeros(1)
        events, alarms, hits, negative = self._counts
        p50, p99 = np.percentile(spent, (50, 99)).tolist()
        return Tally(events, alarms, hits, negative, p50, p99, self._worst)

    def _work(self) -> None:
        from sampan.models.fraud import train_fraud

        one_core_less()
        events = events_of(self.source)
        rest = events[int(len(events) * (TRAIN + VALID)) :][: self.most]
        self._whole = max(len(rest), 1)
        for step in train_fraud(events, TRAIN, VALID):
            self.learning, self.detector = step.done, step.detector
            if self._cancel.is_set():
                return
            self._tell(every=0.2)
        self._running()
        self._tell()  # the first pause may be long
        for number, event in enumerate(rest):
            if self.rate and self._cancel.wait(max(number / self.rate - self.seconds, 0)):
                return
            if self._cancel.is_set():
                return
            # One that waits for the one before it has waited from its own arrival on.
            arrival = self._began + number / self.rate if self.rate else time.monotonic()
            self._event(number, event, arrival)
            self._tell(every=0.25)

    def _event(self, number: int, event: Any, arrival: float) -> None:
        asked = event._replace(rating=float("nan"))  # it is judged before its rating is known
        score = self.detector.score(asked)
        alarm, negative = self.detector.is_alarm(score), event.rating < 0
        if alarm:
            began = time.monotonic()
            reason = self.detector.reason(asked)
            self.alarms.appendleft(Alarm(number, reason, negative, time.monotonic() - began))
        self.detector.observe(event)
        spent = 1000 * (time.monotonic() - arrival)
        self._latencies.append(spent)
        self._worst = max(self._worst, spent)
        for place, more in enumerate((1, alarm, alarm and negative, negative)):
            self._counts[place] += int(more)
        if self._counts[0] % 20 == 0:
            tally = self.tally()
            self.curves["p50"].add(self._counts[0], tally.p50)
            self.curves["p99"].add(self._counts[0], tally.p99)
