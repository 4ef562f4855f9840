"""When a place was drawn already, it takes the next free one: places behind others come too often."""

import numba
import numpy as np

from sampan import learn


@numba.njit(boundscheck=True)
def choose(begin, degree, chosen, state):
    for j in range(chosen.size):
        place = begin + below(state, degree)  # noqa: F821  the notebook's set-up cell has it
        again = True
        while again:
            again = False
            for k in range(j):
                if chosen[k] == place:
                    place, again = begin + (place + 1 - begin) % degree, True
                    break
        chosen[j] = place


@numba.njit
def choose_all(begins, degrees, offsets, replace, seed, places):
    for i in range(begins.size):
        chosen, state = places[offsets[i] : offsets[i + 1]], own_state(seed, i)  # noqa: F821  the notebook's set-up cell has it
        choose(begins[i], degrees[i], chosen, state)


@learn.exercise("kernels.graph.drawn", forbid=("choice", "permutation", "randperm", "multinomial"))
def drawn(rows, counts, neighbours, replace, seed, first, kind):
    begins, degrees = rows
    offsets = np.append(0, np.cumsum(counts))
    places = np.full(offsets[-1], -1, np.int64)
    choose_all(begins, degrees, offsets, replace, np.uint64(seed), places)
    return places, neighbours[places], (first + np.repeat(np.arange(counts.size), counts)).astype(kind)
