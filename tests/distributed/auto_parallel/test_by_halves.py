"""`parallelize` in two calls."""

import numpy as np
import pytest
from sampan.distributed.auto_parallel.intermediate.parallelize import parallelize_model, parallelize_optimizer

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument, InvalidType
from tests.distributed.auto_parallel import programs


@pytest.mark.servers
def test_training_is_that_of_one_call(workers):
    for halves, once, cut in workers(2)(programs.parallelized_by_halves):
        np.testing.assert_array_equal(halves, once)
        assert cut  # the optimizer's state


def test_without_config():
    network = nn.Linear(2, 2)
    optimizer = paddle.optimizer.SGD(0.1, parameters=network.parameters())
    with pytest.warns(UserWarning, match="parallelize_model will do nothing"):
        assert parallelize_model(network) is network
    with pytest.warns(UserWarning, match="parallelize_optimizer will do nothing"):
        assert parallelize_optimizer(optimizer) is optimizer
    with pytest.raises(InvalidType, match="parallelize_optimizer: config: expected a dictionary, got list"):
        parallelize_optimizer(optimizer, config=[])
    with pytest.raises(InvalidArgument, match="call parallelize_model first"):
        parallelize_optimizer(optimizer, config={})
