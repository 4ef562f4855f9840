"""Batches of samples that any number of processes share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampan.distributed.elastic import Samples


@given(st.integers(1, 60), st.integers(1, 20), st.lists(st.integers(1, 5), min_size=1, max_size=30))
def test_every_epoch_has_each_sample_once_whatever_the_number_of_processes(count, batch, worlds):
    data = Samples(count, batch, seed=3)
    seen: list[int] = []
    steps = max(data.steps_per_epoch, len(worlds))
    for step in range(steps):
        world = worlds[step % len(worlds)]
        parts = [data.part(step, rank, world) for rank in range(world)]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        assert np.concatenate(parts).tolist() == data.of_step(step).tolist()
        seen += np.concatenate(parts).tolist()
    first = seen[:count]
    assert sorted(first) == list(range(count))


def test_an_order_of_its_own_in_each_epoch_and_the_same_in_each_process():
    data, other = Samples(50, 10), Samples(50, 10)
    epochs = [np.concatenate([data.of_step(step) for step in range(at, at + 5)]) for at in (0, 5)]
    assert not np.array_equal(*epochs)
    assert np.array_equal(other.of_step(7), data.of_step(7))  # also where it begins there
    kept = Samples(5, 2, seed=None)
    assert [kept.of_step(step).tolist() for step in range(4)] == [[0, 1], [2, 3], [4], [0, 1]]
    dropped = Samples(5, 2, seed=None, drop_last=True)
    assert [dropped.of_step(step).tolist() for step in range(3)] == [[0, 1], [2, 3], [0, 1]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"count": 0, "batch": 2}, "count: expected a whole number of at least 1, got 0"),
        ({"count": 5, "batch": 2.0}, "batch: expected a whole number of at least 1, got 2.0"),
        ({"count": 5, "batch": 9, "drop_last": True}, "batch: expected at most the 5 samples with drop_last"),
    ],
)
def test_what_is_no_number_of_samples(given, text):
    with pytest.raises(ValueError, match=text):
        Samples(**given)
