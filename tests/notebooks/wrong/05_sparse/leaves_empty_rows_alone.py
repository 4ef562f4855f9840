"""It starts a row with its first entry: what an empty row held before stays there."""

import numba

from sampan import learn


@numba.njit
def rows_times(crows, cols, values, x, out):
    for r in range(crows.size - 1):
        row = out[r]
        for e in range(crows[r], crows[r + 1]):
            value, other = values[e], x[cols[e]]
            for j in range(row.size):
                row[j] = value * other[j] if e == crows[r] else row[j] + value * other[j]


@learn.exercise("kernels.sparse.spmm", forbid=("@", ".dot", "scipy", "torch.sparse"))
def spmm(cuts, crows, cols, values, x, out):
    careful(rows_times, crows, cols, values, x, out)  # noqa: F821  the notebook's set-up cell has it
