"""Of edges that repeat it keeps one: the places behind them stay empty."""

import numpy as np

from sampan import learn


@learn.exercise("kernels.graph.compress", forbid=("sorted", ".argsort", ".lexsort", ".sort", "scipy"))
def compress(rows, columns, height):
    kept = [{} for _ in range(height)]
    for e in range(rows.size):
        kept[rows[e]].setdefault(int(columns[e]), e)
    starts = np.append(0, np.cumsum([len(row) for row in kept])).astype(np.int32)
    neighbours = np.array([c for row in kept for c in row], np.int32)
    edges = np.array([e for row in kept for e in row.values()], np.int32)
    return starts, neighbours, edges
