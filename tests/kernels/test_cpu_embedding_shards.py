"""Ids and their shards, beside the rule in Python's own whole numbers."""

import numpy as np
import pytest

from sampan.kernels.cpu_embedding_shards import divided, ids_of

MASK = (1 << 64) - 1
IDS = np.concatenate(
    [
        np.arange(-50, 200),
        np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 500, np.int64, endpoint=True),
        np.array([-(2**63), 2**63 - 1]),
    ]
)


def mixed(number: int) -> int:
    """SplitMix64 (Steele, Lea and Flood 2014), in whole numbers."""
    z = (number + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def owner(one: int, shards: int) -> int:
    quotient, rest = divmod(one, shards)
    return (rest + mixed(quotient & MASK) % shards) % shards


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 64])
def test_each_id_has_the_shard_of_the_rule_and_comes_back_from_its_number(shards: int) -> None:
    order, bounds = divided(IDS, shards)
    assert sorted(order.tolist()) == list(range(IDS.size))
    for shard in range(shards):
        places = order[bounds[shard] : bounds[shard + 1]]
        assert (np.diff(places) > 0).all()
        assert all(owner(int(one), shards) == shard for one in IDS[places])
        np.testing.assert_array_equal(ids_of(IDS[places] // shards, shard, shards), IDS[places])


def test_any_range_and_equal_distances_are_spread() -> None:
    for ids, most in ((np.arange(1000, 9000), 2), (np.arange(0, 80_000, 8), 200)):
        counts = np.diff(divided(ids, 8)[1])
        assert counts.max() - counts.min() <= most, counts
