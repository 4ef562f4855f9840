"""Gradients of which each of two processes keeps its part."""

import pytest

from tests.distributed.sharding import programs


@pytest.mark.servers
def test_gradients_are_parts_of_the_mean(workers):
    for differences, shapes, wire in workers(2)(programs.parts_of_gradients):
        assert max(differences) < 1e-15
        assert shapes["out.weight"] == [17] or shapes["out.weight"] == [16]  # 33 rows of one element
        assert shapes["inner.bias"] == shapes["out.weight"]
        # each process sends its half of the elements and flags: half of an all_reduce
        assert wire["reduce_scatter"] > 0
        assert "all_reduce" not in wire
