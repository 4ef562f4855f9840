"""Which pushes are applied, and which workers wait for others."""

import numpy as np
import pytest

from sampan.distributed.parameter_server.push_log import Push
from sampan.distributed.parameter_server.turns import Turns


def push(worker: int, step: int) -> Push:
    return Push(worker, step, np.empty(0, np.int64), np.empty((0, 1), np.float32), 1.0)


def test_together_a_step_is_applied_when_the_last_worker_has_pushed() -> None:
    turns = Turns(3, 0)
    assert [turns.awaited(1) for _ in range(3)] == [None] * 3
    assert turns.take(push(2, 1)) == [] and turns.take(push(0, 1)) == []
    assert turns.awaited(1) is None and turns.awaited(2) == 1
    assert turns.notes() == {"applied": [(0, 0), (1, 0), (2, 0)], "left": []}  # as none is applied
    assert [p.worker for p in turns.take(push(1, 1))] == [0, 1, 2]
    assert turns.awaited(2) is None and turns.is_known(1, 1) and not turns.is_known(1, 2)
    turns.take(push(0, 2)), turns.take(push(1, 2))
    assert turns.awaited(3) == 2
    assert [p.worker for p in turns.leave(2)] == [0, 1]  # it ended: the others go on
    assert turns.awaited(3) is None


@pytest.mark.parametrize("bound", [1, 3])
def test_a_worker_is_at_most_the_bound_ahead(bound: int) -> None:
    turns = Turns(2, bound)
    for step in range(1, bound + 2):
        assert turns.awaited(step) is None
        assert len(turns.take(push(0, step))) == 1
    assert turns.awaited(bound + 2) == 1
    turns.take(push(1, 1))
    assert turns.awaited(bound + 2) is None


@pytest.mark.parametrize("staleness", [0, 2])
def test_of_several_that_are_behind_the_slowest_is_named(staleness: int) -> None:
    turns = Turns(4, staleness)
    last = {0: 5, 1: 3, 2: 2, 3: 2}
    turns.restore({"applied": list(last.items())})
    assert turns.awaited(6) == 2
    turns.take(push(0, 6))  # with staleness 0 it waits for the others
    assert turns.awaited(7) == 2
    turns.leave(2)
    turns.leave(3)
    assert turns.awaited(7) == 1


def test_without_a_bound_nobody_waits_and_notes_come_back() -> None:
    turns = Turns(2, None)
    for step in range(1, 50):
        turns.take(push(0, step))
    assert turns.awaited(50) is None
    again = Turns(2, None)
    again.restore({"applied": [[0, 49], [1, 0]], "left": [1]})
    assert again.applied == {0: 49, 1: 0} and again.left == {1}
