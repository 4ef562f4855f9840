"""Which shard an id belongs to, and its number there.

Of `shards` ids that follow one another, each shard gets one; which one, a hash of their common quotient
says. So shards have equally many of any range, ids at equal distances are spread as others are, and id //
shards numbers the ids of one shard without holes. The rule is part of the format of what is saved.
"""

import numpy as np
from numba import njit

from .cpu_embedding_hash import mixed


@njit(cache=True, inline="always")
def _turn(quotient, shards):
    return np.int64(mixed(np.uint64(quotient)) % np.uint64(shards))


@njit(cache=True)
def divided(ids, shards):
    """(order, bounds): places in `ids` by shard, ascending within one, and where each shard's begin.

    ids: int64 [n]; order: int64 [n]; bounds: int64 [shards + 1].
    """
    owner, bounds = np.empty(ids.size, np.int32), np.zeros(shards + 1, np.int64)
    for i in range(ids.size):
        quotient = ids[i] // shards
        owner[i] = (ids[i] - quotient * shards + _turn(quotient, shards)) % shards
        bounds[owner[i] + 1] += 1
    for shard in range(shards):
        bounds[shard + 1] += bounds[shard]
    order, ends = np.empty(ids.size, np.int64), bounds[:-1].copy()
    for i in range(ids.size):
        order[ends[owner[i]]] = i
        ends[owner[i]] += 1
    return order, bounds


@njit(cache=True)
def ids_of(numbers, shard, shards):
    """The ids of a shard with these numbers, id // shards: int64 [n]."""
    ids = np.empty(numbers.size, np.int64)
    for i in range(numbers.size):
        ids[i] = numbers[i] * shards + (shard - _turn(numbers[i], shards)) % shards
    return ids
