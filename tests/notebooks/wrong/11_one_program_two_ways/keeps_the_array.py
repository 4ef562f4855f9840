"""The outcome holds the caller's array, which may be overwritten later."""

import numpy as np

from sampan import learn


class Same:
    "Compares the arrays themselves."

    def __init__(self, array):
        self.array = array

    def __eq__(self, other):
        return (
            isinstance(other, Same)
            and (self.array.shape, self.array.dtype) == (other.array.shape, other.array.dtype)
            and self.array.tobytes() == other.array.tobytes()
        )

    def __hash__(self):
        return hash(self.array.shape)


@learn.exercise("jit.guards.outcome", forbid=("guards", "pickle", "dumps"))
def outcome(value):
    if isinstance(value, np.ndarray):
        return Same(value)
    return value if isinstance(value, bool) else repr(value)
