"""Changes of placement and gradients, in two processes."""

import numpy as np
import pytest

import sampan
from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("shape", [(4, 6), (5, 3)], ids=["even", "uneven"])
@pytest.mark.parametrize("after", ["R", "S0", "S1", "P"])
@pytest.mark.parametrize("before", ["R", "S0", "S1", "P"])
def test_every_change_of_placement_keeps_the_values_and_the_gradient(workers, before, after, shape):
    first, second = workers(2)(programs.moved, shape, before, after)
    values = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    for end, _, gradient, _, _ in (first, second):
        assert np.array_equal(end, values) and np.array_equal(gradient, values)
    expected = {"R": "Replicate()", "P": "Replicate()", "S0": "Shard(dim=0)", "S1": "Shard(dim=1)"}
    assert first[3] == f"[{expected[before]}]"
    assert first[4] == f"[{ {**expected, 'P': 'Partial(reduce_type=SUM)'}[after] }]"
    if after[0] == "S":
        parts = np.array_split(values, 2, int(after[1]))
        assert np.array_equal(first[1], parts[0]) and np.array_equal(second[1], parts[1])
    if after == "P":
        assert np.array_equal(first[1] + second[1], values)


@pytest.mark.parametrize("kind", ["R", "S0", "S1"])
def test_the_gradient_of_a_weight_lies_as_the_weight(workers, kind):
    weight = sampan.arange(12, dtype="float32").reshape([3, 4])
    weight.stop_gradient = False
    ((sampan.ones([4, 3]) @ weight).tanh() ** 2).sum().backward()
    for lies, gradient in workers(2)(programs.gradient_of_weight, kind):
        assert lies == f"[{programs.KINDS[kind]()}]"
        assert np.allclose(gradient, weight.grad.numpy(), atol=1e-6)


def test_second_derivatives(workers):
    for first, second, lies in workers(2)(programs.second_derivative):
        assert np.allclose(first, [3.0, 12.0, 27.0]) and np.allclose(second, [36.0, 288.0, 972.0])
        assert lies == "[Shard(dim=0)]"
