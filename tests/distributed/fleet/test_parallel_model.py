"""What TensorParallel makes equal; its training is in test_hybrid_optimizer.py."""

import pytest

from tests.distributed.fleet import parallel_programs as programs


@pytest.mark.servers
@pytest.mark.parametrize("shares", [True, False])
def test_taken_from_the_first_process(workers, shares):
    for rank, (given, part, whole, value, names) in enumerate(workers(2)(programs.made_equal, shares)):
        assert given == (1 if shares else rank + 1)
        assert part == rank + 1
        assert whole == 1
        # each process's 2 inputs times the weight of its part, gathered; then a weight and a bias of 1
        inputs = [1, 1 if shares else 2]
        assert value == 2 * inputs[0] * 1 + 2 * inputs[1] * 2 + 1
        assert list(names) == ["0.weight", "1.weight", "1.bias"]
