"""Strategies of fleet in two processes: they learn, send what they promise, and end with equal weights."""

import pytest

from tests.distributed.fleet import collective_programs as programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(
    ("name", "configs", "kinds", "bytes_of_dense"),
    [
        ("", {}, ("DataParallel", "Momentum"), 1),
        ("fp16_allreduce", {}, ("DataParallel", "Momentum"), 0.5),
        ("dgc", {"rampup_begin_step": 3, "sparsity": [0.95]}, ("DataParallel", "SGD"), 0.1),
        ("localsgd", {"k_steps": 4}, ("Sequential", "LocalSGD"), 0.25),
        ("adaptive_localsgd", {"init_k_steps": 4}, ("Sequential", "LocalSGD"), None),
    ],
)
def test_strategies(workers, name, configs, kinds, bytes_of_dense):
    first, second = workers(2)(programs.trained, name, configs, 45)
    for found_kinds, before, after, weights, size in (first, second):
        assert found_kinds == kinds
        assert after < 0.6 * before
        assert bytes_of_dense is None or size == pytest.approx(bytes_of_dense, rel=0.1)
        assert name == "adaptive_localsgd" or weights == first[3]


def test_two_ways_at_once_are_refused(workers):
    for error in workers(2).outcomes(programs.refused):
        assert isinstance(error, ValueError)
        assert "got dgc and localsgd" in str(error)


def test_exchanges_of_numbers_and_lists(workers):
    each = [["a", "b"], ["c"]]
    for rank, found in enumerate(workers(2)(programs.exchanges)):
        assert found == ([[3, 4], [1, 2], [2, 2]], ["worker 0", "worker 1"], each[rank], 2)
