"""It makes the padding row read as zeros by writing zeros into the table itself."""

import numba
import numpy as np
import torch

from sampan import learn


@numba.njit
def look_up(table, ids, padding, out):
    for i in range(ids.size):
        r = ids[i]
        if r < 0 or r >= table.shape[0]:
            raise IndexError("an id is no row of the table")
        row, source = out[i], table[r]
        for j in range(row.size):
            if r == padding:
                source[j] = 0
            row[j] = source[j]


@learn.exercise("ops.embedding.rows_at", forbid=("torch.embedding",))
def rows_at(x, weight, padding=-1, by_frequency=False, as_rows=False):
    table, ids = array(weight), array(x).ravel().astype(np.int64)  # noqa: F821  the notebook's set-up cell has it
    out = np.empty((ids.size, table.shape[1]), table.dtype)
    careful(look_up, table, ids, padding, out)  # noqa: F821  the notebook's set-up cell has it
    value = torch.from_numpy(out).reshape(*x.shape, table.shape[1])
    back, how = named_rows if as_rows else added_rows, (len(table), padding, by_frequency)  # noqa: F821  the notebook's set-up cell has it
    return value, (lambda g: None, lambda g, ids=x, back=back, how=how: back(g, ids, *how))
