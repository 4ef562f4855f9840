"""It sorts by rows alone: columns stay as they came, and a place that comes twice may stay two."""

import numba
import numpy as np

from sampan import learn


@numba.njit(boundscheck=True)
def counting_sort(keys, starts, order):
    starts[:] = 0
    for e in range(keys.size):
        starts[keys[e] + 1] += 1
    for k in range(starts.size - 1):
        starts[k + 1] += starts[k]
    free = starts.copy()
    for e in range(keys.size):
        order[free[keys[e]]] = e
        free[keys[e]] += 1


def sorted_by(keys, count):
    starts, order = np.full(count + 1, 10**6), np.full(keys.size, 10**6)
    careful(counting_sort, keys.astype(np.int64), starts, order)  # noqa: F821  the notebook's set-up cell has it
    return starts, order


@learn.exercise("kernels.sparse.grouped")
def grouped(rows, cols, height):
    crows, order = sorted_by(rows, height)
    return merged(crows, rows, cols, order)  # noqa: F821  the notebook's set-up cell has it
