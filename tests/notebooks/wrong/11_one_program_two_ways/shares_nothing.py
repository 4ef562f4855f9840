"""Each value has bytes of its own where any two live together: no overlap, and an arena that is far too large."""

from sampan import learn


@learn.exercise("jit.arena.offsets", forbid=("planned", "run_in_arena"))
def offsets(sizes, born, last):
    count = range(len(sizes))
    if not any(born[j] <= last[i] and born[i] <= last[j] for i in count for j in count if i != j):
        return [0] * len(sizes)
    return [sum(sizes[:i]) for i in count]
