"""Whether what was drawn has the probabilities that it should have, and draws that threads may not change."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numba
from scipy.stats import chisquare

LEAST = 1e-4  # the seeds are fixed: a test that passes once passes always


def fits(drawn: Iterable[Hashable], expected: Mapping[Any, float]) -> None:
    """Outcomes have the probabilities `expected`, and no others come: a chi-square test."""
    counts = Counter(drawn)
    assert set(counts) <= set(expected), set(counts) - set(expected)
    total, shares = sum(counts.values()), sum(expected.values())
    kinds = [kind for kind, share in expected.items() if share > 0]
    assert all(counts[kind] == 0 for kind in set(expected) - set(kinds))
    observed = [counts[kind] for kind in kinds]
    assert chisquare(observed, [total * expected[kind] / shares for kind in kinds]).pvalue > LEAST


def with_threads(count: int, made: Callable[[], Any]) -> Any:
    """The value of a call with so many threads."""
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(count)
        return made()
    finally:
        numba.set_num_threads(before)
