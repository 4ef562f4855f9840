"""Performance as a reliable ratio: the grader times both sides in turns until the verdict is stable.

The clock is outside of the learner's process, and an answer counts from the moment its inputs are sent, so nothing
can be computed ahead; while the baseline runs, all the learner's processes are stopped. Other load on the machine
slows both sides of a pair. After each pair a sign test asks whether so many ratios on one side of the rung could be
chance.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

CHANCE = 0.02  # of a wrong verdict if the true ratio is exactly the rung
FEWEST, MOST = 6, 24  # pairs


def won(ratios: list[float], times: float, another: Callable[[], float]) -> bool:
    """Whether the ratio is at least `times`; `another()` measures one more pair, which is added to `ratios`."""
    while True:
        decided = verdict(ratios, times)
        if decided is not None:
            return decided
        ratios.append(another())


def verdict(ratios: Sequence[float], times: float) -> bool | None:
    """None while more pairs are needed; after the maximal number the median decides."""
    count, above = len(ratios), sum(ratio >= times for ratio in ratios)
    if count < FEWEST:
        return None
    if _by_chance(count, max(above, count - above)) <= CHANCE:
        return 2 * above > count
    return statistics.median(ratios) >= times if count >= MOST else None


def _by_chance(count: int, heads: int) -> float:
    """The probability of at least `heads` heads in so many coin tosses."""
    return sum(math.comb(count, many) for many in range(heads, count + 1)) / float(2**count)
