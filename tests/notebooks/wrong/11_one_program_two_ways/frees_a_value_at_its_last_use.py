"""A value's place is given away in the call that still reads it."""

from sampan import learn


@learn.exercise("jit.arena.offsets", forbid=("planned", "run_in_arena"))
def offsets(sizes, born, last):
    places = [0] * len(sizes)
    done = []
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        beside = [j for j in done if born[j] < last[i] and born[i] < last[j]]
        for j in sorted(beside, key=lambda j: places[j]):
            if places[j] >= places[i] + sizes[i]:
                break
            places[i] = max(places[i], places[j] + sizes[j])
        done.append(i)
    return places
