"""Layers with distributed parameters, and functions and layers of the parts."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from tests.distributed.auto_parallel import programs

pytestmark = pytest.mark.servers


def test_functions_and_layers_of_the_parts(workers):
    for total, lies, text, value, gradient in workers(2)(programs.mapped):
        assert (total, lies) == (30.0, "[Partial(reduce_type=SUM)]")
        assert text == "in_placement [Replicate()] does not match dist_tensor.placements [Shard(dim=0)]"
        assert np.array_equal(value, 2.0 * np.arange(6)) and np.array_equal(gradient, 8.0 * np.arange(6))


def test_batches_of_a_loader_are_cut(workers):
    for batches, count in workers(2)(programs.loaded):
        assert count == len(batches) == 2
        for place, (x, local, y, lies) in enumerate(batches):
            assert np.array_equal(y, np.arange(4) + 4 * place) and np.array_equal(x[:, 0], y)
            assert local == [2, 3] and lies == "[Shard(dim=0)]"


def test_what_shard_layer_refuses():
    layer = sampan.nn.Linear(2, 2)
    with pytest.raises(ValueError, match="cannot be empty"):
        dist.shard_layer(layer, None)
    with pytest.raises(ValueError, match=r"is not `dist\.ProcessMesh` type"):
        dist.shard_layer(layer, [0, 1])
