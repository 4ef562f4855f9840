"""It notes where a row starts when it meets its first edge: rows without edges keep a start of 0."""

import numpy as np

from sampan import learn


@learn.exercise("kernels.graph.compress", forbid=("sorted", ".argsort", ".lexsort", ".sort", "scipy"))
def compress(rows, columns, height):
    starts, order = np.zeros(height + 1, np.int32), []
    for r in range(height):
        mine = np.flatnonzero(rows == r).tolist()
        if mine:
            starts[r] = len(order)
        order += mine
    starts[height] = len(order)
    order = np.array(order, np.int64)
    return starts, columns[order], order.astype(np.int32)
