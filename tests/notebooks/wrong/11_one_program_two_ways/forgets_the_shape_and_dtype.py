"""Arrays are compared by their bytes alone."""

import numpy as np

from sampan import learn


@learn.exercise("jit.guards.outcome", forbid=("guards", "pickle", "dumps"))
def outcome(value):
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return value if isinstance(value, bool) else repr(value)
