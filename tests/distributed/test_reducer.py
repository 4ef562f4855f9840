"""When gradients are exchanged, and of which parameters."""

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed import reducer
from tests.distributed import data_parallel_programs as programs

pytestmark = pytest.mark.servers


def test_gradients_add_up_within_no_sync(workers):
    for local, after, cumulative in workers(2)(programs.accumulated):
        assert local
        assert max(after, cumulative) < 1e-12


def test_buckets_are_sent_while_backward_runs(workers):
    for there, count in workers(2)(programs.sent_while_computing):
        assert len(there) == 3
        assert there[0] < count
        assert there == sorted(there)


@pytest.mark.parametrize("own", [False, True])
def test_unused_parameters(workers, own):
    """A parameter that one process used gets the mean with zeros; one that none used keeps none."""
    first, second = workers(2)(programs.unused, True, own)
    assert first == second
    ours, whole = first
    assert (ours["right.weight"] is None) is not own
    for name, gradient in whole.items():
        if gradient is None:
            assert ours[name] is None
        else:
            np.testing.assert_allclose(ours[name], gradient, rtol=1e-6, atol=1e-7)


def test_unused_parameters_are_named_in_all_processes(workers):
    for error in workers(2).outcomes(programs.unused, False, False):
        assert isinstance(error, RuntimeError)
        assert "process 1: right.weight, right.bias" in str(error)
    for text, works_again in workers(2)(programs.refused_then_used):
        assert "process 0: right.weight, right.bias; process 1: left.weight, left.bias" in text
        assert "find_unused_parameters" in text
        assert works_again


def test_bytes_are_those_of_the_parameters(workers):
    for steps, size in workers(2)(programs.bytes_of_a_step):
        for payload, wire in steps:
            assert payload == wire  # a ring of two sends 2 (n - 1) / n of it
            assert size < payload < 1.01 * size


def test_buckets_follow_the_order_of_readiness():
    tensors = [paddle.zeros([count]) for count in (100, 1, 300, 2, 50)]
    tensors.insert(2, paddle.zeros([7], "float64"))
    buckets = reducer.assigned([5, 4, 3, 2, 1, 0], tensors, 4 * 250, 4 * 90)
    assert [bucket.places for bucket in buckets] == [[5, 4], [2], [3, 1], [0]]
    assert buckets[2].starts == [0, 300, 301]
