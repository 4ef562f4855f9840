"""What a value that left the graph is compared by: only where the outcome is the same may a Program be run
again.

Called as `guards.outcome`: notebook 11 puts a learner's function in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def outcome(value: Any) -> Any:
    """A hashable form of a value; two forms are equal where no Python code can tell the values apart.

    Python's own `==` will not do: NaN is not equal to itself, 0.0 equals -0.0, and 1 equals True. So a number
    is compared by its text, an array by shape, dtype and bytes, which later writes to it do not change.

    >>> outcome(0.0) == outcome(-0.0), outcome(float("nan")) == outcome(float("nan"))
    (False, True)
    """
    if isinstance(value, np.ndarray):
        return "array", value.shape, str(value.dtype), value.tobytes()
    return value if isinstance(value, bool) else repr(value)
