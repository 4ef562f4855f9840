"""DataParallel in two processes against one process with the whole batch, and against torch's DDP."""

import re

import numpy as np
import pytest

import sampan as paddle
from sampan.distributed import data_parallel
from tests.distributed import data_parallel_programs as programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(
    ("kind", "steps", "synchronised"),
    [("mlp", 25, False), ("embedding", 25, False), ("lstm", 8, False), ("resnet", 4, True)],
)
def test_losses_are_those_of_one_process_and_of_torch(workers, kind, steps, synchronised):
    (first, second) = workers(2)(programs.losses, kind, steps, synchronised)
    assert first == second
    ours, whole, theirs = np.array(first).T
    assert whole[-1] < 0.999 * whole[0]  # it learns
    np.testing.assert_allclose(ours, whole, rtol=1e-9)
    if not synchronised:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_batch_statistics_of_each_process_are_as_with_torch(workers):
    ours, _, theirs = np.array(workers(2)(programs.losses, "resnet", 3)[0]).T
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_dtypes_shared_and_frozen_parameters_hooks_and_two_calls(workers):
    for found in workers(2)(programs.mixed):
        assert max(found[name] for name in ("at once", "again", "thawed", "two calls")) < 1e-6
        assert abs(found["grad is local"]) < 1e-6  # paddle.grad is not exchanged
        assert found["kept"] == 0  # a gradient of an earlier step that a program kept
        calls, of_its_own = found["hooks"]
        assert (calls, of_its_own) == (4, True)  # hooks see the process's own gradient


@pytest.mark.parametrize("count", [2, 3])
def test_batches_of_different_lengths(workers, count):
    for found in workers(count)(programs.uneven):
        assert max(found) < 1e-12


def test_mixed_precision_with_an_overflow_in_one_process(workers):
    for found in workers(2)(programs.mixed_precision):
        assert found == [(True, 1024, True), (False, 512, True), (True, 512, True)]


def test_compiled_networks(workers):
    for found in workers(2)(programs.compiled):
        assert max(found) < 1e-12


def test_outputs_in_containers(workers):
    assert workers(2)(programs.structures) == [("OrderedDict", "Pair", "as it is", True)] * 2


@pytest.mark.parametrize(("count", "batch"), [(10, 2), (7, 2), (5, 8)])
def test_the_sampler_shares_samples_out(workers, count, batch):
    shares = workers(2)(programs.shares, count, batch)
    assert [*map(len, shares[0])] == [*map(len, shares[1])]
    named = [sample for share in shares for part in share for sample in part]
    assert set(named) == set(range(count))
    assert len(named) == count + count % 2


def test_an_environment_of_several_needs_a_connection(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    with pytest.raises(AssertionError, match=re.escape("2 processes: call init_parallel_env() first")):
        paddle.DataParallel(paddle.nn.Linear(2, 2))


def test_a_group_is_given(workers):
    assert workers(2)(programs.given_its_group, 3) == [[[1.5, 1.5]] * 2] * 2


def test_structures_are_kept():
    doubled = data_parallel.mapped(lambda tensor: tensor * 2, {"a": [paddle.ones([1]), 3], "b": ("x", None)})
    assert doubled["a"][0].tolist() == [2]
    assert doubled["b"] == ("x", None)
    assert doubled["a"][1] == 3
