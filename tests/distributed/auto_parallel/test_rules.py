"""Every operator with samples, on tensors that are cut over two processes, against the plain call."""

import pytest

from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers
PARTS = 8
# Operators that read memory, of which a process has a part.
REFUSED = {"strided", "reinterpreted", "as_strided"}


@pytest.mark.parametrize("part", range(PARTS))
def test_operators_give_the_same_values_and_gradients(workers, part):
    first, second = workers(2)(programs.table, part, PARTS)
    assert first == second
    assert first["wrong"] == []
    assert set(first["refused"]) <= REFUSED
    assert len(first["equal"]) > len(first["replicated"]) / 3
    assert len(first["equal"]) + len(first["replicated"]) > 70
