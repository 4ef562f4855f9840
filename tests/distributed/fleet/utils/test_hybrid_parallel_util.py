"""What programs call that exchange parameters and gradients by hand."""

import pytest

import sampan as paddle
from sampan import nn
from sampan.distributed import fleet
from sampan.distributed.fleet.utils import hybrid_parallel_util
from tests.distributed.fleet import hybrid_util_programs as programs


@pytest.mark.servers
def test_parameters_and_buffers_of_one_process(workers):
    for rank, (first, parts, made) in enumerate(workers(2)(programs.synchronized)):
        assert first == [1, 1, rank, 1]  # but for what is marked `no_sync`
        assert parts == [1, rank, rank, 1]  # and what each process has a part of
        assert made == [0, rank, rank, 0]


@pytest.mark.servers
def test_inputs_of_the_first_process(workers):
    for same, x, more, named in workers(2)(programs.shared_inputs):
        assert same
        assert x == [0, 0]
        assert (more, named) == ([0, "a"], {"size": {"n": 0}})


@pytest.mark.servers
def test_scaled_gradients(workers):
    for means, sums, kept in workers(2)(programs.scaled_gradients):
        assert means == kept == [1.5, 1.5]
        assert sums == [3, 3]


def test_parameters_of_an_optimizer():
    a, b = nn.Linear(2, 2).parameters()
    for given in ([a, b], [{"params": [a]}, {"params": [b], "learning_rate": 0.1}]):
        found = hybrid_parallel_util.obtain_optimizer_parameters_list(
            paddle.optimizer.SGD(0.1, parameters=given)
        )
        assert [id(p) for p in found] == [id(a), id(b)]


def test_names():
    assert fleet.utils.fused_allreduce_gradients is hybrid_parallel_util.fused_allreduce_gradients
