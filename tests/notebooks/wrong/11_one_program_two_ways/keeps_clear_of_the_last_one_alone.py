"""A value keeps clear of the last one that was placed beside it, and not of all."""

from sampan import learn


@learn.exercise("jit.arena.offsets", forbid=("planned", "run_in_arena"))
def offsets(sizes, born, last):
    places, done = [0] * len(sizes), []
    for i in range(len(sizes)):
        beside = [j for j in done if born[j] <= last[i] and born[i] <= last[j]]
        if beside and places[beside[-1]] >= sizes[i] and len(beside) > 2:
            places[i] = 0
        elif beside:
            places[i] = places[beside[-1]] + sizes[beside[-1]]
        done.append(i)
    return places
