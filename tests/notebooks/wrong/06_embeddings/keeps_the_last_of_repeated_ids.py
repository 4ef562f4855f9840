"""It adds with NumPy's out[ids] += g, which keeps one gradient of an id that comes twice."""

import numpy as np
import torch

from sampan import learn


@learn.exercise(
    "ops.embedding.rows_summed", forbid=(".at", ".index_add", ".index_add_", ".scatter_add", ".bincount")
)
def rows_summed(g, x, count, padding, by_frequency):
    ids, rows = array(x).ravel().astype(np.int64), array(g).reshape(-1, g.shape[-1])  # noqa: F821  the notebook's set-up cell has it
    out = np.zeros((count, rows.shape[1]), rows.dtype)
    kept = ids != padding
    out[ids[kept]] += rows[kept]
    return torch.from_numpy(out), (lambda gg, ids=x, p=padding: read_rows(ids, gg, p),)  # noqa: F821  the notebook's set-up cell has it
