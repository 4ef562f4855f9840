"""What is graded, as the files of hidden checks declare it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sampan.learn.cases import Case


@dataclass(frozen=True)
class Exercise:
    """What is graded: a slot, its points, its titles, and the hidden cases drawn for one grading.

    `cases(rng)` yields cases with fresh inputs; at least one must have an answer of 100 numbers or more, and at
    least one must go through the library. Each right case earns an equal share of the points; one that `earns` earns
    that instead: this is how rungs of performance are graded, after all other cases. `forbid` lists names that
    the learner's function may not use (see `sampan.learn.forbid`), `absent` functions of the library that are
    removed together with the slot's own (`withheld.py`).
    """

    slot: str
    points: int
    title: str
    title_zh: str
    cases: Callable[[np.random.Generator], Iterable[Case]]
    forbid: tuple[str, ...] = field(default=())
    absent: tuple[str, ...] = field(default=())
    seconds: float = 10.0  # the time limit of one call

    def earned(self, cases: Sequence[Case], right: Sequence[bool]) -> float:
        """The points for the first of its cases, which were right or not; shares are rounded down to tenths."""
        passed = [case for case, good in zip(cases, right, strict=False) if good]
        if len(passed) == len(cases):
            return self.points
        shared = self.points - sum(case.earns for case in cases)
        sharing = sum(not case.earns for case in cases)
        share = shared * sum(not case.earns for case in passed) / max(1, sharing)
        return math.floor(10 * share + 1e-6) / 10 + sum(case.earns for case in passed)


@dataclass(frozen=True)
class Lap:
    """One timed answer on fresh inputs, and the same work done by the plain program outside the sandbox."""

    args: tuple[object, ...]
    expected: object
    baseline: Callable[[], object]


@dataclass(frozen=True)
class Race(Case):
    """A rung: right answers, given `times` as fast as a baseline that the grader runs itself.

    `lap()` draws fresh inputs, so that no answer can be cached; `per_lap` is how many times a lap asks for the work
    that the baseline does once. `ratios` are those measured so far: rungs of one race share the list.
    """

    lap: Callable[[], Lap] = lambda: Lap((), None, lambda: None)
    times: float = 1.0
    per_lap: int = 1
    ratios: list[float] = field(default_factory=list)
