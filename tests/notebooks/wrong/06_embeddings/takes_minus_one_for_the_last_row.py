"""It leaves the looking for wrong ids to NumPy, which counts negative ones from the end."""

import numpy as np
import torch

from sampan import learn


# The slot by its earlier name, as in a notebook that was handed out before.
@learn.exercise("ops.resampling.rows_at", forbid=("torch.embedding",))
def rows_at(x, weight, padding=-1, by_frequency=False, as_rows=False):
    table, ids = array(weight), array(x).ravel().astype(np.int64)  # noqa: F821  the notebook's set-up cell has it
    out = table[ids]
    if padding >= 0:
        out[ids == padding] = 0
    value = torch.from_numpy(out).reshape(*x.shape, table.shape[1])
    back, how = named_rows if as_rows else added_rows, (len(table), padding, by_frequency)  # noqa: F821  the notebook's set-up cell has it
    return value, (lambda g: None, lambda g, ids=x, back=back, how=how: back(g, ids, *how))
