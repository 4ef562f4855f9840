"""The quotient is computed in float64: large ids lose their last bits."""

import numpy as np

from sampan import learn


@learn.exercise("distributed.parameter_server.client.divided")
def divided(ids, shards):
    quotient = np.floor(ids / shards).astype(np.int64)
    turn = (mixed(quotient) % np.uint64(shards)).astype(np.int64)  # noqa: F821  `mixed` is in the notebook's first cell
    owner = (ids % shards + turn) % shards
    order = np.argsort(owner, kind="stable")
    return order, np.searchsorted(owner[order], np.arange(shards + 1))
