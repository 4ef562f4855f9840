"""Gradients of which each of two processes keeps its part."""

import pytest

from tests.distributed.sharding import programs


@pytest.mark.servers
def test_gradients_are_parts_of_the_mean(workers):
    for rank, (differences, shapes, wire) in enumerate(workers(2)(programs.parts_of_gradients)):
        assert max(differences) < 1e-14
        assert shapes["out.weight"] == [17 - rank, 1]  # rows of [33, 1]
        assert shapes["inner.bias"] == [17 - rank]
        assert shapes["norm.bias"] == [4 - rank]  # elements of [7]
        elements = 4 + 4 + 7 * 17 + 17 + 17 + 1 + 1  # in the larger part, with some to fill up
        assert elements * 8 <= wire["reduce_scatter"] <= (elements + 40) * 8
        assert "all_reduce" not in wire
