"""The printed form of an array leaves out its middle and rounds its numbers."""

from sampan import learn


@learn.exercise("jit.guards.outcome", forbid=("guards", "pickle", "dumps"))
def outcome(value):
    return value if isinstance(value, bool) else repr(value)
