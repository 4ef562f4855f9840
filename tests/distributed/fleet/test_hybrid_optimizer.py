"""A small GPT over four processes: the losses of one process."""

import pytest

from tests.distributed.fleet import parallel_programs as programs

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def losses():
    return programs.one_process(4)


@pytest.mark.parametrize(
    ("configs", "kinds"),
    [
        ({"dp_degree": 2, "mp_degree": 2}, ("TensorParallel", "HybridParallelOptimizer")),
        ({"sharding_degree": 2, "mp_degree": 2}, ("TensorParallel", "HybridParallelOptimizer")),
        ({"dp_degree": 2, "sharding_degree": 2}, ("ShardingParallel", "HybridParallelOptimizer")),
    ],
)
def test_losses_of_one_process(workers, losses, configs, kinds):
    for found, made in workers(4)(programs.several, 4, configs):
        assert made == kinds
        assert found == pytest.approx(losses, rel=0, abs=1e-12)
    assert losses[-1] < losses[0]
