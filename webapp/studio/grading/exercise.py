"""What is graded, as the files of hidden checks declare it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from sampan.learn.cases import Case


@dataclass(frozen=True)
class Exercise:
    """What is graded: a slot, its points, its titles, and the hidden cases drawn for one grading.

    `cases(rng)` yields cases with fresh inputs; at least one must have an answer of 100 numbers or more, and at least
    one must go through the library. All points are earned by all cases together; what a single one `earns` is kept when
    a later one fails: so performance is graded in rungs, after everything else. `forbid` lists names that the learner's cells may not use (see `forbid.py`).
    """

    slot: str
    points: int
    title: str
    title_zh: str
    cases: Callable[[np.random.Generator], Iterable[Case]]
    forbid: tuple[str, ...] = field(default=())
    seconds: float = 10.0  # the longest one call may take
