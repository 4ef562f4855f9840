"""Random states of processes that hold parts of one layer."""

import pytest
from sampan.distributed.fleet.layers.mpu import RNGStatesTracker, dropout
from sampan.distributed.fleet.layers.mpu.random import get_rng_state_tracker

import sampan as paddle
from tests.distributed.fleet import parallel_programs as programs


@pytest.mark.servers
def test_states_of_two_processes(workers):
    first, second = workers(2)(programs.states)
    assert first[0] is second[0] is True  # what all have is drawn from the seed
    assert first[1] != second[1]  # parts are not
    assert first[2] is second[2] is True
    assert first[3] == second[3]  # a seed that was drawn is the same in the group
    assert first[4] is second[4] is True


def test_states_by_name():
    tracker = RNGStatesTracker()
    before = paddle.get_rng_state()
    tracker.add("a", 3)
    assert (paddle.get_rng_state()[0] == before[0]).all()
    with pytest.raises(ValueError, match="seed 3 already exists"):
        tracker.add("b", 3)
    with pytest.raises(ValueError, match="state a already exists"):
        tracker.add("a", 4)
    with pytest.raises(ValueError, match="state b does not exist"), tracker.rng_state("b"):
        pass
    with pytest.raises(ValueError, match="state b does not exist"):
        tracker.set_states_tracker({"b": before})
    tracker.reset()
    assert tracker.get_states_tracker() == {}


def test_dropout_of_a_state():
    tracker = get_rng_state_tracker()
    tracker.reset()
    tracker.add("parts", 11)
    x = paddle.ones([64])
    kept = tracker.get_states_tracker()
    before = paddle.get_rng_state()
    first = dropout(x, 0.5, rng_name="parts")
    assert (paddle.get_rng_state()[0] == before[0]).all()
    tracker.set_states_tracker(kept)
    assert first.tolist() == dropout(x, 0.5, rng_name="parts").tolist()
    assert first.tolist() != dropout(x, 0.5, rng_name="parts").tolist()
    assert dropout(x, 0.5, rng_name="parts", training=False).tolist() == [1.0] * 64
    with pytest.raises(AssertionError, match="axis"):
        dropout(x, axis=0, rng_name="parts")
    tracker.reset()
