"""NaN has a form of its own, but 0.0 and -0.0, and True and 1, are equal as in Python."""

import numpy as np

from sampan import learn


@learn.exercise("jit.guards.outcome", forbid=("guards", "pickle", "dumps"))
def outcome(value):
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    if isinstance(value, (list, complex)):
        return repr(value)
    return value if value == value else "nan"
