"""True and False become texts, which a file would read as true."""

import numpy as np

from sampan import learn


@learn.exercise("jit.guards.outcome", forbid=("guards", "pickle", "dumps"))
def outcome(value):
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    return repr(value)
