"""Deep gradient compression: what is not sent is sent later."""

import pytest
import torch

from sampan.distributed.compression import TopK
from sampan.distributed.compression.top_k import largest
from tests.distributed.compression import programs

pytestmark = pytest.mark.servers


def test_all_entries_with_momentum_are_the_optimizer_momentum(workers):
    assert max(workers(2)(programs.momentum_of_top_k, 6)) < 1e-6


def test_the_rest_waits(workers):
    settings = {"momentum": 0.0, "sparsity": [0.98]}
    for errors, late, size, equal in workers(2)(programs.sums_of_gradients, "TopK", settings, 40):
        assert equal
        assert errors[0] > 0.3
        assert late < 0.6 * errors[0]  # of 40 steps: what waits is a part of a few
        assert size == pytest.approx(0.02 * 2, rel=0.2)  # an index for each value; two processes


def test_it_learns(workers):
    for before, after in workers(2)(programs.learned, "TopK", 60):
        assert after < 0.5 * before


@pytest.mark.parametrize("size", [10, 7_000, 100_000])
@pytest.mark.parametrize("count", [1, 7])
def test_the_largest_are_found(size, count):
    values = torch.randn(size, generator=torch.Generator().manual_seed(size)) ** 3
    expected = values.abs().topk(count).indices.sort().values
    assert torch.equal(largest(values, count), expected)
    same = torch.ones(size)
    assert len(largest(same, count)) == count


def test_warm_up():
    steps = TopK(0.9, [0.5, 0.75, 0.9], rampup_begin_step=2, rampup_step=6)
    assert [steps.part(step) for step in range(10)] == [0, 0, 0.5, 0.5, 0.75, 0.75, 0.9, 0.9, 0.9, 0.9]
    with pytest.raises(ValueError, match="expected parts from 0 to below 1"):
        TopK(0.9, [1.0])
