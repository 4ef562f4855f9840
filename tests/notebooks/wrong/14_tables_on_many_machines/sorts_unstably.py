"""NumPy's default sort: places do not ascend within a shard of a large batch."""

import numpy as np

from sampan import learn


@learn.exercise("distributed.parameter_server.client.divided")
def divided(ids, shards):
    quotient = ids // shards
    turn = (mixed(quotient) % np.uint64(shards)).astype(np.int64)  # noqa: F821  `mixed` is in the notebook's first cell
    owner = (ids % shards + turn) % shards
    order = np.argsort(owner)
    return order, np.searchsorted(owner[order], np.arange(shards + 1))
